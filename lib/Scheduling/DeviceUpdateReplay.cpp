//===- DeviceUpdateReplay.cpp - Replays updates on devices ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block's state is updated in pieces. What came back of a buffer stands apart
// until all parameters of the block have.
//
//===----------------------------------------------------------------------===//

#include "TransferReplay.h"

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

void Replay::checkWhereUpdated(const Op &op) {
  bool onHost = op.kind == OpKind::Optimizer,
       onDevice = op.kind == OpKind::UpdateScalars ||
                  op.kind == OpKind::DeviceUpdate || isOfState(op);
  if (model.updateOnDevice ? onHost : onDevice)
    complain(op, model.updateOnDevice
                     ? "updates on the host, but devices update"
                     : "is of updates on devices, but the host updates");
}

/// Around each update are the copies of its state, in the order of Schedule.h,
/// to and from where it finds it, and there are no others: then an update and
/// its copies are about one piece, wherever in the schedule they are.
void Replay::checkStateCopies() {
  size_t uploads = 3 + model.momentsPerElement,
         downloads = uploads - (model.uploadIsMaster ? 2 : 1);
  std::vector<bool> known(schedule.ops.size());
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    if (op.kind != OpKind::DeviceUpdate)
      continue;
    auto check = [&](size_t at, OpKind kind, size_t operand) {
      if (at >= schedule.ops.size())
        return complain(op, "has no copies around it");
      const Op &copy = schedule.ops[at];
      known[at] = true;
      bool up = kind == OpKind::Upload;
      if (copy.kind != kind || !isOfState(copy) || copy.device != op.device ||
          copy.block != op.block)
        return complain(op, "is next to '" + copy.name +
                                "', which is not the copy of its operand " +
                                std::to_string(operand));
      const Operand &mine = op.operands[operand],
                    &here = copy.operands[up ? 1 : 0];
      if (mine.buffers != here.buffers || mine.buffers.size() != 1 ||
          mine.offset != here.offset || mine.bytes != here.bytes)
        complain(copy, "copies another place than operand " +
                           std::to_string(operand) + " of '" + op.name + "'");
    };
    for (size_t k = 0; k < uploads; ++k)
      check(i - uploads + k, OpKind::Upload,
            k + 1 < uploads ? k : op.operands.size() - 1);
    for (size_t k = 0; k < downloads; ++k)
      check(i + 1 + k, OpKind::Download, 1 + k);
  }
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    if (isOfState(op) && op.kind != OpKind::DeviceUpdate && !known[i])
      complain(op, "copies state, but no update is next to it");
  }
}

/// Masters hold the initial parameters, moments zeros.
void Replay::beginState() {
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    if (op.kind != OpKind::DeviceUpdate)
      continue;
    auto block = (uint32_t)op.block;
    size_t master = i - 2 - model.momentsPerElement;
    begin(schedule.ops[master], 0, {Kind::Parameters, block, 0, 0, 0, 0, 0, 0});
    for (uint32_t m = 0; m < model.momentsPerElement; ++m)
      begin(schedule.ops[master + 1 + m], 0,
            {Kind::Moments, block, m, 0, 0, 0, 0, 0});
  }
}

void Replay::makeScalars(const Op &op) {
  auto block = (uint32_t)op.block;
  if (losses == 0)
    complain(op, "is issued before the step's loss, which it waits for");
  if (model.clip)
    expect(op, 1, {Kind::Coefficient, 0, 0, 0, step, 0, 0, 0});
  at(op, op.operands.size() - 1) = {Kind::Scalars, block, 0, 0, step, 0, 0, 0};
}

void Replay::copyState(const Op &op) {
  bool up = op.kind == OpKind::Upload;
  uint32_t buffer = bufferOf(op, up ? 0 : 1);
  const Operand &there = op.operands[up ? 0 : 1];
  if (!up) {
    const StateRange &range = rangeAt(op, 0);
    if (at(op, 0).kind == Kind::Nothing || range.offset != there.offset ||
        range.bytes != there.bytes)
      return complain(op, "brings " + text(at(op, 0)) + ", bytes [" +
                              std::to_string(range.offset) + ", +" +
                              std::to_string(range.bytes) +
                              ") of a block, back to bytes [" +
                              std::to_string(there.offset) + ", +" +
                              std::to_string(there.bytes) + ")");
    parts[buffer][there.offset] = {there.bytes, at(op, 0)};
    return settle(op, buffer, range);
  }
  Symbol symbol = at(op, 0);
  if (auto it = parts.find(buffer); it != parts.end())
    for (auto &[offset, part] : it->second)
      if (offset < there.offset + there.bytes &&
          there.offset < offset + part.first)
        symbol = part.second;
  at(op, 1) = symbol;
  rangeAt(op, 1) = {there.offset, there.bytes, false};
}

