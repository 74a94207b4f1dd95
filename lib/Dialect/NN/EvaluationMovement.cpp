//===- EvaluationMovement.cpp - Reference evaluation: movement, indexing --===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

using namespace mlir;
using namespace rondo::nn;

using Results = SmallVectorImpl<HostTensor>;

SmallVector<int64_t> rondo::nn::getBroadcastStrides(ArrayRef<int64_t> from,
                                                    ArrayRef<int64_t> to) {
  SmallVector<int64_t> strides(to.size(), 0);
  SmallVector<int64_t> own = getRowMajorStrides(from);
  size_t missing = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    strides[missing + i] = from[i] == 1 ? 0 : own[i];
  return strides;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

LogicalResult ReadOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor>, Results &results) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      *this, getParameterAttr());
  std::optional<ElementsAttr> value =
      parameter ? parameter.getValue() : std::nullopt;
  if (!value)
    return fail(
        context,
        emitOpError()
            << "the value of parameter '" << getParameter()
            << "' is not known to the compiler; give it to the evaluator");
  results.push_back(HostTensor::fromAttribute(*value));
  return success();
}

LogicalResult ConstantOp::evaluate(const EvaluationContext &,
                                   ArrayRef<HostTensor>, Results &results) {
  results.push_back(HostTensor::fromAttribute(getValue()));
  return success();
}

LogicalResult IotaOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor>, Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = result.getShape();
  int64_t axis = getAxis();
  int64_t start = getStart(), step = getStep(), extent = shape[axis];
  int64_t inner = countElements(shape.drop_front(axis + 1));
  withValues(result, result, [&](const auto &, auto &values) {
    for (int64_t at = 0, size = values.size(); at < size;)
      for (int64_t i = 0; i < extent; ++i)
        for (int64_t j = 0; j < inner; ++j)
          values[at++] = start + step * i;
  });
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

