//===- EvaluationRows.cpp - Reference evaluation of reductions, row ops ---===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace rondo::nn;

using Results = SmallVectorImpl<HostTensor>;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static double larger(double x, double y) {
  return y > x || std::isnan(y) ? y : x;
}
static int64_t larger(int64_t x, int64_t y) { return std::max(x, y); }
static double plus(double x, double y) { return x + y; }
static int64_t plus(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) +
                              static_cast<uint64_t>(y));
}

/// Joins every element of `from` into the element of `to` that `where` names.
template <typename T, typename Join>
static void accumulate(ArrayRef<int64_t> shape, const std::vector<T> &from,
                       std::vector<T> &to, StridedOperand where, Join join) {
  SmallVector<int64_t> own = getRowMajorStrides(shape);
  forEachRow<2>(shape, {StridedOperand{0, own}, where},
                [&](std::array<int64_t, 2> offsets,
                    std::array<int64_t, 2> strides, int64_t count) {
                  const T *source = from.data() + offsets[0];
                  T *target = to.data() + offsets[1];
                  for (int64_t i = 0; i < count; ++i)
                    target[i * strides[1]] =
                        join(target[i * strides[1]], source[i * strides[0]]);
                });
}

LogicalResult ReduceOp::evaluate(const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = operands[0].getShape(), axes = getAxes();
  SmallVector<int64_t> kept = getReducedShape(shape, axes, /*keepdims=*/true);
  SmallVector<int64_t> strides = getRowMajorStrides(kept);
  int64_t count = 1;
  for (int64_t axis : axes) {
    strides[axis] = 0;
    count *= shape[axis];
  }

  ReduceKind kind = getKind();
  if (kind == ReduceKind::Max) {
    unsigned width = result.getType().getElementTypeBitWidth();
    llvm::fill(result.floats(), -std::numeric_limits<double>::infinity());
    llvm::fill(result.integers(), llvm::minIntN(width));
    withValues(operands[0], result, [&](const auto &from, auto &to) {
      accumulate(shape, from, to, {0, strides},
                 [](auto x, auto y) { return larger(x, y); });
    });
    return finish(context, std::move(result), results);
  }

  withValues(operands[0], result, [&](const auto &from, auto &to) {
    accumulate(shape, from, to, {0, strides},
               [](auto x, auto y) { return plus(x, y); });
  });
  if (kind == ReduceKind::Mean) {
    if (!result.isFloat() && count == 0)
      return fail(context, emitOpError()
                               << "the mean of no integers is undefined");
    for (double &value : result.floats())
      value /= count;
    for (int64_t &value : result.integers())
      value /= count;
  }
  return finish(context, std::move(result), results);
}

LogicalResult CumsumOp::evaluate(const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = result.getShape();
  int64_t axis = getAxis(), extent = shape[axis];
  int64_t outer = countElements(shape.take_front(axis)),
          inner = countElements(shape.drop_front(axis + 1));
  bool exclusive = getExclusive(), reverse = getReverse();
  withValues(operands[0], result, [&](const auto &from, auto &to) {
    using T = typename std::decay_t<decltype(to)>::value_type;
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < inner; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < extent; ++k) {
          int64_t at =
              (i * extent + (reverse ? extent - 1 - k : k)) * inner + j;
          T next = plus(sum, from[at]);
          to[at] = exclusive ? sum : next;
          sum = next;
        }
      }
  });
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

/// Calls body(first element) for each row of the last axis.
template <typename Body>
static void forEachLastAxis(ArrayRef<int64_t> shape, Body body) {
  int64_t extent = shape.back(), total = countElements(shape);
  for (int64_t start = 0; start < total; start += extent)
    body(start);
}

LogicalResult SoftmaxOp::evaluate(const EvaluationContext &context,
                                  ArrayRef<HostTensor> operands,
                                  Results &results) {
  HostTensor result = makeResult(*this);
  int64_t extent = result.getShape().back();
  forEachLastAxis(result.getShape(), [&](int64_t start) {
    const double *x = operands[0].floats().data() + start;
    double *y = result.floats().data() + start;
    double maximum =
        std::accumulate(x, x + extent, -std::numeric_limits<double>::infinity(),
                        [](double a, double b) { return larger(a, b); });
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i)
      sum += y[i] = std::exp(x[i] - maximum);
    for (int64_t i = 0; i < extent; ++i)
      y[i] /= sum;
  });
  return finish(context, std::move(result), results);
}

