//===- Attention.cpp - Attention on the host ------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "../Convert.h"
#include "Gemm.h"
#include <cmath>
#include <limits>

using namespace rondo;
using namespace rondo::runtime;
using Matrix = AttentionShape::Matrix;

/// Rows whose scores are in memory at once.
constexpr int64_t kRows = 128;

AttentionShape
rondo::runtime::attentionShape(const program::Attention &attention,
                               bool isGradient) {
  AttentionShape shape;
  shape.sizes = {attention.batch(),      attention.heads(),
                 attention.key_heads(),  attention.rows(),
                 attention.keys(),       attention.depth(),
                 attention.value_depth()};
  shape.isGradient = isGradient;
  shape.scale = attention.scale();
  shape.causal = attention.causal();
  shape.window = attention.window();
  shape.type = attention.type();
  for (uint32_t i = 0; i < (isGradient ? 8u : 4u); ++i)
    shape.strides[i] = {attention.strides()->Get(3 * i),
                        attention.strides()->Get(3 * i + 1),
                        attention.strides()->Get(3 * i + 2)};
  shape.block = {attention.block_batch(), attention.block_heads(),
                 attention.block_rows(), attention.block_keys()};
  shape.libraryBytes = attention.library_bytes();
  shape.workspaceBytes = attention.workspace_bytes();
  return shape;
}

namespace {

/// One call's work, head by head.
class Runner {
public:
  Runner(const AttentionShape &shape, std::byte *const *addresses,
         float *scratch)
      : shape(shape), sizes(shape.sizes), addresses(addresses) {
    int64_t rows = std::min(kRows, sizes.rows);
    auto take = [&](int64_t lines, int64_t columns) {
      float *begin = scratch;
      scratch += lines * columns;
      return begin;
    };
    query = take(rows, sizes.depth);
    key = take(sizes.keys, sizes.depth);
    value = take(sizes.keys, sizes.valueDepth);
    result = take(rows, sizes.valueDepth);
    scores = take(rows, sizes.keys);
    if (shape.isGradient) {
      cotangent = take(rows, sizes.valueDepth);
      changes = take(rows, sizes.keys);
      queryGradient = take(rows, sizes.depth);
      keyGradient = take(sizes.keys, sizes.depth);
      valueGradient = take(sizes.keys, sizes.valueDepth);
    }
  }

  void run() {
    int64_t group = sizes.heads / sizes.keyHeads;
    for (int64_t batch = 0; batch < sizes.batch; ++batch)
      for (int64_t head = 0; head < sizes.heads; ++head) {
        int64_t keyHead = head / group;
        bool isFirst = head % group == 0, isLast = head % group == group - 1;
        if (isFirst) {
          load(Matrix::Key, batch, keyHead, 0, sizes.keys, sizes.depth, key);
          load(Matrix::Value, batch, keyHead, 0, sizes.keys, sizes.valueDepth,
               value);
        }
        if (shape.isGradient && isFirst) {
          std::fill_n(keyGradient, sizes.keys * sizes.depth, 0.0f);
          std::fill_n(valueGradient, sizes.keys * sizes.valueDepth, 0.0f);
        }
        for (int64_t row = 0; row < sizes.rows; row += kRows)
          shape.isGradient ? backward(batch, head, row)
                           : forward(batch, head, row);
        if (shape.isGradient && isLast) {
          store(Matrix::KeyGradient, batch, keyHead, 0, sizes.keys, sizes.depth,
                keyGradient);
          store(Matrix::ValueGradient, batch, keyHead, 0, sizes.keys,
                sizes.valueDepth, valueGradient);
        }
      }
  }

private:
  std::byte *line(Matrix matrix, int64_t batch, int64_t head,
                  int64_t row) const {
    const AttentionShape::Strides &strides = shape.strides[matrix];
    return addresses[attentionAddress(matrix)] +
           2 * (batch * strides.batch + head * strides.head +
                row * strides.row);
  }
  void load(Matrix matrix, int64_t batch, int64_t head, int64_t row,
            int64_t rows, int64_t columns, float *target) const {
    for (int64_t i = 0; i < rows; ++i) {
      const std::byte *source = line(matrix, batch, head, row + i);
      for (int64_t j = 0; j < columns; ++j)
        target[i * columns + j] = loadFloat(source, shape.type, (uint64_t)j);
    }
  }
  void store(Matrix matrix, int64_t batch, int64_t head, int64_t row,
             int64_t rows, int64_t columns, const float *source) const {
    for (int64_t i = 0; i < rows; ++i) {
      std::byte *target = line(matrix, batch, head, row + i);
      for (int64_t j = 0; j < columns; ++j)
        storeFloat(target, shape.type, (uint64_t)j, source[i * columns + j]);
    }
  }
  float *statistics(int64_t batch, int64_t head, int64_t row) const {
    return reinterpret_cast<float *>(addresses[kAttentionStatistics]) +
           (batch * sizes.heads + head) * sizes.rows + row;
  }

  void forward(int64_t batch, int64_t head, int64_t row);
  void backward(int64_t batch, int64_t head, int64_t row);

