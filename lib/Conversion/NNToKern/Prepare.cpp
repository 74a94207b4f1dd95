//===- Prepare.cpp - Brings functions into the form that is lowered ------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Replaces composites by their primitives until there are none.
static void decomposeComposites(func::FuncOp function) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front())) {
      auto composite = dyn_cast<nn::CompositeOp>(op);
      if (!composite)
        continue;
      OpBuilder builder(&op);
      op.replaceAllUsesWith(composite.buildDecomposition(builder));
      op.erase();
      changed = true;
    }
  }
}

namespace {
/// Writes one nn.reduce as sums or maxima that each reduce one axis of
/// [outer, n] (a row reduction) or [outer, n, inner] (a column reduction), in
/// the type that is accumulated in.
class ReduceSplitter {
public:
  explicit ReduceSplitter(nn::ReduceOp op)
      : op(op), builder(op), loc(op.getLoc()) {}

  Value split() {
    Value value = op.getOperand();
    Type element = getTensorType(value).getElementType();
    if (auto floatType = dyn_cast<FloatType>(element);
        floatType && floatType.getWidth() < 32)
      value = nn::CastOp::create(
          builder, loc, getTensorType(value).clone(builder.getF32Type()),
          value);

    SmallVector<int64_t> shape(getTensorType(value).getShape());
    int64_t count = 1;
    // Runs of neighbouring axes, the last first, so that a row reduction comes
    // before column reductions.
    ArrayRef<int64_t> axes = op.getAxes();
    while (!axes.empty()) {
      int64_t end = axes.back() + 1, begin = axes.back();
      axes = axes.drop_back();
      while (!axes.empty() && axes.back() == begin - 1) {
        begin = axes.back();
        axes = axes.drop_back();
      }
      value = reduceRun(value, shape, begin, end, count);
    }
    if (op.getKind() == nn::ReduceKind::Mean)
      value = nn::DivOp::create(builder, loc, value.getType(), value,
                                getSplat(value, count));
    value = reshape(value, getTensorType(op.getResult()).getShape());
    if (value.getType() != op.getResult().getType())
      value = nn::CastOp::create(builder, loc, op.getResult().getType(), value);
    return value;
  }

private:
  Value reshape(Value value, ArrayRef<int64_t> shape) {
    RankedTensorType type = getTensorType(value);
    if (type.getShape() == shape)
      return value;
    return nn::ReshapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value);
  }

  Value getSplat(Value like, int64_t number) {
    RankedTensorType type = getTensorType(like);
    Type element = type.getElementType();
    TypedAttr attr = isa<FloatType>(element)
                         ? TypedAttr(builder.getFloatAttr(element, number))
                         : TypedAttr(builder.getIntegerAttr(element, number));
    return nn::ConstantOp::create(
        builder, loc, type, DenseElementsAttr::get(type, Attribute(attr)));
  }

  Value reduceRun(Value value, SmallVector<int64_t> &shape, int64_t begin,
                  int64_t end, int64_t &count) {
    int64_t outer = 1, n = 1, inner = 1;
    for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
      (axis < begin ? outer : axis < end ? n : inner) *= shape[axis];
    count *= n;
    SmallVector<int64_t> kept(shape);
    std::fill(kept.begin() + begin, kept.begin() + end, 1);
    shape = kept;
    if (n == 1)
      return reshape(value, kept);
    SmallVector<int64_t> from{outer, n}, to{outer};
    if (inner > 1) {
      from.push_back(inner);
      to.push_back(inner);
    }
    value = reshape(value, from);
    nn::ReduceKind kind = op.getKind() == nn::ReduceKind::Max
                              ? nn::ReduceKind::Max
                              : nn::ReduceKind::Sum;
    auto type =
        RankedTensorType::get(to, getTensorType(value).getElementType());
    value = nn::ReduceOp::create(builder, loc, type, kind, value,
                                 ArrayRef<int64_t>{1}, /*keepdims=*/false);
    return reshape(value, kept);
  }

  nn::ReduceOp op;
  OpBuilder builder;
  Location loc;
};
} // namespace

bool lowering::isCanonical(nn::ReduceOp op) {
  RankedTensorType type = getTensorType(op.getOperand());
  return op.getKind() != nn::ReduceKind::Mean &&
         op.getAxes() == ArrayRef<int64_t>{1} && !op.getKeepdims() &&
         (type.getRank() == 2 ||
          (type.getRank() == 3 && type.getDimSize(2) > 1)) &&
         type.getDimSize(1) > 1 &&
         getTensorType(op.getResult()).getElementType() ==
             type.getElementType() &&
         !type.getElementType().isBF16() && !type.getElementType().isF16();
}

static void splitReductions(func::FuncOp function) {
  SmallVector<nn::ReduceOp> reduces(
      function.getBody().front().getOps<nn::ReduceOp>());
  for (nn::ReduceOp op : reduces) {
    if (isCanonical(op))
      continue;
    Value value = ReduceSplitter(op).split();
    op.replaceAllUsesWith(value);
    op.erase();
  }
}

static bool isElementwise(Operation *op) {
  return isFusible(op) && op->getNumResults() == 1 &&
         op->getNumOperands() > 0 &&
         !isa<nn::ReduceOp, nn::ReshapeOp, nn::BroadcastOp, nn::TransposeOp,
              nn::SliceOp, nn::PadOp, nn::ConcatOp>(op);
}

