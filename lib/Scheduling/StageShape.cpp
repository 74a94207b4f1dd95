//===- StageShape.cpp - What a stage does for one micro-batch -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StageShape.h"
#include "Support.h"
#include <algorithm>
#include <map>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

/// Appends launches to a shape and resolves their arguments to values.
class ShapeBuilder {
public:
  ShapeBuilder(const Model &model, const std::vector<SaveSet> &keep,
               const std::vector<SaveSet> &save)
      : model(model), keep(keep), save(save),
        firstBackward(firstBackwardLayer(model)) {}

  StageShape run(const Stage &stage) {
    switch (stage.kind) {
    case StageKind::Forward:
      for (uint32_t l = stage.begin; l < stage.end; ++l)
        forwardKeeping(l, l >= firstBackward ? keep[l] : SaveSet::Input);
      break;
    case StageKind::Fused:
      fused(stage);
      break;
    case StageKind::Backward:
      backward(stage);
      break;
    }
    return std::move(shape);
  }

private:
  void fused(const Stage &stage);
  void backward(const Stage &stage);
  void rebuild(uint32_t l);

  /// The entry that computes a layer's outputs and its saved set.
  void forwardKeeping(uint32_t l, SaveSet set) {
    auto s = (size_t)set;
    if (set != SaveSet::Input && model.layers[l].forwardSave[s].present)
      launch(l, model.layers[l].forwardSave[s],
             std::string("forward_") + kSets[s]);
    else
      launch(l, model.layers[l].forward, "forward");
  }

  void launchBackward(uint32_t l) {
    auto s = (size_t)save[l];
    const Layer &layer = model.layers[l];
    launch(l, layer.backward[s],
           std::string("backward_") + kSets[s] +
               (layer.cotangentBytes.empty() ? "_nodx" : ""));
  }

  void launch(uint32_t l, const EntryCost &entry, std::string name);
  uint32_t touch(ValueKey key, uint64_t bytes, Access access);

  static constexpr const char *kSets[] = {"input", "products", "all"};
  const Model &model;
  const std::vector<SaveSet> &keep;
  const std::vector<SaveSet> &save;
  uint32_t firstBackward;
  StageShape shape;
  std::map<ValueKey, uint32_t> known;
};

} // namespace

static bool readsBoundary(const EntryCost &entry) {
  for (const Argument &argument : entry.arguments)
    if (argument.role == Role::Boundary)
      return true;
  return false;
}

uint32_t ShapeBuilder::touch(ValueKey key, uint64_t bytes, Access access) {
  auto now = (uint32_t)shape.launches.size();
  auto [it, fresh] = known.try_emplace(key, (uint32_t)shape.values.size());
  if (fresh) {
    StageValue value;
    value.key = key;
    value.bytes = bytes;
    value.firstUse = now;
    // Gradients start as zeros, and are no one's input.
    value.uploaded = access == Access::Read;
    value.downloaded =
        key.kind == ValueKind::Gradient || key.kind == ValueKind::Loss;
    shape.values.push_back(value);
  }
  shape.values[it->second].lastUse = now;
  return it->second;
}

