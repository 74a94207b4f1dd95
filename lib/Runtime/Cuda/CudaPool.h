//===- CudaPool.h - The CUDA devices of one session -------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the devices have in common: the driver's contexts, the host memory that
// all of them reach, and whether one has failed.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAPOOL_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAPOOL_H

#include "Driver.h"
#include "rondo/Runtime/Device.h"
#include <mutex>

namespace rondo::runtime::cuda {

class CudaPool {
public:
  /// The first `count` GPUs that the driver shows. Errors (Code::Device): there
  /// are fewer, or one lacks what is needed.
  static Status create(uint32_t count, const DeviceOptions &options,
                       std::shared_ptr<CudaPool> &pool);
  ~CudaPool();
  CudaPool(const CudaPool &) = delete;
  CudaPool &operator=(const CudaPool &) = delete;

  struct Member {
    DeviceHandle handle = 0;
    Context context = nullptr;
    std::string name;
    int major = 0, minor = 0; ///< Compute capability.
    uint64_t total = 0;       ///< Bytes of memory.
  };
  const std::vector<Member> &members() const { return gpus; }
  const Driver &driver() const { return *cuda; }

  /// Pins host memory for all devices, until the pool ends or it is taken back.
  Status share(Buffer memory, const std::string &what);
  void unshare(Buffer memory);

  /// The first error counts; from then on devices run nothing.
  void fail(const DeviceFailure &failure);
  bool failed() const { return dead.load(std::memory_order_acquire); }
  /// Tells the session that a task of `iteration` is lost with the failed
  /// device.
  void lose(uint32_t iteration);

private:
  CudaPool() = default;

  const Driver *cuda = nullptr;
  std::vector<Member> gpus;
  std::vector<void *> registered;
  void (*error)(void *context, const DeviceFailure &failure,
                uint32_t lost) = nullptr;
  void *errorContext = nullptr;
  std::atomic<bool> dead{false};
  std::mutex mutex; ///< Of `first`: taken when something failed, not in a step.
  DeviceFailure first;
};

/// What the driver says of a GPU, without using it.
Status describe(const Driver &driver, int ordinal, CudaPool::Member &member);

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAPOOL_H
