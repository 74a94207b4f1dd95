//===- InterpreterTest.cpp - Functions, locations, shapes, costs ----------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

class Interpreter : public EvaluationTest {
protected:
  void expectDiagnostic(StringRef text) {
    EXPECT_NE(diagnostics.find(text.str()), std::string::npos) << diagnostics;
    diagnostics.clear();
  }
};
class NNUtils : public EvaluationTest {};
class NNCost : public EvaluationTest {
protected:
  /// The cost of the last op of `body`, in a function with the given arguments.
  Cost getCost(const std::string &arguments, const std::string &body);
};

//===----------------------------------------------------------------------===//
// Interpreter
//===----------------------------------------------------------------------===//

const char *const twoParameters = R"mlir(
  nn.parameter @w trainable : tensor<2xf32>
  nn.parameter @t : tensor<2xf32> {value = dense<[10.0, 20.0]> : tensor<2xf32>}
  func.func @f(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    %w = nn.read @w : tensor<2xf32>
    %t = nn.read @t : tensor<2xf32>
    %unused = nn.exp %x : tensor<2xf32>
    %wx = nn.mul %w, %x : tensor<2xf32>
    %r = nn.add %wx, %t : tensor<2xf32>
    return %r, %x : tensor<2xf32>, tensor<2xf32>
  }
)mlir";

TEST_F(Interpreter, LooksParametersUp) {
  OwningOpRef<ModuleOp> module = parseModule(twoParameters);
  ASSERT_TRUE(module);
  HostTensor x = parseTensor("dense<[1.0, 2.0]> : tensor<2xf32>");
  HostTensor w = parseTensor("dense<[3.0, 4.0]> : tensor<2xf32>");
  auto lookup = [&](StringRef name,
                    RankedTensorType) -> std::optional<HostTensor> {
    return name == "w" ? std::optional(w) : std::nullopt;
  };
  FailureOr<SmallVector<HostTensor>> results =
      evaluate(*module, {x}, {}, lookup);
  ASSERT_TRUE(succeeded(results)) << diagnostics;
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ((*results)[0].floats(), (std::vector<double>{13, 28}));
  EXPECT_EQ((*results)[1].floats(), (std::vector<double>{1, 2}));
}

TEST_F(Interpreter, ReportsWhatIsMissing) {
  OwningOpRef<ModuleOp> module = parseModule(twoParameters);
  ASSERT_TRUE(module);
  HostTensor x = parseTensor("dense<[1.0, 2.0]> : tensor<2xf32>");
  EXPECT_TRUE(failed(evaluate(*module, {x})));
  expectDiagnostic(
      "'nn.read' op the value of parameter 'w' is not known to the compiler");
  HostTensor wrong = parseTensor("dense<1.0> : tensor<3xf32>");
  EXPECT_TRUE(
      failed(evaluate(*module, {x}, {}, [&](StringRef, RankedTensorType) {
        return std::optional(wrong);
      })));
  expectDiagnostic("was given a value of type 'tensor<3xf32>' for parameter "
                   "'w' of type 'tensor<2xf32>'");
  EXPECT_TRUE(failed(evaluate(*module, {})));
  expectDiagnostic("got 0 values for 1 arguments");
  EXPECT_TRUE(failed(evaluate(*module, {wrong})));
  expectDiagnostic(
      "argument 0 of type 'tensor<2xf32>' got a value of type 'tensor<3xf32>'");
}

TEST_F(Interpreter, RefusesOpsItCannotEvaluate) {
  OwningOpRef<ModuleOp> module = parseModule(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %r = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func private @g(tensor<2xf32>)
  )mlir");
  ASSERT_TRUE(module);
  EXPECT_TRUE(
      failed(evaluate(*module, {parseTensor("dense<1.0> : tensor<2xf32>")})));
  expectDiagnostic("'func.call' op cannot be evaluated");
  EXPECT_TRUE(
      failed(evaluateFunction(module->lookupSymbol<func::FuncOp>("g"), {})));
  expectDiagnostic("must have one block to be evaluated, but has 0");
}

TEST_F(Interpreter, RefusesValuesFromOutside) {
  OpBuilder builder(&context);
  Location loc = builder.getUnknownLoc();
  auto type = RankedTensorType::get({2}, builder.getF32Type());
  Block outer, inner;
  Value x = outer.addArgument(type, loc);
  builder.setInsertionPointToStart(&inner);
  NegOp neg = NegOp::create(builder, loc, type, x);
  func::ReturnOp::create(builder, loc, ValueRange{neg.getResult()});
  EXPECT_TRUE(failed(evaluateBlock(inner, {})));
  expectDiagnostic("'nn.neg' op operand 0 has no value: it is defined outside "
                   "of the evaluated block");
}

TEST_F(Interpreter, RefusesBlocksWithoutTerminator) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(UnknownLoc::get(&context)));
  EXPECT_TRUE(failed(evaluateBlock(*module->getBody(), {})));
  expectDiagnostic("has a block without terminator");
}

