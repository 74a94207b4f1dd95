//===- Model.cpp - From pipe IR to the planner's model --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Planning/Model.h"
#include "rondo/Dialect/Kern/Kern.h"
#include "rondo/Dialect/Pipe/Entries.h"
#include "rondo/Scheduling/Updates.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace rondo;

/// Alignment of a parameter in its block, bytes: a transaction of device
/// memory.
static constexpr uint64_t kAlignment = 256;

static uint64_t bytesOf(ShapedType type) {
  // Booleans are stored one a byte.
  return (uint64_t)type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

namespace {

class ModelBuilder {
public:
  ModelBuilder(ModuleOp module, const Config &config)
      : module(module), config(config), symbols(module) {}

  FailureOr<planning::ModelInfo> build() {
    FailureOr<pipe::ChainOp> chain =
        planning::getOnly<pipe::ChainOp>(module, "layers");
    if (failed(chain))
      return failure();
    info.chain = *chain;
    model().name = chain->getSymName().str();
    for (auto layer : chain->getBody().front().getOps<pipe::LayerOp>())
      info.layers.push_back(layer);
    for (pipe::LayerOp layer : info.layers)
      labels.push_back(makeUnique(layer.getLabel().str(), usedLabels));
    addInputs();
    if (failed(placeParameters()))
      return failure();
    // A layer's boundary has cotangents when anything trains before it.
    bool trainsBefore = false;
    for (pipe::LayerOp layer : info.layers) {
      addLayer(layer, trainsBefore);
      for (const scheduling::Parameter &parameter :
           model().layers.back().parameters)
        trainsBefore |= parameter.gradientOffset >= 0;
    }
    if (!trainsBefore) {
      chain->emitError("nothing trains: no parameter is trainable; see "
                       "--trainable and --freeze");
      return failure();
    }
    model().microBatches = config.microBatches;
    model().rounds = config.rounds;
    model().staleness = config.staleness;
    model().roundGradients = config.roundGradients;
    model().clip = config.clipGradNorm > 0 || model().scaleLoss;
    model().updateBytes = (uint64_t)config.optimizerMemory;
    model().updateOnDevice =
        config.optimizerDevice == OptimizerDevice::Gpu ||
        (config.optimizerDevice == OptimizerDevice::Auto &&
         scheduling::chooseUpdates(model(), config.getMachine()).onDevices());
    if (config.weighByLabels)
      addLabelCount();
    return std::move(info);
  }

private:
  scheduling::Model &model() { return info.model; }

  /// A module of the user's model may hold several layers, or be run several
  /// times: "m", "m#2", ...
  static std::string makeUnique(const std::string &name,
                                std::set<std::string> &used) {
    std::string unique = name;
    for (unsigned number = 2; !used.insert(unique).second; ++number)
      unique = name + "#" + std::to_string(number);
    return unique;
  }

  void addInputs() {
    Block &body = info.chain.getBody().front();
    for (auto [name, argument] :
         llvm::zip(info.chain.getInputNames().getAsValueRange<StringAttr>(),
                   body.getArguments()))
      model().inputs.push_back(
          {name.str(), bytesOf(cast<ShapedType>(argument.getType()))});
  }

  /// Groups the parameters into blocks by using layers and trainability, and
  /// lays each block out. That symbols are there is what verifiers check.
  LogicalResult placeParameters() {
    llvm::MapVector<StringAttr, std::vector<uint32_t>> users;
    for (auto [number, layer] : llvm::enumerate(info.layers))
      for (auto symbol :
           layer.getParameters().getAsRange<FlatSymbolRefAttr>()) {
        auto &list = users[symbol.getAttr()];
        if (list.empty() || list.back() != number)
          list.push_back(number);
      }
    std::map<std::pair<std::vector<uint32_t>, bool>, uint32_t> blocks;
    Type narrow; // Of trainable parameters whose masters are wider.
    nn::ParameterOp first, other; // The first of it, and one of another.
    for (auto &[name, layers] : users) {
      auto parameter = symbols.lookup<nn::ParameterOp>(name);
      auto type = cast<RankedTensorType>(parameter.getType());
      bool trainable = parameter.getTrainable();
      // f16 has few exponents: small cotangents would vanish.
      model().scaleLoss |= type.getElementType().isF16();
      auto [it, isNew] =
          blocks.insert({{layers, trainable}, (uint32_t)model().blocks.size()});
      if (isNew) {
        model().blocks.push_back({});
        model().blocks.back().name =
            makeUnique(labels[layers.front()] + (trainable ? "" : " (frozen)"),
                       usedBlockNames);
        model().blocks.back().layers = layers;
      }
      scheduling::ParameterBlock &block = model().blocks[it->second];
      planning::Placement placement{parameter, it->second, block.uploadBytes,
                                    bytesOf(type), -1};
      block.uploadBytes += llvm::alignTo(placement.uploadBytes, kAlignment);
      if (trainable) {
        placement.gradientOffset = block.gradientBytes;
        block.gradientBytes +=
            llvm::alignTo((uint64_t)type.getNumElements() * 4, kAlignment);
        block.elements += type.getNumElements();
        if (Type element = type.getElementType(); !element.isF32()) {
          if (!narrow)
            narrow = element, first = parameter;
          else if (narrow != element && !other)
            other = parameter;
        }
      }
      places[name] = info.placements.size();
      info.placements.push_back(placement);
    }
    // One optimizer kernel writes the copies of all blocks; f32 is copied as it
    // is.
    if (other)
      return info.chain.emitError()
             << "'" << first.getSymName() << "' trains as " << narrow
             << " and '" << other.getSymName() << "' as "
             << cast<RankedTensorType>(other.getType()).getElementType()
             << "; one model can train f32 and one narrower type: freeze one "
                "kind, or give all one type with --precision=bf16 or fp16";
    model().uploadIsMaster = !narrow;
    return success();
  }

  /// The cost of the entry `id` of `body`, or not present.
  scheduling::EntryCost costOf(pipe::BodyOp body, pipe::EntryId id) {
    scheduling::EntryCost cost;
    auto function =
        SymbolTable(body).lookup<kern::FuncOp>(pipe::getEntryName(id));
    if (!function)
      return cost;
    cost.present = true;
    cost.name = function.getSymName().str();
    cost.time = function.getTime().convertToDouble();
    cost.flops = function.getFlops().convertToDouble();
    cost.bytes = (uint64_t)function.getBytes().convertToDouble();
    cost.scratchBytes = function.getScratch();
    for (unsigned i = 0, e = function.getNumArguments(); i != e; ++i) {
      std::optional<pipe::EntryValue> value = pipe::getArgument(function, i);
      if (!value)
        continue; // kern.func's verifier has told.
      cost.arguments.push_back({roleOf(value->role, i >= function.getInputs()),
                                (uint32_t)value->index,
                                bytesOf(cast<ShapedType>(value->type))});
    }
    if (cost.scratchBytes)
      cost.arguments.push_back(
          {scheduling::Role::Scratch, 0, cost.scratchBytes});
    return cost;
  }

  static scheduling::Role roleOf(pipe::Role role, bool isResult) {
    switch (role) {
    case pipe::Role::Boundary:
      return scheduling::Role::Boundary;
    case pipe::Role::Saved:
      return isResult ? scheduling::Role::SavedOut : scheduling::Role::Saved;
    case pipe::Role::Cotangent:
      return isResult ? scheduling::Role::CotangentOut
                      : scheduling::Role::Cotangent;
    case pipe::Role::Side:
      return scheduling::Role::Side;
    case pipe::Role::Parameter:
      return scheduling::Role::Parameter;
    case pipe::Role::Seed:
      return scheduling::Role::Seed;
    case pipe::Role::Output:
      return scheduling::Role::Output;
    case pipe::Role::Loss:
    case pipe::Role::Count:
      return scheduling::Role::Loss;
    case pipe::Role::Gradient:
      return scheduling::Role::Gradient;
    }
    return scheduling::Role::Scratch;
  }

  void addLayer(pipe::LayerOp op, bool trainsBefore) {
    auto body = symbols.lookup<pipe::BodyOp>(op.getBodyAttr().getAttr());
    scheduling::Layer layer;
    layer.name = labels[model().layers.size()];
    layer.bodyName = op.getBody().str();
    layer.body = bodies.insert({body.getOperation(), (uint32_t)bodies.size()})
                     .first->second;
    llvm::SetVector<uint32_t> blocks;
    for (auto symbol : op.getParameters().getAsRange<FlatSymbolRefAttr>()) {
      const planning::Placement &placement =
          info.placements[places[symbol.getAttr()]];
      uint64_t gradientBytes =
          placement.gradientOffset < 0
              ? 0
              : (uint64_t)placement.getType().getNumElements() * 4;
      layer.parameters.push_back({placement.block, placement.uploadOffset,
                                  placement.uploadBytes,
                                  placement.gradientOffset, gradientBytes});
      blocks.insert(placement.block);
    }
    layer.blocks.assign(blocks.begin(), blocks.end());
    for (Value side : op.getSides())
      layer.sides.push_back(cast<BlockArgument>(side).getArgNumber());
    for (Value value : op.getBoundary())
      layer.boundaryBytes.push_back(bytesOf(cast<ShapedType>(value.getType())));
    layer.forward = costOf(body, {pipe::EntryKind::Forward});
    layer.forwardBackward = costOf(body, {pipe::EntryKind::ForwardBackward});
    bool dx = trainsBefore && !op.getBoundary().empty();
    for (auto set : {pipe::SaveSet::Products, pipe::SaveSet::All}) {
      size_t s = (size_t)set;
      layer.forwardSave[s] = costOf(body, {pipe::EntryKind::ForwardSave, set});
      layer.rebuild[s] = costOf(body, {pipe::EntryKind::Rebuild, set});
      layer.backward[s] = costOf(body, {pipe::EntryKind::Backward, set, dx});
      for (const scheduling::Argument &argument :
           layer.forwardSave[s].arguments)
        if (argument.role == scheduling::Role::SavedOut)
          place(layer.savedBytes[s], argument);
    }
    for (const scheduling::EntryCost *cost :
         {&layer.backward[1], &layer.backward[2], &layer.forwardBackward}) {
      bool any = false;
      for (const scheduling::Argument &argument : cost->arguments) {
        if (argument.role != scheduling::Role::CotangentOut)
          continue;
        if (!any)
          layer.cotangentBytes.assign(layer.boundaryBytes.size(), 0);
        any = true;
        place(layer.cotangentBytes, argument);
      }
    }
    model().layers.push_back(std::move(layer));
  }

  static void place(std::vector<uint64_t> &bytes,
                    const scheduling::Argument &argument) {
    if (bytes.size() <= argument.index)
      bytes.resize(argument.index + 1, 0);
    bytes[argument.index] = argument.bytes;
  }

  void addLabelCount() {
    pipe::ChainOp chain = info.chain;
    if (!chain.getLabels())
      return; // A loss without labels weighs its micro-batches
              // equally.
    model().countLabels = true;
    model().countEntry = (*chain.getLabels() +
                          "::" + pipe::getEntryName({pipe::EntryKind::Count}))
                             .str();
    auto labels = symbols.lookup<pipe::BodyOp>(*chain.getLabels());
    model().countScratchBytes =
        labels ? costOf(labels, {pipe::EntryKind::Count}).scratchBytes : 0;
    for (int64_t input : chain.getLabelInputs().value_or(ArrayRef<int64_t>()))
      model().countInputs.push_back(input);
  }

  ModuleOp module;
  const Config &config;
  SymbolTable symbols;
  planning::ModelInfo info;
  std::vector<std::string> labels; ///< By layer; no two alike.
  std::set<std::string> usedLabels, usedBlockNames;
  llvm::DenseMap<StringAttr, size_t> places;
  llvm::DenseMap<Operation *, uint32_t> bodies;
};

} // namespace

FailureOr<planning::ModelInfo> planning::buildModel(ModuleOp module,
                                                    const Config &config) {
  return ModelBuilder(module, config).build();
}
