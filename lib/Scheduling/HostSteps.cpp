//===- HostSteps.cpp - What an iteration does on the host -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Staging of inputs, seeds and losses on one lane; sums, norms and updates on
// the other.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "Transfers.h"
#include <algorithm>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

double IterationBuilder::hostTime(const Op &op) const {
  uint64_t bytes = 0;
  for (const Operand &operand : op.operands)
    bytes += operand.bytes * (operand.access == Access::ReadWrite ? 2 : 1);
  return machine.hostBandwidth > 0 ? (double)bytes / machine.hostBandwidth * 1e9
                                   : 0;
}

uint64_t IterationBuilder::squaresBytes(uint32_t block) const {
  std::set<int64_t> members;
  for (const Layer &layer : model.layers)
    for (const Parameter &parameter : layer.parameters)
      if (parameter.block == block && parameter.gradientOffset >= 0)
        members.insert(parameter.gradientOffset);
  return sizeof(double) * members.size();
}

void IterationBuilder::emitInputs() {
  std::vector<bool> read(model.inputs.size(), false);
  for (const StageShape &shape : shapes)
    for (const StageValue &value : shape.values)
      if (value.key.kind == ValueKind::Side)
        read[value.key.owner] = true;
  if (model.countLabels)
    for (uint32_t input : model.countInputs)
      read[input] = true;
  auto emitSeeds = [&] {
    Op &op = emit(OpKind::Seed, LaneKind::Staging, "seed");
    for (Access access : {Access::Read, Access::Write})
      for (uint32_t r = 0; r < model.rounds; ++r)
        for (uint32_t m = 0; m < model.microBatches; ++m) {
          if (access == Access::Write)
            op.operands.push_back(
                host.perStep(HostUse::Seed, 0, 4, r, m, access));
          else if (model.countLabels)
            op.operands.push_back(
                host.perStep(HostUse::Count, 0, 4, r, m, access));
        }
    if (model.scaleLoss)
      op.operands.push_back(host.lossScale(Access::Read));
    op.duration = hostTime(op);
  };
  if (!model.countLabels)
    emitSeeds();
  for (uint32_t r = 0; r < model.rounds; ++r)
    for (uint32_t m = 0; m < model.microBatches; ++m) {
      std::string where = " mb " + std::to_string(m);
      if (model.rounds > 1)
        where += " round " + std::to_string(r);
      for (uint32_t i = 0; i < model.inputs.size(); ++i) {
        if (!read[i])
          continue;
        Op &op = emit(OpKind::StageInput, LaneKind::Staging,
                      "stage " + model.inputs[i].name + where);
        op.operands.push_back(host.perStep(
            HostUse::Input, i, model.inputs[i].bytes, r, m, Access::Write));
        op.input = (int32_t)i;
        op.round = (int32_t)r;
        op.microBatch = (int32_t)m;
        op.duration = 2 * hostTime(op);
      }
      if (!model.countLabels)
        continue;
      Op &op =
          emit(OpKind::CountLabels, LaneKind::Staging, "count labels" + where);
      for (uint32_t i : model.countInputs)
        op.operands.push_back(host.perStep(
            HostUse::Input, i, model.inputs[i].bytes, r, m, Access::Read));
      op.operands.push_back(
          host.perStep(HostUse::Count, 0, 4, r, m, Access::Write));
      if (model.countScratchBytes)
        op.operands.push_back(host.countScratch());
      op.entry = model.countEntry;
      op.round = (int32_t)r;
      op.microBatch = (int32_t)m;
      op.duration = hostTime(op);
    }
  if (model.countLabels)
    emitSeeds();
}

Operand IterationBuilder::gradientOf(uint32_t block, Access access) {
  uint32_t layer = *blocks[block].gradientLayers.begin();
  return sumsApart(block) ? host.sum(block, layer, access)
                          : host.landing(block, layer, access);
}

