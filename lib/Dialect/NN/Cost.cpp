//===- Cost.cpp - Static cost of nn ops -----------------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo::nn;

// A function such as exp counts as one operation: what these ops cost is the
// memory they move, and planning measures the rest.

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Every operand read once, every result written once.
static Cost getStreamingCost(Operation *op, int64_t flops) {
  Cost cost;
  cost.flops = flops;
  for (Value operand : op->getOperands())
    cost.bytesRead += getTensorBytes(operand);
  for (Value result : op->getResults())
    cost.bytesWritten += getTensorBytes(result);
  return cost;
}

/// `perElement` operations for each element of the first result.
static Cost getElementwiseCost(Operation *op, int64_t perElement) {
  return getStreamingCost(op, perElement *
                                  tensorOf(op->getResult(0)).getNumElements());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

#define ELEMENTWISE_COST(OP, FLOPS)                                            \
  Cost OP::getCost() { return getElementwiseCost(*this, FLOPS); }
ELEMENTWISE_COST(NegOp, 1)
ELEMENTWISE_COST(AbsOp, 1)
ELEMENTWISE_COST(ExpOp, 1)
ELEMENTWISE_COST(LogOp, 1)
ELEMENTWISE_COST(SqrtOp, 1)
ELEMENTWISE_COST(RsqrtOp, 2)
ELEMENTWISE_COST(ReciprocalOp, 1)
ELEMENTWISE_COST(TanhOp, 1)
ELEMENTWISE_COST(SigmoidOp, 4)
ELEMENTWISE_COST(ErfOp, 1)
ELEMENTWISE_COST(SinOp, 1)
ELEMENTWISE_COST(CosOp, 1)
ELEMENTWISE_COST(ReluOp, 1)
ELEMENTWISE_COST(NotOp, 0)
ELEMENTWISE_COST(SiluOp, 5)
ELEMENTWISE_COST(IsNanOp, 0)
ELEMENTWISE_COST(AddOp, 1)
ELEMENTWISE_COST(SubOp, 1)
ELEMENTWISE_COST(MulOp, 1)
ELEMENTWISE_COST(DivOp, 1)
ELEMENTWISE_COST(PowOp, 1)
ELEMENTWISE_COST(MaximumOp, 1)
ELEMENTWISE_COST(MinimumOp, 1)
ELEMENTWISE_COST(AndOp, 0)
ELEMENTWISE_COST(OrOp, 0)
ELEMENTWISE_COST(CompareOp, 0)
ELEMENTWISE_COST(SelectOp, 0)
ELEMENTWISE_COST(CastOp, 0)
ELEMENTWISE_COST(IotaOp, 0)
#undef ELEMENTWISE_COST

Cost GeluOp::getCost() { return getElementwiseCost(*this, getTanh() ? 8 : 5); }

//===----------------------------------------------------------------------===//
// Data movement and indexing
//===----------------------------------------------------------------------===//

/// A name for bytes that lie there already.
Cost ReadOp::getCost() { return {}; }
Cost ConstantOp::getCost() { return {}; }
Cost ReshapeOp::getCost() { return {}; }

Cost BroadcastOp::getCost() { return getElementwiseCost(*this, 0); }
Cost TransposeOp::getCost() { return getElementwiseCost(*this, 0); }
Cost PadOp::getCost() { return getElementwiseCost(*this, 0); }
Cost ConcatOp::getCost() { return getElementwiseCost(*this, 0); }

/// Reads of the operand only what it returns, and `indices` if there are any.
static Cost getPickingCost(Value result, Value indices = nullptr) {
  Cost cost;
  cost.bytesRead =
      getTensorBytes(result) + (indices ? getTensorBytes(indices) : 0);
  cost.bytesWritten = getTensorBytes(result);
  return cost;
}

Cost SliceOp::getCost() { return getPickingCost(getResult()); }
Cost GatherOp::getCost() { return getPickingCost(getResult(), getIndices()); }
Cost GatherNDOp::getCost() { return getPickingCost(getResult(), getIndices()); }

/// Fills with zeros, then reads and writes each row that an update falls on.
Cost ScatterAddOp::getCost() {
  Cost cost = getStreamingCost(*this, tensorOf(getUpdates()).getNumElements());
  int64_t touched = getTensorBytes(getUpdates());
  cost.bytesRead += touched;
  cost.bytesWritten += touched;
  return cost;
}

//===----------------------------------------------------------------------===//
// Reductions and composites
//===----------------------------------------------------------------------===//

Cost ReduceOp::getCost() {
  return getStreamingCost(*this, tensorOf(getOperand()).getNumElements());
}
Cost CumsumOp::getCost() { return getElementwiseCost(*this, 1); }
/// Maximum, difference, exponential, sum, division.
Cost SoftmaxOp::getCost() { return getElementwiseCost(*this, 5); }
/// Square, sum, scale, weight.
Cost RmsNormOp::getCost() { return getElementwiseCost(*this, 4); }
/// Two products, a negation for half of the elements, a sum.
Cost RopeOp::getCost() { return getElementwiseCost(*this, 3); }
/// Maximum, difference, exponential, sum.
Cost CrossEntropyOp::getCost() {
  return getStreamingCost(*this, 4 * tensorOf(getLogits()).getNumElements());
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Cost MatmulOp::getCost() {
  ArrayRef<int64_t> lhs = tensorOf(getLhs()).getShape();
  int64_t k = getTransposeLhs() ? lhs[lhs.size() - 2] : lhs.back();
  Cost cost = getElementwiseCost(*this, 2 * k + (getBias() ? 1 : 0));
  cost.isProduct = true;
  return cost;
}

/// How many (query, key) pairs of one head see each other.
static int64_t countVisiblePairs(int64_t queries, int64_t keys, bool causal,
                                 std::optional<int64_t> window) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    int64_t last = i + keys - queries; // the newest key that is not ahead
    int64_t end = causal ? std::clamp<int64_t>(last + 1, 0, keys) : keys;
    int64_t first = window ? std::max<int64_t>(0, last - *window + 1) : 0;
    pairs += std::max<int64_t>(0, end - first);
  }
  return pairs;
}

