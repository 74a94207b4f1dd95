//===- HostReductionTest.cpp - Generated kernels that reduce -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostHarness.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace rondo;
using namespace rondo::test;

TEST(HostReduction, EveryAxis) {
  std::string text;
  int number = 0;
  struct Case {
    const char *from, *axes, *to;
  };
  for (Case c : {Case{"5x37", "[1]", "5"}, Case{"5x37", "[0]", "37"},
                 Case{"5x37", "[0, 1]", ""}, Case{"64", "[0]", ""},
                 Case{"3x4x50", "[1]", "3x50"}, Case{"3x4x50", "[0, 2]", "4"},
                 Case{"3x4x50", "[1, 2]", "3"}, Case{"3x4x50", "[0, 1]", "50"},
                 Case{"2x3x4x5", "[1, 3]", "2x4"},
                 Case{"2x1x20", "[1]", "2x20"}, Case{"300x600", "[0]", "600"},
                 Case{"2x300", "[1]", "2"}, Case{"1x17", "[1]", "1"}})
    for (const char *kind : {"sum", "mean", "max"})
      for (const char *element : {"f32", "bf16", "f64"}) {
        std::string to =
            std::string("tensor<") + c.to + (*c.to ? "x" : "") + element + ">";
        text += llvm::formatv(
            "func.func @reduce_{0}(%x: tensor<{1}x{2}>) -> {3} attributes "
            "{{nn.tolerance = {6} : f64} {{\n  %r = "
            "nn.reduce {4} %x {5} : tensor<{1}x{2}>\n  return %r : {3}\n}\n",
            number++, c.from, element, to, kind, c.axes,
            element[0] == 'b' ? "0x1p-6" : "3.0e-5");
      }
  // MLIR has no hexadecimal floats of this form.
  size_t at;
  while ((at = text.find("0x1p-6")) != std::string::npos)
    text.replace(at, 6, "0.015625");
  text += R"(
    func.func @integers(%x: tensor<6x40xi64>) -> (tensor<6xi64>, tensor<40xi64>, tensor<i64>) {
      %0 = nn.reduce sum %x [1] : tensor<6x40xi64>
      %1 = nn.reduce max %x [0] : tensor<6x40xi64>
      %2 = nn.reduce sum %x [0, 1] : tensor<6x40xi64>
      return %0, %1, %2 : tensor<6xi64>, tensor<40xi64>, tensor<i64>
    }
    func.func @keepdims(%x: tensor<6x40xf32>) -> tensor<6x40xf32> {
      %0 = nn.reduce mean %x [1] keepdims : tensor<6x40xf32>
      %1 = nn.broadcast %0 : tensor<6x1xf32> -> tensor<6x40xf32>
      %2 = nn.sub %x, %1 : tensor<6x40xf32>
      return %2 : tensor<6x40xf32>
    })";
  checkAll(text);
}

