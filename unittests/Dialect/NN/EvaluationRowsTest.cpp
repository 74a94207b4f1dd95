//===- EvaluationRowsTest.cpp - Values of reductions, composites, products ===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"

using namespace mlir;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

class EvaluationRows : public EvaluationTest {};
class EvaluationProducts : public EvaluationTest {};

#define LN3 "1.0986122886681098"

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST_F(EvaluationRows, Reduce) {
  std::string x = "%x = nn.constant dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, "
                  "6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>\n";
  expectValue(x + "%r = nn.reduce sum %x [0, 2] : tensor<2x2x2xf32>",
              "dense<[14.0, 22.0]> : tensor<2xf32>");
  expectValue(x + "%r = nn.reduce mean %x [1] keepdims : tensor<2x2x2xf32>",
              "dense<[[[2.0, 3.0]], [[6.0, 7.0]]]> : tensor<2x1x2xf32>");
  expectValue(x + "%r = nn.reduce max %x [0, 1, 2] : tensor<2x2x2xf32>",
              "dense<8.0> : tensor<f32>");
  expectValue(x + "%r = nn.reduce sum %x [] : tensor<2x2x2xf32>",
              "dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : "
              "tensor<2x2x2xf32>");
}

TEST_F(EvaluationRows, ReduceMaxKeepsNan) {
  expectValue("%x = nn.constant dense<[[1.0, 0x7FC00000, 2.0], [-3.0, -1.0, "
              "-2.0]]> : tensor<2x3xf32>\n"
              "%r = nn.reduce max %x [1] : tensor<2x3xf32>",
              "dense<[0x7FC00000, -1.0]> : tensor<2xf32>");
}

TEST_F(EvaluationRows, ReduceIntegers) {
  std::string x =
      "%x = nn.constant dense<[[1, 2], [-1, -2]]> : tensor<2x2xi64>\n";
  expectValue(x + "%r = nn.reduce mean %x [1] : tensor<2x2xi64>",
              "dense<[1, -1]> : tensor<2xi64>");
  expectValue(x + "%r = nn.reduce max %x [1] : tensor<2x2xi64>",
              "dense<[2, -1]> : tensor<2xi64>");
  expectValue(x + "%r = nn.reduce sum %x [0] : tensor<2x2xi64>",
              "dense<0> : tensor<2xi64>");
}

TEST_F(EvaluationRows, ReduceNothing) {
  std::string x = "%x = nn.constant dense<> : tensor<0x2xf32>\n";
  expectValue(x + "%r = nn.reduce sum %x [0] : tensor<0x2xf32>",
              "dense<0.0> : tensor<2xf32>");
  expectValue(x + "%r = nn.reduce max %x [0] : tensor<0x2xf32>",
              "dense<0xFF800000> : tensor<2xf32>");
  expectValue(x + "%r = nn.reduce mean %x [0] : tensor<0x2xf32>",
              "dense<0x7FC00000> : tensor<2xf32>");
  expectFailure("%x = nn.constant dense<> : tensor<0x2xi64>\n%r = nn.reduce "
                "mean %x [0] : tensor<0x2xi64>",
                "tensor<2xi64>", "the mean of no integers is undefined");
}

