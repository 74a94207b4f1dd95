//===- TransferReplay.cpp - A schedule, replayed on symbols ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferReplay.h"
#include <algorithm>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

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
                                      "clip coefficient",
                                      "loss scale",
                                      "scalars of an update"};
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

void Replay::copy(const Op &op) {
  const Symbol &source = at(op, 0);
  if (op.kind == OpKind::Upload && parts.count(bufferOf(op, 0))) {
    complain(op, "copies a block's parameters when a part of them is updated");
    return;
  }
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
  if (!checkTags(op, source) || !checkRange(op, 0, 0, bytesOf(source)) ||
      !checkRange(op, 1, 0, bytesOf(source)))
    return;
  at(op, 1) = source;
}

/// Of a value that copies carry.
uint64_t Replay::bytesOf(const Symbol &s) const {
  switch (s.kind) {
  case Kind::Input:
    return model.inputs[s.a].bytes;
  case Kind::Boundary:
    return model.layers[s.a].boundaryBytes[s.b];
  case Kind::Saved:
    return model.layers[s.a].savedBytes[s.set][s.b];
  case Kind::Cotangent:
    return model.layers[s.a].cotangentBytes[s.b];
  case Kind::Parameters:
    return model.blocks[s.a].uploadBytes;
  case Kind::Partial:
    return model.blocks[s.a].gradientBytes / (s.set ? 2 : 1);
  default:
    return 4; // Seeds and losses.
  }
}

/// The program's tables and reports go by the tags of copies: they must be of
/// what is copied.
bool Replay::checkTags(const Op &op, const Symbol &s) {
  bool up = op.kind == OpKind::Upload, right = false;
  LaneKind lane = up ? LaneKind::ActivationUp : LaneKind::ActivationDown;
  switch (s.kind) {
  case Kind::Parameters:
    lane = LaneKind::ParameterUp;
    right = up && op.block == (int32_t)s.a;
    break;
  case Kind::Partial:
    lane = LaneKind::GradientDown;
    right = !up && op.block == (int32_t)s.a && op.layer == (int32_t)s.b &&
            op.round == (int32_t)s.round;
    break;
  case Kind::Input:
  case Kind::Seed:
  case Kind::Loss:
  case Kind::Boundary:
  case Kind::Saved:
  case Kind::Cotangent:
    right = op.block < 0 && op.round == (int32_t)s.round &&
            op.microBatch == (int32_t)s.microBatch &&
            (s.kind != Kind::Input || op.input == (int32_t)s.a) &&
            (up ? s.kind != Kind::Loss
                : s.kind != Kind::Input && s.kind != Kind::Seed);
    break;
  default:
    break;
  }
  if (right && op.lane == lane &&
      s.step == (s.kind == Kind::Parameters ? s.step : step))
    return true;
  complain(op, "copies " + text(s) +
                   ", which is not what its tag, its lane or "
                   "its direction says");
  return false;
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
      break;
    }
    case Role::Gradient: {
      uint32_t block = layer.parameters[argument.index].block;
      expect(op, i,
             {Kind::Partial, block, l, 0, step, (uint32_t)op.round, 0, place});
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
  uint32_t rounded = model.roundGradients;
  // A round's complete gradient is the sum of that round; with one round, of
  // all.
  auto asSum = [&](const Symbol &s) {
    if (s.kind == Kind::Partial && s.count == batchesOf(s.round, s.b) &&
        s.round == 0 && s.set == rounded)
      return Symbol{Kind::Sum, s.a, s.b, 0, s.step, 0, 0, 1};
    return s;
  };
  Symbol sum = asSum(at(op, 0)), addend = at(op, 1), &target = at(op, 0);
  uint64_t bytes = model.blocks[block].gradientBytes;
  bool isHalf = addend.kind == Kind::Partial && addend.set == 1;
  if (!checkRange(op, 1, 0, isHalf ? bytes / 2 : bytes))
    return;
  bool whole = addend.kind == Kind::Partial && addend.a == block &&
               addend.step == step && addend.set == rounded &&
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

Symbol Replay::wholeGradient(uint32_t block) const {
  if (uses[block].size() > 1)
    return {Kind::Total, block, 0, 0, step, 0, 0, (uint32_t)uses[block].size()};
  uint32_t layer = uses[block][0];
  if (model.rounds > 1)
    return {Kind::Sum, block, layer, 0, step, 0, 0, model.rounds};
  return {Kind::Partial, block, layer, model.roundGradients,
          step,          0,     0,     batchesOf(0, layer)};
}

void Replay::norm(const Op &op) {
  at(op, 1) = {Kind::Squares, (uint32_t)op.block, 0, 0, step, 0, 0, 0};
  ++norms[(size_t)op.block];
}

void Replay::clip(const Op &op) {
  size_t next = 0, last = op.operands.size() - 1;
  if (model.scaleLoss) {
    --last;
    Symbol scale{Kind::Scale, 0, 0, 0, step, 0, 0, 0};
    expect(op, last, scale);
    scale.step += 1 + model.staleness;
    at(op, last) = scale;
  }
  for (uint32_t b = 0; b < uses.size(); ++b) {
    if (uses[b].empty())
      continue;
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
  if (!seeds) {
    ++losses;
    return;
  }
  all(Kind::Seed, true);
  if (model.scaleLoss)
    expect(op, next, {Kind::Scale, 0, 0, 0, step, 0, 0, 0});
}

void Replay::play(const Op &op, size_t index) {
  switch (op.kind) {
  case OpKind::Upload:
  case OpKind::Download:
    return isOfState(op) ? copyState(op) : copy(op);
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
  case OpKind::Round: {
    Symbol gradient{Kind::Partial,
                    (uint32_t)op.block,
                    (uint32_t)op.layer,
                    0,
                    step,
                    (uint32_t)op.round,
                    0,
                    batchesOf((uint32_t)op.round, (uint32_t)op.layer)};
    expect(op, 0, gradient);
    gradient.set = 1;
    at(op, 0) = gradient;
    return;
  }
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
  case OpKind::Optimizer:
  case OpKind::UpdateScalars: {
    auto block = (uint32_t)op.block;
    if (uses[block].empty())
      return complain(op, "updates block '" + model.blocks[block].name +
                              "', in which nothing trains");
    expect(op, 0, wholeGradient(block));
    return op.kind == OpKind::Norm        ? norm(op)
           : op.kind == OpKind::Optimizer ? optimize(op)
                                          : makeScalars(op);
  }
  case OpKind::DeviceUpdate:
    return updatePiece(op);
  case OpKind::Clip:
    return clip(op);
  }
}
