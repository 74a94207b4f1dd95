//===- ChainRunner.cpp - Trains a chain with the interpreter --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChainRunner.h"
#include "rondo/Dialect/NN/Utils.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::pipe;
using namespace rondo::pipe::test;

namespace {
/// A layer with what is known of it while the chain runs.
struct LayerState {
  LayerOp layer;
  BodyOp body;
  BackwardNeed need = BackwardNeed::None;
  EntryValues forwardInputs; ///< Boundary, sides, parameters.
  EntryValues outputs;
  EntryValues saved;
};

class Runner {
public:
  Runner(ChainOp chain, const std::vector<HostTensor> &inputs,
         const Tensors &parameters, RunMode mode)
      : inputs(inputs), mode(mode) {
    prepare(chain, parameters);
  }
  void forward();
  void backward();

  Training training;
  bool failed = false;

private:
  void prepare(ChainOp chain, const Tensors &parameters);
  EntryValues run(LayerState &state, EntryId id, EntryValues arguments);
  void addGradients(LayerState &state, const EntryValues &results);

  const std::vector<HostTensor> &inputs;
  RunMode mode;
  std::vector<LayerState> layers;
};
} // namespace

void Runner::prepare(ChainOp chain, const Tensors &parameters) {
  SmallVector<BackwardNeed> needs = getBackwardNeeds(chain);
  for (auto layer : chain.getBody().getOps<LayerOp>()) {
    LayerState &state = layers.emplace_back();
    state.layer = layer;
    state.need = needs[layers.size() - 1];
    state.body = SymbolTable::lookupNearestSymbolFrom<BodyOp>(
        layer, layer.getBodyAttr());
    for (auto [i, side] : llvm::enumerate(layer.getSides()))
      state.forwardInputs[{Role::Side, i}] =
          inputs[cast<BlockArgument>(side).getArgNumber()];
    ArrayAttr names = layer.getParameters();
    for (auto [i, name] :
         llvm::enumerate(names.getAsRange<FlatSymbolRefAttr>())) {
      auto parameter =
          SymbolTable::lookupNearestSymbolFrom<ParameterOp>(layer, name);
      state.forwardInputs[{Role::Parameter, i}] =
          parameter.getValue()
              ? HostTensor::fromAttribute(*parameter.getValue())
              : parameters.at(name.getValue().str());
    }
  }
}

EntryValues Runner::run(LayerState &state, EntryId id, EntryValues arguments) {
  std::string name = state.layer.getLabel().str() + "/" + getEntryName(id);
  training.entries.push_back(name);
  func::FuncOp entry = findEntry(state.body, id);
  if (!entry) {
    ADD_FAILURE() << "no entry " << name;
    failed = true;
    return {};
  }
  SmallVector<HostTensor> given;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    std::optional<EntryValue> argument = getArgument(entry, i);
    auto found = arguments.find({argument->role, argument->index});
    if (found == arguments.end()) {
      ADD_FAILURE() << name << " reads " << stringifyRole(argument->role).str()
                    << " " << argument->index << ", which nothing gives";
      failed = true;
      return {};
    }
    given.push_back(found->second);
  }
  FailureOr<SmallVector<HostTensor>> results =
      evaluateFunction(entry, given, {mode.exact});
  if (mlir::failed(results)) {
    ADD_FAILURE() << name << " fails";
    failed = true;
    return {};
  }
  EntryValues values;
  for (auto [i, tensor] : llvm::enumerate(*results)) {
    std::optional<EntryValue> result = getResult(entry, i);
    values[{result->role, result->index}] = tensor;
  }
  return values;
}

/// Moves the values of one role from `from`.
static EntryValues select(const EntryValues &from, Role role) {
  EntryValues values;
  for (const auto &[key, tensor] : from)
    if (key.first == role)
      values[key] = tensor;
  return values;
}

void Runner::forward() {
  EntryValues entering;
  for (size_t i = 0; i + 1 < layers.size() && !failed; ++i) {
    LayerState &state = layers[i];
    for (const auto &[key, tensor] : entering)
      state.forwardInputs[{Role::Boundary, key.second}] = tensor;
    bool saves = state.need != BackwardNeed::None && !mode.rebuild;
    EntryId id = saves ? EntryId{EntryKind::ForwardSave, mode.saveSet}
                       : EntryId{EntryKind::Forward};
    EntryValues results = run(state, id, state.forwardInputs);
    state.outputs = entering = select(results, Role::Output);
    state.saved = select(results, Role::Saved);
  }
  if (failed)
    return;
  LayerState &last = layers.back();
  for (const auto &[key, tensor] : entering)
    last.forwardInputs[{Role::Boundary, key.second}] = tensor;
  EntryValues evaluated = run(last, {EntryKind::Forward}, last.forwardInputs);
  if (!failed)
    training.loss = evaluated.at({Role::Loss, 0});
}

void Runner::addGradients(LayerState &state, const EntryValues &results) {
  for (const auto &[key, tensor] : select(results, Role::Gradient)) {
    std::string name =
        cast<FlatSymbolRefAttr>(state.layer.getParameters()[key.second])
            .getValue()
            .str();
    auto [found, isNew] = training.gradients.try_emplace(name, tensor);
    if (isNew)
      continue;
    for (size_t i = 0; i < tensor.floats().size(); ++i)
      found->second.floats()[i] += tensor.floats()[i];
  }
}

void Runner::backward() {
  EntryValues cotangents;
  for (size_t i = layers.size(); i-- > 0 && !failed;) {
    LayerState &state = layers[i];
    EntryValues arguments = state.forwardInputs;
    EntryId id{EntryKind::Backward, mode.saveSet,
               state.need == BackwardNeed::All};
    if (i + 1 == layers.size()) {
      HostTensor seed(training.loss.getType());
      seed.floats()[0] = 1;
      arguments[{Role::Seed, 0}] = seed;
      id = {EntryKind::ForwardBackward};
    } else if (state.need == BackwardNeed::None) {
      continue;
    } else {
      if (mode.rebuild)
        state.saved =
            run(state, {EntryKind::Rebuild, mode.saveSet}, state.forwardInputs);
      for (const auto &[key, tensor] : state.saved)
        arguments[key] = tensor;
      for (const auto &[key, tensor] : cotangents)
        arguments[key] = tensor;
    }
    EntryValues results = run(state, id, arguments);
    if (failed)
      return;
    if (i + 1 == layers.size()) {
      EXPECT_EQ(results.at({Role::Loss, 0}).floats(), training.loss.floats())
          << "forward_backward and forward give different losses";
    }
    cotangents = select(results, Role::Cotangent);
    addGradients(state, results);
  }
}

Training pipe::test::train(ChainOp chain, const std::vector<HostTensor> &inputs,
                           const Tensors &parameters, RunMode mode) {
  Runner runner(chain, inputs, parameters, mode);
  runner.forward();
  if (!runner.failed)
    runner.backward();
  return std::move(runner.training);
}
