//===- VerifyAttention.cpp - Whether attention's description is consistent ===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/Attention.h"
#include "ProgramVerifier.h"
#include <cmath>

using namespace rondo;
using namespace rondo::runtime;
using Matrix = AttentionShape::Matrix;

/// Bytes that a matrix spans, rounded up to a whole row's; 0: more than any
/// memory.
static uint64_t spanOf(const AttentionShape::Strides &strides, int64_t batch,
                       int64_t heads, int64_t rows, int64_t columns) {
  uint64_t elements = (uint64_t)columns;
  for (auto [extent, stride] : {std::pair(batch, strides.batch),
                                {heads, strides.head},
                                {rows, strides.row}}) {
    uint64_t step;
    if (__builtin_mul_overflow((uint64_t)(extent - 1), (uint64_t)stride,
                               &step) ||
        __builtin_add_overflow(elements, step, &elements))
      return 0;
  }
  return elements < (uint64_t(1) << 58) ? 2 * elements : 0;
}

std::vector<uint64_t> ProgramVerifier::checkAttention(const program::Call &call,
                                                      const std::string &what) {
  const program::Attention *attention = call.attention();
  bool isGradient = call.kind() == program::CallKind::AttentionGrad;
  uint32_t matrices = isGradient ? 8 : 4;
  if (!attention || sizeOf(attention->strides()) != 3 * matrices) {
    fail("%s: attention with %u strides, not %u", what.c_str(),
         attention ? sizeOf(attention->strides()) : 0, 3 * matrices);
    return {};
  }
  AttentionShape shape = attentionShape(*attention, isGradient);
  const AttentionSizes &sizes = shape.sizes;
  for (int64_t extent : {sizes.batch, sizes.heads, sizes.keyHeads, sizes.rows,
                         sizes.keys, sizes.depth, sizes.valueDepth})
    if (extent < 1 || extent > INT32_MAX) {
      fail("%s: an extent of attention is %lld", what.c_str(),
           (long long)extent);
      return {};
    }
  uint32_t before = count;
  if (sizes.heads % sizes.keyHeads)
    fail("%s: %lld heads, %lld key heads", what.c_str(), (long long)sizes.heads,
         (long long)sizes.keyHeads);
  if (sizes.depth % 8 || sizes.valueDepth % 8)
    fail("%s: rows of %lld and %lld elements, not multiples of 8", what.c_str(),
         (long long)sizes.depth, (long long)sizes.valueDepth);
  if (shape.causal && sizes.rows > sizes.keys)
    fail("%s: causal with %lld rows and %lld keys", what.c_str(),
         (long long)sizes.rows, (long long)sizes.keys);
  if (shape.window < 0 || (shape.window > 0 && !shape.causal))
    fail("%s: a window of %lld, or without causal", what.c_str(),
         (long long)shape.window);
  if (!std::isfinite(shape.scale))
    fail("%s: a scale of %g", what.c_str(), shape.scale);
  if (shape.type != program::ElementType::BF16 &&
      shape.type != program::ElementType::F16)
    fail("%s: attention of element type %d", what.c_str(), (int)shape.type);
  auto isOfKeys = [](uint32_t matrix) {
    return matrix == Matrix::Key || matrix == Matrix::Value ||
           matrix == Matrix::KeyGradient || matrix == Matrix::ValueGradient;
  };
  auto columnsOf = [&](uint32_t matrix) {
    return matrix == Matrix::Query || matrix == Matrix::Key ||
                   matrix == Matrix::QueryGradient ||
                   matrix == Matrix::KeyGradient
               ? sizes.depth
               : sizes.valueDepth;
  };
  std::vector<uint64_t> bytes(isGradient ? 10 : 6);
  for (uint32_t i = 0; i < matrices; ++i) {
    const AttentionShape::Strides &strides = shape.strides[i];
    int64_t columns = columnsOf(i);
    uint64_t span =
        strides.batch < 0 || strides.head < 0 || strides.row < columns ||
                strides.batch % 8 || strides.head % 8 || strides.row % 8
            ? 0
            : spanOf(strides, sizes.batch,
                     isOfKeys(i) ? sizes.keyHeads : sizes.heads,
                     isOfKeys(i) ? sizes.keys : sizes.rows, columns);
    if (span == 0)
      fail("%s: matrix %u has strides %lld, %lld, %lld", what.c_str(), i,
           (long long)strides.batch, (long long)strides.head,
           (long long)strides.row);
    bytes[attentionAddress(i)] = span;
  }
  // Extents of at most 31 bits, the first two bounded by what is written.
  uint64_t lines;
  if (__builtin_mul_overflow((uint64_t)(sizes.batch * sizes.heads),
                             (uint64_t)(4 * sizes.rows), &lines) ||
      lines >= uint64_t(1) << 58)
    fail("%s: %lld x %lld x %lld rows", what.c_str(), (long long)sizes.batch,
         (long long)sizes.heads, (long long)sizes.rows);
  bytes[kAttentionStatistics] = lines;
  bytes.back() = shape.workspaceBytes;
  if (shape.workspaceBytes >= uint64_t(1) << 58)
    fail("%s: a workspace of %llu bytes", what.c_str(),
         (unsigned long long)shape.workspaceBytes);
  if (count != before || !isGradient)
    return count == before ? bytes : std::vector<uint64_t>();
  const AttentionBlock &block = shape.block;
  if (block.batch < 1 || sizes.batch % block.batch || block.heads < 1 ||
      sizes.heads % block.heads ||
      block.heads % (sizes.heads / sizes.keyHeads) || block.rows < 1 ||
      block.rows > sizes.rows || block.keys < 1 || block.keys > sizes.keys ||
      (block.keys < sizes.keys &&
       (shape.window || (shape.causal && block.keys < block.rows))))
    fail("%s: blocks of %lld x %lld x %lld rows x %lld keys of %lld x %lld x "
         "%lld x %lld",
         what.c_str(), (long long)block.batch, (long long)block.heads,
         (long long)block.rows, (long long)block.keys, (long long)sizes.batch,
         (long long)sizes.heads, (long long)sizes.rows, (long long)sizes.keys);
  else if (shape.libraryBytes > shape.workspaceBytes ||
           layOutAttention(sizes, block, shape.libraryBytes).bytes >
               shape.workspaceBytes)
    fail("%s: a workspace of %llu bytes, %llu of them the library's",
         what.c_str(), (unsigned long long)shape.workspaceBytes,
         (unsigned long long)shape.libraryBytes);
  return count == before ? bytes : std::vector<uint64_t>();
}
