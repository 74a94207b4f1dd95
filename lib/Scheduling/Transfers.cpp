//===- Transfers.cpp - Every transfer, launch and host step ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops are issued in an order in which nothing waits for what is issued later:
// slot by slot, a slot's micro-batches in turn. The parameters of the slot that
// comes next on a device go between the micro-batches of the slot before,
// behind its activations (behind its launches, where they take its buffers):
// that order, and the number of instances in each pool, is all the pacing there
// is.
//
//===----------------------------------------------------------------------===//

#include "Transfers.h"
#include "Support.h"
#include <algorithm>
#include <limits>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

Op &IterationBuilder::emit(OpKind kind, LaneKind lane, std::string name) {
  Op &op = schedule.ops.emplace_back();
  op.kind = kind;
  op.lane = lane;
  op.name = std::move(name);
  return op;
}

std::string IterationBuilder::suffix(size_t slot, int64_t microBatch) const {
  std::string text;
  if (microBatch >= 0)
    text += " mb " + std::to_string(microBatch);
  if (model.rounds > 1)
    text += " round " + std::to_string(plan.slots[slot].round);
  return text;
}

static Operand withAccess(Operand operand, Access access) {
  operand.access = access;
  return operand;
}

Outcome IterationBuilder::shapeStages() {
  for (const Stage &stage : plan.stages)
    shapes.push_back(buildStageShape(model, plan.keep, plan.save, stage));
  if (Outcome outcome = connectStages(model, plan.stages, shapes); !outcome)
    return outcome;
  parameterValues.resize(shapes.size());
  for (size_t s = 0; s < shapes.size(); ++s)
    for (uint32_t v = 0; v < shapes[s].values.size(); ++v)
      if (shapes[s].values[v].key.kind == ValueKind::Parameters)
        parameterValues[s].push_back(v);
  return Outcome::success();
}

void IterationBuilder::makePools() {
  static const char *const names[] = {"parameters", "gradients",
                                      "activations up", "activations down",
                                      "shared parameters"};
  SlotSequence sequence;
  for (const Slot &slot : plan.slots) {
    sequence.stage.push_back(slot.stage);
    sequence.device.push_back(slot.device);
    sequence.microBatches.push_back((uint32_t)slot.microBatches.size());
  }
  for (size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].kind == StageKind::Fused)
      sequence.fused = (uint32_t)s;
  sequence.devices = schedule.devices;
  sequence.rotation = plan.rotation;
  sequence.buffers = plan.buffers;
  sequence.wraps = model.staleness == 1;
  pools = planPools(shapes, sequence);
  resident = findResident(sequence);
  for (const Pool &pool : pools.pools) {
    poolBuffer.push_back((uint32_t)schedule.buffers.size());
    for (uint32_t i = 0; i < pool.count; ++i) {
      Buffer &buffer = schedule.buffers.emplace_back();
      buffer.name = std::string(names[(size_t)pool.cls]) + " of " +
                    std::to_string(pool.bytes) + " bytes #" + std::to_string(i);
      buffer.bytes = pool.bytes;
    }
  }
  for (size_t parity = 0; parity < 2; ++parity)
    cursors[parity] = pools.starts[parity];
}

void IterationBuilder::makeLocals() {
  std::vector<int32_t> firstSlot(shapes.size(), -1);
  for (size_t i = plan.slots.size(); i-- > 0;)
    firstSlot[plan.slots[i].stage] = (int32_t)i;
  localBuffers.resize(shapes.size());
  for (size_t s = 0; s < shapes.size(); ++s) {
    localBuffers[s].assign(shapes[s].values.size(), 0);
    for (size_t v = 0; v < shapes[s].values.size(); ++v) {
      const StageValue &value = shapes[s].values[v];
      if (!value.local())
        continue;
      localBuffers[s][v] = (uint32_t)schedule.buffers.size();
      Buffer &buffer = schedule.buffers.emplace_back();
      buffer.name =
          "stage " + std::to_string(s) + ": " + describeValue(model, value.key);
      buffer.bytes = value.bytes;
      buffer.computeOnly = true;
      buffer.slot = firstSlot[s];
    }
  }
}

void IterationBuilder::findBlocks() {
  blocks.resize(model.blocks.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot &slot = plan.slots[i];
    if (plan.stages[slot.stage].kind == StageKind::Fused)
      lossSlot = i;
    for (const StageValue &value : shapes[slot.stage].values) {
      if (value.key.kind != ValueKind::Parameters &&
          value.key.kind != ValueKind::Gradient)
        continue;
      BlockState &state = blocks[value.key.owner];
      state.lastSlot = i;
      if (value.key.kind == ValueKind::Gradient)
        state.gradientLayers.insert(value.key.index);
      else
        state.firstSlot = std::min(state.firstSlot, i);
    }
  }
}

