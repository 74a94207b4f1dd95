//===- TransferForm.cpp - What a replay needs of each op ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A replay moves whole values between whole buffers. Here is what makes that
// true: lanes, sizes and accesses of operands, operands that do not overlap,
// and tags that agree with the plan.
//
//===----------------------------------------------------------------------===//

#include "TransferReplay.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

static bool runsOn(OpKind kind, LaneKind lane) {
  switch (kind) {
  case OpKind::Upload:
    return lane == LaneKind::ParameterUp || lane == LaneKind::ActivationUp ||
           lane == LaneKind::StateUp;
  case OpKind::Download:
    return lane == LaneKind::GradientDown || lane == LaneKind::ActivationDown ||
           lane == LaneKind::StateDown;
  case OpKind::PeerCopy:
    return true; // Refused as such.
  case OpKind::Launch:
  case OpKind::Zero:
  case OpKind::Round:
    return lane == LaneKind::Compute;
  case OpKind::DeviceUpdate:
    return lane == LaneKind::StateUp;
  case OpKind::StageInput:
  case OpKind::CountLabels:
  case OpKind::Seed:
  case OpKind::Loss:
    return lane == LaneKind::Staging;
  default:
    return lane == LaneKind::Update;
  }
}

/// Do the two touch a common byte in some iteration?
static bool overlap(const Operand &a, const Operand &b) {
  if (a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
    return false;
  for (size_t t = 0, e = std::lcm(a.buffers.size(), b.buffers.size()); t < e;
       ++t)
    if (a.buffers[(t + a.phase) % a.buffers.size()] ==
        b.buffers[(t + b.phase) % b.buffers.size()])
      return true;
  return false;
}

uint64_t Replay::squaresBytes(size_t block) const {
  std::set<int64_t> members;
  for (uint32_t l : model.blocks[block].layers)
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.block == block && parameter.gradientOffset >= 0)
        members.insert(parameter.gradientOffset);
  return 8 * members.size();
}

/// Bytes and access of each operand of a host op, as the runtime takes them.
/// Zero bytes: what the operand holds decides.
std::vector<Replay::Form> Replay::formOf(const Op &op) const {
  constexpr Access R = Access::Read, W = Access::Write, RW = Access::ReadWrite;
  size_t batches = (size_t)model.rounds * model.microBatches;
  std::vector<Form> form;
  uint64_t gradient = 0, upload = 0, whole = 0;
  if (op.block >= 0 && (size_t)op.block < model.blocks.size()) {
    gradient = model.blocks[(size_t)op.block].gradientBytes;
    upload = model.blocks[(size_t)op.block].uploadBytes;
    // What was downloaded rounded, and never added to anything, stays so.
    bool rounded = model.roundGradients && model.rounds == 1 &&
                   uses[(size_t)op.block].size() == 1;
    whole = gradient / (rounded ? 2 : 1);
  }
  switch (op.kind) {
  case OpKind::Zero:
    return {{gradient, W}};
  case OpKind::Round:
    return {{gradient, RW}};
  case OpKind::StageInput:
    return {{model.inputs[(size_t)op.input].bytes, W}};
  case OpKind::CountLabels:
    for (uint32_t input : model.countInputs)
      form.push_back({model.inputs[input].bytes, R});
    form.push_back({4, W});
    if (model.countScratchBytes)
      form.push_back({model.countScratchBytes, W});
    return form;
  case OpKind::Seed:
  case OpKind::Loss:
    if (op.kind == OpKind::Loss || model.countLabels)
      form.assign(batches, {4, R});
    if (op.kind == OpKind::Seed || model.countLabels)
      form.insert(form.end(), batches, {4, op.kind == OpKind::Seed ? W : R});
    if (op.kind == OpKind::Seed && model.scaleLoss)
      form.push_back({4, R});
    return form;
  case OpKind::Accumulate:
    return {{gradient, op.first ? W : RW}, {0, R}};
  case OpKind::Norm:
    return {{whole, R}, {squaresBytes((size_t)op.block), W}};
  case OpKind::Clip:
    for (size_t b = 0; b < uses.size(); ++b)
      if (!uses[b].empty())
        form.push_back({squaresBytes(b), R});
    if (model.scaleLoss)
      form.push_back({4, RW});
    form.push_back({4, W});
    return form;
  case OpKind::Optimizer: {
    uint64_t master = model.uploadIsMaster ? upload : gradient;
    form = {{whole, R}};
    if (model.clip)
      form.push_back({4, R});
    form.push_back({master, R});
    form.push_back({master, W});
    form.insert(form.end(), model.momentsPerElement, {gradient, RW});
    if (!model.uploadIsMaster)
      form.push_back({upload, W});
    return form;
  }
  case OpKind::UpdateScalars:
    form = {{whole, R}};
    if (model.clip)
      form.push_back({4, R});
    form.push_back({scalarBytes((size_t)op.block), W});
    return form;
  case OpKind::DeviceUpdate:
    // How much of the block it is `updatePiece` sees.
    form = {{0, R}};
    form.insert(form.end(), 1 + model.momentsPerElement, {0, RW});
    if (!model.uploadIsMaster)
      form.push_back({0, W});
    form.push_back({scalarBytes((size_t)op.block), R});
    return form;
  default:
    return {{0, R}, {0, W}};
  }
}

