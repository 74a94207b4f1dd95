//===- RaiseGroupedHeads.cpp - Heads repeated for groups of queries -------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEGROUPEDHEADS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

/// The source [b, h_kv, 1, t, d] of heads [b, h, t, d] that were repeated for
/// groups of query heads, or null.
static Value matchRepeatedHeads(Value heads) {
  Value value = heads;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || getTensor(value).getRank() != 5)
    return nullptr;
  ArrayRef<int64_t> repeated = getTensor(value).getShape(),
                    shape = getTensor(heads).getShape();
  SmallVector<int64_t> single(repeated);
  single[2] = 1;
  if (getTensor(broadcast.getOperand()).getShape() != ArrayRef(single) ||
      repeated[0] != shape[0] || repeated[1] * repeated[2] != shape[1] ||
      repeated.take_back(2) != shape.take_back(2))
    return nullptr;
  return broadcast.getOperand();
}

/// Takes key and value from before the repetition.
static bool raise(AttentionOp attention) {
  Value key = matchRepeatedHeads(attention.getKey()),
        value = matchRepeatedHeads(attention.getValue());
  if (!key || !value ||
      getTensor(key).getDimSize(1) != getTensor(value).getDimSize(1))
    return false;
  OpBuilder builder(attention);
  auto getHeads = [&](Value source) {
    SmallVector<int64_t> shape(getTensor(source).getShape());
    shape.erase(shape.begin() + 2);
    return createReshape(builder, attention.getLoc(), source, shape);
  };
  attention.getKeyMutable().assign(getHeads(key));
  attention.getValueMutable().assign(getHeads(value));
  return true;
}

namespace {
struct RaiseGroupedHeads
    : rondo::nn::impl::NNRaiseGroupedHeadsBase<RaiseGroupedHeads> {
  void runOnOperation() override {
    getOperation().walk([&](AttentionOp attention) {
      if (raise(attention))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
