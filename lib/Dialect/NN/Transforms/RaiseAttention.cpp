//===- RaiseAttention.cpp - Recognises attention --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionScores.h"
#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEATTENTION
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

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
  auto [softmax, isGuarded] = matchProbabilities(output.getLhs());
  AttentionScores scores;
  if (!softmax || !matchScores(softmax.getOperand(), scores) ||
      !isBatched(scores.product))
    return false;
  MatmulOp product = scores.product;
  Type element = getTensor(output.getResult()).getElementType();
  // A mask of more range than the scores have here.
  if (scores.mask && getTensor(scores.mask).getElementType().isF64() &&
      !element.isF64())
    return false;
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
  // What decides the result of a row that is hidden as a whole.
  FloatAttr fill =
      scores.fill ? builder.getF64FloatAttr(*scores.fill) : nullptr;
  UnitAttr unguarded = mask && !isGuarded ? builder.getUnitAttr() : nullptr;
  auto attention = AttentionOp::create(
      builder, loc, resultType, statisticsType, query, key, value, mask,
      builder.getF64FloatAttr(scale), /*causal=*/nullptr, /*window=*/nullptr,
      /*rows_first=*/nullptr, fill, unguarded);
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
