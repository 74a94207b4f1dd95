//===- RaiseRope.cpp - Recognises rotary position embeddings --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEROPE
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

/// x of its half along the last axis that begins at `start`.
static Value matchHalf(Value value, bool isSecond) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return nullptr;
  RankedTensorType from = getTensor(slice.getOperand()), to = getTensor(value);
  if (from.getRank() == 0)
    return nullptr;
  int64_t last = from.getRank() - 1, half = to.getDimSize(last);
  if (from.getDimSize(last) != 2 * half ||
      from.getShape().drop_back() != to.getShape().drop_back())
    return nullptr;
  for (int64_t axis = 0; axis <= last; ++axis) {
    int64_t start = axis == last && isSecond ? half : 0;
    if (slice.getStarts()[axis] != start ||
        (to.getDimSize(axis) > 1 && slice.getSteps()[axis] != 1))
      return nullptr;
  }
  return slice.getOperand();
}

/// x of concat(-x[n/2:], x[:n/2]) along the last axis.
static Value matchRotation(Value value) {
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat->getNumOperands() != 2 ||
      static_cast<int64_t>(concat.getAxis()) != getTensor(value).getRank() - 1)
    return nullptr;
  auto neg = concat->getOperand(0).getDefiningOp<NegOp>();
  Value first = matchHalf(concat->getOperand(1), /*isSecond=*/false);
  Value second = neg ? matchHalf(neg.getOperand(), /*isSecond=*/true) : nullptr;
  return first && first == second ? first : nullptr;
}

static bool raise(AddOp add) {
  if (!isa<FloatType>(getTensor(add.getResult()).getElementType()))
    return false;
  Value x, cosine, sine;
  bool matches =
      matchCommuted<AddOp>(add.getResult(), [&](Value straight, Value turned) {
        return matchCommuted<MulOp>(turned, [&](Value rotation, Value table) {
          x = matchRotation(rotation);
          sine = skipBroadcast(table);
          return x && matchCommuted<MulOp>(straight,
                                           [&](Value operand, Value table) {
                                             cosine = skipBroadcast(table);
                                             return operand == x;
                                           });
        });
      });
  // The derivative is in x alone.
  if (!matches || dependsOnTrainable(cosine) || dependsOnTrainable(sine))
    return false;
  OpBuilder builder(add);
  auto rope =
      RopeOp::create(builder, add.getLoc(), add.getType(), x, cosine, sine);
  add.replaceAllUsesWith(rope.getResult());
  add.erase();
  return true;
}

namespace {
struct RaiseRope : rondo::nn::impl::NNRaiseRopeBase<RaiseRope> {
  void runOnOperation() override {
    getOperation().walk([&](AddOp add) {
      if (raise(add))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
