//===- PartitionStages.cpp - Cuts the layers into stages ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Sched/Translation.h"
#include "rondo/Planning/Model.h"
#include "rondo/Planning/Passes.h"
#include "rondo/Scheduling/Updates.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace rondo::planning {
#define GEN_PASS_DEF_PIPEPARTITIONSTAGES
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

using namespace mlir;
using namespace rondo;

namespace {

/// What to keep of a forward (K) and what a backward reads (S).
struct SaveChoice {
  scheduling::SaveSet keep, save;
  StringRef name;
};

/// A plan that fits, with its predicted step, and what a micro-batch keeps
/// devices busy for.
struct Candidate {
  scheduling::Plan plan;
  double time = 0, work = 0;

  /// Where something else than devices sets the pace, less work is better all
  /// the same: it is what remains if that is faster than predicted.
  bool betterThan(const Candidate &other) const {
    constexpr double kAlike = 1e-3;
    return std::abs(time - other.time) > kAlike * other.time
               ? time < other.time
               : work < other.work;
  }
};

} // namespace

static SmallVector<SaveChoice> choicesOf(Recompute recompute) {
  using scheduling::SaveSet;
  SaveChoice full{SaveSet::Input, SaveSet::All, "full"},
      elementwise{SaveSet::Products, SaveSet::Products, "elementwise"},
      none{SaveSet::All, SaveSet::All, "none"};
  switch (recompute) {
  case Recompute::Full:
    return {full};
  case Recompute::Elementwise:
    return {elementwise};
  case Recompute::None:
    return {none};
  case Recompute::Auto:
    break;
  }
  return {full, elementwise, none};
}

/// Where nothing else fits: backward reads products alone and computes the rest
/// once more. More work than any other way, and least memory.
static std::optional<SaveChoice> lastResortOf(Recompute recompute) {
  using scheduling::SaveSet;
  if (recompute != Recompute::Full && recompute != Recompute::Auto)
    return std::nullopt;
  return SaveChoice{SaveSet::Input, SaveSet::Products,
                    "full, elementwise twice"};
}

/// Where parameters are updated, if anything was said about it, and why.
static std::string describeUpdates(const scheduling::Model &model,
                                   const scheduling::Machine &machine,
                                   OptimizerDevice asked) {
  std::string where =
      model.updateOnDevice ? "; updates on devices" : "; updates on the host";
  if (asked != OptimizerDevice::Auto)
    return model.updateOnDevice ? where : "";
  scheduling::UpdateChoice choice = scheduling::chooseUpdates(model, machine);
  if (choice.areThreads)
    return where + ", whose threads the devices are";
  return where + llvm::formatv(": {0:f3} ms through the host's memory, {1:f3} "
                               "ms over the wires",
                               choice.host / 1e6, choice.wires / 1e6)
                     .str();
}

/// Plans one choice under `limit` bytes a device, all the way to its memory
/// plan. `excess` is by how much that exceeds the device.
static scheduling::Outcome planOnce(const planning::ModelInfo &info,
                                    const scheduling::Machine &machine,
                                    const Config &config,
                                    const SaveChoice &choice, uint64_t limit,
                                    Candidate &candidate, uint64_t &excess) {
  scheduling::Plan &plan = candidate.plan;
  scheduling::PartitionProblem partition{info.model, machine, choice.keep,
                                         choice.save, limit};
  scheduling::SlotProblem slots{info.model, machine.devices, config.rotate};
  scheduling::TransferProblem transfers{info.model, machine, plan};
  scheduling::MemoryProblem memory{0, machine.hostBytes};
  scheduling::FenceProblem fences;
  scheduling::Schedule schedule;
  excess = 0;
  // The final answer of each problem is verified in its own phase; the cuts are
  // verified here.
  std::function<scheduling::Outcome()> steps[] = {
      [&] { return partition.check(); },
      [&] { return partition.solve(plan); },
      [&] { return partition.verify(plan); },
      [&] { return slots.solve(plan); },
      [&] { return transfers.solve(schedule); },
      [&] { return memory.solve(schedule); },
  };
  for (auto &step : steps)
    if (scheduling::Outcome outcome = step(); !outcome)
      return outcome;
  uint64_t used = schedule.arenaBytes[(size_t)scheduling::Space::Device];
  if (used > machine.deviceBytes) {
    excess = used - machine.deviceBytes;
    return scheduling::Outcome::success();
  }
  if (scheduling::Outcome outcome = fences.solve(schedule); !outcome)
    return outcome;
  // Enough iterations that the slope over the last cycle is the steady state.
  candidate.time =
      scheduling::simulate(schedule, 4 + 2 * machine.devices).iteration;
  for (const scheduling::Stage &stage : plan.stages)
    candidate.work += stage.time;
  plan.reason += ("; recompute " + choice.name).str();
  plan.reason += describeUpdates(info.model, machine, config.optimizerDevice);
  plan.slots.clear();
  plan.rotation = 0;
  return scheduling::Outcome::success();
}

