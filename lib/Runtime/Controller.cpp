//===- Controller.cpp - Issuing iterations, and watching them -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace rondo;
using namespace rondo::runtime;

std::byte *Session::Impl::resolve(const program::Operand &operand,
                                  int32_t device, uint64_t iteration) const {
  const auto &buffers = *operand.buffers();
  const program::Buffer &buffer = *table.buffers()->Get(
      buffers.Get((uint32_t)((iteration + operand.phase()) % buffers.size())));
  std::byte *arena = nullptr;
  switch (buffer.space()) {
  case program::Space::Device:
    arena = devices[physical(buffer.device() < 0 ? device : buffer.device(),
                             iteration)]
                ->arena()
                .data;
    break;
  case program::Space::Pinned:
    arena = pinned.buffer().data;
    break;
  case program::Space::Host:
    arena = host.buffer().data;
    break;
  }
  return arena + buffer.offset() + operand.offset();
}

void Session::Impl::issue(uint32_t iteration) {
  while (iteration >= issuing->first + issuing->count)
    issuing = issuing->next.load(std::memory_order_acquire);
  uint64_t inBatch = iteration - issuing->first;
  Slot &slot = slots[iteration % 2];
  slot.result = &issuing->results[inBatch];
  issuing->begins[inBatch] = now();
  ops->results[iteration % 2] = slot.result;
  slot.remaining.store((uint32_t)tasks.size(), std::memory_order_relaxed);
  for (uint32_t i = 0; i < tasks.size(); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    std::byte **arguments = slot.arguments.data() + firstArgument[i];
    for (uint32_t a = 0; a < sizeOf(op.operands()); ++a)
      arguments[a] = resolve(*op.operands()->Get(a), op.device(), iteration);
    TaskCall call{&tasks[i], iteration, arguments, nullptr};
    if (!issuing->spans.empty())
      call.span = &issuing->spans[inBatch * tasks.size() + i];
    if (op.lane() == program::Lane::Update)
      updateLane->submit(call);
    else if (op.lane() == program::Lane::Staging)
      stagingLane->submit(call);
    else
      devices[physical(op.device(), iteration)]->lane(op.lane()).submit(call);
  }
}

void Session::Impl::control() {
  for (uint32_t iteration = 0;; ++iteration) {
    while (!closing.load(std::memory_order_acquire) &&
           target.load(std::memory_order_acquire) <= iteration)
      target.wait(iteration, std::memory_order_acquire);
    // The slot is free when the iteration before the last one is done: two are
    // in flight.
    if (iteration >= 2)
      slots[iteration % 2].done.wait(iteration - 1);
    if (closing.load(std::memory_order_acquire) || failure.failed())
      break;
    int64_t begin = now();
    issue(iteration);
    issueTime.fetch_add(now() - begin, std::memory_order_relaxed);
    issued.store(iteration + 1, std::memory_order_release);
  }
  // After a failure, what is in flight ends, and nobody waits for what was
  // never issued.
  uint32_t last = issued.load(std::memory_order_relaxed);
  for (uint32_t back = 1; back <= std::min(last, 2u); ++back)
    slots[(last - back) % 2].done.wait(last - back + 1);
  events[lossOp].release();
  for (Slot &slot : slots)
    slot.done.release();
}

void Session::Impl::completed(void *context, uint32_t iteration) {
  auto &self = *static_cast<Impl *>(context);
  self.progress.fetch_add(1, std::memory_order_relaxed);
  Slot &slot = self.slots[iteration % 2];
  if (slot.remaining.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  slot.result->end = now();
  slot.done.signal(iteration + 1);
}

Status Session::Impl::waitIteration(uint64_t step) {
  // A slot's event counts every other iteration; this one's turn has come when
  // it reaches step + 1.
  slots[step % 2].done.wait((uint32_t)step + 1);
  return failure.statusOf(step);
}

//===----------------------------------------------------------------------===//
// Watchdog
//===----------------------------------------------------------------------===//

void Session::Impl::eachLane(
    const std::function<void(const std::string &, Lane &)> &visit) const {
  for (uint32_t d = 0; d < devices.size(); ++d)
    for (uint32_t lane = 0; lane < deviceLanes(); ++lane)
      visit(format("device %u %s", d, program::EnumNameLane(deviceLane(lane))),
            devices[d]->lane(deviceLane(lane)));
  visit("host Update", *updateLane);
  visit("host Staging", *stagingLane);
}

std::string Session::Impl::describeLanes() const {
  std::string result;
  eachLane([&](const std::string &name, Lane &lane) {
    LaneState state = lane.state();
    if (state.task < 0)
      return;
    result += "\n  " + name + ": step " + std::to_string(state.iteration) +
              " " + opText(table, (uint32_t)state.task);
    if (state.waitingFor < 0) {
      result += " is running";
      return;
    }
    uint32_t reached =
        events[(size_t)state.waitingFor].value() & ~Event::kReleased;
    result += format(" waits for %s of step %u, which has done %u steps",
                     opText(table, (uint32_t)state.waitingFor).c_str(),
                     state.waitingValue - 1, reached);
  });
  return result.empty() ? "\n  no lane has a task" : result;
}

void Session::Impl::watch() {
  // It counts its own pauses, not the clock: a process that was stopped for an
  // hour has not been stuck for one.
  uint64_t seen = 0;
  double pause = std::min(options.watchdogSeconds / 4, 1.0), waited = 0;
  std::unique_lock<std::mutex> lock(watchdogMutex);
  while (true) {
    watchdogWake.wait_for(lock, std::chrono::duration<double>(pause));
    uint32_t last = issued.load(std::memory_order_acquire);
    uint64_t current = progress.load(std::memory_order_relaxed);
    bool idle = current == (uint64_t)last * tasks.size();
    if (closing.load(std::memory_order_acquire) && idle)
      return;
    waited = idle || current != seen ? 0 : waited + pause;
    seen = current;
    if (waited < options.watchdogSeconds)
      continue;
    std::string message =
        format("no operation ended within %g seconds (--watchdog=SECONDS "
               "allows more):",
               options.watchdogSeconds) +
        describeLanes();
    stuck.store(true, std::memory_order_release);
    failure.report(0, deviceError(message), /*consistent=*/false);
    for (Event &event : events)
      event.release();
    for (Slot &slot : slots)
      slot.done.release();
    return;
  }
}
