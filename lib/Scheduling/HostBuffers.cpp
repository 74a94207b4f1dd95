//===- HostBuffers.cpp - Buffers of pinned and host memory ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include "Transfers.h"

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

uint32_t HostBuffers::make(const HostKey &key, const std::string &name,
                           Space space, uint64_t bytes) {
  auto [it, fresh] = known.try_emplace(key, (uint32_t)schedule.buffers.size());
  if (fresh) {
    Buffer buffer;
    buffer.name = name;
    buffer.space = space;
    buffer.bytes = bytes;
    schedule.buffers.push_back(std::move(buffer));
  }
  return it->second;
}

Operand HostBuffers::single(const HostKey &key, const std::string &name,
                            Space space, uint64_t bytes, Access access) {
  return {{make(key, name, space, bytes)}, 0, 0, bytes, access};
}

Operand HostBuffers::both(HostKey key, const std::string &name, Space space,
                          uint64_t bytes, uint32_t phase, Access access) {
  uint32_t even = make(key, name + " even", space, bytes);
  key.odd = true;
  return {
      {even, make(key, name + " odd", space, bytes)}, phase, 0, bytes, access};
}

Operand HostBuffers::value(const ValueKey &key, uint64_t bytes, uint32_t round,
                           uint32_t microBatch, Access access) {
  HostKey here{HostUse::Value, key, 0, microBatch};
  std::string name =
      describeValue(model, key) + " mb " + std::to_string(microBatch);
  if (model.rounds == 1 && model.staleness == 0)
    return single(here, name, Space::Pinned, bytes, access);
  Operand operand = both(here, name, Space::Pinned, bytes, 0, access);
  // Rounds alternate through iterations too: with an odd number of them each
  // round changes sides every iteration.
  if (round % 2 == 1)
    std::swap(operand.buffers[0], operand.buffers[1]);
  if (model.rounds % 2 == 0)
    operand.buffers.pop_back();
  return operand;
}

Operand HostBuffers::perStep(HostUse use, uint32_t input, uint64_t bytes,
                             uint32_t round, uint32_t microBatch,
                             Access access) {
  std::string name = use == HostUse::Input ? "input " + model.inputs[input].name
                     : use == HostUse::Count ? "label count"
                     : use == HostUse::Seed  ? "seed"
                                             : "loss";
  name += " mb " + std::to_string(microBatch);
  if (model.rounds > 1)
    name += " round " + std::to_string(round);
  HostKey key{use, {ValueKind::Side, input}, round, microBatch};
  if (model.staleness == 0)
    return single(key, name, Space::Pinned, bytes, access);
  return both(key, name, Space::Pinned, bytes, 0, access);
}

Operand HostBuffers::countScratch() {
  return single({HostUse::CountScratch}, "label count workspace", Space::Host,
                model.countScratchBytes, Access::Write);
}

/// Of what there is one of for a block, or one for each of its moments.
static HostKey ofBlock(HostUse use, uint32_t block, uint32_t index = 0) {
  return {use, {ValueKind::Parameters, block, index}};
}

Operand HostBuffers::copies(uint32_t block, uint32_t phase, Access access) {
  const ParameterBlock &info = model.blocks[block];
  HostKey key = ofBlock(HostUse::Copy, block);
  std::string name = "parameters of '" + info.name + "'";
  if (model.staleness == 0 || info.gradientBytes == 0)
    return single(key, name, Space::Pinned, info.uploadBytes, access);
  return both(key, name, Space::Pinned, info.uploadBytes, phase, access);
}

// With staleness 1, iteration t uploads what the update of t - 2 wrote, while
// the update of t - 1 reads the same copy as its master (if that is the copy)
// and writes the other.
Operand HostBuffers::uploadCopy(uint32_t block, Access access) {
  return copies(block, 1, access);
}
Operand HostBuffers::nextCopy(uint32_t block, Access access) {
  return copies(block, 1, access);
}

Operand HostBuffers::master(uint32_t block, bool next, Access access) {
  if (model.uploadIsMaster)
    return copies(block, next ? 1 : 0, access);
  const ParameterBlock &info = model.blocks[block];
  return single(ofBlock(HostUse::Master, block),
                "master of '" + info.name + "'", stateSpace(),
                info.gradientBytes, access);
}

Operand HostBuffers::moment(uint32_t block, uint32_t index) {
  const ParameterBlock &info = model.blocks[block];
  return single(ofBlock(HostUse::Moment, block, index),
                "moment " + std::to_string(index) + " of '" + info.name + "'",
                stateSpace(), info.gradientBytes, Access::ReadWrite);
}

Operand HostBuffers::landing(uint32_t block, uint32_t layer, Access access) {
  ValueKey key{ValueKind::Gradient, block, layer};
  return single(
      {HostUse::Landing, key}, describeValue(model, key), Space::Pinned,
      model.blocks[block].gradientBytes / (model.roundGradients ? 2 : 1),
      access);
}

Operand HostBuffers::sum(uint32_t block, uint32_t layer, Access access) {
  // Where gradients are not rounded, the first round's is downloaded into it.
  bool landsThere = model.rounds > 1 && !model.roundGradients;
  ValueKey key{ValueKind::Gradient, block, layer};
  return single({HostUse::Sum, key},
                "sum over rounds of the " + describeValue(model, key),
                landsThere ? Space::Pinned : stateSpace(),
                model.blocks[block].gradientBytes, access);
}

Operand HostBuffers::partials(uint32_t block, uint64_t bytes, Access access) {
  return single(ofBlock(HostUse::Squares, block),
                "squares of '" + model.blocks[block].name + "'", Space::Host,
                bytes, access);
}

Operand HostBuffers::lossScale(Access access) {
  if (model.staleness == 0)
    return single({HostUse::Scale}, "loss scale", Space::Host, 4, access);
  return both({HostUse::Scale}, "loss scale", Space::Host, 4, 0, access);
}

Operand HostBuffers::scalars(uint32_t block, uint64_t bytes, Access access) {
  return single(ofBlock(HostUse::Scalars, block),
                "scalars of the update of '" + model.blocks[block].name + "'",
                Space::Pinned, bytes, access);
}

Operand HostBuffers::coefficient(Access access) {
  return single({HostUse::Coefficient}, "clip coefficient", Space::Host, 4,
                access);
}
