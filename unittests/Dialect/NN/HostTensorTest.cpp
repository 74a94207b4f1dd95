//===- HostTensorTest.cpp - Conversion and rounding -----------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

class HostTensorTest : public EvaluationTest {};

/// What LLVM's software floating point says.
double roundByApFloat(double value, FloatType type) {
  APFloat wide(value);
  bool losesInfo;
  wide.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
               &losesInfo);
  wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return wide.convertToDouble();
}

TEST_F(HostTensorTest, RoundsAsApFloatDoes) {
  FloatType types[] = {Float32Type::get(&context), BFloat16Type::get(&context),
                       Float16Type::get(&context), Float64Type::get(&context)};
  std::mt19937_64 random(11);
  for (FloatType type : types) {
    SCOPED_TRACE(debugString(type));
    auto check = [&](double value) {
      double expected = roundByApFloat(value, type),
             actual = roundTo(value, type);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual));
        return;
      }
      // Bits, so that the sign of zero counts.
      EXPECT_EQ(llvm::bit_cast<uint64_t>(actual),
                llvm::bit_cast<uint64_t>(expected))
          << value;
    };
    for (double value :
         {0.0, -0.0, 1.0, 65504.0, 65519.999, 65520.0, 3.4028235e38, 3.5e38,
          -1e300, 1e-310, double(INFINITY), -double(INFINITY), double(NAN)})
      check(value);
    for (int i = 0; i < 20000; ++i) {
      double mantissa =
          llvm::bit_cast<double>((random() >> 12) | 0x3ff0000000000000);
      int exponent = static_cast<int>(random() % 320) - 160;
      double value = std::ldexp(mantissa, exponent);
      check(random() & 1 ? value : -value);
      // Ties of each format and their neighbours.
      double tie = std::ldexp(double((random() % 4096) * 2 + 1), exponent - 8);
      check(tie);
      check(std::nextafter(tie, 0));
      check(std::nextafter(tie, INFINITY));
    }
  }
}

TEST_F(HostTensorTest, ConvertsEveryHalf) {
  for (FloatType element : {FloatType(BFloat16Type::get(&context)),
                            FloatType(Float16Type::get(&context))}) {
    SCOPED_TRACE(debugString(element));
    auto type = RankedTensorType::get({1 << 16}, element);
    std::vector<uint16_t> bits(1 << 16);
    for (size_t i = 0; i < bits.size(); ++i)
      bits[i] = static_cast<uint16_t>(i);
    ArrayRef<char> raw(reinterpret_cast<const char *>(bits.data()),
                       bits.size() * 2);
    DenseElementsAttr attribute =
        DenseElementsAttr::getFromRawBuffer(type, raw);
    HostTensor tensor = HostTensor::fromAttribute(attribute);
    for (auto [i, value] : llvm::enumerate(attribute.getValues<APFloat>())) {
      bool losesInfo;
      value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                    &losesInfo);
      double expected = value.convertToDouble(), actual = tensor.floats()[i];
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(actual)) << i;
      else
        EXPECT_EQ(llvm::bit_cast<uint64_t>(actual),
                  llvm::bit_cast<uint64_t>(expected))
            << i;
    }
    HostTensor back = HostTensor::fromAttribute(tensor.toAttribute());
    for (size_t i = 0; i < bits.size(); ++i)
      EXPECT_TRUE(std::isnan(tensor.floats()[i])
                      ? std::isnan(back.floats()[i])
                      : llvm::bit_cast<uint64_t>(tensor.floats()[i]) ==
                            llvm::bit_cast<uint64_t>(back.floats()[i]))
          << i;
  }
}

TEST_F(HostTensorTest, RoundTripsEveryElementType) {
  for (const char *text : {
           "dense<[[1.0, -2.5], [0.0, 3.0]]> : tensor<2x2xf32>",
           "dense<[1.0, 1.0e-300]> : tensor<2xf64>",
           "dense<[1.0, -0.5]> : tensor<2xbf16>",
           "dense<[1.0, -0.5]> : tensor<2xf16>",
           "dense<[9223372036854775807, -1]> : tensor<2xi64>",
           "dense<[2147483647, -2147483648]> : tensor<2xi32>",
           "dense<[true, false, true, true, false, false, true, false, true]> "
           ": tensor<9xi1>",
           "dense<7.0> : tensor<3x5xbf16>",
           "dense<-3> : tensor<3xi32>",
           "dense<true> : tensor<11xi1>",
           "dense<false> : tensor<11xi1>",
           "dense<2.0> : tensor<f32>",
           "dense<> : tensor<0x4xf32>",
           "dense<> : tensor<2x0xi1>",
       }) {
    SCOPED_TRACE(text);
    HostTensor tensor = parseTensor(text);
    EXPECT_EQ(
        static_cast<int64_t>(tensor.floats().size() + tensor.integers().size()),
        tensor.getNumElements());
    std::string printed = debugString(tensor.toAttribute());
    EXPECT_EQ(
        printed,
        debugString(
            HostTensor::fromAttribute(tensor.toAttribute()).toAttribute()));
    expectClose(HostTensor::fromAttribute(tensor.toAttribute()), tensor, 0);
  }
  EXPECT_EQ(parseTensor("dense<[true, false, true]> : tensor<3xi1>").integers(),
            (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(parseTensor("dense<true> : tensor<2xi1>").integers(),
            (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(parseTensor("dense<1.5> : tensor<2xf16>").floats(),
            (std::vector<double>{1.5, 1.5}));
  EXPECT_TRUE(
      parseTensor("dense<[3, 3]> : tensor<2xi64>").toAttribute().isSplat());
}

TEST_F(HostTensorTest, ReadsResources) {
  auto type = RankedTensorType::get({3}, Float32Type::get(&context));
  float values[] = {1.0f, 2.0f, -4.0f};
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocateAndCopyInferAlign(ArrayRef<float>(values));
  HostTensor tensor = HostTensor::fromAttribute(
      DenseResourceElementsAttr::get(type, "blob", std::move(blob)));
  EXPECT_EQ(tensor.floats(), (std::vector<double>{1, 2, -4}));
}

TEST_F(HostTensorTest, RoundsItsElements) {
  HostTensor tensor(RankedTensorType::get({3}, BFloat16Type::get(&context)));
  EXPECT_EQ(tensor.floats(), (std::vector<double>{0, 0, 0}));
  tensor.floats() = {1.00390625, 1.01171875, 1e39};
  tensor.round();
  EXPECT_EQ(tensor.floats(), (std::vector<double>{1, 1.015625, INFINITY}));
  HostTensor flags(RankedTensorType::get({2}, IntegerType::get(&context, 1)));
  flags.integers() = {-5, 0};
  flags.round();
  EXPECT_EQ(flags.integers(), (std::vector<int64_t>{1, 0}));
}

} // namespace
