//===- DecomposeMaskedAttention.cpp - Attention with a general mask -===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Primitives.h"
#include "rondo/Dialect/NN/Passes.h"

#include <limits>

namespace rondo::nn {
#define GEN_PASS_DEF_NNDECOMPOSEMASKEDATTENTION
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

/// Repeats each of [b, h_kv, t, d] so that there are `heads`.
static Value repeatHeads(Primitives &p, Value value, int64_t heads) {
  SmallVector<int64_t> shape(getTensorType(value).getShape());
  if (shape[1] == heads)
    return value;
  int64_t groups = shape[1];
  Value apart = p.reshape(value, {shape[0], groups, 1, shape[2], shape[3]});
  Value repeated = p.broadcast(
      apart, {shape[0], groups, heads / groups, shape[2], shape[3]});
  return p.reshape(repeated, {shape[0], heads, shape[2], shape[3]});
}

static Value createMatmul(Primitives &p, Value lhs, Value rhs,
                          bool transposeRhs, RankedTensorType type) {
  OpBuilder &builder = p.getBuilder();
  return MatmulOp::create(builder, p.getLoc(), type, lhs, rhs,
                          /*transposeLhs=*/false, transposeRhs);
}

/// The index along `axis` of every score, as i64.
static Value createIndex(Primitives &p, ArrayRef<int64_t> shape, int64_t axis,
                         int64_t start) {
  OpBuilder &builder = p.getBuilder();
  SmallVector<int64_t> line(shape.size(), 1);
  line[axis] = shape[axis];
  auto type = RankedTensorType::get(line, builder.getI64Type());
  Value index =
      IotaOp::create(builder, p.getLoc(), type, axis, start, /*step=*/1);
  return p.broadcast(index, shape);
}

/// Scores that the attributes hide become minus infinity.
static Value maskByForm(Primitives &p, AttentionOp attention, Value scores) {
  ArrayRef<int64_t> shape = getTensorType(scores).getShape();
  if (!attention.getCausal() && !attention.getWindow())
    return scores;
  Value hidden = p.splat(scores, -std::numeric_limits<double>::infinity());
  // Query i stands at key i + (t - s).
  Value own = createIndex(p, shape, 2, shape[3] - shape[2]);
  Value key = createIndex(p, shape, 3, 0);
  if (attention.getCausal())
    scores =
        p.select(p.compare(ComparePredicate::LE, key, own), scores, hidden);
  if (std::optional<int64_t> window = attention.getWindow()) {
    Value oldest = createIndex(p, shape, 2, shape[3] - shape[2] - *window);
    scores =
        p.select(p.compare(ComparePredicate::GT, key, oldest), scores, hidden);
  }
  return scores;
}

/// Adds the mask, or gives keys that it hides their score.
static Value maskByOperand(Primitives &p, AttentionOp attention, Value scores) {
  Value mask = attention.getMask();
  ArrayRef<int64_t> shape = getTensorType(scores).getShape();
  if (isFloatTensor(mask)) {
    Value addend = p.castLike(mask, scores);
    return p.add(scores, p.broadcast(addend, shape));
  }
  double fill = -std::numeric_limits<double>::infinity();
  if (std::optional<APFloat> finite = attention.getFill())
    fill = finite->convertToDouble();
  Value seen = p.broadcast(mask, shape);
  Value hidden = p.splat(scores, fill);
  return p.select(seen, scores, hidden);
}

/// log of the sum of exponentials of each row; minus infinity for a row that
/// sees nothing.
static Value createStatistics(Primitives &p, Value scores,
                              ArrayRef<int64_t> shape) {
  Value maximum = p.reduce(ReduceKind::Max, scores, {3}, /*keepdims=*/true);
  Value zero = p.splat(maximum, 0);
  Value lowest = p.splat(maximum, -std::numeric_limits<double>::infinity());
  Value isEmpty = p.compare(ComparePredicate::EQ, maximum, lowest);
  Value anchor = p.select(isEmpty, zero, maximum);
  Value stretched = p.broadcast(anchor, getTensorType(scores).getShape());
  Value exponentials = p.exp(p.sub(scores, stretched));
  Value sum = p.reduce(ReduceKind::Sum, exponentials, {3}, /*keepdims=*/true);
  Value logarithm = p.unary<LogOp>(sum);
  return p.reshape(p.add(logarithm, anchor), shape);
}

static void decompose(AttentionOp attention) {
  OpBuilder builder(attention);
  Primitives p(builder, attention.getLoc());
  RankedTensorType type = getTensorType(attention.getQuery());
  int64_t heads = type.getDimSize(1);
  Value key = repeatHeads(p, attention.getKey(), heads);
  Value value = repeatHeads(p, attention.getValue(), heads);
  SmallVector<int64_t> shape(type.getShape());
  shape[3] = getTensorType(key).getDimSize(2);
  RankedTensorType scoresType = type.clone(
      shape, getTensorType(attention.getStatistics()).getElementType());

  Value scores = createMatmul(p, attention.getQuery(), key,
                              /*transposeRhs=*/true, scoresType);
  double scale = attention.getScale().convertToDouble();
  if (scale != 1)
    scores = p.scale(scores, scale);
  // In this order: what the attributes hide stays hidden.
  scores = maskByOperand(p, attention, scores);
  scores = maskByForm(p, attention, scores);
  Value probabilities = p.unary<SoftmaxOp>(scores);
  if (!attention.getUnguarded()) {
    // A row that sees nothing gives 0.
    Value isNan = IsNanOp::create(builder, attention.getLoc(), probabilities);
    probabilities = p.dropWhere(isNan, probabilities);
  }
  Value rounded = p.castLike(probabilities, value);
  Value result = createMatmul(p, rounded, value, /*transposeRhs=*/false,
                              getTensorType(attention.getResult()));
  if (!attention.getStatistics().use_empty())
    attention.getStatistics().replaceAllUsesWith(createStatistics(
        p, scores, getTensorType(attention.getStatistics()).getShape()));
  attention.getResult().replaceAllUsesWith(result);
  attention.erase();
}

namespace {
struct DecomposeMaskedAttention
    : rondo::nn::impl::NNDecomposeMaskedAttentionBase<
          DecomposeMaskedAttention> {
  void runOnOperation() override {
    getOperation().walk([&](AttentionOp attention) {
      if (!attention.getMask())
        return;
      decompose(attention);
      ++numDecomposed;
    });
  }
};
} // namespace
