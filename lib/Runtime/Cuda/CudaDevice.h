//===- CudaDevice.h - A GPU as a device -------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H
#define RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H

#include "CudaLane.h"
#include "IssueThread.h"
#include "StagedCopier.h"
#include <thread>

namespace rondo::runtime::cuda {

class CudaDevice final : public Device {
public:
  static Status open(const std::shared_ptr<CudaPool> &pool, uint32_t index,
                     const Program &program, const DeviceOptions &options,
                     std::unique_ptr<Device> &device);
  /// Finishes what was submitted.
  ~CudaDevice() override;
  Buffer arena() override {
    return {reinterpret_cast<std::byte *>(memory), bytes};
  }
  Lane &lane(program::Lane kind) override {
    uint32_t number = deviceLaneIndex(kind);
    if (number < kAlwaysLanes && stagedLanes[number])
      return *stagedLanes[number];
    return *lanes[number];
  }
  int64_t issueTime() const override { return issuer ? issuer->busy() : 0; }
  Status share(Buffer memory, HostUse use, const std::string &what) override;
  DeviceReport report() const override;

  // The rest is for its lanes.
  CudaDevice(const std::shared_ptr<CudaPool> &pool, uint32_t index,
             const Program &program, const DeviceOptions &options)
      : pool(pool), index(index), program(program), options(options) {}
  const Driver &driver() const { return pool->driver(); }
  Status makeCurrent() const;
  /// A task was issued.
  void wake();
  /// Who issues this device's tasks; null: whoever submits them.
  IssueThread *issuing() const { return issuer.get(); }
  /// Whether there is no other device.
  bool isOnly() const { return pool->members().size() == 1; }
  /// Whether lanes count commands: who issues must not be blocked.
  bool counts() const { return lanes.size() > kAlwaysLanes; }
  /// Something that this task did.
  void fail(const TaskCall &call, const Status &status);

  const std::shared_ptr<CudaPool> pool;
  const uint32_t index;
  const Program &program;
  const DeviceOptions options;
  std::unique_ptr<CudaExecutable> executable;
  std::unique_ptr<CudaGraphs> graphs;
  /// 32-bit words for streams and kernels to write: pinned, zeros.
  std::byte *laneWords(uint64_t count);

private:
  Status prepare();
  /// Of a lane, by its place among a device's.
  uint32_t capacity(uint32_t lane) const {
    return options.capacity[(size_t)deviceLane(lane)];
  }
  Status openCopiers();
  Status stageCopies();
  Status loadKernels();
  void complete();
  /// Fails the pool where the context is lost, `checks` times without a culprit
  /// before; returns how often it is now.
  uint32_t findCulprit(uint32_t checks);
  /// Bytes in use, by everybody. 0: not known.
  uint64_t observeMemory() const;

  Address memory = 0;
  uint64_t bytes = 0;
  /// Of the device, in bytes: free when the context was there, and the least
  /// that was seen since; what the context takes.
  uint64_t freeBefore = 0;
  mutable std::atomic<uint64_t> leastFree{UINT64_MAX};
  std::optional<uint64_t> contextBytes;
  Arena words; ///< What streams and kernels write for the host.
  uint64_t wordsUsed = 0;
  std::vector<std::unique_ptr<CudaLane>> lanes;
  /// Where copies must be staged, those of the lanes that copy.
  std::unique_ptr<StagedCopier> copiers[kAlwaysLanes];
  std::unique_ptr<HostLane> stagedLanes[kAlwaysLanes];
  std::atomic<uint32_t> submitted{0};
  std::atomic<bool> closing{false};
  std::thread thread;
  std::unique_ptr<IssueThread> issuer;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H
