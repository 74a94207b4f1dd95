//===- PlanOps.cpp - Verification of plans --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Pipe/Pipe.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

LogicalResult StageOp::verify() {
  int64_t begin = getBegin(), end = getEnd();
  if (begin < 0 || begin >= end)
    return emitOpError() << "has the layers [" << begin << ", " << end
                         << "), expected at least one";
  if (!(getTime().convertToDouble() >= 0) ||
      !(getFlops().convertToDouble() >= 0) ||
      static_cast<int64_t>(getParameterBytes()) < 0 ||
      static_cast<int64_t>(getGradientBytes()) < 0 ||
      static_cast<int64_t>(getDeviceBytes()) < 0)
    return emitOpError() << "has a negative time, flops or size";
  if (getRebuilt() != 0 && getKind() != StageKind::Fused)
    return emitOpError() << "rebuilds layers, which only a fused stage does "
                            "without need";
  if (static_cast<int64_t>(getRebuilt()) < 0 ||
      static_cast<int64_t>(getRebuilt()) >= end - begin)
    return emitOpError() << "rebuilds " << getRebuilt() << " of its "
                         << end - begin
                         << " layers, expected fewer: the loss layer has "
                            "nothing to rebuild";
  return success();
}

/// Forward stages run from layer 0 up to where the fused stage begins, which
/// runs the rest; backward stages come back from there to layer 0. `layers` is
/// the number of layers.
static LogicalResult verifyStages(PlanOp plan, ArrayRef<StageOp> stages,
                                  int64_t layers) {
  int64_t reached = 0;
  StageOp fused;
  for (StageOp stage : stages) {
    int64_t begin = stage.getBegin(), end = stage.getEnd();
    switch (stage.getKind()) {
    case StageKind::Forward:
      if (fused)
        return stage.emitOpError() << "is a forward stage behind the fused one";
      if (begin != reached)
        return stage.emitOpError()
               << "begins at layer " << begin
               << ", but the stages before it end at layer " << reached;
      reached = end;
      break;
    case StageKind::Fused:
      if (fused)
        return stage.emitOpError() << "is a second fused stage";
      if (begin != reached || end != layers)
        return stage.emitOpError()
               << "runs the layers [" << begin << ", " << end
               << "), but what forward stages leave is [" << reached << ", "
               << layers << ")";
      fused = stage;
      break;
    case StageKind::Backward:
      if (!fused)
        return stage.emitOpError()
               << "is a backward stage before the fused one";
      if (end != reached)
        return stage.emitOpError()
               << "ends at layer " << end
               << ", but what is left to run ends at layer " << reached;
      reached = begin;
      break;
    }
    if (stage.getKind() == StageKind::Fused)
      reached = begin;
  }
  if (!fused)
    return plan.emitOpError() << "has no fused stage";
  return success();
}

/// Every stage of every round has each micro-batch of the round in exactly one
/// slot.
static LogicalResult verifySlots(PlanOp plan, ArrayRef<SlotOp> slots,
                                 int64_t stages) {
  int64_t rounds = plan.getRounds(), batches = plan.getMicroBatches();
  llvm::BitVector seen(rounds * stages * batches);
  int64_t previousRound = 0, previousStage = 0;
  for (SlotOp slot : slots) {
    int64_t stage = slot.getStage(), round = slot.getRound();
    int64_t device = slot.getDevice();
    if (stage < 0 || stage >= stages)
      return slot.emitOpError()
             << "has stage " << stage << ", but there are " << stages;
    if (round < 0 || round >= rounds)
      return slot.emitOpError()
             << "has round " << round << ", but there are " << rounds;
    if (device < 0 || device >= static_cast<int64_t>(plan.getDevices()))
      return slot.emitOpError() << "has device " << device << ", but there are "
                                << plan.getDevices();
    if (std::pair(round, stage) < std::pair(previousRound, previousStage))
      return slot.emitOpError()
             << "of stage " << stage << " and round " << round
             << " is behind stage " << previousStage << " of round "
             << previousRound << ": slots are in launch order";
    previousRound = round;
    previousStage = stage;
    if (slot.getMicroBatches().empty())
      return slot.emitOpError() << "has no micro-batch";
    for (int64_t batch : slot.getMicroBatches()) {
      if (batch < 0 || batch >= batches)
        return slot.emitOpError() << "has micro-batch " << batch
                                  << ", but a round has " << batches;
      size_t bit = (round * stages + stage) * batches + batch;
      if (seen.test(bit))
        return slot.emitOpError()
               << "has micro-batch " << batch << ", which another slot of "
               << "stage " << stage << " and round " << round << " has too";
      seen.set(bit);
    }
  }
  int missing = seen.find_first_unset();
  if (missing >= 0)
    return plan.emitOpError()
           << "has no slot for micro-batch " << missing % batches
           << " of stage " << missing / batches % stages << " and round "
           << missing / batches / stages;
  return success();
}

