//===- Simulator.cpp - Predicted times of a fenced schedule ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes run their ops in issue order, and waits point backwards in it: one pass
// in issue order gives every start exactly, without an event queue. Copies of
// several devices do not slow each other down here.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <algorithm>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

Simulation rondo::scheduling::simulate(Schedule &schedule,
                                       uint32_t iterations) {
  Simulation result;
  uint32_t lanes = schedule.devices * kDeviceLanes + kHostLanes;
  result.laneBusy.assign(lanes, 0);
  if (schedule.ops.empty() || iterations == 0)
    return result;
  size_t count = schedule.ops.size();
  uint32_t reach = 0;
  for (const Op &op : schedule.ops)
    for (const Wait &wait : op.waits)
      reach = std::max(reach, wait.distance);
  // Ends of the ops of the iterations that can still be waited for.
  std::vector<std::vector<double>> ends(reach + 1,
                                        std::vector<double>(count, 0));
  std::vector<double> laneFree(lanes, 0), finished(iterations, 0);
  double last = 0;
  for (uint32_t t = 0; t < iterations; ++t) {
    std::vector<double> &now = ends[t % (reach + 1)];
    for (size_t i = 0; i < count; ++i) {
      Op &op = schedule.ops[i];
      uint32_t lane =
          isHostLane(op.lane)
              ? schedule.devices * kDeviceLanes + laneIndex(op.lane)
              : schedule.physicalDevice(op.device, t) * kDeviceLanes +
                    laneIndex(op.lane);
      double start = laneFree[lane];
      for (const Wait &wait : op.waits)
        if (wait.distance <= t)
          start =
              std::max(start, ends[(t - wait.distance) % (reach + 1)][wait.op]);
      now[i] = laneFree[lane] = start + op.duration;
      last = std::max(last, now[i]);
      if (t == 0)
        op.start = start;
    }
    finished[t] = last;
  }
  // The slope over whole periods in the second half, when the start has died
  // away.
  result.first = finished[0];
  uint32_t half = iterations / 2;
  uint32_t window = iterations - half;
  if (window > schedule.period)
    window -= window % schedule.period;
  result.iteration =
      iterations == 1
          ? finished[0]
          : (finished[iterations - 1] - finished[iterations - 1 - window]) /
                window;
  double busy = 0;
  for (const Op &op : schedule.ops) {
    if (isHostLane(op.lane)) {
      result.laneBusy[schedule.devices * kDeviceLanes + laneIndex(op.lane)] +=
          op.duration;
      continue;
    }
    // An iteration's work is one device's in one iteration, another's in the
    // next: spread over those that take turns.
    uint32_t turns = schedule.period;
    for (uint32_t t = 0; t < turns; ++t)
      result.laneBusy[schedule.physicalDevice(op.device, t) * kDeviceLanes +
                      laneIndex(op.lane)] += op.duration / turns;
    if (op.lane == LaneKind::Compute)
      busy += op.duration;
    if (op.kind == OpKind::Upload)
      result.uploaded += op.operands[1].bytes;
    if (op.kind == OpKind::Download)
      result.downloaded += op.operands[0].bytes;
  }
  if (result.iteration > 0)
    // Not below 0, by a rounding.
    result.bubble =
        std::max(0.0, 1 - busy / (schedule.devices * result.iteration));
  return result;
}
