//===- Partition.cpp - Cuts the layers into asymmetric stages -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A short chain is cut in every possible way. A long one is cut greedily, as in
// RoundPipe (arXiv 2604.27085, section 3), once for each bound on a stage's
// time that some stage could have and, where memory binds, for several bounds
// on a stage's bytes. Whatever proposes plans, one function judges them: a
// coarse simulation of slots and micro-batches, among the plans that fit.
//
//===----------------------------------------------------------------------===//

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

namespace {

/// A stage and what judging it needs.
struct StageFacts {
  Stage stage;
  StageShape shape;
  StagePace pace;
};

/// Where stages begin: `forward` from layer 0, `backward` in order of execution
/// (each ends where the one before began).
struct Cut {
  uint32_t fused = 0;
  std::vector<uint32_t> forward;
  std::vector<uint32_t> backward;
  auto operator<=>(const Cut &) const = default;
  size_t stages() const { return forward.size() + 1 + backward.size(); }
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
    return facts(stage.kind, stage.begin, stage.end).pace;
  }

private:
  const StageFacts &facts(StageKind kind, uint32_t begin, uint32_t end);
  std::vector<Stage> stagesOf(const Cut &cut);
  Judgement judge(const Cut &cut);
  uint64_t deviceBytes(const Cut &cut, std::vector<StageShape> &shapes);
  uint64_t limit() const {
    return problem.deviceLimit ? problem.deviceLimit
                               : std::numeric_limits<uint64_t>::max();
  }

  void sumLayers();
  std::vector<Cut> enumerate() const;
  std::vector<double> timeBounds() const;
  Cut pack(double time, uint64_t bytes) const;
  std::vector<Cut> propose(uint64_t bytes) const;
  /// The best of `cuts` that fits; false if none does.
  bool choose(const std::vector<Cut> &cuts, size_t most);
  bool search();
  Cut finest() const;
  Cut allFused() const { return {}; }
  Outcome infeasible();
  void fill();

  const PartitionProblem &problem;
  const Model &model;
  Plan &plan;
  uint32_t layers;
  uint32_t firstBackward;
  std::map<std::tuple<StageKind, uint32_t, uint32_t>, StageFacts> known;
  // Running sums over layers, for packing: of time and of bytes in each
  // direction. `last` corrects the last layer of a backward stage.
  std::vector<double> forwardTime, fusedTime, backwardTime, lastCorrection;
  std::vector<uint64_t> forwardBytes, backwardBytes;
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
                                     uint32_t end) {
  auto [it, fresh] = known.try_emplace({kind, begin, end});
  StageFacts &result = it->second;
  if (!fresh)
    return result;
  result.stage.kind = kind;
  result.stage.begin = begin;
  result.stage.end = end;
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
  if (problem.machine.hostBandwidth > 0)
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
  stages.push_back(facts(StageKind::Fused, cut.fused, layers).stage);
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
    paces.push_back(facts(stage.kind, stage.begin, stage.end).pace);
    result.spread += stage.time * stage.time;
  }
  // Each stage also costs what this model does not see (shared wires, host
  // memory): a hundred of them must win one per cent.
  result.cost =
      predictPace(paces, model, problem.machine.devices, problem.rotate) *
      (1 + 1e-4 * (double)paces.size());
  return result;
}

