//===- TransferVerifier.cpp - Does every op find what it needs? -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares no code with the solver. The schedule is replayed in issue order on
// physical buffers that hold symbols: "boundary value 1 of layer 7, step 3,
// round 0, micro-batch 2", "parameters of block 4 after 2 updates", "the sum of
// rounds 0 to 1 of ...". Each op must find the symbols that the model says it
// needs; if the step's loss and every update do, so did all before them.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <algorithm>
#include <map>

using namespace rondo::scheduling;

namespace {

enum class Kind : uint8_t {
  Nothing,
  Input,
  Count,
  Seed,
  Loss,
  Boundary,
  Saved,
  Cotangent,
  Parameters, ///< a: block; step: updates applied.
  Partial,    ///< Gradient of block a by layer b in one round; count:
              ///< micro-batches added.
  Sum,        ///< Gradient of block a by layer b; count: rounds added.
  Total,      ///< Gradient of block a; count: uses added.
  Moments,
  Squares,
  Coefficient,
};

struct Symbol {
  Kind kind = Kind::Nothing;
  uint32_t a = 0, b = 0, set = 0;
  uint64_t step = 0;
  uint32_t round = 0, microBatch = 0, count = 0;
  bool operator==(const Symbol &) const = default;
};

struct Entry {
  const EntryCost *cost = nullptr;
  uint32_t set = 0;
};

class Replay {
public:
  Replay(const TransferProblem &problem, const Schedule &schedule)
      : model(problem.model), plan(problem.plan), schedule(schedule),
        contents(schedule.buffers.size() * schedule.devices) {}
  Outcome run();

private:
  bool prepare();
  void complain(const Op &op, const std::string &problem) {
    outcome.ok = false;
    // One slip spoils all that follows from it: the first few tell.
    if (outcome.messages.size() < 10)
      outcome.messages.push_back("'" + op.name + "' of iteration " +
                                 std::to_string(step) + " " + problem);
  }
  Symbol &at(const Op &op, size_t operand) {
    const Operand &o = op.operands[operand];
    uint32_t buffer = o.buffers[(step + o.phase) % o.buffers.size()];
    bool device = schedule.buffers[buffer].space == Space::Device;
    return contents[buffer * (size_t)schedule.devices +
                    (device ? schedule.physicalDevice(op.device, step) : 0)];
  }
  bool expect(const Op &op, size_t operand, const Symbol &wanted);
  Symbol ofBatch(Kind kind, const Op &op, uint32_t a = 0, uint32_t b = 0,
                 uint32_t set = 0) const {
    return {kind, a, b, set, step, (uint32_t)op.round, (uint32_t)op.microBatch,
            0};
  }
  Entry findEntry(const Op &op) const;
  uint32_t batchesOf(uint32_t round, uint32_t layer) const;
  bool fieldsAreValid(const Op &op) const;
  std::string text(const Symbol &symbol) const;

  void copy(const Op &op);
  void launch(const Op &op, const Entry &entry);
  void accumulate(const Op &op);
  void norm(const Op &op);
  void clip(const Op &op);
  void optimize(const Op &op);
  void joinBatches(const Op &op);
  void play(const Op &op, size_t index);

  const Model &model;
  const Plan &plan;
  const Schedule &schedule;
  std::vector<Symbol> contents; ///< By buffer, device.
  std::vector<Entry> entries;   ///< Of launches.
  std::vector<std::vector<uint32_t>>
      uses; ///< By block: the layers whose use of it trains.
  std::vector<uint32_t> updates, norms; ///< By block, in this iteration.
  uint32_t losses = 0;
  uint64_t step = 0;
  Outcome outcome;
};

} // namespace

std::string Replay::text(const Symbol &s) const {
  static const char *const names[] = {"nothing",
                                      "input",
                                      "label count",
                                      "seed",
                                      "loss",
                                      "boundary",
                                      "saved",
                                      "cotangent",
                                      "parameters",
                                      "gradient",
                                      "sum of gradients",
                                      "whole gradient",
                                      "moments",
                                      "squares",
                                      "clip coefficient"};
  return std::string(names[(size_t)s.kind]) + " (" + std::to_string(s.a) +
         ", " + std::to_string(s.b) + ", " + std::to_string(s.set) + "; step " +
         std::to_string(s.step) + " round " + std::to_string(s.round) + " mb " +
         std::to_string(s.microBatch) + "; " + std::to_string(s.count) +
         " added)";
}