void Replay::updatePiece(const Op &op) {
  auto block = (uint32_t)op.block;
  uint64_t bytes = op.operands[1].bytes;
  // Where the piece lies in the upload copy: where its first parameter does,
  // up to the end of its last.
  StateRange state{op.piece, bytes, false}, copy{0, 0, true};
  for (uint32_t layer : uses[block])
    for (const Parameter &parameter : model.layers[layer].parameters) {
      if (parameter.block != block || parameter.gradientBytes == 0)
        continue;
      auto begin = (uint64_t)parameter.gradientOffset,
           end = begin + parameter.gradientBytes;
      if (end <= op.piece || begin >= op.piece + bytes)
        continue;
      uint64_t width = 4 * parameter.bytes / parameter.gradientBytes;
      auto place = [&](uint64_t at) {
        return parameter.offset + (at - begin) / 4 * width;
      };
      if (begin <= op.piece)
        copy.offset = place(op.piece);
      if (uint64_t last = place(std::min(end, op.piece + bytes));
          last > copy.offset)
        copy.bytes = std::max(copy.bytes, last - copy.offset);
    }
  for (uint32_t layer : model.blocks[block].layers)
    for (const Parameter &parameter : model.layers[layer].parameters)
      if (parameter.block == block && parameter.gradientOffset < 0 &&
          parameter.offset < copy.offset + copy.bytes &&
          copy.offset < parameter.offset + parameter.bytes)
        complain(op, "spans a frozen parameter");
  auto holds = [&](size_t operand, StateRange wanted) {
    const StateRange &range = rangeAt(op, operand);
    if (range.offset != wanted.offset || range.bytes != wanted.bytes ||
        op.operands[operand].bytes != wanted.bytes)
      complain(op, "finds bytes [" + std::to_string(range.offset) + ", +" +
                       std::to_string(range.bytes) + ") as operand " +
                       std::to_string(operand) + ", but needs [" +
                       std::to_string(wanted.offset) + ", +" +
                       std::to_string(wanted.bytes) + ")");
    rangeAt(op, operand) = wanted;
  };
  Symbol gradient = wholeGradient(block);
  expect(op, 0, gradient);
  uint64_t narrow = gradient.kind == Kind::Partial && gradient.set ? 2 : 1;
  holds(0, {state.offset / narrow, bytes / narrow, false});
  size_t next = 1;
  Symbol before{Kind::Parameters, block, 0, 0, step, 0, 0, 0}, after = before;
  ++after.step;
  expect(op, next, before);
  holds(next, model.uploadIsMaster ? copy : state);
  at(op, next++) = after;
  for (uint32_t i = 0; i < model.momentsPerElement; ++i) {
    Symbol moments{Kind::Moments, block, i, 0, step, 0, 0, 0};
    expect(op, next, moments);
    holds(next, state);
    ++moments.step;
    at(op, next++) = moments;
  }
  if (!model.uploadIsMaster) {
    if (op.operands[next].bytes != copy.bytes)
      complain(op, "writes " + std::to_string(op.operands[next].bytes) +
                       " bytes of upload copy, but its piece has " +
                       std::to_string(copy.bytes));
    rangeAt(op, next) = copy;
    at(op, next++) = after;
  }
  expect(op, next, {Kind::Scalars, block, 0, 0, step, 0, 0, 0});
  holds(next, {0, scalarBytes(block), false});
}

/// Once all of the block's parameters are there anew, so is the buffer.
void Replay::settle(const Op &op, uint32_t buffer, const StateRange &range) {
  auto block = (uint32_t)op.block;
  Symbol symbol = at(op, 0);
  const auto &pieces = parts[buffer];
  for (uint32_t layer : uses[block])
    for (const Parameter &parameter : model.layers[layer].parameters) {
      if (parameter.block != block || parameter.gradientBytes == 0)
        continue;
      uint64_t begin = range.asUploaded ? parameter.offset
                                        : (uint64_t)parameter.gradientOffset,
               end = begin + (range.asUploaded ? parameter.bytes
                                               : parameter.gradientBytes);
      for (auto &[offset, part] : pieces)
        if (offset <= begin && begin < offset + part.first &&
            part.second == symbol)
          begin = std::min(end, offset + part.first);
      if (begin < end)
        return;
    }
  contents[buffer * (size_t)schedule.devices] = symbol;
  parts.erase(buffer);
  // The master is the first to come back.
  if (symbol.kind == Kind::Parameters &&
      range.asUploaded == model.uploadIsMaster)
    ++updates[block];
}
