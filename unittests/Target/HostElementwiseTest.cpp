//===- HostElementwiseTest.cpp - Generated elementwise kernels -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostHarness.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace rondo;
using namespace rondo::test;

/// A function of one op on arguments of one type.
static std::string makeUnary(const std::string &op, const std::string &type,
                             const std::string &attributes = "",
                             const std::string &bounds = "") {
  static int number = 0;
  return llvm::formatv("func.func @{0}_{1}(%x: {2} {4}) -> {2} attributes "
                       "{{{3}} {{\n  %r = nn.{0} %x : {2}\n  return %r : "
                       "{2}\n}\n",
                       op, number++, type, attributes, bounds);
}

static std::string makeBinary(const std::string &op, const std::string &type,
                              const std::string &attributes = "",
                              const std::string &bounds = "") {
  static int number = 0;
  return llvm::formatv("func.func @{0}_{1}(%x: {2} {4}, %y: {2} {4}) -> {2} "
                       "attributes {{{3}} {{\n  %r = nn.{0} %x, %y : "
                       "{2}\n  return %r : {2}\n}\n",
                       op, number++, type, attributes, bounds);
}

/// Results that take one rounding must be the reference's to the bit: no
/// tolerance.
constexpr const char *kExact = "nn.tolerance = 0.0 : f64";

TEST(HostElementwise, RoundsOnceInEveryType) {
  std::string text;
  for (const char *element : {"f32", "bf16", "f16", "f64"})
    for (const char *shape : {"1", "15", "16", "3x7", "5x33"}) {
      std::string type = std::string("tensor<") + shape + "x" + element + ">";
      for (const char *op : {"neg", "abs", "relu", "reciprocal"})
        text += makeUnary(op, type, kExact);
      text += makeUnary("sqrt", type, kExact, "{nn.low = 0.0 : f64}");
      for (const char *op : {"add", "sub", "mul", "div", "maximum", "minimum"})
        text += makeBinary(op, type, kExact);
    }
  checkAll(text);
}

TEST(HostElementwise, Integers) {
  std::string text;
  for (const char *element : {"i64", "i32"})
    for (const char *shape : {"3", "2x17"}) {
      std::string type = std::string("tensor<") + shape + "x" + element + ">";
      const char *bounds = "{nn.low = -9.0 : f64, nn.high = 9.0 : f64}";
      for (const char *op : {"neg", "abs"})
        text += makeUnary(op, type, kExact, bounds);
      for (const char *op : {"add", "sub", "mul", "maximum", "minimum"})
        text += makeBinary(op, type, kExact, bounds);
      text += makeBinary("div", type, kExact,
                         "{nn.low = 1.0 : f64, nn.high = 50.0 : f64}");
      text += makeBinary("pow", type, kExact, "{nn.high = 5.0 : f64}");
      // Quotients of 1, those by a power of 0 among them.
      text += makeBinary("pow", type, kExact,
                         "{nn.low = -3.0 : f64, nn.high = 2.0 : f64}");
    }
  for (const char *op : {"and", "or"})
    text += makeBinary(op, "tensor<37xi1>");
  text += makeUnary("not", "tensor<37xi1>");
  checkAll(text);
}

