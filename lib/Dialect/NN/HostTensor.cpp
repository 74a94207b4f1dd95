//===- HostTensor.cpp - Tensors of the reference evaluator ----------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/HostTensor.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace rondo::nn {

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

/// Rounds to a binary format of `mantissa` stored bits whose normal numbers
/// have exponents from `least` to `most`; nearest even, straight from double.
template <int mantissa, int least, int most>
static double roundToFormat(double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent == 1024)
    return value; // infinity or NaN
  if (exponent < least) {
    // Subnormal there: a multiple of the smallest positive number. The default
    // rounding mode of nearbyint is nearest even.
    constexpr int shift = mantissa - least;
    double rounded = std::nearbyint(std::ldexp(value, shift));
    return std::ldexp(rounded, -shift);
  }
  constexpr int dropped = 52 - mantissa;
  bits += (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
  bits &= ~((uint64_t(1) << dropped) - 1);
  double rounded = llvm::bit_cast<double>(bits);
  if (static_cast<int>(bits >> 52 & 0x7ff) - 1023 > most)
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

static double roundToBf16(double value) {
  return roundToFormat<7, -126, 127>(value);
}
static double roundToF16(double value) {
  return roundToFormat<10, -14, 15>(value);
}

double roundTo(double value, Type type) {
  if (type.isF32())
    return static_cast<float>(value);
  if (type.isBF16())
    return roundToBf16(value);
  if (type.isF16())
    return roundToF16(value);
  return value;
}

/// The bits of a value that is already rounded to the format.
template <int mantissa, int least>
static uint16_t encodeHalf(double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  uint16_t sign = bits >> 63 << 15;
  constexpr uint16_t infinity = ((1 << (15 - mantissa)) - 1) << mantissa;
  if (std::isnan(value))
    return sign | infinity | 1 << (mantissa - 1);
  if (std::isinf(value))
    return sign | infinity;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (exponent < least)
    return sign | static_cast<uint16_t>(
                      std::ldexp(std::fabs(value), mantissa - least));
  return sign | (exponent - least + 1) << mantissa |
         (bits >> (52 - mantissa) & ((1 << mantissa) - 1));
}

/// The inverse of encodeHalf.
template <int mantissa, int least>
static double decodeHalf(uint16_t bits) {
  constexpr int exponentMask = (1 << (15 - mantissa)) - 1;
  int exponent = bits >> mantissa & exponentMask;
  int fraction = bits & ((1 << mantissa) - 1);
  double value;
  if (exponent == exponentMask)
    value = fraction ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, least - mantissa);
  else
    value =
        std::ldexp(fraction + (1 << mantissa), exponent - 1 + least - mantissa);
  return bits >> 15 ? -value : value;
}

static double decodeBf16(uint16_t bits) {
  return llvm::bit_cast<float>(uint32_t(bits) << 16);
}

//===----------------------------------------------------------------------===//
// HostTensor
//===----------------------------------------------------------------------===//

HostTensor::HostTensor(RankedTensorType type) : type(type) {
  if (isFloat())
    floatValues.resize(getNumElements());
  else
    integerValues.resize(getNumElements());
}

/// Converts every element of a packed buffer, or its only one if it is a splat.
template <typename Source, typename Target, typename Convert>
static void decode(ArrayRef<char> raw, std::vector<Target> &values,
                   Convert convert) {
  auto load = [&](size_t i) {
    Source element;
    std::memcpy(&element, raw.data() + i * sizeof(Source), sizeof(Source));
    return convert(element);
  };
  if (raw.size() < values.size() * sizeof(Source)) {
    std::fill(values.begin(), values.end(), load(0));
    return;
  }
  for (size_t i = 0, e = values.size(); i < e; ++i)
    values[i] = load(i);
}

template <typename Source, typename Target>
static void decodeAs(ArrayRef<char> raw, std::vector<Target> &values) {
  decode<Source>(raw, values,
                 [](Source element) { return static_cast<Target>(element); });
}

