//===- HostProductTest.cpp - Products and indexing as launch lists --------===//
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
#include <cstring>

using namespace rondo;
using namespace rondo::test;

static std::vector<float> toFloats(const Bytes &bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(HostProduct, Matmul) {
  std::string text;
  struct Case {
    const char *lhs, *rhs, *flags, *result;
  };
  int number = 0;
  for (Case c :
       {Case{"5x7", "7x3", "", "5x3"},
        Case{"7x5", "7x3", "transpose_lhs", "5x3"},
        Case{"5x7", "3x7", "transpose_rhs", "5x3"},
        Case{"7x5", "3x7", "transpose_lhs transpose_rhs", "5x3"},
        Case{"2x4x6", "6x5", "", "2x4x5"}, Case{"2x4x6", "2x6x5", "", "2x4x5"},
        Case{"2x3x6x4", "2x3x5x6", "transpose_lhs transpose_rhs", "2x3x4x5"},
        Case{"1x6", "6x1", "", "1x1"}})
    for (auto [from, to] : {std::pair("f32", "f32"),
                            {"bf16", "bf16"},
                            {"bf16", "f32"},
                            {"f16", "f16"}})
      text +=
          llvm::formatv("func.func @matmul_{0}(%x: tensor<{1}x{4}>, %y: "
                        "tensor<{2}x{4}>) -> tensor<{3}x{5}> {{\n  %r = "
                        "nn.matmul %x, %y {6} : tensor<{1}x{4}>, "
                        "tensor<{2}x{4}> -> tensor<{3}x{5}>\n  return %r : "
                        "tensor<{3}x{5}>\n}\n",
                        number++, c.lhs, c.rhs, c.result, from, to, c.flags);
  text += R"(
    func.func @through_views(%x: tensor<2x5x12xf32>, %y: tensor<2x5x12xf32>) -> tensor<2x3x5x5xf32> {
      %0 = nn.reshape %x : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
      %1 = nn.transpose %0 [0, 2, 1, 3] : tensor<2x5x3x4xf32> -> tensor<2x3x5x4xf32>
      %2 = nn.reshape %y : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
      %3 = nn.transpose %2 [0, 2, 3, 1] : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
      %4 = nn.matmul %1, %3 : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
      return %4 : tensor<2x3x5x5xf32>
    }
    func.func @repeated(%x: tensor<4x5x6xf32>, %y: tensor<2x6x3xf32>) -> tensor<4x5x3xf32> {
      %0 = nn.reshape %y : tensor<2x6x3xf32> -> tensor<2x1x6x3xf32>
      %1 = nn.broadcast %0 : tensor<2x1x6x3xf32> -> tensor<2x2x6x3xf32>
      %2 = nn.reshape %1 : tensor<2x2x6x3xf32> -> tensor<4x6x3xf32>
      %3 = nn.matmul %x, %2 : tensor<4x5x6xf32>, tensor<4x6x3xf32> -> tensor<4x5x3xf32>
      return %3 : tensor<4x5x3xf32>
    }
    func.func @sliced(%x: tensor<5x20xf32>, %y: tensor<8x3xf32>) -> tensor<5x3xf32> {
      %0 = nn.slice %x [0, 4] [1, 1] : tensor<5x20xf32> -> tensor<5x8xf32>
      %1 = nn.matmul %0, %y : tensor<5x8xf32>, tensor<8x3xf32> -> tensor<5x3xf32>
      return %1 : tensor<5x3xf32>
    }
    func.func @every_other(%x: tensor<5x16xf32>, %y: tensor<8x3xf32>) -> tensor<5x3xf32> {
      %0 = nn.slice %x [0, 1] [1, 2] : tensor<5x16xf32> -> tensor<5x8xf32>
      %1 = nn.matmul %0, %y : tensor<5x8xf32>, tensor<8x3xf32> -> tensor<5x3xf32>
      return %1 : tensor<5x3xf32>
    }
    func.func @layer(%x: tensor<2x4x16xbf16>, %w: tensor<24x16xbf16>, %b: tensor<24xbf16>, %v: tensor<16x24xbf16>) -> tensor<2x4x16xbf16> {
      %0 = nn.matmul %x, %w transpose_rhs : tensor<2x4x16xbf16>, tensor<24x16xbf16> -> tensor<2x4x24xbf16>
      %1 = nn.broadcast %b : tensor<24xbf16> -> tensor<2x4x24xbf16>
      %2 = nn.add %0, %1 : tensor<2x4x24xbf16>
      %3 = nn.relu %2 : tensor<2x4x24xbf16>
      %4 = nn.matmul %3, %v transpose_rhs : tensor<2x4x24xbf16>, tensor<16x24xbf16> -> tensor<2x4x16xbf16>
      %5 = nn.add %4, %x : tensor<2x4x16xbf16>
      return %5 : tensor<2x4x16xbf16>
    }
    func.func @bias(%x: tensor<2x4x16xbf16>, %w: tensor<24x16xbf16>, %b: tensor<24xbf16>) -> (tensor<2x4x24xbf16>, tensor<2x4x24xf32>) {
      %0 = nn.matmul %x, %w bias %b transpose_rhs : tensor<2x4x16xbf16>, tensor<24x16xbf16>, tensor<24xbf16> -> tensor<2x4x24xbf16>
      %1 = nn.matmul %x, %w bias %b transpose_rhs : tensor<2x4x16xbf16>, tensor<24x16xbf16>, tensor<24xbf16> -> tensor<2x4x24xf32>
      return %0, %1 : tensor<2x4x24xbf16>, tensor<2x4x24xf32>
    }
    func.func @computed_bias(%x: tensor<16x4xf32>, %w: tensor<16x24xf32>, %b: tensor<4x6xf32>) -> tensor<4x24xf32> {
      %0 = nn.tanh %b : tensor<4x6xf32>
      %1 = nn.reshape %0 : tensor<4x6xf32> -> tensor<24xf32>
      %2 = nn.matmul %x, %w bias %1 transpose_lhs : tensor<16x4xf32>, tensor<16x24xf32>, tensor<24xf32> -> tensor<4x24xf32>
      return %2 : tensor<4x24xf32>
    }
    func.func @rounded_with_bias(%x: tensor<4x16xbf16>, %y: tensor<16x8xbf16>, %b: tensor<8xbf16>) -> tensor<4x8xbf16> {
      %0 = nn.matmul %x, %y bias %b : tensor<4x16xbf16>, tensor<16x8xbf16>, tensor<8xbf16> -> tensor<4x8xf32>
      %1 = nn.cast %0 : tensor<4x8xf32> to tensor<4x8xbf16>
      return %1 : tensor<4x8xbf16>
    }
    func.func @transposed_with_bias(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>, %b: tensor<8xf32>) -> tensor<8x4xf32> {
      %0 = nn.matmul %x, %y bias %b : tensor<4x16xf32>, tensor<16x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
      %1 = nn.transpose %0 [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
      return %1 : tensor<8x4xf32>
    }
    func.func @rounded(%x: tensor<4x16xbf16>, %y: tensor<16x8xbf16>) -> tensor<4x8xbf16> {
      %0 = nn.matmul %x, %y : tensor<4x16xbf16>, tensor<16x8xbf16> -> tensor<4x8xf32>
      %1 = nn.cast %0 : tensor<4x8xf32> to tensor<4x8xbf16>
      return %1 : tensor<4x8xbf16>
    })";
  checkAll(text);
}

TEST(HostProduct, Indexing) {
  checkAll(R"(
    func.func @embedding(%t: tensor<9x20xbf16>, %i: tensor<3x4xi64> {nn.low = -9.0 : f64, nn.high = 9.0 : f64}) -> tensor<3x4x20xbf16> {
      %0 = nn.gather %t, %i axis 0 : tensor<9x20xbf16>, tensor<3x4xi64>
      return %0 : tensor<3x4x20xbf16>
    }
    func.func @gather_middle(%t: tensor<2x6x5xf32>, %i: tensor<3xi32>) -> tensor<2x3x5xf32> {
      %0 = nn.gather %t, %i axis 1 : tensor<2x6x5xf32>, tensor<3xi32>
      return %0 : tensor<2x3x5xf32>
    }
    func.func @gather_computed(%t: tensor<6x5xf32>, %i: tensor<3xi64>) -> tensor<3x5xf32> {
      %d = nn.add %t, %t : tensor<6x5xf32>
      %j = nn.add %i, %i : tensor<3xi64>
      %m = nn.constant dense<5> : tensor<3xi64>
      %k = nn.minimum %j, %m : tensor<3xi64>
      %0 = nn.gather %d, %k axis 0 : tensor<6x5xf32>, tensor<3xi64>
      return %0 : tensor<3x5xf32>
    }
    func.func @gather_nd(%t: tensor<2x4x4x3xf32>, %i: tensor<2x5x2xi64>) -> tensor<2x5x3xf32> {
      %0 = nn.gather_nd %t, %i batch_dims 1 : tensor<2x4x4x3xf32>, tensor<2x5x2xi64>
      return %0 : tensor<2x5x3xf32>
    }
    func.func @scatter(%u: tensor<7x20xf32>, %i: tensor<7xi64>) -> tensor<5x20xf32> {
      %0 = nn.scatter_add %u, %i axis 0 : tensor<7x20xf32>, tensor<7xi64> -> tensor<5x20xf32>
      return %0 : tensor<5x20xf32>
    }
    func.func @scatter_middle(%u: tensor<2x7x19xbf16>, %i: tensor<7xi64> {nn.low = -4.0 : f64}) -> tensor<2x5x19xbf16> {
      %0 = nn.scatter_add %u, %i axis 1 : tensor<2x7x19xbf16>, tensor<7xi64> -> tensor<2x5x19xbf16>
      return %0 : tensor<2x5x19xbf16>
    }
    func.func @scatter_many(%u: tensor<9000x4xf32>, %i: tensor<9000xi64> {nn.low = -6000.0 : f64, nn.high = 6000.0 : f64}) -> tensor<6000x4xf32> {
      %0 = nn.scatter_add %u, %i axis 0 : tensor<9000x4xf32>, tensor<9000xi64> -> tensor<6000x4xf32>
      return %0 : tensor<6000x4xf32>
    }
    func.func @scatter_few(%u: tensor<2x8200x3xf32>, %i: tensor<8200xi32>) -> tensor<2x90x3xf32> attributes {nn.tolerance = 1.0e-2 : f64} {
      %0 = nn.scatter_add %u, %i axis 1 : tensor<2x8200x3xf32>, tensor<8200xi32> -> tensor<2x90x3xf32>
      return %0 : tensor<2x90x3xf32>
    }
    func.func @scatter_wide(%u: tensor<50x1100xbf16>, %i: tensor<50xi64> {nn.high = 9.0 : f64}) -> tensor<9x1100xbf16> {
      %0 = nn.scatter_add %u, %i axis 0 : tensor<50x1100xbf16>, tensor<50xi64> -> tensor<9x1100xbf16>
      return %0 : tensor<9x1100xbf16>
    })");
}

TEST(HostProduct, IndexOutOfRangeIsReported) {
  auto context = makeContext();
  CompiledModule module(*context, R"(
    func.func @gather(%t: tensor<4x20xf32>, %i: tensor<5xi64>) -> tensor<5x20xf32> {
      %0 = nn.gather %t, %i axis 0 : tensor<4x20xf32>, tensor<5xi64>
      return %0 : tensor<5x20xf32>
    }
    func.func @scatter(%u: tensor<5x20xf32>, %i: tensor<5xi64>) -> tensor<4x20xf32> {
      %0 = nn.scatter_add %u, %i axis 0 : tensor<5x20xf32>, tensor<5xi64> -> tensor<4x20xf32>
      return %0 : tensor<4x20xf32>
    })");
  ASSERT_TRUE(module.isValid());
  for (const char *name : {"gather", "scatter"})
    for (int64_t bad : {int64_t(4), int64_t(-5), INT64_MAX, INT64_MIN})
      for (int place : {0, 4}) {
        std::vector<nn::HostTensor> arguments = module.makeArguments(name, 1);
        arguments[1].integers()[place] = bad;
        int status = 0;
        module.run(name, {toBytes(arguments[0]), toBytes(arguments[1])},
                   &status);
        EXPECT_NE(status, 0)
            << name << " with index " << bad << " at " << place;
      }
}

/// Shapes of attention: heads, groups, unequal lengths, windows.
static std::string makeAttention(const std::string &name, int b, int h, int g,
                                 int s, int t, int d, int e,
                                 const std::string &element,
                                 const std::string &options,
                                 const std::string &mask = "") {
  std::string q =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, h, s, d, element);
  std::string k =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, g, t, d, element);
  std::string v =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, g, t, e, element);
  std::string r =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, h, s, e, element);
  std::string l = llvm::formatv("tensor<{0}x{1}x{2}xf32>", b, h, s);
  std::string argument = mask.empty() ? "" : ", %m: " + mask,
              use = mask.empty() ? "" : " mask %m",
              type = mask.empty() ? "" : ", " + mask;
  return llvm::formatv("func.func @{0}(%q: {1}, %k: {2}, %v: {3}{4}) -> ({5}, "
                       "{6}) attributes {{nn.tolerance = {10} : f64} {{\n"
                       "  %r, %l = nn.attention %q, %k, %v{7} {8} scale 0.4 : "
                       "{1}, {2}, {3}{9} -> {5}, {6}\n"
                       "  return %r, %l : {5}, {6}\n}\n",
                       name, q, k, v, argument, r, l, use, options, type,
                       element == "f32" ? "5.0e-6" : "0.008");
}

