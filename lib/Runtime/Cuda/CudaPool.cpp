//===- CudaPool.cpp - The CUDA devices of one session ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaPool.h"
#include "Management.h"
#include <algorithm>
#include <cstdlib>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

Status cuda::describe(const Driver &driver, int ordinal,
                      CudaPool::Member &member) {
  std::string which = format("GPU %d: ", ordinal);
  char name[256] = "";
  size_t bytes = 0;
  if (Status status = driver.status(driver.deviceGet(&member.handle, ordinal),
                                    which + "cuDeviceGet");
      !status.ok())
    return status;
  if (Status status =
          driver.status(driver.deviceGetName(name, sizeof name, member.handle),
                        which + "cuDeviceGetName");
      !status.ok())
    return status;
  if (Status status =
          driver.status(driver.deviceTotalMem(&bytes, member.handle),
                        which + "cuDeviceTotalMem");
      !status.ok())
    return status;
  for (auto [value, attribute] : {std::pair(&member.major, CapabilityMajor),
                                  std::pair(&member.minor, CapabilityMinor)})
    if (Status status = driver.status(
            driver.deviceGetAttribute(value, attribute, member.handle),
            which + "cuDeviceGetAttribute");
        !status.ok())
      return status;
  char bus[64] = "";
  if (driver.deviceGetBus(bus, sizeof bus, member.handle) == Success)
    member.bus = bus;
  member.name = name;
  member.total = bytes;
  return Status::success();
}

Status CudaPool::create(uint32_t count, const DeviceOptions &options,
                        std::shared_ptr<CudaPool> &pool) {
  std::shared_ptr<CudaPool> result(new CudaPool);
  if (Status status = Driver::load(result->cuda); !status.ok())
    return status;
  const Driver &driver = *result->cuda;
  int present = 0;
  if (Status status =
          driver.status(driver.deviceGetCount(&present), "cuDeviceGetCount");
      !status.ok())
    return status;
  if ((int)count > present)
    return deviceError(
        format("the program wants %u GPUs, this machine shows %d "
               "(CUDA_VISIBLE_DEVICES hides others); compile "
               "it with --devices=%d, or run it with --device=host:%u",
               count, present, std::max(present, 1), count));
  result->error = options.error;
  result->errorContext = options.errorContext;
  for (uint32_t i = 0; i < count; ++i) {
    Member member;
    if (Status status = describe(driver, (int)i, member); !status.ok())
      return status;
    int direct = 0;
    Result found = driver.deviceGetAttribute(
        &direct, HostPointersOfRegisteredMemory, member.handle);
    if (found != Success || !direct)
      return deviceError(format("GPU %u (%s) cannot use the host's addresses "
                                "of pinned memory, which Rondo needs",
                                i, member.name.c_str()));
    unsigned flags = 0;
    int active = 1;
    if (driver.primaryContextState(member.handle, &flags, &active) == Success &&
        !active)
      member.usedBefore = usedMemory(member.bus.c_str());
    if (Status status = driver.status(
            driver.primaryContextRetain(&member.context, member.handle),
            format("GPU %u (%s): cuDevicePrimaryCtxRetain", i,
                   member.name.c_str()));
        !status.ok())
      return status;
    result->gpus.push_back(std::move(member));
  }
  // Where there is no direct way, the driver copies through the host.
  for (const Member &from : result->gpus)
    for (const Member &to : result->gpus) {
      int can = 0;
      if (from.handle == to.handle ||
          driver.deviceCanAccessPeer(&can, from.handle, to.handle) != Success ||
          !can)
        continue;
      Result enabled = driver.contextSetCurrent(from.context);
      if (enabled == Success)
        enabled = driver.contextEnablePeerAccess(to.context, 0);
      if (enabled != Success && enabled != PeerAccessEnabled)
        return driver.status(
            enabled, format("cuCtxEnablePeerAccess from GPU %d to GPU %d",
                            from.handle, to.handle));
    }
  pool = std::move(result);
  return Status::success();
}

CudaPool::~CudaPool() {
  // A failed context takes no more calls; what it holds goes with the process.
  if (failed())
    return;
  for (void *memory : registered)
    (void)cuda->hostUnregister(memory);
  for (const Member &member : gpus)
    (void)cuda->primaryContextRelease(member.handle);
}

/// RONDO_TEST_PINNING=LIMIT[,SLOT] stands for a system that pins no more than
/// LIMIT bytes of what devices copy.
static uint64_t pinningLimit() {
  const char *limit = std::getenv("RONDO_TEST_PINNING");
  return limit ? std::strtoull(limit, nullptr, 10) : UINT64_MAX;
}

Status CudaPool::pin(Buffer memory, const std::string &what) {
  if (memory.bytes == 0 || std::find(registered.begin(), registered.end(),
                                     memory.data) != registered.end())
    return Status::success();
  Result result = cuda->contextSetCurrent(gpus.front().context);
  if (result == Success)
    result = cuda->hostRegister(memory.data, memory.bytes,
                                kHostRegisterPortable | kHostRegisterMapped);
  if (result != Success)
    return deviceError(format(
        "the system does not pin %llu bytes (%s) of %s for CUDA: %s",
        (unsigned long long)memory.bytes, formatBytes(memory.bytes).c_str(),
        what.c_str(), cuda->text(result).c_str()));
  registered.push_back(memory.data);
  return Status::success();
}

void CudaPool::unpin(Buffer memory) {
  if (std::erase(registered, memory.data) != 0 && !failed())
    (void)cuda->hostUnregister(memory.data);
}

void CudaPool::pinOrStage(Buffer memory, const std::string &what) {
  if (!refused.empty())
    return;
  Status status =
      memory.bytes > pinningLimit()
          ? deviceError(format("%llu bytes of %s are more than "
                               "RONDO_TEST_PINNING allows",
                               (unsigned long long)memory.bytes, what.c_str()))
          : pin(memory, what);
  if (status.ok())
    return;
  refused = status.message();
  stagedMemory = memory;
}

Status CudaPool::openTuneFile(const DeviceOptions &options, uint64_t library,
                              uint64_t workspace) {
  if (tuned)
    return Status::success();
  for (const Member &gpu : gpus)
    if (gpu.name != gpus.front().name)
      return flagsError("--tune is for GPUs of one kind, here are " +
                        gpus.front().name + " and " + gpu.name);
  TuneFile file;
  if (Status status = TuneFile::open(options.tuneFile,
                                     {gpus.front().name, library, workspace},
                                     options.retune, file);
      !status.ok())
    return status;
  tuned = std::move(file);
  return Status::success();
}

void CudaPool::fail(const DeviceFailure &failure) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (first.status.ok())
      first = failure;
  }
  dead.store(true, std::memory_order_release);
  lose(failure.iteration);
}

void CudaPool::lose(uint32_t iteration) {
  if (!error)
    return;
  DeviceFailure failure;
  {
    std::lock_guard<std::mutex> lock(mutex);
    failure = first;
  }
  error(errorContext, failure, iteration);
}