bool Replay::expect(const Op &op, size_t operand, const Symbol &wanted) {
  const Symbol &found = at(op, operand);
  if (found == wanted)
    return true;
  const Operand &o = op.operands[operand];
  complain(op,
           "finds " + text(found) + " in '" +
               schedule.buffers[o.buffers[(step + o.phase) % o.buffers.size()]]
                   .name +
               "', but needs " + text(wanted));
  return false;
}

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
    return in(op.block, model.blocks.size()) &&
           in(op.layer, model.layers.size()) && in(op.round, model.rounds) &&
           op.operands.size() == 1;
  case OpKind::StageInput:
    return in(op.input, model.inputs.size()) && in(op.round, model.rounds) &&
           in(op.microBatch, model.microBatches) && op.operands.size() == 1;
  case OpKind::CountLabels:
    return in(op.round, model.rounds) &&
           in(op.microBatch, model.microBatches) &&
           op.operands.size() ==
               model.countInputs.size() + (model.countScratchBytes ? 2 : 1);
  case OpKind::Accumulate:
    return in(op.block, model.blocks.size()) && op.operands.size() == 2;
  case OpKind::Norm:
    return in(op.block, model.blocks.size()) && op.operands.size() == 2;
  case OpKind::Optimizer:
    return in(op.block, model.blocks.size()) &&
           op.operands.size() == 3u + (model.clip ? 1 : 0) +
                                     model.momentsPerElement +
                                     (model.uploadIsMaster ? 0 : 1);
  case OpKind::Clip:
    return !op.operands.empty();
  case OpKind::Seed:
  case OpKind::Loss:
    return op.operands.size() == (size_t)model.rounds * model.microBatches *
                                     (1u + (model.countLabels ? 1 : 0));
  default:
    return true;
  }
}

void Replay::copy(const Op &op) {
  const Symbol &source = at(op, 0);
  if (source.kind == Kind::Nothing) {
    complain(op, "copies what nothing wrote");
    return;
  }
  if (source.kind == Kind::Parameters && op.kind == OpKind::Upload) {
    bool trains = !uses[source.a].empty();
    uint64_t wanted = !trains                ? 0
                      : model.staleness == 0 ? step
                      : step > 0             ? step - 1
                                             : 0;
    if (source.step != wanted) {
      complain(op,
               "uploads parameters of block '" + model.blocks[source.a].name +
                   "' after " + std::to_string(source.step) +
                   " updates, but the step must see " + std::to_string(wanted));
      return;
    }
  }
  at(op, 1) = source;
}

void Replay::launch(const Op &op, const Entry &entry) {
  const Layer &layer = model.layers[(size_t)op.layer];
  auto l = (uint32_t)op.layer;
  const std::vector<uint32_t> &batches =
      plan.slots[(size_t)op.slot].microBatches;
  auto place = (uint32_t)(std::find(batches.begin(), batches.end(),
                                    (uint32_t)op.microBatch) -
                          batches.begin());
  std::vector<size_t> gradients;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Argument &argument = entry.cost->arguments[i];
    switch (argument.role) {
    case Role::Boundary:
      expect(op, i, ofBatch(Kind::Boundary, op, l, argument.index));
      break;
    case Role::Saved:
      expect(op, i, ofBatch(Kind::Saved, op, l, argument.index, entry.set));
      break;
    case Role::Cotangent:
      expect(op, i, ofBatch(Kind::Cotangent, op, l + 1, argument.index));
      break;
    case Role::Side:
      expect(op, i, ofBatch(Kind::Input, op, layer.sides[argument.index]));
      break;
    case Role::Seed:
      expect(op, i, ofBatch(Kind::Seed, op));
      break;
    case Role::Parameter: {
      // Which version it is was settled at the upload.
      const Symbol &found = at(op, i);
      uint32_t block = layer.parameters[argument.index].block;
      bool late = uses[block].empty()
                      ? found.step != 0
                      : found.step != (model.staleness && step ? step - 1
                                       : model.staleness       ? 0
                                                               : step);
      if (found.kind != Kind::Parameters || found.a != block || late)
        complain(op, "finds " + text(found) +
                         ", but needs the parameters of block '" +
                         model.blocks[block].name + "'");
      if (op.operands[i].offset != layer.parameters[argument.index].offset)
        complain(op, "reads parameter " + std::to_string(argument.index) +
                         " at the wrong offset");
      break;
    }
    case Role::Gradient: {
      uint32_t block = layer.parameters[argument.index].block;
      expect(op, i,
             {Kind::Partial, block, l, 0, step, (uint32_t)op.round, 0, place});
      if (op.operands[i].offset !=
          (uint64_t)layer.parameters[argument.index].gradientOffset)
        complain(op, "adds to the gradient of parameter " +
                         std::to_string(argument.index) +
                         " at the wrong offset");
      gradients.push_back(i);
      break;
    }
    default:
      break;
    }
  }
  for (size_t i : gradients)
    at(op, i) = {Kind::Partial,
                 layer.parameters[entry.cost->arguments[i].index].block,
                 l,
                 0,
                 step,
                 (uint32_t)op.round,
                 0,
                 place + 1};
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Argument &argument = entry.cost->arguments[i];
    if (argument.role == Role::Output)
      at(op, i) = ofBatch(Kind::Boundary, op, l + 1, argument.index);
    else if (argument.role == Role::Loss)
      at(op, i) = ofBatch(Kind::Loss, op);
    else if (argument.role == Role::SavedOut)
      at(op, i) = ofBatch(Kind::Saved, op, l, argument.index, entry.set);
    else if (argument.role == Role::CotangentOut)
      at(op, i) = ofBatch(Kind::Cotangent, op, l, argument.index);
    else if (argument.role == Role::Scratch)
      at(op, i) = {};
  }
}

