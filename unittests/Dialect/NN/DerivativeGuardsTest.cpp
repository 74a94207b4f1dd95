//===- DerivativeGuardsTest.cpp - Derivatives where values are NaN --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters guard a softmax whose row may be masked throughout by
// Where(IsNaN(y), 0, y). The row's gradient is an exact 0.
//
//===----------------------------------------------------------------------===//

#include "DerivativeHelpers.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
class DerivativeGuards : public ::testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<MLIRContext> context = makeContext();
  Type element = getElementType(*context, GetParam());

  HostTensor tensor(ArrayRef<int64_t> shape, std::vector<double> values) {
    HostTensor result(RankedTensorType::get(shape, element));
    result.floats() = std::move(values);
    return result;
  }
  OwningOpRef<ModuleOp> parse(StringRef text) {
    std::string replaced = text.str();
    for (size_t at; (at = replaced.find("ELEMENT")) != std::string::npos;)
      replaced.replace(at, 7, GetParam());
    return parseSourceString<ModuleOp>(replaced, context.get());
  }

  /// Puts the backward pass of a function of one block behind it: the last
  /// argument is the cotangent of the result, argument 0's cotangent is
  /// returned.
  static void differentiate(func::FuncOp function) {
    Block &block = function.front();
    auto terminator = cast<func::ReturnOp>(block.getTerminator());
    OpBuilder builder(terminator);
    llvm::DenseMap<Value, Value> cotangents;
    cotangents[terminator.getOperand(0)] = block.getArguments().back();
    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    for (Operation *op : llvm::reverse(ops)) {
      auto differentiable = dyn_cast<DifferentiableOp>(op);
      if (!differentiable || !cotangents.contains(op->getResult(0)))
        continue;
      SmallVector<bool> wanted(op->getNumOperands(), true);
      SmallVector<Value> values;
      ASSERT_TRUE(succeeded(differentiable.buildVJP(
          builder, cotangents[op->getResult(0)], wanted, values)));
      for (auto [operand, value] : llvm::zip_equal(op->getOperands(), values)) {
        if (!value)
          continue;
        Value &sum = cotangents[operand];
        sum = sum ? Value(AddOp::create(builder, op->getLoc(), value.getType(),
                                        sum, value))
                  : value;
      }
    }
    Value gradient = cotangents[block.getArgument(0)];
    terminator.getOperandsMutable().assign(gradient);
    function.setFunctionType(
        builder.getFunctionType(block.getArgumentTypes(), gradient.getType()));
    ASSERT_TRUE(succeeded(verify(function)));
  }

  std::vector<double> runGradient(StringRef text,
                                  std::vector<HostTensor> inputs, bool exact) {
    OwningOpRef<ModuleOp> module = parse(text);
    if (!module) {
      ADD_FAILURE() << "does not parse";
      return {};
    }
    auto function = *module->getOps<func::FuncOp>().begin();
    differentiate(function);
    auto results = run(function, inputs, exact);
    return results ? results->front().floats() : std::vector<double>();
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Types, DerivativeGuards,
                         ::testing::Values("f64", "f32", "bf16", "f16"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

static const char *const kGuardedSoftmax = R"mlir(
  func.func @loss(%x: tensor<3x4xELEMENT>, %dy: tensor<3x4xELEMENT>) -> tensor<3x4xELEMENT> {
    %y = nn.softmax %x : tensor<3x4xELEMENT>
    %nan = nn.is_nan %y : tensor<3x4xELEMENT>
    %zero = nn.constant dense<0.0> : tensor<3x4xELEMENT>
    %guarded = nn.select %nan, %zero, %y : tensor<3x4xi1>, tensor<3x4xELEMENT>
    return %guarded : tensor<3x4xELEMENT>
  })mlir";

TEST_P(DerivativeGuards, MaskedRowOfGuardedSoftmaxHasGradientZero) {
  const double m = -kInfinity;
  std::vector<double> x = {0.5, -1, 2, 0, m, m, m, m, 1, m, -0.5, m};
  std::vector<double> dy = {1, -2, 0.5, 3, 1, -2, 0.5, 3, 2, 5, -1, 7};
  for (bool exact : {true, false}) {
    std::vector<double> gradient = runGradient(
        kGuardedSoftmax, {tensor({3, 4}, x), tensor({3, 4}, dy)}, exact);
    ASSERT_EQ(gradient.size(), 12u);
    // Row 1 is masked throughout.
    for (int column = 0; column < 4; ++column)
      EXPECT_EQ(gradient[4 + column], 0);
    // Row 2 sees two places: p (1 - p) (dy_0 - dy_2) and its negative.
    double p = 1 / (1 + std::exp(-1.5));
    double expected = p * (1 - p) * 3;
    double tolerance = exact ? 1e-9 : 0.03;
    EXPECT_NEAR(gradient[8], expected, tolerance);
    EXPECT_NEAR(gradient[10], -expected, tolerance);
    EXPECT_EQ(gradient[9], 0);
    EXPECT_EQ(gradient[11], 0);
    // Row 0 sees everything: nonzero, and the sum over the row is 0.
    EXPECT_GT(std::abs(gradient[0]), 0.01);
    EXPECT_NEAR(gradient[0] + gradient[1] + gradient[2] + gradient[3], 0,
                tolerance);
  }
}

/// Without the guard the NaN reaches the loss, and the gradient says so.
TEST_P(DerivativeGuards, NanThatReachesTheLossIsNotHidden) {
  const double m = -kInfinity;
  std::vector<double> gradient = runGradient(
      R"mlir(
      func.func @loss(%x: tensor<1x2xELEMENT>, %dy: tensor<1x2xELEMENT>) -> tensor<1x2xELEMENT> {
        %y = nn.softmax %x : tensor<1x2xELEMENT>
        return %y : tensor<1x2xELEMENT>
      })mlir",
      {tensor({1, 2}, {m, m}), tensor({1, 2}, {1, 2})}, /*exact=*/true);
  ASSERT_EQ(gradient.size(), 2u);
  EXPECT_TRUE(std::isnan(gradient[0]) && std::isnan(gradient[1]));
}