uint64_t Partitioner::deviceBytes(const Cut &cut,
                                  std::vector<StageShape> &shapes) {
  std::vector<Stage> stages = stagesOf(cut);
  shapes.clear();
  for (const Stage &stage : stages)
    shapes.push_back(facts(stage.kind, stage.begin, stage.end).shape);
  if (!connectStages(model, stages, shapes))
    return std::numeric_limits<uint64_t>::max();
  SlotSequence slots;
  slots.devices = problem.machine.devices;
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

void Partitioner::sumLayers() {
  auto sized = [&](auto &sums) { sums.assign(layers + 1, {}); };
  sized(forwardTime), sized(fusedTime), sized(backwardTime),
      sized(lastCorrection);
  sized(forwardBytes), sized(backwardBytes);
  for (uint32_t l = 0; l < layers; ++l) {
    const Layer &layer = model.layers[l];
    auto s = (size_t)plan.save[l], k = (size_t)plan.keep[l];
    bool trains = l >= firstBackward;
    const EntryCost &saving =
        layer.forwardSave[s].present ? layer.forwardSave[s] : layer.forward;
    const EntryCost &keeping = trains && layer.forwardSave[k].present
                                   ? layer.forwardSave[k]
                                   : layer.forward;
    double rebuild = plan.keep[l] == SaveSet::Input ? saving.time : 0;
    double last = plan.keep[l] == SaveSet::Input && layer.rebuild[s].present
                      ? layer.rebuild[s].time
                      : rebuild;
    uint64_t parameters = 0, gradients = 0, saved = 0;
    std::set<uint32_t> blocks;
    for (const Parameter &parameter : layer.parameters)
      if (blocks.insert(parameter.block).second) {
        parameters += model.blocks[parameter.block].uploadBytes;
        gradients += model.blocks[parameter.block].gradientBytes;
      }
    for (uint64_t bytes : layer.savedBytes[s])
      saved += bytes;
    for (uint64_t bytes : layer.boundaryBytes)
      saved += bytes;
    bool loss = l + 1 == layers;
    forwardTime[l + 1] = forwardTime[l] + keeping.time;
    fusedTime[l + 1] =
        fusedTime[l] + (loss      ? layer.forwardBackward.time
                        : !trains ? layer.forward.time
                                  : saving.time + layer.backward[s].time);
    backwardTime[l + 1] =
        backwardTime[l] + (trains ? rebuild + layer.backward[s].time : 0);
    lastCorrection[l + 1] = last - rebuild;
    // Twice: the slot's and its neighbour's.
    forwardBytes[l + 1] = forwardBytes[l] + 2 * parameters;
    backwardBytes[l + 1] =
        backwardBytes[l] + 2 * (parameters + gradients) + saved;
  }
}

std::vector<Cut> Partitioner::enumerate() const {
  std::vector<Cut> cuts;
  for (uint32_t fused = 0; fused < layers; ++fused) {
    // Subsets of the layers where a stage may begin, besides the first.
    uint32_t forwards = fused > 0 ? fused - 1 : 0;
    uint32_t backwards = fused > firstBackward ? fused - firstBackward - 1 : 0;
    for (uint32_t f = 0; f < 1u << forwards; ++f)
      for (uint32_t b = 0; b < 1u << backwards; ++b) {
        Cut cut;
        cut.fused = fused;
        if (fused > 0)
          cut.forward.push_back(0);
        for (uint32_t i = 0; i < forwards; ++i)
          if (f >> i & 1)
            cut.forward.push_back(i + 1);
        for (uint32_t i = backwards; i-- > 0;)
          if (b >> i & 1)
            cut.backward.push_back(firstBackward + i + 1);
        if (fused > firstBackward)
          cut.backward.push_back(firstBackward);
        cuts.push_back(std::move(cut));
      }
  }
  return cuts;
}

std::vector<double> Partitioner::timeBounds() const {
  std::vector<double> bounds;
  for (uint32_t begin = 0; begin < layers; ++begin) {
    bounds.push_back(fusedTime[layers] - fusedTime[begin]);
    for (uint32_t end = begin + 1; end < layers; ++end) {
      bounds.push_back(forwardTime[end] - forwardTime[begin]);
      bounds.push_back(backwardTime[end] - backwardTime[begin] +
                       lastCorrection[end]);
    }
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  constexpr size_t kMostBounds = 2048;
  if (bounds.size() <= kMostBounds)
    return bounds;
  std::vector<double> sample;
  for (size_t i = 0; i < kMostBounds; ++i)
    sample.push_back(bounds[i * (bounds.size() - 1) / (kMostBounds - 1)]);
  return sample;
}

Cut Partitioner::pack(double time, uint64_t bytes) const {
  // Sums are differences of running sums: a bound that is such a sum itself
  // must not fail by a rounding.
  time *= 1 + 1e-9;
  Cut cut;
  cut.fused = layers - 1;
  while (cut.fused > 0 &&
         fusedTime[layers] - fusedTime[cut.fused - 1] <= time &&
         backwardBytes[layers] - backwardBytes[cut.fused - 1] <= bytes)
    --cut.fused;
  for (uint32_t end = cut.fused; end > 0;) {
    uint32_t begin = end - 1;
    while (begin > 0 && forwardTime[end] - forwardTime[begin - 1] <= time &&
           forwardBytes[end] - forwardBytes[begin - 1] <= bytes)
      --begin;
    cut.forward.push_back(begin);
    end = begin;
  }
  std::reverse(cut.forward.begin(), cut.forward.end());
  for (uint32_t end = cut.fused; end > firstBackward;) {
    uint32_t begin = end - 1;
    while (begin > firstBackward &&
           backwardTime[end] - backwardTime[begin - 1] + lastCorrection[end] <=
               time &&
           backwardBytes[end] - backwardBytes[begin - 1] <= bytes)
      --begin;
    cut.backward.push_back(begin);
    end = begin;
  }
  return cut;
}

std::vector<Cut> Partitioner::propose(uint64_t bytes) const {
  // Of all bounds that give one number of stages the smallest is the best.
  std::map<size_t, std::pair<double, Cut>> byStages;
  for (double time : timeBounds()) {
    Cut cut = pack(time, bytes);
    byStages.try_emplace(cut.stages(), time, cut);
  }
  double devices = problem.machine.devices;
  std::vector<std::pair<double, Cut>> ranked;
  for (auto &[stages, entry] : byStages)
    ranked.emplace_back(std::max((double)stages * model.rounds, devices) *
                            entry.first,
                        std::move(entry.second));
  std::sort(ranked.begin(), ranked.end());
  std::vector<Cut> cuts;
  for (auto &[cost, cut] : ranked) {
    cuts.push_back(std::move(cut));
    if (cuts.size() == 24)
      break;
  }
  return cuts;
}

Cut Partitioner::finest() const { return pack(0, 0); }

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
    if (found && !(judgement < bestJudgement))
      return true;
    std::vector<StageShape> shapes;
    judgement.bytes = deviceBytes(*cut, shapes);
    smallest = std::min(smallest, judgement.bytes);
    if (judgement.bytes <= limit()) {
      found = true;
      best = *cut;
      bestJudgement = judgement;
      return true;
    }
    if (--most == 0)
      return false;
  }
  return false;
}