/// Decodes `raw` where its layout is known: every type but i1, whose packing is
/// the attribute's own business.
static bool decodeRaw(Type element, ArrayRef<char> raw, HostTensor &tensor) {
  if (element.isF32())
    decodeAs<float>(raw, tensor.floats());
  else if (element.isF64())
    decodeAs<double>(raw, tensor.floats());
  else if (element.isBF16())
    decode<uint16_t>(raw, tensor.floats(), decodeBf16);
  else if (element.isF16())
    decode<uint16_t>(raw, tensor.floats(), decodeHalf<10, -14>);
  else if (element.isInteger(64))
    decodeAs<int64_t>(raw, tensor.integers());
  else if (element.isInteger(32))
    decodeAs<int32_t>(raw, tensor.integers());
  else
    return false;
  return true;
}

HostTensor HostTensor::fromAttribute(ElementsAttr attribute) {
  HostTensor tensor(cast<RankedTensorType>(attribute.getType()));
  if (tensor.getNumElements() == 0)
    return tensor;
  Type element = tensor.getType().getElementType();
  if (auto dense = dyn_cast<DenseIntOrFPElementsAttr>(attribute))
    if (decodeRaw(element, dense.getRawData(), tensor))
      return tensor;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute))
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      if (blob->getData().size() * 8 ==
          static_cast<size_t>(tensor.getNumElements()) *
              element.getIntOrFloatBitWidth())
        if (decodeRaw(element, blob->getData(), tensor))
          return tensor;
  if (tensor.isFloat()) {
    if (auto values = attribute.tryGetValues<APFloat>())
      for (auto [target, value] : llvm::zip(tensor.floatValues, *values)) {
        bool losesInfo;
        APFloat wide = value;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
        target = wide.convertToDouble();
      }
    return tensor;
  }
  if (element.isInteger(1)) {
    if (auto values = attribute.tryGetValues<bool>())
      for (auto [target, value] : llvm::zip(tensor.integerValues, *values))
        target = value;
    return tensor;
  }
  if (auto values = attribute.tryGetValues<APInt>())
    for (auto [target, value] : llvm::zip(tensor.integerValues, *values))
      target = value.getSExtValue();
  return tensor;
}

template <typename Target, typename Source, typename Convert>
static DenseElementsAttr encode(RankedTensorType type,
                                const std::vector<Source> &values,
                                Convert convert) {
  // One element is how the attribute stores equal ones.
  bool splat = !values.empty();
  for (size_t i = 1; splat && i < values.size(); ++i)
    splat = std::memcmp(&values[i], &values[0], sizeof(Source)) == 0;
  std::vector<Target> encoded(splat ? 1 : values.size());
  for (size_t i = 0; i < encoded.size(); ++i)
    encoded[i] = convert(values[i]);
  ArrayRef<char> raw(reinterpret_cast<const char *>(encoded.data()),
                     encoded.size() * sizeof(Target));
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

DenseElementsAttr HostTensor::toAttribute() const {
  Type element = type.getElementType();
  if (element.isF32())
    return encode<float>(type, floatValues, [](double value) {
      return static_cast<float>(value);
    });
  if (element.isF64())
    return encode<double>(type, floatValues,
                          [](double value) { return value; });
  if (element.isBF16())
    return encode<uint16_t>(type, floatValues, [](double value) {
      return encodeHalf<7, -126>(roundToBf16(value));
    });
  if (element.isF16())
    return encode<uint16_t>(type, floatValues, [](double value) {
      return encodeHalf<10, -14>(roundToF16(value));
    });
  if (element.isInteger(64))
    return encode<int64_t>(type, integerValues,
                           [](int64_t value) { return value; });
  if (element.isInteger(32))
    return encode<int32_t>(type, integerValues, [](int64_t value) {
      return static_cast<int32_t>(value);
    });
  // i1: the attribute packs them.
  SmallVector<bool> flags;
  flags.reserve(integerValues.size());
  for (int64_t value : integerValues)
    flags.push_back(value != 0);
  return DenseElementsAttr::get(type, ArrayRef<bool>(flags));
}

void HostTensor::round() {
  Type element = type.getElementType();
  if (element.isF32()) {
    for (double &value : floatValues)
      value = static_cast<float>(value);
  } else if (element.isBF16()) {
    for (double &value : floatValues)
      value = roundToBf16(value);
  } else if (element.isF16()) {
    for (double &value : floatValues)
      value = roundToF16(value);
  } else if (element.isInteger(32)) {
    for (int64_t &value : integerValues)
      value = static_cast<int32_t>(value);
  } else if (element.isInteger(1)) {
    for (int64_t &value : integerValues)
      value = value != 0;
  }
}

} // namespace rondo::nn
