//===- TransferVerifier.cpp - Does every op find what it needs? -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferReplay.h"

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

Entry Replay::findEntry(const Op &op) const {
  const Layer &layer = model.layers[(size_t)op.layer];
  std::string prefix = layer.bodyName + "::";
  if (op.entry.compare(0, prefix.size(), prefix) != 0)
    return {};
  std::string wanted = op.entry.substr(prefix.size());
  auto is = [&](const EntryCost &cost, const std::string &usual) {
    return cost.present && wanted == (cost.name.empty() ? usual : cost.name);
  };
  if (is(layer.forward, "forward"))
    return {&layer.forward, 0};
  if (is(layer.forwardBackward, "forward_backward"))
    return {&layer.forwardBackward, 0};
  const char *const sets[] = {"input", "products", "all"};
  for (uint32_t set = 0; set < 3; ++set) {
    std::string tail = std::string("_") + sets[set];
    if (is(layer.forwardSave[set], "forward" + tail))
      return {&layer.forwardSave[set], set};
    if (is(layer.rebuild[set], "rebuild" + tail))
      return {&layer.rebuild[set], set};
    if (is(layer.backward[set],
           "backward" + tail + (layer.cotangentBytes.empty() ? "_nodx" : "")))
      return {&layer.backward[set], set};
  }
  return {};
}

/// Micro-batches that a layer's backward sees in a round.
uint32_t Replay::batchesOf(uint32_t round, uint32_t layer) const {
  for (const Slot &slot : plan.slots) {
    const Stage &stage = plan.stages[slot.stage];
    if (slot.round == round && stage.kind != StageKind::Forward &&
        stage.begin <= layer && layer < stage.end)
      return (uint32_t)slot.microBatches.size();
  }
  return 0;
}

bool Replay::fieldsAreValid(const Op &op) const {
  auto in = [](int32_t value, size_t count) {
    return value >= 0 && (size_t)value < count;
  };
  switch (op.kind) {
  case OpKind::Launch:
    return in(op.layer, model.layers.size()) && in(op.round, model.rounds) &&
           in(op.microBatch, model.microBatches) &&
           in(op.slot, plan.slots.size());
  case OpKind::Zero:
  case OpKind::Round:
    return in(op.block, model.blocks.size()) &&
           in(op.layer, model.layers.size()) && in(op.round, model.rounds);
  case OpKind::StageInput:
    return in(op.input, model.inputs.size()) && in(op.round, model.rounds) &&
           in(op.microBatch, model.microBatches);
  case OpKind::CountLabels:
    return in(op.round, model.rounds) && in(op.microBatch, model.microBatches);
  case OpKind::Accumulate:
  case OpKind::Norm:
  case OpKind::Optimizer:
  case OpKind::UpdateScalars:
    return in(op.block, model.blocks.size());
  case OpKind::DeviceUpdate:
    return in(op.block, model.blocks.size()) && !uses[(size_t)op.block].empty();
  default:
    return true;
  }
}

bool Replay::prepare() {
  uses.resize(model.blocks.size());
  for (uint32_t l = 0; l < model.layers.size(); ++l)
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.gradientOffset >= 0 &&
          (uses[parameter.block].empty() || uses[parameter.block].back() != l))
        uses[parameter.block].push_back(l);
  entries.resize(schedule.ops.size());
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    if (!fieldsAreValid(op)) {
      complain(op, "names a layer, block, slot or micro-batch that does not "
                   "exist, or has the wrong operands");
      continue;
    }
    checkSlot(op);
    checkWhereUpdated(op);
    if (op.kind != OpKind::Launch) {
      checkForm(op, formOf(op));
      if (op.kind == OpKind::CountLabels && op.entry != model.countEntry)
        complain(op, "runs '" + op.entry + "', but labels are counted by '" +
                         model.countEntry + "'");
      continue;
    }
    entries[i] = findEntry(op);
    if (!entries[i].cost ||
        entries[i].cost->arguments.size() != op.operands.size()) {
      complain(op, "launches '" + op.entry + "', which layer '" +
                       model.layers[(size_t)op.layer].name +
                       "' does not have with these operands");
      continue;
    }
    checkForm(op, formOf(op, entries[i]));
  }
  checkTwins();
  if (outcome.ok)
    checkStateCopies();
  return outcome.ok && initialize();
}

/// `operand` holds `symbol` before the first step. Two operations that would
/// have it otherwise share a buffer that they must not.
void Replay::begin(const Op &op, size_t operand, Symbol symbol) {
  const Operand &o = op.operands[operand];
  for (uint32_t buffer : o.buffers) {
    Symbol &now = contents[buffer * (size_t)schedule.devices];
    if (now.kind != Kind::Nothing && now != symbol)
      complain(op, "begins with " + text(symbol) + " in '" +
                       schedule.buffers[buffer].name +
                       "', where another operation begins with " + text(now));
    now = symbol;
  }
}

/// Before the first step every copy and master holds the initial parameters.
bool Replay::initialize() {
  for (const Op &op : schedule.ops) {
    if (op.kind == OpKind::Seed && model.scaleLoss) {
      const Operand &scale = op.operands.back();
      for (uint32_t i = 0; i < scale.buffers.size(); ++i)
        contents[scale.buffers[(i + scale.phase) % scale.buffers.size()] *
                 (size_t)schedule.devices] = {Kind::Scale, 0, 0, 0, i, 0, 0, 0};
    }
    if (op.block < 0 || (size_t)op.block >= model.blocks.size())
      continue;
    Symbol parameters{Kind::Parameters, (uint32_t)op.block, 0, 0, 0, 0, 0, 0};
    if (op.kind == OpKind::Upload && op.lane == LaneKind::ParameterUp)
      begin(op, 0, parameters);
    if (op.kind != OpKind::Optimizer)
      continue;
    size_t master = model.clip ? 2 : 1;
    begin(op, master, parameters);
    for (uint32_t i = 0; i < model.momentsPerElement; ++i)
      begin(op, master + 2 + i,
            {Kind::Moments, (uint32_t)op.block, i, 0, 0, 0, 0, 0});
  }
  beginState();
  return outcome.ok;
}

Outcome Replay::run() {
  if (!prepare())
    return outcome;
  // Carried values come around within a period; two more steps show updates
  // arrive where staleness wants them.
  for (step = 0; step < schedule.period + 2u && outcome; ++step) {
    updates.assign(model.blocks.size(), 0);
    norms.assign(model.blocks.size(), 0);
    losses = 0;
    for (size_t i = 0; i < schedule.ops.size(); ++i)
      play(schedule.ops[i], i);
    std::string when = " in iteration " + std::to_string(step);
    for (uint32_t b = 0; b < uses.size(); ++b)
      if (updates[b] != (uses[b].empty() ? 0u : 1u)) {
        outcome.ok = false;
        outcome.messages.push_back(
            "block '" + model.blocks[b].name + "' is updated " +
            std::to_string(updates[b]) + " times" + when);
      }
    if (losses != 1) {
      outcome.ok = false;
      outcome.messages.push_back("the step's loss is joined " +
                                 std::to_string(losses) + " times" + when);
    }
  }
  return outcome;
}

Outcome TransferProblem::verify(const Schedule &schedule) const {
  if (Outcome outcome = check(); !outcome)
    return outcome;
  if (Outcome outcome = detail::checkSchedule(schedule); !outcome)
    return outcome;
  if (schedule.devices != machine.devices || schedule.rotation != plan.rotation)
    return Outcome::failure("the schedule is for other devices than the plan");
  return Replay(*this, schedule).run();
}
