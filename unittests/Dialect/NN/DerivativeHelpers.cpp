//===- DerivativeHelpers.cpp - Building and running pullbacks -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeHelpers.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

/// A copy of the case's function up to its return, with `op` mapped.
static func::FuncOp copyBody(OpCase &instance, StringRef name,
                             OpBuilder &builder, Operation *&op) {
  builder.setInsertionPointToEnd(instance.module->getBody());
  func::FuncOp copy = func::FuncOp::create(
      builder, builder.getUnknownLoc(), name, builder.getFunctionType({}, {}));
  Block *block = copy.addEntryBlock();
  IRMapping mapping;
  for (BlockArgument argument : instance.function.getArguments())
    mapping.map(argument,
                block->addArgument(argument.getType(), argument.getLoc()));
  builder.setInsertionPointToStart(block);
  for (Operation &original : instance.function.front().without_terminator()) {
    Operation *clone = builder.clone(original, mapping);
    if (&original == instance.op)
      op = clone;
  }
  return copy;
}

static void finishFunction(func::FuncOp function, OpBuilder &builder,
                           ValueRange results) {
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      function.front().getArgumentTypes(), results.getTypes()));
}

SmallVector<bool> test::wantAll(const OpCase &instance) {
  return llvm::map_to_vector(instance.op->getOperands(), [](Value operand) {
    return isa<BlockArgument>(operand);
  });
}

FailureOr<Pullback> test::buildPullback(OpCase &instance, ArrayRef<bool> wanted,
                                        bool withCotangent) {
  OpBuilder builder(instance.module->getContext());
  Operation *op = nullptr;
  Pullback pullback;
  pullback.function = copyBody(instance, "pullback", builder, op);
  SmallVector<Value> resultCotangents(op->getNumResults());
  if (withCotangent)
    resultCotangents[0] = pullback.function.front().addArgument(
        op->getResult(0).getType(), op->getLoc());
  if (failed(cast<DifferentiableOp>(op).buildVJP(builder, resultCotangents,
                                                 wanted, pullback.cotangents)))
    return failure();
  SmallVector<Value> results;
  for (auto [index, value] : llvm::enumerate(pullback.cotangents)) {
    if (!value)
      continue;
    results.push_back(value);
    pullback.operands.push_back(index);
  }
  finishFunction(pullback.function, builder, results);
  if (failed(verify(pullback.function)))
    return failure();
  return pullback;
}

FailureOr<func::FuncOp> test::buildDecomposed(OpCase &instance) {
  OpBuilder builder(instance.module->getContext());
  Operation *op = nullptr;
  func::FuncOp function = copyBody(instance, "decomposed", builder, op);
  SmallVector<Value> results =
      cast<CompositeOp>(op).buildDecomposition(builder);
  op->erase();
  finishFunction(function, builder, results);
  if (failed(verify(function)))
    return failure();
  return function;
}

std::optional<std::vector<HostTensor>>
test::run(func::FuncOp function, ArrayRef<HostTensor> inputs, bool exact) {
  EvaluationContext context;
  context.exact = exact;
  auto results = evaluateFunction(function, inputs, context);
  if (failed(results)) {
    ADD_FAILURE() << "evaluation failed:\n" << print(function);
    return std::nullopt;
  }
  return std::vector<HostTensor>(results->begin(), results->end());
}

HostTensor test::makeCotangent(const OpCase &instance, Random &random) {
  HostTensor cotangent(
      cast<RankedTensorType>(instance.op->getResult(0).getType()));
  fillUniform(cotangent, random, -1, 1);
  return cotangent;
}

std::optional<std::string> test::compareNumbers(ArrayRef<double> actual,
                                                ArrayRef<double> expected,
                                                double tolerance) {
  if (actual.size() != expected.size())
    return llvm::formatv("{0} elements, expected {1}", actual.size(),
                         expected.size())
        .str();
  double scale = 1;
  for (double value : expected)
    scale = std::max(scale, std::abs(value));
  for (auto [index, pair] : llvm::enumerate(llvm::zip(actual, expected))) {
    auto [a, e] = pair;
    if (!(std::abs(a - e) <= tolerance * scale))
      return llvm::formatv("element {0} is {1:e12}, expected {2:e12}", index, a,
                           e)
          .str();
  }
  return std::nullopt;
}

Type test::getElementType(MLIRContext &context, StringRef name) {
  Builder builder(&context);
  return llvm::StringSwitch<Type>(name)
      .Case("f64", builder.getF64Type())
      .Case("f32", builder.getF32Type())
      .Case("bf16", builder.getBF16Type())
      .Case("f16", builder.getF16Type());
}
