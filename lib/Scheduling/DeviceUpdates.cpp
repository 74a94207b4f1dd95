//===- DeviceUpdates.cpp - Optimizer state, streamed to devices -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block's state goes to devices in pieces, through two sets of buffers a
// device: while one piece is updated or on its way back, the next one arrives.
//
//===----------------------------------------------------------------------===//

#include "DeviceUpdates.h"
#include "Support.h"
#include "Transfers.h"
#include "rondo/Scheduling/Updates.h"
#include <algorithm>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

/// Bytes of one element in all buffers of a set.
static uint64_t bytesOfElement(const Model &model, uint64_t copyBytes) {
  return 4 * (2 + (uint64_t)model.momentsPerElement) + copyBytes;
}

static std::vector<StateMember> membersOf(const Model &model, uint32_t block) {
  std::vector<StateMember> members;
  for (uint32_t l : model.blocks[block].layers)
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.block == block && parameter.gradientOffset >= 0)
        members.push_back({(uint64_t)parameter.gradientOffset,
                           parameter.gradientBytes, parameter.offset,
                           parameter.bytes});
  std::sort(members.begin(), members.end(),
            [](const StateMember &a, const StateMember &b) {
              return a.state < b.state;
            });
  // A layer may name a parameter twice, and several layers do.
  members.erase(std::unique(members.begin(), members.end(),
                            [](const StateMember &a, const StateMember &b) {
                              return a.state == b.state;
                            }),
                members.end());
  return members;
}

static uint64_t scalarBytes(const Model &model, uint32_t block) {
  return 32 * membersOf(model, block).size();
}

uint64_t detail::pieceElements(const Model &model) {
  uint64_t copyBytes = 0;
  if (!model.uploadIsMaster)
    for (const Layer &layer : model.layers)
      for (const Parameter &parameter : layer.parameters)
        if (parameter.gradientBytes)
          copyBytes = std::max(copyBytes,
                               4 * parameter.bytes / parameter.gradientBytes);
  uint64_t elements = model.updateBytes / 2 / bytesOfElement(model, copyBytes);
  return std::max(elements / kPieceElements, uint64_t(1)) * kPieceElements;
}

std::vector<StatePiece> detail::cutState(const Model &model, uint32_t block) {
  uint64_t most = 4 * pieceElements(model);
  std::vector<StatePiece> pieces;
  for (const StateMember &member : membersOf(model, block))
    for (uint64_t begin = 0; begin < member.stateBytes; begin += most) {
      uint64_t bytes = std::min(most, member.stateBytes - begin),
               width = 4 * member.copyBytes / member.stateBytes,
               state = member.state + begin,
               copy = member.copy + begin / 4 * width,
               copyBytes = bytes / 4 * width;
      if (!pieces.empty()) {
        StatePiece &last = pieces.back();
        // Padding goes along, as long as it fits; a frozen neighbour's copy
        // does not.
        bool follows = state >= last.state + last.stateBytes &&
                       copy >= last.copy + last.copyBytes &&
                       copy - last.copy - last.copyBytes < kAlignment &&
                       state + bytes - last.state <= most &&
                       copy + copyBytes - last.copy <= most / 4 * width;
        if (model.uploadIsMaster)
          follows &= state - last.state == copy - last.copy;
        if (follows) {
          last.stateBytes = state + bytes - last.state;
          last.copyBytes = copy + copyBytes - last.copy;
          ++last.slices;
          continue;
        }
      }
      pieces.push_back({state, bytes, copy, copyBytes, 1});
    }
  return pieces;
}

namespace {

struct StateSizes {
  uint64_t state = 0, copy = 0, scalars = 0;
  uint32_t instances = 1;
};

} // namespace

Operand IterationBuilder::stateOperand(const std::string &what,
                                       uint32_t instance, uint64_t bytes,
                                       Access access) const {
  return {{stateBuffers.at(what)[instance]}, 0, 0, bytes, access};
}

/// Bytes of a set's buffers, and how many sets there are.
static StateSizes sizeState(const Model &model, uint32_t devices) {
  StateSizes sizes;
  uint64_t pieces = 0;
  for (uint32_t b = 0; b < model.blocks.size(); ++b) {
    for (const StatePiece &piece : cutState(model, b)) {
      sizes.state = std::max(sizes.state, piece.stateBytes);
      sizes.copy = std::max(sizes.copy, piece.copyBytes);
      ++pieces;
    }
    sizes.scalars = std::max(sizes.scalars, scalarBytes(model, b));
  }
  if (model.uploadIsMaster)
    sizes.copy = 0;
  sizes.instances = pieces > devices ? 2 : 1;
  return sizes;
}

uint64_t rondo::scheduling::updateBytesOnDevice(const Model &model,
                                                uint32_t devices) {
  if (!model.updateOnDevice)
    return 0;
  StateSizes sizes = sizeState(model, devices);
  return sizes.instances *
         ((2 + model.momentsPerElement) * alignUp(sizes.state) +
          alignUp(sizes.copy) + alignUp(sizes.scalars));
}

void IterationBuilder::makeStateBuffers() {
  if (!model.updateOnDevice)
    return;
  StateSizes sizes = sizeState(model, schedule.devices);
  stateInstances = sizes.instances;
  auto make = [&](const std::string &what, uint64_t bytes) {
    for (uint32_t i = 0; i < stateInstances; ++i) {
      stateBuffers[what].push_back((uint32_t)schedule.buffers.size());
      Buffer &buffer = schedule.buffers.emplace_back();
      buffer.name = "optimizer's " + what + " #" + std::to_string(i);
      buffer.bytes = bytes;
    }
  };
  make("gradient", sizes.state);
  make("master", sizes.state);
  for (uint32_t i = 0; i < model.momentsPerElement; ++i)
    make("moment " + std::to_string(i), sizes.state);
  if (!model.uploadIsMaster)
    make("copy", sizes.copy);
  make("scalars", sizes.scalars);
  stateBytes.assign(schedule.devices, 0);
  stateTaken.assign(schedule.devices, 0);
}

