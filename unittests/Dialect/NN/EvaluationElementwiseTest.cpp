//===- EvaluationElementwiseTest.cpp - Values of elementwise ops ----------===//
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

class EvaluationElementwise : public EvaluationTest {
protected:
  /// One op on f64 operands: exact to what double arithmetic gives.
  void expectUnary(const std::string &op, const std::string &x,
                   const std::string &expected) {
    expectValue("%x = nn.constant dense<" + x + "> : tensor<3xf64>\n%r = nn." +
                    op + " %x : tensor<3xf64>",
                "dense<" + expected + "> : tensor<3xf64>", 1e-14);
  }
  void expectBinary(const std::string &op, const std::string &type,
                    const std::string &x, const std::string &y,
                    const std::string &expected) {
    expectValue("%x = nn.constant dense<" + x + "> : " + type +
                    "\n%y = nn.constant dense<" + y + "> : " + type +
                    "\n%r = nn." + op + " %x, %y : " + type,
                "dense<" + expected + "> : " + type, 1e-14);
  }
};

// 0x7FF8.. is NaN, 0x7FF0.. infinity, in MLIR's syntax for doubles.
#define NAN64 "0x7FF8000000000000"
#define INF64 "0x7FF0000000000000"
#define NEGINF64 "0xFFF0000000000000"

TEST_F(EvaluationElementwise, Unary) {
  expectUnary("neg", "[1.5, -2.0, 0.0]", "[-1.5, 2.0, -0.0]");
  expectUnary("abs", "[1.5, -2.0, -0.0]", "[1.5, 2.0, 0.0]");
  expectUnary("exp", "[0.0, 1.0, " NEGINF64 "]",
              "[1.0, 2.718281828459045, 0.0]");
  expectUnary("log", "[1.0, 7.38905609893065, 0.0]",
              "[0.0, 2.0, " NEGINF64 "]");
  expectUnary("sqrt", "[9.0, 2.0, -1.0]",
              "[3.0, 1.4142135623730951, " NAN64 "]");
  expectUnary("rsqrt", "[4.0, 0.25, 0.0]", "[0.5, 2.0, " INF64 "]");
  expectUnary("reciprocal", "[4.0, -0.5, 0.0]", "[0.25, -2.0, " INF64 "]");
  expectUnary("tanh", "[0.0, 1.0, -20.0]", "[0.0, 0.7615941559557649, -1.0]");
  expectUnary("sigmoid", "[0.0, 2.0, -1000.0]",
              "[0.5, 0.8807970779778823, 0.0]");
  expectUnary("erf", "[0.0, 1.0, -1.0]",
              "[0.0, 0.8427007929497149, -0.8427007929497149]");
  expectUnary("sin", "[0.0, 1.0, -1.0]",
              "[0.0, 0.8414709848078965, -0.8414709848078965]");
  expectUnary("cos", "[0.0, 1.0, -1.0]",
              "[1.0, 0.5403023058681398, 0.5403023058681398]");
  expectUnary("relu", "[-1.0, 2.0, " NAN64 "]", "[0.0, 2.0, " NAN64 "]");
  // x * sigmoid(x).
  expectUnary("silu", "[0.0, 2.0, -1.0]",
              "[0.0, 1.7615941559557646, -0.2689414213699951]");
  // Values of torch.nn.functional.gelu, both approximations.
  expectUnary("gelu", "[0.0, 1.0, -1.0]",
              "[0.0, 0.8413447460685429, -0.15865525393145707]");
  expectUnary("gelu tanh", "[0.0, 1.0, -1.0]",
              "[0.0, 0.8411919906082768, -0.15880800939172324]");
}

TEST_F(EvaluationElementwise, UnaryOfIntegersAndBooleans) {
  expectValue("%x = nn.constant dense<[3, -4, -9223372036854775808]> : "
              "tensor<3xi64>\n%r = nn.neg %x : tensor<3xi64>",
              "dense<[-3, 4, -9223372036854775808]> : tensor<3xi64>");
  expectValue("%x = nn.constant dense<[3, -4]> : tensor<2xi32>\n%r = nn.abs %x "
              ": tensor<2xi32>",
              "dense<[3, 4]> : tensor<2xi32>");
  expectValue("%x = nn.constant dense<[true, false]> : tensor<2xi1>\n%r = "
              "nn.not %x : tensor<2xi1>",
              "dense<[false, true]> : tensor<2xi1>");
  expectValue("%x = nn.constant dense<[1.0, 0x7FC00000, 0x7F800000]> : "
              "tensor<3xf32>\n%r = nn.is_nan %x : tensor<3xf32>",
              "dense<[false, true, false]> : tensor<3xi1>");
}

