//===- NormalizationOps.cpp - Import of normalisations --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "TensorData.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;

namespace rondo {

/// The operand with all normalised axes joined into the last one; `axis` is
/// the first of them.
static FailureOr<Value> joinNormalizedAxes(NodeImport &n) {
  if (!n.isFloat(0))
    return n.error() << "operand has type " << n.operand(0).getType();
  auto axis = n.normalizeAxis(n.getInt("axis", -1), n.rank(0));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(n.shape(0).take_front(*axis));
  shape.push_back(countElements(n.shape(0).drop_front(*axis)));
  if (shape.back() == 0)
    return n.error() << "normalises over no elements";
  return n.e.reshape(n.operand(0), shape);
}

/// Scale or bias as a vector over the normalised elements, in `element`.
static FailureOr<Value> flattenScale(NodeImport &n, int i, Value joined) {
  int64_t rank = n.rank(0), kept = Emitter::typeOf(joined).getRank() - 1;
  ArrayRef<int64_t> normalized = n.shape(0).drop_front(kept);
  if (n.rank(i) > rank - kept)
    return n.unsupported("scale or bias that is not the same for all rows");
  auto stretched = n.broadcastTo(n.operand(i), normalized);
  if (failed(stretched))
    return failure();
  Value flat = n.e.reshape(*stretched, {Emitter::shapeOf(joined).back()});
  return n.e.cast(flat, n.element(0));
}

static LogicalResult checkStash(NodeImport &n) {
  // 1 is FLOAT; nn computes in f32 (f64 for f64) always.
  int64_t stash = n.getInt("stash_type", 1);
  if (stash == onnx::TensorProto::FLOAT ||
      (stash == onnx::TensorProto::DOUBLE && n.element(0).isF64()))
    return success();
  return n.unsupported("stash_type " + getDataTypeName(stash));
}

static LogicalResult importRmsNorm(NodeImport &n) {
  if (failed(checkStash(n)))
    return failure();
  FailureOr<Value> x = joinNormalizedAxes(n);
  if (failed(x))
    return failure();
  FailureOr<Value> scale = flattenScale(n, 1, *x);
  if (failed(scale))
    return failure();
  Value result = n.e.create<nn::RmsNormOp>(
      x->getType(), *x, *scale,
      n.e.getBuilder().getF64FloatAttr(n.getFloat("epsilon", 1e-5f)));
  return n.setResult(n.e.reshape(result, n.shape(0)));
}

static LogicalResult importLayerNorm(NodeImport &n) {
  if (failed(checkStash(n)))
    return failure();
  FailureOr<Value> joined = joinNormalizedAxes(n);
  if (failed(joined))
    return failure();
  SmallVector<int64_t> shape(Emitter::shapeOf(*joined));
  int64_t last = shape.size() - 1;
  Type wide =
      n.element(0).isF64() ? n.element(0) : Type(n.e.getBuilder().getF32Type());
  Value x = n.e.cast(*joined, wide);
  Value mean = n.e.reduce(nn::ReduceKind::Mean, x, {last}, true);
  Value centred = n.e.create<nn::SubOp>(x, n.e.broadcast(mean, shape));
  Value square = n.e.create<nn::MulOp>(centred, centred);
  Value variance = n.e.reduce(nn::ReduceKind::Mean, square, {last}, true);
  Value epsilon = n.e.splatLike(variance, n.getFloat("epsilon", 1e-5f));
  Value shifted = n.e.create<nn::AddOp>(variance, epsilon);
  Value inverse = n.e.create<nn::RsqrtOp>(shifted.getType(), shifted);
  Value result = n.e.create<nn::MulOp>(centred, n.e.broadcast(inverse, shape));
  result = n.e.cast(result, n.element(0));
  for (int i : {1, 2}) {
    if (!n.operand(i))
      continue;
    FailureOr<Value> flat = flattenScale(n, i, *joined);
    if (failed(flat))
      return failure();
    Value stretched = n.e.broadcast(*flat, shape);
    if (i == 1)
      result = n.e.create<nn::MulOp>(result, stretched);
    else
      result = n.e.create<nn::AddOp>(result, stretched);
  }
  // Mean and inverse deviation keep the normalised axes with extent 1.
  SmallVector<int64_t> statistics(n.shape(0));
  for (int64_t axis = last; axis < n.rank(0); ++axis)
    statistics[axis] = 1;
  (void)n.setResult(1, n.e.reshape(mean, statistics));
  (void)n.setResult(2, n.e.reshape(inverse, statistics));
  return n.setResult(n.e.reshape(result, n.shape(0)));
}

void registerNormalizationOps(OpTable &table) {
  table["RMSNormalization"] = {23, 2, 2, importRmsNorm};
  table["LayerNormalization"] = {17, 2, 3, importLayerNorm};
}

} // namespace rondo
