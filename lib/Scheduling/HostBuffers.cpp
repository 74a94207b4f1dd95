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

uint32_t HostBuffers::make(const std::string &name, Space space,
                           uint64_t bytes) {
  auto [it, fresh] = known.try_emplace(name, (uint32_t)schedule.buffers.size());
  if (fresh) {
    Buffer buffer;
    buffer.name = name;
    buffer.space = space;
    buffer.bytes = bytes;
    schedule.buffers.push_back(std::move(buffer));
  }
  return it->second;
}

Operand HostBuffers::single(const std::string &name, Space space,
                            uint64_t bytes, Access access) {
  return {{make(name, space, bytes)}, 0, 0, bytes, access};
}

Operand HostBuffers::value(const ValueKey &key, uint64_t bytes, uint32_t round,
                           uint32_t microBatch, Access access) {
  std::string name =
      describeValue(model, key) + " mb " + std::to_string(microBatch);
  if (model.rounds == 1 && model.staleness == 0)
    return single(name, Space::Pinned, bytes, access);
  uint32_t both[] = {make(name + " even", Space::Pinned, bytes),
                     make(name + " odd", Space::Pinned, bytes)};
  Operand operand;
  operand.bytes = bytes;
  operand.access = access;
  operand.buffers = {both[round % 2]};
  // Rounds alternate through iterations too: with an odd number of them each
  // round changes sides every iteration.
  if (model.rounds % 2 == 1)
    operand.buffers.push_back(both[(round + 1) % 2]);
  return operand;
}

Operand HostBuffers::perStep(const std::string &what, uint64_t bytes,
                             uint32_t round, uint32_t microBatch,
                             Access access) {
  std::string name = what + " mb " + std::to_string(microBatch);
  if (model.rounds > 1)
    name += " round " + std::to_string(round);
  if (model.staleness == 0)
    return single(name, Space::Pinned, bytes, access);
  return {{make(name + " even", Space::Pinned, bytes),
           make(name + " odd", Space::Pinned, bytes)},
          0,
          0,
          bytes,
          access};
}

Operand HostBuffers::countScratch() {
  return single("label count workspace", Space::Host, model.countScratchBytes,
                Access::Write);
}

Operand HostBuffers::copies(uint32_t block, uint32_t phase, Access access) {
  const ParameterBlock &info = model.blocks[block];
  std::string name = "parameters of '" + info.name + "'";
  if (model.staleness == 0 || info.gradientBytes == 0)
    return single(name, Space::Pinned, info.uploadBytes, access);
  return {{make(name + " even", Space::Pinned, info.uploadBytes),
           make(name + " odd", Space::Pinned, info.uploadBytes)},
          phase,
          0,
          info.uploadBytes,
          access};
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
  return single("master of '" + info.name + "'", stateSpace(),
                info.gradientBytes, access);
}

Operand HostBuffers::moment(uint32_t block, uint32_t index) {
  const ParameterBlock &info = model.blocks[block];
  return single("moment " + std::to_string(index) + " of '" + info.name + "'",
                stateSpace(), info.gradientBytes, Access::ReadWrite);
}

Operand HostBuffers::landing(uint32_t block, uint32_t layer, Access access) {
  return single(
      describeValue(model, {ValueKind::Gradient, block, layer}), Space::Pinned,
      model.blocks[block].gradientBytes / (model.roundGradients ? 2 : 1),
      access);
}

Operand HostBuffers::sum(uint32_t block, uint32_t layer, Access access) {
  // Where gradients are not rounded, the first round's is downloaded into it.
  bool landsThere = model.rounds > 1 && !model.roundGradients;
  return single("sum over rounds of the " +
                    describeValue(model, {ValueKind::Gradient, block, layer}),
                landsThere ? Space::Pinned : stateSpace(),
                model.blocks[block].gradientBytes, access);
}

Operand HostBuffers::partials(uint32_t block, uint64_t bytes, Access access) {
  return single("squares of '" + model.blocks[block].name + "'", Space::Host,
                bytes, access);
}

Operand HostBuffers::lossScale(Access access) {
  if (model.staleness == 0)
    return single("loss scale", Space::Host, 4, access);
  return {{make("loss scale even", Space::Host, 4),
           make("loss scale odd", Space::Host, 4)},
          0,
          0,
          4,
          access};
}

Operand HostBuffers::scalars(uint32_t block, uint64_t bytes, Access access) {
  return single("scalars of the update of '" + model.blocks[block].name + "'",
                Space::Pinned, bytes, access);
}

Operand HostBuffers::coefficient(Access access) {
  return single("clip coefficient", Space::Host, 4, access);
}
