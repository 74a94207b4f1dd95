//===- PlanTranslation.cpp - pipe.plan to and from the planner's Plan -----===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Planning/Model.h"

using namespace mlir;
using namespace rondo;

template <typename T>
static SmallVector<int64_t> toIntegers(const std::vector<T> &values) {
  return llvm::map_to_vector(values, [](T value) { return (int64_t)value; });
}

pipe::PlanOp planning::writePlan(OpBuilder &builder, Location loc,
                                 FlatSymbolRefAttr chain,
                                 const scheduling::Model &model,
                                 uint32_t devices,
                                 const scheduling::Plan &plan) {
  auto i64 = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto op = pipe::PlanOp::create(
      builder, loc, builder.getStringAttr("plan"), chain, i64(devices),
      i64(model.rounds), i64(model.microBatches), i64(model.staleness),
      i64(plan.rotation), builder.getDenseI64ArrayAttr(toIntegers(plan.keep)),
      builder.getDenseI64ArrayAttr(toIntegers(plan.save)),
      builder.getStringAttr(plan.reason), i64(plan.buffers.parameters),
      i64(plan.buffers.gradients));
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&op.getBody());
  for (const scheduling::Stage &stage : plan.stages)
    pipe::StageOp::create(
        builder, loc,
        pipe::StageKindAttr::get(builder.getContext(),
                                 (pipe::StageKind)stage.kind),
        i64(stage.begin), i64(stage.end), builder.getF64FloatAttr(stage.time),
        builder.getF64FloatAttr(stage.flops), i64(stage.parameterBytes),
        i64(stage.gradientBytes), i64(stage.deviceBytes), i64(stage.rebuilt));
  for (const scheduling::Slot &slot : plan.slots)
    pipe::SlotOp::create(
        builder, loc, i64(slot.stage), i64(slot.round), i64(slot.device),
        builder.getDenseI64ArrayAttr(toIntegers(slot.microBatches)));
  return op;
}

scheduling::Plan planning::readPlan(pipe::PlanOp op) {
  scheduling::Plan plan;
  plan.rotation = op.getRotation();
  plan.reason = op.getReason().str();
  plan.buffers = {(uint32_t)op.getParameterSlots(),
                  (uint32_t)op.getGradientSlots()};
  for (int64_t set : op.getKeep())
    plan.keep.push_back((scheduling::SaveSet)set);
  for (int64_t set : op.getSave())
    plan.save.push_back((scheduling::SaveSet)set);
  for (Operation &inner : op.getBody().front()) {
    if (auto stageOp = dyn_cast<pipe::StageOp>(inner)) {
      scheduling::Stage stage;
      stage.kind = (scheduling::StageKind)stageOp.getKind();
      stage.begin = stageOp.getBegin(), stage.end = stageOp.getEnd();
      stage.time = stageOp.getTime().convertToDouble(),
      stage.flops = stageOp.getFlops().convertToDouble();
      stage.parameterBytes = stageOp.getParameterBytes(),
      stage.gradientBytes = stageOp.getGradientBytes();
      stage.deviceBytes = stageOp.getDeviceBytes();
      stage.rebuilt = stageOp.getRebuilt();
      plan.stages.push_back(stage);
    } else if (auto slotOp = dyn_cast<pipe::SlotOp>(inner)) {
      scheduling::Slot slot;
      slot.stage = slotOp.getStage(), slot.round = slotOp.getRound(),
      slot.device = slotOp.getDevice();
      slot.microBatches.assign(slotOp.getMicroBatches().begin(),
                               slotOp.getMicroBatches().end());
      plan.slots.push_back(std::move(slot));
    }
  }
  return plan;
}

FailureOr<planning::PlannedModel> planning::readPlannedModel(ModuleOp module,
                                                             StringRef phase) {
  FailureOr<Config> config = Config::read(module);
  FailureOr<pipe::PlanOp> op = getOnly<pipe::PlanOp>(module, phase);
  if (failed(config) || failed(op))
    return failure();
  FailureOr<ModelInfo> info = buildModel(module, *config);
  if (failed(info))
    return failure();
  return PlannedModel{*config, *op, std::move(*info), readPlan(*op),
                      config->getMachine()};
}
