//===- Partition.cpp - Cuts the layers into asymmetric stages -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever proposes cuts, one function judges them: a coarse simulation of
// slots and micro-batches, among the plans that fit. Where memory binds, cuts
// are proposed for several bounds on a stage's bytes, and each is tried with
// fewer buffers and with a fused stage that rebuilds what it cannot hold.
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"
#include "Pace.h"
#include "Packing.h"
#include "Pools.h"
#include "Support.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

/// Of so many, every cut is tried: 342 at most.
static constexpr uint32_t kFewLayers = 6;

namespace {

/// A stage and what judging it needs.
struct StageFacts {
  Stage stage;
  StageShape shape;
  StagePace pace;
};

struct Judgement {
  double cost =
      std::numeric_limits<double>::infinity(); ///< ns an iteration, and a
                                               ///< little for each stage.
  double spread = 0;  ///< Sum of squares: balance, between plans of one cost.
  uint64_t bytes = 0; ///< Device memory.
  bool operator<(const Judgement &other) const {
    return cost != other.cost ? cost < other.cost : spread < other.spread;
  }
};

class Partitioner {
public:
  Partitioner(const PartitionProblem &problem, Plan &plan)
      : problem(problem), model(problem.model), plan(plan),
        layers((uint32_t)problem.model.layers.size()),
        firstBackward(firstBackwardLayer(problem.model)) {}

  Outcome run();
  const StagePace &paceOf(const Stage &stage) {
    return facts(stage.kind, stage.begin, stage.end, stage.rebuilt).pace;
  }

private:
  const StageFacts &facts(StageKind kind, uint32_t begin, uint32_t end,
                          uint32_t rebuilt = 0);
  std::vector<Stage> stagesOf(const Cut &cut);
  Judgement judge(const Cut &cut);
  uint64_t deviceBytes(const Cut &cut, std::vector<StageShape> &shapes);
  uint64_t limit() const {
    return problem.deviceLimit ? problem.deviceLimit
                               : std::numeric_limits<uint64_t>::max();
  }

  /// Takes the best of `cuts` that fits, if it is better than what was found.
  /// Gives up after `most` that do not fit as they are, and returns false.
  bool choose(const std::vector<Cut> &cuts, size_t most);
  /// Takes the cut if it is the best that fits.
  bool consider(const Cut &cut);
  void saveMemory(Cut cut);
  bool search();
  Cut allFused() const { return {}; }
  Outcome infeasible();
  void fill();

  const PartitionProblem &problem;
  const Model &model;
  Plan &plan;
  uint32_t layers;
  uint32_t firstBackward;
  std::map<std::tuple<StageKind, uint32_t, uint32_t, uint32_t>, StageFacts>
      known;
  std::optional<CutProposer> proposer;
  bool found = false;
  Cut best;
  Judgement bestJudgement;
  uint64_t smallest =
      std::numeric_limits<uint64_t>::max(); ///< Memory of the smallest plan
                                            ///< seen.
};

} // namespace

static std::vector<Lifetime> localLifetimes(const StageShape &shape) {
  std::vector<Lifetime> lifetimes;
  for (const StageValue &value : shape.values)
    if (value.local())
      lifetimes.push_back({value.bytes, value.firstUse, value.lastUse});
  return lifetimes;
}

