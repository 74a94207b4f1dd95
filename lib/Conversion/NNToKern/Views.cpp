//===- Views.cpp - Tensors as views of memory ----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "Movement.h"

#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

namespace {
/// Follows movements from a value to what they move.
class ViewFinder {
public:
  explicit ViewFinder(Value value) : value(value) {
    for (auto [axis, extent] : llvm::enumerate(getShape(value))) {
      domain.push_back(extent);
      origin.push_back(axis);
    }
  }

  /// Ends at the first value that is no movement's result.
  bool find() {
    while (!attempt()) {
      if (!split || domain[split->axis] % split->factor)
        return false;
      domain[split->axis] /= split->factor;
      domain.insert(domain.begin() + split->axis + 1, split->factor);
      origin.insert(origin.begin() + split->axis + 1, origin[split->axis]);
    }
    return true;
  }

  Value value;
  SmallVector<int64_t> domain;
  SmallVector<int64_t>
      origin; ///< The axis of `value` that each axis is part of.
  std::optional<Split> split;
  Value base;
  Linear flat;
  bool isSliced = false;

private:
  bool attempt();
};
} // namespace

bool ViewFinder::attempt() {
  Bounds bounds;
  for (int64_t extent : domain)
    bounds.push_back({0, extent});
  split.reset();
  isSliced = false;
  base = value;
  flat = Linear(domain.size());
  int64_t stride = 1;
  for (size_t axis = domain.size(); axis-- > 0; stride *= domain[axis])
    flat.coefficients[axis] = domain[axis] == 1 ? 0 : stride;
  while (Operation *op = base.getDefiningOp()) {
    if (isa<nn::ReshapeOp>(op)) {
      base = op->getOperand(0);
      continue;
    }
    std::optional<Movement> movement = getMovement(op);
    if (!movement)
      break;
    std::optional<SmallVector<Linear>> index =
        delinearize(flat, movement->shape, bounds, split);
    if (!index)
      return false;
    isSliced |= isa<nn::SliceOp>(op);
    flat = movement->apply(*index, domain.size());
    base = op->getOperand(0);
  }
  return true;
}

/// The one stride of axes [begin, end) taken together; 0 if they have one
/// element.
static std::optional<int64_t> joinAxes(const ViewFinder &finder, size_t begin,
                                       size_t end) {
  std::optional<int64_t> stride;
  int64_t span = 1;
  for (size_t axis = end; axis-- > begin;) {
    if (finder.domain[axis] == 1)
      continue;
    int64_t own = finder.flat.coefficients[axis];
    if (!stride)
      stride = own;
    else if (own != *stride * span)
      return std::nullopt;
    span *= finder.domain[axis];
  }
  return stride ? *stride : 0;
}

static MatrixView getWhole(Value value, bool leadingRows) {
  ArrayRef<int64_t> shape = getShape(value);
  MatrixView view;
  view.base = stripReshapes(value);
  view.rowStride = shape.back();
  SmallVector<int64_t> strides = nn::getRowMajorStrides(shape);
  if (!leadingRows)
    for (size_t axis = 0; axis + 2 < shape.size(); ++axis) {
      view.batchExtents.push_back(shape[axis]);
      view.batchStrides.push_back(strides[axis]);
    }
  return view;
}

MatrixView lowering::getMatrixView(Value value, bool leadingRows) {
  MatrixView whole = getWhole(value, leadingRows);
  ViewFinder finder(value);
  if (!finder.find())
    return whole;
  // Of a value that is computed for this use, only the part that is used.
  Operation *producer = finder.base.getDefiningOp();
  if (finder.isSliced && producer && isFusible(producer))
    return whole;
  size_t rank = getShape(value).size();
  auto getBegin = [&](size_t axis) -> size_t {
    return llvm::lower_bound(finder.origin, int64_t(axis)) -
           finder.origin.begin();
  };
  size_t firstRow = leadingRows ? 0 : getBegin(rank - 2);
  std::optional<int64_t> row = joinAxes(finder, firstRow, getBegin(rank - 1));
  std::optional<int64_t> column =
      joinAxes(finder, getBegin(rank - 1), finder.domain.size());
  if (!row || !column)
    return whole;
  int64_t columns = getShape(value)[rank - 1], rows = 1;
  for (size_t axis = firstRow; axis < getBegin(rank - 1); ++axis)
    rows *= finder.domain[axis];
  MatrixView view;
  view.base = finder.base;
  view.offset = finder.flat.constant;
  view.columnStride = columns == 1 ? 1 : *column;
  view.rowStride = rows == 1 ? columns * view.columnStride : *row;
  bool isRows = view.columnStride == 1 && view.rowStride >= columns;
  bool isColumns = view.rowStride == 1 && view.columnStride >= rows;
  if (!isRows && !isColumns)
    return whole;
  for (size_t axis = 0; axis < firstRow; ++axis) {
    int64_t stride = finder.flat.coefficients[axis];
    if (stride < 0)
      return whole;
    view.batchExtents.push_back(finder.domain[axis]);
    view.batchStrides.push_back(finder.domain[axis] == 1 ? 0 : stride);
  }
  return view;
}

