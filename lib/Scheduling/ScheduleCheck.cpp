//===- ScheduleCheck.cpp - Is a schedule well formed? ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <cmath>

using namespace rondo::scheduling;

/// Which spaces an op of this lane can reach, and whether it may be there at
/// all.
static std::string checkOp(const Schedule &schedule, const Op &op) {
  bool host = isHostLane(op.lane);
  if (host != (op.device < 0))
    return host ? "is on a host lane, yet names a device"
                : "is on a device lane, but names no device";
  if (!host && (uint32_t)op.device >= schedule.devices)
    return "is on device " + std::to_string(op.device) + " of " +
           std::to_string(schedule.devices);
  if (!(op.duration >= 0 && std::isfinite(op.duration)))
    return "has no valid time";
  bool copies = op.kind == OpKind::Upload || op.kind == OpKind::Download;
  if (copies &&
      (op.operands.size() != 2 || op.operands[0].bytes != op.operands[1].bytes))
    return "is a copy: it needs a source and a destination of the same size";
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Operand &operand = op.operands[i];
    std::string where = "operand " + std::to_string(i) + " ";
    if (operand.buffers.empty())
      return where + "names no buffer";
    for (uint32_t index : operand.buffers) {
      if (index >= schedule.buffers.size())
        return where + "names buffer " + std::to_string(index) + " of " +
               std::to_string(schedule.buffers.size());
      const Buffer &buffer = schedule.buffers[index];
      if (operand.offset > buffer.bytes ||
          operand.bytes > buffer.bytes - operand.offset)
        return where + "reaches over the end of '" + buffer.name + "' (" +
               std::to_string(buffer.bytes) + " bytes)";
      bool device = buffer.space == Space::Device;
      if (host ? device : !device && !copies)
        return where + "is '" + buffer.name + "' in " +
               detail::spaceName(buffer.space) +
               " memory, out of reach of lane " + detail::laneName(op.lane);
      if (copies && device != ((op.kind == OpKind::Upload) == (i == 1)))
        return where + "is on the wrong side of the copy";
      if (copies && buffer.space == Space::Host)
        return where + "is '" + buffer.name + "', which is not pinned";
      if (buffer.computeOnly && op.lane != LaneKind::Compute)
        return where + "is '" + buffer.name +
               "', which only the compute lane may touch";
    }
  }
  return "";
}

Outcome detail::checkSchedule(const Schedule &schedule) {
  Outcome outcome;
  auto complain = [&](std::string message) {
    outcome.ok = false;
    outcome.messages.push_back(std::move(message));
  };
  if (schedule.devices == 0)
    complain("the schedule has no devices");
  else if (schedule.rotation >= schedule.devices)
    complain("the schedule rotates by " + std::to_string(schedule.rotation) +
             " of " + std::to_string(schedule.devices) + " devices");
  for (const Buffer &buffer : schedule.buffers)
    if (buffer.computeOnly && buffer.space != Space::Device)
      complain(
          "buffer '" + buffer.name +
          "' is touched by the compute lane alone, but is not on a device");
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    std::string problem = checkOp(schedule, op);
    if (!problem.empty())
      complain("'" + op.name + "' " + problem);
    for (const Wait &wait : op.waits)
      if (wait.op >= schedule.ops.size())
        complain("'" + op.name + "' waits for operation " +
                 std::to_string(wait.op) + " of " +
                 std::to_string(schedule.ops.size()));
      else if (wait.distance == 0 && wait.op >= i)
        complain("'" + op.name + "' waits for '" + schedule.ops[wait.op].name +
                 "', which is issued later");
  }
  if (outcome && schedule.period != computePeriod(schedule))
    complain("the schedule says that it repeats after " +
             std::to_string(schedule.period) +
             " iterations, but it does after " +
             std::to_string(computePeriod(schedule)));
  return outcome;
}