const StageFacts &Partitioner::facts(StageKind kind, uint32_t begin,
                                     uint32_t end, uint32_t rebuilt) {
  auto [it, fresh] = known.try_emplace({kind, begin, end, rebuilt});
  StageFacts &result = it->second;
  if (!fresh)
    return result;
  result.stage.kind = kind;
  result.stage.begin = begin;
  result.stage.end = end;
  result.stage.rebuilt = rebuilt;
  result.shape = buildStageShape(model, plan.keep, plan.save, result.stage);
  for (const LaunchShape &launch : result.shape.launches) {
    result.stage.time += launch.entry->time;
    result.stage.flops += launch.entry->flops;
  }
  uint64_t upBytes = 0, downBytes = 0;
  for (const StageValue &value : result.shape.values) {
    if (value.key.kind == ValueKind::Parameters)
      result.stage.parameterBytes += alignUp(value.bytes);
    else if (value.key.kind == ValueKind::Gradient)
      result.stage.gradientBytes += alignUp(value.bytes);
    else if (value.uploaded)
      upBytes += value.bytes;
  }
  // What crosses to the next stage, whoever reads it.
  if (kind == StageKind::Forward)
    for (uint64_t bytes : model.layers[end].boundaryBytes)
      downBytes += bytes;
  else if (begin > firstBackward)
    for (uint64_t bytes : model.layers[begin].cotangentBytes)
      downBytes += bytes;
  result.pace.kind = kind;
  result.pace.begin = begin;
  result.pace.end = end;
  // Gradient, master and moments are read, master and moments written.
  if (model.updateOnDevice)
    result.pace.update =
        predictCopy(problem.machine, true,
                    result.stage.gradientBytes * (2 + model.momentsPerElement) /
                        problem.machine.devices);
  else if (problem.machine.hostBandwidth > 0)
    result.pace.update = (double)result.stage.gradientBytes *
                         (3 + 2 * model.momentsPerElement) /
                         problem.machine.hostBandwidth * 1e9;
  result.pace.compute = result.stage.time;
  result.pace.up = predictCopy(problem.machine, true, upBytes);
  result.pace.down = predictCopy(problem.machine, false, downBytes);
  result.pace.parameters =
      predictCopy(problem.machine, true, result.stage.parameterBytes);
  result.pace.gradients =
      predictCopy(problem.machine, false,
                  result.stage.gradientBytes / (model.roundGradients ? 2 : 1));
  return result;
}

std::vector<Stage> Partitioner::stagesOf(const Cut &cut) {
  std::vector<Stage> stages;
  for (size_t i = 0; i < cut.forward.size(); ++i) {
    uint32_t end = i + 1 < cut.forward.size() ? cut.forward[i + 1] : cut.fused;
    stages.push_back(facts(StageKind::Forward, cut.forward[i], end).stage);
  }
  stages.push_back(
      facts(StageKind::Fused, cut.fused, layers, cut.rebuilt).stage);
  uint32_t end = cut.fused;
  for (uint32_t begin : cut.backward) {
    stages.push_back(facts(StageKind::Backward, begin, end).stage);
    end = begin;
  }
  return stages;
}

Judgement Partitioner::judge(const Cut &cut) {
  Judgement result;
  std::vector<StagePace> paces;
  for (const Stage &stage : stagesOf(cut)) {
    paces.push_back(paceOf(stage));
    result.spread += stage.time * stage.time;
  }
  // Each stage also costs what this model does not see (shared wires, host
  // memory): a hundred of them must win one per cent.
  result.cost = predictPace(paces, cut.buffers, model, problem.machine.devices,
                            problem.rotate) *
                (1 + 1e-4 * (double)paces.size());
  return result;
}

uint64_t Partitioner::deviceBytes(const Cut &cut,
                                  std::vector<StageShape> &shapes) {
  std::vector<Stage> stages = stagesOf(cut);
  shapes.clear();
  for (const Stage &stage : stages)
    shapes.push_back(
        facts(stage.kind, stage.begin, stage.end, stage.rebuilt).shape);
  if (!connectStages(model, stages, shapes))
    return std::numeric_limits<uint64_t>::max();
  SlotSequence slots;
  slots.devices = problem.machine.devices;
  slots.buffers = cut.buffers;
  slots.fused = (uint32_t)cut.forward.size();
  for (uint32_t round = 0; round < model.rounds; ++round)
    for (uint32_t s = 0; s < stages.size(); ++s) {
      slots.device.push_back((uint32_t)(slots.stage.size() % slots.devices));
      slots.stage.push_back(s);
      slots.microBatches.push_back(model.microBatches);
    }
  slots.rotation =
      problem.rotate ? (uint32_t)(slots.stage.size() % slots.devices) : 0;
  slots.wraps = model.staleness == 1;
  uint64_t pools = planPools(shapes, slots).totalBytes();
  uint64_t region = 0;
  for (const StageShape &shape : shapes)
    region = std::max(region, liveBytes(localLifetimes(shape)));
  // Packing can only take more than what lives at once: not tried in vain.
  if (pools + region <= limit())
    for (const StageShape &shape : shapes) {
      std::vector<uint64_t> offsets;
      region = std::max(region, packLifetimes(localLifetimes(shape), offsets));
    }
  return pools + region;
}

