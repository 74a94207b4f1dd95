//===- AttentionScores.cpp - What attention scores are made of ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "Matching.h"
#include "rondo/Dialect/NN/Utils.h"

#include <cmath>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

//===----------------------------------------------------------------------===//
// From the probabilities to the product
//===----------------------------------------------------------------------===//

/// p of select(is_nan(p), 0, p).
static Value skipNanGuard(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  auto isNan =
      select ? select.getCondition().getDefiningOp<IsNanOp>() : nullptr;
  if (isNan && isNan.getOperand() == select.getOnFalse() &&
      isSplatConstant(select.getOnTrue(), 0))
    return select.getOnFalse();
  return value;
}

SoftmaxOp nn::matchProbabilities(Value value) {
  value = skipFloatCast(skipNanGuard(skipFloatCast(value)));
  return value.getDefiningOp<SoftmaxOp>();
}

/// The value of all elements if a score like that has no part in a softmax.
static std::optional<double> matchHidingSplat(Value value) {
  std::optional<double> splat = getSplatConstant(value);
  double bound = getTensor(value).getElementType().isF16() ? -65504 : -1e30;
  return splat && *splat <= bound ? splat : std::nullopt;
}

bool nn::matchScores(Value value, AttentionScores &scores, int depth) {
  if (depth == 0)
    return false;
  value = skipFloatCast(value);
  if (auto product = value.getDefiningOp<MatmulOp>()) {
    scores.product = product;
    return true;
  }
  if (auto scaled = matchScaling(value)) {
    AttentionScores inner;
    // A mask below would be scaled as well.
    if (!matchScores(scaled->first, inner, depth - 1) || inner.mask)
      return false;
    scores = inner;
    scores.scale *= scaled->second;
    return true;
  }
  auto takeMasked = [&](Value below, Value mask) {
    AttentionScores inner;
    if (!matchScores(below, inner, depth - 1) || inner.mask)
      return false;
    scores = inner;
    scores.mask = skipBroadcast(mask);
    return true;
  };
  auto select = value.getDefiningOp<SelectOp>();
  if (!select)
    return matchCommuted<AddOp>(value, takeMasked);
  std::optional<double> hiding = matchHidingSplat(select.getOnFalse());
  bool hidesWhereTrue = !hiding;
  if (hidesWhereTrue)
    hiding = matchHidingSplat(select.getOnTrue());
  Value below = hidesWhereTrue ? select.getOnFalse() : select.getOnTrue();
  if (!hiding || !takeMasked(below, select.getCondition()))
    return false;
  scores.hidesWhereTrue = hidesWhereTrue;
  scores.hidesWithFinite = std::isfinite(*hiding);
  return true;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value nn::createRank4(OpBuilder &builder, Location loc, Value value) {
  SmallVector<int64_t> shape(getTensor(value).getShape());
  if (shape.size() == 4)
    return value;
  shape.insert(shape.end() - 2, 1);
  return ReshapeOp::create(builder, loc, getTensor(value).clone(shape), value);
}

Value nn::createMask(OpBuilder &builder, Location loc,
                     AttentionScores &scores) {
  Value mask = scores.mask;
  if (!mask)
    return nullptr;
  // Scores of rank 3 have got an axis.
  if (getTensor(scores.product.getResult()).getRank() == 3 &&
      getTensor(mask).getRank() == 3)
    mask = createRank4(builder, loc, mask);
  if (scores.hidesWithFinite) {
    // Where a whole row is hidden, softmax sees equal scores, not none: an
    // additive mask of a value that swallows every score does that as well.
    RankedTensorType type = getTensor(mask).clone(builder.getF32Type());
    auto createSplat = [&](double value) -> Value {
      auto elements =
          SplatElementsAttr::get(type, builder.getF32FloatAttr(value));
      return ConstantOp::create(builder, loc, elements);
    };
    Value zero = createSplat(0), low = createSplat(-3e38);
    Value onTrue = scores.hidesWhereTrue ? low : zero;
    Value onFalse = scores.hidesWhereTrue ? zero : low;
    return SelectOp::create(builder, loc, type, mask, onTrue, onFalse);
  }
  if (scores.hidesWhereTrue)
    mask = NotOp::create(builder, loc, mask.getType(), mask);
  return mask;
}