/// Rows and columns long enough for every way in which GPUs share them out.
TEST(HostReduction, Long) {
  std::string text;
  for (int width : {1023, 1024, 1030, 2048, 4096, 5004, 9001, 12288, 40000})
    for (const char *element : {"f32", "bf16"})
      text += llvm::formatv(R"(
        func.func @row_{0}_{1}(%x: tensor<3x{0}x{1}>, %w: tensor<{0}x{1}>) -> (tensor<3x{0}x{1}>, tensor<3x{0}x{1}>, tensor<3x{1}>)
            attributes {{nn.tolerance = {2} : f64} {{
          %0 = nn.softmax %x : tensor<3x{0}x{1}>
          %1 = nn.rms_norm %x, %w epsilon 1.0e-6 : tensor<3x{0}x{1}>, tensor<{0}x{1}>
          %2 = nn.reduce max %x [1] : tensor<3x{0}x{1}>
          return %0, %1, %2 : tensor<3x{0}x{1}>, tensor<3x{0}x{1}>, tensor<3x{1}>
        })",
                            width, element,
                            element[0] == 'b' ? "0.015625" : "3.0e-5");
  for (int rows : {63, 64, 67, 255, 256, 1001})
    for (const char *element : {"f32", "bf16", "f64"})
      text += llvm::formatv(R"(
        func.func @column_{0}_{1}(%x: tensor<{0}x150x{1}>, %y: tensor<{0}x150x{1}>) -> (tensor<150x{1}>, tensor<150x{1}>)
            attributes {{nn.tolerance = {2} : f64} {{
          %0 = nn.reduce sum %x [0] : tensor<{0}x150x{1}>
          %1 = nn.mul %x, %y : tensor<{0}x150x{1}>
          %2 = nn.reduce sum %1 [0] : tensor<{0}x150x{1}>
          return %0, %2 : tensor<150x{1}>, tensor<150x{1}>
        })",
                            rows, element,
                            element[0] == 'b' ? "0.015625" : "3.0e-5");
  text += R"(
    func.func @few_columns(%x: tensor<5000x37xf32>, %y: tensor<5000x64xbf16>) -> (tensor<37xf32>, tensor<37xf32>, tensor<64xbf16>)
        attributes {nn.tolerance = 0.015625 : f64} {
      %0 = nn.reduce sum %x [0] : tensor<5000x37xf32>
      %1 = nn.reduce max %x [0] : tensor<5000x37xf32>
      %2 = nn.reduce mean %y [0] : tensor<5000x64xbf16>
      return %0, %1, %2 : tensor<37xf32>, tensor<37xf32>, tensor<64xbf16>
    })";
  checkAll(text);
}

TEST(HostReduction, Composites) {
  checkAll(R"(
    func.func @softmax(%x: tensor<3x5x37xf32>, %h: tensor<9x64xbf16>) -> (tensor<3x5x37xf32>, tensor<9x64xbf16>) {
      %0 = nn.softmax %x : tensor<3x5x37xf32>
      %1 = nn.softmax %h : tensor<9x64xbf16>
      return %0, %1 : tensor<3x5x37xf32>, tensor<9x64xbf16>
    }
    func.func @rms_norm(%x: tensor<2x9x48xbf16>, %w: tensor<48xbf16>) -> tensor<2x9x48xbf16> {
      %0 = nn.rms_norm %x, %w epsilon 1.0e-6 : tensor<2x9x48xbf16>, tensor<48xbf16>
      return %0 : tensor<2x9x48xbf16>
    }
    func.func @head_norm(%x: tensor<2x5x24xf32>, %w: tensor<8xf32>) -> tensor<2x3x5x8xf32> {
      %0 = nn.reshape %x : tensor<2x5x24xf32> -> tensor<2x5x3x8xf32>
      %1 = nn.rms_norm %0, %w epsilon 1.0e-5 : tensor<2x5x3x8xf32>, tensor<8xf32>
      %2 = nn.transpose %1 [0, 2, 1, 3] : tensor<2x5x3x8xf32> -> tensor<2x3x5x8xf32>
      return %2 : tensor<2x3x5x8xf32>
    }
    func.func @cross_entropy(%x: tensor<11x50xf32>, %l: tensor<11xi64>) -> tensor<f32> {
      %0 = nn.cross_entropy %x, %l ignore 2 : tensor<11x50xf32>, tensor<11xi64>
      return %0 : tensor<f32>
    }
    func.func @cross_entropy_bf16(%x: tensor<11x160xbf16>, %l: tensor<11xi32>) -> tensor<f32> {
      %0 = nn.cross_entropy %x, %l : tensor<11x160xbf16>, tensor<11xi32>
      return %0 : tensor<f32>
    }
    func.func @layer_norm(%x: tensor<7x33xf32>, %w: tensor<33xf32>) -> (tensor<7x33xf32>, tensor<33xf32>) {
      %e = nn.constant dense<1.0e-5> : tensor<7x1xf32>
      %m = nn.reduce mean %x [1] keepdims : tensor<7x33xf32>
      %mb = nn.broadcast %m : tensor<7x1xf32> -> tensor<7x33xf32>
      %d = nn.sub %x, %mb : tensor<7x33xf32>
      %s = nn.mul %d, %d : tensor<7x33xf32>
      %v = nn.reduce mean %s [1] keepdims : tensor<7x33xf32>
      %ve = nn.add %v, %e : tensor<7x1xf32>
      %r = nn.rsqrt %ve : tensor<7x1xf32>
      %rb = nn.broadcast %r : tensor<7x1xf32> -> tensor<7x33xf32>
      %n = nn.mul %d, %rb : tensor<7x33xf32>
      %wb = nn.broadcast %w : tensor<33xf32> -> tensor<7x33xf32>
      %y = nn.mul %n, %wb : tensor<7x33xf32>
      %g = nn.mul %n, %x : tensor<7x33xf32>
      %dw = nn.reduce sum %g [0] : tensor<7x33xf32>
      return %y, %dw : tensor<7x33xf32>, tensor<33xf32>
    }
    func.func @transposed_rows(%x: tensor<20x6xf32>) -> tensor<6x20xf32> {
      %t = nn.transpose %x [1, 0] : tensor<20x6xf32> -> tensor<6x20xf32>
      %0 = nn.softmax %t : tensor<6x20xf32>
      return %0 : tensor<6x20xf32>
    }
    func.func @columns_of_softmax(%x: tensor<20x6xf32>) -> tensor<6xf32> {
      %0 = nn.softmax %x : tensor<20x6xf32>
      %1 = nn.reduce sum %0 [0] : tensor<20x6xf32>
      return %1 : tensor<6xf32>
    }
    func.func @norm_over_columns(%x: tensor<20x6xf32>) -> tensor<20x6xf32> {
      %0 = nn.reduce max %x [0] keepdims : tensor<20x6xf32>
      %1 = nn.broadcast %0 : tensor<1x6xf32> -> tensor<20x6xf32>
      %2 = nn.sub %x, %1 : tensor<20x6xf32>
      %3 = nn.reduce sum %2 [1] : tensor<20x6xf32>
      %4 = nn.exp %2 : tensor<20x6xf32>
      return %4 : tensor<20x6xf32>
    }
    func.func @padded_rows(%x: tensor<4x30xf32>) -> tensor<4xf32> {
      %0 = nn.pad %x [0, 3] [0, 2] 1.0 : f32 : tensor<4x30xf32> -> tensor<4x35xf32>
      %1 = nn.reduce sum %0 [1] : tensor<4x35xf32>
      return %1 : tensor<4xf32>
    })");
}

/// The order in which a row is summed is fixed: 16 accumulators, joined in
/// halves.
TEST(HostReduction, RowTree) {
  auto context = makeContext();
  CompiledModule module(*context, R"(
    func.func @row(%x: tensor<3x53xf32>) -> tensor<3xf32> {
      %0 = nn.reduce sum %x [1] : tensor<3x53xf32>
      return %0 : tensor<3xf32>
    }
    func.func @column(%x: tensor<53x3xf32>) -> tensor<3xf32> {
      %0 = nn.reduce sum %x [0] : tensor<53x3xf32>
      return %0 : tensor<3xf32>
    })");
  ASSERT_TRUE(module.isValid());
  auto get = [](const Bytes &bytes, size_t index) {
    float value;
    std::memcpy(&value, &bytes[4 * index], 4);
    return value;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    Bytes rows = toBytes(module.makeArguments("row", seed).front());
    Bytes sums = module.run("row", {rows}).front();
    for (int row = 0; row < 3; ++row) {
      float accumulators[16] = {};
      for (int j = 0; j < 53; ++j)
        accumulators[j % 16] += get(rows, row * 53 + j);
      for (int width = 8; width >= 1; width /= 2)
        for (int i = 0; i < width; ++i)
          accumulators[i] += accumulators[i + width];
      EXPECT_EQ(get(sums, row), accumulators[0]);
    }
    Bytes columns = toBytes(module.makeArguments("column", seed).front());
    sums = module.run("column", {columns}).front();
    for (int column = 0; column < 3; ++column) {
      float sum = 0;
      for (int j = 0; j < 53; ++j)
        sum += get(columns, j * 3 + column);
      EXPECT_EQ(get(sums, column), sum);
    }
  }
}

/// What an op gives does not depend on the kernel that it is in.
TEST(HostReduction, SameBitsInEveryKernel) {
  auto context = makeContext();
  const char *body = R"(
      %n = nn.rms_norm %x, %w epsilon 1.0e-6 : tensor<6x72x{0}>, tensor<72x{0}>
      %g = nn.gelu %n : tensor<6x72x{0}>
      %s = nn.softmax %g : tensor<6x72x{0}>
      %t = nn.tanh %s : tensor<6x72x{0}>)";
  for (const char *element : {"f32", "bf16", "f16"}) {
    std::string steps = llvm::formatv(body, element);
    std::string type = llvm::formatv("tensor<6x72x{0}>", element),
                vector = llvm::formatv("tensor<72x{0}>", element);
    std::string text = llvm::formatv(
        // All at once; every value stored; the last one by parts; transposed.
        "func.func @once(%x: {0}, %w: {1}) -> {0} {{{2}\n return %t : {0}\n}\n"
        "func.func @all(%x: {0}, %w: {1}) -> ({0}, {0}, {0}, {0}) {{{2}\n "
        "return %t, %n, %g, %s : {0}, {0}, {0}, {0}\n}\n"
        "func.func @sums(%x: {0}, %w: {1}) -> ({0}, {1}) {{{2}\n %c = "
        "nn.reduce sum %t [0] : {0}\n return %t, %c : {0}, {1}\n}\n"
        "func.func @turned(%x: {0}, %w: {1}) -> ({0}, tensor<72x6x{3}>) "
        "{{{2}\n %u = nn.transpose %t [1, 0] : {0} -> "
        "tensor<72x6x{3}>\n return %t, %u : {0}, tensor<72x6x{3}>\n}\n",
        type, vector, steps, element);
    CompiledModule module(*context, text);
    ASSERT_TRUE(module.isValid());
    std::vector<Bytes> arguments;
    for (const nn::HostTensor &argument : module.makeArguments("once", 3))
      arguments.push_back(toBytes(argument));
    Bytes expected = module.run("once", arguments).front();
    for (const char *other : {"all", "sums", "turned"})
      EXPECT_EQ(module.run(other, arguments).front(), expected)
          << other << " in " << element;
  }
}