void IterationBuilder::emitUpdates(size_t slot) {
  // No update begins before the step's loss is known. What devices are to do
  // is issued in this order, and their streams may be full before its end.
  bool lossFirst = model.updateOnDevice;
  if (slot == lossSlot && lossFirst)
    emitLoss();
  // The order in which gradients become complete: backward's.
  for (uint32_t b = (uint32_t)blocks.size(); b-- > 0;) {
    const BlockState &state = blocks[b];
    if (state.gradientLayers.empty() || state.lastSlot != slot)
      continue;
    // Uses of a tied block are added in layer order.
    for (uint32_t layer : state.gradientLayers) {
      bool first = layer == *state.gradientLayers.begin();
      if (first && (model.rounds > 1 || !sumsApart(b)))
        continue;
      Op &op = emit(OpKind::Accumulate, LaneKind::Update,
                    "add use of " + model.blocks[b].name + " by " +
                        model.layers[layer].name);
      op.first = first;
      op.operands = {gradientOf(b, first ? Access::Write : Access::ReadWrite),
                     model.rounds == 1 ? host.landing(b, layer, Access::Read)
                                       : host.sum(b, layer, Access::Read)};
      op.layer = (int32_t)layer;
      op.block = (int32_t)b;
      op.duration = hostTime(op);
    }
    if (!model.clip) {
      emitOptimizer(b);
      continue;
    }
    Op &op =
        emit(OpKind::Norm, LaneKind::Update, "norm of " + model.blocks[b].name);
    op.operands = {gradientOf(b, Access::Read),
                   host.partials(b, squaresBytes(b), Access::Write)};
    op.block = (int32_t)b;
    op.duration = hostTime(op);
  }
  if (slot == lossSlot && !lossFirst)
    emitLoss();
  if (!model.clip || slot + 1 != plan.slots.size())
    return;
  std::vector<Operand> squares;
  std::vector<uint32_t> order;
  for (uint32_t b = 0; b < blocks.size(); ++b)
    if (!blocks[b].gradientLayers.empty()) {
      squares.push_back(host.partials(b, squaresBytes(b), Access::Read));
      order.push_back(b);
    }
  if (model.scaleLoss)
    squares.push_back(host.lossScale(Access::ReadWrite));
  squares.push_back(host.coefficient(Access::Write));
  Op &op = emit(OpKind::Clip, LaneKind::Update, "clip");
  op.operands = std::move(squares);
  op.duration = hostTime(op);
  // All wait for the norm: what the next iteration uploads first goes first.
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(blocks[a].firstSlot, a) <
           std::pair(blocks[b].firstSlot, b);
  });
  for (uint32_t b : order)
    emitOptimizer(b);
}

void IterationBuilder::emitOptimizer(uint32_t block) {
  if (model.updateOnDevice)
    return emitDeviceUpdates(block);
  Op &op = emit(OpKind::Optimizer, LaneKind::Update,
                "update " + model.blocks[block].name);
  op.operands.push_back(gradientOf(block, Access::Read));
  if (model.clip)
    op.operands.push_back(host.coefficient(Access::Read));
  op.operands.push_back(host.master(block, false, Access::Read));
  op.operands.push_back(host.master(block, true, Access::Write));
  for (uint32_t i = 0; i < model.momentsPerElement; ++i)
    op.operands.push_back(host.moment(block, i));
  if (!model.uploadIsMaster)
    op.operands.push_back(host.nextCopy(block, Access::Write));
  op.block = (int32_t)block;
  op.duration = hostTime(op);
}

void IterationBuilder::emitLoss() {
  Op &op = emit(OpKind::Loss, LaneKind::Staging, "loss");
  for (HostUse what : {HostUse::Loss, HostUse::Count})
    for (uint32_t r = 0; r < model.rounds; ++r)
      for (uint32_t m = 0; m < model.microBatches; ++m)
        if (what == HostUse::Loss || model.countLabels)
          op.operands.push_back(host.perStep(what, 0, 4, r, m, Access::Read));
  op.duration = hostTime(op);
}
