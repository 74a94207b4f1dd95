//===- NNOps.cpp - Shape inference and verifiers of nn ops ----------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace rondo::nn;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// For shape inference, which runs before operand types are verified.
static FailureOr<RankedTensorType>
inferenceOperand(std::optional<Location> loc, Value operand, StringRef what) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (type && type.hasStaticShape())
    return type;
  return emitOptionalError(loc, what,
                           " must be a tensor of static shape, but is ",
                           operand.getType());
}

static LogicalResult checkAxis(std::optional<Location> loc, int64_t axis,
                               int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(loc, "axis ", axis,
                           " is out of range: the operand has rank ", rank);
}

static LogicalResult checkSameElementType(Operation *op, RankedTensorType from,
                                          RankedTensorType to) {
  if (from.getElementType() == to.getElementType())
    return success();
  return op->emitOpError() << "operand and result differ in element type: "
                           << from.getElementType() << " and "
                           << to.getElementType();
}

static LogicalResult checkLength(Operation *op, StringRef attribute,
                                 size_t length, int64_t rank) {
  if (static_cast<int64_t>(length) == rank)
    return success();
  return op->emitOpError() << attribute << " has " << length
                           << " entries, but the operand has rank " << rank;
}

//===----------------------------------------------------------------------===//
// Parameters and constants
//===----------------------------------------------------------------------===//

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getTrainable() && !isa<FloatType>(type.getElementType()))
    return emitOpError() << "of element type " << type.getElementType()
                         << " cannot be trainable";
  if (std::optional<StoredAttr> stored = getStored()) {
    if (stored->getOffset() < 0 || stored->getLength() < 0)
      return emitOpError() << "is stored at offset " << stored->getOffset()
                           << " with length " << stored->getLength()
                           << "; both must be non-negative";
    if (getValue())
      return emitOpError() << "has both a stored range and a value";
  }
  if (std::optional<ArrayRef<bool>> transposed = getCopiesTransposed()) {
    size_t copies = getCopies() ? getCopies()->size() : 0;
    if (transposed->size() != copies)
      return emitOpError() << "copies_transposed has " << transposed->size()
                           << " entries for " << copies << " copies";
  }
  if (std::optional<Type> storedType = getStoredType())
    if (!isa<FloatType>(*storedType) || !isa<FloatType>(type.getElementType()))
      return emitOpError() << "is stored as " << *storedType << " and read as "
                           << type.getElementType()
                           << "; both must be floating-point types";
  if (std::optional<ElementsAttr> value = getValue()) {
    if (getStoredType())
      return emitOpError() << "has both a stored type and a value";
    if (getTrainable())
      return emitOpError()
             << "with a value the compiler folded cannot be trainable";
    if (value->getType() != type)
      return emitOpError() << "has type " << type << ", but its value has type "
                           << value->getType();
  }
  return success();
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto parameter =
      symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError() << "no nn.parameter is called '" << getParameter()
                         << "'";
  if (parameter.getType() != getType())
    return emitOpError() << "has type " << getType() << ", but parameter '"
                         << getParameter() << "' has type "
                         << parameter.getType();
  return success();
}

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location>,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getType());
  return success();
}

LogicalResult IotaOp::verify() {
  int64_t rank = tensorOf(getResult()).getRank();
  int64_t axis = getAxis();
  if (axis < 0 || axis >= rank)
    return emitOpError() << "axis " << axis
                         << " is out of range: the result has rank " << rank;
  return success();
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult IsNanOp::inferReturnTypes(MLIRContext *context,
                                        std::optional<Location> loc,
                                        Adaptor adaptor,
                                        SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type =
      inferenceOperand(loc, adaptor.getOperand(), "operand");
  if (failed(type))
    return failure();
  types.push_back(type->clone(IntegerType::get(context, 1)));
  return success();
}

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> type =
      inferenceOperand(loc, adaptor.getLhs(), "lhs");
  if (failed(type))
    return failure();
  types.push_back(type->clone(IntegerType::get(context, 1)));
  return success();
}

LogicalResult SelectOp::verify() {
  ArrayRef<int64_t> condition = tensorOf(getCondition()).getShape();
  ArrayRef<int64_t> result = tensorOf(getResult()).getShape();
  if (condition != result)
    return emitOpError() << "condition has shape " << shapeToString(condition)
                         << ", but the result has shape "
                         << shapeToString(result);
  return success();
}

