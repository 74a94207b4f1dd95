//===- TestModels.h - Models for the planner's tests ------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_SCHEDULING_TESTMODELS_H
#define RONDO_UNITTESTS_SCHEDULING_TESTMODELS_H

#include "rondo/Scheduling/Problems.h"
#include <algorithm>
#include <random>
#include <string>

namespace rondo::scheduling::testing {

/// What a test says of a layer; the entries' argument lists follow from it.
struct LayerSpec {
  double forwardTime = 100;               ///< Backward takes twice as long.
  std::vector<uint64_t> parameters{1024}; ///< Bytes, f32 uploads unless `half`.
  std::vector<bool> trains;               ///< Parallel; missing: true.
  std::vector<uint64_t> outputs{512}; ///< Values it sends to the next layer.
  std::vector<bool> carriesCotangent; ///< Parallel to outputs; missing: true.
  std::vector<uint64_t> products{256}, all{256, 768};
  std::vector<uint32_t> sides;
  uint64_t scratch = 128;
  bool backwardReadsSides = false;
};

inline Argument argument(Role role, uint32_t index, uint64_t bytes) {
  return {role, index, bytes};
}

/// Finishes a model: parameters in one block for each layer (or each of
/// `sharedWith`), entries with all their arguments.
class ModelMaker {
public:
  Model model;

  void input(const std::string &name, uint64_t bytes) {
    model.inputs.push_back({name, bytes});
  }
  void layer(const LayerSpec &spec) { specs.push_back(spec); }
  /// Layers a and b use one block: a's.
  void tie(uint32_t a, uint32_t b) { ties.push_back({a, b}); }

  Model make() {
    model.layers.resize(specs.size());
    std::vector<int64_t> blockOf(specs.size(), -1);
    for (uint32_t l = 0; l < specs.size(); ++l) {
      uint32_t owner = l;
      for (auto [a, b] : ties)
        if (b == l)
          owner = a;
      makeParameters(l, owner, blockOf);
    }
    uint32_t firstTraining = 0;
    while (firstTraining < specs.size() && !trains(firstTraining))
      ++firstTraining;
    for (uint32_t l = 0; l < specs.size(); ++l)
      makeValues(l, l > firstTraining);
    for (uint32_t l = 0; l < specs.size(); ++l)
      makeEntries(l);
    return model;
  }

private:
  bool trains(uint32_t l) const {
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.gradientOffset >= 0)
        return true;
    return false;
  }

  void makeParameters(uint32_t l, uint32_t owner,
                      std::vector<int64_t> &blockOf) {
    Layer &layer = model.layers[l];
    if (specs[owner].parameters.empty())
      return;
    if (blockOf[owner] < 0) {
      blockOf[owner] = (int64_t)model.blocks.size();
      model.blocks.push_back({"block" + std::to_string(owner), 0, 0, 0, {}});
    }
    auto index = (uint32_t)blockOf[owner];
    ParameterBlock &block = model.blocks[index];
    block.layers.push_back(l);
    uint64_t offset = 0, gradient = 0;
    const LayerSpec &spec = specs[owner];
    for (size_t p = 0; p < spec.parameters.size(); ++p) {
      Parameter parameter;
      parameter.block = index;
      parameter.offset = offset;
      parameter.bytes = spec.parameters[p];
      offset += (spec.parameters[p] + 255) / 256 * 256;
      if (p >= spec.trains.size() || spec.trains[p]) {
        parameter.gradientOffset = (int64_t)gradient;
        parameter.gradientBytes =
            model.uploadIsMaster ? parameter.bytes : 2 * parameter.bytes;
        gradient += (parameter.gradientBytes + 255) / 256 * 256;
      }
      layer.parameters.push_back(parameter);
    }
    block.uploadBytes = offset;
    block.gradientBytes = gradient;
    block.elements = gradient / 4;
  }

  void makeValues(uint32_t l, bool cotangents) {
    Layer &layer = model.layers[l];
    const LayerSpec &spec = specs[l];
    layer.name = "layer" + std::to_string(l);
    layer.body = l;
    layer.bodyName = "body" + std::to_string(l);
    layer.sides = spec.sides;
    if (l > 0) {
      const LayerSpec &previous = specs[l - 1];
      layer.boundaryBytes = previous.outputs;
      if (cotangents)
        for (size_t i = 0; i < previous.outputs.size(); ++i)
          layer.cotangentBytes.push_back(i < previous.carriesCotangent.size() &&
                                                 !previous.carriesCotangent[i]
                                             ? 0
                                             : previous.outputs[i]);
    }
    layer.savedBytes[1] = spec.products;
    layer.savedBytes[2] = spec.all;
  }

