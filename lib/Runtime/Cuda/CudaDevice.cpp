//===- CudaDevice.cpp - A GPU as a device ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"
#include "../Plugin.h"
#include "Management.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>
#include <utility>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// How long the device's thread sleeps when there is nothing to tell, and how
/// often it then looks for failures.
constexpr auto kPause = std::chrono::microseconds(10);
constexpr auto kCheck = std::chrono::milliseconds(50);
constexpr uint32_t kChecksUntilMemory = 20, kMostLostChecks = 20;
/// Of a ring for staged copies: large enough for the bus to be busy.
constexpr uint64_t kSlotBytes = 4u << 20, kLeastSlotBytes = 1u << 11;
/// Those between compute and the host's.
constexpr size_t kFirstCopyLane = 1, kLastCopyLane = 4;

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
  if (gpu.usedBefore)
    if (std::optional<uint64_t> used = usedMemory(gpu.bus.c_str()))
      contextBytes = *used > *gpu.usedBefore ? *used - *gpu.usedBefore : 0;
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
  // Programs without products have nothing to tune.
  if (uint64_t library = executable->products().version();
      library && !options.tuneFile.empty()) {
    if (Status status =
            pool->openTuneFile(options, library, CudaGemms::kWorkspace);
        !status.ok())
      return status;
    if (Status status = executable->tune(*pool->tuneFile(), memory, bytes);
        !status.ok())
      return status;
    if (Status status = pool->tuneFile()->save(); !status.ok())
      return status;
  }
  uint64_t pages = 0;
  for (uint32_t lane = 0; lane < kDeviceLanes; ++lane)
    pages += 256 + 4 * (uint64_t)executable->mostCalls() *
                       std::max(2 * capacity(lane) + 2, 32u);
  graphs = std::make_unique<CudaGraphs>(driver(), *executable, program.table());
  // They are for one thread that issues, and were measured with it. What counts
  // commands must not make one while it issues, either.
  bool updates = capacity(kAlwaysLanes) != 0;
  if (!isOnly() || updates)
    graphs->close();
  pages += 4 * graphs->words() + 128;
  pages = (pages + 4095) / 4096 * 4096;
  if (Status status = words.allocate(pages, "words that GPUs write");
      !status.ok())
    return status;
  if (Status status = pool->pin(words.buffer(), "words that GPUs write");
      !status.ok())
    return status;
  graphs->open(reinterpret_cast<uint32_t *>(laneWords(graphs->words())));
  for (uint32_t lane = 0; lane < kDeviceLanes; ++lane) {
    if (lane >= kAlwaysLanes && !updates)
      continue;
    lanes.push_back(
        std::make_unique<CudaLane>(*this, /*ofState=*/lane >= kAlwaysLanes));
    if (Status status = lanes.back()->open(capacity(lane), 0,
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
  // An update is first launched when its stream waits for the host already.
  if (updates)
    if (Status status = loadKernels(); !status.ok())
      return status;
  observeMemory();
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
  if (!result->isOnly() || tasks[1] != 0)
    result->issuer = std::make_unique<IssueThread>(index, tasks[0], tasks[1]);
  device = std::move(result);
  return Status::success();
}

CudaDevice::~CudaDevice() {
  issuer.reset();
  // They wait for what the other thread tells.
  for (std::unique_ptr<HostLane> &lane : stagedLanes)
    lane.reset();
  if (thread.joinable()) {
    closing.store(true, std::memory_order_release);
    wake();
    thread.join();
  }
  // A failed context takes no more calls; what it holds goes with the process.
  if (pool->failed() || !makeCurrent().ok()) {
    (void)graphs.release();
    (void)executable.release();
    return;
  }
  for (std::unique_ptr<StagedCopier> &copier : copiers)
    copier.reset();
  for (std::unique_ptr<CudaLane> &lane : lanes)
    lane.reset();
  graphs.reset();
  executable.reset();
  pool->unpin(words.buffer());
  if (memory)
    (void)driver().memFree(memory);
}

void CudaDevice::fail(const TaskCall &call, const Status &status) {
  std::string device =
      format("GPU %u (%s): ", index, pool->members()[index].name.c_str());
  pool->fail({call.task, call.iteration,
              Status(status.code(), device + status.message())});
}

//===----------------------------------------------------------------------===//
// Host memory
//===----------------------------------------------------------------------===//

Status CudaDevice::share(Buffer memory, HostUse use, const std::string &what) {
  if (use == HostUse::Events)
    return pool->pin(memory, what);
  pool->pinOrStage(memory, what);
  if (pool->refusal().empty())
    return Status::success();
  if (!isOnly())
    return deviceError(
        pool->refusal() +
        "; on one GPU copies would be staged, on several they are not: raise "
        "what may be locked (ulimit -l), compile for less with --host-memory, "
        "or for one GPU with --devices=1");
  return stageCopies();
}

/// The second number of RONDO_TEST_PINNING.
static uint64_t wantedSlotBytes() {
  const char *limits = std::getenv("RONDO_TEST_PINNING");
  const char *comma = limits ? std::strchr(limits, ',') : nullptr;
  uint64_t bytes = comma ? std::strtoull(comma + 1, nullptr, 10) : 0;
  return bytes ? bytes : kSlotBytes;
}

/// As large as the system lets all lanes have it.
Status CudaDevice::openCopiers() {
  Status status;
  for (uint64_t slotBytes = wantedSlotBytes(); slotBytes != 0; slotBytes /= 2) {
    status = Status::success();
    for (size_t lane = kFirstCopyLane; lane <= kLastCopyLane && status.ok();
         ++lane) {
      copiers[lane] =
          std::make_unique<StagedCopier>(*this, lanes[lane]->copyStream());
      status = copiers[lane]->open(slotBytes);
    }
    if (status.ok())
      return status;
    for (std::unique_ptr<StagedCopier> &copier : copiers)
      copier.reset();
    if (slotBytes < kLeastSlotBytes)
      break;
  }
  return Status(status.code(), pool->refusal() + "; and " + status.message() +
                                   "; compile for less with --host-memory, or "
                                   "raise what may be locked (ulimit -l, a "
                                   "container's memory limit)");
}

/// Runs every entry once, on zeros. Libraries load a kernel's code when it is
/// first launched, and that waits until the device is idle: for ever, where the
/// device waits for what a thread of the host would have to pass on or issue.
Status CudaDevice::loadKernels() {
  const program::Program &table = program.table();
  Address status = 0;
  if (Status result = driver().status(
          driver().memAlloc(&status, 4 * (uint64_t)executable->mostCalls()),
          "cuMemAlloc");
      !result.ok())
    return result;
  Status first;
  std::vector<char> ran(sizeOf(table.entries()));
  char rounded = 0;
  std::vector<std::byte *> arguments;
  for (const program::Op *op : *table.ops()) {
    bool rounds = op->kind() == program::OpKind::Round;
    if (!rounds && !CudaExecutable::isLaunch(*op))
      continue;
    char &did = rounds ? rounded : ran[(size_t)op->entry()];
    if (std::exchange(did, 1))
      continue;
    arguments.clear();
    for (uint32_t i = 0; i < sizeOf(op->operands()); ++i) {
      const program::Operand &operand = *op->operands()->Get(i);
      const program::Buffer &buffer =
          *table.buffers()->Get(operand.buffers()->Get(0));
      arguments.push_back(arena().data + buffer.offset() + operand.offset());
    }
    first = rounds ? executable->round(reinterpret_cast<Address>(arguments[0]),
                                       1, nullptr)
                   : executable->launch((uint32_t)op->entry(), arguments.data(),
                                        status, nullptr);
    if (!first.ok())
      break;
  }
  if (first.ok() && options.delays.microseconds != 0)
    first = executable->delay(1, nullptr);
  Result result = Success;
  if (bytes != 0)
    result = driver().memsetAsync(memory, 0, bytes, nullptr);
  if (result == Success)
    result = driver().streamSynchronize(nullptr);
  if (first.ok())
    first = driver().status(result, "running every kernel once");
  (void)driver().memFree(status);
  return first;
}

Status CudaDevice::stageCopies() {
  // What is copied then passes through the host's threads, updates too.
  if (counts())
    return Status(Code::Device,
                  pool->refusal() +
                      "; updates on GPUs need all of it pinned: compile with "
                      "--optimizer-device=host, or raise what may be locked "
                      "(ulimit -l, a container's memory limit)");
  if (Status status = makeCurrent(); !status.ok())
    return status;
  if (Status status = loadKernels(); !status.ok())
    return status;
  // Making one may wait until the device is idle, too.
  graphs->close();
  if (Status status = openCopiers(); !status.ok())
    return status;
  for (size_t lane = kFirstCopyLane; lane <= kLastCopyLane; ++lane)
    stagedLanes[lane] = std::make_unique<HostLane>(
        format("%s %u", program::EnumNameLane((program::Lane)lane), index),
        nullptr, options.capacity[lane], options.delays, index * 8 + lane,
        options.stop, copiers[lane].get());
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Completing
//===----------------------------------------------------------------------===//

void CudaDevice::wake() {
  submitted.fetch_add(1, std::memory_order_release);
  submitted.notify_one();
}

uint32_t CudaDevice::findCulprit(uint32_t checks) {
  auto isLost = [](const std::unique_ptr<CudaLane> &lane) {
    return lane->isLost();
  };
  if (pool->failed() || std::none_of(lanes.begin(), lanes.end(), isLost))
    return 0;
  // What the GPU does wrong it says late, and of everything: only a task whose
  // waits hold can have done it, and kernels do it rather than copies. Where
  // there is none for long, some task has to stand for it.
  for (std::unique_ptr<CudaLane> &lane : lanes)
    if (lane->blame(checks >= kMostLostChecks))
      break;
  return checks + 1;
}

void CudaDevice::complete() {
  // Sleeps are short: by default the system makes each 50 us longer.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  if (Status status = makeCurrent(); !status.ok())
    pool->fail({nullptr, 0, status});
  auto checked = std::chrono::steady_clock::now();
  uint32_t checks = 0, lostChecks = 0;
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
      lostChecks = findCulprit(lostChecks);
      if (++checks % kChecksUntilMemory == 0)
        observeMemory();
    }
    for (std::unique_ptr<CudaLane> &lane : lanes)
      lane->observe();
    std::this_thread::sleep_for(kPause);
  }
}

uint64_t CudaDevice::observeMemory() const {
  size_t available = 0, total = 0;
  if (driver().memGetInfo(&available, &total) != Success)
    return 0;
  uint64_t least = leastFree.load(std::memory_order_relaxed);
  while (available < least && !leastFree.compare_exchange_weak(
                                  least, available, std::memory_order_relaxed))
    ;
  return total - available;
}

DeviceReport CudaDevice::report() const {
  const CudaPool::Member &gpu = pool->members()[index];
  DeviceReport report;
  report.name = gpu.name;
  report.arena = bytes;
  report.workspace = executable->workspaceBytes();
  report.total = gpu.total;
  report.arithmetic = gpu.name + "\n" + executable->arithmetic();
  if (uint64_t library = executable->products().version()) {
    report.products = format("cuBLASLt %llu", (unsigned long long)library);
    if (const TuneFile *file = pool->tuneFile())
      report.products += format(", tuned (%s, %zu products timed in this run)",
                                file->path().c_str(), file->added());
    else
      report.products += ", its first choices";
  }
  report.code = executable->codeKind();
  report.graphs = graphs->count();
  report.ringReason = pool->refusal();
  for (const std::unique_ptr<StagedCopier> &copier : copiers)
    report.ring += copier ? copier->ringBytes() : 0;
  if (!pool->failed() && makeCurrent().ok())
    report.used = observeMemory();
  uint64_t least = leastFree.load(std::memory_order_relaxed),
           taken = (freeBefore > least ? freeBefore - least : 0) +
                   contextBytes.value_or(0),
           known = report.arena + report.workspace;
  report.other = taken > known ? taken - known : 0;
  report.contextCounted = contextBytes.has_value();
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
  // Streams that share a connection to the GPU wait for each other's waits; by
  // default there are 8, as many as a device then has streams.
  if (usedDeviceLanes(program.table()) > kAlwaysLanes)
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*overwrite=*/0);
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
