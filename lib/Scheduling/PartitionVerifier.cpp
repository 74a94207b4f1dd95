//===- PartitionVerifier.cpp - Are these stages right? --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares no code with the solver. The memory bound here is a lower one, from
// the model alone: what two slots that follow each other on a device hold for
// sure. The memory problem proves the exact one.
//
//===----------------------------------------------------------------------===//

#include "rondo/Scheduling/Problems.h"
#include <algorithm>
#include <set>

using namespace rondo::scheduling;

namespace {

class PartitionVerifier {
public:
  PartitionVerifier(const PartitionProblem &problem, const Plan &plan)
      : problem(problem), model(problem.model), plan(plan),
        layers((uint32_t)model.layers.size()) {}

  Outcome run() {
    outcome = problem.check();
    if (!outcome)
      return outcome;
    // Backward goes down to the first layer with something to train.
    for (lowest = 0; lowest < layers; ++lowest) {
      const std::vector<Parameter> &parameters =
          model.layers[lowest].parameters;
      if (std::any_of(parameters.begin(), parameters.end(),
                      [](const Parameter &p) { return p.gradientOffset >= 0; }))
        break;
    }
    if (plan.keep.size() != layers || plan.save.size() != layers)
      complain("the plan does not say of each layer what is kept and saved");
    checkOrder();
    if (outcome)
      checkMemory();
    return outcome;
  }

private:
  void complain(std::string message) {
    outcome.ok = false;
    outcome.messages.push_back(std::move(message));
  }
  static std::string name(size_t stage) {
    return "stage " + std::to_string(stage);
  }
  void checkOrder();
  void checkMemory();
  void checkBytes(const Stage &stage, size_t number);

  const PartitionProblem &problem;
  const Model &model;
  const Plan &plan;
  uint32_t layers;
  uint32_t lowest = 0;
  Outcome outcome;
};

} // namespace

void PartitionVerifier::checkOrder() {
  // `cursor`: where the next stage must begin (or, once backward, end).
  uint32_t cursor = 0;
  bool fused = false;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage &stage = plan.stages[s];
    if (stage.begin >= stage.end || stage.end > layers) {
      complain(name(s) + " holds no layers, or layers that do not exist");
      return;
    }
    if (stage.rebuilt &&
        (stage.kind != StageKind::Fused ||
         std::max(stage.begin, lowest) + stage.rebuilt >= layers))
      complain(name(s) + " rebuilds " + std::to_string(stage.rebuilt) +
               " layers, which only a fused stage does, and never the loss "
               "layer");
    bool back = stage.kind == StageKind::Backward;
    if (back != fused) {
      complain(name(s) + (back ? " goes backward before the loss"
                               : " goes forward after the loss"));
      return;
    }
    if ((back ? stage.end : stage.begin) != cursor)
      complain(name(s) + (back ? " ends at layer " : " begins at layer ") +
               std::to_string(back ? stage.end : stage.begin) + ", but layer " +
               std::to_string(cursor) + " is where the stage before left off");
    if (stage.kind == StageKind::Fused && stage.end != layers)
      complain(name(s) + " is fused, but does not end with the loss layer");
    if (stage.kind == StageKind::Forward && stage.end == layers)
      complain(
          name(s) +
          " goes forward through the loss layer, which only a fused stage can");
    if (back && stage.begin < lowest)
      complain(name(s) + " goes backward through layer '" +
               model.layers[stage.begin].name +
               "', where nothing trains, nor before");
    fused = fused || stage.kind == StageKind::Fused;
    cursor = back || stage.kind == StageKind::Fused ? stage.begin : stage.end;
  }
  if (!fused)
    complain("no stage runs the loss layer");
  else if (cursor > lowest)
    complain("no stage goes backward through layer '" +
             model.layers[cursor - 1].name + "'");
}

void PartitionVerifier::checkBytes(const Stage &stage, size_t number) {
  std::set<uint32_t> blocks;
  uint64_t most = 0, gradients = 0, saved = 0;
  auto padded = [](uint64_t bytes) { return (bytes + 255) & ~(uint64_t)255; };
  uint32_t held = std::max(stage.begin, lowest) + stage.rebuilt;
  for (uint32_t l = stage.begin; l < stage.end; ++l) {
    std::set<uint32_t> trained;
    for (const Parameter &parameter : model.layers[l].parameters) {
      if (blocks.insert(parameter.block).second)
        most += padded(model.blocks[parameter.block].uploadBytes);
      if (parameter.gradientOffset >= 0 && stage.kind != StageKind::Forward &&
          trained.insert(parameter.block).second)
        gradients += padded(model.blocks[parameter.block].gradientBytes);
    }
    // The last layer of all saves nothing: its entry does both directions.
    if (stage.kind == StageKind::Fused && l >= held && l + 1 < layers)
      for (uint64_t bytes : model.layers[l].savedBytes[(size_t)plan.save[l]])
        saved += bytes;
  }
  if (stage.gradientBytes != gradients)
    complain(name(number) + " says that it makes " +
             std::to_string(stage.gradientBytes) + " bytes of gradients, but " +
             std::to_string(gradients) + " are");
  if (stage.parameterBytes > most)
    complain(name(number) + " says that it reads " +
             std::to_string(stage.parameterBytes) +
             " bytes of parameters, but its layers have " +
             std::to_string(most));
  if (stage.deviceBytes < stage.parameterBytes + stage.gradientBytes + saved)
    complain(
        name(number) + " says that it needs " +
        std::to_string(stage.deviceBytes) +
        " bytes on its device, but it holds " +
        std::to_string(stage.parameterBytes + stage.gradientBytes + saved));
}

void PartitionVerifier::checkMemory() {
  // What a slot shares its device with: the next one's, where there are buffers
  // for two.
  std::vector<uint64_t> parameters, gradients;
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    checkBytes(plan.stages[s], s);
    parameters.push_back(plan.stages[s].parameterBytes);
    gradients.push_back(plan.stages[s].gradientBytes);
  }
  auto pair = [&](const std::vector<uint64_t> &bytes, uint32_t buffers,
                  size_t i, size_t next, bool stays) {
    uint64_t a = bytes[i % bytes.size()], b = bytes[next % bytes.size()];
    return buffers > 1 && !stays ? a + b : std::max(a, b);
  };
  if (problem.deviceLimit == 0 || !outcome)
    return;
  size_t slots = plan.stages.size() * model.rounds;
  for (size_t i = 0; i < slots; ++i) {
    const Stage &stage = plan.stages[i % plan.stages.size()];
    if (stage.deviceBytes > problem.deviceLimit)
      complain(name(i) + " needs " + std::to_string(stage.deviceBytes) +
               " bytes on its device, the limit is " +
               std::to_string(problem.deviceLimit));
    size_t next = i + problem.machine.devices;
    if (next >= slots)
      continue;
    bool same = i % plan.stages.size() == next % plan.stages.size();
    uint64_t both = pair(parameters, plan.buffers.parameters, i, next, same) +
                    pair(gradients, plan.buffers.gradients, i, next, false);
    if (both > problem.deviceLimit)
      complain("slots " + std::to_string(i) + " and " + std::to_string(next) +
               " follow each other on a device with " + std::to_string(both) +
               " bytes of parameters and gradients, the limit is " +
               std::to_string(problem.deviceLimit));
  }
}

Outcome PartitionProblem::verify(const Plan &plan) const {
  return PartitionVerifier(*this, plan).run();
}