  void makeEntries(uint32_t l) {
    Layer &layer = model.layers[l];
    const LayerSpec &spec = specs[l];
    bool last = l + 1 == specs.size();
    using Arguments = std::vector<Argument>;
    Arguments boundary, sides, parameters, outputs, cotangents, cotangentsOut,
        gradients;
    auto list = [](Arguments &to, Role role,
                   const std::vector<uint64_t> &bytes) {
      for (uint32_t i = 0; i < bytes.size(); ++i)
        if (bytes[i] > 0)
          to.push_back(argument(role, i, bytes[i]));
    };
    list(boundary, Role::Boundary, layer.boundaryBytes);
    list(cotangentsOut, Role::CotangentOut, layer.cotangentBytes);
    for (uint32_t i = 0; i < spec.sides.size(); ++i)
      sides.push_back(
          argument(Role::Side, i, model.inputs[spec.sides[i]].bytes));
    for (uint32_t i = 0; i < layer.parameters.size(); ++i) {
      parameters.push_back(
          argument(Role::Parameter, i, layer.parameters[i].bytes));
      if (layer.parameters[i].gradientOffset >= 0)
        gradients.push_back(
            argument(Role::Gradient, i, layer.parameters[i].gradientBytes));
    }
    if (!last) {
      list(outputs, Role::Output, model.layers[l + 1].boundaryBytes);
      list(cotangents, Role::Cotangent, model.layers[l + 1].cotangentBytes);
    }
    auto fill = [&](EntryCost &entry, double time,
                    std::initializer_list<Arguments> parts) {
      entry.present = true;
      entry.time = time;
      entry.flops = time * 1000;
      for (const Arguments &part : parts)
        entry.arguments.insert(entry.arguments.end(), part.begin(), part.end());
      if (spec.scratch)
        entry.arguments.push_back(argument(Role::Scratch, 0, spec.scratch));
      entry.scratchBytes = spec.scratch;
    };
    double time = spec.forwardTime;
    if (last) {
      fill(layer.forwardBackward, 3 * time,
           {boundary,
            sides,
            parameters,
            {argument(Role::Seed, 0, 4)},
            {argument(Role::Loss, 0, 4)},
            cotangentsOut,
            gradients});
      return;
    }
    fill(layer.forward, time, {boundary, sides, parameters, outputs});
    for (int set = 1; set < 3; ++set) {
      Arguments saved, savedOut;
      list(saved, Role::Saved, layer.savedBytes[set]);
      list(savedOut, Role::SavedOut, layer.savedBytes[set]);
      fill(layer.forwardSave[set], time,
           {boundary, sides, parameters, outputs, savedOut});
      fill(layer.rebuild[set], 0.8 * time,
           {boundary, sides, parameters, savedOut});
      // With everything saved, backward does not look at the layer's inputs.
      fill(layer.backward[set], 2 * time,
           {set == 1 ? boundary : Arguments(), saved, cotangents,
            spec.backwardReadsSides ? sides : Arguments(), parameters,
            cotangentsOut, gradients});
    }
  }

  std::vector<LayerSpec> specs;
  std::vector<std::pair<uint32_t, uint32_t>> ties;
};

inline Machine testMachine(uint32_t devices) {
  Machine machine;
  machine.name = "test";
  machine.devices = devices;
  machine.deviceBytes = 1 << 30;
  machine.hostBytes = 1 << 30;
  machine.uploadBandwidth = machine.downloadBandwidth = 1e11;
  machine.deviceBandwidth = 1e12;
  machine.hostBandwidth = 1e11;
  machine.launchLatency = 1;
  machine.copyLatency = 1;
  return machine;
}