void ShapeBuilder::launch(uint32_t l, const EntryCost &entry,
                          std::string name) {
  const Layer &layer = model.layers[l];
  LaunchShape result;
  result.layer = l;
  result.entry = &entry;
  result.name = entry.name.empty() ? std::move(name) : entry.name;
  for (const Argument &argument : entry.arguments) {
    Use use;
    use.bytes = argument.bytes;
    uint64_t bytes = argument.bytes;
    ValueKey key;
    key.index = argument.index;
    key.owner = l;
    switch (argument.role) {
    case Role::Boundary:
      key.kind = ValueKind::Boundary;
      break;
    case Role::Saved:
      key.kind = ValueKind::Saved;
      break;
    case Role::Cotangent:
      key.kind = ValueKind::Cotangent;
      key.owner = l + 1;
      break;
    case Role::Side:
      key = {ValueKind::Side, layer.sides[argument.index], 0};
      break;
    case Role::Parameter: {
      const Parameter &parameter = layer.parameters[argument.index];
      key = {ValueKind::Parameters, parameter.block, 0};
      use.offset = parameter.offset;
      bytes = model.blocks[parameter.block].uploadBytes;
      break;
    }
    case Role::Seed:
      key = {ValueKind::Seed, 0, 0};
      break;
    case Role::Output:
      key.kind = ValueKind::Boundary;
      key.owner = l + 1;
      use.access = Access::Write;
      break;
    case Role::Loss:
      key = {ValueKind::Loss, 0, 0};
      use.access = Access::Write;
      break;
    case Role::SavedOut:
      key.kind = ValueKind::Saved;
      use.access = Access::Write;
      break;
    case Role::CotangentOut:
      key.kind = ValueKind::Cotangent;
      use.access = Access::Write;
      break;
    case Role::Gradient: {
      const Parameter &parameter = layer.parameters[argument.index];
      // One sum for each use of a tied block: which uses meet in a stage must
      // not change the order of additions.
      key = {ValueKind::Gradient, parameter.block, l};
      use.offset = (uint64_t)parameter.gradientOffset;
      use.access = Access::ReadWrite;
      bytes = model.blocks[parameter.block].gradientBytes;
      break;
    }
    case Role::Scratch:
      key = {ValueKind::Scratch, (uint32_t)shape.launches.size(), 0};
      use.access = Access::Write;
      break;
    }
    use.value = touch(key, bytes, use.access);
    result.operands.push_back(use);
  }
  shape.launches.push_back(std::move(result));
}

/// The saved set alone, if the layer can; with the outputs if not.
void ShapeBuilder::rebuild(uint32_t l) {
  auto s = (size_t)save[l];
  const Layer &layer = model.layers[l];
  if (layer.savedBytes[s].empty())
    return;
  if (layer.rebuild[s].present)
    launch(l, layer.rebuild[s], std::string("rebuild_") + kSets[s]);
  else
    forwardKeeping(l, save[l]);
}

void ShapeBuilder::fused(const Stage &stage) {
  // Layers below the first are never looked at again; some are rebuilt.
  uint32_t first = std::max(stage.begin, firstBackward),
           held = first + stage.rebuilt;
  for (uint32_t l = stage.begin; l + 1 < stage.end; ++l)
    forwardKeeping(l, l >= held ? save[l] : SaveSet::Input);
  launch(stage.end - 1, model.layers[stage.end - 1].forwardBackward,
         "forward_backward");
  for (uint32_t l = stage.end - 1; l-- > first;) {
    if (l < held)
      rebuild(l);
    launchBackward(l);
  }
}

void ShapeBuilder::backward(const Stage &stage) {
  // From the last layer to the first: a layer's outputs are rebuilt only if the
  // next one's steps read them, and what was kept is not rebuilt at all.
  enum class Step { None, Rebuild, Forward };
  std::vector<Step> steps(stage.end - stage.begin, Step::None);
  bool outputsNeeded = false;
  for (uint32_t l = stage.end; l-- > stage.begin;) {
    const Layer &layer = model.layers[l];
    auto s = (size_t)save[l];
    Step &step = steps[l - stage.begin];
    bool reads = readsBoundary(layer.backward[s]);
    if (keep[l] == SaveSet::Input) {
      if (outputsNeeded)
        step = Step::Forward;
      else if (!layer.savedBytes[s].empty())
        step = layer.rebuild[s].present ? Step::Rebuild : Step::Forward;
      if (step == Step::Rebuild)
        reads |= readsBoundary(layer.rebuild[s]);
      if (step == Step::Forward)
        reads |=
            readsBoundary(layer.forwardSave[s].present ? layer.forwardSave[s]
                                                       : layer.forward);
    }
    outputsNeeded = reads;
  }
  for (uint32_t l = stage.begin; l < stage.end; ++l) {
    if (steps[l - stage.begin] == Step::Forward)
      forwardKeeping(l, save[l]);
    if (steps[l - stage.begin] == Step::Rebuild)
      rebuild(l);
  }
  for (uint32_t l = stage.end; l-- > stage.begin;)
    launchBackward(l);
}

