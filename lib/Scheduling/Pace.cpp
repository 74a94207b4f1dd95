//===- Pace.cpp - A coarse simulation of stages ---------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slots in launch order, each on the device that is next in turn: a micro-batch
// of a slot starts when its device is free, the slot's parameters are there and
// the slot before has sent the micro-batch on. Parameters of a slot travel
// while the slot before on its device runs, but not before they are updated;
// with buffers for one slot, not before the launches there are done. A slot
// after one of its stage has them.
//
//===----------------------------------------------------------------------===//

#include "Pace.h"
#include <algorithm>
#include <numeric>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

/// When the parameters of each layer are updated, for the last iterations.
class Updates {
public:
  Updates(const Model &model)
      : model(model), ready(2, std::vector<double>(model.layers.size(), 0)) {}

  /// When iteration t may upload the stage's parameters.
  double readyFor(const StagePace &stage, uint32_t t) const {
    if (t < 1 + model.staleness)
      return 0;
    const std::vector<double> &layers = ready[(t - 1 - model.staleness) % 2];
    return *std::max_element(layers.begin() + stage.begin,
                             layers.begin() + stage.end);
  }

  /// The stage's last gradients of iteration t are in host memory.
  void finish(const StagePace &stage, uint32_t t, double now) {
    std::vector<double> &layers = ready[t % 2];
    if (model.clip) {
      // Nothing is updated before the last gradient is there.
      waiting += stage.update;
      lane = std::max(lane, now);
    } else {
      // Layer by layer, behind the downloads.
      lane = std::max(lane + stage.update,
                      now + stage.update / (stage.end - stage.begin));
    }
    std::fill(layers.begin() + stage.begin, layers.begin() + stage.end, lane);
  }

  void endIteration(uint32_t t) {
    if (!model.clip)
      return;
    lane += waiting;
    waiting = 0;
    std::fill(ready[t % 2].begin(), ready[t % 2].end(), lane);
  }

private:
  const Model &model;
  std::vector<std::vector<double>> ready;
  double lane = 0, waiting = 0;
};

} // namespace

double detail::predictPace(const std::vector<StagePace> &stages,
                           const SlotBuffers &buffers, const Model &model,
                           uint32_t devices, bool rotate) {
  if (stages.empty() || devices == 0)
    return 0;
  size_t slots = stages.size() * model.rounds;
  // Slots come around to the same devices after a few iterations: measured are
  // whole turns of that.
  uint32_t turn =
      rotate ? devices / std::gcd(devices, (uint32_t)(slots % devices)) : 1;
  uint32_t warmUp = 4, measured = (8 + turn - 1) / turn * turn;
  std::vector<double> free(devices, 0), freeBefore(devices, 0),
      wire(devices, 0), drained(devices, 0);
  std::vector<const StagePace *> before(devices, nullptr);
  std::vector<double> arrival(model.microBatches, 0);
  Updates updates(model);
  double last = 0, atStart = 0, lossEnd = 0;
  size_t next = 0; // the device in turn
  for (uint32_t t = 0; t < warmUp + measured; ++t) {
    if (t == warmUp)
      atStart = last;
    if (!rotate)
      next = 0;
    std::fill(before.begin(), before.end(), nullptr);
    // One host lane stages inputs and joins the loss, in issue order.
    double staged = lossEnd;
    for (size_t i = 0; i < slots; ++i) {
      const StagePace &stage = stages[i % stages.size()];
      size_t device = next;
      next = next + 1 == devices ? 0 : next + 1;
      if (i % stages.size() == 0)
        std::fill(arrival.begin(), arrival.end(), staged);
      double layers = stage.end - stage.begin;
      double step = std::max(stage.compute, std::max(stage.up, stage.down));
      double now = free[device];
      if (before[device] != &stage) {
        // Room for parameters: with two buffers when the slot before the one
        // that runs now is done, else when that is. A stage alone goes from its
        // last layers back to its first, and room appears meanwhile.
        double room = buffers.parameters > 1 ? freeBefore[device]
                      : stages.size() > 1    ? now
                                             : now - step / 2;
        double start =
            std::max({wire[device], room, updates.readyFor(stage, t)});
        wire[device] = start + stage.parameters;
        // Layers come and go one by one: the first launch waits for the first
        // layer's parameters, and the last layer's gradients are what is left.
        now = std::max(now, start + stage.parameters / layers);
      }
      before[device] = &stage;
      freeBefore[device] = free[device];
      for (double &batch : arrival) {
        now = std::max(now, batch + stage.up) + step;
        if (&batch == &arrival.front())
          now = std::max(now, wire[device] + step / layers);
        if (&batch == &arrival.front() && buffers.gradients == 1 &&
            stage.kind != StageKind::Forward)
          now = std::max(now, drained[device] + step / layers);
        batch = now + stage.down;
      }
      free[device] = now;
      double home = std::max(now + stage.gradients / layers,
                             now - step + stage.gradients);
      if (stage.kind != StageKind::Forward)
        drained[device] = home;
      last = std::max(last, now);
      if (stage.kind == StageKind::Fused)
        lossEnd = std::max(lossEnd, now);
      if (stage.kind != StageKind::Forward &&
          i / stages.size() + 1 == model.rounds)
        updates.finish(stage, t, home);
    }
    updates.endIteration(t);
  }
  return (last - atStart) / measured;
}
