//===- CudaDevice.h - A GPU as a device -------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H
#define RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H

#include "../Host/HostDevice.h"
#include "CudaLane.h"
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
  Lane &lane(program::Lane kind) override { return *lanes[(size_t)kind]; }
  Status share(Buffer memory, const std::string &what) override {
    return pool->share(memory, what);
  }
  DeviceReport report() const override;

  // The rest is for its lanes.
  CudaDevice(const std::shared_ptr<CudaPool> &pool, uint32_t index,
             const Program &program, const DeviceOptions &options)
      : pool(pool), index(index), program(program), options(options) {}
  const Driver &driver() const { return pool->driver(); }
  Status makeCurrent() const;
  /// A task was submitted.
  void wake();

  const std::shared_ptr<CudaPool> pool;
  const uint32_t index;
  const Program &program;
  const DeviceOptions options;
  std::unique_ptr<CudaExecutable> executable;
  /// 32-bit words for streams and kernels to write: pinned, zeros.
  std::byte *laneWords(uint64_t count);

private:
  Status prepare();
  void complete();

  Address memory = 0;
  uint64_t bytes = 0;
  uint64_t freeBefore = 0, freeAfter = 0;
  Arena words; ///< What streams and kernels write for the host.
  uint64_t wordsUsed = 0;
  std::unique_ptr<CudaLane> lanes[kDeviceLanes];
  std::atomic<uint32_t> submitted{0};
  std::atomic<bool> closing{false};
  std::thread thread;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDADEVICE_H
