//===- CudaLane.cpp - A lane that is a stream -----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaLane.h"
#include "CudaDevice.h"
#include <algorithm>
#include <bit>
#include <cstdlib>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// The word that the stream writes has a cache line of its own.
constexpr uint32_t kFirstStatus = 16;
/// What a stream takes ahead for certain: on an H200 it was about a thousand
/// launches. RONDO_TEST_STREAM=N stands for streams that take N.
constexpr uint32_t kMostCommands = 512;
static uint32_t mostCommands() {
  const char *most = std::getenv("RONDO_TEST_STREAM");
  return most ? (uint32_t)std::strtoul(most, nullptr, 10) : kMostCommands;
}
/// Of CudaExecutable::round, each for twice as many elements as the last.
constexpr uint32_t kMostRoundings = 64;

static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

Status CudaLane::open(uint32_t capacity, int priority, uint64_t seed) {
  const Driver &driver = device.driver();
  // What pins memory for all devices leaves another one's context current.
  if (Status status = device.makeCurrent(); !status.ok())
    return status;
  random = seed;
  most = mostCommands();
  // One place stays empty: the event of the task before the head is still read.
  ring.resize(std::bit_ceil(std::max(capacity + 1, 16u)));
  callsPerPlace = device.executable->mostCalls();
  words = reinterpret_cast<uint32_t *>(
      device.laneWords(kFirstStatus + (uint64_t)ring.size() * callsPerPlace));
  if (Status status = driver.status(
          driver.streamCreate(&stream, kStreamNonBlocking, priority),
          "cuStreamCreate");
      !status.ok())
    return status;
  auto create = [&](EventHandle &event) {
    return driver.status(driver.eventCreate(&event, kEventDefault),
                         "cuEventCreate");
  };
  if (Status status = create(origin); !status.ok())
    return status;
  for (Place &place : ring)
    for (EventHandle *event : {&place.begin, &place.end})
      if (Status status = create(*event); !status.ok())
        return status;
  // Twice: the first record of a stream takes longer. What is known late here
  // `finish` corrects.
  for (int i = 0; i < 2; ++i) {
    if (Status status =
            driver.status(driver.eventRecord(origin, stream), "cuEventRecord");
        !status.ok())
      return status;
    if (Status status = driver.status(driver.streamSynchronize(stream),
                                      "cuStreamSynchronize");
        !status.ok())
      return status;
    lastTime = (double)now();
  }
  last = origin;
  return Status::success();
}

CudaLane::~CudaLane() {
  const Driver &driver = device.driver();
  if (device.pool->failed())
    return;
  for (Place &place : ring)
    for (EventHandle event : {place.begin, place.end})
      if (event)
        (void)driver.eventDestroy(event);
  if (origin)
    (void)driver.eventDestroy(origin);
  if (stream)
    (void)driver.streamDestroy(stream);
}

Address CudaLane::statusWord(uint32_t number) const {
  return reinterpret_cast<Address>(words + kFirstStatus +
                                   (uint64_t)(number & (ring.size() - 1)) *
                                       callsPerPlace);
}

//===----------------------------------------------------------------------===//
// Submitting
//===----------------------------------------------------------------------===//

void CudaLane::submit(const TaskCall &call) {
  if (IssueThread *issuer = device.issuing())
    issuer->push(this, call);
  else
    issueNow(call);
}

/// What the task waits for has happened, as far as the host knows.
static bool isReady(const TaskCall &call) {
  return std::all_of(call.task->waits.begin(), call.task->waits.end(),
                     [&](const Task::Wait &wait) {
                       return call.iteration < wait.distance ||
                              wait.event->reached(call.iteration -
                                                  wait.distance + 1);
                     });
}

uint32_t CudaLane::commandsOf(const TaskCall &call) const {
  // A wait each, a delay, two events, a word.
  uint64_t count = call.task->waits.size() + 4;
  if (call.task->kind == TaskKind::Launch)
    count += device.executable->commands(call.task->entry);
  else
    count += call.task->kind == TaskKind::Round ? kMostRoundings : 1;
  return (uint32_t)std::min<uint64_t>(count, 1u << 30);
}

bool CudaLane::hasRoom(const TaskCall &call) {
  if (!device.counts() || device.pool->failed() ||
      commands.load(std::memory_order_acquire) + commandsOf(call) <= most)
    return true;
  // More only if all of it can run: then the driver blocks no longer than that
  // takes.
  uint32_t end = tail.load(std::memory_order_relaxed),
           first = head.load(std::memory_order_acquire);
  if ((int32_t)(first - settled) > 0)
    settled = first;
  while (settled != end && isReady(ring[settled & (ring.size() - 1)].call))
    ++settled;
  return settled == end && isReady(call);
}

