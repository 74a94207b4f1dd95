//===- StepFailures.cpp - What went wrong in a step, in words -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

void Failure::report(uint32_t step, Status status, bool consistent) {
  std::lock_guard<std::mutex> lock(mutex);
  if (first.ok())
    first = std::move(status);
  if (step < stop.load(std::memory_order_relaxed))
    stop.store(step);
  // Either an update sees the stop, or this sees the update: both are in the
  // one order of all such accesses.
  sound = sound && consistent && updating.load() <= step;
}

bool Failure::beginUpdate(uint32_t step) {
  uint32_t before = updating.load(std::memory_order_relaxed);
  while (before < step + 1 && !updating.compare_exchange_weak(before, step + 1))
    ;
  return step < stop.load();
}

Status Failure::statusOf(uint64_t step) const {
  if (step < stop.load(std::memory_order_acquire))
    return Status::success();
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

bool Failure::consistent() const {
  if (!failed())
    return true;
  std::lock_guard<std::mutex> lock(mutex);
  return sound;
}

//===----------------------------------------------------------------------===//
// Of single operations
//===----------------------------------------------------------------------===//

void HostOps::launchFailed(void *context, const TaskCall &call,
                           uint32_t number) {
  auto &operation = *static_cast<Operation *>(context);
  HostOps &self = *operation.ops;
  const program::Program &table = self.table;
  const program::Op &op = *table.ops()->Get(operation.index);
  const program::Call &launched =
      *table.entries()->Get((uint32_t)op.entry())->calls()->Get(number);
  std::string_view node = text(launched.node());
  if (node.empty())
    node = text(op.node());
  std::string where = node.empty() ? opText(table, operation.index)
                                   : "node '" + std::string(node) + "'",
              which;
  // What a GPU looked up lies where only it can read.
  if (self.readsDevices || op.lane() == program::Lane::Staging)
    which = describeIndex(launched, call.arguments);
  self.failure.report(
      call.iteration,
      userError(
          format("step %u, micro-batch %u: %s: ", call.iteration,
                 stepMicroBatch(table, op), where.c_str()) +
          (which.empty() ? "an index is out of range" : "index " + which) +
          "; look for ids or labels beyond the model's in the inputs"));
}

/// An f32.
static bool isZero(const std::byte *data) {
  float value;
  std::memcpy(&value, data, 4);
  return value == 0;
}

/// Counted when there is a reason to ask: a mean over no labels is 0/0.
bool HostOps::lacksLabels(uint32_t step, uint32_t microBatch) {
  if (table.label_entry() < 0)
    return false;
  const program::Entry &entry =
      *table.entries()->Get((uint32_t)table.label_entry());
  constexpr uint64_t alignment = 64;
  uint64_t bytes = 0;
  std::vector<uint64_t> offsets;
  auto add = [&](uint64_t size) {
    offsets.push_back(bytes);
    bytes += (size + alignment - 1) / alignment * alignment;
  };
  for (uint32_t i = 0; i < sizeOf(table.label_inputs()); ++i) {
    uint64_t size = inputs.batchBytes(table.label_inputs()->Get(i));
    if (size == 0)
      return false;
    add(size);
  }
  uint64_t count = bytes;
  add(4);
  if (entry.scratch_bytes() > 0)
    add(entry.scratch_bytes());
  std::vector<std::byte> memory(bytes + alignment);
  std::byte *begin =
      memory.data() +
      (alignment - (uintptr_t)memory.data() % alignment) % alignment;
  std::vector<std::byte *> arguments;
  for (uint64_t offset : offsets)
    arguments.push_back(begin + offset);
  for (uint32_t i = 0; i < sizeOf(table.label_inputs()); ++i)
    inputs.stage(table.label_inputs()->Get(i), microBatch, step, arguments[i]);
  return executable.run((uint32_t)table.label_entry(), arguments.data(),
                        stagingScratch) < 0 &&
         isZero(begin + count);
}

/// What a failed step leaves behind, and what to do where its numbers, not its
/// labels, are to blame.
std::string HostOps::stopped(uint32_t step, uint32_t index) const {
  std::string text = ": stopped before the update, with the ";
  text += step == 0 ? "initial parameters"
                    : format("parameters as step %u left them", step - 1);
  return text + " (" + opText(table, index) + ")";
}

std::string HostOps::advice(uint32_t step) const {
  // The first steps of all compute with what the run began with.
  return step > table.staleness()
             ? "; lower the learning rate or look for bad samples"
             : "; look for bad samples or weights";
}