/// Plans one choice, giving the partition less memory until the exact memory
/// plan fits.
static scheduling::Outcome planWithin(const planning::ModelInfo &info,
                                      const scheduling::Machine &machine,
                                      const Config &config,
                                      const SaveChoice &choice,
                                      Candidate &candidate) {
  uint64_t state = scheduling::updateBytesOnDevice(info.model, machine.devices),
           limit = machine.deviceBytes, excess = 0;
  if (state && state >= limit) {
    scheduling::Outcome outcome = scheduling::Outcome::failure(
        llvm::formatv("state on its way to be updated takes {0} bytes of each "
                      "device, which has {1}; give less --optimizer-memory, or "
                      "--optimizer-device=host",
                      state, limit)
            .str());
    outcome.infeasible = true;
    return outcome;
  }
  limit -= state;
  while (true) {
    candidate = Candidate();
    scheduling::Outcome outcome =
        planOnce(info, machine, config, choice, limit, candidate, excess);
    if (!outcome && outcome.infeasible && state)
      outcome.messages.back() +=
          llvm::formatv("; {0} bytes more are for state on its way to be "
                        "updated (--optimizer-memory)",
                        state)
              .str();
    if (!outcome || excess == 0)
      return outcome;
    // At least a percent a time, so that this ends soon.
    uint64_t less = std::max<uint64_t>(excess, machine.deviceBytes / 100 + 1);
    if (less >= limit) {
      outcome = scheduling::Outcome::failure(
          llvm::formatv(
              "no cut of the {0} layers fits {1} bytes a device: the smallest "
              "plan found needs {2} bytes more; give devices more memory, "
              "or make micro-batches smaller",
              info.model.layers.size(), machine.deviceBytes, excess)
              .str());
      outcome.infeasible = true;
      return outcome;
    }
    limit -= less;
  }
}

namespace {

struct PartitionStages
    : planning::impl::PipePartitionStagesBase<PartitionStages> {
  void runOnOperation() override {
    if (failed(partition(getOperation())))
      signalPassFailure();
  }

  LogicalResult partition(ModuleOp module) {
    FailureOr<Config> config = Config::read(module);
    if (failed(config))
      return failure();
    FailureOr<planning::ModelInfo> info = planning::buildModel(module, *config);
    if (failed(info))
      return failure();
    scheduling::Machine machine = config->getMachine();
    std::optional<Candidate> best;
    scheduling::Outcome why = scheduling::Outcome::success();
    // False: it is no use to try another way.
    auto consider = [&](const SaveChoice &choice) {
      Candidate candidate;
      scheduling::Outcome outcome =
          planWithin(*info, machine, *config, choice, candidate);
      if (outcome && (!best || candidate.betterThan(*best)))
        best = std::move(candidate);
      // Full recomputation needs least memory: its reason counts.
      if (!outcome && (why.ok || choice.keep == scheduling::SaveSet::Input))
        why = outcome;
      return outcome || outcome.infeasible;
    };
    bool useful = true;
    for (const SaveChoice &choice : choicesOf(config->recompute))
      useful = useful && consider(choice);
    std::optional<SaveChoice> lastResort = lastResortOf(config->recompute);
    if (!best && useful && lastResort)
      consider(*lastResort);
    if (!best)
      return sched::report(info->chain.getLoc(), why);
    if (config->optimizerDevice == OptimizerDevice::Auto)
      emitRemark(info->chain.getLoc())
          << "--optimizer-device=auto"
          << describeUpdates(info->model, machine, OptimizerDevice::Auto);
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    planning::writePlan(builder, info->chain.getLoc(),
                        FlatSymbolRefAttr::get(info->chain.getSymNameAttr()),
                        info->model, config->devices, best->plan);
    return success();
  }
};

} // namespace