void Replay::accumulate(const Op &op) {
  auto block = (uint32_t)op.block;
  // A round's complete gradient is the sum of that round; with one round, of
  // all.
  auto asSum = [&](const Symbol &s) {
    if (s.kind == Kind::Partial && s.count == batchesOf(s.round, s.b) &&
        s.round == 0)
      return Symbol{Kind::Sum, s.a, s.b, 0, s.step, 0, 0, 1};
    return s;
  };
  Symbol sum = asSum(at(op, 0)), addend = at(op, 1), &target = at(op, 0);
  bool whole = addend.kind == Kind::Partial && addend.a == block &&
               addend.step == step &&
               addend.count == batchesOf(addend.round, addend.b);
  if (op.first) {
    if (!whole || addend.round != 0)
      complain(op, "begins a sum with " + text(addend));
    target = {Kind::Sum, block, addend.b, 0, step, 0, 0, 1};
    return;
  }
  if (whole &&
      sum == Symbol{Kind::Sum, block, addend.b, 0, step, 0, 0, addend.round} &&
      addend.round > 0) {
    target = {Kind::Sum, block, addend.b, 0, step, 0, 0, addend.round + 1};
    return;
  }
  // Else the use of another layer: in layer order, each one complete.
  addend = asSum(addend);
  uint32_t added = sum.kind == Kind::Total ? sum.count : 1;
  bool complete =
      addend.kind == Kind::Sum && addend.a == block && addend.step == step &&
      addend.count == model.rounds && sum.a == block && sum.step == step &&
      added < uses[block].size() && addend.b == uses[block][added] &&
      (sum.kind == Kind::Total ||
       (sum.kind == Kind::Sum && sum.b == uses[block][0] &&
        sum.count == model.rounds));
  if (!complete)
    complain(op, "adds " + text(addend) + " to " + text(sum) +
                     ", which is not the order of additions");
  target = {Kind::Total, block, 0, 0, step, 0, 0, added + 1};
}

void Replay::norm(const Op &op) {
  at(op, 1) = {Kind::Squares, (uint32_t)op.block, 0, 0, step, 0, 0, 0};
  ++norms[(size_t)op.block];
}

void Replay::clip(const Op &op) {
  size_t next = 0;
  for (uint32_t b = 0; b < uses.size(); ++b) {
    if (uses[b].empty())
      continue;
    if (next + 1 >= op.operands.size()) {
      complain(op, "does not read the squares of block '" +
                       model.blocks[b].name + "'");
      break;
    }
    expect(op, next++, {Kind::Squares, b, 0, 0, step, 0, 0, 0});
  }
  at(op, op.operands.size() - 1) = {Kind::Coefficient, 0, 0, 0, step, 0, 0, 0};
}

void Replay::optimize(const Op &op) {
  auto block = (uint32_t)op.block;
  size_t next = 1;
  if (model.clip)
    expect(op, next++, {Kind::Coefficient, 0, 0, 0, step, 0, 0, 0});
  Symbol before{Kind::Parameters, block, 0, 0, step, 0, 0, 0}, after = before;
  ++after.step;
  expect(op, next++, before);
  at(op, next++) = after;
  for (uint32_t i = 0; i < model.momentsPerElement; ++i) {
    Symbol moments{Kind::Moments, block, i, 0, step, 0, 0, 0};
    if (step > 0)
      expect(op, next, moments);
    ++moments.step;
    at(op, next++) = moments;
  }
  if (!model.uploadIsMaster)
    at(op, next) = after;
  ++updates[block];
}

