//===- GpuShape.h - How a fused kernel spreads over a GPU ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order in which a row is summed follows from its length alone, that of
// columns from their length and number, so that every kernel that computes a
// value gives it the same bits.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_GPUSHAPE_H
#define RONDO_LIB_TARGET_GPUSHAPE_H

#include "rondo/Dialect/Kern/Kern.h"
#include <array>

namespace rondo::gpu {

constexpr int64_t kWarp = 32;
/// Of shared memory that holds one value of any type.
constexpr int64_t kSlotBytes = 8;

enum class Style {
  Elementwise, ///< A thread takes `width` elements of the last axis at a time.
  WarpRows,    ///< A warp takes a row, or each half or smaller part of it.
  BlockRows,   ///< A block takes a row.
  Columns, ///< A thread takes `width` columns of every `groups`th row of one of
           ///< `parts`.
};

struct Shape {
  Style style = Style::Elementwise;
  int64_t vectorAxis = 0; ///< The last axis; of columns the last but one.
  int64_t begin = 0;      ///< Of the vector axis where it is the first, which
  int64_t extent = 0;     ///< a call may run a part of.
  /// Axes before it, from the one that changes least from thread to thread.
  llvm::SmallVector<int64_t> order;
  int64_t width = 1;       ///< Elements that a thread takes at a time.
  int64_t items = 0;       ///< Vectors, rows, or vectors of columns in all.
  int64_t threads = 0;     ///< That share a row, or columns side by side.
  int64_t chunks = 0;      ///< Vectors of a row that one thread takes.
  int64_t groups = 1;      ///< Rows of a column kernel go round these,
  int64_t parts = 1;       ///< in each part, which a block of its own takes.
  bool isUnrolled = false; ///< Rows: their elements stay in registers.
  std::array<uint32_t, 3> block{1, 1, 1}, grid{1, 1, 1};
  /// By operand, inputs first: accesses of 16 bytes, or of all `width` elements
  /// where those are fewer.
  llvm::SmallVector<bool> isWide;
};

Shape getShape(kern::FusedOp op);

} // namespace rondo::gpu

#endif // RONDO_LIB_TARGET_GPUSHAPE_H