Operand IterationBuilder::take(const StageValue &value, uint32_t device,
                               Access access) {
  uint32_t pool = pools.find(value);
  Operand operand{{}, 0, 0, value.bytes, access};
  for (std::vector<std::vector<Cursor>> &turn : cursors)
    operand.buffers.push_back(poolBuffer[pool] +
                              turn[device][pool].take(pools.pools[pool].count));
  if (operand.buffers[0] == operand.buffers[1])
    operand.buffers.pop_back();
  return operand;
}

void IterationBuilder::emitParameterUpload(size_t slot, uint32_t value) {
  const StageValue &info = shapes[plan.slots[slot].stage].values[value];
  uint32_t block = info.key.owner;
  Op &op = emit(OpKind::Upload, LaneKind::ParameterUp,
                "upload parameters of " + model.blocks[block].name +
                    " for slot " + std::to_string(slot));
  op.device = (int32_t)plan.slots[slot].device;
  Operand instance = take(info, plan.slots[slot].device, Access::Write);
  op.operands = {host.uploadCopy(block, Access::Read), instance};
  op.slot = (int32_t)slot;
  op.round = (int32_t)plan.slots[slot].round;
  op.block = (int32_t)block;
  op.priority = kParameters;
  op.duration = predictCopy(machine, true, info.bytes);
  held[slot][value] = instance;
}

void IterationBuilder::emitValueUpload(size_t slot, uint32_t value,
                                       uint32_t microBatch) {
  const Slot &where = plan.slots[slot];
  const StageValue &info = shapes[where.stage].values[value];
  Operand source;
  if (info.key.kind == ValueKind::Side)
    source = host.perStep(HostUse::Input, info.key.owner, info.bytes,
                          where.round, microBatch, Access::Read);
  else if (info.key.kind == ValueKind::Seed)
    source = host.perStep(HostUse::Seed, 0, info.bytes, where.round, microBatch,
                          Access::Read);
  else
    source =
        host.value(info.key, info.bytes, where.round, microBatch, Access::Read);
  Op &op =
      emit(OpKind::Upload, LaneKind::ActivationUp,
           "upload " + describeValue(model, info.key) +
               suffix(slot, microBatch) + " for slot " + std::to_string(slot));
  op.device = (int32_t)where.device;
  op.operands = {std::move(source), held[slot][value]};
  op.operands[1].access = Access::Write;
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.microBatch = (int32_t)microBatch;
  if (info.key.kind == ValueKind::Side)
    op.input = (int32_t)info.key.owner;
  else if (info.key.kind != ValueKind::Seed)
    op.layer = (int32_t)info.key.owner;
  op.priority = kActivations;
  op.duration = predictCopy(machine, true, info.bytes);
}

void IterationBuilder::emitValueDownload(size_t slot, uint32_t value,
                                         uint32_t microBatch) {
  const Slot &where = plan.slots[slot];
  const StageValue &info = shapes[where.stage].values[value];
  Op &op = emit(OpKind::Download, LaneKind::ActivationDown,
                "download " + describeValue(model, info.key) +
                    suffix(slot, microBatch));
  bool loss = info.key.kind == ValueKind::Loss;
  op.device = (int32_t)where.device;
  op.operands = {withAccess(held[slot][value], Access::Read),
                 loss ? host.perStep(HostUse::Loss, 0, info.bytes, where.round,
                                     microBatch, Access::Write)
                      : host.value(info.key, info.bytes, where.round,
                                   microBatch, Access::Write)};
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.microBatch = (int32_t)microBatch;
  op.layer = loss ? (int32_t)model.layers.size() - 1 : (int32_t)info.key.owner;
  op.priority = kActivations;
  op.duration = predictCopy(machine, false, info.bytes);
}

void IterationBuilder::emitLaunch(size_t slot, uint32_t launch,
                                  uint32_t microBatch) {
  const Slot &where = plan.slots[slot];
  const StageShape &shape = shapes[where.stage];
  const LaunchShape &info = shape.launches[launch];
  const Layer &layer = model.layers[info.layer];
  Op &op = emit(OpKind::Launch, LaneKind::Compute,
                info.name + " " + layer.name + suffix(slot, microBatch));
  op.device = (int32_t)where.device;
  op.entry = layer.bodyName + "::" + info.name;
  for (const Use &use : info.operands) {
    Operand operand;
    if (shape.values[use.value].local())
      operand.buffers = {localBuffers[where.stage][use.value]};
    else
      operand = held[slot][use.value];
    operand.offset = use.offset;
    operand.bytes = use.bytes;
    operand.access = use.access;
    op.operands.push_back(std::move(operand));
  }
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.layer = (int32_t)info.layer;
  op.microBatch = (int32_t)microBatch;
  op.duration = info.entry->time;
}