void Replay::joinBatches(const Op &op) {
  size_t next = 0;
  bool seeds = op.kind == OpKind::Seed;
  auto all = [&](Kind kind, bool writes) {
    for (uint32_t r = 0; r < model.rounds; ++r)
      for (uint32_t m = 0; m < model.microBatches; ++m) {
        Symbol symbol{kind, 0, 0, 0, step, r, m, 0};
        if (writes)
          at(op, next) = symbol;
        else
          expect(op, next, symbol);
        ++next;
      }
  };
  if (!seeds)
    all(Kind::Loss, false);
  if (model.countLabels)
    all(Kind::Count, false);
  if (seeds)
    all(Kind::Seed, true);
  else
    ++losses;
}

void Replay::play(const Op &op, size_t index) {
  switch (op.kind) {
  case OpKind::Upload:
  case OpKind::Download:
    return copy(op);
  case OpKind::PeerCopy:
    return complain(op, "is a peer copy, which plans do not have yet");
  case OpKind::Launch:
    return launch(op, entries[index]);
  case OpKind::Zero:
    at(op, 0) = {Kind::Partial,
                 (uint32_t)op.block,
                 (uint32_t)op.layer,
                 0,
                 step,
                 (uint32_t)op.round,
                 0,
                 0};
    return;
  case OpKind::StageInput:
    at(op, 0) = ofBatch(Kind::Input, op, (uint32_t)op.input);
    return;
  case OpKind::CountLabels:
    for (size_t i = 0; i < model.countInputs.size(); ++i)
      expect(op, i, ofBatch(Kind::Input, op, model.countInputs[i]));
    at(op, model.countInputs.size()) = ofBatch(Kind::Count, op);
    return;
  case OpKind::Seed:
  case OpKind::Loss:
    return joinBatches(op);
  case OpKind::Accumulate:
    return accumulate(op);
  case OpKind::Norm:
  case OpKind::Optimizer: {
    // Both read the whole gradient: of all uses, rounds and micro-batches.
    auto block = (uint32_t)op.block;
    if (uses[block].empty())
      return complain(op, "updates block '" + model.blocks[block].name +
                              "', in which nothing trains");
    Symbol whole{Kind::Total, block, 0, 0,
                 step,        0,     0, (uint32_t)uses[block].size()};
    if (uses[block].size() == 1)
      whole = model.rounds == 1
                  ? Symbol{Kind::Partial,
                           block,
                           uses[block][0],
                           0,
                           step,
                           0,
                           0,
                           batchesOf(0, uses[block][0])}
                  : Symbol{Kind::Sum, block, uses[block][0], 0, step,
                           0,         0,     model.rounds};
    expect(op, 0, whole);
    return op.kind == OpKind::Norm ? norm(op) : optimize(op);
  }
  case OpKind::Clip:
    return clip(op);
  }
}

bool Replay::prepare() {
  entries.resize(schedule.ops.size());
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    if (!fieldsAreValid(op)) {
      complain(op, "names a layer, block, slot or micro-batch that does not "
                   "exist, or has the wrong operands");
      continue;
    }
    if (op.kind != OpKind::Launch)
      continue;
    entries[i] = findEntry(op);
    if (!entries[i].cost ||
        entries[i].cost->arguments.size() != op.operands.size()) {
      complain(op, "launches '" + op.entry + "', which layer '" +
                       model.layers[(size_t)op.layer].name +
                       "' does not have with these operands");
      continue;
    }
    for (size_t a = 0; a < op.operands.size(); ++a) {
      const Argument &argument = entries[i].cost->arguments[a];
      Access wanted = argument.role == Role::Gradient ? Access::ReadWrite
                      : argument.role >= Role::Output ? Access::Write
                                                      : Access::Read;
      if (op.operands[a].bytes != argument.bytes ||
          op.operands[a].access != wanted)
        complain(op, "has the wrong size or access for argument " +
                         std::to_string(a));
    }
  }
  uses.resize(model.blocks.size());
  for (uint32_t l = 0; l < model.layers.size(); ++l)
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.gradientOffset >= 0 &&
          (uses[parameter.block].empty() || uses[parameter.block].back() != l))
        uses[parameter.block].push_back(l);
  // Before the first step every copy and master holds the initial parameters.
  for (const Op &op : schedule.ops) {
    size_t master =
        op.kind == OpKind::Optimizer ? (model.clip ? 2 : 1) : SIZE_MAX;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      bool uploads = op.kind == OpKind::Upload &&
                     op.lane == LaneKind::ParameterUp && i == 0;
      if ((!uploads && i != master) || op.block < 0 ||
          (size_t)op.block >= model.blocks.size())
        continue;
      for (uint32_t buffer : op.operands[i].buffers)
        contents[buffer * (size_t)schedule.devices] = {
            Kind::Parameters, (uint32_t)op.block, 0, 0, 0, 0, 0, 0};
    }
  }
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
