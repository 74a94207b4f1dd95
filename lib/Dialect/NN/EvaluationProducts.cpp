//===- EvaluationProducts.cpp - Reference evaluation of products ----------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace rondo::nn;

using Results = SmallVectorImpl<HostTensor>;

//===----------------------------------------------------------------------===//
// Matrix product
//===----------------------------------------------------------------------===//

namespace {
/// A matrix in memory: element (i, j) lies at i * rowStride + j * columnStride.
struct Matrix {
  const double *data;
  int64_t rowStride, columnStride;
};
} // namespace

static Matrix makeMatrix(const double *data, int64_t rows, int64_t columns,
                         bool transposed) {
  if (transposed)
    return {data, 1, rows};
  return {data, columns, 1};
}

/// c[m, n] = a[m, k] b[k, n]; the innermost loop runs along b's memory.
static void multiply(Matrix a, Matrix b, double *c, int64_t m, int64_t n,
                     int64_t k) {
  for (int64_t i = 0; i < m; ++i) {
    const double *left = a.data + i * a.rowStride;
    double *row = c + i * n;
    if (b.rowStride == 1) {
      for (int64_t j = 0; j < n; ++j) {
        const double *right = b.data + j * b.columnStride;
        double sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum += left[p * a.columnStride] * right[p];
        row[j] = sum;
      }
      continue;
    }
    for (int64_t p = 0; p < k; ++p) {
      double factor = left[p * a.columnStride];
      const double *right = b.data + p * b.rowStride;
      for (int64_t j = 0; j < n; ++j)
        row[j] += factor * right[j];
    }
  }
}

LogicalResult MatmulOp::evaluate(const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  ArrayRef<int64_t> lhs = operands[0].getShape(), rhs = operands[1].getShape(),
                    out = result.getShape();
  int64_t m = out[out.size() - 2], n = out.back();
  int64_t k = getTransposeLhs() ? lhs[lhs.size() - 2] : lhs.back();
  int64_t batches = countElements(out.drop_back(2));
  int64_t rhsSize = k * n;
  if (rhs.size() == 2) {
    // One right-hand side for all: one long left-hand side (never transposed
    // then, unless there is a single batch).
    m *= batches;
    batches = 1;
  }
  for (int64_t batch = 0; batch < batches; ++batch) {
    Matrix a = makeMatrix(operands[0].floats().data() + batch * m * k, m, k,
                          getTransposeLhs());
    Matrix b = makeMatrix(operands[1].floats().data() + batch * rhsSize, k, n,
                          getTransposeRhs());
    double *c = result.floats().data() + batch * m * n;
    multiply(a, b, c, m, n, k);
    for (int64_t i = 0; getBias() && i < m * n; ++i)
      c[i] += operands[2].floats()[i % n];
  }
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// The extents of one attention, and which keys a query sees.
struct AttentionShape {
  int64_t batches, heads, keyHeads, queries, keys, size, valueSize;
  double scale;
  bool causal;
  std::optional<int64_t> window;
  bool rowsFirst;

  template <typename AttentionLikeOp>
  static AttentionShape get(AttentionLikeOp op) {
    auto query = cast<RankedTensorType>(op.getQuery().getType());
    auto value = cast<RankedTensorType>(op.getValue().getType());
    return {query.getDimSize(0), query.getDimSize(1),
            value.getDimSize(1), query.getDimSize(2),
            value.getDimSize(2), query.getDimSize(3),
            value.getDimSize(3), op.getScale().convertToDouble(),
            op.getCausal(),      op.getWindow(),
            op.getRowsFirst()};
  }
  /// Query `i` sees keys [firstKey(i), endKey(i)), besides what a mask hides.
  int64_t firstKey(int64_t i) const {
    return window ? std::max<int64_t>(0, i + (keys - queries) - *window + 1)
                  : 0;
  }
  int64_t endKey(int64_t i) const {
    return causal ? std::clamp<int64_t>(i + (keys - queries) + 1, 0, keys)
                  : keys;
  }
  /// The key head of query head `h` of batch `b`, counted over all batches.
  int64_t keyHead(int64_t b, int64_t h) const {
    return b * keyHeads + h / (heads / keyHeads);
  }
};

/// Where rows of [b, `heads`, `length`, ...] lie, or of [b, `length`, `heads`,
/// ...].
struct RowOrder {
  int64_t heads, length;
  bool rowsFirst;
  int64_t at(int64_t b, int64_t h, int64_t i) const {
    return rowsFirst ? (b * length + i) * heads + h
                     : (b * heads + h) * length + i;
  }
};
} // namespace

static double dot(const double *a, const double *b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    sum += a[i] * b[i];
  return sum;
}

