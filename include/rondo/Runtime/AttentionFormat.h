//===- AttentionFormat.h - The workspace of attention calls -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much memory the calls Attention and AttentionGrad of a program may use
// beside their operands, and how the gradient is cut into blocks so that it is
// enough. Shared by the compiler and the runtime; it needs nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_ATTENTIONFORMAT_H
#define RONDO_RUNTIME_ATTENTIONFORMAT_H

#include <algorithm>
#include <cstdint>

namespace rondo::runtime {

/// program.fbs, table Attention.
struct AttentionSizes {
  int64_t batch = 0, heads = 0, keyHeads = 0;
  int64_t rows = 0, keys = 0;
  int64_t depth = 0, valueDepth = 0;
};
/// What one call of the library does of the gradient at most. Rows are cut from
/// the first on. Where keys are cut (never with a window), a block of rows
/// meets those that all of its rows see in blocks from the first key on, and
/// then, if it is causal, as many keys as it has rows, the square on the
/// diagonal. Otherwise it meets at once all keys that one of its rows sees.
struct AttentionBlock {
  int64_t batch = 0, heads = 0, rows = 0, keys = 0;
  bool operator==(const AttentionBlock &) const = default;
};

constexpr int64_t alignUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// What cuDNN's forward asks for at most: nothing or little, which does not
/// depend on the number of keys.
inline uint64_t attentionBytes(const AttentionSizes &sizes) {
  return (uint64_t)((1 << 20) +
                    16 * sizes.batch * sizes.heads * alignUp(sizes.rows, 128));
}

/// What cuDNN's deterministic backward asks for at most. Before version 9.25 on
/// Hopper it writes the scores' cotangents down, two bytes each; dK and dV of
/// every head and a few numbers a row are small beside them.
inline uint64_t attentionGradBytes(const AttentionSizes &sizes,
                                   const AttentionBlock &block) {
  int64_t rows = alignUp(block.rows, 128), keys = alignUp(block.keys, 128);
  int64_t perHead = 2 * rows * keys + 16 * rows;
  if (sizes.heads != sizes.keyHeads)
    perHead += 4 * keys * (sizes.depth + sizes.valueDepth);
  return (uint64_t)((1 << 20) + block.batch * block.heads * perHead);
}

/// Offsets in the gradient's workspace, in bytes; 0: there is none.
struct AttentionWorkspace {
  uint64_t statistics = 0; ///< Of one block, f32, where they are not packed.
  /// Of one block, two bytes an element.
  uint64_t queryPart = 0, keyPart = 0, valuePart = 0;
  /// f32: of a block of rows, of all keys.
  uint64_t querySum = 0, keySum = 0, valueSum = 0;
  uint64_t bytes = 0;
};
/// Whether a block's statistics lie one after the other among all.
inline bool isPacked(const AttentionSizes &sizes, const AttentionBlock &block) {
  return block.rows == sizes.rows &&
         (block.batch == 1 || block.heads == sizes.heads);
}
/// Everything is [batch, heads or key heads, rows or keys, columns] of a block.
/// Several blocks of keys give parts of one dQ, several of rows parts of one dK
/// and dV.
inline AttentionWorkspace layOutAttention(const AttentionSizes &sizes,
                                          const AttentionBlock &block,
                                          uint64_t libraryBytes) {
  AttentionWorkspace workspace;
  workspace.bytes = libraryBytes;
  auto take = [&](int64_t elements, int64_t bytes) {
    uint64_t begin = (workspace.bytes + 255) / 256 * 256;
    workspace.bytes = begin + (uint64_t)(elements * bytes);
    return begin;
  };
  int64_t heads = block.batch * block.heads,
          keyHeads = heads / (sizes.heads / sizes.keyHeads);
  if (!isPacked(sizes, block))
    workspace.statistics = take(heads * block.rows, 4);
  if (block.keys < sizes.keys) {
    workspace.queryPart = take(heads * block.rows * sizes.depth, 2);
    workspace.querySum = take(heads * block.rows * sizes.depth, 4);
  }
  if (block.rows < sizes.rows) {
    workspace.keyPart = take(keyHeads * block.keys * sizes.depth, 2);
    workspace.valuePart = take(keyHeads * block.keys * sizes.valueDepth, 2);
    workspace.keySum = take(keyHeads * sizes.keys * sizes.depth, 4);
    workspace.valueSum = take(keyHeads * sizes.keys * sizes.valueDepth, 4);
  }
  return workspace;
}

/// The largest blocks whose scores' cotangents take about `limit` bytes: whole
/// batches, else whole heads, else squares of the heads that share a key head
/// (at least 128 x 128), so that parts are added only where nothing else helps.
/// With a window, which a square does not know its part of, rows and all keys.
inline AttentionBlock chooseAttentionBlock(const AttentionSizes &sizes,
                                           bool hasWindow, int64_t limit) {
  int64_t head = 2 * alignUp(sizes.rows, 128) * alignUp(sizes.keys, 128);
  int64_t fitting = limit / head, group = sizes.heads / sizes.keyHeads;
  auto divisor = [](int64_t number, int64_t most) {
    int64_t result = std::clamp<int64_t>(most, 1, number);
    while (number % result)
      --result;
    return result;
  };
  if (fitting >= sizes.heads)
    return {divisor(sizes.batch, fitting / sizes.heads), sizes.heads,
            sizes.rows, sizes.keys};
  if (fitting >= group)
    return {1, group * divisor(sizes.keyHeads, fitting / group), sizes.rows,
            sizes.keys};
  int64_t area = limit / (2 * group), most = 128;
  auto fits = [&](int64_t rows) {
    return rows * (hasWindow ? alignUp(sizes.keys, 128) : rows) <= area;
  };
  while (fits(most + 128))
    most += 128;
  int64_t count = (sizes.rows + most - 1) / most;
  int64_t rows =
      std::min(sizes.rows, alignUp((sizes.rows + count - 1) / count, 128));
  // One row and one key are no problem for cuDNN.
  if (sizes.rows % rows == 1)
    rows += 128;
  int64_t keys = rows;
  if (hasWindow)
    keys = sizes.keys;
  else if (rows == sizes.rows)
    keys = std::max(rows, area / alignUp(rows, 128) / 128 * 128);
  return {1, group, rows, std::min(keys, sizes.keys)};
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_ATTENTIONFORMAT_H
