//===- IssueThread.h - Issues a device's tasks ------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream takes about a thousand launches ahead; who issues more is blocked
// until the GPU has come so far. Tasks come slot by slot, each for one device,
// so one thread for all devices would keep one busy while the others are out of
// work. Where there are several, each has a thread of its own, which issues
// what it is given in that order.
//
// Optimizer state that is streamed has an order of its own: an iteration ends
// with more of it than a stream takes, and the next iteration's launches must
// not stand behind it. Each of the two orders is kept; of one the next task
// goes when its lane has room, whatever the other does. Then this thread must
// never be blocked by the driver: what a full stream waits for may still have
// to be issued, by this very thread. So lanes count (CudaLane::hasRoom).
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_ISSUETHREAD_H
#define RONDO_LIB_RUNTIME_CUDA_ISSUETHREAD_H

#include "rondo/Runtime/Device.h"
#include <memory>
#include <thread>

namespace rondo::runtime::cuda {

class CudaLane;

class IssueThread {
public:
  /// Room for `stateCapacity` tasks of lanes for state, `capacity` of others.
  IssueThread(uint32_t index, uint32_t capacity, uint32_t stateCapacity);
  /// Issues what it was given.
  ~IssueThread();
  IssueThread(const IssueThread &) = delete;
  IssueThread &operator=(const IssueThread &) = delete;

  /// From any thread. Blocks only when there is no room.
  void push(CudaLane *lane, const TaskCall &call);
  /// Nanoseconds spent in issuing, so far.
  int64_t busy() const { return busyTime.load(std::memory_order_relaxed); }

private:
  struct Place {
    /// Round after round: 2 n where round n may be written, 2 n + 1 where it
    /// may be read.
    std::atomic<uint32_t> turn{0};
    CudaLane *lane = nullptr; ///< Null: the end.
    TaskCall call;
  };
  struct Queue {
    explicit Queue(uint32_t capacity);
    Place &place(uint32_t number) { return ring[number & ((1u << bits) - 1)]; }
    /// The turn of a place when task `number` may be written there.
    uint32_t turn(uint32_t number) const { return 2 * (number >> bits); }

    const uint32_t bits;
    const std::unique_ptr<Place[]> ring;
    std::atomic<uint32_t> next{0}; ///< Places handed out.
    uint32_t taken = 0;            ///< Tasks issued.
    bool ended = false;
  };
  enum class Step { Nothing, NoRoom, Issued };
  void put(Queue &queue, CudaLane *lane, const TaskCall &call);
  Step take(Queue &queue);
  void run();

  Queue queues[2];
  std::atomic<uint32_t> pushed{0};
  std::atomic<int64_t> busyTime{0};
  std::thread thread;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_ISSUETHREAD_H