/// Computes before a broadcast what is the same for all elements that it
/// repeats: an elementwise op of broadcasts of one shape (and of splats) is the
/// broadcast of the op.
static void sinkBroadcasts(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    if (!isElementwise(&op))
      continue;
    std::optional<ArrayRef<int64_t>> shape;
    bool isUniform = true;
    for (Value operand : op.getOperands()) {
      if (getSplat(operand))
        continue;
      auto broadcast = operand.getDefiningOp<nn::BroadcastOp>();
      ArrayRef<int64_t> from =
          broadcast ? getTensorType(broadcast.getOperand()).getShape()
                    : ArrayRef<int64_t>();
      isUniform &= broadcast && (!shape || *shape == from);
      shape = from;
    }
    RankedTensorType type = getTensorType(op.getResult(0));
    if (!isUniform || !shape || *shape == type.getShape())
      continue;
    OpBuilder builder(&op);
    IRMapping mapping;
    for (Value operand : op.getOperands()) {
      if (auto broadcast = operand.getDefiningOp<nn::BroadcastOp>()) {
        mapping.map(operand, broadcast.getOperand());
        continue;
      }
      auto small = RankedTensorType::get(
          *shape, getTensorType(operand).getElementType());
      mapping.map(operand,
                  nn::ConstantOp::create(
                      builder, op.getLoc(), small,
                      DenseElementsAttr::get(small, *getSplat(operand))));
    }
    Operation *inner = builder.clone(op, mapping);
    inner->getResult(0).setType(
        RankedTensorType::get(*shape, type.getElementType()));
    Value outer = nn::BroadcastOp::create(builder, op.getLoc(), type,
                                          inner->getResult(0));
    op.getResult(0).replaceAllUsesWith(outer);
    op.erase();
  }
}

/// A product in f32 that is only rounded to its operands' type is a product in
/// that type: the same single rounding.
static void foldRoundings(func::FuncOp function) {
  SmallVector<nn::MatmulOp> products(
      function.getBody().front().getOps<nn::MatmulOp>());
  for (nn::MatmulOp op : products) {
    if (!op->hasOneUse() ||
        !getTensorType(op.getResult()).getElementType().isF32())
      continue;
    auto cast = dyn_cast<nn::CastOp>(*op->user_begin());
    Type element = getTensorType(op.getLhs()).getElementType();
    if (!cast || getTensorType(cast.getResult()).getElementType() != element ||
        element.isF32())
      continue;
    OpBuilder builder(op);
    auto narrow = nn::MatmulOp::create(
        builder, op.getLoc(), cast.getResult().getType(), op.getLhs(),
        op.getRhs(), op.getBias(), op.getTransposeLhs(), op.getTransposeRhs());
    cast.replaceAllUsesWith(narrow.getResult());
    cast.erase();
    op.erase();
  }
}

/// The transpose of a product is the product of the transposes: it then lies in
/// memory as it is wanted, which lets gradients of transposed weights be added
/// to in place.
static void foldTransposes(func::FuncOp function) {
  SmallVector<nn::MatmulOp> products(
      function.getBody().front().getOps<nn::MatmulOp>());
  for (nn::MatmulOp op : products) {
    int64_t rank = getTensorType(op.getLhs()).getRank();
    if (!op->hasOneUse() || op.getBias() ||
        getTensorType(op.getRhs()).getRank() != rank)
      continue;
    auto transpose = dyn_cast<nn::TransposeOp>(*op->user_begin());
    if (!transpose)
      continue;
    SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(swapped[rank - 1], swapped[rank - 2]);
    if (transpose.getPermutation() != ArrayRef<int64_t>(swapped))
      continue;
    OpBuilder builder(op);
    auto product = nn::MatmulOp::create(
        builder, op.getLoc(), transpose.getResult().getType(), op.getRhs(),
        op.getLhs(), !op.getTransposeRhs(), !op.getTransposeLhs());
    transpose.replaceAllUsesWith(product.getResult());
    transpose.erase();
    op.erase();
  }
}

/// Sums are f32; a narrower result is rounded afterwards.
static void widenScatters(func::FuncOp function) {
  SmallVector<nn::ScatterAddOp> scatters(
      function.getBody().front().getOps<nn::ScatterAddOp>());
  for (nn::ScatterAddOp op : scatters) {
    RankedTensorType type = getTensorType(op.getResult());
    if (!type.getElementType().isBF16() && !type.getElementType().isF16())
      continue;
    OpBuilder builder(op);
    auto wide = nn::ScatterAddOp::create(
        builder, op.getLoc(), type.clone(builder.getF32Type()), op.getUpdates(),
        op.getIndices(), op.getAxis());
    op.replaceAllUsesWith(
        nn::CastOp::create(builder, op.getLoc(), type, wide).getResult());
    op.erase();
  }
}

LogicalResult lowering::prepare(func::FuncOp function) {
  decomposeComposites(function);
  splitReductions(function);
  sinkBroadcasts(function);
  foldRoundings(function);
  foldTransposes(function);
  widenScatters(function);
  IRRewriter rewriter(function.getContext());
  GreedyRewriteConfig config;
  config.enableConstantCSE(false);
  (void)applyPatternsGreedily(function, FrozenRewritePatternSet(), config);
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  return success();
}
