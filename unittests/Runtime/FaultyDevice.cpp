//===- FaultyDevice.cpp - A device that fails on demand -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FaultyDevice.h"
#include <deque>
#include <thread>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace rondo::runtime::testing {

class FaultyLane final : public Lane {
public:
  FaultyLane(Fault &fault, Lane &behind, const DeviceOptions &options)
      : fault(fault), behind(behind), options(options),
        thread([this] { run(); }) {}
  ~FaultyLane() override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      closing = true;
    }
    wake.notify_one();
    thread.join();
  }

  void submit(const TaskCall &call) override {
    {
      std::lock_guard<std::mutex> lock(mutex);
      calls.push_back(call);
    }
    wake.notify_one();
  }
  LaneState state() const override {
    std::lock_guard<std::mutex> lock(mutex);
    return current;
  }
  int64_t busy() const override { return behind.busy(); }
  uint64_t copied() const override { return behind.copied(); }

private:
  void run();
  void perform(const TaskCall &call);
  void setState(const LaneState &state) {
    std::lock_guard<std::mutex> lock(mutex);
    current = state;
  }

  Fault &fault;
  Lane &behind;
  DeviceOptions options;
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::deque<TaskCall> calls;
  bool closing = false;
  LaneState current;
  std::thread thread;
};

} // namespace rondo::runtime::testing

namespace {

class FaultyDevice final : public Device {
public:
  FaultyDevice(Fault &fault, std::unique_ptr<Device> device,
               const DeviceOptions &options)
      : behind(std::move(device)) {
    for (uint32_t lane = 0; lane < kDeviceLanes; ++lane)
      if (lane < kAlwaysLanes ||
          options.capacity[(size_t)deviceLane(lane)] != 0)
        lanes[lane] = std::make_unique<FaultyLane>(
            fault, behind->lane(deviceLane(lane)), options);
  }
  Buffer arena() override { return behind->arena(); }
  Lane &lane(program::Lane kind) override {
    return *lanes[deviceLaneIndex(kind)];
  }
  Status share(Buffer memory, HostUse use, const std::string &what) override {
    return behind->share(memory, use, what);
  }
  DeviceReport report() const override { return behind->report(); }

private:
  std::unique_ptr<Device> behind;
  std::unique_ptr<FaultyLane>
      lanes[kDeviceLanes]; // end before what is behind them
};

} // namespace

void FaultyLane::run() {
  while (true) {
    TaskCall call;
    {
      std::unique_lock<std::mutex> lock(mutex);
      wake.wait(lock, [&] { return closing || !calls.empty(); });
      if (calls.empty())
        return;
      call = calls.front();
      calls.pop_front();
    }
    perform(call);
  }
}

void FaultyLane::perform(const TaskCall &call) {
  const Task &task = *call.task;
  LaneState state;
  state.task = task.index;
  state.iteration = call.iteration;
  for (const Task::Wait &wait : task.waits) {
    if (call.iteration < wait.distance)
      continue;
    state.waitingFor = wait.index;
    state.waitingValue = call.iteration - wait.distance + 1;
    setState(state);
    wait.event->wait(state.waitingValue);
  }
  state.waitingFor = -1;
  setState(state);
  if (fault.begin(call, options)) {
    // The same task, with nothing to wait for and nobody to tell but here.
    Event done;
    Task alone = task;
    alone.waits.clear();
    alone.done = &done;
    alone.completed = nullptr;
    TaskCall given = call;
    given.task = &alone;
    behind.submit(given);
    done.wait(call.iteration + 1);
    // Its lane still touches what it signalled.
    while (behind.state().task >= 0)
      std::this_thread::yield();
  }
  setState({});
  auto *completed = task.completed;
  void *context = task.completedContext;
  task.done->signal(call.iteration + 1);
  if (completed)
    completed(context, call.iteration);
}

std::unique_ptr<Device> Fault::wrap(std::unique_ptr<Device> device,
                                    const DeviceOptions &options) {
  return std::make_unique<FaultyDevice>(*this, std::move(device), options);
}

void Fault::resume() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    resumed = true;
  }
  wake.notify_all();
}

bool Fault::begin(const TaskCall &call, const DeviceOptions &options) {
  std::unique_lock<std::mutex> lock(mutex);
  if (dead) {
    options.error(options.errorContext, failure, call.iteration);
    return false;
  }
  if (call.iteration >= options.stop->load())
    return false;
  if (kind == FaultKind::None || call.task->index != op ||
      call.iteration != iteration) {
    ++count;
    return true;
  }
  struck = true;
  if (kind == FaultKind::Hang) {
    wake.wait(lock, [&] { return resumed; });
    return false;
  }
  failure = {call.task, call.iteration,
             deviceError(kind == FaultKind::Error ? "GPU 7: the launch failed"
                                                  : "GPU 7: out of memory")};
  dead = true;
  options.error(options.errorContext, failure, call.iteration);
  return false;
}