TEST(HostElementwise, FunctionsAreAccurate) {
  // Within three units in the last place of f32, or one rounding of a narrow
  // type. Sine and cosine: where the result is near 0 the error is below that
  // of 1.
  std::string text;
  const char *exact = "nn.tolerance = 2.5e-7 : f64";
  for (const char *op : {"exp", "tanh", "erf", "sin", "cos", "sigmoid"})
    text += makeUnary(op, "tensor<4099xf32>", exact,
                      "{nn.low = -12.0 : f64, nn.high = 12.0 : f64}");
  text += makeUnary("exp", "tensor<4099xf32>", "nn.tolerance = 4.0e-7 : f64",
                    "{nn.low = -100.0 : f64, nn.high = 88.0 : f64}");
  for (const char *op : {"sin", "cos"})
    text += makeUnary(op, "tensor<4099xf32>", exact,
                      "{nn.low = -200000.0 : f64, nn.high = 200000.0 : f64}");
  text += makeUnary("log", "tensor<4099xf32>", exact,
                    "{nn.low = 0.0 : f64, nn.high = 3.0 : f64}");
  text += makeUnary("log", "tensor<4099xf32>", exact,
                    "{nn.low = 0.0 : f64, nn.high = 1.0e30 : f64}");
  text += makeUnary("rsqrt", "tensor<4099xf32>", exact,
                    "{nn.low = 0.1 : f64, nn.high = 1.0e4 : f64}");
  text += makeBinary("pow", "tensor<515xf32>", exact,
                     "{nn.low = 0.0 : f64, nn.high = 3.0 : f64}");
  for (const char *element : {"bf16", "f16", "f64"})
    for (const char *op :
         {"exp", "log", "tanh", "erf", "sin", "cos", "sigmoid", "rsqrt"})
      text += makeUnary(op, std::string("tensor<67x") + element + ">", "",
                        "{nn.low = 0.01 : f64, nn.high = 4.0 : f64}");
  checkAll(text);
}