/// The operand's index space of the result's shape, walked by `where`. Moving
/// never needs rounding.
static LogicalResult moveInto(HostTensor result, const HostTensor &operand,
                              StridedOperand where, Results &results) {
  SmallVector<int64_t> strides = getRowMajorStrides(result.getShape());
  withValues(operand, result, [&](const auto &from, auto &to) {
    copyStrided(result.getShape(), from.data(), where, to.data(), {0, strides});
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ReshapeOp::evaluate(const EvaluationContext &,
                                  ArrayRef<HostTensor> operands,
                                  Results &results) {
  HostTensor result = makeResult(*this);
  withValues(operands[0], result,
             [](const auto &from, auto &to) { to = from; });
  results.push_back(std::move(result));
  return success();
}

LogicalResult BroadcastOp::evaluate(const EvaluationContext &,
                                    ArrayRef<HostTensor> operands,
                                    Results &results) {
  HostTensor result = makeResult(*this);
  SmallVector<int64_t> strides =
      getBroadcastStrides(operands[0].getShape(), result.getShape());
  return moveInto(std::move(result), operands[0], {0, strides}, results);
}

LogicalResult TransposeOp::evaluate(const EvaluationContext &,
                                    ArrayRef<HostTensor> operands,
                                    Results &results) {
  SmallVector<int64_t> own = getRowMajorStrides(operands[0].getShape()),
                       strides;
  for (int64_t axis : getPermutation())
    strides.push_back(own[axis]);
  return moveInto(makeResult(*this), operands[0], {0, strides}, results);
}

LogicalResult SliceOp::evaluate(const EvaluationContext &,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  SmallVector<int64_t> strides = getRowMajorStrides(operands[0].getShape());
  int64_t offset = 0;
  for (auto [stride, start, step] :
       llvm::zip_equal(strides, getStarts(), getSteps())) {
    offset += stride * start;
    stride *= step;
  }
  return moveInto(makeResult(*this), operands[0], {offset, strides}, results);
}

LogicalResult PadOp::evaluate(const EvaluationContext &,
                              ArrayRef<HostTensor> operands, Results &results) {
  HostTensor result = makeResult(*this);
  if (auto value = dyn_cast<FloatAttr>(getValue()))
    llvm::fill(result.floats(), value.getValueAsDouble());
  else if (auto value = dyn_cast<IntegerAttr>(getValue()))
    llvm::fill(result.integers(), value.getType().isInteger(1)
                                      ? value.getValue().getZExtValue()
                                      : value.getValue().getSExtValue());
  ArrayRef<int64_t> shape = operands[0].getShape();
  SmallVector<int64_t> from = getRowMajorStrides(shape),
                       to = getRowMajorStrides(result.getShape());
  int64_t offset = 0;
  for (auto [stride, low] : llvm::zip_equal(to, getLow()))
    offset += stride * low;
  withValues(operands[0], result, [&](const auto &source, auto &target) {
    copyStrided(shape, source.data(), {0, from}, target.data(), {offset, to});
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ConcatOp::evaluate(const EvaluationContext &,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  SmallVector<int64_t> to = getRowMajorStrides(result.getShape());
  int64_t axis = getAxis(), offset = 0;
  for (const HostTensor &operand : operands) {
    SmallVector<int64_t> from = getRowMajorStrides(operand.getShape());
    withValues(operand, result, [&](const auto &source, auto &target) {
      copyStrided(operand.getShape(), source.data(), {0, from}, target.data(),
                  {offset, to});
    });
    offset += operand.getShape()[axis] * to[axis];
  }
  results.push_back(std::move(result));
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Indices counted from the front; fails on the first that is out of range.
static LogicalResult normaliseIndices(Operation *op,
                                      const EvaluationContext &context,
                                      const HostTensor &indices, int64_t axis,
                                      int64_t extent,
                                      std::vector<int64_t> &normalised) {
  normalised = indices.integers();
  for (auto [position, index] : llvm::enumerate(normalised)) {
    int64_t given = index;
    if (index < 0)
      index += extent;
    if (index < 0 || index >= extent)
      return fail(context, op->emitOpError()
                               << "index " << given << " at element "
                               << position
                               << " of the indices is out of range: axis "
                               << axis << " has extent " << extent);
  }
  return success();
}

LogicalResult GatherOp::evaluate(const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = operands[0].getShape();
  int64_t axis = getAxis(), extent = shape[axis];
  std::vector<int64_t> indices;
  if (failed(
          normaliseIndices(*this, context, operands[1], axis, extent, indices)))
    return failure();
  int64_t outer = countElements(shape.take_front(axis)),
          inner = countElements(shape.drop_front(axis + 1));
  withValues(operands[0], result, [&](const auto &from, auto &to) {
    auto target = to.begin();
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t index : indices)
        target = std::copy_n(from.begin() + (i * extent + index) * inner, inner,
                             target);
  });
  results.push_back(std::move(result));
  return success();
}

LogicalResult ScatterAddOp::evaluate(const EvaluationContext &context,
                                     ArrayRef<HostTensor> operands,
                                     Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = result.getShape();
  int64_t axis = getAxis(), extent = shape[axis];
  std::vector<int64_t> indices;
  if (failed(
          normaliseIndices(*this, context, operands[1], axis, extent, indices)))
    return failure();
  int64_t outer = countElements(shape.take_front(axis)),
          inner = countElements(shape.drop_front(axis + 1));
  const double *update = operands[0].floats().data();
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t index : indices) {
      double *target = result.floats().data() + (i * extent + index) * inner;
      for (int64_t j = 0; j < inner; ++j)
        target[j] += *update++;
    }
  return finish(context, std::move(result), results);
}

LogicalResult GatherNDOp::evaluate(const EvaluationContext &context,
                                   ArrayRef<HostTensor> operands,
                                   Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = operands[0].getShape(),
                    tuples = operands[1].getShape();
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  int64_t batchDims = getBatchDims(), length = tuples.back();
  int64_t batches = countElements(shape.take_front(batchDims));
  int64_t batchSize = countElements(shape.drop_front(batchDims));
  int64_t tuplesPerBatch =
      countElements(tuples.drop_front(batchDims).drop_back());
  int64_t inner = countElements(shape.drop_front(batchDims + length));

  std::vector<int64_t> offsets;
  offsets.reserve(batches * tuplesPerBatch);
  const int64_t *index = operands[1].integers().data();
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t tuple = 0; tuple < tuplesPerBatch; ++tuple) {
      int64_t offset = batch * batchSize;
      for (int64_t axis = batchDims; axis < batchDims + length;
           ++axis, ++index) {
        int64_t extent = shape[axis],
                at = *index < 0 ? *index + extent : *index;
        if (at < 0 || at >= extent)
          return fail(context, emitOpError()
                                   << "index " << *index << " in tuple "
                                   << batch * tuplesPerBatch + tuple
                                   << " is out of range: axis " << axis
                                   << " has extent " << extent);
        offset += at * strides[axis];
      }
      offsets.push_back(offset);
    }
  withValues(operands[0], result, [&](const auto &from, auto &to) {
    auto target = to.begin();
    for (int64_t offset : offsets)
      target = std::copy_n(from.begin() + offset, inner, target);
  });
  results.push_back(std::move(result));
  return success();
}