LogicalResult CastOp::verify() {
  ArrayRef<int64_t> from = tensorOf(getOperand()).getShape();
  ArrayRef<int64_t> to = tensorOf(getResult()).getShape();
  if (from != to)
    return emitOpError() << "changes the shape from " << shapeToString(from)
                         << " to " << shapeToString(to);
  return success();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (failed(checkSameElementType(*this, from, to)))
    return failure();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError() << shapeToString(from.getShape()) << " has "
                         << from.getNumElements() << " elements, but "
                         << shapeToString(to.getShape()) << " has "
                         << to.getNumElements();
  return success();
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  if (failed(checkSameElementType(*this, from, to)))
    return failure();
  if (!isBroadcastableTo(from.getShape(), to.getShape()))
    return emitOpError() << shapeToString(from.getShape())
                         << " does not broadcast to "
                         << shapeToString(to.getShape());
  return success();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  ArrayRef<int64_t> permutation = getPermutation();
  int64_t rank = from.getRank();
  if (failed(checkSameElementType(*this, from, to)) ||
      failed(checkLength(*this, "permutation", permutation.size(), rank)))
    return failure();
  llvm::SmallBitVector seen(rank);
  for (int64_t axis : permutation) {
    if (axis < 0 || axis >= rank || seen.test(axis))
      return emitOpError() << shapeToString(permutation)
                           << " is not a permutation of " << rank << " axes";
    seen.set(axis);
  }
  SmallVector<int64_t> expected;
  for (int64_t axis : permutation)
    expected.push_back(from.getDimSize(axis));
  if (to.getShape() != ArrayRef(expected))
    return emitOpError() << "result has shape " << shapeToString(to.getShape())
                         << ", expected " << shapeToString(expected);
  return success();
}

LogicalResult SliceOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  ArrayRef<int64_t> starts = getStarts(), steps = getSteps();
  int64_t rank = from.getRank();
  if (failed(checkSameElementType(*this, from, to)) ||
      failed(checkLength(*this, "starts", starts.size(), rank)) ||
      failed(checkLength(*this, "steps", steps.size(), rank)))
    return failure();
  if (to.getRank() != rank)
    return emitOpError() << "changes the rank from " << rank << " to "
                         << to.getRank();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (steps[axis] == 0)
      return emitOpError() << "step of axis " << axis << " is 0";
    int64_t count = to.getDimSize(axis), extent = from.getDimSize(axis);
    if (count == 0)
      continue;
    // start + (count - 1) * step must stay in [0, extent): by division, because
    // the product of attributes may overflow.
    int64_t start = starts[axis];
    bool inside = start >= 0 && start < extent;
    if (inside && steps[axis] > 0)
      inside = count - 1 <= (extent - 1 - start) / steps[axis];
    else if (inside)
      inside = steps[axis] != std::numeric_limits<int64_t>::min() &&
               count - 1 <= start / -steps[axis];
    if (!inside)
      return emitOpError() << "axis " << axis << ": " << count
                           << " elements from " << start << " by step "
                           << steps[axis] << " leave the operand's extent "
                           << extent;
  }
  return success();
}

