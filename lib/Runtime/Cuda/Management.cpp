//===- Management.cpp - What NVIDIA's management library knows ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Management.h"
#include <dlfcn.h>
#include <type_traits>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

namespace {

// Declarations of our own, as in Driver.h.
using Gpu = struct GpuObject *;
struct Memory {
  unsigned long long total, free, used;
};

struct Library {
  int (*init)() = nullptr;
  int (*find)(const char *bus, Gpu *gpu) = nullptr;
  int (*memory)(Gpu gpu, Memory *memory) = nullptr;
  bool usable = false;

  Library() {
    // Never closed: it is asked again.
    void *library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return;
    auto symbol = [&](auto &member, const char *name) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(
          ::dlsym(library, name));
      return member != nullptr;
    };
    usable = symbol(init, "nvmlInit_v2") &&
             symbol(find, "nvmlDeviceGetHandleByPciBusId_v2") &&
             symbol(memory, "nvmlDeviceGetMemoryInfo") && init() == 0;
  }
};

} // namespace

std::optional<uint64_t> cuda::usedMemory(const char *bus) {
  static const Library library;
  Gpu gpu = nullptr;
  Memory memory{};
  if (!library.usable || library.find(bus, &gpu) != 0 ||
      library.memory(gpu, &memory) != 0)
    return std::nullopt;
  return memory.used;
}