  const AttentionShape &shape;
  const AttentionSizes &sizes;
  std::byte *const *addresses;
  float *query, *key, *value, *result, *scores;
  float *cotangent = nullptr, *changes = nullptr, *queryGradient = nullptr,
        *keyGradient = nullptr, *valueGradient = nullptr;
};

/// The keys that some row of a block sees.
struct Span {
  int64_t rows, begin, keys;
  Span(const AttentionShape &shape, int64_t row) {
    rows = std::min(kRows, shape.sizes.rows - row);
    begin = shape.keyBegin(row);
    keys = shape.keyEnd(row + rows - 1) - begin;
  }
};

} // namespace

/// c = alpha op(a) op(b) + beta c, all packed; m x k times k x n.
static void multiply(bool transposeA, bool transposeB, int64_t m, int64_t n,
                     int64_t k, float alpha, const float *a, const float *b,
                     float beta, float *c) {
  openblasSgemm(transposeA, transposeB, (int)m, (int)n, (int)k, alpha, a,
                (int)(transposeA ? m : k), b, (int)(transposeB ? k : n), beta,
                c, (int)n);
}

void Runner::forward(int64_t batch, int64_t head, int64_t row) {
  Span span(shape, row);
  load(Matrix::Query, batch, head, row, span.rows, sizes.depth, query);
  multiply(false, true, span.rows, span.keys, sizes.depth, shape.scale, query,
           key + span.begin * sizes.depth, 0, scores);
  for (int64_t i = 0; i < span.rows; ++i) {
    float *line = scores + i * span.keys;
    int64_t begin = shape.keyBegin(row + i) - span.begin,
            end = shape.keyEnd(row + i) - span.begin;
    float most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (int64_t j = begin; j < end; ++j)
      most = std::max(most, line[j]);
    for (int64_t j = 0; j < span.keys; ++j) {
      bool isVisible = j >= begin && j < end;
      line[j] = isVisible ? std::exp(line[j] - most) : 0.0f;
      sum += line[j];
    }
    for (int64_t j = begin; j < end; ++j)
      line[j] /= sum;
    *statistics(batch, head, row + i) = most + std::log(sum);
  }
  multiply(false, false, span.rows, sizes.valueDepth, span.keys, 1, scores,
           value + span.begin * sizes.valueDepth, 0, result);
  store(Matrix::Result, batch, head, row, span.rows, sizes.valueDepth, result);
}

void Runner::backward(int64_t batch, int64_t head, int64_t row) {
  Span span(shape, row);
  load(Matrix::Query, batch, head, row, span.rows, sizes.depth, query);
  load(Matrix::Result, batch, head, row, span.rows, sizes.valueDepth, result);
  load(Matrix::Cotangent, batch, head, row, span.rows, sizes.valueDepth,
       cotangent);
  float *keys = key + span.begin * sizes.depth,
        *values = value + span.begin * sizes.valueDepth;
  multiply(false, true, span.rows, span.keys, sizes.depth, shape.scale, query,
           keys, 0, scores);
  multiply(false, true, span.rows, span.keys, sizes.valueDepth, 1, cotangent,
           values, 0, changes);
  for (int64_t i = 0; i < span.rows; ++i) {
    float mean = 0, statistic = *statistics(batch, head, row + i);
    for (int64_t j = 0; j < sizes.valueDepth; ++j)
      mean += cotangent[i * sizes.valueDepth + j] *
              result[i * sizes.valueDepth + j];
    int64_t begin = shape.keyBegin(row + i) - span.begin,
            end = shape.keyEnd(row + i) - span.begin;
    float *weights = scores + i * span.keys, *change = changes + i * span.keys;
    for (int64_t j = 0; j < span.keys; ++j) {
      bool isVisible = j >= begin && j < end;
      weights[j] = isVisible ? std::exp(weights[j] - statistic) : 0.0f;
      change[j] =
          isVisible ? weights[j] * (change[j] - mean) * shape.scale : 0.0f;
    }
  }
  multiply(false, false, span.rows, sizes.depth, span.keys, 1, changes, keys, 0,
           queryGradient);
  store(Matrix::QueryGradient, batch, head, row, span.rows, sizes.depth,
        queryGradient);
  multiply(true, false, span.keys, sizes.depth, span.rows, 1, changes, query, 1,
           keyGradient + span.begin * sizes.depth);
  multiply(true, false, span.keys, sizes.valueDepth, span.rows, 1, scores,
           cotangent, 1, valueGradient + span.begin * sizes.valueDepth);
}

size_t rondo::runtime::attentionScratch(const AttentionShape &shape) {
  const AttentionSizes &sizes = shape.sizes;
  int64_t columns = sizes.depth + sizes.valueDepth,
          elements = std::min(kRows, sizes.rows) * (columns + sizes.keys) +
                     sizes.keys * columns;
  return (size_t)(shape.isGradient ? 2 * elements : elements);
}

void rondo::runtime::runAttention(const AttentionShape &shape,
                                  std::byte *const *addresses,
                                  std::vector<float> &scratch) {
  Runner(shape, addresses, scratch.data()).run();
}
