//===- RaiseLinearCrossEntropy.cpp - Recognises loss heads ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISELINEARCROSSENTROPY
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {
/// A cross entropy of a product's rows.
struct Head {
  MatmulOp product;
  Value bias; ///< [classes], or null.
  /// Reshapes and slices of rows from the product on; classes stay the last
  /// axis.
  SmallVector<Operation *> movements;
};
} // namespace

static bool keepsLastAxis(Operation *op) {
  RankedTensorType from = getTensor(op->getOperand(0)),
                   to = getTensor(op->getResult(0));
  return from.getRank() > 0 && to.getRank() > 0 &&
         from.getShape().back() == to.getShape().back();
}

/// Whether `op` picks neighbouring rows and all classes.
static bool isRowSlice(SliceOp op) {
  if (!keepsLastAxis(op) || op.getStarts().back() != 0)
    return false;
  for (auto [extent, step] :
       llvm::zip_equal(getTensor(op.getResult()).getShape(), op.getSteps()))
    if (extent > 1 && step != 1)
      return false;
  return true;
}

/// Whether nothing but what leads to the loss reads the logits.
static std::optional<Head> match(CrossEntropyOp loss) {
  Head head;
  bool isCast = false;
  for (Value value = loss.getLogits(); value.hasOneUse();) {
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_or_null<MatmulOp>(op)) {
      bool isRows = getTensor(product.getLhs()).getRank() >= 2 &&
                    getTensor(product.getRhs()).getRank() == 2 &&
                    !product.getTransposeLhs() && !product.getBias() &&
                    !getTensor(product.getLhs()).getElementType().isF64();
      if (!isRows)
        return std::nullopt;
      head.product = product;
      std::reverse(head.movements.begin(), head.movements.end());
      return head;
    }
    if (auto cast = dyn_cast_or_null<CastOp>(op)) {
      // One widening; whatever else would round.
      RankedTensorType from = getTensor(cast.getOperand());
      if (isCast || head.bias || !isa<FloatType>(from.getElementType()) ||
          !getTensor(value).getElementType().isF32() ||
          from.getElementTypeBitWidth() > 32)
        return std::nullopt;
      isCast = true;
      value = cast.getOperand();
      continue;
    }
    if (isa_and_nonnull<AddOp>(op) && !head.bias) {
      Value sum;
      matchCommuted<AddOp>(value, [&](Value rows, Value stretched) {
        head.bias = matchRowVector(stretched);
        sum = rows;
        return head.bias != nullptr;
      });
      if (!head.bias)
        return std::nullopt;
      value = sum;
      continue;
    }
    auto slice = dyn_cast_or_null<SliceOp>(op);
    if (slice ? !isRowSlice(slice)
              : !isa_and_nonnull<ReshapeOp>(op) || !keepsLastAxis(op))
      return std::nullopt;
    head.movements.push_back(op);
    value = op->getOperand(0);
  }
  return std::nullopt;
}

static int64_t countRows(Value value) {
  RankedTensorType type = getTensor(value);
  return type.getNumElements() / type.getShape().back();
}

/// Labels of all the product's rows: `ignored` for those that slices leave out.
static Value padLabels(OpBuilder &builder, Location loc, const Head &head,
                       Value labels, int64_t ignored) {
  Type element = getTensor(labels).getElementType();
  for (Operation *op : llvm::reverse(head.movements)) {
    auto slice = dyn_cast<SliceOp>(op);
    if (!slice)
      continue;
    ArrayRef<int64_t> picked =
        getTensor(slice.getResult()).getShape().drop_back();
    ArrayRef<int64_t> whole =
        getTensor(slice.getOperand()).getShape().drop_back();
    SmallVector<int64_t> low(slice.getStarts().drop_back()), high;
    for (size_t axis = 0; axis < whole.size(); ++axis)
      high.push_back(whole[axis] - picked[axis] - low[axis]);
    labels = createReshape(builder, loc, labels, picked);
    labels = PadOp::create(builder, loc, RankedTensorType::get(whole, element),
                           labels, low, high,
                           builder.getIntegerAttr(element, ignored));
    labels =
        createReshape(builder, loc, labels, {countRows(slice.getOperand())});
  }
  return labels;
}

/// The hidden rows that the cross entropy sees.
static Value pickRows(OpBuilder &builder, Location loc, Head head) {
  Value hidden = head.product.getLhs();
  int64_t last = getTensor(hidden).getShape().back();
  for (Operation *op : head.movements) {
    SmallVector<int64_t> shape(getTensor(op->getResult(0)).getShape());
    shape.back() = last;
    if (auto slice = dyn_cast<SliceOp>(op))
      hidden = SliceOp::create(builder, loc, getTensor(hidden).clone(shape),
                               hidden, slice.getStarts(), slice.getSteps());
    else
      hidden = createReshape(builder, loc, hidden, shape);
  }
  return hidden;
}

static bool raise(CrossEntropyOp loss, int64_t chunk) {
  std::optional<Head> head = match(loss);
  if (!head)
    return false;
  OpBuilder builder(loss);
  Location loc = loss.getLoc();
  MatmulOp product = head->product;
  Value labels = loss.getLabels(), hidden = product.getLhs();
  std::optional<int64_t> ignored = loss.getIgnoreIndex();
  int64_t rows = countRows(product.getResult());
  if (ignored && 2 * getTensor(labels).getNumElements() > rows)
    labels = padLabels(builder, loc, *head, labels, *ignored);
  else
    hidden = pickRows(builder, loc, *head);
  hidden =
      createReshape(builder, loc, hidden,
                    {countRows(hidden), getTensor(hidden).getShape().back()});
  Value weight = product.getRhs();
  bool isTransposed = product.getTransposeRhs();
  if (auto transpose = weight.getDefiningOp<TransposeOp>()) {
    // Of rank 2: either nothing moves or both axes do.
    isTransposed ^= transpose.getPermutation()[0] == 1;
    weight = transpose.getOperand();
  }
  Value bias = head->bias;
  if (bias)
    bias =
        createReshape(builder, loc, bias, {getTensor(bias).getShape().back()});
  auto raised = LinearCrossEntropyOp::create(
      builder, loc, loss.getType(), hidden, weight, labels, bias,
      isTransposed ? builder.getUnitAttr() : UnitAttr(),
      loss.getIgnoreIndexAttr(), builder.getI64IntegerAttr(chunk),
      TypeAttr::get(getTensor(product.getResult()).getElementType()));
  loss.replaceAllUsesWith(raised.getResult());
  loss.erase();
  return true;
}

namespace {
struct RaiseLinearCrossEntropy
    : rondo::nn::impl::NNRaiseLinearCrossEntropyBase<RaiseLinearCrossEntropy> {
  using NNRaiseLinearCrossEntropyBase::NNRaiseLinearCrossEntropyBase;

  void runOnOperation() override {
    if (chunk < 1) {
      getOperation().emitError("a chunk of ")
          << chunk.getValue() << " rows of logits; at least 1 is needed";
      return signalPassFailure();
    }
    getOperation().walk([&](CrossEntropyOp loss) {
      if (raise(loss, chunk))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