/// Of a launch: by its entry's arguments.
std::vector<Replay::Form> Replay::formOf(const Op &op,
                                         const Entry &entry) const {
  std::vector<Form> form;
  const Layer &layer = model.layers[(size_t)op.layer];
  for (const Argument &argument : entry.cost->arguments) {
    Form one{argument.bytes, Access::Read, 0};
    if (argument.role >= Role::Output)
      one.access = Access::Write;
    if (argument.role == Role::Parameter)
      one.offset = layer.parameters[argument.index].offset;
    if (argument.role == Role::Gradient) {
      one.access = Access::ReadWrite;
      one.offset = (uint64_t)layer.parameters[argument.index].gradientOffset;
    }
    form.push_back(one);
  }
  return form;
}

void Replay::checkForm(const Op &op, const std::vector<Form> &form) {
  if (!runsOn(op.kind, op.lane))
    return complain(op, std::string("cannot run on lane ") + laneName(op.lane));
  if (form.size() != op.operands.size())
    return complain(op, "has " + std::to_string(op.operands.size()) +
                            " operands, but needs " +
                            std::to_string(form.size()));
  static const char *const words[] = {"nothing", "read", "written",
                                      "read and written"};
  for (size_t i = 0; i < form.size(); ++i) {
    const Operand &operand = op.operands[i];
    if (form[i].access != operand.access)
      complain(op, "says that operand " + std::to_string(i) + " is " +
                       words[(size_t)operand.access] + ", but it is " +
                       words[(size_t)form[i].access]);
    // State travels in pieces of the host's buffers.
    if (!isOfState(op) || op.kind == OpKind::DeviceUpdate ||
        schedule.buffers[operand.buffers[0]].space == Space::Device)
      checkRange(op, i, form[i].offset, form[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      const Operand &other = op.operands[j];
      // An update may be in place.
      bool master = op.kind == OpKind::Optimizer &&
                    i == (model.clip ? 3u : 2u) && j + 1 == i;
      if (!master &&
          (operand.access != Access::Read || other.access != Access::Read) &&
          overlap(operand, other))
        complain(op, "writes over its own operands: " + std::to_string(j) +
                         " and " + std::to_string(i) + " share bytes of '" +
                         schedule.buffers[operand.buffers[0]].name + "'");
    }
  }
}

/// `bytes` 0: any number.
bool Replay::checkRange(const Op &op, size_t operand, uint64_t offset,
                        uint64_t bytes) {
  const Operand &o = op.operands[operand];
  if (o.offset == offset && (bytes == 0 || o.bytes == bytes))
    return true;
  complain(op, "takes bytes [" + std::to_string(o.offset) + ", " +
                   std::to_string(o.offset + o.bytes) + ") of '" +
                   schedule.buffers[o.buffers[0]].name + "' as operand " +
                   std::to_string(operand) + ", but needs [" +
                   std::to_string(offset) + ", " +
                   std::to_string(offset + (bytes ? bytes : o.bytes)) + ")");
  return false;
}

/// An op of a device serves a slot of the plan, on its device. State goes to
/// any device.
void Replay::checkSlot(const Op &op) {
  if (isHostLane(op.lane) || isOfState(op))
    return;
  if (op.slot < 0 || (size_t)op.slot >= plan.slots.size())
    return complain(op, "serves slot " + std::to_string(op.slot) + " of " +
                            std::to_string(plan.slots.size()));
  const Slot &slot = plan.slots[(size_t)op.slot];
  const Stage &stage = plan.stages[slot.stage];
  std::string name = " slot " + std::to_string(op.slot);
  if ((uint32_t)op.device != slot.device)
    complain(op, "is on device " + std::to_string(op.device) + ", but" + name +
                     " is on device " + std::to_string(slot.device));
  if ((uint32_t)op.round != slot.round)
    complain(op, "is of round " + std::to_string(op.round) + ", but" + name +
                     " is of round " + std::to_string(slot.round));
  if (op.kind == OpKind::Launch &&
      ((uint32_t)op.layer < stage.begin || (uint32_t)op.layer >= stage.end))
    complain(op, "runs layer '" + model.layers[(size_t)op.layer].name +
                     "', but" + name + " has the layers " +
                     std::to_string(stage.begin) + " to " +
                     std::to_string(stage.end - 1));
  if (op.microBatch >= 0 &&
      std::count(slot.microBatches.begin(), slot.microBatches.end(),
                 (uint32_t)op.microBatch) != 1)
    complain(op, "is of micro-batch " + std::to_string(op.microBatch) +
                     ", which" + name + " does not run");
}

/// No op does again what one before it did. Those of state are told apart by
/// what they find.
void Replay::checkTwins() {
  std::map<std::vector<uint64_t>, std::vector<const Op *>> seen;
  for (const Op &op : schedule.ops) {
    if (isOfState(op))
      continue;
    std::vector<uint64_t> key{(uint64_t)op.kind,  (uint64_t)op.device,
                              (uint64_t)op.layer, (uint64_t)op.slot,
                              (uint64_t)op.round, (uint64_t)op.microBatch,
                              (uint64_t)op.block, (uint64_t)op.input};
    for (const Operand &operand : op.operands) {
      key.push_back(operand.phase);
      key.push_back(operand.offset);
      key.push_back(operand.buffers.size());
      key.insert(key.end(), operand.buffers.begin(), operand.buffers.end());
    }
    std::vector<const Op *> &twins = seen[std::move(key)];
    for (const Op *twin : twins)
      if (twin->entry == op.entry)
        complain(op, "does what '" + twin->name + "' has done");
    twins.push_back(&op);
  }
}