void CudaLane::issueNow(const TaskCall &call) {
  uint32_t number = tail.load(std::memory_order_relaxed);
  for (uint32_t first;
       number - (first = head.load(std::memory_order_acquire)) >=
       ring.size() - 1;)
    head.wait(first, std::memory_order_acquire);
  Place &place = ring[number & (ring.size() - 1)];
  place.call = call;
  place.timed = place.ran = false;
  if (device.counts()) {
    place.commands = commandsOf(call);
    commands.fetch_add(place.commands, std::memory_order_relaxed);
  }
  // Which task lost the context its own calls do not tell: see blame.
  if (!device.pool->failed())
    if (Status status = issue(place, number); !status.ok() && !isLost())
      device.fail(call, status);
  tail.store(number + 1, std::memory_order_release);
  device.wake();
}

Status CudaLane::wait(const Task &task, uint32_t iteration) {
  const Driver &driver = device.driver();
  for (const Task::Wait &wait : task.waits) {
    if (iteration < wait.distance)
      continue;
    uint32_t value = iteration - wait.distance + 1;
    if (wait.event->reached(value))
      continue;
    Result result = Success;
    // Of another device's task this thread does not know whether it was issued.
    // Of this one's, state may not be yet: then there is no event either.
    void *native = device.isOnly() || wait.sameDevice
                       ? wait.event->native(value)
                       : nullptr;
    if (native)
      result =
          driver.streamWaitEvent(stream, static_cast<EventHandle>(native), 0);
    else
      result = driver.streamWaitValue(
          stream, reinterpret_cast<Address>(wait.event->word(value)), value,
          kWaitUntilReached);
    if (result != Success)
      return deviceError("waiting for " +
                         opText(device.program.table(), wait.index) + ": " +
                         driver.text(result));
  }
  return Status::success();
}

Status CudaLane::perform(Place &place, uint32_t number) {
  const TaskCall &call = place.call;
  const Driver &driver = device.driver();
  const Task &task = *call.task;
  auto argument = [&](int i) {
    return reinterpret_cast<Address>(call.arguments[i]);
  };
  switch (task.kind) {
  case TaskKind::Copy:
    if (task.bytes == 0)
      return Status::success();
    return driver.status(
        driver.memcpyAsync(argument(1), argument(0), task.bytes, stream),
        "a copy of " + formatBytes(task.bytes));
  case TaskKind::Zero:
    if (task.bytes == 0)
      return Status::success();
    return driver.status(driver.memsetAsync(argument(0), 0, task.bytes, stream),
                         "zeroing " + formatBytes(task.bytes));
  case TaskKind::Round:
    return device.executable->round(argument(0), task.bytes / 4, stream);
  case TaskKind::Launch:
    if (device.graphs->takes(call))
      return device.graphs->launch(call, stream, place.status);
    place.status = statusWord(number);
    return device.executable->launch(task.entry, call.arguments, place.status,
                                     stream);
  case TaskKind::Host:
    break;
  }
  return internalError("an operation of the host on a lane of a GPU");
}