/// Layers of one kind between an embedding and a loss head, whose table is the
/// embedding's if `tied`.
inline Model chainModel(uint32_t layers, uint32_t microBatches = 4,
                        uint32_t rounds = 1, uint32_t staleness = 0,
                        bool tied = false) {
  ModelMaker maker;
  maker.model.name = "chain";
  maker.model.microBatches = microBatches;
  maker.model.rounds = rounds;
  maker.model.staleness = staleness;
  maker.input("ids", 64);
  maker.input("labels", 64);
  for (uint32_t l = 0; l < layers; ++l) {
    LayerSpec spec;
    if (l == 0) {
      spec.sides = {0};
      spec.backwardReadsSides = true;
    }
    if (l + 1 == layers)
      spec.sides = {1};
    maker.layer(spec);
  }
  if (tied && layers > 1)
    maker.tie(0, layers - 1);
  return maker.make();
}

/// Gives all layers but the first and the last one frozen table to read.
inline void shareTable(Model &model, uint64_t bytes) {
  auto block = (uint32_t)model.blocks.size();
  model.blocks.push_back({"table", bytes, 0, 0, {}});
  for (uint32_t l = 1; l + 1 < model.layers.size(); ++l) {
    Layer &layer = model.layers[l];
    model.blocks[block].layers.push_back(l);
    auto index = (uint32_t)layer.parameters.size();
    layer.parameters.push_back({block, 0, bytes, -1, 0});
    for (EntryCost *entry :
         {&layer.forward, &layer.forwardSave[1], &layer.forwardSave[2],
          &layer.rebuild[1], &layer.rebuild[2], &layer.backward[1],
          &layer.backward[2]})
      entry->arguments.insert(entry->arguments.begin(),
                              argument(Role::Parameter, index, bytes));
  }
}

/// A model of 1 to 8 layers, everything else drawn too.
inline Model randomModel(std::mt19937 &random, uint32_t mostLayers = 8) {
  auto draw = [&](uint32_t least, uint32_t most) {
    return least + random() % (most - least + 1);
  };
  ModelMaker maker;
  maker.model.name = "random";
  maker.model.microBatches = draw(1, 4);
  maker.model.rounds = draw(1, 3);
  maker.model.staleness = draw(0, 1);
  maker.model.uploadIsMaster = draw(0, 1);
  maker.model.clip = draw(0, 1);
  maker.model.scaleLoss = maker.model.clip && maker.model.microBatches % 2 == 0;
  maker.model.countLabels = draw(0, 1);
  maker.model.momentsPerElement = draw(0, 2);
  maker.model.roundGradients = maker.model.momentsPerElement == 1;
  uint32_t inputs = draw(1, 3);
  for (uint32_t i = 0; i < inputs; ++i)
    maker.input("input" + std::to_string(i), 4 * draw(1, 200));
  maker.model.countEntry = "labels::count";
  maker.model.countInputs = {inputs - 1};
  uint32_t layers = draw(1, mostLayers);
  uint32_t frozen = draw(0, 3) == 0 ? draw(0, layers - 1) : 0; // a frozen trunk
  auto values = [&](uint32_t least, uint32_t most) {
    std::vector<uint64_t> bytes;
    for (uint32_t i = draw(least, most); i > 0; --i)
      bytes.push_back(4 * draw(1, 500));
    return bytes;
  };
  for (uint32_t l = 0; l < layers; ++l) {
    LayerSpec spec;
    spec.forwardTime = draw(10, 1000);
    spec.parameters = values(l + 1 == layers || l == frozen ? 1 : 0, 3);
    for (size_t p = 0; p < spec.parameters.size(); ++p)
      spec.trains.push_back(l >= frozen && (p == 0 || draw(0, 3) > 0));
    if (l > frozen && l + 1 < layers && draw(0, 4) == 0)
      spec.trains.assign(spec.parameters.size(),
                         false); // frozen, but passes cotangents on
    spec.outputs = values(1, 3);
    spec.carriesCotangent.push_back(true);
    for (size_t i = 1; i < spec.outputs.size(); ++i)
      spec.carriesCotangent.push_back(draw(0, 2) > 0);
    spec.products = values(0, 2);
    spec.all = values(0, 4);
    spec.scratch = draw(0, 1) * 4 * draw(1, 300);
    for (uint32_t i = 0; i < inputs; ++i)
      if (draw(0, 2) == 0)
        spec.sides.push_back(i);
    spec.backwardReadsSides = draw(0, 1);
    maker.layer(spec);
  }
  // Ties between layers that train, one pair at most.
  if (layers >= frozen + 3 && draw(0, 1))
    maker.tie(frozen, layers - 1);
  return maker.make();
}

} // namespace rondo::scheduling::testing

#endif // RONDO_UNITTESTS_SCHEDULING_TESTMODELS_H
