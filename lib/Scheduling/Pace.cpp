//===- Pace.cpp - A coarse simulation of stages ---------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots in launch order, each on the device that is next in turn: a micro-batch of a slot starts when its device is free, the
// slot's parameters are there and the slot before has sent the micro-batch on. Parameters of a slot travel while the slot before on
// its device runs.
//
//===----------------------------------------------------------------------===//

#include "Pace.h"
#include <algorithm>
#include <numeric>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

double detail::predictPace(const std::vector<StagePace> &stages, const Model &model, uint32_t devices, bool rotate) {
  if (stages.empty() || devices == 0)
    return 0;
  size_t slots = stages.size() * model.rounds;
  bool steady = model.staleness == 1;
  // In steady state slots come around to the same devices after a few
  // iterations: measured are whole turns of that.
  uint32_t turn = rotate ? devices / std::gcd(devices, (uint32_t)(slots % devices)) : 1;
  uint32_t warmUp = steady ? 4 : 0;
  uint32_t measured = steady ? (8 + turn - 1) / turn * turn : 1;
  std::vector<double> free(devices, 0), freeBefore(devices, 0), wire(devices, 0);
  std::vector<double> arrival(model.microBatches, 0);
  double last = 0, atStart = 0;
  size_t next = 0; // the device in turn
  for (uint32_t t = 0; t < warmUp + measured; ++t) {
    if (t == warmUp)
      atStart = last;
    if (!rotate)
      next = 0;
    for (size_t i = 0; i < slots; ++i) {
      const StagePace &stage = stages[i % stages.size()];
      size_t device = next;
      next = next + 1 == devices ? 0 : next + 1;
      if (i % stages.size() == 0)
        std::fill(arrival.begin(), arrival.end(), 0);
      // Double buffering: room for parameters when the slot before the one that runs now is done.
      wire[device] = std::max(wire[device], freeBefore[device]) + stage.parameters;
      freeBefore[device] = free[device];
      double now = std::max(free[device], wire[device]);
      double step = std::max(stage.compute, std::max(stage.up, stage.down));
      for (double &batch : arrival) {
        now = std::max(now, batch + stage.up) + step;
        batch = now + stage.down;
      }
      free[device] = now;
      last = std::max(last, now + stage.gradients);
    }
  }
  return (last - atStart) / measured;
}