TEST_F(EvaluationElementwise, BinaryOfFloats) {
  std::string type = "tensor<3xf64>";
  expectBinary("add", type, "[1.0, 2.0, 3.0]", "[0.5, -2.0, 4.0]",
               "[1.5, 0.0, 7.0]");
  expectBinary("sub", type, "[1.0, 2.0, 3.0]", "[0.5, -2.0, 4.0]",
               "[0.5, 4.0, -1.0]");
  expectBinary("mul", type, "[1.0, 2.0, 3.0]", "[0.5, -2.0, 4.0]",
               "[0.5, -4.0, 12.0]");
  expectBinary("div", type, "[1.0, 2.0, 0.0]", "[0.5, -4.0, 0.0]",
               "[2.0, -0.5, " NAN64 "]");
  expectBinary("pow", type, "[2.0, -3.0, 4.0]", "[3.0, 2.0, 0.5]",
               "[8.0, 9.0, 2.0]");
  expectBinary("maximum", type, "[1.0, " NAN64 ", 3.0]",
               "[2.0, 1.0, " NAN64 "]", "[2.0, " NAN64 ", " NAN64 "]");
  expectBinary("minimum", type, "[1.0, " NAN64 ", 3.0]",
               "[2.0, 1.0, " NAN64 "]", "[1.0, " NAN64 ", " NAN64 "]");
}

TEST_F(EvaluationElementwise, BinaryOfIntegers) {
  std::string type = "tensor<3xi64>";
  expectBinary("add", type, "[1, 2, 9223372036854775807]", "[5, -2, 1]",
               "[6, 0, -9223372036854775808]");
  expectBinary("sub", type, "[1, 2, -9223372036854775808]", "[5, -2, 1]",
               "[-4, 4, 9223372036854775807]");
  expectBinary("mul", type, "[3, -2, 4611686018427387904]", "[5, 4, 4]",
               "[15, -8, 0]");
  expectBinary("div", type, "[7, -7, -9223372036854775808]", "[2, 2, -1]",
               "[3, -3, -9223372036854775808]");
  expectBinary("pow", type, "[2, -3, 2]", "[10, 3, -1]", "[1024, -27, 0]");
  expectBinary("pow", type, "[-1, -1, 0]", "[-3, -2, 0]", "[-1, 1, 1]");
  expectBinary("maximum", type, "[1, -2, 3]", "[2, -3, 3]", "[2, -2, 3]");
  expectBinary("minimum", type, "[1, -2, 3]", "[2, -3, 3]", "[1, -3, 3]");
  // i32 wraps at 32 bits.
  expectBinary("add", "tensor<1xi32>", "[2147483647]", "[1]", "[-2147483648]");
  expectBinary("and", "tensor<4xi1>", "[true, true, false, false]",
               "[true, false, true, false]", "[true, false, false, false]");
  expectBinary("or", "tensor<4xi1>", "[true, true, false, false]",
               "[true, false, true, false]", "[true, true, true, false]");
}

TEST_F(EvaluationElementwise, DivisionByZeroFails) {
  expectFailure("%x = nn.constant dense<[7, 8]> : tensor<2xi64>\n%y = "
                "nn.constant dense<[2, 0]> : tensor<2xi64>\n"
                "%r = nn.div %x, %y : tensor<2xi64>",
                "tensor<2xi64>", "integer division by zero at element 1");
}

TEST_F(EvaluationElementwise, Compare) {
  struct {
    const char *predicate, *floats, *integers;
  } cases[] = {
      // of [1, 2, 3, NaN] with [2, 2, 2, 2]; of [1, 2, 3] with [2, 2, 2]
      {"eq", "[false, true, false, false]", "[false, true, false]"},
      {"ne", "[true, false, true, true]", "[true, false, true]"},
      {"lt", "[true, false, false, false]", "[true, false, false]"},
      {"le", "[true, true, false, false]", "[true, true, false]"},
      {"gt", "[false, false, true, false]", "[false, false, true]"},
      {"ge", "[false, true, true, false]", "[false, true, true]"},
  };
  for (auto [predicate, floats, integers] : cases) {
    expectValue(
        std::string(
            "%x = nn.constant dense<[1.0, 2.0, 3.0, " NAN64
            "]> : tensor<4xf64>\n"
            "%y = nn.constant dense<2.0> : tensor<4xf64>\n%r = nn.compare ") +
            predicate + " %x, %y : tensor<4xf64>",
        std::string("dense<") + floats + "> : tensor<4xi1>");
    expectValue(
        std::string(
            "%x = nn.constant dense<[1, 2, 3]> : tensor<3xi64>\n"
            "%y = nn.constant dense<2> : tensor<3xi64>\n%r = nn.compare ") +
            predicate + " %x, %y : tensor<3xi64>",
        std::string("dense<") + integers + "> : tensor<3xi1>");
  }
}

