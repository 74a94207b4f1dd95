//===- StagedCopier.h - Copies through a pinned ring ------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the system does not pin the host's memory, GPUs reach only what a
// thread of the host copies into or out of a little memory that is pinned. A
// lane of copies is then a thread: it waits on the host, copies piece by piece,
// and returns when all has arrived.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_STAGEDCOPIER_H
#define RONDO_LIB_RUNTIME_CUDA_STAGEDCOPIER_H

#include "../Host/HostDevice.h"
#include "CudaPool.h"

namespace rondo::runtime::cuda {

class CudaDevice;

class StagedCopier final : public Copier {
public:
  /// `stream`: of the lane whose copies these are, which has no others. CUDA
  /// has queues for 8 streams; those that share one may wait for each other.
  StagedCopier(CudaDevice &device, Stream stream)
      : device(device), stream(stream) {}
  ~StagedCopier() override;
  /// With the device's context current: pins a ring of kSlots times
  /// `slotBytes`. Error (Code::Device): the system does not pin that.
  Status open(uint64_t slotBytes);
  void copy(const TaskCall &call) override;
  uint64_t ringBytes() const { return ring->buffer().bytes; }

  static constexpr uint32_t kSlots = 4;

private:
  Status pass(std::byte *target, std::byte *source, uint64_t bytes);
  /// Waits until the slot's last piece has been copied.
  Status settle(uint32_t slot);

  CudaDevice &device;
  const Stream stream;
  std::unique_ptr<Arena> ring;
  uint64_t slotBytes = 0;
  struct Slot {
    EventHandle copied = nullptr;
    std::byte *target = nullptr; ///< Of the host, for what came down; null:
                                 ///< nothing is left to do.
    uint64_t bytes = 0;
    bool busy = false;
  };
  Slot slots[kSlots];
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_STAGEDCOPIER_H