LogicalResult AttentionOp::evaluate(const EvaluationContext &context,
                                    ArrayRef<HostTensor> operands,
                                    Results &results) {
  AttentionShape shape = AttentionShape::get(*this);
  HostTensor result = makeResult(*this, 0), statistics = makeResult(*this, 1);
  const HostTensor *mask = operands.size() > 3 ? &operands[3] : nullptr;
  SmallVector<int64_t> maskStrides(4, 0);
  if (mask)
    maskStrides =
        getBroadcastStrides(mask->getShape(), {shape.batches, shape.heads,
                                               shape.queries, shape.keys});
  RowOrder order{shape.heads, shape.queries, shape.rowsFirst};
  std::vector<double> scores(shape.keys);
  constexpr double unseen = -std::numeric_limits<double>::infinity();
  double hidden = unseen;
  if (std::optional<APFloat> fill = getFill())
    hidden = fill->convertToDouble();
  for (int64_t b = 0; b < shape.batches; ++b)
    for (int64_t h = 0; h < shape.heads; ++h) {
      const double *key = operands[1].floats().data() +
                          shape.keyHead(b, h) * shape.keys * shape.size;
      const double *value = operands[2].floats().data() +
                            shape.keyHead(b, h) * shape.keys * shape.valueSize;
      for (int64_t i = 0; i < shape.queries; ++i) {
        int64_t row = (b * shape.heads + h) * shape.queries + i;
        const double *query = operands[0].floats().data() + row * shape.size;
        int64_t first = shape.firstKey(i), end = shape.endKey(i);
        int64_t maskRow =
            b * maskStrides[0] + h * maskStrides[1] + i * maskStrides[2];
        double maximum = unseen;
        for (int64_t j = first; j < end; ++j) {
          double score =
              shape.scale * dot(query, key + j * shape.size, shape.size);
          int64_t at = maskRow + j * maskStrides[3];
          if (mask && mask->isFloat())
            score += mask->floats()[at];
          else if (mask && !mask->integers()[at])
            score = hidden;
          scores[j] = score;
          if (score > maximum || std::isnan(score))
            maximum = score;
        }
        double *out =
            result.floats().data() + order.at(b, h, i) * shape.valueSize;
        if (maximum == unseen) { // sees nothing: the result stays 0
          statistics.floats()[row] = unseen;
          if (getUnguarded())
            std::fill_n(out, shape.valueSize,
                        std::numeric_limits<double>::quiet_NaN());
          continue;
        }
        double sum = 0;
        for (int64_t j = first; j < end; ++j) {
          double weight = std::exp(scores[j] - maximum);
          sum += weight;
          for (int64_t d = 0; d < shape.valueSize; ++d)
            out[d] += weight * value[j * shape.valueSize + d];
        }
        for (int64_t d = 0; d < shape.valueSize; ++d)
          out[d] /= sum;
        statistics.floats()[row] = maximum + std::log(sum);
      }
    }
  if (failed(finish(context, std::move(result), results)))
    return failure();
  return finish(context, std::move(statistics), results);
}

/// With P the probabilities: dV = P^T dO, dP = dO V^T, dS = P (dP - rowsum(dO
/// O)), dQ = scale dS K, dK = scale dS^T Q.
LogicalResult AttentionGradOp::evaluate(const EvaluationContext &context,
                                        ArrayRef<HostTensor> operands,
                                        Results &results) {
  AttentionShape shape = AttentionShape::get(*this);
  HostTensor dQuery = makeResult(*this, 0), dKey = makeResult(*this, 1),
             dValue = makeResult(*this, 2);
  RowOrder order{shape.heads, shape.queries, shape.rowsFirst},
      keyOrder{shape.keyHeads, shape.keys, shape.rowsFirst};
  for (int64_t b = 0; b < shape.batches; ++b)
    for (int64_t h = 0; h < shape.heads; ++h) {
      int64_t keyStart = shape.keyHead(b, h) * shape.keys * shape.size;
      int64_t valueStart = shape.keyHead(b, h) * shape.keys * shape.valueSize;
      const double *key = operands[1].floats().data() + keyStart;
      const double *value = operands[2].floats().data() + valueStart;
      for (int64_t i = 0; i < shape.queries; ++i) {
        int64_t row = (b * shape.heads + h) * shape.queries + i;
        const double *query = operands[0].floats().data() + row * shape.size;
        int64_t ordered = order.at(b, h, i);
        const double *out =
            operands[3].floats().data() + ordered * shape.valueSize;
        const double *dOut =
            operands[5].floats().data() + ordered * shape.valueSize;
        double statistic = operands[4].floats()[row];
        double delta = dot(dOut, out, shape.valueSize);
        for (int64_t j = shape.firstKey(i), end = shape.endKey(i); j < end;
             ++j) {
          const double *keyRow = key + j * shape.size;
          double probability = std::exp(
              shape.scale * dot(query, keyRow, shape.size) - statistic);
          int64_t keyRowAt =
              keyOrder.at(b, h / (shape.heads / shape.keyHeads), j);
          double *dValueRow =
              dValue.floats().data() + keyRowAt * shape.valueSize;
          for (int64_t d = 0; d < shape.valueSize; ++d)
            dValueRow[d] += probability * dOut[d];
          double dScore =
              shape.scale * probability *
              (dot(dOut, value + j * shape.valueSize, shape.valueSize) - delta);
          double *dQueryRow = dQuery.floats().data() + ordered * shape.size;
          double *dKeyRow = dKey.floats().data() + keyRowAt * shape.size;
          for (int64_t d = 0; d < shape.size; ++d) {
            dQueryRow[d] += dScore * keyRow[d];
            dKeyRow[d] += dScore * query[d];
          }
        }
      }
    }
  if (failed(finish(context, std::move(dQuery), results)) ||
      failed(finish(context, std::move(dKey), results)))
    return failure();
  return finish(context, std::move(dValue), results);
}