/// The branch not taken gets 0 even where the cotangent is not finite.
TEST_P(DerivativeGuards, SelectGivesExactZero) {
  std::vector<double> gradient = runGradient(
      R"mlir(
      func.func @loss(%x: tensor<4xELEMENT>, %dy: tensor<4xELEMENT>) -> tensor<4xELEMENT> {
        %nan = nn.is_nan %x : tensor<4xELEMENT>
        %zero = nn.constant dense<0.0> : tensor<4xELEMENT>
        %y = nn.select %nan, %zero, %x : tensor<4xi1>, tensor<4xELEMENT>
        return %y : tensor<4xELEMENT>
      })mlir",
      {tensor({4}, {NAN, 1, NAN, 2}),
       tensor({4}, {1, 0.5, kInfinity, kInfinity})},
      /*exact=*/false);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0.5, 0, kInfinity}));
}

/// Ties of a maximum share; 0 belongs to neither side of |x| and relu.
TEST_P(DerivativeGuards, KinksHaveTheStatedDerivatives) {
  std::vector<double> gradient = runGradient(
      R"mlir(
      func.func @loss(%x: tensor<2x4xELEMENT>, %dy: tensor<2xELEMENT>) -> tensor<2xELEMENT> {
        %y = nn.reduce max %x [1] : tensor<2x4xELEMENT>
        return %y : tensor<2xELEMENT>
      })mlir",
      {tensor({2, 4}, {3, 1, 3, 0, -2, -2, -2, -2}), tensor({2}, {1, 2})},
      /*exact=*/false);
  EXPECT_EQ(gradient,
            (std::vector<double>{0.5, 0, 0.5, 0, 0.5, 0.5, 0.5, 0.5}));
  for (StringRef op : {"abs", "relu"}) {
    std::string text = llvm::formatv(
        "func.func @loss(%x: tensor<1xELEMENT>, %dy: tensor<1xELEMENT>) -> "
        "tensor<1xELEMENT> {{ %y = nn.{0} %x : tensor<1xELEMENT>\n return %y : "
        "tensor<1xELEMENT> }",
        op);
    gradient = runGradient(text, {tensor({1}, {0}), tensor({1}, {3})}, false);
    EXPECT_EQ(gradient, std::vector<double>{0}) << op.str();
  }
  // Ties of maximum and minimum go to the left operand.
  for (StringRef op : {"maximum", "minimum"}) {
    std::string text = llvm::formatv(
        "func.func @loss(%x: tensor<1xELEMENT>, %z: tensor<1xELEMENT>, %dy: "
        "tensor<1xELEMENT>) -> tensor<1xELEMENT> {{ %y = nn.{0} %x, %z : "
        "tensor<1xELEMENT>\n return %y : tensor<1xELEMENT> }",
        op);
    gradient = runGradient(
        text, {tensor({1}, {2}), tensor({1}, {2}), tensor({1}, {3})}, false);
    EXPECT_EQ(gradient, std::vector<double>{3}) << op.str();
  }
  // x^0 is constant, also at 0.
  gradient = runGradient(
      R"mlir(
      func.func @loss(%x: tensor<2xELEMENT>, %p: tensor<2xELEMENT>, %dy: tensor<2xELEMENT>) -> tensor<2xELEMENT> {
        %y = nn.pow %x, %p : tensor<2xELEMENT>
        return %y : tensor<2xELEMENT>
      })mlir",
      {tensor({2}, {0, 3}), tensor({2}, {0, 0}), tensor({2}, {1, 1})}, false);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0}));
}