Status CudaLane::issue(Place &place, uint32_t number) {
  const Driver &driver = device.driver();
  const TaskCall &call = place.call;
  if (Status status = device.makeCurrent(); !status.ok())
    return status;
  if (Status status = wait(*call.task, call.iteration); !status.ok())
    return status;
  if (device.options.delays.microseconds != 0) {
    random = mix(random);
    // Half of the tasks go at once, so that some lanes get far ahead of others.
    if (!(random & 1))
      if (Status status = device.executable->delay(
              1000 * ((random >> 1) % (device.options.delays.microseconds + 1)),
              stream);
          !status.ok())
        return status;
  }
  place.issued = now();
  if (Status status = driver.status(driver.eventRecord(place.begin, stream),
                                    "cuEventRecord");
      !status.ok())
    return status;
  if (!device.options.stop ||
      call.iteration < device.options.stop->load(std::memory_order_acquire)) {
    if (Status status = perform(place, number); !status.ok())
      return status;
    place.ran = true;
  }
  if (Status status =
          driver.status(driver.eventRecord(place.end, stream), "cuEventRecord");
      !status.ok())
    return status;
  if (Status status = driver.status(
          driver.streamWriteValue(stream, reinterpret_cast<Address>(words),
                                  number + 1, 0),
          "cuStreamWriteValue32");
      !status.ok())
    return status;
  place.timed = true;
  call.task->done->setNative(call.iteration + 1, place.end);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Completing
//===----------------------------------------------------------------------===//

void CudaLane::finish(Place &place) {
  const TaskCall call = place.call;
  const Task &task = *call.task;
  if (device.pool->failed()) {
    device.pool->lose(call.iteration);
  } else {
    const Driver &driver = device.driver();
    float gap = 0, length = 0;
    Result result = driver.eventElapsedTime(&gap, last, place.begin);
    if (result == Success)
      result = driver.eventElapsedTime(&length, place.begin, place.end);
    if (result != Success)
      device.fail(call, driver.status(result, "cuEventElapsedTime"));
    // The host knows when `origin` was reached only as exactly as its threads
    // run. No task begins before it was issued or ends after it was seen to
    // end: what contradicts that moves the lane's clock.
    double begin = lastTime + 1e6 * (double)gap;
    begin = std::max(begin, (double)place.issued);
    double end = begin + 1e6 * (double)length,
           late = std::max(0.0, end - (double)now());
    begin -= late;
    end -= late;
    last = place.end;
    lastTime = end;
    Span span = {(int64_t)begin, (int64_t)end};
    busyTime.fetch_add(span.end - span.begin, std::memory_order_relaxed);
    if (call.span)
      *call.span = span;
    if (place.ran && task.kind == TaskKind::Copy)
      copiedBytes.fetch_add(task.bytes, std::memory_order_relaxed);
    if (place.ran && task.kind == TaskKind::Launch) {
      auto *status = reinterpret_cast<uint32_t *>(place.status);
      for (uint32_t c = 0, bad = 0; c < device.executable->calls(task.entry);
           ++c) {
        if (!std::atomic_ref<uint32_t>(status[c]).exchange(
                0, std::memory_order_relaxed))
          continue;
        if (task.failed && bad++ == 0)
          task.failed(task.failedContext, call, c);
      }
    }
  }
  commands.fetch_sub(place.commands, std::memory_order_release);
  currentTask.store(-1, std::memory_order_relaxed);
  awaited.store(-1, std::memory_order_relaxed);
  // Whoever waits for the signal may end the task's life: it is not read again.
  auto *completed = task.completed;
  void *context = task.completedContext;
  task.done->signal(call.iteration + 1);
  if (completed)
    completed(context, call.iteration);
}

bool CudaLane::advance() {
  bool moved = false;
  for (uint32_t number = head.load(std::memory_order_relaxed);
       number != tail.load(std::memory_order_acquire); ++number) {
    Place &place = ring[number & (ring.size() - 1)];
    uint32_t done =
        std::atomic_ref<uint32_t>(*words).load(std::memory_order_acquire);
    if ((int32_t)(done - (number + 1)) < 0 && !device.pool->failed())
      break;
    finish(place);
    head.store(number + 1, std::memory_order_release);
    head.notify_one();
    moved = true;
  }
  return moved;
}

bool CudaLane::isLost() const {
  Result result = device.driver().streamQuery(stream);
  return result != Success && result != NotReady;
}

bool CudaLane::blame(bool anyway) {
  if (!pending())
    return false;
  const TaskCall &call =
      ring[head.load(std::memory_order_relaxed) & (ring.size() - 1)].call;
  if (!anyway && !isReady(call))
    return false;
  device.fail(call, deviceError(device.driver().text(
                        device.driver().streamQuery(stream))));
  return true;
}

void CudaLane::observe() {
  if (!pending())
    return;
  const TaskCall &call =
      ring[head.load(std::memory_order_relaxed) & (ring.size() - 1)].call;
  int64_t waits = -1;
  for (const Task::Wait &wait : call.task->waits) {
    if (call.iteration < wait.distance ||
        wait.event->reached(call.iteration - wait.distance + 1))
      continue;
    awaitedValue.store(call.iteration - wait.distance + 1,
                       std::memory_order_relaxed);
    waits = wait.index;
    break;
  }
  currentIteration.store(call.iteration, std::memory_order_relaxed);
  awaited.store(waits, std::memory_order_relaxed);
  currentTask.store(call.task->index, std::memory_order_relaxed);
}

LaneState CudaLane::state() const {
  LaneState state;
  state.task = currentTask.load(std::memory_order_relaxed);
  state.iteration = currentIteration.load(std::memory_order_relaxed);
  state.waitingFor = awaited.load(std::memory_order_relaxed);
  state.waitingValue = awaitedValue.load(std::memory_order_relaxed);
  return state;
}
