//===- Segments.h - Groups segments into layers -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_SEGMENTS_H
#define RONDO_LIB_DIALECT_PIPE_SEGMENTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace rondo::pipe {

/// What lies between two cuts of the loss function.
struct Segment {
  int64_t kind = 0;     ///< Segments of equal kind have the same operations.
  int64_t products = 0; ///< Contractions in it.
  int64_t lookups = 0;  ///< Embedding look-ups in it.
};

/// Groups consecutive segments into layers and gives the number of segments up
/// to the end of each. A run of segments that repeats, with products in it,
/// gives layers of one repetition each; of several such runs the one with most
/// products is taken first, then those of what is left on either side. What is
/// in no run is cut before each product; segments without products or look-ups
/// join a neighbour, if possible one that is not in a run.
llvm::SmallVector<int64_t> groupSegments(llvm::ArrayRef<Segment> segments);

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_SEGMENTS_H
