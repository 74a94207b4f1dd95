//===- CudaDevice.cpp - A GPU as a device ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "../Plugin.h"
#include <chrono>
#include <pthread.h>
#include <sys/prctl.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// How long the device's thread sleeps when there is nothing to tell, and how
/// often it then looks for failures.
constexpr auto kPause = std::chrono::microseconds(10);
constexpr auto kCheck = std::chrono::milliseconds(50);

Status CudaDevice::makeCurrent() const {
  return driver().status(
      driver().contextSetCurrent(pool->members()[index].context),
      "cuCtxSetCurrent");
}

std::byte *CudaDevice::laneWords(uint64_t count) {
  std::byte *result = words.buffer().data + wordsUsed;
  wordsUsed += (4 * count + 127) / 128 * 128;
  return result;
}

Status CudaDevice::prepare() {
  const CudaPool::Member &gpu = pool->members()[index];
  size_t available = 0, total = 0;
  if (Status status = makeCurrent(); !status.ok())
    return status;
  if (Status status = driver().status(driver().memGetInfo(&available, &total),
                                      "cuMemGetInfo");
      !status.ok())
    return status;
  freeBefore = available;
  bytes = program.table().device_bytes();
  if (bytes != 0) {
    Result result = driver().memAlloc(&memory, bytes);
    if (result != Success)
      return deviceError(
          format("%llu bytes (%s) are planned, %s of %s are free: %s; compile "
                 "for less with --device-memory, "
                 "or end what else uses the GPU",
                 (unsigned long long)bytes, formatBytes(bytes).c_str(),
                 formatBytes(available).c_str(), formatBytes(total).c_str(),
                 driver().text(result).c_str()));
  }
  if (Status status = CudaExecutable::create(program, *pool, gpu, executable);
      !status.ok())
    return status;
  uint64_t pages = 0;
  for (uint32_t lane = 0; lane < kDeviceLanes; ++lane)
    pages += 256 + 4 * (uint64_t)executable->mostCalls() *
                       std::max(2 * options.capacity[lane] + 2, 32u);
  pages = (pages + 4095) / 4096 * 4096;
  if (Status status = words.allocate(pages, "words that GPUs write");
      !status.ok())
    return status;
  if (Status status = pool->share(words.buffer(), "words that GPUs write");
      !status.ok())
    return status;
  for (uint32_t lane = 0; lane < kDeviceLanes; ++lane) {
    if (lane >= kAlwaysLanes && options.capacity[lane] == 0)
      continue;
    lanes.push_back(
        std::make_unique<CudaLane>(*this, /*ofState=*/lane >= kAlwaysLanes));
    if (Status status = lanes.back()->open(options.capacity[lane], 0,
                                           options.delays.seed * 1000003 +
                                               index * 8 + lane);
        !status.ok())
      return status;
  }
  // Memory like the host's: all zeros.
  if (bytes != 0)
    if (Status status = driver().status(
            driver().memsetAsync(memory, 0, bytes, nullptr), "cuMemsetD8Async");
        !status.ok())
      return status;
  if (Status status = driver().status(driver().streamSynchronize(nullptr),
                                      "cuStreamSynchronize");
      !status.ok())
    return status;
  if (Status status = driver().status(driver().memGetInfo(&available, &total),
                                      "cuMemGetInfo");
      !status.ok())
    return status;
  freeAfter = available;
  return Status::success();
}

Status CudaDevice::open(const std::shared_ptr<CudaPool> &pool, uint32_t index,
                        const Program &program, const DeviceOptions &options,
                        std::unique_ptr<Device> &device) {
  auto result = std::make_unique<CudaDevice>(pool, index, program, options);
  if (Status status = result->prepare(); !status.ok())
    return Status(status.code(), format("GPU %u (%s): ", index,
                                        pool->members()[index].name.c_str()) +
                                     status.message());
  result->thread = std::thread([&self = *result] { self.complete(); });
  pthread_setname_np(result->thread.native_handle(),
                     format("GPU %u", index).c_str());
  uint32_t tasks[2] = {0, 0};
  for (size_t lane = 0; lane < result->lanes.size(); ++lane)
    tasks[lane >= kAlwaysLanes] += result->lanes[lane]->capacity();
  if (pool->members().size() > 1)
    result->issuer = std::make_unique<IssueThread>(index, tasks[0]);
  if (tasks[1] != 0)
    result->stateIssuer = std::make_unique<IssueThread>(index, tasks[1]);
  device = std::move(result);
  return Status::success();
}

