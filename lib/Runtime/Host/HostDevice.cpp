//===- HostDevice.cpp - Virtual devices on the host -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDevice.h"
#include "../Convert.h"
#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// Arena
//===----------------------------------------------------------------------===//

constexpr uint64_t kHugePage = 2u << 20;

Status Arena::allocate(uint64_t size, const std::string &what) {
  if (size == 0)
    return Status::success();
  bool large = size >= 2 * kHugePage;
  // Room to begin at a huge page.
  uint64_t mapped = large ? size + kHugePage : size;
  void *address = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return deviceError(
        what + ": no memory for " + formatBytes(size) + ": " +
        std::strerror(errno) +
        "; compile for less with --device-memory or --host-memory");
  base = data = static_cast<std::byte *>(address);
  mappedBytes = mapped;
  bytes = size;
  if (!large)
    return Status::success();
  data += -reinterpret_cast<uintptr_t>(address) % kHugePage;
  // Five streams at once need many pages. Where the system has no huge ones,
  // small ones do.
  (void)::madvise(data, size, MADV_HUGEPAGE);
  return Status::success();
}

Arena::~Arena() {
  if (base)
    ::munmap(base, mappedBytes);
}

//===----------------------------------------------------------------------===//
// HostLane
//===----------------------------------------------------------------------===//

static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

HostLane::HostLane(std::string name, const Executable *executable,
                   uint32_t capacity, const Delays &delays, uint64_t salt,
                   const std::atomic<uint32_t> *stop, Copier *copier)
    : executable(executable), delays(delays),
      random(mix(delays.seed) ^ mix(~salt)), stop(stop), copier(copier) {
  if (executable)
    entryScratch = executable->makeScratch();
  ring.resize(std::bit_ceil(std::max(capacity, 16u)));
  thread = std::thread([this] { run(); });
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
}

HostLane::~HostLane() {
  closingAt.store(tail.load(std::memory_order_relaxed),
                  std::memory_order_relaxed);
  // The thread sleeps on `tail`, so that is what must change; it knows by
  // `closingAt` that this is no task.
  tail.fetch_add(1, std::memory_order_release);
  tail.notify_one();
  thread.join();
}

void HostLane::submit(const TaskCall &call) {
  uint32_t place = tail.load(std::memory_order_relaxed);
  for (uint32_t first;
       place - (first = head.load(std::memory_order_acquire)) >= ring.size();)
    head.wait(first, std::memory_order_acquire);
  ring[place & (ring.size() - 1)] = call;
  tail.store(place + 1, std::memory_order_release);
  tail.notify_one();
}

void HostLane::run() {
  for (uint32_t place = 0;; ++place) {
    tail.wait(place, std::memory_order_acquire);
    if (closingAt.load(std::memory_order_relaxed) == place)
      return;
    perform(ring[place & (ring.size() - 1)]);
    head.store(place + 1, std::memory_order_release);
    head.notify_one();
  }
}

void HostLane::sleepAtRandom() {
  random = mix(random);
  // Half of the tasks go at once, so that some lanes get far ahead of others.
  if (random & 1)
    return;
  std::this_thread::sleep_for(
      std::chrono::microseconds((random >> 1) % (delays.microseconds + 1)));
}

/// Never overtakes what it still has to read.
static void roundInPlace(std::byte *values, uint64_t elements) {
  for (uint64_t i = 0; i < elements; ++i)
    storeFloat(values, program::ElementType::BF16, i,
               loadFloat(values, program::ElementType::F32, i));
}

void HostLane::perform(const TaskCall &call) {
  const Task &task = *call.task;
  currentIteration.store(call.iteration, std::memory_order_relaxed);
  currentTask.store(task.index, std::memory_order_relaxed);
  for (const Task::Wait &wait : task.waits) {
    if (call.iteration < wait.distance)
      continue;
    uint32_t value = call.iteration - wait.distance + 1;
    if (wait.event->reached(value))
      continue;
    awaitedValue.store(value, std::memory_order_relaxed);
    awaited.store(wait.index, std::memory_order_relaxed);
    wait.event->wait(value);
    awaited.store(-1, std::memory_order_relaxed);
  }
  if (delays.microseconds != 0)
    sleepAtRandom();
  int64_t begin = now();
  if (task.always || !stop ||
      call.iteration < stop->load(std::memory_order_acquire)) {
    switch (task.kind) {
    case TaskKind::Copy:
      if (copier)
        copier->copy(call);
      else
        std::memcpy(call.arguments[1], call.arguments[0], task.bytes);
      copiedBytes.fetch_add(task.bytes, std::memory_order_relaxed);
      break;
    case TaskKind::Zero:
      std::memset(call.arguments[0], 0, task.bytes);
      break;
    case TaskKind::Round:
      roundInPlace(call.arguments[0], task.bytes / 4);
      break;
    case TaskKind::Launch:
      if (int64_t number =
              executable->run(task.entry, call.arguments, entryScratch);
          number >= 0 && task.failed)
        task.failed(task.failedContext, call, (uint32_t)number);
      break;
    case TaskKind::Host:
      task.host(task.context, call);
      break;
    }
  }
  int64_t end = now();
  busyTime.fetch_add(end - begin, std::memory_order_relaxed);
  if (call.span)
    *call.span = {begin, end};
  currentTask.store(-1, std::memory_order_relaxed);
  // Whoever waits for the signal may end the task's life: it is not read again.
  auto *completed = task.completed;
  void *context = task.completedContext;
  task.done->signal(call.iteration + 1);
  if (completed)
    completed(context, call.iteration);
}

LaneState HostLane::state() const {
  LaneState state;
  state.task = currentTask.load(std::memory_order_relaxed);
  state.iteration = currentIteration.load(std::memory_order_relaxed);
  state.waitingFor = awaited.load(std::memory_order_relaxed);
  state.waitingValue = awaitedValue.load(std::memory_order_relaxed);
  return state;
}

//===----------------------------------------------------------------------===//
// HostDevice
//===----------------------------------------------------------------------===//

Status HostDevice::open(uint32_t index, uint64_t bytes,
                        const Executable &executable,
                        const DeviceOptions &options,
                        std::unique_ptr<Device> &device) {
  auto result = std::make_unique<HostDevice>();
  if (Status status =
          result->memory.allocate(bytes, format("device %u", index));
      !status.ok())
    return status;
  for (uint32_t lane = 0; lane < kDeviceLanes; ++lane) {
    program::Lane kind = deviceLane(lane);
    if (lane >= kAlwaysLanes && options.capacity[(size_t)kind] == 0)
      continue;
    // Only lanes that run entries need room for that.
    bool runs =
        kind == program::Lane::Compute || kind == program::Lane::StateUp;
    result->lanes[lane] = std::make_unique<HostLane>(
        format("%s %u", program::EnumNameLane(kind), index),
        runs ? &executable : nullptr, options.capacity[(size_t)kind],
        options.delays, index * 8 + lane, options.stop);
  }
  device = std::move(result);
  return Status::success();
}

DeviceReport HostDevice::report() const {
  DeviceReport report;
  report.name = "host";
  report.arena = memory.buffer().bytes;
  report.total =
      (uint64_t)::sysconf(_SC_PHYS_PAGES) * (uint64_t)::sysconf(_SC_PAGE_SIZE);
  return report;
}