static std::string makeAttentionGrad(const std::string &name, int b, int h,
                                     int g, int s, int t, int d, int e,
                                     const std::string &element,
                                     const std::string &options) {
  std::string q =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, h, s, d, element);
  std::string k =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, g, t, d, element);
  std::string v =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, g, t, e, element);
  std::string r =
      llvm::formatv("tensor<{0}x{1}x{2}x{3}x{4}>", b, h, s, e, element);
  std::string l = llvm::formatv("tensor<{0}x{1}x{2}xf32>", b, h, s);
  return llvm::formatv("func.func @{0}(%q: {1}, %k: {2}, %v: {3}, %c: {4}) -> "
                       "({1}, {2}, {3}) attributes {{nn.tolerance = {7} : "
                       "f64} {{\n"
                       "  %r, %l = nn.attention %q, %k, %v {6} scale 0.4 : "
                       "{1}, {2}, {3} -> {4}, {5}\n"
                       "  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, "
                       "%l, %c {6} scale 0.4 : {1}, {2}, {3}, {4}, {5}, {4} -> "
                       "{1}, {2}, {3}\n"
                       "  return %dq, %dk, %dv : {1}, {2}, {3}\n}\n",
                       name, q, k, v, r, l, options,
                       element == "f32" ? "2.0e-5" : "0.04");
}