//===----------------------------------------------------------------------===//
// Utils
//===----------------------------------------------------------------------===//

TEST_F(NNUtils, NodeNames) {
  Location node = getNodeLoc(&context, "/layers.0/Gemm", "Gemm");
  EXPECT_EQ(getNodeName(node), "/layers.0/Gemm");
  EXPECT_EQ(getNodeOpType(node), "::Gemm");
  EXPECT_EQ(getNodeOpType(getNodeLoc(&context, "a", "Gelu", "com.microsoft")),
            "com.microsoft::Gelu");
  EXPECT_EQ(getNodeName(getNodeLoc(&context, "", "Gemm")), "(unnamed)");

  Location unknown = UnknownLoc::get(&context);
  Location file = FileLineColLoc::get(&context, "x.mlir", 3, 7);
  EXPECT_EQ(getNodeName(unknown), "");
  EXPECT_EQ(getNodeOpType(unknown), "");
  EXPECT_EQ(getNodeName(file), "x.mlir:3:7");
  EXPECT_EQ(getNodeOpType(file), "");
  // A node's name wins over a place in a file, wherever it stands.
  EXPECT_EQ(
      getNodeName(FusedLoc::get({unknown, file, node}, nullptr, &context)),
      "/layers.0/Gemm");
  EXPECT_EQ(getNodeName(FusedLoc::get({unknown, file}, nullptr, &context)),
            "x.mlir:3:7");
  EXPECT_EQ(getNodeName(CallSiteLoc::get(node, file)), "/layers.0/Gemm");
}

