//===- ToyUpdates.cpp - Updates of the tests' program on devices ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToyBuilder.h"

using namespace rondo;
using namespace rondo::program;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

/// In one piece.
void ToyBuilder::updateOnDevice(int block, bool waits, uint32_t coefficient) {
  std::string name = " of block " + std::to_string(block);
  int device = block % (int)options.devices;
  uint64_t state = 4 * kToyWeight + (block ? 0 : 4 * kColumns);
  // Behind the frozen parameter.
  uint64_t uploadOffset = block ? 0 : 256 * 8;
  const std::vector<uint32_t> &master = block ? master1 : master0,
                              &moments = block ? moments1 : moments0;
  uint64_t masterOffset = options.bf16 ? 0 : uploadOffset;
  uint64_t scalarBytes = block ? 32 : 64;
  uint32_t scalars = buffer("scalars" + name, Space::Pinned, -1, scalarBytes);
  OpT &prepare = op(OpKind::UpdateScalars, Lane::Update, -1, "scalars" + name);
  prepare.block = block;
  operand(prepare, {block ? sum1 : sum0}, state, 1);
  if (waits)
    operand(prepare, {coefficient}, 4, 1);
  operand(prepare, {scalars}, scalarBytes, 2);
  std::vector<uint32_t> here;
  auto upload = [&](const std::string &what, std::vector<uint32_t> from,
                    uint64_t offset, uint64_t bytes) {
    here.push_back(buffer(what + name, Space::Device, device, bytes));
    OpT &copied =
        op(OpKind::Upload, Lane::StateUp, device, "upload " + what + name);
    copied.block = block;
    operand(copied, std::move(from), bytes, 1, offset);
    operand(copied, {here.back()}, bytes, 2);
  };
  upload("gradient", {block ? sum1 : sum0}, 0, state);
  upload("master", master, masterOffset, state);
  upload("moment 0", {moments[0]}, 0, state);
  upload("moment 1", {moments[1]}, 0, state);
  upload("scalars", {scalars}, 0, scalarBytes);
  if (options.bf16)
    here.insert(here.end() - 1,
                buffer("copy" + name, Space::Device, device, state / 2));
  OpT &update =
      op(OpKind::DeviceUpdate, Lane::StateUp, device, "update" + name);
  update.block = block;
  update.entry = (int)table.entries.size();
  auto entry = std::make_unique<EntryT>();
  entry->name = "update" + name;
  entry->arguments = (uint32_t)here.size();
  for (int member = 0; member < (block ? 1 : 2); ++member) {
    uint64_t at = member ? 4 * kToyWeight : 0;
    std::vector<Address> addresses = {Address(0, at), Address(1, at),
                                      Address(1, at), Address(2, at),
                                      Address(3, at)};
    std::vector<Reach> reaches(5, reach(0, 4));
    if (options.bf16) {
      addresses.push_back(Address(4, at / 2));
      reaches.push_back(reach(0, 2));
    }
    addresses.push_back(
        Address((uint32_t)here.size() - 1, 32 * (uint64_t)member));
    reaches.push_back(reach(32, 0));
    entry->calls.push_back(
        kernel(options.bf16 ? "adamw_copy_or_skip" : "adamw_f32_or_skip",
               member ? kColumns : (int64_t)kToyWeight, addresses, reaches));
  }
  table.entries.push_back(std::move(entry));
  for (size_t i = 0; i < here.size(); ++i)
    operand(update, {here[i]},
            i + 1 == here.size()     ? scalarBytes
            : options.bf16 && i == 4 ? state / 2
                                     : state,
            i == 0 || i + 1 == here.size() ? 1
            : options.bf16 && i == 4       ? 2
                                           : 3);
  auto download = [&](const std::string &what, uint32_t from,
                      std::vector<uint32_t> to, uint64_t offset, uint64_t bytes,
                      uint32_t phase) {
    OpT &copied = op(OpKind::Download, Lane::StateDown, device,
                     "download " + what + name);
    copied.block = block;
    operand(copied, {from}, bytes, 1);
    operand(copied, std::move(to), bytes, 2, offset, phase);
  };
  download("master", here[1], master, masterOffset, state,
           master.size() > 1 ? 1 : 0);
  download("moment 0", here[2], {moments[0]}, 0, state, 0);
  download("moment 1", here[3], {moments[1]}, 0, state, 0);
  if (options.bf16)
    download("copy", here[4], block ? upload1 : upload0, uploadOffset,
             state / 2, uploadPhase);
}
