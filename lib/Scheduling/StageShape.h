//===- StageShape.h - What a stage does for one micro-batch -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The launches of a stage and the values they touch, once for all of its slots.
// Everything follows from the argument lists of the entries: what a stage reads
// and does not make, it uploads; what another stage uploads, it downloads.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_STAGESHAPE_H
#define RONDO_LIB_SCHEDULING_STAGESHAPE_H

#include "rondo/Scheduling/Plan.h"
#include "rondo/Scheduling/Schedule.h"
#include <compare>
#include <set>

namespace rondo::scheduling::detail {

enum class ValueKind : uint8_t {
  Boundary,  ///< Value `index` entering layer `owner`.
  Saved,     ///< Saved value `index` of layer `owner`.
  Cotangent, ///< Cotangent of Boundary(owner, index).
  Side,      ///< Model input `owner`.
  Seed,
  Loss,
  Parameters, ///< Block `owner`.
  Gradient,   ///< Gradient of block `owner` by its use in layer `index`.
  Scratch,    ///< Of launch `owner`.
};

struct ValueKey {
  ValueKind kind = ValueKind::Boundary;
  uint32_t owner = 0;
  uint32_t index = 0;
  auto operator<=>(const ValueKey &) const = default;
};

struct StageValue {
  ValueKey key;
  uint64_t bytes = 0;
  bool uploaded =
      false; ///< From pinned memory, for each micro-batch (Parameters: once).
  bool downloaded = false; ///< To pinned memory, for each micro-batch
                           ///< (Gradient: after the last).
  bool shared = false;     ///< Parameters of several layers, small beside the
                           ///< stage's, of which some are needed later, but not
                           ///< for as long.
  uint32_t firstUse = 0;   ///< Launches.
  uint32_t lastUse = 0;
  bool local() const { ///< Touched by launches alone.
    return !uploaded && !downloaded;
  }
};

struct Use {
  uint32_t value = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  Access access = Access::Read;
};

struct LaunchShape {
  uint32_t layer = 0;
  const EntryCost *entry = nullptr;
  std::string name; ///< The entry's symbol in the body.
  std::vector<Use> operands;
};

struct StageShape {
  std::vector<StageValue> values; ///< In order of first use.
  std::vector<LaunchShape> launches;
};

/// The shape of one stage; `downloaded` is set only for losses and gradients.
StageShape buildStageShape(const Model &model, const std::vector<SaveSet> &keep,
                           const std::vector<SaveSet> &save,
                           const Stage &stage);

/// Marks what the stages download for each other. Fails if a stage uploads what
/// no stage makes.
Outcome connectStages(const Model &model, const std::vector<Stage> &stages,
                      std::vector<StageShape> &shapes);

/// "input 0 of layer 'x'".
std::string describeValue(const Model &model, const ValueKey &key);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_STAGESHAPE_H