bool Partitioner::consider(const Cut &cut) {
  Judgement judgement = judge(cut);
  if (found && !(judgement < bestJudgement))
    return false;
  std::vector<StageShape> shapes;
  judgement.bytes = deviceBytes(cut, shapes);
  smallest = std::min(smallest, judgement.bytes);
  if (judgement.bytes > limit())
    return false;
  found = true;
  best = cut;
  bestJudgement = judgement;
  return true;
}

void Partitioner::saveMemory(Cut cut) {
  auto fits = [&](uint32_t rebuilt) {
    std::vector<StageShape> shapes;
    cut.rebuilt = rebuilt;
    uint64_t bytes = deviceBytes(cut, shapes);
    smallest = std::min(smallest, bytes);
    return bytes <= limit();
  };
  uint32_t first = std::max(cut.fused, firstBackward);
  // The loss layer saves nothing.
  uint32_t most = first + 1 < layers ? layers - 1 - first : 0;
  bool few = layers <= kFewLayers;
  for (SlotBuffers buffers :
       {SlotBuffers{2, 2}, SlotBuffers{2, 1}, SlotBuffers{1, 1}}) {
    cut.buffers = buffers;
    uint32_t least = 0;
    if (few) {
      while (!fits(least) && least < most)
        ++least;
    } else if (buffers == SlotBuffers{1, 1} && !fits(0)) {
      // Nearly always less memory the more is rebuilt.
      uint32_t low = 0;
      least = most;
      while (low + 1 < least) {
        uint32_t middle = (low + least) / 2;
        (fits(middle) ? least : low) = middle;
      }
    }
    cut.rebuilt = least;
    if (consider(cut) && !few)
      return;
  }
}

bool Partitioner::choose(const std::vector<Cut> &cuts, size_t most) {
  std::vector<std::pair<Judgement, const Cut *>> ranked;
  for (const Cut &cut : cuts)
    ranked.emplace_back(judge(cut), &cut);
  std::sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) {
    if (a.first < b.first || b.first < a.first)
      return a.first < b.first;
    size_t x = a.second->stages(), y = b.second->stages();
    return x != y ? x < y : *a.second < *b.second;
  });
  for (auto &[judgement, cut] : ranked) {
    // Whatever saves memory costs time: this is the least that any way to run
    // this cut takes.
    if (found && !(judgement < bestJudgement))
      return true;
    if (consider(*cut))
      return true;
    saveMemory(*cut);
    if (--most == 0)
      return false;
  }
  return false;
}

bool Partitioner::search() {
  if (layers <= kFewLayers) {
    choose(proposer->enumerate(), std::numeric_limits<size_t>::max());
    return found;
  }
  choose({allFused()}, 1);
  if (choose(proposer->propose(std::numeric_limits<uint64_t>::max()), 8))
    return true;
  // Memory binds: the largest bound on a stage's bytes for which something
  // fits.
  choose({proposer->finest()}, 1);
  double high = (double)proposer->bytesOfAll(), low = high;
  for (uint32_t l = 0; l < layers; ++l)
    low = std::min(low, (double)proposer->bytesOf(l) + 1);
  for (int step = 0; step < 12; ++step) {
    double middle = std::sqrt(high * low);
    if (choose(proposer->propose((uint64_t)middle), 8))
      low = middle;
    else
      high = middle;
  }
  return found;
}

