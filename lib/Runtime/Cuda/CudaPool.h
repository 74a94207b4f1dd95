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

#include "../TuneFile.h"
#include "Driver.h"
#include "rondo/Runtime/Device.h"
#include <mutex>
#include <optional>

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
    std::string bus;          ///< PCI address.
    /// Bytes in use before this pool made the context; nothing: not known, or
    /// the context was there before.
    std::optional<uint64_t> usedBefore;
  };
  const std::vector<Member> &members() const { return gpus; }
  const Driver &driver() const { return *cuda; }

  /// Pins host memory for all devices, until the pool ends or it is taken back.
  /// Once is enough. Error (Code::Device): the system does not pin it.
  Status pin(Buffer memory, const std::string &what);
  void unpin(Buffer memory);
  /// The same; where the system refuses, copies from and to it are staged.
  void pinOrStage(Buffer memory, const std::string &what);
  bool staged(Address address) const {
    return address - reinterpret_cast<Address>(stagedMemory.data) <
           stagedMemory.bytes;
  }
  /// Why there is such memory; empty: there is none.
  const std::string &refusal() const { return refused; }

  /// What products use, for all devices; null: the library's first choices.
  TuneFile *tuneFile() { return tuned ? &*tuned : nullptr; }
  /// Errors: as TuneFile::open, or GPUs of several kinds.
  Status openTuneFile(const DeviceOptions &options, uint64_t library,
                      uint64_t workspace);

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
  Buffer stagedMemory;
  std::string refused;
  std::optional<TuneFile> tuned;
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