TEST(HostProduct, Attention) {
  std::string text;
  text += makeAttention("plain", 2, 3, 3, 5, 7, 4, 6, "f32", "");
  text += makeAttention("causal", 2, 4, 2, 33, 33, 8, 8, "f32", "causal");
  text += makeAttention("longer_keys", 1, 2, 1, 9, 30, 8, 8, "f32", "causal");
  text += makeAttention("shorter_keys", 1, 2, 2, 9, 5, 8, 8, "f32", "causal");
  text +=
      makeAttention("window", 1, 2, 1, 70, 70, 8, 8, "f32", "causal window 9");
  text += makeAttention("bf16", 1, 4, 2, 40, 40, 8, 8, "bf16", "causal");
  text += makeAttention("added", 2, 3, 3, 5, 20, 4, 4, "f32", "",
                        "tensor<2x1x5x20xf32>");
  text += makeAttention("boolean", 2, 3, 3, 5, 20, 4, 4, "f32", "causal",
                        "tensor<5x20xi1>");
  checkAll(text);
  // Blocks as small as they get: a row range of one head.
  conversion::KernelOptions blocks;
  blocks.scoreBytes = 1;
  checkAll(
      makeAttention("blocks", 2, 4, 2, 300, 300, 8, 8, "f32", "causal") +
          makeAttention("uneven", 1, 2, 2, 200, 333, 8, 8, "f32", "causal") +
          makeAttention("windows", 1, 2, 1, 400, 400, 8, 8, "f32",
                        "causal window 50"),
      blocks);
  blocks.scoreBytes = 300 * 140 * 4;
  checkAll(makeAttention("middling", 1, 2, 2, 290, 300, 8, 8, "f32", "causal"),
           blocks);
}

