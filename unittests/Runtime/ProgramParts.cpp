//===- ProgramParts.cpp - What hand-made programs get at last -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Waits between the operations of a table, and launches for GPUs.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include <numeric>

using namespace rondo;
using namespace rondo::program;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

void testing::addDeviceCode(ProgramT &table) {
  table.target = "sm_80";
  table.device_code.clear();
  table.device_code.push_back(std::make_unique<DeviceCodeT>());
  table.device_code[0]->arch = "sm_80";
  for (auto &entry : table.entries)
    for (auto &call : entry->calls) {
      if (call->kind != CallKind::Kernel)
        continue;
      // One thread an element, of updates exactly; square_loss and sleep_ms do
      // with one.
      bool single = call->symbol == "square_loss" || call->symbol == "sleep_ms";
      uint32_t threads = single                                ? 1
                         : call->symbol.rfind("adamw", 0) == 0 ? 8
                                                               : 64,
               elements = single ? 1 : (uint32_t)call->extent;
      call->gpu_symbol = call->symbol;
      call->block = {threads, 1, 1};
      call->grid = {(elements + threads - 1) / threads, 1, 1};
    }
}

void testing::addWaits(ProgramT &table) {
  struct Range {
    int arena;
    uint64_t begin, end;
    bool write;
  };
  uint32_t period = table.devices;
  for (const auto &op : table.ops)
    for (const auto &operand : op->operands)
      period = std::lcm(period, (uint32_t)operand->buffers.size());
  auto ranges = [&](const OpT &op, uint32_t t) {
    std::vector<Range> result;
    for (const auto &operand : op.operands) {
      const BufferT &buffer =
          *table.buffers[operand->buffers[(t + operand->phase) %
                                          operand->buffers.size()]];
      int arena =
          buffer.space == Space::Device
              ? (int)((buffer.device + t * table.rotation) % table.devices)
          : buffer.space == Space::Pinned ? -1
                                          : -2;
      result.push_back({arena, buffer.offset + operand->offset,
                        buffer.offset + operand->offset + operand->bytes,
                        operand->access != 1});
    }
    return result;
  };
  std::vector<std::vector<std::vector<Range>>> all(period);
  for (uint32_t t = 0; t < period; ++t)
    for (const auto &op : table.ops)
      all[t].push_back(ranges(*op, t));
  auto conflict = [](const std::vector<Range> &a, const std::vector<Range> &b) {
    for (const Range &one : a)
      for (const Range &other : b)
        if (one.arena == other.arena && (one.write || other.write) &&
            one.begin < other.end && other.begin < one.end)
          return true;
    return false;
  };
  for (uint32_t b = 0; b < table.ops.size(); ++b)
    for (uint32_t a = 0; a < table.ops.size(); ++a)
      for (uint32_t distance = a < b ? 0 : 1; distance <= period; ++distance) {
        bool found = false;
        for (uint32_t t = 0; t < period && !found; ++t)
          found = conflict(all[(t + period - distance % period) % period][a],
                           all[t][b]);
        if (found)
          table.ops[b]->waits.push_back(Wait(a, distance));
      }
}
