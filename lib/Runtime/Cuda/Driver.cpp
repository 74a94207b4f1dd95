//===- Driver.cpp - Finding CUDA's driver ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include <dlfcn.h>
#include <mutex>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

static Status open(Driver &driver) {
  // Never closed: the driver keeps threads of its own.
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = ::dlerror();
    return deviceError(std::string("CUDA's driver is missing: ") +
                       (error ? error : "libcuda.so.1") +
                       "; install the NVIDIA driver of this machine's GPUs, or "
                       "give LD_LIBRARY_PATH the folder that holds "
                       "libcuda.so.1");
  }
  std::string missing;
#define RONDO_FIND(MEMBER, NAME, ...)                                          \
  driver.MEMBER =                                                              \
      reinterpret_cast<decltype(driver.MEMBER)>(::dlsym(library, NAME));       \
  if (!driver.MEMBER)                                                          \
    missing += std::string(missing.empty() ? "" : ", ") + NAME;
  RONDO_CUDA_DRIVER(RONDO_FIND)
#undef RONDO_FIND
  if (!missing.empty())
    return deviceError("CUDA's driver is too old: libcuda.so.1 lacks " +
                       missing + "; install driver 525 or newer");
  if (Result result = driver.init(0); result != Success)
    return deviceError("CUDA's driver does not start: " + driver.text(result) +
                       (result == NoDevice
                            ? "; no NVIDIA GPU is visible: look at nvidia-smi "
                              "and CUDA_VISIBLE_DEVICES"
                            : ""));
  return Status::success();
}

Status Driver::load(const Driver *&driver) {
  static std::once_flag once;
  static Driver instance;
  static Status status;
  std::call_once(once, [] { status = open(instance); });
  driver = &instance;
  return status;
}

std::string Driver::text(Result result) const {
  const char *name = nullptr, *words = nullptr;
  if (getErrorName(result, &name) != Success || !name)
    return format("CUDA error %d", (int)result);
  if (getErrorString(result, &words) != Success || !words)
    return name;
  return std::string(name) + ": " + words;
}