LogicalResult PlanOp::verifyRegions() {
  if (static_cast<int64_t>(getDevices()) < 1 ||
      static_cast<int64_t>(getRounds()) < 1 ||
      static_cast<int64_t>(getMicroBatches()) < 1)
    return emitOpError() << "needs at least one device, round and micro-batch";
  if (getStaleness() > 1)
    return emitOpError() << "has staleness " << getStaleness()
                         << ", expected 0 or 1";
  if (getRotation() >= getDevices())
    return emitOpError() << "has rotation " << getRotation()
                         << ", expected less than the number of devices, "
                         << getDevices();
  for (auto [name, slots] : {std::pair("parameters", getParameterSlots()),
                             std::pair("gradients", getGradientSlots())})
    if (slots != 1 && slots != 2)
      return emitOpError() << "has buffers for the " << name << " of " << slots
                           << " slots, expected 1 or 2";
  if (getKeep().size() != getSave().size())
    return emitOpError() << "has 'keep' for " << getKeep().size()
                         << " layers and 'save' for " << getSave().size();
  for (auto [i, keep, save] : llvm::enumerate(getKeep(), getSave())) {
    if (keep < 0 || keep > 2 || save < 0 || save > 2)
      return emitOpError() << "keeps " << keep << " and saves " << save
                           << " of layer " << i
                           << ", expected 0 (input), 1 (products) or 2 (all)";
    if (keep != 0 && keep != save)
      return emitOpError() << "keeps " << keep << " but saves " << save
                           << " of layer " << i
                           << ": what is kept is nothing or what backward "
                              "reads";
  }
  SmallVector<StageOp> stages;
  SmallVector<SlotOp> slots;
  for (Operation &op : getBody().front()) {
    if (auto stage = dyn_cast<StageOp>(op)) {
      if (!slots.empty())
        return stage.emitOpError() << "must come before every slot";
      stages.push_back(stage);
    } else if (auto slot = dyn_cast<SlotOp>(op)) {
      slots.push_back(slot);
    } else {
      return op.emitOpError()
             << "is in a pipe.plan, which holds stages and slots only";
    }
  }
  if (failed(verifyStages(*this, stages, getSave().size())))
    return failure();
  // Before `slots` there are none.
  if (slots.empty())
    return success();
  return verifySlots(*this, slots, stages.size());
}

LogicalResult PlanOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto chain = symbols.lookupNearestSymbolFrom<ChainOp>(*this, getChainAttr());
  if (!chain)
    return emitOpError() << "names @" << getChain()
                         << ", which is no pipe.chain";
  size_t layers = llvm::range_size(chain.getBody().getOps<LayerOp>());
  if (layers != getSave().size())
    return emitOpError() << "plans " << getSave().size() << " layers, but @"
                         << getChain() << " has " << layers;
  // Backward stages may end above layer 0 only where nothing trains below.
  int64_t reached = layers;
  for (auto stage : getBody().front().getOps<StageOp>())
    if (stage.getKind() != StageKind::Forward)
      reached = std::min<int64_t>(reached, stage.getBegin());
  for (auto layer : llvm::make_range(
           chain.getBody().getOps<LayerOp>().begin(),
           std::next(chain.getBody().getOps<LayerOp>().begin(), reached)))
    for (auto name : layer.getParameters().getAsRange<FlatSymbolRefAttr>()) {
      auto parameter =
          symbols.lookupNearestSymbolFrom<nn::ParameterOp>(*this, name);
      if (parameter && parameter.getTrainable())
        return emitOpError() << "has no backward stage for the layers below "
                             << reached << ", but " << name << " of layer '"
                             << layer.getLabel() << "' trains";
    }
  return success();
}
