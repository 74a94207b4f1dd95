//===- Evaluation.h - Helpers of the reference evaluation -------*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_EVALUATION_H
#define RONDO_LIB_DIALECT_NN_EVALUATION_H

#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"
#include <algorithm>
#include <array>

namespace rondo::nn {

/// A zero-filled tensor of the type of the op's result `index`.
inline HostTensor makeResult(mlir::Operation *op, unsigned index = 0) {
  return HostTensor(
      mlir::cast<mlir::RankedTensorType>(op->getResult(index).getType()));
}

/// Rounds `result` to its type unless everything stays in double, and appends
/// it.
inline llvm::LogicalResult finish(const EvaluationContext &context,
                                  HostTensor result,
                                  llvm::SmallVectorImpl<HostTensor> &results) {
  if (!context.exact || !result.isFloat())
    result.round();
  results.push_back(std::move(result));
  return mlir::success();
}

/// A value in the middle of an op that is rounded to `type` there.
inline double roundUnlessExact(const EvaluationContext &context, double value,
                               mlir::Type type) {
  return context.exact ? value : roundTo(value, type);
}

/// Failure with `diagnostic`, which is dropped where nobody wants it.
inline llvm::LogicalResult fail(const EvaluationContext &context,
                                mlir::InFlightDiagnostic &&diagnostic) {
  if (context.quiet)
    diagnostic.abandon();
  return mlir::failure();
}

/// Calls `body` with the element vectors of both tensors, which are both
/// floating or both integer.
template <typename Body>
void withValues(const HostTensor &from, HostTensor &to, Body body) {
  if (from.isFloat())
    body(from.floats(), to.floats());
  else
    body(from.integers(), to.integers());
}

/// Where one tensor of a strided loop begins and how far apart its elements
/// are.
struct StridedOperand {
  int64_t offset = 0;
  llvm::ArrayRef<int64_t> strides;
};

/// Walks N tensors through an index space of shape `shape` in row-major order,
/// innermost runs at once: row(offsets, inner strides, count). Axes along which
/// all N advance evenly are joined first, so that runs are long.
template <size_t N, typename Row>
void forEachRow(llvm::ArrayRef<int64_t> shape,
                std::array<StridedOperand, N> operands, Row row) {
  llvm::SmallVector<int64_t> extents;
  std::array<llvm::SmallVector<int64_t>, N> strides;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0)
      return;
    if (shape[axis] == 1)
      continue;
    bool joins = !extents.empty();
    for (size_t n = 0; n < N; ++n)
      joins =
          joins && strides[n].back() == operands[n].strides[axis] * shape[axis];
    if (joins)
      extents.back() *= shape[axis];
    else
      extents.push_back(shape[axis]);
    for (size_t n = 0; n < N; ++n) {
      if (joins)
        strides[n].back() = operands[n].strides[axis];
      else
        strides[n].push_back(operands[n].strides[axis]);
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    for (size_t n = 0; n < N; ++n)
      strides[n].push_back(1);
  }

  std::array<int64_t, N> offsets, inner;
  for (size_t n = 0; n < N; ++n) {
    offsets[n] = operands[n].offset;
    inner[n] = strides[n].back();
  }
  size_t outerAxes = extents.size() - 1;
  llvm::SmallVector<int64_t> index(outerAxes, 0);
  while (true) {
    row(offsets, inner, extents.back());
    size_t axis = outerAxes;
    while (axis > 0) {
      --axis;
      for (size_t n = 0; n < N; ++n)
        offsets[n] += strides[n][axis];
      if (++index[axis] < extents[axis])
        break;
      for (size_t n = 0; n < N; ++n)
        offsets[n] -= strides[n][axis] * extents[axis];
      index[axis] = 0;
      if (axis == 0)
        return;
    }
    if (outerAxes == 0)
      return;
  }
}

/// Copies an index space of shape `shape` from one tensor to another.
template <typename T>
void copyStrided(llvm::ArrayRef<int64_t> shape, const T *from,
                 StridedOperand fromWhere, T *to, StridedOperand toWhere) {
  forEachRow<2>(shape, {fromWhere, toWhere},
                [&](std::array<int64_t, 2> offsets,
                    std::array<int64_t, 2> strides, int64_t count) {
                  const T *source = from + offsets[0];
                  T *target = to + offsets[1];
                  if (strides[0] == 1 && strides[1] == 1)
                    std::copy_n(source, count, target);
                  else
                    for (int64_t i = 0; i < count; ++i)
                      target[i * strides[1]] = source[i * strides[0]];
                });
}

/// Strides that walk a tensor of shape `from` through a shape that it is
/// broadcast to.
llvm::SmallVector<int64_t> getBroadcastStrides(llvm::ArrayRef<int64_t> from,
                                               llvm::ArrayRef<int64_t> to);

/// Product of extents.
inline int64_t countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_EVALUATION_H
