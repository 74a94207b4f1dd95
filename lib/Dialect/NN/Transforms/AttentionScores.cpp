//===- AttentionScores.cpp - What attention scores are made of ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "MaskAnalysis.h"
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

AttentionProbabilities nn::matchProbabilities(Value value) {
  value = skipFloatCast(value);
  Value bare = skipNanGuard(value);
  return {skipFloatCast(bare).getDefiningOp<SoftmaxOp>(), bare != value};
}

/// The value of all elements if a score like that has no part in a softmax.
static std::optional<double> matchHidingSplat(Value value) {
  std::optional<double> splat = getSplatConstant(value);
  double bound = getHidingBound(getTensor(value).getElementType());
  return splat && *splat <= bound ? splat : std::nullopt;
}

/// The largest number of the value's type.
static double getLargest(Value value) {
  auto element = cast<FloatType>(getTensor(value).getElementType());
  return APFloat::getLargest(element.getFloatSemantics()).convertToDouble();
}

/// Whether a cast of masked scores may make a finite value infinite that the
/// mask put there.
static bool mayOverflow(const AttentionScores &scores, Value narrow,
                        Value wide) {
  if (scores.fill)
    return -*scores.fill > getLargest(narrow);
  return scores.mask && !getTensor(scores.mask).getElementType().isInteger(1) &&
         getLargest(narrow) < getLargest(wide);
}

bool nn::matchScores(Value value, AttentionScores &scores, int depth) {
  if (depth == 0)
    return false;
  if (Value inner = skipFloatCast(value); inner != value) {
    return matchScores(inner, scores, depth - 1) &&
           !mayOverflow(scores, value, inner);
  }
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
  // No lower than f32 goes, in which scores are computed.
  if (std::isfinite(*hiding))
    scores.fill = std::max(*hiding, -3e38);
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
  if (!scores.hidesWhereTrue)
    return mask;
  if (auto inverse = mask.getDefiningOp<NotOp>())
    return inverse.getOperand();
  return NotOp::create(builder, loc, mask.getType(), mask);
}