TEST_F(EvaluationRows, Cumsum) {
  std::string x = "%x = nn.constant dense<[1, 2, 3]> : tensor<3xi64>\n";
  expectValue(x + "%r = nn.cumsum %x axis 0 : tensor<3xi64>",
              "dense<[1, 3, 6]> : tensor<3xi64>");
  expectValue(x + "%r = nn.cumsum %x axis 0 {exclusive} : tensor<3xi64>",
              "dense<[0, 1, 3]> : tensor<3xi64>");
  expectValue(x + "%r = nn.cumsum %x axis 0 {reverse} : tensor<3xi64>",
              "dense<[6, 5, 3]> : tensor<3xi64>");
  expectValue(
      x + "%r = nn.cumsum %x axis 0 {exclusive, reverse} : tensor<3xi64>",
      "dense<[5, 3, 0]> : tensor<3xi64>");
  expectValue(
      "%x = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n"
      "%r = nn.cumsum %x axis 0 : tensor<2x2xf32>",
      "dense<[[1.0, 2.0], [4.0, 6.0]]> : tensor<2x2xf32>");
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

TEST_F(EvaluationRows, Softmax) {
  // The last row is masked throughout: NaN, as in ONNX.
  expectValue("%x = nn.constant dense<[[0.0, " LN3
              "], [1000.0, 1000.0], [0xFFF0000000000000, 3.0], "
              "[0xFFF0000000000000, 0xFFF0000000000000]]> : "
              "tensor<4x2xf64>\n%r = nn.softmax %x : tensor<4x2xf64>",
              "dense<[[0.25, 0.75], [0.5, 0.5], [0.0, 1.0], "
              "[0x7FF8000000000000, 0x7FF8000000000000]]> : tensor<4x2xf64>",
              1e-15);
}

TEST_F(EvaluationRows, RmsNorm) {
  // The root of the mean of 9 and 16 is sqrt(12.5).
  expectValue(
      "%x = nn.constant dense<[[3.0, 4.0]]> : tensor<1x2xf64>\n%w = "
      "nn.constant dense<[1.0, 2.0]> : tensor<2xf64>\n"
      "%r = nn.rms_norm %x, %w epsilon 0.0 : tensor<1x2xf64>, tensor<2xf64>",
      "dense<[[0.848528137423857, 2.262741699796952]]> : tensor<1x2xf64>",
      1e-15);
  expectValue(
      "%x = nn.constant dense<[[1.0, 1.0]]> : tensor<1x2xf64>\n%w = "
      "nn.constant dense<1.0> : tensor<2xf64>\n"
      "%r = nn.rms_norm %x, %w epsilon 3.0 : tensor<1x2xf64>, tensor<2xf64>",
      "dense<0.5> : tensor<1x2xf64>", 1e-15);
}

TEST_F(EvaluationRows, RmsNormRoundsBeforeTheWeight) {
  // 1.13137 is 1.1328125 in bf16; three times that lies half way and goes to
  // 3.40625, where one rounding of 3.39411 would give 3.390625.
  expectValue(
      "%x = nn.constant dense<[[3.0, 4.0]]> : tensor<1x2xbf16>\n%w = "
      "nn.constant dense<3.0> : tensor<2xbf16>\n"
      "%r = nn.rms_norm %x, %w epsilon 0.0 : tensor<1x2xbf16>, tensor<2xbf16>",
      "dense<[[2.546875, 3.40625]]> : tensor<1x2xbf16>");
}

TEST_F(EvaluationRows, Rope) {
  expectValue(
      "%x = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
      "%c = nn.constant dense<[1.0, 1.0, 0.5, 0.5]> : tensor<4xf32>\n"
      "%s = nn.constant dense<[0.0, 1.0, 2.0, 1.0]> : tensor<4xf32>\n"
      "%r = nn.rope %x, %c, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>",
      "dense<[1.0, -2.0, 3.5, 4.0]> : tensor<4xf32>");
  // Tables broadcast along either axis.
  expectValue(
      "%x = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n"
      "%c = nn.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>\n"
      "%s = nn.constant dense<[10.0, 20.0]> : tensor<2xf32>\n"
      "%r = nn.rope %x, %c, %s : tensor<2x2xf32>, tensor<2x1xf32>, "
      "tensor<2xf32>",
      "dense<[[-18.0, 24.0], [-31.0, 72.0]]> : tensor<2x2xf32>");
}

TEST_F(EvaluationRows, CrossEntropy) {
  std::string logits = "%x = nn.constant dense<[[0.0, " LN3
                       "], [0.0, 0.0], [5.0, -5.0]]> : tensor<3x2xf64>\n";
  std::string labels = "%l = nn.constant dense<[1, 0, -100]> : tensor<3xi64>\n";
  // (ln(4/3) + ln 2) / 2.
  expectValue(logits + labels +
                  "%r = nn.cross_entropy %x, %l ignore -100 : tensor<3x2xf64>, "
                  "tensor<3xi64>",
              "dense<0.4904146265058631> : tensor<f64>", 1e-15);
  expectValue("%x = nn.constant dense<1.0> : tensor<2x4xbf16>\n%l = "
              "nn.constant dense<3> : tensor<2xi32>\n"
              "%r = nn.cross_entropy %x, %l : tensor<2x4xbf16>, tensor<2xi32>",
              "dense<1.3862944> : tensor<f32>", 1e-7);
  // No row counts: NaN, as in PyTorch.
  expectValue(
      "%x = nn.constant dense<1.0> : tensor<2x4xf32>\n%l = nn.constant "
      "dense<7> : tensor<2xi64>\n"
      "%r = nn.cross_entropy %x, %l ignore 7 : tensor<2x4xf32>, tensor<2xi64>",
      "dense<0x7FC00000> : tensor<f32>");
  expectFailure(
      logits + labels +
          "%r = nn.cross_entropy %x, %l : tensor<3x2xf64>, tensor<3xi64>",
      "tensor<f64>",
      "label -100 of row 2 is out of range: there are 2 classes");
  expectFailure(logits + "%l = nn.constant dense<2> : tensor<3xi64>\n"
                         "%r = nn.cross_entropy %x, %l ignore -100 : "
                         "tensor<3x2xf64>, tensor<3xi64>",
                "tensor<f64>",
                "label 2 of row 0 is out of range: there are 2 classes");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TEST_F(EvaluationProducts, Matmul) {
  std::string a = "%a = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> "
                  ": tensor<2x3xf32>\n";
  std::string at = "%a = nn.constant dense<[[1.0, 4.0], [2.0, 5.0], [3.0, "
                   "6.0]]> : tensor<3x2xf32>\n";
  std::string b = "%b = nn.constant dense<[[1.0, 0.0], [0.0, 1.0], [1.0, "
                  "-1.0]]> : tensor<3x2xf32>\n";
  std::string bt = "%b = nn.constant dense<[[1.0, 0.0, 1.0], [0.0, 1.0, "
                   "-1.0]]> : tensor<2x3xf32>\n";
  std::string expected = "dense<[[4.0, -1.0], [10.0, -1.0]]> : tensor<2x2xf32>";
  expectValue(a + b +
                  "%r = nn.matmul %a, %b : tensor<2x3xf32>, tensor<3x2xf32> -> "
                  "tensor<2x2xf32>",
              expected);
  expectValue(a + bt +
                  "%r = nn.matmul %a, %b transpose_rhs : tensor<2x3xf32>, "
                  "tensor<2x3xf32> -> tensor<2x2xf32>",
              expected);
  expectValue(at + b +
                  "%r = nn.matmul %a, %b transpose_lhs : tensor<3x2xf32>, "
                  "tensor<3x2xf32> -> tensor<2x2xf32>",
              expected);
  expectValue(at + bt +
                  "%r = nn.matmul %a, %b transpose_lhs transpose_rhs : "
                  "tensor<3x2xf32>, tensor<2x3xf32> -> "
                  "tensor<2x2xf32>",
              expected);
}

TEST_F(EvaluationProducts, MatmulBatches) {
  std::string a = "%a = nn.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : "
                  "tensor<2x1x2xf32>\n";
  expectValue(a + "%b = nn.constant dense<[[[1.0], [10.0]], [[100.0], "
                  "[1000.0]]]> : tensor<2x2x1xf32>\n"
                  "%r = nn.matmul %a, %b : tensor<2x1x2xf32>, "
                  "tensor<2x2x1xf32> -> tensor<2x1x1xf32>",
              "dense<[[[21.0]], [[4300.0]]]> : tensor<2x1x1xf32>");
  // One right-hand side for every batch.
  expectValue(a + "%b = nn.constant dense<[[1.0, 10.0]]> : tensor<1x2xf32>\n"
                  "%r = nn.matmul %a, %b transpose_rhs : tensor<2x1x2xf32>, "
                  "tensor<1x2xf32> -> tensor<2x1x1xf32>",
              "dense<[[[21.0]], [[43.0]]]> : tensor<2x1x1xf32>");
}

TEST_F(EvaluationProducts, MatmulKeepsWhatAWiderResultHolds) {
  // 1.0078125 squared is 1.01568603515625: exact in f32, 1.015625 in bf16.
  std::string a = "%a = nn.constant dense<1.0078125> : tensor<1x1xbf16>\n";
  expectValue(a + "%r = nn.matmul %a, %a : tensor<1x1xbf16>, tensor<1x1xbf16> "
                  "-> tensor<1x1xf32>",
              "dense<1.01568603515625> : tensor<1x1xf32>");
  expectValue(a + "%r = nn.matmul %a, %a : tensor<1x1xbf16>, tensor<1x1xbf16> "
                  "-> tensor<1x1xbf16>",
              "dense<1.015625> : tensor<1x1xbf16>");
}

TEST_F(EvaluationProducts, MatmulOfNothing) {
  expectValue("%a = nn.constant dense<> : tensor<2x0xf32>\n%b = nn.constant "
              "dense<> : tensor<0x2xf32>\n"
              "%r = nn.matmul %a, %b : tensor<2x0xf32>, tensor<0x2xf32> -> "
              "tensor<2x2xf32>",
              "dense<0.0> : tensor<2x2xf32>");
}

/// Queries 1 and 2, keys 0 and ln 3, values 10 and 20: the probabilities of the
/// second key are 3/4 and 9/10.
const std::string qkv =
    "%q = nn.constant dense<[[[[1.0], [2.0]]]]> : tensor<1x1x2x1xf64>\n"
    "%k = nn.constant dense<[[[[0.0], [" LN3 "]]]]> : tensor<1x1x2x1xf64>\n"
    "%v = nn.constant dense<[[[[10.0], [20.0]]]]> : tensor<1x1x2x1xf64>\n";
const std::string qkvTypes =
    "tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>";
const std::string qkvResults = " -> tensor<1x1x2x1xf64>, tensor<1x1x2xf64>";

class EvaluationAttention : public EvaluationTest {
protected:
  /// Values and statistics of the two queries above.
  void expectAttention(const std::string &mask, const std::string &maskType,
                       const std::string &how, const std::string &values,
                       const std::string &statistics) {
    std::string op = " = nn.attention %q, %k, %v" +
                     std::string(mask.empty() ? "" : " mask %m") + how +
                     " scale 1.0 : " + qkvTypes +
                     (mask.empty() ? "" : ", " + maskType) + qkvResults;
    std::string m = mask.empty() ? ""
                                 : "%m = nn.constant dense<" + mask +
                                       "> : " + maskType + "\n";
    expectValue(qkv + m + "%r, %s" + op,
                "dense<[[[" + values + "]]]> : tensor<1x1x2x1xf64>", 1e-14);
    expectValue(qkv + m + "%s, %r" + op,
                "dense<[[" + statistics + "]]> : tensor<1x1x2xf64>", 1e-14);
  }
};

#define LN4 "1.3862943611198906"
#define LN9 "2.1972245773362196"
#define LN10 "2.302585092994046"
#define NEGINF64 "0xFFF0000000000000"

TEST_F(EvaluationAttention, Plain) {
  expectAttention("", "", "", "[17.5], [19.0]", "[" LN4 ", " LN10 "]");
}

TEST_F(EvaluationAttention, CausalAndWindow) {
  expectAttention("", "", " causal", "[10.0], [19.0]", "[0.0, " LN10 "]");
  expectAttention("", "", " causal window 1", "[10.0], [20.0]",
                  "[0.0, " LN9 "]");
  // The window alone leaves what lies ahead.
  expectAttention("", "", " window 1", "[17.5], [20.0]", "[" LN4 ", " LN9 "]");
}

TEST_F(EvaluationAttention, Masks) {
  // A row that sees nothing gives 0.
  expectAttention("[[true, false], [false, false]]", "tensor<2x2xi1>", "",
                  "[10.0], [0.0]", "[0.0, " NEGINF64 "]");
  expectAttention("[[0.0, " NEGINF64 "], [0.0, -" LN9 "]]", "tensor<2x2xf64>",
                  "", "[10.0], [15.0]", "[0.0, 0.6931471805599453]");
  expectAttention("[[[[false, true]]]]", "tensor<1x1x1x2xi1>", "",
                  "[20.0], [20.0]", "[" LN3 ", " LN9 "]");
}

TEST_F(EvaluationAttention, CausalAlignsAtTheEnd) {
  // Fewer keys than queries: the first two queries see nothing.
  expectValue("%q = nn.constant dense<1.0> : tensor<1x1x3x1xf32>\n%k = "
              "nn.constant dense<1.0> : tensor<1x1x1x1xf32>\n"
              "%v = nn.constant dense<5.0> : tensor<1x1x1x1xf32>\n%r, %s = "
              "nn.attention %q, %k, %v causal scale 1.0 : "
              "tensor<1x1x3x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32> "
              "-> tensor<1x1x3x1xf32>, tensor<1x1x3xf32>",
              "dense<[[[[0.0], [0.0], [5.0]]]]> : tensor<1x1x3x1xf32>");
  // More keys than queries: the only query is the newest and sees all.
  expectValue("%q = nn.constant dense<0.0> : tensor<1x1x1x1xf32>\n%k = "
              "nn.constant dense<1.0> : tensor<1x1x2x1xf32>\n"
              "%v = nn.constant dense<[[[[5.0], [7.0]]]]> : "
              "tensor<1x1x2x1xf32>\n%r, %s = nn.attention %q, %k, %v causal "
              "scale 1.0 : tensor<1x1x1x1xf32>, tensor<1x1x2x1xf32>, "
              "tensor<1x1x2x1xf32> -> tensor<1x1x1x1xf32>, "
              "tensor<1x1x1xf32>",
              "dense<6.0> : tensor<1x1x1x1xf32>");
}

TEST_F(EvaluationAttention, GroupedHeads) {
  // Queries of 0 take means: of 1 and 3 in the first group, 10 and 30 in the
  // second.
  expectValue(
      "%q = nn.constant dense<0.0> : tensor<1x4x1x2xf32>\n%k = nn.constant "
      "dense<1.0> : tensor<1x2x2x2xf32>\n"
      "%v = nn.constant dense<[[[[1.0], [3.0]], [[10.0], [30.0]]]]> : "
      "tensor<1x2x2x1xf32>\n"
      "%r, %s = nn.attention %q, %k, %v scale 1.0 : tensor<1x4x1x2xf32>, "
      "tensor<1x2x2x2xf32>, "
      "tensor<1x2x2x1xf32> -> tensor<1x4x1x1xf32>, tensor<1x4x1xf32>",
      "dense<[[[[2.0]], [[2.0]], [[20.0]], [[20.0]]]]> : tensor<1x4x1x1xf32>");
}

TEST_F(EvaluationAttention, Gradient) {
  std::string op = "%o, %s = nn.attention %q, %k, %v scale 1.0 : " + qkvTypes +
                   qkvResults +
                   "\n%c = nn.constant dense<1.0> : tensor<1x1x2x1xf64>\n";
  auto grad = [&](const std::string &names) {
    return qkv + op + names +
           " = nn.attention_grad %q, %k, %v, %o, %s, %c scale 1.0 : " +
           qkvTypes +
           ", tensor<1x1x2x1xf64>, tensor<1x1x2xf64>, tensor<1x1x2x1xf64> -> " +
           qkvTypes;
  };
  // dS is [-1.875, 1.875] and [-0.9, 0.9].
  expectValue(grad("%r, %dk, %dv"),
              "dense<[[[[2.059898041252706], [0.9887510598012988]]]]> : "
              "tensor<1x1x2x1xf64>",
              1e-13);
  expectValue(grad("%dq, %r, %dv"),
              "dense<[[[[-3.675], [3.675]]]]> : tensor<1x1x2x1xf64>", 1e-13);
  expectValue(grad("%dq, %dk, %r"),
              "dense<[[[[0.35], [1.65]]]]> : tensor<1x1x2x1xf64>", 1e-13);
}

} // namespace

/// The same losses from products: of the rows (0, 1), (0, 0) with ln 3.
TEST_F(EvaluationRows, LinearCrossEntropy) {
  std::string head =
      "%x = nn.constant dense<[[0.0, 1.0], [0.0, 0.0], [9.0, 9.0]]> : "
      "tensor<3x2xf64>\n"
      "%w = nn.constant dense<[[7.0, 0.0], [8.0, " LN3
      "]]> : tensor<2x2xf64>\n";
  std::string labels = "%l = nn.constant dense<[1, 0, -100]> : tensor<3xi64>\n";
  std::string types = ": tensor<3x2xf64>, tensor<2x2xf64>, tensor<3xi64>";
  // (ln(4/3) + ln 2) / 2.
  expectValue(head + labels +
                  "%r = nn.linear_cross_entropy %x, %w, %l transpose_weight "
                  "ignore -100 chunk 2 logits f64 " +
                  types,
              "dense<0.4904146265058631> : tensor<f64>", 1e-15);
  // The bias turns the classes round.
  expectValue(head +
                  "%l = nn.constant dense<[0, 0, -100]> : tensor<3xi64>\n"
                  "%b = nn.constant dense<[" LN3 ", 0.0]> : tensor<2xf64>\n"
                  "%r = nn.linear_cross_entropy %x, %w, %l bias %b "
                  "transpose_weight ignore -100 chunk 1 logits f64 " +
                  types + ", tensor<2xf64>",
              "dense<0.4904146265058631> : tensor<f64>", 1e-15);
  // Logits are rounded: 257 is 256 in bf16, the other class's logit.
  std::string narrow =
      "%x = nn.constant dense<1.0> : tensor<1x2xbf16>\n"
      "%w = nn.constant dense<[[256.0, 256.0], [1.0, 0.0]]> : "
      "tensor<2x2xbf16>\n"
      "%l = nn.constant dense<1> : tensor<1xi32>\n"
      "%r = nn.linear_cross_entropy %x, %w, %l chunk 1 logits ";
  types = " : tensor<1x2xbf16>, tensor<2x2xbf16>, tensor<1xi32>";
  expectValue(narrow + "bf16" + types, "dense<0.69314718> : tensor<f32>", 1e-7);
  expectValue(narrow + "f32" + types, "dense<1.31326169> : tensor<f32>", 1e-7);
  expectFailure(head + "%l = nn.constant dense<2> : tensor<3xi64>\n"
                       "%r = nn.linear_cross_entropy %x, %w, %l ignore -100 "
                       "chunk 2 logits f64 : tensor<3x2xf64>, "
                       "tensor<2x2xf64>, tensor<3xi64>",
                "tensor<f64>",
                "label 2 of row 0 is out of range: there are 2 classes");
}