/// Ignored rows get an exact 0 whatever their logits are.
TEST_P(DerivativeGuards, IgnoredRowsOfCrossEntropyHaveGradientZero) {
  StringRef result = StringRef(GetParam()) == "f64" ? "f64" : "f32";
  std::string text = llvm::formatv(
      "func.func @loss(%x: tensor<3x2xELEMENT>, %labels: tensor<3xi64>, %dy: "
      "tensor<{0}>) -> tensor<{0}> {{ %y = nn.cross_entropy %x, %labels ignore "
      "-100 : tensor<3x2xELEMENT>, tensor<3xi64>\n return %y : tensor<{0}> }",
      result);
  HostTensor labels(
      RankedTensorType::get({3}, Builder(context.get()).getI64Type()));
  HostTensor dy(RankedTensorType::get({}, getElementType(*context, result)));
  dy.floats() = {1};
  HostTensor logits = tensor({3, 2}, {0, 0, NAN, kInfinity, 0, 0});
  labels.integers() = {1, -100, 0};
  std::vector<double> gradient =
      runGradient(text, {logits, labels, dy}, /*exact=*/false);
  EXPECT_EQ(gradient, (std::vector<double>{0.25, -0.25, 0, 0, -0.25, 0.25}));
  // No row counts: the loss is NaN, the gradient still 0.
  labels.integers() = {-100, -100, -100};
  gradient = runGradient(text, {logits, labels, dy}, /*exact=*/false);
  EXPECT_EQ(gradient, std::vector<double>(6, 0));
}