/// `keyProducts` products of extent d and `valueProducts` of extent d_v for
/// each visible pair, and four operations of its softmax.
template <typename AttentionLikeOp>
static Cost getAttentionCost(AttentionLikeOp op, int64_t keyProducts,
                             int64_t valueProducts) {
  ArrayRef<int64_t> query = tensorOf(op.getQuery()).getShape();
  ArrayRef<int64_t> value = tensorOf(op.getValue()).getShape();
  int64_t pairs =
      countVisiblePairs(query[2], value[2], op.getCausal(), op.getWindow());
  int64_t perPair = 2 * (keyProducts * query[3] + valueProducts * value[3]) + 4;
  Cost cost = getStreamingCost(op, query[0] * query[1] * pairs * perPair);
  cost.isProduct = true;
  return cost;
}

Cost AttentionOp::getCost() { return getAttentionCost(*this, 1, 1); }
/// Scores, dQ, dK; dP, dV.
Cost AttentionGradOp::getCost() { return getAttentionCost(*this, 3, 2); }

/// `products` of the logits' size, and of each logit `perLogit`.
template <typename HeadOp>
static Cost getLossHeadCost(HeadOp op, int64_t products, int64_t perLogit) {
  int64_t k = tensorOf(op.getHidden()).getDimSize(1);
  Cost cost = getStreamingCost(op, op.getRows() * op.getClasses() *
                                       (2 * k * products + perLogit));
  cost.isProduct = true;
  return cost;
}

Cost LinearCrossEntropyOp::getCost() { return getLossHeadCost(*this, 1, 4); }
Cost LinearCrossEntropyGradOp::getCost() {
  return getLossHeadCost(*this, 3, 7);
}