/// In the order of the compute lane: behind the last launch that adds to it.
void IterationBuilder::emitGradientRounding(size_t slot, uint32_t value) {
  const Slot &where = plan.slots[slot];
  const StageValue &info = shapes[where.stage].values[value];
  Op &op = emit(OpKind::Round, LaneKind::Compute,
                "round " + describeValue(model, info.key) + suffix(slot));
  op.device = (int32_t)where.device;
  op.operands = {withAccess(held[slot][value], Access::ReadWrite)};
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.layer = (int32_t)info.key.index;
  op.block = (int32_t)info.key.owner;
  op.duration = machine.launchLatency;
  if (machine.deviceBandwidth > 0)
    op.duration += 1.5 * (double)info.bytes / machine.deviceBandwidth * 1e9;
}

void IterationBuilder::emitGradientDownload(size_t slot, uint32_t value) {
  const Slot &where = plan.slots[slot];
  const StageValue &info = shapes[where.stage].values[value];
  if (model.roundGradients)
    emitGradientRounding(slot, value);
  uint32_t block = info.key.owner, layer = info.key.index;
  std::string name = describeValue(model, info.key) + suffix(slot);
  Op &op = emit(OpKind::Download, LaneKind::GradientDown, "download " + name);
  op.device = (int32_t)where.device;
  // Sums over rounds begin with what arrives, unless that is rounded.
  bool begins = model.rounds > 1 && where.round == 0 && !model.roundGradients;
  op.operands = {withAccess(held[slot][value], Access::Read),
                 begins ? host.sum(block, layer, Access::Write)
                        : host.landing(block, layer, Access::Write)};
  op.operands[0].bytes = op.operands[1].bytes;
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.layer = (int32_t)layer;
  op.block = (int32_t)block;
  op.priority = kGradients;
  op.duration = predictCopy(machine, false, op.operands[1].bytes);
  if (model.rounds == 1 || begins)
    return;
  Op &add = emit(OpKind::Accumulate, LaneKind::Update, "add " + name);
  add.first = where.round == 0;
  add.operands = {
      host.sum(block, layer, add.first ? Access::Write : Access::ReadWrite),
      host.landing(block, layer, Access::Read)};
  add.round = (int32_t)where.round;
  add.layer = (int32_t)layer;
  add.block = (int32_t)block;
  add.duration = hostTime(add);
}

void IterationBuilder::emitMicroBatch(size_t slot, uint32_t position) {
  const Slot &where = plan.slots[slot];
  const StageShape &shape = shapes[where.stage];
  uint32_t microBatch = microBatchOf(slot, position),
           count = (uint32_t)where.microBatches.size();
  bool last = position + 1 == count;
  // By launch: what must be there before, and what goes out after.
  std::vector<std::vector<uint32_t>> before(shape.launches.size()),
      after(shape.launches.size()), zeroed(shape.launches.size()),
      complete(shape.launches.size());
  for (uint32_t v = 0; v < shape.values.size(); ++v) {
    const StageValue &value = shape.values[v];
    if (value.local() || value.key.kind == ValueKind::Parameters)
      continue;
    if (value.key.kind == ValueKind::Gradient) {
      zeroed[value.firstUse].push_back(v);
      if (last)
        complete[value.lastUse].push_back(v);
      continue;
    }
    held[slot][v] = take(value, where.device, Access::Read);
    (value.uploaded ? before : after)[value.firstUse].push_back(v);
  }
  for (uint32_t l = 0; l < shape.launches.size(); ++l) {
    for (uint32_t v : before[l])
      emitValueUpload(slot, v, microBatch);
    if (l == 0 && plan.buffers.parameters > 1)
      emitNextParameters(slot, position);
    if (position == 0)
      for (uint32_t v : zeroed[l])
        emitZero(slot, v);
    emitLaunch(slot, l, microBatch);
    for (uint32_t v : after[l])
      emitValueDownload(slot, v, microBatch);
    for (uint32_t v : complete[l])
      emitGradientDownload(slot, v);
  }
}