bool Partitioner::search() {
  // 342 plans at most.
  constexpr uint32_t kFewLayers = 6;
  if (layers <= kFewLayers)
    return choose(enumerate(), std::numeric_limits<size_t>::max());
  choose({allFused()}, 1);
  if (choose(propose(std::numeric_limits<uint64_t>::max()), 8))
    return true;
  // Memory binds: the largest bound on a stage's bytes for which something
  // fits.
  choose({finest()}, 1);
  double high = (double)backwardBytes[layers], low = high;
  for (uint32_t l = 0; l < layers; ++l)
    low = std::min(low, (double)(backwardBytes[l + 1] - backwardBytes[l]) + 1);
  for (int step = 0; step < 12; ++step) {
    double middle = std::sqrt(high * low);
    if (choose(propose((uint64_t)middle), 8))
      low = middle;
    else
      high = middle;
  }
  return found;
}

Outcome Partitioner::infeasible() {
  Cut cut = finest();
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
      "), and the next slot is prefetched beside it. Give more device memory, "
      "or make micro-batches smaller");
  return outcome;
}

void Partitioner::fill() {
  std::vector<StageShape> shapes;
  deviceBytes(best, shapes);
  plan.stages = stagesOf(best);
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
      counted(fused.end - fused.begin, "layer") + " and " +
      counted(best.backward.size(), "backward stage") + " on " +
      counted(problem.machine.devices, "device") + "; the slowest is " +
      stageName(stage.kind) + " of layers " + std::to_string(stage.begin) +
      " to " + std::to_string(stage.end - 1) + " with " +
      formatTime(stage.time) + " a micro-batch; " +
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
  sumLayers();
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
  return predictPace(paces, model, machine.devices, rotate);
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