LogicalResult RmsNormOp::evaluate(const EvaluationContext &context,
                                  ArrayRef<HostTensor> operands,
                                  Results &results) {
  HostTensor result = makeResult(*this);
  int64_t extent = result.getShape().back();
  double epsilon = getEpsilon().convertToDouble();
  Type element = result.getType().getElementType();
  const std::vector<double> &weight = operands[1].floats();
  forEachLastAxis(result.getShape(), [&](int64_t start) {
    const double *x = operands[0].floats().data() + start;
    double *y = result.floats().data() + start;
    double sum = 0;
    for (int64_t i = 0; i < extent; ++i)
      sum += x[i] * x[i];
    double scale = 1 / std::sqrt(sum / extent + epsilon);
    for (int64_t i = 0; i < extent; ++i)
      y[i] = roundUnlessExact(context, x[i] * scale, element) * weight[i];
  });
  return finish(context, std::move(result), results);
}

LogicalResult RopeOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor> operands,
                               Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> shape = result.getShape();
  Type element = result.getType().getElementType();
  int64_t half = shape.back() / 2;
  SmallVector<int64_t> own = getRowMajorStrides(shape);
  SmallVector<int64_t> cosineStrides =
      getBroadcastStrides(operands[1].getShape(), shape);
  SmallVector<int64_t> sineStrides =
      getBroadcastStrides(operands[2].getShape(), shape);
  const double *x = operands[0].floats().data();
  const double *cosine = operands[1].floats().data(),
               *sine = operands[2].floats().data();
  double *y = result.floats().data();
  // Without the last axis: each index is one row.
  SmallVector<int64_t> rows(shape.drop_back());
  auto drop = [](ArrayRef<int64_t> strides) { return strides.drop_back(); };
  forEachRow<3>(rows,
                {StridedOperand{0, drop(own)},
                 StridedOperand{0, drop(cosineStrides)},
                 StridedOperand{0, drop(sineStrides)}},
                [&](std::array<int64_t, 3> offsets,
                    std::array<int64_t, 3> strides, int64_t count) {
                  for (int64_t row = 0; row < count; ++row) {
                    int64_t start = offsets[0] + row * strides[0];
                    int64_t cosineStart = offsets[1] + row * strides[1],
                            sineStart = offsets[2] + row * strides[2];
                    for (int64_t i = 0; i < 2 * half; ++i) {
                      double turned =
                          i < half ? -x[start + i + half] : x[start + i - half];
                      double c = cosine[cosineStart + i * cosineStrides.back()],
                             s = sine[sineStart + i * sineStrides.back()];
                      y[start + i] =
                          roundUnlessExact(context, x[start + i] * c, element) +
                          roundUnlessExact(context, turned * s, element);
                    }
                  }
                });
  return finish(context, std::move(result), results);
}

LogicalResult CrossEntropyOp::evaluate(const EvaluationContext &context,
                                       ArrayRef<HostTensor> operands,
                                       Results &results) {
  HostTensor result = makeResult(*this);
  int64_t rows = operands[0].getShape()[0], classes = operands[0].getShape()[1];
  std::optional<int64_t> ignored = getIgnoreIndex();
  double sum = 0;
  int64_t valid = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t label = operands[1].integers()[row];
    if (label == ignored)
      continue;
    if (label < 0 || label >= classes)
      return fail(context, emitOpError()
                               << "label " << label << " of row " << row
                               << " is out of range: there are " << classes
                               << " classes");
    const double *logits = operands[0].floats().data() + row * classes;
    double maximum = *std::max_element(logits, logits + classes);
    double exponentials = 0;
    for (int64_t i = 0; i < classes; ++i)
      exponentials += std::exp(logits[i] - maximum);
    sum += std::log(exponentials) + maximum - logits[label];
    ++valid;
  }
  result.floats()[0] = sum / valid; // 0 / 0 is the NaN that PyTorch gives
  return finish(context, std::move(result), results);
}