/// Just before its first use: with buffers for one slot, the last gradient
/// there is on its way until then.
void IterationBuilder::emitZero(size_t slot, uint32_t value) {
  const Slot &where = plan.slots[slot];
  const StageValue &info = shapes[where.stage].values[value];
  held[slot][value] = take(info, where.device, Access::Write);
  Op &op = emit(OpKind::Zero, LaneKind::Compute,
                "zero " + describeValue(model, info.key) + suffix(slot));
  op.device = (int32_t)where.device;
  op.operands = {held[slot][value]};
  op.slot = (int32_t)slot;
  op.round = (int32_t)where.round;
  op.layer = (int32_t)info.key.index;
  op.block = (int32_t)info.key.owner;
  op.duration = machine.launchLatency;
  if (machine.deviceBandwidth > 0)
    op.duration += (double)info.bytes / machine.deviceBandwidth * 1e9;
}

/// The slot that comes next on this one's device: all its parameters, or the
/// share that goes with micro-batch `position`.
void IterationBuilder::emitNextParameters(size_t slot,
                                          std::optional<uint32_t> position) {
  // All of the slot's own are taken.
  if (plan.stages[plan.slots[slot].stage].kind == StageKind::Fused &&
      !resident[slot])
    for (std::vector<std::vector<Cursor>> &turn : cursors)
      for (uint32_t p = 0; p < pools.pools.size(); ++p)
        if (pools.turns(p))
          turn[plan.slots[slot].device][p].down ^= true;
  size_t next = slot + 1;
  while (next < plan.slots.size() &&
         plan.slots[next].device != plan.slots[slot].device)
    ++next;
  if (next == plan.slots.size())
    return;
  const std::vector<uint32_t> &values = parameterValues[plan.slots[next].stage];
  size_t count = plan.slots[slot].microBatches.size();
  size_t begin = position ? values.size() * *position / count : 0;
  size_t end =
      position ? values.size() * (*position + 1) / count : values.size();
  for (size_t i = begin; i < end; ++i)
    if (resident[next])
      held[next][values[i]] = held[slot][values[i]];
    else
      emitParameterUpload(next, values[i]);
}

void IterationBuilder::emitSlot(size_t slot) {
  for (uint32_t position = 0; position < plan.slots[slot].microBatches.size();
       ++position)
    emitMicroBatch(slot, position);
  if (plan.buffers.parameters == 1)
    emitNextParameters(slot, std::nullopt);
}

Outcome IterationBuilder::run() {
  schedule = Schedule();
  schedule.name = model.name;
  schedule.devices = machine.devices;
  schedule.rotation = plan.rotation;
  if (Outcome outcome = shapeStages(); !outcome)
    return outcome;
  makePools();
  makeLocals();
  findBlocks();
  makeStateBuffers();
  held.resize(plan.slots.size());
  emitInputs();
  // Each device's first parameters: no slot before could carry them.
  std::vector<bool> started(schedule.devices, false);
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    if (started[plan.slots[i].device])
      continue;
    started[plan.slots[i].device] = true;
    for (uint32_t value : parameterValues[plan.slots[i].stage])
      emitParameterUpload(i, value);
  }
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    emitSlot(i);
    held[i].clear();
    emitUpdates(i);
  }
  schedule.period = computePeriod(schedule);
  return Outcome::success();
}

Outcome TransferProblem::check() const {
  Outcome outcome = checkModel(model);
  auto complain = [&](std::string message) {
    outcome.ok = false;
    outcome.messages.push_back(std::move(message));
  };
  if (!outcome)
    return outcome;
  if (outcome = checkEntries(model, plan.keep, plan.save); !outcome)
    return outcome;
  if (plan.slots.empty())
    complain("the plan has no slots");
  for (size_t s = 0; s < plan.stages.size(); ++s)
    if (plan.stages[s].begin >= plan.stages[s].end ||
        plan.stages[s].end > model.layers.size())
      complain("stage " + std::to_string(s) + " holds layers " +
               std::to_string(plan.stages[s].begin) + " to " +
               std::to_string(plan.stages[s].end) + " of " +
               std::to_string(model.layers.size()));
    else if ((plan.stages[s].kind == StageKind::Fused) !=
             (plan.stages[s].end == model.layers.size()))
      complain("stage " + std::to_string(s) +
               ": the loss layer belongs to the fused stage, and it alone");
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot &slot = plan.slots[i];
    if (slot.stage >= plan.stages.size() || slot.device >= machine.devices ||
        slot.round >= model.rounds || slot.microBatches.empty())
      complain(
          "slot " + std::to_string(i) +
          " names a stage, device, round or micro-batch that does not exist");
    for (uint32_t m : slot.microBatches)
      if (m >= model.microBatches)
        complain("slot " + std::to_string(i) + " runs micro-batch " +
                 std::to_string(m) + " of " +
                 std::to_string(model.microBatches));
  }
  return outcome;
}

Outcome TransferProblem::solve(Schedule &schedule) const {
  if (Outcome outcome = check(); !outcome)
    return outcome;
  return IterationBuilder(*this, schedule).run();
}
