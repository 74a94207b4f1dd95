//===- Support.h - Words and small sums of the planner ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_SUPPORT_H
#define RONDO_LIB_SCHEDULING_SUPPORT_H

#include "rondo/Scheduling/Problems.h"
#include <string>

namespace rondo::scheduling::detail {

/// Every buffer starts at a multiple of this: what libraries want of their
/// operands, and whole cache lines and sectors for copies.
constexpr uint64_t kAlignment = 256;

inline uint64_t alignUp(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// "1536 bytes", "25769803776 bytes (24.00 GiB)".
std::string formatBytes(uint64_t bytes);
/// "1 layer", "2 layers".
std::string counted(uint64_t number, const std::string &thing);
/// "12.3 ms".
std::string formatTime(double nanoseconds);
const char *laneName(LaneKind lane);
const char *spaceName(Space space);
const char *stageName(StageKind kind);

/// Iterations after which the operands' turns repeat, whatever the rotation.
uint64_t leastCommonMultiple(uint64_t a, uint64_t b);
/// After how many iterations all maps of a schedule repeat.
uint32_t computePeriod(const Schedule &schedule);

/// The first layer with something to train: backward ends there. The number of
/// layers if nothing trains.
uint32_t firstBackwardLayer(const Model &model);

/// Is the model well formed, whatever the plan? All complaints at once.
Outcome checkModel(const Model &model);
/// Has every layer the entries that keeping `keep` and saving `save` needs?
Outcome checkEntries(const Model &model, const std::vector<SaveSet> &keep,
                     const std::vector<SaveSet> &save);

/// Well-formedness of a schedule's operands: what the fence and the memory
/// problem both stand on.
Outcome checkSchedule(const Schedule &schedule);

inline const Buffer &bufferAt(const Schedule &schedule, const Operand &operand,
                              uint64_t iteration, uint32_t &index) {
  index = operand.buffers[(iteration + operand.phase) % operand.buffers.size()];
  return schedule.buffers[index];
}

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_SUPPORT_H
