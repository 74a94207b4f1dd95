//===- DecomposeCrossEntropy.cpp - Cross entropy and its deriv ------------===//
//---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both from one set of row quantities, so that a loss layer that computes value
// and gradient together computes them once.
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"
#include "RowFormulas.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

namespace {
/// [n, classes] unless said otherwise.
struct LabelledRows {
  ShiftedExponentials row; ///< of the logits
  Value isLabel;           ///< where the class is the row's label
  Value isValid;           ///< [n]; null: every row counts
  Value count;             ///< scalar: rows that count; null: all n
};
} // namespace

/// Every label the same.
static Value buildLabelSplat(Primitives &p, RankedTensorType type,
                             int64_t label) {
  Attribute element =
      p.getBuilder().getIntegerAttr(type.getElementType(), label);
  return ConstantOp::create(p.getBuilder(), p.getLoc(), type,
                            DenseElementsAttr::get(type, element));
}

/// x[label] - max of each row [n]. Looked up, so that a label that is no class
/// stops the run; a gather would count a negative one from the end, so it is
/// moved out of range. Ignored rows look up class 0.
static Value buildShiftedAtLabel(Primitives &p, CrossEntropyOp op,
                                 const LabelledRows &rows) {
  Value labels = op.getLabels();
  RankedTensorType labelType = getTensorType(labels);
  int64_t n = getTensorType(op.getLogits()).getDimSize(0);
  int64_t classes = getTensorType(op.getLogits()).getDimSize(1);
  Value zero = buildLabelSplat(p, labelType, 0);
  Value index = p.select(p.compare(ComparePredicate::LT, labels, zero),
                         buildLabelSplat(p, labelType, classes), labels);
  if (rows.isValid)
    index = p.select(rows.isValid, index, zero);
  Value picked = p.widen(GatherNDOp::create(
      p.getBuilder(), p.getLoc(), op.getLogits(), p.reshape(index, {n, 1}),
      /*batch_dims=*/1));
  Value maximum = p.reduce(ReduceKind::Max, p.widen(op.getLogits()), {1},
                           /*keepdims=*/false);
  return p.sub(picked, maximum);
}

static LabelledRows buildLabelledRows(Primitives &p, CrossEntropyOp op) {
  OpBuilder &builder = p.getBuilder();
  LabelledRows rows;
  Value logits = p.widen(op.getLogits());
  RankedTensorType type = getTensorType(logits);
  rows.row = buildShiftedExponentials(p, logits);

  Value labels = op.getLabels();
  RankedTensorType labelType = getTensorType(labels);
  Value classes = IotaOp::create(builder, p.getLoc(),
                                 type.clone(labelType.getElementType()),
                                 /*axis=*/1, /*start=*/0, /*step=*/1);
  Value column = p.reshape(labels, {labelType.getDimSize(0), 1});
  Value label = p.broadcast(column, type.getShape());
  rows.isLabel = p.compare(ComparePredicate::EQ, classes, label);

  if (std::optional<int64_t> ignored = op.getIgnoreIndex()) {
    Value ignoredLabel = buildLabelSplat(p, labelType, *ignored);
    rows.isValid = p.compare(ComparePredicate::NE, labels, ignoredLabel);
    Value ones = p.castLike(rows.isValid, logits);
    rows.count = p.reduce(ReduceKind::Sum, ones, {0}, /*keepdims=*/false);
  }
  return rows;
}

/// log(sum exp(x - max)) - (x[label] - max) of each row, and its mean over the
/// rows that count.
SmallVector<Value> CrossEntropyOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  LabelledRows rows = buildLabelledRows(p, *this);
  int64_t n = getTensorType(getLogits()).getDimSize(0);
  Value log = p.reshape(p.unary<LogOp>(rows.row.sum), {n});
  Value loss = p.sub(log, buildShiftedAtLabel(p, *this, rows));
  if (!rows.isValid)
    return {
        p.castLike(p.reduce(ReduceKind::Mean, loss, {0}, false), getResult())};
  Value valid = p.keepWhere(rows.isValid, loss);
  Value sum = p.reduce(ReduceKind::Sum, valid, {0}, /*keepdims=*/false);
  return {p.castLike(p.div(sum, rows.count), getResult())};
}

/// (softmax - onehot) * dy / count on the rows that count, 0 on the others.
LogicalResult CrossEntropyOp::buildVJP(OpBuilder &builder,
                                       ArrayRef<Value> cotangents,
                                       ArrayRef<bool> wanted,
                                       SmallVectorImpl<Value> &results) {
  if (!cotangents.front() || !wanted[0]) {
    results.append(2, Value());
    return success();
  }
  Primitives p(builder, getLoc());
  LabelledRows rows = buildLabelledRows(p, *this);
  RankedTensorType type = getTensorType(rows.row.shifted);
  ArrayRef<int64_t> shape = type.getShape();
  Value sum = p.broadcast(rows.row.sum, shape);
  Value softmax = p.div(rows.row.exponentials, sum);
  Value onehot = p.castLike(rows.isLabel, softmax);
  Value difference = p.sub(softmax, onehot);

  Value cotangent = p.castLike(cotangents.front(), softmax);
  Value count = rows.count ? rows.count : p.splat(cotangent, double(shape[0]));
  Value weight = p.broadcast(p.div(cotangent, count), shape);
  Value value = p.mul(difference, weight);
  if (rows.isValid) {
    Value valid = p.reshape(rows.isValid, {shape[0], 1});
    value = p.keepWhere(p.broadcast(valid, shape), value);
  }
  results.append({p.castLike(value, getLogits()), Value()});
  return success();
}