void IterationBuilder::emitDeviceUpdates(uint32_t block) {
  const std::string &name = model.blocks[block].name;
  uint64_t scalars = scalarBytes(model, block);
  Operand gradient = gradientOf(block, Access::Read);
  Op &op = emit(OpKind::UpdateScalars, LaneKind::Update,
                "scalars of the update of " + name);
  op.operands.push_back(gradient);
  if (model.clip)
    op.operands.push_back(host.coefficient(Access::Read));
  op.operands.push_back(host.scalars(block, scalars, Access::Write));
  op.block = (int32_t)block;
  // The gradient is read only by a step that keeps it.
  if (machine.hostBandwidth > 0)
    op.duration = (double)scalars / machine.hostBandwidth * 1e9;
  std::vector<StatePiece> pieces = cutState(model, block);
  for (size_t i = 0; i < pieces.size(); ++i)
    emitPiece(block, pieces[i],
              pieces.size() == 1 ? name : name + " #" + std::to_string(i));
}

void IterationBuilder::emitPiece(uint32_t block, const StatePiece &piece,
                                 const std::string &name) {
  // To whom has least so far.
  auto device =
      (uint32_t)(std::min_element(stateBytes.begin(), stateBytes.end()) -
                 stateBytes.begin());
  stateBytes[device] += piece.stateBytes;
  uint32_t instance = stateTaken[device]++ % stateInstances;
  auto copy = [&](bool up, const std::string &what, Operand there,
                  uint64_t offset, uint64_t bytes) {
    Op &op = emit(up ? OpKind::Upload : OpKind::Download,
                  up ? LaneKind::StateUp : LaneKind::StateDown,
                  (up ? "upload " : "download ") + what + " of " + name);
    there.offset += offset;
    there.bytes = bytes;
    there.access = up ? Access::Read : Access::Write;
    Operand here =
        stateOperand(what, instance, bytes, up ? Access::Write : Access::Read);
    op.operands = {up ? there : here, up ? here : there};
    op.device = (int32_t)device;
    op.block = (int32_t)block;
    op.priority = kGradients;
    op.duration = predictCopy(machine, up, bytes);
  };
  Operand gradient = gradientOf(block, Access::Read);
  uint64_t narrow = model.roundGradients && !sumsApart(block) ? 2 : 1;
  uint64_t gradientBytes = piece.stateBytes / narrow;
  uint64_t scalars = scalarBytes(model, block);
  uint64_t master = model.uploadIsMaster ? piece.copy : piece.state;
  auto moment = [](uint32_t i) { return "moment " + std::to_string(i); };
  copy(true, "gradient", gradient, piece.state / narrow, gradientBytes);
  copy(true, "master", host.master(block, false, Access::Read), master,
       piece.stateBytes);
  for (uint32_t i = 0; i < model.momentsPerElement; ++i)
    copy(true, moment(i), host.moment(block, i), piece.state, piece.stateBytes);
  copy(true, "scalars", host.scalars(block, scalars, Access::Read), 0, scalars);
  Op &op = emit(OpKind::DeviceUpdate, LaneKind::StateUp, "update " + name);
  op.device = (int32_t)device;
  op.block = (int32_t)block;
  op.piece = piece.state;
  uint64_t bytes = 0;
  auto add = [&](const std::string &what, uint64_t size, Access access) {
    op.operands.push_back(stateOperand(what, instance, size, access));
    bytes += access == Access::ReadWrite ? 2 * size : size;
  };
  add("gradient", gradientBytes, Access::Read);
  add("master", piece.stateBytes, Access::ReadWrite);
  for (uint32_t i = 0; i < model.momentsPerElement; ++i)
    add(moment(i), piece.stateBytes, Access::ReadWrite);
  if (!model.uploadIsMaster)
    add("copy", piece.copyBytes, Access::Write);
  add("scalars", scalars, Access::Read);
  op.duration = machine.launchLatency * piece.slices;
  if (machine.deviceBandwidth > 0)
    op.duration += (double)bytes / machine.deviceBandwidth * 1e9;
  copy(false, "master", host.master(block, true, Access::Write), master,
       piece.stateBytes);
  for (uint32_t i = 0; i < model.momentsPerElement; ++i)
    copy(false, moment(i), host.moment(block, i), piece.state,
         piece.stateBytes);
  if (!model.uploadIsMaster)
    copy(false, "copy", host.nextCopy(block, Access::Write), piece.copy,
         piece.copyBytes);
}

UpdateChoice rondo::scheduling::chooseUpdates(const Model &model,
                                              const Machine &machine) {
  UpdateChoice choice;
  choice.areThreads = machine.name == "host";
  double state = 0, copies = 0, trained = 0;
  for (const ParameterBlock &block : model.blocks) {
    state += (double)block.gradientBytes;
    copies += (double)block.uploadBytes;
    if (block.gradientBytes && !model.uploadIsMaster)
      trained += (double)block.uploadBytes;
  }
  double kept = state * (1 + model.momentsPerElement);
  choice.host = (state + 2 * kept + trained) / machine.hostBandwidth * 1e9;
  // Parameters go up for each round's forward and backward.
  double up = state + kept + 2 * model.rounds * copies,
         down = kept + trained + model.rounds * state;
  choice.wires =
      std::max(up / machine.uploadBandwidth, down / machine.downloadBandwidth) /
      machine.devices * 1e9;
  return choice;
}
