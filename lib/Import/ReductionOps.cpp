//===- ReductionOps.cpp - Import of reductions and softmax ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

using namespace mlir;

namespace rondo {

/// The axes a node reduces over, sorted; nothing if it is to do nothing.
static FailureOr<std::optional<SmallVector<int64_t>>>
getReducedAxes(NodeImport &n) {
  auto given = n.getAxes(1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given && !(*given)->empty()) {
    auto normalized = n.normalizeAxes(**given, n.rank(0));
    if (failed(normalized))
      return failure();
    return std::optional(*normalized);
  }
  if (n.getInt("noop_with_empty_axes", 0))
    return std::optional<SmallVector<int64_t>>();
  for (int64_t axis = 0; axis < n.rank(0); ++axis)
    axes.push_back(axis);
  return std::optional(axes);
}

/// What is reduced, and what is done afterwards.
enum class Around { Nothing, Negate, Square, Absolute, SquareAndRoot };

template <nn::ReduceKind kind, Around around>
static LogicalResult importReduce(NodeImport &n) {
  if (n.element(0).isInteger(1))
    return n.unsupported("booleans");
  if (around == Around::SquareAndRoot && !n.isFloat(0))
    return n.unsupported("integers");
  auto axes = getReducedAxes(n);
  if (failed(axes))
    return failure();
  Value value = n.operand(0);
  if (around == Around::Negate)
    value = n.e.create<nn::NegOp>(value.getType(), value);
  else if (around == Around::Absolute)
    value = n.e.create<nn::AbsOp>(value.getType(), value);
  else if (around == Around::Square || around == Around::SquareAndRoot)
    value = n.e.create<nn::MulOp>(value, value);
  if (*axes) {
    for (int64_t axis : **axes)
      if (kind != nn::ReduceKind::Sum && n.shape(0)[axis] == 0)
        return n.error() << "reduces over axis " << axis << " of extent 0";
    value = n.e.reduce(kind, value, **axes, n.getInt("keepdims", 1) != 0);
  }
  if (around == Around::Negate)
    value = n.e.create<nn::NegOp>(value.getType(), value);
  else if (around == Around::SquareAndRoot)
    value = n.e.create<nn::SqrtOp>(value.getType(), value);
  return n.setResult(value);
}

/// Calls `build` with the axis moved to the end, and moves it back.
static LogicalResult alongLastAxis(NodeImport &n,
                                   llvm::function_ref<Value(Value)> build) {
  if (!n.isFloat(0))
    return n.error() << "operand has type " << n.operand(0).getType();
  auto axis = n.normalizeAxis(n.getInt("axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> swapped;
  for (int64_t a = 0; a < n.rank(0); ++a)
    swapped.push_back(a);
  std::swap(swapped[*axis], swapped.back());
  Value result = build(n.e.transpose(n.operand(0), swapped));
  return n.setResult(n.e.transpose(result, swapped));
}

static LogicalResult importSoftmax(NodeImport &n) {
  return alongLastAxis(n, [&](Value x) -> Value {
    return n.e.create<nn::SoftmaxOp>(x.getType(), x);
  });
}

/// x - max - log(sum(exp(x - max))), which keeps small probabilities.
static LogicalResult importLogSoftmax(NodeImport &n) {
  return alongLastAxis(n, [&](Value x) -> Value {
    SmallVector<int64_t> shape(Emitter::shapeOf(x));
    int64_t last = shape.size() - 1;
    Value top = n.e.reduce(nn::ReduceKind::Max, x, {last}, true);
    Value shifted = n.e.create<nn::SubOp>(x, n.e.broadcast(top, shape));
    Value powers = n.e.create<nn::ExpOp>(x.getType(), shifted);
    Value sum = n.e.reduce(nn::ReduceKind::Sum, powers, {last}, true);
    Value log = n.e.create<nn::LogOp>(sum.getType(), sum);
    return n.e.create<nn::SubOp>(shifted, n.e.broadcast(log, shape));
  });
}

void registerReductionOps(OpTable &table) {
  using enum nn::ReduceKind;
  using enum Around;
  table["ReduceSum"] = {1, 1, 2, importReduce<Sum, Nothing>};
  table["ReduceMean"] = {1, 1, 2, importReduce<nn::ReduceKind::Mean, Nothing>};
  table["ReduceMax"] = {1, 1, 2, importReduce<Max, Nothing>};
  table["ReduceMin"] = {1, 1, 2, importReduce<Max, Negate>};
  table["ReduceSumSquare"] = {1, 1, 2, importReduce<Sum, Square>};
  table["ReduceL1"] = {1, 1, 2, importReduce<Sum, Absolute>};
  table["ReduceL2"] = {1, 1, 2, importReduce<Sum, SquareAndRoot>};
  table["Softmax"] = {13, 1, 1, importSoftmax};
  table["LogSoftmax"] = {13, 1, 1, importLogSoftmax};
}

} // namespace rondo
