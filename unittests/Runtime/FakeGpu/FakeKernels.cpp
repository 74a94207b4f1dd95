//===- FakeKernels.cpp - The tests' GPU kernels on the host ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Kernels.cu and lib/Runtime/Cuda/CudaKernels.h have them.
//
//===----------------------------------------------------------------------===//

#include "FakeKernels.h"
#include "Convert.h"
#include "ToyShape.h"
#include <chrono>
#include <cmath>
#include <thread>

using namespace rondo::runtime;
using namespace rondo::runtime::testing;

constexpr uint64_t kElements = TOY_ROWS * TOY_COLUMNS;

template <typename T>
static T *at(uint64_t address) {
  return reinterpret_cast<T *>(address);
}

template <typename T, float (*Load)(T)>
static bool addBias(const FakeArguments &a, uint64_t threads) {
  auto *h = at<float>(a[0]);
  auto *b = at<const T>(a[1]), *shift = at<const T>(a[2]);
  for (uint64_t i = 0; i < threads && i < kElements; ++i)
    h[i] += Load(b[i % TOY_COLUMNS]) + Load(shift[i % TOY_COLUMNS]);
  return true;
}

static float same(float value) { return value; }

static bool squareLoss(const FakeArguments &a, uint64_t) {
  auto *y = at<float>(a[0]);
  auto *labels = at<const int64_t>(a[1]);
  float seed = *at<const float>(a[2]), valid = 0, loss = 0;
  for (int row = 0; row < TOY_ROWS; ++row) {
    if (labels[row] >= 1000) {
      *at<int32_t>(a[4]) = 1;
      return true;
    }
    if (labels[row] >= 0)
      valid += 1;
  }
  for (uint64_t i = 0; i < kElements; ++i) {
    int64_t label = labels[i / TOY_COLUMNS];
    float difference = y[i] - (float)label;
    if (label >= 0)
      loss += difference * difference;
    y[i] = label < 0 ? 0 : seed * 2 * difference / valid;
  }
  *at<float>(a[3]) = loss / valid;
  return true;
}

static bool biasGradient(const FakeArguments &a, uint64_t threads) {
  auto *dh = at<const float>(a[0]);
  auto *gb = at<float>(a[1]);
  for (uint64_t column = 0; column < threads && column < TOY_COLUMNS; ++column)
    for (uint64_t row = 0; row < TOY_ROWS; ++row)
      gb[column] += dh[row * TOY_COLUMNS + column];
  return true;
}

/// gradient, master in, out, moments, copy if `HasCopy`, scalars
template <bool HasCopy>
static bool adamw(const FakeArguments &a, uint64_t threads) {
  auto *g = at<const float>(a[0]), *in = at<const float>(a[1]);
  auto *out = at<float>(a[2]), *m = at<float>(a[3]), *v = at<float>(a[4]);
  auto *copy = at<uint16_t>(a[5]);
  auto *s = at<const float>(a[HasCopy ? 6 : 5]);
  for (uint64_t i = 0; i < threads; ++i) {
    float p = in[i];
    if (s[7] >= 0) {
      float gradient = g[i] * s[7];
      p *= 1 - s[0] * s[4];
      m[i] = s[1] * m[i] + (1 - s[1]) * gradient;
      v[i] = s[2] * v[i] + (1 - s[2]) * gradient * gradient;
      p -= s[0] / s[5] * m[i] / (std::sqrt(v[i]) / s[6] + s[3]);
      out[i] = p;
    }
    if (HasCopy)
      copy[i] = roundBF16(p);
  }
  return true;
}

static bool sleepLong(const FakeArguments &, uint64_t) {
  std::this_thread::sleep_for(std::chrono::milliseconds(900));
  return true;
}

static bool iota(const FakeArguments &a, uint64_t threads) {
  for (uint64_t i = 0; i < threads; ++i)
    at<float>(a[0])[i] = (float)i + *at<const float>(a[1]);
  return true;
}

static bool fault(const FakeArguments &, uint64_t) { return false; }

static bool delay(const FakeArguments &a, uint64_t) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(a[0]));
  return true;
}

/// source, target, elements, columns, leading, half
static bool widen(const FakeArguments &a, uint64_t) {
  for (uint64_t i = 0; i < a[2]; ++i) {
    uint16_t value = at<const uint16_t>(a[0])[i / a[3] * a[4] + i % a[3]];
    at<float>(a[1])[i] = a[5] ? widenF16(value) : widenBF16(value);
  }
  return true;
}

/// values, begin, end
static bool round(const FakeArguments &a, uint64_t) {
  for (uint64_t i = a[1]; i < a[2]; ++i) {
    float value = at<const float>(a[0])[i];
    at<uint16_t>(a[0])[i] = roundBF16(value);
  }
  return true;
}

/// target, words
static bool fill(const FakeArguments &a, uint64_t) {
  for (uint64_t i = 0; i < a[1]; ++i)
    at<uint32_t>(a[0])[i] =
        ((uint32_t)i * 0x9e3779b1u & 0x807f807fu) | 0x3f003f00u;
  return true;
}

static bool nothing(const FakeArguments &, uint64_t) { return true; }

const FakeKernel *testing::findFakeKernel(const std::string &name) {
  static const FakeKernel kernels[] = {
      {"add_bias", 3, addBias<float, same>},
      {"add_bias_bf16", 3, addBias<uint16_t, widenBF16>},
      {"square_loss", 5, squareLoss},
      {"bias_gradient", 2, biasGradient},
      {"adamw_f32_or_skip", 6, adamw<false>},
      {"adamw_copy_or_skip", 7, adamw<true>},
      {"sleep_ms", 0, sleepLong},
      {"iota", 2, iota},
      {"fault", 1, fault},
      {"rondo_delay", 1, delay},
      {"rondo_widen", 6, widen},
      {"rondo_round", 3, round},
      {"rondo_fill", 2, fill},
      // For attention, which needs a cuDNN.
      {"rondo_add_part", 0, nothing},
      {"rondo_round_rows", 0, nothing}};
  for (const FakeKernel &kernel : kernels)
    if (name == kernel.name)
      return &kernel;
  return nullptr;
}
