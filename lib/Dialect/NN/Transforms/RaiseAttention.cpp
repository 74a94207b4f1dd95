//===- RaiseAttention.cpp - Recognises attention ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

#include <cmath>

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEATTENTION
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {
/// What the scores of an attention are made of.
struct Scores {
  MatmulOp product;
  double scale = 1;
  /// Additive or boolean (true: seen).
  Value mask;
  /// What the mask does, if it is boolean.
  bool hidesWhereTrue = false;
  bool hidesWithFinite = false;
};
} // namespace

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

/// The softmax under casts and a guard against rows that see nothing.
static SoftmaxOp matchProbabilities(Value value) {
  value = skipFloatCast(skipNanGuard(skipFloatCast(value)));
  return value.getDefiningOp<SoftmaxOp>();
}

/// The value of all elements if a score like that has no part in a softmax.
static std::optional<double> matchHidingSplat(Value value) {
  std::optional<double> splat = getSplatConstant(value);
  double bound = getTensor(value).getElementType().isF16() ? -65504 : -1e30;
  return splat && *splat <= bound ? splat : std::nullopt;
}

/// Follows at most `depth` steps of scaling and masking, and casts, from the
/// scores down to the product of query and key.
static bool matchScores(Value value, Scores &scores, int depth = 6) {
  if (depth == 0)
    return false;
  value = skipFloatCast(value);
  if (auto product = value.getDefiningOp<MatmulOp>()) {
    scores.product = product;
    return true;
  }
  if (auto scaled = matchScaling(value)) {
    Scores inner;
    // A mask below would be scaled as well.
    if (!matchScores(scaled->first, inner, depth - 1) || inner.mask)
      return false;
    scores = inner;
    scores.scale *= scaled->second;
    return true;
  }
  auto takeMasked = [&](Value below, Value mask) {
    Scores inner;
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
// Query, key, value
//===----------------------------------------------------------------------===//

/// Multiplies the factors on `value` into `scale`.
static Value skipScaling(Value value, double &scale) {
  while (auto scaled = matchScaling(value)) {
    value = scaled->first;
    scale *= scaled->second;
  }
  return value;
}

/// The permutation that swaps the last two of `rank` axes.
static SmallVector<int64_t> getSwap(int64_t rank) {
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return permutation;
}

static Value createTranspose(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  RankedTensorType type = getTensor(value);
  SmallVector<int64_t> shape;
  for (int64_t axis : permutation)
    shape.push_back(type.getDimSize(axis));
  return TransposeOp::create(builder, loc, type.clone(shape), value,
                             builder.getDenseI64ArrayAttr(permutation));
}

/// The value of which `value` swaps the last two axes, through whatever the
/// exporter wrote; factors on it go into `scale`.
static Value createUnswapped(OpBuilder &builder, Location loc, Value value,
                             double &scale) {
  value = skipScaling(value, scale);
  RankedTensorType type = getTensor(value);
  int64_t rank = type.getRank();
  SmallVector<int64_t> swap = getSwap(rank);
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> permutation(transpose.getPermutation());
    std::swap(permutation[rank - 1], permutation[rank - 2]);
    return createTranspose(
        builder, loc, skipScaling(transpose.getOperand(), scale), permutation);
  }
  // Batch axes joined, last axes swapped, batch axes apart again.
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto transpose =
      reshape ? reshape.getOperand().getDefiningOp<TransposeOp>() : nullptr;
  ArrayRef<int64_t> matrix = type.getShape().take_back(2);
  if (transpose &&
      transpose.getPermutation() ==
          ArrayRef<int64_t>(
              getSwap(getTensor(transpose.getResult()).getRank())) &&
      getTensor(transpose.getResult()).getShape().take_back(2) == matrix) {
    SmallVector<int64_t> shape(type.getShape());
    std::swap(shape[rank - 1], shape[rank - 2]);
    return createReshape(builder, loc,
                         skipScaling(transpose.getOperand(), scale), shape);
  }
  return createTranspose(builder, loc, value, swap);
}

/// [b, s, d] as [b, 1, s, d].
static Value createRank4(OpBuilder &builder, Location loc, Value value) {
  SmallVector<int64_t> shape(getTensor(value).getShape());
  if (shape.size() == 4)
    return value;
  shape.insert(shape.end() - 2, 1);
  return ReshapeOp::create(builder, loc, getTensor(value).clone(shape), value);
}

/// `mask` for scores of rank 4; those of rank 3 have got an axis.
static Value createMask(OpBuilder &builder, Location loc, Scores &scores) {
  Value mask = scores.mask;
  if (!mask)
    return nullptr;
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

//===----------------------------------------------------------------------===//
// The whole pattern
//===----------------------------------------------------------------------===//

/// Whether the product multiplies batch by batch and is of the value's kind.
static bool isBatched(MatmulOp product) {
  RankedTensorType lhs = getTensor(product.getLhs()),
                   rhs = getTensor(product.getRhs());
  return !product.getTransposeLhs() && lhs.getRank() == rhs.getRank() &&
         (lhs.getRank() == 3 || lhs.getRank() == 4);
}

static bool raise(MatmulOp output) {
  if (!isBatched(output))
    return false;
  SoftmaxOp softmax = matchProbabilities(output.getLhs());
  Scores scores;
  if (!softmax || !matchScores(softmax.getOperand(), scores) ||
      !isBatched(scores.product))
    return false;
  MatmulOp product = scores.product;
  Type element = getTensor(output.getResult()).getElementType();
  // A cast of the scores changes the element type, never the shape.
  if (getTensor(product.getLhs()).getElementType() != element ||
      getTensor(output.getRhs()).getElementType() != element ||
      getTensor(product.getResult()).getShape() !=
          getTensor(output.getLhs()).getShape())
    return false;

  OpBuilder builder(output);
  Location loc = output.getLoc();
  double scale = scores.scale;
  Value query = skipScaling(product.getLhs(), scale);
  Value key = product.getTransposeRhs()
                  ? skipScaling(product.getRhs(), scale)
                  : createUnswapped(builder, loc, product.getRhs(), scale);
  Value value = output.getRhs();
  if (output.getTransposeRhs())
    value = createTranspose(builder, loc, value,
                            getSwap(getTensor(value).getRank()));
  Value mask = createMask(builder, loc, scores);
  query = createRank4(builder, loc, query);
  key = createRank4(builder, loc, key);
  value = createRank4(builder, loc, value);

  RankedTensorType type = getTensor(query);
  ArrayRef<int64_t> shape = type.getShape();
  RankedTensorType resultType = type.clone(
      {shape[0], shape[1], shape[2], getTensor(value).getDimSize(3)});
  Type statisticsElement = element.isF64() ? element : builder.getF32Type();
  RankedTensorType statisticsType =
      RankedTensorType::get(shape.drop_back(), statisticsElement);
  auto attention = AttentionOp::create(
      builder, loc, resultType, statisticsType, query, key, value, mask,
      builder.getF64FloatAttr(scale), /*causal=*/nullptr, /*window=*/nullptr);
  Value result = createReshape(builder, loc, attention.getResult(),
                               getTensor(output.getResult()).getShape());
  output.replaceAllUsesWith(result);
  output.erase();
  return true;
}

namespace {
struct RaiseAttention : rondo::nn::impl::NNRaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override {
    getOperation().walk([&](MatmulOp output) {
      if (raise(output))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
