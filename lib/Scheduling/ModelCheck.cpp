//===- ModelCheck.cpp - Is a planning problem well formed? ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <set>

using namespace rondo::scheduling;

namespace {

/// Collects the complaints about one model.
class ModelChecker {
public:
  explicit ModelChecker(const Model &model) : model(model) {}

  Outcome run();

private:
  void complain(std::string message) { messages.push_back(std::move(message)); }
  void checkBlocks();
  void checkLayer(uint32_t l);
  void checkEntry(uint32_t l, const char *what, const EntryCost &entry,
                  int set);
  /// Bytes that `argument` of layer `l` must have; 0 if its index means
  /// nothing.
  uint64_t expectedBytes(uint32_t l, const Argument &argument, int set) const;
  void require(uint32_t l, const char *what, const EntryCost &entry, Role role,
               uint32_t index, const char *meaning);

  const Model &model;
  std::vector<std::string> messages;
};

} // namespace

static const char *roleName(Role role) {
  static const char *const names[] = {"boundary",      "saved",     "cotangent",
                                      "side",          "parameter", "seed",
                                      "output",        "loss",      "saved-out",
                                      "cotangent-out", "gradient",  "scratch"};
  return (size_t)role < std::size(names) ? names[(size_t)role] : "unknown";
}

static uint64_t at(const std::vector<uint64_t> &values, uint32_t index) {
  return index < values.size() ? values[index] : 0;
}

uint64_t ModelChecker::expectedBytes(uint32_t l, const Argument &argument,
                                     int set) const {
  const Layer &layer = model.layers[l];
  const Layer *next =
      l + 1 < model.layers.size() ? &model.layers[l + 1] : nullptr;
  uint32_t i = argument.index;
  switch (argument.role) {
  case Role::Boundary:
    return at(layer.boundaryBytes, i);
  case Role::Saved:
  case Role::SavedOut:
    return set < 0 ? 0 : at(layer.savedBytes[set], i);
  case Role::Cotangent:
    return next ? at(next->cotangentBytes, i) : 0;
  case Role::Side:
    return i < layer.sides.size() && layer.sides[i] < model.inputs.size()
               ? model.inputs[layer.sides[i]].bytes
               : 0;
  case Role::Parameter:
    return i < layer.parameters.size() ? layer.parameters[i].bytes : 0;
  case Role::Gradient:
    return i < layer.parameters.size() &&
                   layer.parameters[i].gradientOffset >= 0
               ? layer.parameters[i].gradientBytes
               : 0;
  case Role::Seed:
  case Role::Loss:
    return i == 0 && !next ? 4 : 0;
  case Role::Output:
    return next ? at(next->boundaryBytes, i) : 0;
  case Role::CotangentOut:
    return at(layer.cotangentBytes, i);
  case Role::Scratch:
    return i == 0 ? argument.bytes : 0;
  }
  return 0;
}

void ModelChecker::require(uint32_t l, const char *what, const EntryCost &entry,
                           Role role, uint32_t index, const char *meaning) {
  for (const Argument &argument : entry.arguments)
    if (argument.role == role && argument.index == index)
      return;
  complain("layer '" + model.layers[l].name + "': entry " + what +
           " does not produce " + meaning + " " + std::to_string(index));
}

void ModelChecker::checkEntry(uint32_t l, const char *what,
                              const EntryCost &entry, int set) {
  if (!entry.present)
    return;
  const Layer &layer = model.layers[l];
  std::set<std::pair<Role, uint32_t>> seen;
  for (const Argument &argument : entry.arguments) {
    std::string where = "layer '" + layer.name + "': entry " + what +
                        ": argument " + roleName(argument.role) + " " +
                        std::to_string(argument.index);
    uint64_t expected = expectedBytes(l, argument, set);
    if (expected == 0)
      complain(where + " names nothing that the layer has");
    else if (expected != argument.bytes)
      complain(where + " has " + std::to_string(argument.bytes) +
               " bytes, but the layer says " + std::to_string(expected));
    if (!seen.insert({argument.role, argument.index}).second)
      complain(where + " is listed twice");
  }
  if (!(entry.time >= 0))
    complain("layer '" + layer.name + "': entry " + what +
             " has no valid time");
}

