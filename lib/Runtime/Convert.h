//===- Convert.h - Element types to and from f32 ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CONVERT_H
#define RONDO_LIB_RUNTIME_CONVERT_H

#include "schema/program_generated.h"
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rondo::runtime {

inline float widenBF16(uint16_t bits) {
  return std::bit_cast<float>((uint32_t)bits << 16);
}

/// To nearest, ties to even; a NaN stays a (quiet) NaN.
inline uint16_t roundBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float widenF16(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16,
           exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  float magnitude = (float)fraction * 0x1p-24f; // exact
  return sign ? -magnitude : magnitude;
}

/// To nearest, ties to even; overflow to infinity.
inline uint16_t roundF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = (uint16_t)(bits >> 16 & 0x8000u);
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return (uint16_t)(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) // 65520 and more round to 2^16
    return (uint16_t)(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 2^-1 aligns the unit of the sum's fraction with
    // 2^-24, and the addition rounds.
    float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return (uint16_t)(sign | (std::bit_cast<uint32_t>(sum) - 0x3f000000u));
  }
  uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return (uint16_t)(sign | (rounded - 0x38000000u) >> 13);
}

inline uint16_t load16(const std::byte *data, uint64_t index) {
  uint16_t bits;
  std::memcpy(&bits, data + 2 * index, 2);
  return bits;
}

inline float loadF32(const std::byte *data) {
  float value;
  std::memcpy(&value, data, 4);
  return value;
}

inline void storeF32(std::byte *data, float value) {
  std::memcpy(data, &value, 4);
}

/// Element `index` of a float array, as f32.
inline float loadFloat(const std::byte *data, program::ElementType type,
                       uint64_t index) {
  switch (type) {
  case program::ElementType::BF16:
    return widenBF16(load16(data, index));
  case program::ElementType::F16:
    return widenF16(load16(data, index));
  case program::ElementType::F64: {
    double value;
    std::memcpy(&value, data + 8 * index, 8);
    return (float)value;
  }
  default: {
    float value;
    std::memcpy(&value, data + 4 * index, 4);
    return value;
  }
  }
}

/// Rounds f32 to a float type and stores it as element `index`.
inline void storeFloat(std::byte *data, program::ElementType type,
                       uint64_t index, float value) {
  switch (type) {
  case program::ElementType::BF16: {
    uint16_t bits = roundBF16(value);
    std::memcpy(data + 2 * index, &bits, 2);
    return;
  }
  case program::ElementType::F16: {
    uint16_t bits = roundF16(value);
    std::memcpy(data + 2 * index, &bits, 2);
    return;
  }
  case program::ElementType::F64: {
    double wide = value;
    std::memcpy(data + 8 * index, &wide, 8);
    return;
  }
  default:
    std::memcpy(data + 4 * index, &value, 4);
  }
}

/// `count` elements from `first` on, as f32.
inline void loadFloats(const std::byte *data, program::ElementType type,
                       uint64_t first, uint64_t count, float *values) {
  switch (type) {
  case program::ElementType::BF16:
    for (uint64_t i = 0; i < count; ++i)
      values[i] = widenBF16(load16(data, first + i));
    return;
  case program::ElementType::F16:
    for (uint64_t i = 0; i < count; ++i)
      values[i] = widenF16(load16(data, first + i));
    return;
  case program::ElementType::F64:
    for (uint64_t i = 0; i < count; ++i)
      values[i] = loadFloat(data, program::ElementType::F64, first + i);
    return;
  default:
    std::memcpy(values, data + 4 * first, 4 * count);
  }
}

/// The reverse, each rounded.
inline void storeFloats(std::byte *data, program::ElementType type,
                        uint64_t first, uint64_t count, const float *values) {
  if (type == program::ElementType::F32) {
    std::memcpy(data + 4 * first, values, 4 * count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    storeFloat(data, type, first + i, values[i]);
}

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_CONVERT_H
