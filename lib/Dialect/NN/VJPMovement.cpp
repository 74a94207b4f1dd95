//===- VJPMovement.cpp - Derivatives of data movement and indexing --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moved cotangents keep their bits; sums are f32 (f64 for f64 operands).
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

using Cotangents = SmallVectorImpl<Value>;

/// The cotangent of the only operand of a movement: `move` applied to the
/// result's, or null.
static LogicalResult
buildMovement(Operation *op, OpBuilder &builder, ArrayRef<Value> cotangents,
              ArrayRef<bool> wanted, Cotangents &results,
              llvm::function_ref<Value(Primitives &, Value)> move) {
  Value operand = op->getOperand(0);
  if (!cotangents.front() || !wanted[0] || !isFloatTensor(operand)) {
    results.push_back(Value());
    return success();
  }
  Primitives p(builder, op->getLoc());
  Value value = move(p, unroundedForParameter(cotangents.front(), operand));
  results.push_back(p.castLike(value, operand));
  return success();
}

LogicalResult ReshapeOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted, Cotangents &results) {
  ArrayRef<int64_t> shape = getTensorType(getOperand()).getShape();
  return buildMovement(*this, builder, cotangents, wanted, results,
                       [&](Primitives &p, Value cotangent) {
                         return p.reshape(cotangent, shape);
                       });
}

LogicalResult BroadcastOp::buildVJP(OpBuilder &builder,
                                    ArrayRef<Value> cotangents,
                                    ArrayRef<bool> wanted,
                                    Cotangents &results) {
  ArrayRef<int64_t> from = getTensorType(getOperand()).getShape();
  ArrayRef<int64_t> to = getTensorType(getResult()).getShape();
  int64_t added = to.size() - from.size();
  SmallVector<int64_t> stretched;
  for (int64_t axis = 0; axis < int64_t(to.size()); ++axis)
    if (axis < added || from[axis - added] != to[axis])
      stretched.push_back(axis);
  return buildMovement(*this, builder, cotangents, wanted, results,
                       [&](Primitives &p, Value cotangent) {
                         Value sum = p.reduce(ReduceKind::Sum,
                                              p.widen(cotangent), stretched,
                                              /*keepdims=*/false);
                         return p.reshape(sum, from);
                       });
}

LogicalResult TransposeOp::buildVJP(OpBuilder &builder,
                                    ArrayRef<Value> cotangents,
                                    ArrayRef<bool> wanted,
                                    Cotangents &results) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [to, from] : llvm::enumerate(getPermutation()))
    inverse[from] = to;
  return buildMovement(
      *this, builder, cotangents, wanted, results,
      [&](Primitives &p, Value cotangent) -> Value {
        Type element = getTensorType(cotangent).getElementType();
        return TransposeOp::create(builder, getLoc(),
                                   getTensorType(getOperand()).clone(element),
                                   cotangent, inverse);
      });
}

/// Reverses the axes whose step is negative, so that starts and steps become
/// positive.
static Value reverseNegativeSteps(Primitives &p, Value value,
                                  SmallVectorImpl<int64_t> &starts,
                                  SmallVectorImpl<int64_t> &steps) {
  ArrayRef<int64_t> shape = getTensorType(value).getShape();
  SmallVector<int64_t> from(shape.size(), 0), by(shape.size(), 1);
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    // A single element has no order.
    if (extent <= 1)
      steps[axis] = 1;
    if (steps[axis] > 0)
      continue;
    from[axis] = extent - 1;
    by[axis] = -1;
    starts[axis] += (extent - 1) * steps[axis];
    steps[axis] = -steps[axis];
  }
  return p.slice(value, from, by, shape);
}

/// Puts step - 1 zeros between the elements along every axis: the elements as
/// the heads of rows of `step`, the rows joined, and the last row's tail cut.
static Value spread(Primitives &p, Value value, ArrayRef<int64_t> steps) {
  if (llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return value;
  SmallVector<int64_t> split, padded, joined, cut;
  for (auto [extent, step] :
       llvm::zip_equal(getTensorType(value).getShape(), steps)) {
    split.append({extent, 1});
    padded.append({extent, step});
    joined.push_back(extent * step);
    cut.push_back(extent == 0 ? 0 : (extent - 1) * step + 1);
  }
  SmallVector<int64_t> zeros(split.size(), 0), ones(cut.size(), 1);
  value = p.pad(p.reshape(value, split), zeros, padded);
  value = p.reshape(value, joined);
  return p.slice(value, ArrayRef(zeros).take_front(cut.size()), ones, cut);
}

LogicalResult SliceOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                ArrayRef<bool> wanted, Cotangents &results) {
  ArrayRef<int64_t> shape = getTensorType(getOperand()).getShape();
  return buildMovement(*this, builder, cotangents, wanted, results,
                       [&](Primitives &p, Value cotangent) {
                         SmallVector<int64_t> starts(getStarts()),
                             steps(getSteps());
                         Value value =
                             reverseNegativeSteps(p, cotangent, starts, steps);
                         return p.pad(spread(p, value, steps), starts, shape);
                       });
}

LogicalResult PadOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  ArrayRef<int64_t> shape = getTensorType(getOperand()).getShape();
  SmallVector<int64_t> ones(shape.size(), 1);
  return buildMovement(*this, builder, cotangents, wanted, results,
                       [&](Primitives &p, Value cotangent) {
                         return p.slice(cotangent, getLow(), ones, shape);
                       });
}

LogicalResult ConcatOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 ArrayRef<bool> wanted, Cotangents &results) {
  Value cotangent = cotangents.front();
  int64_t rank = getTensorType(getResult()).getRank();
  int64_t axis = getAxis();
  Primitives p(builder, getLoc());
  SmallVector<int64_t> starts(rank, 0), steps(rank, 1);
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    ArrayRef<int64_t> shape = getTensorType(operand).getShape();
    Value value;
    if (cotangent && wanted[index] && isFloatTensor(operand)) {
      Value moved = unroundedForParameter(cotangent, operand);
      value = p.castLike(p.slice(moved, starts, steps, shape), operand);
    }
    results.push_back(value);
    starts[axis] += shape[axis];
  }
  return success();
}

LogicalResult GatherOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 ArrayRef<bool> wanted, Cotangents &results) {
  LogicalResult built = buildMovement(
      *this, builder, cotangents, wanted, results,
      [&](Primitives &p, Value cotangent) -> Value {
        Value updates = p.widen(cotangent);
        RankedTensorType type = getTensorType(getOperand());
        Type element = getTensorType(updates).getElementType();
        return ScatterAddOp::create(builder, getLoc(), type.clone(element),
                                    updates, getIndices(), getAxis());
      });
  results.push_back(Value()); // of the indices
  return built;
}
