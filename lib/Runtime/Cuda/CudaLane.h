//===- CudaLane.h - A lane that is a stream ---------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whoever submits puts the task on the stream at once, behind its waits; where
// there are several devices, a thread for each does it in the order of
// submission. For a task of another stream of the device the stream waits for
// an event of CUDA's, for the host's and for other devices' for a word in
// pinned memory. Nobody blocks. The device's own thread looks for words that
// streams write when a task is done, and tells the host.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDALANE_H
#define RONDO_LIB_RUNTIME_CUDA_CUDALANE_H

#include "CudaGraphs.h"

namespace rondo::runtime::cuda {

class CudaDevice;

class CudaLane final : public Lane {
public:
  /// `ofState`: a lane for optimizer state.
  CudaLane(CudaDevice &device, bool ofState)
      : device(device), ofState(ofState) {}
  ~CudaLane() override;
  /// Makes the device's context current. `priority`: smaller is more urgent.
  /// `seed`: of delays.
  Status open(uint32_t capacity, int priority, uint64_t seed);
  void submit(const TaskCall &call) override;
  LaneState state() const override;
  int64_t busy() const override {
    return busyTime.load(std::memory_order_relaxed);
  }
  uint64_t copied() const override {
    return copiedBytes.load(std::memory_order_relaxed);
  }

  /// For copies that are staged, and take the lane's place.
  Stream copyStream() const { return stream; }

  // The rest is for the device's threads.
  void issueNow(const TaskCall &call);
  bool isOfState() const { return ofState; }
  /// For whoever issues: whether the driver takes the task without waiting for
  /// anything but what the stream itself has to do before it.
  bool hasRoom(const TaskCall &call);
  uint32_t capacity() const { return (uint32_t)ring.size() - 1; }
  bool pending() const {
    return head.load(std::memory_order_relaxed) !=
           tail.load(std::memory_order_acquire);
  }
  /// Tells the host of the tasks that are done. True: there was one.
  bool advance();
  /// Whether the stream fails by itself: then the context does, and every call.
  bool isLost() const;
  /// Fails the pool because of the task at the head if nothing keeps that from
  /// running, or `anyway`. False: it was not.
  bool blame(bool anyway);
  /// Remembers what the lane's head waits for.
  void observe();

private:
  struct Place {
    TaskCall call;
    EventHandle begin = nullptr, end = nullptr;
    Address status = 0; ///< A launch's words, one a call.
    uint32_t commands = 0;
    int64_t issued = 0; ///< Before `begin` was recorded; as now().
    bool timed = false; ///< Both events are recorded.
    bool ran = false;   ///< Between them the task itself.
  };
  Status issue(Place &place, uint32_t number);
  Status wait(const Task &task, uint32_t iteration);
  Status perform(Place &place, uint32_t number);
  void finish(Place &place);
  Address statusWord(uint32_t number) const;
  uint32_t commandsOf(const TaskCall &call) const;

  CudaDevice &device;
  const bool ofState;
  Stream stream = nullptr;
  std::vector<Place> ring; ///< Its size is a power of two.
  std::atomic<uint32_t> head{0}, tail{0};
  /// Commands of the tasks between head and tail, about.
  std::atomic<uint32_t> commands{0};
  uint32_t most = 0; ///< Of them, whatever they wait for.
  /// Of whoever issues: the tasks before this one wait for nothing any more.
  uint32_t settled = 0;
  /// Written by the stream: tasks done. Then, for each place, a word a call: 1
  /// where an index is out of range.
  uint32_t *words = nullptr;
  uint32_t callsPerPlace = 0;
  uint64_t random = 0;
  EventHandle origin = nullptr; ///< Whose time is known, as `lastTime`; then
                                ///< the end of the task before.
  EventHandle last = nullptr;
  double lastTime = 0; ///< ns, as now().
  std::atomic<int64_t> busyTime{0};
  std::atomic<uint64_t> copiedBytes{0};
  std::atomic<int64_t> currentTask{-1}, awaited{-1};
  std::atomic<uint32_t> currentIteration{0}, awaitedValue{0};
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDALANE_H