void ModelChecker::checkLayer(uint32_t l) {
  const Layer &layer = model.layers[l];
  bool last = l + 1 == model.layers.size();
  std::string name = "layer '" + layer.name + "'";
  for (uint32_t side : layer.sides)
    if (side >= model.inputs.size())
      complain(name + " reads model input " + std::to_string(side) +
               ", but there are " + std::to_string(model.inputs.size()));
  for (const Parameter &parameter : layer.parameters) {
    if (parameter.block >= model.blocks.size()) {
      complain(name + " uses parameter block " +
               std::to_string(parameter.block) + ", but there are " +
               std::to_string(model.blocks.size()));
      continue;
    }
    const ParameterBlock &block = model.blocks[parameter.block];
    if (parameter.bytes == 0 ||
        parameter.offset + parameter.bytes > block.uploadBytes)
      complain(name + ": a parameter lies outside of its block '" + block.name +
               "'");
    if (parameter.gradientOffset >= 0 &&
        (parameter.gradientBytes == 0 ||
         (uint64_t)parameter.gradientOffset + parameter.gradientBytes >
             block.gradientBytes))
      complain(name + ": a parameter's gradient lies outside of its block '" +
               block.name + "'");
  }
  if (l == 0 && !layer.boundaryBytes.empty())
    complain(name + " is the first, yet values enter it");
  if (layer.cotangentBytes.size() > layer.boundaryBytes.size())
    complain(name + " has more cotangents than entering values");
  if (last ? !layer.forwardBackward.present : !layer.forward.present)
    complain(name + " lacks entry " + (last ? "forward_backward" : "forward"));

  static const char *const saves[] = {"forward_input", "forward_products",
                                      "forward_all"};
  static const char *const rebuilds[] = {"rebuild_input", "rebuild_products",
                                         "rebuild_all"};
  static const char *const backwards[] = {"backward_input", "backward_products",
                                          "backward_all"};
  checkEntry(l, "forward", layer.forward, -1);
  checkEntry(l, "forward_backward", layer.forwardBackward, -1);
  uint32_t outputs =
      last ? 0 : (uint32_t)model.layers[l + 1].boundaryBytes.size();
  auto requireOutputs = [&](const char *what, const EntryCost &entry) {
    for (uint32_t i = 0; i < outputs && entry.present; ++i)
      require(l, what, entry, Role::Output, i, "output");
  };
  auto requireBackward = [&](const char *what, const EntryCost &entry) {
    for (uint32_t i = 0; i < layer.cotangentBytes.size() && entry.present; ++i)
      if (layer.cotangentBytes[i] > 0)
        require(l, what, entry, Role::CotangentOut, i, "cotangent");
    for (uint32_t i = 0; i < layer.parameters.size() && entry.present; ++i)
      if (layer.parameters[i].gradientOffset >= 0)
        require(l, what, entry, Role::Gradient, i, "the gradient of parameter");
  };
  requireOutputs("forward", layer.forward);
  requireBackward("forward_backward", layer.forwardBackward);
  if (layer.forwardBackward.present)
    require(l, "forward_backward", layer.forwardBackward, Role::Loss, 0,
            "loss");
  for (int set = 0; set < 3; ++set) {
    checkEntry(l, saves[set], layer.forwardSave[set], set);
    checkEntry(l, rebuilds[set], layer.rebuild[set], set);
    checkEntry(l, backwards[set], layer.backward[set], set);
    requireOutputs(saves[set], layer.forwardSave[set]);
    requireBackward(backwards[set], layer.backward[set]);
    for (uint32_t i = 0; i < layer.savedBytes[set].size(); ++i) {
      if (layer.forwardSave[set].present)
        require(l, saves[set], layer.forwardSave[set], Role::SavedOut, i,
                "saved value");
      if (layer.rebuild[set].present)
        require(l, rebuilds[set], layer.rebuild[set], Role::SavedOut, i,
                "saved value");
    }
  }
}

void ModelChecker::checkBlocks() {
  for (uint32_t b = 0; b < model.blocks.size(); ++b) {
    const ParameterBlock &block = model.blocks[b];
    if (block.uploadBytes == 0)
      complain("parameter block '" + block.name + "' is empty");
    bool trains = false;
    for (const Layer &layer : model.layers)
      for (const Parameter &parameter : layer.parameters)
        trains |= parameter.block == b && parameter.gradientOffset >= 0;
    if (trains != (block.gradientBytes > 0))
      complain("parameter block '" + block.name + "' has " +
               std::to_string(block.gradientBytes) +
               " bytes of gradient, but " + (trains ? "a" : "no") +
               " parameter in it trains");
  }
}

Outcome ModelChecker::run() {
  if (model.layers.empty())
    complain("the model has no layers");
  if (model.microBatches == 0 || model.rounds == 0)
    complain("a step needs at least one micro-batch and one round");
  if (model.staleness > 1)
    complain("staleness must be 0 or 1, not " +
             std::to_string(model.staleness));
  for (uint32_t l = 0; l < model.layers.size(); ++l)
    checkLayer(l);
  checkBlocks();
  for (const Input &input : model.inputs)
    if (input.bytes == 0)
      complain("model input '" + input.name + "' is empty");
  if (model.countLabels) {
    if (model.countInputs.empty() || model.countEntry.empty())
      complain("micro-batches weigh by their labels, but the label count has "
               "no inputs or no entry");
    for (uint32_t input : model.countInputs)
      if (input >= model.inputs.size())
        complain("the label count reads model input " + std::to_string(input) +
                 ", but there are " + std::to_string(model.inputs.size()));
  }
  if (!model.layers.empty() && messages.empty() &&
      detail::firstBackwardLayer(model) == model.layers.size())
    complain("no parameter of the model trains");
  Outcome outcome;
  outcome.ok = messages.empty();
  outcome.messages = std::move(messages);
  return outcome;
}

Outcome detail::checkModel(const Model &model) {
  return ModelChecker(model).run();
}

Outcome detail::checkEntries(const Model &model,
                             const std::vector<SaveSet> &keep,
                             const std::vector<SaveSet> &save) {
  Outcome outcome;
  auto complain = [&](std::string message) {
    outcome.ok = false;
    outcome.messages.push_back(std::move(message));
  };
  size_t count = model.layers.size();
  if (keep.size() != count || save.size() != count) {
    complain("the plan says what to keep of " + std::to_string(keep.size()) +
             " layers and what to save of " + std::to_string(save.size()) +
             ", but the model has " + std::to_string(count));
    return outcome;
  }
  static const char *const sets[] = {"input", "products", "all"};
  for (uint32_t l = firstBackwardLayer(model); l + 1 < count; ++l) {
    const Layer &layer = model.layers[l];
    auto set = (size_t)save[l];
    std::string name = "layer '" + layer.name + "'";
    if (keep[l] != SaveSet::Input && keep[l] != save[l])
      complain(name + " keeps '" + sets[(size_t)keep[l]] +
               "', but its backward reads '" + sets[set] + "'");
    if (!layer.backward[set].present)
      complain(name + " lacks entry backward_" + sets[set]);
    if (!layer.savedBytes[set].empty() && !layer.forwardSave[set].present)
      complain(name + " lacks entry forward_" + sets[set]);
  }
  return outcome;
}