static void markShared(StageShape &shape) {
  std::vector<std::set<uint32_t>> layers(shape.values.size());
  for (const LaunchShape &launch : shape.launches)
    for (const Use &use : launch.operands)
      if (shape.values[use.value].key.kind == ValueKind::Parameters)
        layers[use.value].insert(launch.layer);
  uint64_t total = 0;
  for (const StageValue &value : shape.values)
    if (value.key.kind == ValueKind::Parameters)
      total += value.bytes;
  // From the last first use to the first: the earliest last use so far.
  uint32_t earliest = (uint32_t)shape.launches.size();
  for (size_t v = shape.values.size(); v-- > 0;) {
    StageValue &value = shape.values[v];
    if (value.key.kind != ValueKind::Parameters)
      continue;
    value.shared = layers[v].size() > 1 && earliest < value.lastUse &&
                   value.bytes <= total / 16;
    earliest = std::min(earliest, value.lastUse);
  }
}

StageShape detail::buildStageShape(const Model &model,
                                   const std::vector<SaveSet> &keep,
                                   const std::vector<SaveSet> &save,
                                   const Stage &stage) {
  StageShape shape = ShapeBuilder(model, keep, save).run(stage);
  markShared(shape);
  return shape;
}

Outcome detail::connectStages(const Model &model,
                              const std::vector<Stage> &stages,
                              std::vector<StageShape> &shapes) {
  auto crosses = [](ValueKind kind) {
    return kind == ValueKind::Boundary || kind == ValueKind::Saved ||
           kind == ValueKind::Cotangent;
  };
  std::set<ValueKey> wanted;
  for (const StageShape &shape : shapes)
    for (const StageValue &value : shape.values)
      if (value.uploaded && crosses(value.key.kind))
        wanted.insert(value.key);
  for (size_t s = 0; s < shapes.size(); ++s)
    for (StageValue &value : shapes[s].values) {
      if (value.uploaded || !crosses(value.key.kind))
        continue;
      // What a backward stage rebuilds is its own: the forward stage's was
      // sent.
      bool forwards = value.key.kind != ValueKind::Cotangent;
      if (forwards == (stages[s].kind == StageKind::Forward) &&
          wanted.erase(value.key))
        value.downloaded = true;
    }
  Outcome outcome;
  for (const ValueKey &key : wanted) {
    outcome.ok = false;
    outcome.messages.push_back("a stage reads " + describeValue(model, key) +
                               ", but no stage before makes it");
  }
  return outcome;
}

std::string detail::describeValue(const Model &model, const ValueKey &key) {
  auto ofLayer = [&](const char *what, uint32_t layer) {
    return std::string(what) + " " + std::to_string(key.index) + " of layer '" +
           model.layers[layer].name + "'";
  };
  switch (key.kind) {
  case ValueKind::Boundary:
    return ofLayer("input", key.owner);
  case ValueKind::Saved:
    return ofLayer("saved value", key.owner);
  case ValueKind::Cotangent:
    return ofLayer("cotangent of input", key.owner);
  case ValueKind::Side:
    return "model input '" + model.inputs[key.owner].name + "'";
  case ValueKind::Seed:
    return "seed";
  case ValueKind::Loss:
    return "loss";
  case ValueKind::Parameters:
    return "parameters of '" + model.blocks[key.owner].name + "'";
  case ValueKind::Gradient:
    return "gradient of '" + model.blocks[key.owner].name + "' by layer '" +
           model.layers[key.index].name + "'";
  case ValueKind::Scratch:
    return "scratch of launch " + std::to_string(key.owner);
  }
  return "value";
}