/// A parameter's gradient is f32: behind the last cast, unrounded, also where
/// the parameter was moved or converted on its way to the product.
TEST_P(DerivativeGuards, ParametersHaveUnroundedGradients) {
  if (element.getIntOrFloatBitWidth() != 16)
    return;
  const char *const texts[] = {
      R"mlir(
      func.func @loss(%w: tensor<3x2xELEMENT>, %x: tensor<4x2xELEMENT>, %dy: tensor<4x3xELEMENT>) -> tensor<4x3xELEMENT> {
        %y = nn.matmul %x, %w transpose_rhs : tensor<4x2xELEMENT>, tensor<3x2xELEMENT> -> tensor<4x3xELEMENT>
        return %y : tensor<4x3xELEMENT>
      })mlir",
      R"mlir(
      func.func @loss(%w: tensor<6xELEMENT>, %x: tensor<4x2xELEMENT>, %dy: tensor<4x3xELEMENT>) -> tensor<4x3xELEMENT> {
        %r = nn.reshape %w : tensor<6xELEMENT> -> tensor<3x2xELEMENT>
        %t = nn.transpose %r [1, 0] : tensor<3x2xELEMENT> -> tensor<2x3xELEMENT>
        %y = nn.matmul %x, %t : tensor<4x2xELEMENT>, tensor<2x3xELEMENT> -> tensor<4x3xELEMENT>
        return %y : tensor<4x3xELEMENT>
      })mlir",
      R"mlir(
      func.func @loss(%w: tensor<5x2xELEMENT>, %i: tensor<3xi64>, %dy: tensor<3x2xELEMENT>) -> tensor<3x2xELEMENT> {
        %y = nn.gather %w, %i axis 0 : tensor<5x2xELEMENT>, tensor<3xi64>
        return %y : tensor<3x2xELEMENT>
      })mlir",
      R"mlir(
      func.func @loss(%w: tensor<2xELEMENT>, %dy: tensor<3x2xELEMENT>) -> tensor<3x2xELEMENT> {
        %y = nn.broadcast %w : tensor<2xELEMENT> -> tensor<3x2xELEMENT>
        return %y : tensor<3x2xELEMENT>
      })mlir",
      R"mlir(
      func.func @loss(%w: tensor<2xELEMENT>, %x: tensor<3x2xELEMENT>, %dy: tensor<3x2xELEMENT>) -> tensor<3x2xELEMENT> {
        %y = nn.rms_norm %x, %w epsilon 1.0e-5 : tensor<3x2xELEMENT>, tensor<2xELEMENT>
        return %y : tensor<3x2xELEMENT>
      })mlir"};
  for (const char *text : texts) {
    OwningOpRef<ModuleOp> module = parse(text);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    differentiate(function);
    Value gradient = function.front().getTerminator()->getOperand(0);
    auto rounding = gradient.getDefiningOp<CastOp>();
    ASSERT_TRUE(rounding) << print(*module);
    EXPECT_TRUE(rounding.getOperand().getType().getElementType().isF32())
        << print(*module);
    // Nothing before it is rounded to 16 bits on the gradient's way.
    Operation *source = rounding.getOperand().getDefiningOp();
    while (isa<ReshapeOp, TransposeOp>(source))
      source = source->getOperand(0).getDefiningOp();
    EXPECT_FALSE(isa<CastOp>(source)) << print(*module);
  }

  // A master in f32 converted for the product: no detour through 16 bits.
  OwningOpRef<ModuleOp> module = parse(R"mlir(
      func.func @loss(%w: tensor<3x2xf32>, %x: tensor<4x2xELEMENT>, %dy: tensor<4x3xELEMENT>) -> tensor<4x3xELEMENT> {
        %c = nn.cast %w : tensor<3x2xf32> to tensor<3x2xELEMENT>
        %y = nn.matmul %x, %c transpose_rhs : tensor<4x2xELEMENT>, tensor<3x2xELEMENT> -> tensor<4x3xELEMENT>
        return %y : tensor<4x3xELEMENT>
      })mlir");
  ASSERT_TRUE(module);
  auto function = *module->getOps<func::FuncOp>().begin();
  differentiate(function);
  EXPECT_TRUE(
      function.front().getTerminator()->getOperand(0).getDefiningOp<MatmulOp>())
      << print(*module);
}

/// What attention cannot differentiate is refused with the way out.
TEST_P(DerivativeGuards, AttentionWithMaskIsRefused) {
  OwningOpRef<ModuleOp> module = parse(
      llvm::formatv(
          "func.func @loss(%q: tensor<1x1x2x2xELEMENT>, %m: tensor<2x2xi1>) -> "
          "tensor<1x1x2x2xELEMENT> {{ %y, %s = nn.attention %q, %q, %q mask %m "
          "scale "
          "1.0 : tensor<1x1x2x2xELEMENT>, tensor<1x1x2x2xELEMENT>, "
          "tensor<1x1x2x2xELEMENT>, tensor<2x2xi1> -> tensor<1x1x2x2xELEMENT>, "
          "tensor<1x1x2x{0}>\n return %y : tensor<1x1x2x2xELEMENT> }",
          StringRef(GetParam()) == "f64" ? "f64" : "f32")
          .str());
  ASSERT_TRUE(module);
  AttentionOp attention;
  module->walk([&](AttentionOp op) { attention = op; });
  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    message = diagnostic.str();
    return success();
  });
  OpBuilder builder(attention->getBlock()->getTerminator());
  SmallVector<Value> results;
  SmallVector<bool> wanted(4, true);
  EXPECT_TRUE(failed(attention.buildVJP(
      builder, {attention.getResult(), Value()}, wanted, results)));
  EXPECT_NE(message.find("explicit mask"), std::string::npos) << message;
  results.clear();
  EXPECT_TRUE(failed(attention.buildVJP(
      builder, {Value(), attention.getStatistics()}, wanted, results)));
  EXPECT_NE(message.find("statistics"), std::string::npos) << message;
}