Outcome Partitioner::infeasible() {
  Cut cut = proposer->finest();
  cut.buffers = {1, 1};
  std::vector<StageShape> shapes;
  std::vector<Stage> stages = stagesOf(cut);
  smallest = std::min(smallest, deviceBytes(cut, shapes));
  // The stage whose own needs are the largest says what to change.
  uint64_t worst = 0, parameters = 0, gradients = 0, transfers = 0, working = 0;
  const Stage *largest = &stages.front();
  for (size_t s = 0; s < stages.size(); ++s) {
    uint64_t moved = 0, region = liveBytes(localLifetimes(shapes[s]));
    for (const StageValue &value : shapes[s].values)
      if (!value.local() && value.key.kind != ValueKind::Parameters &&
          value.key.kind != ValueKind::Gradient)
        moved += alignUp(value.bytes);
    uint64_t need =
        stages[s].parameterBytes + stages[s].gradientBytes + moved + region;
    if (need <= worst)
      continue;
    worst = need;
    largest = &stages[s];
    parameters = stages[s].parameterBytes;
    gradients = stages[s].gradientBytes;
    transfers = moved;
    working = region;
  }
  Outcome outcome;
  outcome.ok = false;
  outcome.infeasible = true;
  outcome.messages.push_back(
      "no plan fits into " + formatBytes(limit()) +
      " of device memory: the smallest one needs " + formatBytes(smallest) +
      ". Layer '" + model.layers[largest->begin].name + "' alone, " +
      (largest->kind == StageKind::Forward ? "forward"
                                           : "forward and backward") +
      ", needs " + formatBytes(worst) + " (parameters " +
      formatBytes(parameters) + ", gradients " + formatBytes(gradients) +
      ", transferred values " + formatBytes(transfers) +
      ", saved values and workspace " + formatBytes(working) +
      "). Give more device memory, or make micro-batches smaller");
  return outcome;
}

void Partitioner::fill() {
  std::vector<StageShape> shapes;
  deviceBytes(best, shapes);
  plan.stages = stagesOf(best);
  plan.buffers = best.buffers;
  size_t slowest = 0;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    Stage &stage = plan.stages[s];
    std::vector<uint64_t> offsets;
    stage.deviceBytes = stage.parameterBytes + stage.gradientBytes +
                        packLifetimes(localLifetimes(shapes[s]), offsets);
    for (const StageValue &value : shapes[s].values)
      if (!value.local() && value.key.kind != ValueKind::Parameters &&
          value.key.kind != ValueKind::Gradient)
        stage.deviceBytes +=
            alignUp(value.bytes) * (model.microBatches > 1 ? 2 : 1);
    if (stage.time > plan.stages[slowest].time)
      slowest = s;
  }
  const Stage &stage = plan.stages[slowest];
  const Stage &fused = plan.stages[best.forward.size()];
  plan.reason =
      counted(best.forward.size(), "forward stage") + ", a fused stage of " +
      counted(fused.end - fused.begin, "layer") +
      (best.rebuilt ? " that rebuilds " + std::to_string(best.rebuilt) +
                          " of them for backward"
                    : "") +
      " and " + counted(best.backward.size(), "backward stage") + " on " +
      counted(problem.machine.devices, "device") +
      (best.buffers.parameters == 1  ? ", with buffers for one slot at a time"
       : best.buffers.gradients == 1 ? ", with gradients of one slot at a time"
                                     : "") +
      "; the slowest is " + stageName(stage.kind) + " of layers " +
      std::to_string(stage.begin) + " to " + std::to_string(stage.end - 1) +
      " with " + formatTime(stage.time) + " a micro-batch; " +
      formatBytes(bestJudgement.bytes) + " of device memory" +
      (problem.deviceLimit ? " of " + formatBytes(problem.deviceLimit) : "");
}

Outcome Partitioner::run() {
  plan = Plan();
  plan.keep.assign(layers, problem.keep);
  // What is kept is what backward reads; nothing of it is rebuilt.
  plan.save.assign(layers, problem.keep == SaveSet::Input ? problem.save
                                                          : problem.keep);
  if (Outcome outcome = checkEntries(model, plan.keep, plan.save); !outcome)
    return outcome;
  proposer.emplace(model, plan, problem.machine.devices);
  if (!search())
    return infeasible();
  fill();
  return Outcome::success();
}

double PartitionProblem::predict(const Plan &plan) const {
  Plan copy = plan;
  Partitioner partitioner(*this, copy);
  std::vector<StagePace> paces;
  for (const Stage &stage : plan.stages)
    paces.push_back(partitioner.paceOf(stage));
  return predictPace(paces, plan.buffers, model, machine.devices, rotate);
}

Outcome PartitionProblem::check() const {
  Outcome outcome = checkModel(model);
  if (machine.devices == 0) {
    outcome.ok = false;
    outcome.messages.push_back("machine '" + machine.name + "' has no devices");
  }
  return outcome;
}

Outcome PartitionProblem::solve(Plan &plan) const {
  if (Outcome outcome = check(); !outcome)
    return outcome;
  return Partitioner(*this, plan).run();
}
