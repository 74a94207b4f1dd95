//===- FaultyDevice.h - A device that fails on demand -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands before any device (SessionOptions::decorate). Each lane is a thread
// that waits for what its task waits for and then gives it to the device behind
// it, one at a time, so that a fault comes when the task would have run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_FAULTYDEVICE_H
#define RONDO_UNITTESTS_RUNTIME_FAULTYDEVICE_H

#include "rondo/Runtime/Session.h"
#include <condition_variable>
#include <mutex>

namespace rondo::runtime::testing {

enum class FaultKind { None, Error, OutOfMemory, Hang };

/// One fault for all devices of a pool, and what came of it. As with CUDA, a
/// device that failed takes the pool along.
class Fault {
public:
  Fault() = default;
  Fault(FaultKind kind, uint32_t op, uint32_t iteration)
      : kind(kind), op(op), iteration(iteration) {}

  /// For SessionOptions::decorate; the fault outlives the session.
  std::unique_ptr<Device> wrap(std::unique_ptr<Device> device,
                               const DeviceOptions &options);
  /// Ends the hang, as if the device had only been slow.
  void resume();
  bool happened() const { return struck.load(); }
  /// Tasks that ran on devices behind.
  uint64_t performed() const { return count.load(); }

private:
  friend class FaultyLane;
  /// Whether the task runs: false, where it fails or the pool has.
  bool begin(const TaskCall &call, const DeviceOptions &options);

  FaultKind kind = FaultKind::None;
  uint32_t op = 0, iteration = 0;
  std::atomic<bool> struck{false}, dead{false};
  std::atomic<uint64_t> count{0};
  std::mutex mutex;
  std::condition_variable wake;
  bool resumed = false;
  DeviceFailure failure;
};

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_FAULTYDEVICE_H