HeadView lowering::getOwnHeadView(Value value, bool rowsFirst) {
  SmallVector<int64_t> strides = nn::getRowMajorStrides(getShape(value));
  return {stripReshapes(value),       0, strides[0], strides[rowsFirst ? 2 : 1],
          strides[rowsFirst ? 1 : 2], 1};
}

HeadView lowering::getHeadView(Value value, bool rowsFirst, bool forLibrary) {
  ArrayRef<int64_t> shape = getShape(value);
  HeadView whole = getOwnHeadView(value, rowsFirst);
  MatrixView matrix = getMatrixView(value, /*leadingRows=*/false);
  auto getOffset = [&](int64_t index) {
    int64_t offset = 0;
    for (auto [extent, stride] : llvm::reverse(
             llvm::zip_equal(matrix.batchExtents, matrix.batchStrides))) {
      offset += index % extent * stride;
      index /= extent;
    }
    return offset;
  };
  // Of the first two axes, and of the third.
  int64_t outer = shape[0] > 1 ? getOffset(shape[1]) : 0,
          inner = shape[1] > 1 ? getOffset(1) : 0;
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      if (getOffset(i * shape[1] + j) != i * outer + j * inner)
        return whole;
  HeadView view{matrix.base,
                matrix.offset,
                outer,
                rowsFirst ? matrix.rowStride : inner,
                rowsFirst ? inner : matrix.rowStride,
                matrix.columnStride};
  // Rows of one head are a matrix.
  if (rowsFirst &&
      (view.columnStride != 1 || (shape[1] > 1 && view.rowStride < shape[3])))
    return whole;
  auto fits = [](int64_t stride, int64_t extent) {
    return extent == 1 || (stride > 0 && stride % 8 == 0);
  };
  int64_t heads = shape[rowsFirst ? 2 : 1], rows = shape[rowsFirst ? 1 : 2];
  if (forLibrary &&
      (view.columnStride != 1 || view.offset % 8 ||
       !fits(view.rowStride, rows) || view.rowStride < shape[3] ||
       !fits(view.batchStride, shape[0]) || !fits(view.headStride, heads)))
    return whole;
  return view;
}

SmallVector<Value> lowering::getOperandsInMemory(Operation *op) {
  SmallVector<Value> operands;
  if (auto matmul = dyn_cast<nn::MatmulOp>(op)) {
    bool isShared =
        getShape(matmul.getRhs()).size() < getShape(matmul.getLhs()).size();
    operands.push_back(getMatrixView(matmul.getLhs(), isShared).base);
    operands.push_back(
        getMatrixView(matmul.getRhs(), /*leadingRows=*/false).base);
    if (matmul.getBias())
      operands.push_back(stripReshapes(matmul.getBias()));
    return operands;
  }
  for (Value operand : op->getOperands())
    operands.push_back(stripReshapes(operand));
  bool forLibrary = isLibraryAttention(op);
  if (isa<nn::AttentionOp, nn::AttentionGradOp>(op))
    for (unsigned index = 0; index < 3; ++index)
      operands[index] =
          getHeadView(op->getOperand(index), /*rowsFirst=*/false, forLibrary)
              .base;
  if (auto grad = dyn_cast<nn::AttentionGradOp>(op)) {
    auto getBase = [&](Value value) {
      return getHeadView(value, grad.getRowsFirst(), forLibrary).base;
    };
    operands[3] = getBase(grad.getResultValue());
    operands.back() = getBase(grad.getCotangent());
  }
  return operands;
}
