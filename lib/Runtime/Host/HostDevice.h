//===- HostDevice.h - Virtual devices on the host ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `host:N`: each device has an arena and lanes of its own, a thread each;
// transfers are real copies. HostLane also serves the host's own lanes,
// `update` and `staging`.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_HOSTDEVICE_H
#define RONDO_LIB_RUNTIME_HOST_HOSTDEVICE_H

#include "Executable.h"
#include "rondo/Runtime/Device.h"
#include <memory>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Page-aligned memory, all zeros, in huge pages where the system has them.
class Arena {
public:
  Arena() = default;
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  Status allocate(uint64_t bytes, const std::string &what);
  Buffer buffer() const { return {data, bytes}; }

private:
  std::byte *base = nullptr, *data = nullptr;
  uint64_t mappedBytes = 0, bytes = 0;
};

/// Does a lane's copies in its own way.
class Copier {
public:
  virtual ~Copier() = default;
  /// Returns when the copy is done, or has failed and been reported.
  virtual void copy(const TaskCall &call) = 0;
};

/// A thread that runs tasks in the order of their submission.
class HostLane final : public Lane {
public:
  /// `name`: up to 15 characters, the thread's. `salt`: tells this lane's
  /// delays from another's. `copier`: null where copies are the host's own.
  HostLane(std::string name, const Executable *executable, uint32_t capacity,
           const Delays &delays, uint64_t salt,
           const std::atomic<uint32_t> *stop, Copier *copier = nullptr);
  /// Finishes what was submitted.
  ~HostLane() override;
  void submit(const TaskCall &call) override;
  LaneState state() const override;
  int64_t busy() const override {
    return busyTime.load(std::memory_order_relaxed);
  }
  uint64_t copied() const override {
    return copiedBytes.load(std::memory_order_relaxed);
  }
  EntryScratch &scratch() { return entryScratch; }

private:
  void run();
  void perform(const TaskCall &call);
  void sleepAtRandom();

  const Executable *executable;
  EntryScratch entryScratch;
  std::vector<TaskCall> ring; ///< Its size is a power of two.
  std::atomic<uint32_t> head{0}, tail{0};
  std::atomic<int64_t> closingAt{
      -1}; ///< The place after the last task, once there is a last one.
  Delays delays;
  uint64_t random;
  const std::atomic<uint32_t> *stop;
  Copier *copier;
  std::atomic<int64_t> busyTime{0};
  std::atomic<uint64_t> copiedBytes{0};
  std::atomic<int64_t> currentTask{-1}, awaited{-1};
  std::atomic<uint32_t> currentIteration{0}, awaitedValue{0};
  std::thread thread;
};

class HostDevice final : public Device {
public:
  static Status open(uint32_t index, uint64_t bytes,
                     const Executable &executable, const DeviceOptions &options,
                     std::unique_ptr<Device> &device);
  Buffer arena() override { return memory.buffer(); }
  Lane &lane(program::Lane kind) override {
    return *lanes[deviceLaneIndex(kind)];
  }
  DeviceReport report() const override;

private:
  Arena memory;
  std::unique_ptr<HostLane> lanes[kDeviceLanes];
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_HOSTDEVICE_H
