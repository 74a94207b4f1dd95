//===- Management.h - What NVIDIA's management library knows ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUDA itself says how much of a device is free only once a context has taken
// its part. NVML (libnvidia-ml.so.1) comes with the driver and says it before.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_MANAGEMENT_H
#define RONDO_LIB_RUNTIME_CUDA_MANAGEMENT_H

#include <cstdint>
#include <optional>

namespace rondo::runtime::cuda {

/// Bytes of a device's memory that are in use, by everybody. `bus`: its PCI
/// address, as cuDeviceGetPCIBusId writes it. Nothing: NVML is not there, or
/// does not say.
std::optional<uint64_t> usedMemory(const char *bus);

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_MANAGEMENT_H
