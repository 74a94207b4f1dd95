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

void Replay::makeScalars(const Op &op) {
  auto block = (uint32_t)op.block;
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
    if (step > 0)
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
