//===- DeviceUpdates.h - Pieces of optimizer state --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_DEVICEUPDATES_H
#define RONDO_LIB_SCHEDULING_DEVICEUPDATES_H

#include "rondo/Scheduling/Model.h"

namespace rondo::scheduling::detail {

/// A trainable parameter's place in its block, bytes.
struct StateMember {
  uint64_t state = 0, stateBytes = 0; ///< In gradient, moments, f32 master.
  uint64_t copy = 0, copyBytes = 0;   ///< In the upload copy.
};

/// What is updated at once: parameters side by side, or a part of one.
struct StatePiece {
  uint64_t state = 0, stateBytes = 0;
  uint64_t copy = 0, copyBytes = 0;
  uint32_t slices = 0; ///< Parameters, whole or in part.
};

/// Large parameters are cut at multiples of this many elements, so that pieces
/// of any type begin at multiples of 256 bytes.
constexpr uint64_t kPieceElements = 128;

/// Elements of the largest piece: two sets of a piece's buffers take about
/// Model::updateBytes.
uint64_t pieceElements(const Model &model);
/// The block's pieces, in order of gradient offset.
std::vector<StatePiece> cutState(const Model &model, uint32_t block);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_DEVICEUPDATES_H