TEST_F(EvaluationElementwise, SelectTakesNothingFromTheOtherBranch) {
  expectValue("%c = nn.constant dense<[true, false]> : tensor<2xi1>\n"
              "%x = nn.constant dense<[1.0, " NAN64 "]> : tensor<2xf64>\n"
              "%y = nn.constant dense<[" NAN64 ", 2.0]> : tensor<2xf64>\n"
              "%r = nn.select %c, %x, %y : tensor<2xi1>, tensor<2xf64>",
              "dense<[1.0, 2.0]> : tensor<2xf64>");
  expectValue("%c = nn.constant dense<[true, false]> : tensor<2xi1>\n"
              "%x = nn.constant dense<[1, 2]> : tensor<2xi64>\n%y = "
              "nn.constant dense<[3, 4]> : tensor<2xi64>\n"
              "%r = nn.select %c, %x, %y : tensor<2xi1>, tensor<2xi64>",
              "dense<[1, 4]> : tensor<2xi64>");
}

TEST_F(EvaluationElementwise, Cast) {
  auto expectCast = [&](const std::string &from, const std::string &to) {
    std::string fromType = from.substr(from.find(": ") + 2),
                toType = to.substr(to.find(": ") + 2);
    expectValue("%x = nn.constant " + from + "\n%r = nn.cast %x : " + fromType +
                    " to " + toType,
                to);
  };
  // Half way between bf16 neighbours goes to the even one.
  expectCast("dense<[1.00390625, 1.01171875, -3.0]> : tensor<3xf32>",
             "dense<[1.0, 1.015625, -3.0]> : tensor<3xbf16>");
  // Rounds once, straight to bf16: through f32 the first would be a tie and go
  // down.
  expectCast("dense<[1.0039062500000002, 1.0e300]> : tensor<2xf64>",
             "dense<[1.0078125, 0x7F80]> : tensor<2xbf16>");
  expectCast("dense<[65519.0, 65520.0, 1.0e-8]> : tensor<3xf32>",
             "dense<[65504.0, 0x7C00, 0.0]> : tensor<3xf16>");
  expectCast("dense<[1.9, -1.9, 0x7FC00000]> : tensor<3xf32>",
             "dense<[1, -1, 0]> : tensor<3xi64>");
  expectCast("dense<[3.0e9, -3.0e9]> : tensor<2xf32>",
             "dense<[2147483647, -2147483648]> : tensor<2xi32>");
  expectCast("dense<[0.0, 0.5, 0x7FC00000]> : tensor<3xf32>",
             "dense<[false, true, true]> : tensor<3xi1>");
  expectCast("dense<[0, 2, -1]> : tensor<3xi64>",
             "dense<[false, true, true]> : tensor<3xi1>");
  expectCast("dense<[true, false]> : tensor<2xi1>",
             "dense<[1.0, 0.0]> : tensor<2xf32>");
  expectCast("dense<[4294967297, -1]> : tensor<2xi64>",
             "dense<[1, -1]> : tensor<2xi32>");
  expectCast("dense<[16777217, 7]> : tensor<2xi64>",
             "dense<[16777216.0, 7.0]> : tensor<2xf32>");
}

TEST_F(EvaluationElementwise, RoundsOnceUnlessExact) {
  std::string body = "%x = nn.constant dense<1.0> : tensor<1xf32>\n%y = "
                     "nn.constant dense<3.0> : tensor<1xf32>\n"
                     "%q = nn.div %x, %y : tensor<1xf32>\n%r = nn.cast %q : "
                     "tensor<1xf32> to tensor<1xf64>";
  expectValue(body, "dense<0.3333333432674408> : tensor<1xf64>");
  EvaluationContext exact;
  exact.exact = true;
  expectValue(body, "dense<0.3333333333333333> : tensor<1xf64>", 0, exact);
}

} // namespace
