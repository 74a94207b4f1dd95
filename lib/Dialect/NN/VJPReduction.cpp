//===- VJPReduction.cpp - Derivatives of reductions and softmax -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

/// Each maximum's share of its cotangent: 1 / the number of elements that
/// equal it.
static Value buildMaxVJP(Primitives &p, ReduceOp op, Value cotangent,
                         ArrayRef<int64_t> kept) {
  Value operand = p.widen(op.getOperand());
  ArrayRef<int64_t> shape = getTensorType(operand).getShape();
  Value maximum = p.reshape(p.widen(op.getResult()), kept);
  Value everywhere = p.broadcast(maximum, shape);
  Value isMaximum = p.compare(ComparePredicate::EQ, operand, everywhere);
  Value one = p.castLike(isMaximum, operand);
  Value count = p.reduce(ReduceKind::Sum, one, op.getAxes(), /*keepdims=*/true);
  Value share = p.broadcast(p.div(cotangent, count), shape);
  return p.keepWhere(isMaximum, share);
}

LogicalResult ReduceOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 ArrayRef<bool> wanted,
                                 SmallVectorImpl<Value> &results) {
  if (!cotangents.front() || !wanted[0] || !isFloatTensor(getOperand())) {
    results.push_back(Value());
    return success();
  }
  Primitives p(builder, getLoc());
  ArrayRef<int64_t> shape = getTensorType(getOperand()).getShape();
  SmallVector<int64_t> kept(shape);
  int64_t count = 1;
  for (int64_t axis : getAxes()) {
    count *= shape[axis];
    kept[axis] = 1;
  }
  Value cotangent = p.reshape(p.widen(cotangents.front()), kept);
  Value value;
  switch (getKind()) {
  case ReduceKind::Sum:
    value = p.broadcast(cotangent, shape);
    break;
  case ReduceKind::Mean: {
    Value divisor = p.splat(cotangent, count);
    value = p.broadcast(p.div(cotangent, divisor), shape);
    break;
  }
  case ReduceKind::Max:
    value = buildMaxVJP(p, *this, cotangent, kept);
    break;
  }
  results.push_back(p.castLike(value, getOperand()));
  return success();
}

/// y * (dy - sum(dy * y)), where a factor of 0 makes a product 0. A row that
/// was masked throughout has NaN in y, and the guard that exporters put behind
/// it (`select(is_nan(y), 0, y)`) gives it cotangents of 0: its gradient is 0.
/// A NaN that does reach the loss still gives NaN.
LogicalResult SoftmaxOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted,
                                  SmallVectorImpl<Value> &results) {
  if (!cotangents.front() || !wanted[0]) {
    results.push_back(Value());
    return success();
  }
  Primitives p(builder, getLoc());
  Value cotangent = p.widen(cotangents.front());
  Value y = p.widen(getResult());
  Value product = p.mulUnlessZero(cotangent, y);
  Value mean = p.reduceRows(ReduceKind::Sum, product);
  Value centred = p.sub(cotangent, mean);
  Value value = p.mulUnlessZero(centred, y);
  results.push_back(p.castLike(value, getOperand()));
  return success();
}