LogicalResult PadOp::verify() {
  RankedTensorType from = tensorOf(getOperand()), to = tensorOf(getResult());
  ArrayRef<int64_t> low = getLow(), high = getHigh();
  int64_t rank = from.getRank();
  if (failed(checkSameElementType(*this, from, to)) ||
      failed(checkLength(*this, "low", low.size(), rank)) ||
      failed(checkLength(*this, "high", high.size(), rank)))
    return failure();
  if (getValue().getType() != from.getElementType() ||
      !isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError() << "value " << getValue()
                         << " is not of the element type "
                         << from.getElementType();
  SmallVector<int64_t> expected;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (low[axis] < 0 || high[axis] < 0)
      return emitOpError()
             << "axis " << axis << " is padded by " << low[axis] << " and "
             << high[axis]
             << "; amounts must be non-negative (use nn.slice to crop)";
    expected.push_back(low[axis] + from.getDimSize(axis) + high[axis]);
  }
  if (to.getShape() != ArrayRef(expected))
    return emitOpError() << "result has shape " << shapeToString(to.getShape())
                         << ", expected " << shapeToString(expected);
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  if (adaptor.getOperands().empty())
    return emitOptionalError(loc, "needs at least one operand");
  FailureOr<RankedTensorType> first =
      inferenceOperand(loc, adaptor.getOperands().front(), "operand 0");
  if (failed(first) ||
      failed(checkAxis(loc, adaptor.getAxis(), first->getRank())))
    return failure();
  int64_t axis = adaptor.getAxis();
  SmallVector<int64_t> shape(first->getShape());
  for (auto [index, operand] :
       llvm::enumerate(adaptor.getOperands().drop_front())) {
    std::string what = "operand " + std::to_string(index + 1);
    FailureOr<RankedTensorType> type = inferenceOperand(loc, operand, what);
    if (failed(type))
      return failure();
    if (type->getElementType() != first->getElementType())
      return emitOptionalError(loc, what, " has element type ",
                               type->getElementType(), ", but operand 0 has ",
                               first->getElementType());
    bool fits = type->getRank() == first->getRank();
    for (int64_t i = 0; fits && i < first->getRank(); ++i)
      fits = i == axis || type->getDimSize(i) == first->getDimSize(i);
    if (!fits)
      return emitOptionalError(
          loc, what, " of shape ", shapeToString(type->getShape()),
          " differs from operand 0 of shape ", shapeToString(first->getShape()),
          " in more than axis ", axis);
    shape[axis] += type->getDimSize(axis);
  }
  types.push_back(first->clone(shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getGatherShape(ArrayRef<int64_t> operand,
                                           ArrayRef<int64_t> indices,
                                           int64_t axis) {
  SmallVector<int64_t> shape(operand.take_front(axis));
  llvm::append_range(shape, indices);
  llvm::append_range(shape, operand.drop_front(axis + 1));
  return shape;
}

LogicalResult GatherOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> operand =
      inferenceOperand(loc, adaptor.getOperand(), "operand");
  FailureOr<RankedTensorType> indices =
      inferenceOperand(loc, adaptor.getIndices(), "indices");
  if (failed(operand) || failed(indices) ||
      failed(checkAxis(loc, adaptor.getAxis(), operand->getRank())))
    return failure();
  types.push_back(operand->clone(getGatherShape(
      operand->getShape(), indices->getShape(), adaptor.getAxis())));
  return success();
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType updates = tensorOf(getUpdates()),
                   result = tensorOf(getResult());
  if (failed(checkSameElementType(*this, updates, result)))
    return failure();
  int64_t axis = getAxis();
  if (axis < 0 || axis >= result.getRank())
    return emitOpError() << "axis " << axis
                         << " is out of range: the result has rank "
                         << result.getRank();
  SmallVector<int64_t> expected = getGatherShape(
      result.getShape(), tensorOf(getIndices()).getShape(), axis);
  if (updates.getShape() != ArrayRef(expected))
    return emitOpError() << "updates have shape "
                         << shapeToString(updates.getShape()) << ", expected "
                         << shapeToString(expected);
  return success();
}

LogicalResult GatherNDOp::inferReturnTypes(MLIRContext *,
                                           std::optional<Location> loc,
                                           Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> operand =
      inferenceOperand(loc, adaptor.getOperand(), "operand");
  FailureOr<RankedTensorType> indices =
      inferenceOperand(loc, adaptor.getIndices(), "indices");
  if (failed(operand) || failed(indices))
    return failure();
  // While parsing, defaults are not filled in yet.
  IntegerAttr batchDims = adaptor.getProperties().batch_dims;
  int64_t batch = batchDims ? batchDims.getInt() : 0;
  if (batch < 0 || batch >= indices->getRank() || batch > operand->getRank())
    return emitOptionalError(
        loc, "batch_dims ", batch, " is out of range: the operand has rank ",
        operand->getRank(), ", the indices ", indices->getRank());
  ArrayRef<int64_t> data = operand->getShape(), tuples = indices->getShape();
  if (data.take_front(batch) != tuples.take_front(batch))
    return emitOptionalError(loc, "the first ", batch, " axes of operand ",
                             shapeToString(data), " and indices ",
                             shapeToString(tuples), " differ");
  int64_t length = tuples.back();
  if (length > operand->getRank() - batch)
    return emitOptionalError(loc, "index tuples have ", length,
                             " entries, but the operand has only ",
                             operand->getRank() - batch, " axes after ", batch,
                             " batch axes");
  SmallVector<int64_t> shape(tuples.drop_back());
  llvm::append_range(shape, data.drop_front(batch + length));
  types.push_back(operand->clone(shape));
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> loc,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> operand =
      inferenceOperand(loc, adaptor.getOperand(), "operand");
  if (failed(operand))
    return failure();
  ArrayRef<int64_t> axes = adaptor.getAxes();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(checkAxis(loc, axis, operand->getRank())))
      return failure();
    if (i && axes[i - 1] >= axis)
      return emitOptionalError(loc, "axes ", shapeToString(axes),
                               " are not in increasing order");
  }
  types.push_back(operand->clone(
      getReducedShape(operand->getShape(), axes, adaptor.getKeepdims())));
  return success();
}

LogicalResult CumsumOp::verify() {
  return checkAxis(getLoc(), getAxis(), tensorOf(getOperand()).getRank());
}

LogicalResult SoftmaxOp::verify() {
  if (tensorOf(getOperand()).getRank() == 0)
    return emitOpError() << "needs a last axis, but the operand is a scalar";
  return success();
}

#define GET_OP_CLASSES
#include "rondo/Dialect/NN/NNOps.cpp.inc"