TEST_F(NNUtils, Shapes) {
  using Shape = SmallVector<int64_t>;
  EXPECT_EQ(shapeToString({}), "[]");
  EXPECT_EQ(shapeToString({2, 16}), "[2, 16]");
  EXPECT_EQ(getBroadcastShape({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(getBroadcastShape({}, {3}), (Shape{3}));
  EXPECT_EQ(getBroadcastShape({1}, {0}), (Shape{0}));
  EXPECT_EQ(getBroadcastShape({2, 3}, {2}), std::nullopt);
  EXPECT_TRUE(isBroadcastableTo({3, 1}, {2, 3, 4}));
  EXPECT_FALSE(isBroadcastableTo({2, 3}, {1, 3}));
  EXPECT_FALSE(isBroadcastableTo({1, 3}, {3}));
  EXPECT_EQ(getMatmulShape({5, 2, 3}, {5, 3, 4}, false, false),
            (Shape{5, 2, 4}));
  EXPECT_EQ(getMatmulShape({5, 3, 2}, {5, 4, 3}, true, true), (Shape{5, 2, 4}));
  EXPECT_EQ(getMatmulShape({5, 2, 3}, {4, 3}, false, true), (Shape{5, 2, 4}));
  EXPECT_EQ(getMatmulShape({3, 2}, {3, 4}, true, false), (Shape{2, 4}));
  EXPECT_EQ(getMatmulShape({5, 3, 2}, {3, 4}, true, false), std::nullopt);
  EXPECT_EQ(getMatmulShape({5, 2, 3}, {1, 3, 4}, false, false), std::nullopt);
  EXPECT_EQ(getMatmulShape({2, 3}, {4, 3}, false, false), std::nullopt);
  EXPECT_EQ(getMatmulShape({2, 3}, {5, 3, 4}, false, false), std::nullopt);
  EXPECT_EQ(getReducedShape({2, 3, 4}, {0, 2}, false), (Shape{3}));
  EXPECT_EQ(getReducedShape({2, 3, 4}, {0, 2}, true), (Shape{1, 3, 1}));
  EXPECT_EQ(getRowMajorStrides({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(getRowMajorStrides({}), Shape{});
  EXPECT_EQ(
      getTensorBytes(parseTensor("dense<1.0> : tensor<2x3xbf16>").getType()),
      12);
  EXPECT_EQ(getTensorBytes(parseTensor("dense<true> : tensor<5xi1>").getType()),
            5);
}

TEST_F(NNUtils, Constants) {
  OwningOpRef<ModuleOp> module = parseModule(R"mlir(
    func.func @f(%x: tensor<2xf32>) -> (tensor<2x3xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xi64>, tensor<2xi1>) {
      %0 = nn.constant dense<1.00390625> : tensor<f32>
      %1 = nn.cast %0 : tensor<f32> to tensor<bf16>
      %2 = nn.broadcast %1 : tensor<bf16> -> tensor<3x2xbf16>
      %3 = nn.transpose %2 [1, 0] : tensor<3x2xbf16> -> tensor<2x3xbf16>
      %4 = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
      %5 = nn.add %4, %4 : tensor<2xf32>
      %6 = nn.constant dense<[4, -5, 6]> : tensor<3xi64>
      %7 = nn.constant dense<true> : tensor<2xi1>
      return %3, %4, %x, %5, %6, %7 : tensor<2x3xbf16>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xi64>, tensor<2xi1>
    })mlir");
  ASSERT_TRUE(module);
  auto function = module->lookupSymbol<func::FuncOp>("f");
  OperandRange values =
      function.getBody().front().getTerminator()->getOperands();
  // Rounded by the cast on the way.
  EXPECT_EQ(getSplatConstant(values[0]), 1.0);
  EXPECT_TRUE(isSplatConstant(values[0], 1.0));
  for (size_t i : {1, 2, 3, 4})
    EXPECT_EQ(getSplatConstant(values[i]), std::nullopt) << i;
  EXPECT_EQ(getSplatConstant(values[5]), 1.0);
  EXPECT_EQ(getConstantIntegers(values[4]), (SmallVector<int64_t>{4, -5, 6}));
  EXPECT_EQ(getConstantIntegers(values[4], 2), std::nullopt);
  EXPECT_EQ(getConstantIntegers(values[1]), std::nullopt);
  EXPECT_EQ(getConstantIntegers(values[2]), std::nullopt);
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

Cost NNCost::getCost(const std::string &arguments, const std::string &body) {
  OwningOpRef<ModuleOp> module =
      parseModule("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}");
  if (!module)
    return {};
  Block &block = module->lookupSymbol<func::FuncOp>("f").getBody().front();
  return cast<CostOp>(*std::prev(block.end(), 2)).getCost();
}

void expectCost(Cost cost, int64_t flops, int64_t read, int64_t written,
                bool isProduct = false) {
  EXPECT_EQ(cost.flops, flops);
  EXPECT_EQ(cost.bytesRead, read);
  EXPECT_EQ(cost.bytesWritten, written);
  EXPECT_EQ(cost.isProduct, isProduct);
}

TEST_F(NNCost, MemoryOps) {
  expectCost(
      getCost("%x: tensor<4x8xbf16>", "%r = nn.add %x, %x : tensor<4x8xbf16>"),
      32, 128, 64);
  expectCost(getCost("%x: tensor<4x8xf32>",
                     "%r = nn.reduce sum %x [1] : tensor<4x8xf32>"),
             32, 128, 16);
  expectCost(getCost("%x: tensor<4x8xf32>",
                     "%r = nn.reshape %x : tensor<4x8xf32> -> tensor<32xf32>"),
             0, 0, 0);
  expectCost(getCost("%x: tensor<4x8xf32>",
                     "%r = nn.cast %x : tensor<4x8xf32> to tensor<4x8xf16>"),
             0, 128, 64);
  // Of a large table only the rows that are looked up.
  expectCost(
      getCost(
          "%x: tensor<1000x8xf32>, %i: tensor<2xi64>",
          "%r = nn.gather %x, %i axis 0 : tensor<1000x8xf32>, tensor<2xi64>"),
      0, 64 + 16, 64);
  expectCost(getCost("%x: tensor<1000x8xf32>",
                     "%r = nn.slice %x [0, 0] [1, 1] : tensor<1000x8xf32> -> "
                     "tensor<2x8xf32>"),
             0, 64, 64);
  // Zeros everywhere, then two rows read and written.
  expectCost(getCost("%x: tensor<2x8xf32>, %i: tensor<2xi64>",
                     "%r = nn.scatter_add %x, %i axis 0 : tensor<2x8xf32>, "
                     "tensor<2xi64> -> tensor<10x8xf32>"),
             16, 64 + 16 + 64, 320 + 64);
}

TEST_F(NNCost, Products) {
  expectCost(
      getCost("%x: tensor<2x3x5xbf16>, %w: tensor<7x5xbf16>",
              "%r = nn.matmul %x, %w transpose_rhs : tensor<2x3x5xbf16>, "
              "tensor<7x5xbf16> -> tensor<2x3x7xf32>"),
      2 * 6 * 7 * 5, 2 * (30 + 35), 4 * 42, true);
  std::string types = "tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, "
                      "tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, "
                      "tensor<1x4x8xf32>";
  std::string arguments = "%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, "
                          "%v: tensor<1x2x8x12xf32>";
  int64_t read = 4 * (512 + 256 + 192), written = 4 * (384 + 32);
  expectCost(getCost(arguments,
                     "%r, %s = nn.attention %q, %k, %v scale 1.0 : " + types),
             4 * 64 * (2 * 28 + 4), read, written, true);
  // Causal: 1 + 2 + .. + 8 pairs; with a window of 2: 1 + 2 * 7.
  expectCost(
      getCost(arguments,
              "%r, %s = nn.attention %q, %k, %v causal scale 1.0 : " + types),
      4 * 36 * (2 * 28 + 4), read, written, true);
  expectCost(
      getCost(arguments,
              "%r, %s = nn.attention %q, %k, %v causal window 2 scale 1.0 : " +
                  types),
      4 * 15 * (2 * 28 + 4), read, written, true);
}

} // namespace