TEST(HostProduct, AttentionGrad) {
  std::string text;
  text += makeAttentionGrad("plain", 2, 3, 3, 5, 7, 4, 6, "f32", "");
  text += makeAttentionGrad("causal", 2, 4, 2, 33, 33, 8, 8, "f32", "causal");
  text +=
      makeAttentionGrad("shorter_keys", 1, 2, 2, 9, 5, 8, 8, "f32", "causal");
  text += makeAttentionGrad("window", 1, 2, 1, 70, 70, 8, 8, "f32",
                            "causal window 9");
  text += makeAttentionGrad("bf16", 1, 4, 2, 40, 40, 8, 8, "bf16", "causal");
  checkAll(text);
  conversion::KernelOptions blocks;
  blocks.scoreBytes = 1;
  checkAll(
      makeAttentionGrad("blocks", 2, 4, 2, 300, 300, 8, 8, "f32", "causal") +
          makeAttentionGrad("uneven", 1, 2, 2, 200, 333, 8, 8, "f32", "causal"),
      blocks);
}

/// Gradients are added to what the result held.
TEST(HostProduct, GradientsAccumulate) {
  auto context = makeContext();
  const char *role = "{pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}";
  std::string text = llvm::formatv(R"(
    func.func @product(%x: tensor<6x5xf32>, %y: tensor<6x4xf32>) -> (tensor<5x4xf32> {0}) {{
      %0 = nn.matmul %x, %y transpose_lhs : tensor<6x5xf32>, tensor<6x4xf32> -> tensor<5x4xf32>
      return %0 : tensor<5x4xf32>
    }
    func.func @column(%x: tensor<6x20xf32>) -> (tensor<20xf32> {0}) {{
      %0 = nn.mul %x, %x : tensor<6x20xf32>
      %1 = nn.reduce sum %0 [0] : tensor<6x20xf32>
      return %1 : tensor<20xf32>
    }
    func.func @column_scaled(%x: tensor<6x20xf32>) -> (tensor<20xf32> {0}) {{
      %0 = nn.reduce mean %x [0] : tensor<6x20xf32>
      return %0 : tensor<20xf32>
    }
    func.func @plain(%x: tensor<6x20xf32>) -> (tensor<6x20xf32> {0}, tensor<6x20xf32>) {{
      %0 = nn.mul %x, %x : tensor<6x20xf32>
      return %0, %0 : tensor<6x20xf32>, tensor<6x20xf32>
    }
    func.func @rows(%x: tensor<6x20xf32>) -> (tensor<6xf32> {0}) {{
      %0 = nn.reduce sum %x [1] : tensor<6x20xf32>
      return %0 : tensor<6xf32>
    }
    func.func @used_product(%x: tensor<6x5xf32>, %y: tensor<6x4xf32>) -> (tensor<5x4xf32> {0}, tensor<5x4xf32>) {{
      %0 = nn.matmul %x, %y transpose_lhs : tensor<6x5xf32>, tensor<6x4xf32> -> tensor<5x4xf32>
      %1 = nn.neg %0 : tensor<5x4xf32>
      return %0, %1 : tensor<5x4xf32>, tensor<5x4xf32>
    }
    func.func @scatter(%u: tensor<7x20xf32>, %i: tensor<7xi64>) -> (tensor<5x20xf32> {0}) {{
      %0 = nn.scatter_add %u, %i axis 0 : tensor<7x20xf32>, tensor<7xi64> -> tensor<5x20xf32>
      return %0 : tensor<5x20xf32>
    }
    func.func @argument(%x: tensor<6xf32>) -> (tensor<6xf32> {0}) {{
      return %x : tensor<6xf32>
    })",
                                   role);
  CompiledModule module(*context, text);
  ASSERT_TRUE(module.isValid());
  for (const std::string &name : module.getFunctions()) {
    std::vector<nn::HostTensor> arguments = module.makeArguments(name, 5);
    std::vector<Bytes> bytes;
    for (const nn::HostTensor &argument : arguments)
      bytes.push_back(toBytes(argument));
    std::vector<nn::HostTensor> expected = module.evaluate(name, arguments);
    std::vector<float> before(expected[0].getNumElements());
    for (size_t i = 0; i < before.size(); ++i)
      before[i] = float(i) + 0.5f;
    Bytes initial(before.size() * 4);
    std::memcpy(initial.data(), before.data(), initial.size());
    std::vector<float> actual =
        toFloats(module.run(name, bytes, nullptr, {initial}).front());
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(actual[i], before[i] + expected[0].floats()[i], 3e-5)
          << "@" << name << " element " << i;
  }
}

/// torch.optim.AdamW, written out in double precision.
TEST(HostProduct, AdamW) {
  auto context = makeContext();
  const char *text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { "
                     "return %x : tensor<2xf32> }";
  target::HostOptions options;
  options.beta1 = 0.9;
  options.beta2 = 0.95;
  CompiledModule module(*context, text, {}, options,
                        mlir::BFloat16Type::get(context.get()));
  ASSERT_TRUE(module.isValid());
  using Kernel = int32_t (*)(void *const *, int64_t, int64_t);
  auto plain = reinterpret_cast<Kernel>(module.getSymbol("adamw"));
  auto copying = reinterpret_cast<Kernel>(module.getSymbol("adamw_bf16"));
  ASSERT_TRUE(plain && copying);
  constexpr int n = 53;
  std::mt19937 random(1);
  auto uniform = [&] {
    return float(random()) / float(std::mt19937::max()) - 0.5f;
  };
  std::vector<float> weight(n), first(n, 0.f), second(n, 0.f), gradient(n);
  for (float &value : weight)
    value = uniform();
  std::vector<double> w(weight.begin(), weight.end()), m(n, 0.0), v(n, 0.0);
  std::vector<float> twinWeight = weight, twinFirst = first,
                     twinSecond = second;
  std::vector<uint16_t> copy(n);
  double rate = 0.01, epsilon = 1e-8, decay = 0.1, coefficient = 0.5;
  for (int t = 1; t <= 5; ++t) {
    for (float &value : gradient)
      value = uniform();
    double one = 1 - std::pow(options.beta1, t),
           two = std::sqrt(1 - std::pow(options.beta2, t));
    float scalars[] = {float(rate),          float(options.beta1),
                       float(options.beta2), float(epsilon),
                       float(decay),         float(one),
                       float(two),           float(coefficient)};
    void *pointers[] = {gradient.data(), weight.data(), weight.data(),
                        first.data(),    second.data(), scalars};
    ASSERT_EQ(plain(pointers, 0, 20) | plain(pointers, 20, n), 0);
    void *twins[] = {gradient.data(),  twinWeight.data(), twinWeight.data(),
                     twinFirst.data(), twinSecond.data(), copy.data(),
                     scalars};
    ASSERT_EQ(copying(twins, 0, n), 0);
    for (int i = 0; i < n; ++i) {
      double g = gradient[i] * coefficient;
      w[i] *= 1 - rate * decay;
      m[i] += (1 - options.beta1) * (g - m[i]);
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      w[i] -= rate / one * m[i] / (std::sqrt(v[i]) / two + epsilon);
    }
  }
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(weight[i], w[i], 2e-7 * std::max(1.0, std::abs(w[i]))) << i;
    uint32_t bits;
    std::memcpy(&bits, &weight[i], 4);
    // The nearest bf16.
    EXPECT_EQ(copy[i], (bits + 0x7fff + ((bits >> 16) & 1)) >> 16) << i;
  }
  EXPECT_EQ(weight, twinWeight);
  EXPECT_EQ(first, twinFirst);
  EXPECT_EQ(second, twinSecond);
}

/// Where masters go past the caches (aligned, and apart from those that are
/// read) every bit is as where they do not.
TEST(HostProduct, AdamWStreams) {
  auto context = makeContext();
  const char *text = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { "
                     "return %x : tensor<2xf32> }";
  for (mlir::Type type : {mlir::Type(mlir::BFloat16Type::get(context.get())),
                          mlir::Type(mlir::Float16Type::get(context.get()))}) {
    CompiledModule module(*context, text, {}, {}, type);
    ASSERT_TRUE(module.isValid());
    using Kernel = int32_t (*)(void *const *, int64_t, int64_t);
    for (bool copies : {false, true}) {
      auto kernel = reinterpret_cast<Kernel>(
          module.getSymbol(!copies         ? "adamw"
                           : type.isBF16() ? "adamw_bf16"
                                           : "adamw_f16"));
      ASSERT_TRUE(kernel);
      constexpr int n = 16 * 9 + 5, begin = 16, end = n - 3;
      // In place and apart; aligned and not.
      std::vector<std::vector<float>> results;
      for (bool apart : {false, true})
        for (int shift : {0, 1}) {
          struct alignas(64) Memory {
            float gradient[n], in[n], first[n], second[n], out[n + 64];
            uint16_t copy[n + 64];
          };
          auto memory = std::make_unique<Memory>();
          for (int i = 0; i < n; ++i) {
            memory->gradient[i] = std::sin(float(i));
            memory->in[i] = std::cos(float(i));
            memory->first[i] = 0.1f * std::sin(float(2 * i));
            memory->second[i] = 0.01f + 0.01f * std::cos(float(i));
          }
          auto align = [&](auto *address) {
            auto up = -reinterpret_cast<uintptr_t>(address) % 64;
            return address + up / sizeof *address + shift;
          };
          float *out = align(memory->out);
          uint16_t *copy = align(memory->copy);
          std::fill(out, out + n, -1.f);
          std::fill(copy, copy + n, 0xdead);
          if (!apart)
            out = memory->in;
          float scalars[] = {1e-2f, 0.9f, 0.999f, 1e-8f, 0.1f, 0.3f, 0.2f, 1};
          std::vector<void *> pointers{memory->gradient, memory->in, out,
                                       memory->first, memory->second};
          if (copies)
            pointers.push_back(copy);
          pointers.push_back(scalars);
          ASSERT_EQ(kernel(pointers.data(), begin, end), 0);
          std::vector<float> result(out + begin, out + end);
          result.insert(result.end(), memory->first, memory->first + n);
          result.insert(result.end(), memory->second, memory->second + n);
          result.insert(result.end(), copy, copy + n);
          EXPECT_EQ(copy[begin - 1], 0xdead);
          EXPECT_EQ(copy[end], 0xdead);
          EXPECT_EQ(copy[begin] == 0xdead, !copies);
          if (apart) {
            EXPECT_EQ(out[begin - 1], -1.f);
            EXPECT_EQ(out[end], -1.f);
          }
          results.push_back(std::move(result));
        }
      for (const std::vector<float> &result : results)
        EXPECT_EQ(result, results.front());
    }
  }
}
