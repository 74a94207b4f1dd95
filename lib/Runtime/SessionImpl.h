//===- SessionImpl.h - The parts of a session -------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_SESSIONIMPL_H
#define RONDO_LIB_RUNTIME_SESSIONIMPL_H

#include "Host/HostDevice.h"
#include "HostOps.h"
#include "rondo/Runtime/Session.h"
#include <condition_variable>
#include <optional>
#include <thread>

namespace rondo::runtime {

/// Members are destroyed in reverse order: threads before what they use.
struct Session::Impl {
  Impl(const Program &program, const SessionOptions &options);
  ~Impl();

  // Session.cpp: what is built once.
  Status open();
  void buildTasks();
  void planCapacity(uint32_t (&capacity)[kLanes]) const;
  Status allocateEvents();
  void touchHostMemory();
  static void deviceFailed(void *context, const DeviceFailure &failure,
                           uint32_t lost);

  // Controller.cpp: what issues.
  void control();
  void issue(uint32_t iteration);
  /// Address of an operand in an iteration.
  std::byte *
  resolve(const program::Operand &operand, int32_t device,
          uint64_t iteration) const; ///< `device`: the logical one of the op.
  uint32_t physical(int32_t device, uint64_t iteration) const {
    return (uint32_t)(((uint64_t)device +
                       iteration % table.devices() * table.rotation()) %
                      table.devices());
  }
  static void completed(void *context, uint32_t iteration);
  Status waitIteration(uint64_t step);
  void watch();
  std::string describeLanes() const;
  /// How many lanes of a device the program uses.
  uint32_t deviceLanes() const { return usedDeviceLanes(table); }
  /// Every lane with its name, device lanes first.
  void
  eachLane(const std::function<void(const std::string &, Lane &)> &visit) const;

  // Report.cpp
  /// Of the threads that issue, each: ns that it has spent so.
  std::vector<int64_t> issueTimes() const;
  void writeTrace(std::FILE *file) const;

  const Program &program;
  const program::Program &table;
  SessionOptions options;
  Failure failure;

  std::unique_ptr<Executable> executable;
  Arena pinned, host, eventMemory;
  Inputs inputs;
  /// Of the update lane; of loading and saving when that is idle.
  std::optional<WorkerPool> workers;
  std::optional<Parameters> parameters;
  std::optional<HostOps> ops;
  std::vector<HostOps::Operation> operations;

  std::span<Event> events; ///< By op: iterations completed.
  std::vector<Task> tasks; ///< By op.
  uint32_t lossOp = 0;

  /// Steps given to start() in one call; a list that grows at its end while the
  /// controller walks it.
  struct Batch {
    uint64_t first = 0, count = 0;
    std::vector<StepResult> results;
    std::vector<int64_t> begins;
    std::vector<Span> spans; ///< Step by step, op by op; empty unless traced.
    std::atomic<Batch *> next{nullptr};
  };
  Batch sentinel; ///< Of no steps.
  std::vector<std::unique_ptr<Batch>> batches;
  Batch *issuing = &sentinel; ///< The controller's.
  const Batch *batchOf(uint64_t step) const;

  /// Two iterations are in flight; each has a slot.
  struct Slot {
    Event done; ///< Signalled with iteration + 1.
    std::atomic<uint32_t> remaining{0};
    std::vector<std::byte *> arguments;
    StepResult *result = nullptr;
  };
  Slot slots[2];
  std::vector<uint32_t> firstArgument; ///< By op, into Slot::arguments.

  std::atomic<uint32_t> target{0}; ///< Steps started.
  std::atomic<uint32_t> issued{0};
  std::atomic<uint64_t> progress{0}; ///< Operations completed.
  std::atomic<bool> closing{false};
  std::atomic<bool> stuck{false}; ///< The watchdog has struck.

  /// Where measuring begins: a step, and what lanes and controller had done.
  struct Mark {
    uint64_t step = 0;
    std::vector<int64_t> issueTimes;
    std::vector<std::pair<int64_t, uint64_t>> lanes; ///< Busy, copied.
  };
  Mark mark;
  std::atomic<int64_t> issueTime{0}; ///< ns

  std::vector<std::unique_ptr<Device>> devices;
  std::unique_ptr<HostLane> updateLane, stagingLane;
  std::thread controller, watchdog;
  std::mutex watchdogMutex;
  std::condition_variable watchdogWake;
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_SESSIONIMPL_H