/// Values at the edges of the functions' ranges.
TEST(HostElementwise, SpecialValues) {
  auto context = makeContext();
  std::string text;
  for (const char *op : {"exp", "log", "tanh", "erf", "sin", "cos", "sigmoid",
                         "relu", "sqrt", "rsqrt"})
    text +=
        llvm::formatv("func.func @{0}(%x: tensor<20xf32>) -> tensor<20xf32> "
                      "{{\n  %r = nn.{0} %x : tensor<20xf32>\n  return "
                      "%r : tensor<20xf32>\n}\n",
                      op);
  CompiledModule module(*context, text);
  ASSERT_TRUE(module.isValid());
  float infinity = INFINITY;
  std::vector<float> values = {
      0.f,    -0.f,    infinity,        -infinity, NAN,      1e-45f,
      1e-40f, -1e-40f, 1.17549435e-38f, 3.4e38f,   -3.4e38f, 88.72f,
      88.73f, -103.9f, -104.f,          1e9f,      0.625f,   1.f,
      4.f,    -4.f};
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  std::map<std::string, double (*)(double)> references = {
      {"exp", [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"relu", [](double x) { return x != x ? x : std::max(x, 0.0); }},
      {"sqrt", [](double x) { return std::sqrt(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  for (auto &[name, reference] : references) {
    Bytes result = module.run(name, {bytes}).front();
    for (size_t i = 0; i < values.size(); ++i) {
      bool isPeriodic = name == "sin" || name == "cos";
      // Beyond 2^30 no digit of a sine is promised.
      if (isPeriodic && std::abs(values[i]) > 0x1p30f &&
          std::isfinite(values[i]))
        continue;
      float actual;
      std::memcpy(&actual, &result[4 * i], 4);
      float expected = reference(values[i]);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual))
            << name << " of " << values[i] << ": " << actual;
        continue;
      }
      if (std::isinf(expected)) {
        EXPECT_EQ(actual, expected) << name << " of " << values[i];
        continue;
      }
      EXPECT_LE(std::abs(double(actual) - expected),
                4e-7 * std::abs(expected) + 3e-45)
          << name << " of " << values[i] << ": " << actual << ", not "
          << expected;
      // The sign of a zero is not kept by all of them.
      EXPECT_EQ(actual < 0, expected < 0) << name << " of " << values[i];
    }
  }
}

/// An integer division by zero must not stop the program.
TEST(HostElementwise, IntegerDivisionNeverTraps) {
  auto context = makeContext();
  CompiledModule module(*context, R"(
    func.func @divide(%x: tensor<18xi32>, %y: tensor<18xi32>) -> tensor<18xi32> {
      %r = nn.div %x, %y : tensor<18xi32>
      return %r : tensor<18xi32>
    })");
  ASSERT_TRUE(module.isValid());
  std::vector<int32_t> x(18, INT32_MIN), y(18, -1), expected(18, INT32_MIN),
      result(18);
  x[0] = 7, y[0] = 0, expected[0] = 0;
  x[1] = 7, y[1] = -2, expected[1] = -3;
  Bytes xBytes(72), yBytes(72);
  std::memcpy(xBytes.data(), x.data(), 72);
  std::memcpy(yBytes.data(), y.data(), 72);
  Bytes bytes = module.run("divide", {xBytes, yBytes}).front();
  std::memcpy(result.data(), bytes.data(), 72);
  EXPECT_EQ(result, expected);
}

TEST(HostElementwise, ComparesSelectsAndConverts) {
  std::string text;
  for (const char *predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const char *element : {"f32", "bf16", "i64", "i32", "i1"})
      text += llvm::formatv(
          "func.func @{0}_{1}(%x: tensor<50x{1}>, %y: tensor<50x{1}>) -> "
          "tensor<50xi1> {{\n  %r = nn.compare "
          "{0} %x, %y : tensor<50x{1}>\n  return %r : tensor<50xi1>\n}\n",
          predicate, element);
  for (const char *element : {"f32", "f16", "i64", "i1"})
    text += llvm::formatv(
        "func.func @select_{0}(%c: tensor<33xi1>, %x: tensor<33x{0}>, %y: "
        "tensor<33x{0}>) -> tensor<33x{0}> {{\n "
        " %r = nn.select %c, %x, %y : tensor<33xi1>, tensor<33x{0}>\n  return "
        "%r : tensor<33x{0}>\n}\n",
        element);
  const char *elements[] = {"f32", "bf16", "f16", "f64", "i64", "i32", "i1"};
  for (const char *from : elements)
    for (const char *to : elements)
      text += llvm::formatv("func.func @cast_{0}_{1}(%x: tensor<35x{0}> "
                            "{{nn.low = -3.0 : f64, nn.high = 3.0 : f64}) -> "
                            "tensor<35x{1}> attributes {{nn.tolerance = 0.0 : "
                            "f64} {{\n  %r = nn.cast %x : tensor<35x{0}> to "
                            "tensor<35x{1}>\n  return %r : tensor<35x{1}>\n}\n",
                            from, to);
  text += R"(
    func.func @is_nan(%x: tensor<19xf32>) -> tensor<19xi1> {
      %l = nn.log %x : tensor<19xf32>
      %r = nn.is_nan %l : tensor<19xf32>
      return %r : tensor<19xi1>
    }
    func.func @chain(%x: tensor<6x50xbf16>, %y: tensor<50xbf16>) -> (tensor<6x50xbf16>, tensor<6x50xbf16>) {
      %b = nn.broadcast %y : tensor<50xbf16> -> tensor<6x50xbf16>
      %0 = nn.add %x, %b : tensor<6x50xbf16>
      %1 = nn.mul %0, %x : tensor<6x50xbf16>
      %2 = nn.sub %1, %b : tensor<6x50xbf16>
      return %1, %2 : tensor<6x50xbf16>, tensor<6x50xbf16>
    }
    func.func @constants(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
      %c = nn.constant dense<1.5> : tensor<5x3xf32>
      %t = nn.constant dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
      %b = nn.broadcast %t : tensor<3xf32> -> tensor<5x3xf32>
      %0 = nn.mul %x, %c : tensor<5x3xf32>
      %1 = nn.add %0, %b : tensor<5x3xf32>
      return %1 : tensor<5x3xf32>
    }
    func.func @tables(%x: tensor<3xi1>) -> (tensor<3xi1>, tensor<4xi64>) {
      %t = nn.constant dense<[true, false, true]> : tensor<3xi1>
      %u = nn.constant dense<[1, -2, 3, 9]> : tensor<4xi64>
      %0 = nn.and %x, %t : tensor<3xi1>
      return %0, %u : tensor<3xi1>, tensor<4xi64>
    }
    func.func @composites(%x: tensor<4x40xf32>, %h: tensor<4x40xbf16>) -> (tensor<4x40xf32>, tensor<4x40xf32>, tensor<4x40xbf16>) {
      %0 = nn.gelu %x : tensor<4x40xf32>
      %1 = nn.gelu tanh %x : tensor<4x40xf32>
      %2 = nn.silu %h : tensor<4x40xbf16>
      return %0, %1, %2 : tensor<4x40xf32>, tensor<4x40xf32>, tensor<4x40xbf16>
    }
    func.func @powers(%x: tensor<40xf32> {nn.low = 0.1 : f64}) -> (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>) {
      %two = nn.constant dense<2.0> : tensor<40xf32>
      %three = nn.constant dense<3.0> : tensor<40xf32>
      %half = nn.constant dense<-0.5> : tensor<40xf32>
      %minus = nn.constant dense<-2.0> : tensor<40xf32>
      %0 = nn.pow %x, %two : tensor<40xf32>
      %1 = nn.pow %x, %three : tensor<40xf32>
      %2 = nn.pow %x, %half : tensor<40xf32>
      %3 = nn.pow %x, %minus : tensor<40xf32>
      return %0, %1, %2, %3 : tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>
    })";
  checkAll(text);
}

TEST(HostElementwise, MovesData) {
  checkAll(R"(
    func.func @transpose(%x: tensor<3x5x20xf32>) -> (tensor<20x3x5xf32>, tensor<5x3x20xf32>) {
      %0 = nn.transpose %x [2, 0, 1] : tensor<3x5x20xf32> -> tensor<20x3x5xf32>
      %1 = nn.transpose %x [1, 0, 2] : tensor<3x5x20xf32> -> tensor<5x3x20xf32>
      return %0, %1 : tensor<20x3x5xf32>, tensor<5x3x20xf32>
    }
    func.func @heads(%x: tensor<2x6x24xbf16>) -> tensor<2x4x6x6xbf16> {
      %0 = nn.reshape %x : tensor<2x6x24xbf16> -> tensor<2x6x4x6xbf16>
      %1 = nn.transpose %0 [0, 2, 1, 3] : tensor<2x6x4x6xbf16> -> tensor<2x4x6x6xbf16>
      %2 = nn.add %1, %1 : tensor<2x4x6x6xbf16>
      return %2 : tensor<2x4x6x6xbf16>
    }
    func.func @reshape_after_transpose(%x: tensor<4x6x5xf32>) -> tensor<20x6xf32> {
      %0 = nn.transpose %x [0, 2, 1] : tensor<4x6x5xf32> -> tensor<4x5x6xf32>
      %1 = nn.reshape %0 : tensor<4x5x6xf32> -> tensor<20x6xf32>
      %2 = nn.neg %1 : tensor<20x6xf32>
      return %2 : tensor<20x6xf32>
    }
    func.func @awkward(%x: tensor<4x6xf32>) -> tensor<8x3xf32> {
      %0 = nn.transpose %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
      %1 = nn.reshape %0 : tensor<6x4xf32> -> tensor<3x8xf32>
      %2 = nn.transpose %1 [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
      return %2 : tensor<8x3xf32>
    }
    func.func @slices(%x: tensor<7x40xf32>) -> (tensor<3x20xf32>, tensor<7x8xf32>) {
      %0 = nn.slice %x [1, 3] [2, 1] : tensor<7x40xf32> -> tensor<3x20xf32>
      %1 = nn.slice %x [6, 37] [-1, -5] : tensor<7x40xf32> -> tensor<7x8xf32>
      return %0, %1 : tensor<3x20xf32>, tensor<7x8xf32>
    }
    func.func @broadcasts(%x: tensor<4x1x6xf32>, %y: tensor<6xf32>, %z: tensor<f32>) -> tensor<4x5x6xf32> {
      %0 = nn.broadcast %x : tensor<4x1x6xf32> -> tensor<4x5x6xf32>
      %1 = nn.broadcast %y : tensor<6xf32> -> tensor<4x5x6xf32>
      %2 = nn.broadcast %z : tensor<f32> -> tensor<4x5x6xf32>
      %3 = nn.add %0, %1 : tensor<4x5x6xf32>
      %4 = nn.mul %3, %2 : tensor<4x5x6xf32>
      return %4 : tensor<4x5x6xf32>
    }
    func.func @concat(%x: tensor<3x20xbf16>, %y: tensor<3x12xbf16>, %z: tensor<3x1xbf16>) -> tensor<3x33xbf16> {
      %0 = nn.concat 1, %x, %y, %z : tensor<3x20xbf16>, tensor<3x12xbf16>, tensor<3x1xbf16>
      %1 = nn.add %0, %0 : tensor<3x33xbf16>
      return %1 : tensor<3x33xbf16>
    }
    func.func @concat_rows(%x: tensor<3x20xf32>, %y: tensor<2x20xf32>) -> tensor<5x20xf32> {
      %0 = nn.concat 0, %x, %y : tensor<3x20xf32>, tensor<2x20xf32>
      return %0 : tensor<5x20xf32>
    }
    func.func @concat_split(%x: tensor<2x16xf32>, %y: tensor<2x8xf32>) -> tensor<2x3x8xf32> {
      %0 = nn.concat 1, %x, %y : tensor<2x16xf32>, tensor<2x8xf32>
      %1 = nn.reshape %0 : tensor<2x24xf32> -> tensor<2x3x8xf32>
      %2 = nn.transpose %1 [0, 1, 2] : tensor<2x3x8xf32> -> tensor<2x3x8xf32>
      return %2 : tensor<2x3x8xf32>
    }
    func.func @pad(%x: tensor<3x20xf32>) -> tensor<6x37xf32> {
      %0 = nn.pad %x [2, 16] [1, 1] 3.5 : f32 : tensor<3x20xf32> -> tensor<6x37xf32>
      return %0 : tensor<6x37xf32>
    }
    func.func @pad_integers(%x: tensor<5xi64>) -> tensor<5xi64> {
      %0 = nn.pad %x [0] [1] -100 : i64 : tensor<5xi64> -> tensor<6xi64>
      %1 = nn.slice %0 [1] [1] : tensor<6xi64> -> tensor<5xi64>
      return %1 : tensor<5xi64>
    }
    func.func @rope(%x: tensor<2x3x5x64xbf16>, %c: tensor<5x64xbf16>, %s: tensor<5x64xbf16>) -> tensor<2x3x5x64xbf16> {
      %0 = nn.rope %x, %c, %s : tensor<2x3x5x64xbf16>, tensor<5x64xbf16>, tensor<5x64xbf16>
      return %0 : tensor<2x3x5x64xbf16>
    }
    func.func @small_rope(%x: tensor<2x5x3x6xf32>, %c: tensor<5x6xf32>, %s: tensor<5x6xf32>) -> tensor<2x3x5x6xf32> {
      %t = nn.transpose %x [0, 2, 1, 3] : tensor<2x5x3x6xf32> -> tensor<2x3x5x6xf32>
      %0 = nn.rope %t, %c, %s : tensor<2x3x5x6xf32>, tensor<5x6xf32>, tensor<5x6xf32>
      return %0 : tensor<2x3x5x6xf32>
    }
    func.func @iota(%x: tensor<4x30xf32>) -> (tensor<4x30xf32>, tensor<4x30xi32>) {
      %0 = nn.iota 1 {start = 2 : i64, step = 3 : i64} : tensor<4x30xf32>
      %1 = nn.add %x, %0 : tensor<4x30xf32>
      %2 = nn.iota 0 {start = -1 : i64} : tensor<4x30xi32>
      return %1, %2 : tensor<4x30xf32>, tensor<4x30xi32>
    }
    func.func @passed_through(%x: tensor<4x3xf32>, %y: tensor<5xf32>) -> (tensor<12xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) {
      %0 = nn.reshape %x : tensor<4x3xf32> -> tensor<12xf32>
      %1 = nn.neg %y : tensor<5xf32>
      return %0, %y, %1, %1 : tensor<12xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
    }
    func.func @scalar(%x: tensor<f32>, %y: tensor<1xf32>) -> tensor<f32> {
      %0 = nn.reshape %y : tensor<1xf32> -> tensor<f32>
      %1 = nn.add %x, %0 : tensor<f32>
      return %1 : tensor<f32>
    })");
}