CudaDevice::~CudaDevice() {
  issuer.reset();
  stateIssuer.reset();
  if (thread.joinable()) {
    closing.store(true, std::memory_order_release);
    wake();
    thread.join();
  }
  // A failed context takes no more calls; what it holds goes with the process.
  if (pool->failed() || !makeCurrent().ok()) {
    (void)executable.release();
    return;
  }
  for (std::unique_ptr<CudaLane> &lane : lanes)
    lane.reset();
  executable.reset();
  pool->unshare(words.buffer());
  if (memory)
    (void)driver().memFree(memory);
}

void CudaDevice::wake() {
  submitted.fetch_add(1, std::memory_order_release);
  submitted.notify_one();
}

void CudaDevice::complete() {
  // Sleeps are short: by default the system makes each 50 us longer.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  if (Status status = makeCurrent(); !status.ok())
    pool->fail({nullptr, 0, status});
  auto checked = std::chrono::steady_clock::now();
  while (true) {
    uint32_t seen = submitted.load(std::memory_order_acquire);
    bool last = closing.load(std::memory_order_acquire), moved = false,
         pending = false;
    for (std::unique_ptr<CudaLane> &lane : lanes) {
      moved |= lane->advance();
      pending |= lane->pending();
    }
    if (!pending) {
      if (last)
        return;
      submitted.wait(seen, std::memory_order_acquire);
      checked = std::chrono::steady_clock::now();
      continue;
    }
    if (moved)
      continue;
    auto time = std::chrono::steady_clock::now();
    if (time - checked >= kCheck) {
      checked = time;
      for (std::unique_ptr<CudaLane> &lane : lanes)
        lane->check();
    }
    for (std::unique_ptr<CudaLane> &lane : lanes)
      lane->observe();
    std::this_thread::sleep_for(kPause);
  }
}

DeviceReport CudaDevice::report() const {
  const CudaPool::Member &gpu = pool->members()[index];
  DeviceReport report;
  report.name = gpu.name;
  report.arena = bytes;
  report.workspace = executable->workspaceBytes();
  report.total = gpu.total;
  size_t available = freeAfter, total = 0;
  if (!pool->failed() && makeCurrent().ok() &&
      driver().memGetInfo(&available, &total) == Success)
    report.used = total - available;
  // Libraries load code when they first run it.
  uint64_t least = std::min<uint64_t>(available, freeAfter),
           taken = freeBefore > least ? freeBefore - least : 0,
           known = report.arena + report.workspace;
  report.other = taken > known ? taken - known : 0;
  return report;
}

//===----------------------------------------------------------------------===//
// The kind of device
//===----------------------------------------------------------------------===//

static std::string listGpus() {
  const Driver *driver = nullptr;
  int count = 0;
  Status status = Driver::load(driver);
  if (status.ok())
    status = driver->status(driver->deviceGetCount(&count), "cuDeviceGetCount");
  if (status.ok() && count == 0)
    status = deviceError("the driver shows no GPU");
  if (!status.ok())
    return "cuda:N  none: " + status.message() + "\n";
  int version = 0;
  (void)driver->driverGetVersion(&version);
  std::string list = format(
      "cuda:N  N of this machine's GPUs (%d; the driver knows CUDA %d.%d)\n",
      count, version / 1000, version % 1000 / 10);
  for (int i = 0; i < count; ++i) {
    CudaPool::Member gpu;
    if (Status described = describe(*driver, i, gpu); !described.ok())
      list += "  " + described.message() + "\n";
    else
      list += format("  GPU %d: %s, %s, compute capability %d.%d\n", i,
                     gpu.name.c_str(), formatBytes(gpu.total).c_str(),
                     gpu.major, gpu.minor);
  }
  list += "  attention in bfloat16 and float16: " + Cudnn::describe() + "\n";
  return list;
}

static Status openGpus(const Program &program, const DeviceOptions &options,
                       std::vector<std::unique_ptr<Device>> &devices) {
  std::shared_ptr<CudaPool> pool;
  uint32_t count = program.table().devices();
  if (Status status = CudaPool::create(count, options, pool); !status.ok())
    return status;
  for (uint32_t i = 0; i < count; ++i) {
    std::unique_ptr<Device> device;
    if (Status status = CudaDevice::open(pool, i, program, options, device);
        !status.ok())
      return status;
    devices.push_back(std::move(device));
  }
  return Status::success();
}

extern "C" __attribute__((visibility("default"))) const DevicePlugin *
RONDO_DEVICE_PLUGIN_SYMBOL() {
  static const DevicePlugin plugin{kDevicePluginVersion, listGpus, openGpus};
  return &plugin;
}
