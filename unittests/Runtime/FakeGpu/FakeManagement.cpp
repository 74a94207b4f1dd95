//===- FakeManagement.cpp - libnvidia-ml.so.1, played by the host ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeGpu.h"
#include <cstring>

#define FAKE extern "C" __attribute__((visibility("default"))) int

FAKE nvmlInit_v2() { return 0; }
FAKE nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **gpu) {
  if (std::strlen(bus) != 12 || bus[6] < '0' || bus[6] > '1')
    return 2;
  *gpu = reinterpret_cast<void *>((uintptr_t)(bus[6] - '0' + 1));
  return 0;
}
FAKE nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long *memory) {
  memory[2] = rondo::runtime::testing::fakeUsed(
      (int)(reinterpret_cast<uintptr_t>(gpu) - 1));
  return 0;
}
