//===- FakeDriver.cpp - libcuda.so.1, played by the host ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeGpu.h"
#include "FakeKernels.h"
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using namespace rondo::runtime::testing;

namespace {

constexpr auto InvalidValue = (Result)1, InvalidImage = (Result)200,
               NotFound = (Result)500, IllegalAddress = (Result)700,
               AlreadyRegistered = (Result)712;
constexpr uint64_t kTotal = uint64_t(80) << 30, kContext = 300u << 20;
constexpr int kGpus = 2;

struct Gpu {
  std::atomic<int> retained{0};
  std::atomic<uint64_t> allocated{0};
  /// Once a kernel has faulted everything fails, as in CUDA.
  std::atomic<bool> broken{false};
  Stream defaultStream = nullptr;
  /// Held by a call that the driver makes wait (strictDepth).
  std::mutex calls;
  std::mutex streamsMutex;
  std::set<Stream> streams;
};
Gpu gpus[kGpus];

/// After a fault nobody waits for what other GPUs still do, and memory goes
/// that here, unlike pages that a driver holds, is gone at once.
std::shared_mutex faultMutex;
bool faulted = false;

/// Does what reaches memory; false after a fault.
template <typename Work>
bool touch(const Work &work) {
  std::shared_lock<std::shared_mutex> lock(faultMutex);
  if (!faulted)
    work();
  return !faulted;
}

/// What the device reaches: its memory, and what the host registered.
std::mutex memoryMutex;
struct Range {
  uint64_t bytes;
  int device; ///< -1: the host's.
};
std::map<Address, Range> ranges;

bool reaches(Address address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  auto after = ranges.upper_bound(address);
  if (after == ranges.begin())
    return false;
  auto [begin, range] = *std::prev(after);
  return address - begin + bytes <= range.bytes;
}

/// RONDO_FAKE_DEPTH=N: a stream takes N commands ahead, and a kernel is loaded
/// when it is first launched, once the device is idle. Whose call must wait for
/// that keeps all other calls for this device waiting, which is the worst that
/// a driver may do. 0: none of it.
size_t strictDepth() {
  const char *depth = std::getenv("RONDO_FAKE_DEPTH");
  return depth ? std::strtoull(depth, nullptr, 10) : 0;
}
std::unique_lock<std::mutex> enterDevice(int device) {
  return strictDepth() ? std::unique_lock(gpus[device].calls)
                       : std::unique_lock<std::mutex>();
}

int64_t clockTime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

namespace rondo::runtime::cuda {

struct ContextObject {
  int device;
};

struct StreamObject {
  explicit StreamObject(int device) : device(device) {
    thread = std::thread([this] { run(); });
    std::lock_guard<std::mutex> lock(gpus[device].streamsMutex);
    gpus[device].streams.insert(this);
  }
  ~StreamObject() {
    {
      std::lock_guard<std::mutex> lock(gpus[device].streamsMutex);
      gpus[device].streams.erase(this);
    }
    {
      std::lock_guard<std::mutex> lock(mutex);
      closing = true;
    }
    changed.notify_all();
    thread.join();
  }
  Result add(std::function<void()> item) {
    if (gpus[device].broken)
      return IllegalAddress;
    std::unique_lock<std::mutex> call = enterDevice(device);
    waitUntilAtMost(strictDepth() ? strictDepth() - 1 : SIZE_MAX);
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (recording) {
        recorded.push_back(std::move(item));
        return Success;
      }
      work.push_back(std::move(item));
    }
    changed.notify_all();
    return Success;
  }
  void waitUntilAtMost(size_t count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock,
                 [&] { return work.size() <= count || gpus[device].broken; });
  }
  void run() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return closing || !work.empty(); });
      if (work.empty() || gpus[device].broken)
        return;
      std::function<void()> item = work.front();
      lock.unlock();
      item();
      lock.lock();
      work.pop_front();
      changed.notify_all();
    }
  }

  const int device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  bool closing = false, recording = false;
  std::vector<std::function<void()>> recorded; ///< Of the graph to be.
  std::thread thread;
};

/// Recorded again and again: each record has a number.
struct EventObject {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, completed = 0;
  int64_t time = 0;
};

struct GraphObject {
  std::vector<std::function<void()>> work;
};
struct GraphExecObject {
  std::vector<std::function<void()>> work;
};
struct FunctionObject {
  const FakeKernel *kernel;
  bool loaded = false;
};
struct ModuleObject {
  std::string text;
  std::mutex mutex;
  std::map<std::string, FunctionObject> functions;
};

} // namespace rondo::runtime::cuda

static ContextObject contexts[kGpus] = {{0}, {1}};
static thread_local ContextObject *current = nullptr;

static Stream streamOf(Stream stream) {
  if (stream)
    return stream;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  Gpu &gpu = gpus[current->device];
  if (!gpu.defaultStream)
    gpu.defaultStream = new StreamObject(current->device);
  return gpu.defaultStream;
}

Result testing::fakeEnqueue(Stream stream, std::function<void()> work) {
  return streamOf(stream)->add([work = std::move(work)] { touch(work); });
}

uint64_t testing::fakeUsed(int device) {
  return gpus[device].allocated + (gpus[device].retained ? kContext : 0);
}

#define FAKE extern "C" __attribute__((visibility("default"))) Result

//===----------------------------------------------------------------------===//
// Devices, contexts, memory
//===----------------------------------------------------------------------===//

FAKE cuInit(unsigned) { return Success; }
FAKE cuDriverGetVersion(int *version) {
  *version = 13000;
  return Success;
}
FAKE cuGetErrorName(Result result, const char **name) {
  *name = result == InvalidValue        ? "CUDA_ERROR_INVALID_VALUE"
          : result == OutOfMemory       ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == NotFound          ? "CUDA_ERROR_NOT_FOUND"
          : result == IllegalAddress    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == AlreadyRegistered ? "CUDA_ERROR_HOST_MEMORY_ALREADY_"
                                          "REGISTERED"
                                        : "CUDA_ERROR_UNKNOWN";
  return Success;
}
FAKE cuGetErrorString(Result, const char **text) {
  *text = "said by the tests' driver";
  return Success;
}
FAKE cuDeviceGetCount(int *count) {
  *count = kGpus;
  return Success;
}
FAKE cuDeviceGet(DeviceHandle *device, int ordinal) {
  *device = ordinal;
  return Success;
}
FAKE cuDeviceGetName(char *name, int bytes, DeviceHandle) {
  std::snprintf(name, (size_t)bytes, "NVIDIA Test");
  return Success;
}
FAKE cuDeviceGetPCIBusId(char *bus, int bytes, DeviceHandle device) {
  std::snprintf(bus, (size_t)bytes, "0000:0%d:00.0", device);
  return Success;
}
FAKE cuDeviceTotalMem_v2(size_t *bytes, DeviceHandle) {
  *bytes = kTotal;
  return Success;
}
FAKE cuDeviceGetAttribute(int *value, DeviceAttribute attribute, DeviceHandle) {
  *value = attribute == Multiprocessors     ? 4
           : attribute == CapabilityMajor   ? 9
           : attribute == CapabilityMinor   ? 0
           : attribute == SharedMemoryOptIn ? 232448
                                            : 1;
  return Success;
}
FAKE cuDeviceCanAccessPeer(int *can, DeviceHandle, DeviceHandle) {
  *can = 1;
  return Success;
}
FAKE cuDevicePrimaryCtxGetState(DeviceHandle device, unsigned *flags,
                                int *active) {
  *flags = 0;
  *active = gpus[device].retained != 0;
  return Success;
}
FAKE cuDevicePrimaryCtxRetain(Context *context, DeviceHandle device) {
  ++gpus[device].retained;
  *context = &contexts[device];
  return Success;
}
FAKE cuDevicePrimaryCtxRelease_v2(DeviceHandle device) {
  --gpus[device].retained;
  return Success;
}
FAKE cuCtxSetCurrent(Context context) {
  current = context;
  return Success;
}
FAKE cuCtxEnablePeerAccess(Context, unsigned) {
  static std::atomic<int> calls{0};
  return ++calls > 2 ? PeerAccessEnabled : Success;
}
FAKE cuMemGetInfo_v2(size_t *available, size_t *total) {
  if (gpus[current->device].broken)
    return IllegalAddress;
  *total = kTotal;
  *available = kTotal - fakeUsed(current->device);
  return Success;
}
FAKE cuMemAlloc_v2(Address *address, size_t bytes) {
  int device = current->device;
  if (bytes > kTotal - fakeUsed(device))
    return OutOfMemory;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return OutOfMemory;
  // Not zeros: who wants some must write them.
  std::memset(memory, 0x5a, bytes);
  *address = reinterpret_cast<Address>(memory);
  gpus[device].allocated += bytes;
  std::lock_guard<std::mutex> lock(memoryMutex);
  ranges[*address] = {bytes, device};
  return Success;
}
FAKE cuMemFree_v2(Address address) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  auto place = ranges.find(address);
  if (place == ranges.end() || place->second.device < 0)
    return InvalidValue;
  gpus[place->second.device].allocated -= place->second.bytes;
  std::free(reinterpret_cast<void *>(address));
  ranges.erase(place);
  return Success;
}
/// RONDO_FAKE_PINNING: bytes that may be registered in all.
FAKE cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  const char *limit = std::getenv("RONDO_FAKE_PINNING");
  auto address = reinterpret_cast<Address>(memory);
  std::lock_guard<std::mutex> lock(memoryMutex);
  uint64_t sum = bytes;
  for (const auto &[begin, range] : ranges)
    sum += range.device < 0 ? range.bytes : 0;
  if (limit && sum > std::strtoull(limit, nullptr, 10))
    return OutOfMemory;
  return ranges.emplace(address, Range{bytes, -1}).second ? Success
                                                          : AlreadyRegistered;
}
FAKE cuMemHostUnregister(void *memory) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  return ranges.erase(reinterpret_cast<Address>(memory)) ? Success
                                                         : InvalidValue;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

FAKE cuStreamCreateWithPriority(Stream *stream, unsigned, int) {
  *stream = new StreamObject(current->device);
  return Success;
}
FAKE cuStreamDestroy_v2(Stream stream) {
  delete stream;
  return Success;
}
FAKE cuStreamQuery(Stream stream) {
  if (gpus[stream->device].broken)
    return IllegalAddress;
  std::unique_lock<std::mutex> call = enterDevice(stream->device);
  std::lock_guard<std::mutex> lock(stream->mutex);
  return stream->work.empty() ? Success : NotReady;
}
/// RONDO_FAKE_LATENESS: microseconds after which the host notices.
FAKE cuStreamSynchronize(Stream stream) {
  stream = streamOf(stream);
  {
    std::unique_lock<std::mutex> lock(stream->mutex);
    stream->changed.wait(lock, [&] {
      return stream->work.empty() || gpus[stream->device].broken;
    });
  }
  if (const char *lateness = std::getenv("RONDO_FAKE_LATENESS"))
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::strtoull(lateness, nullptr, 10)));
  return gpus[stream->device].broken ? IllegalAddress : Success;
}
FAKE cuStreamBeginCapture_v2(Stream stream, int) {
  std::lock_guard<std::mutex> lock(stream->mutex);
  stream->recording = true;
  return Success;
}
FAKE cuStreamEndCapture(Stream stream, GraphHandle *graph) {
  std::lock_guard<std::mutex> lock(stream->mutex);
  stream->recording = false;
  *graph = new GraphObject{std::move(stream->recorded)};
  stream->recorded.clear();
  return Success;
}
FAKE cuGraphInstantiateWithFlags(GraphExec *exec, GraphHandle graph,
                                 unsigned long long) {
  *exec = new GraphExecObject{graph->work};
  return Success;
}
FAKE cuGraphLaunch(GraphExec exec, Stream stream) {
  for (const std::function<void()> &item : exec->work)
    if (Result result = streamOf(stream)->add(item); result != Success)
      return result;
  return Success;
}
FAKE cuGraphDestroy(GraphHandle graph) {
  delete graph;
  return Success;
}
FAKE cuGraphExecDestroy(GraphExec exec) {
  delete exec;
  return Success;
}
FAKE cuEventCreate(EventHandle *event, unsigned) {
  *event = new EventObject;
  return Success;
}
FAKE cuEventDestroy_v2(EventHandle event) {
  delete event;
  return Success;
}
FAKE cuEventRecord(EventHandle event, Stream stream) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    number = ++event->recorded;
  }
  return streamOf(stream)->add([event, number] {
    std::lock_guard<std::mutex> lock(event->mutex);
    event->completed = number;
    event->time = clockTime();
    event->changed.notify_all();
  });
}
static void await(EventHandle event, uint64_t number) {
  std::unique_lock<std::mutex> lock(event->mutex);
  while (event->completed < number && touch([] {}))
    event->changed.wait_for(lock, std::chrono::milliseconds(10));
}
FAKE cuEventSynchronize(EventHandle event) {
  int device = current->device;
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    number = event->recorded;
  }
  await(event, number);
  return gpus[device].broken ? IllegalAddress : Success;
}
FAKE cuEventElapsedTime(float *milliseconds, EventHandle begin,
                        EventHandle end) {
  std::unique_lock<std::mutex> call = enterDevice(current->device);
  int64_t times[2];
  for (int i = 0; i < 2; ++i) {
    EventHandle event = i ? end : begin;
    std::lock_guard<std::mutex> lock(event->mutex);
    if (event->recorded == 0)
      return InvalidValue;
    if (event->completed < event->recorded)
      return NotReady;
    times[i] = event->time;
  }
  *milliseconds = (float)(times[1] - times[0]) / 1e6f;
  return Success;
}
FAKE cuStreamWaitEvent(Stream stream, EventHandle event, unsigned) {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    number = event->recorded;
  }
  return streamOf(stream)->add([event, number] { await(event, number); });
}
static std::atomic_ref<uint32_t> word(Address address) {
  return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t *>(address));
}
FAKE cuStreamWaitValue32_v2(Stream stream, Address address, uint32_t value,
                            unsigned) {
  if (!reaches(address, 4))
    return InvalidValue;
  return streamOf(stream)->add([address, value] {
    int32_t ahead = -1;
    auto look = [&] {
      ahead = (int32_t)(word(address).load(std::memory_order_acquire) - value);
    };
    while (touch(look) && ahead < 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  });
}
/// RONDO_FAKE_ISSUING: microseconds that this call takes, which ends a task.
FAKE cuStreamWriteValue32_v2(Stream stream, Address address, uint32_t value,
                             unsigned) {
  if (!reaches(address, 4))
    return InvalidValue;
  Result result = fakeEnqueue(stream, [address, value] {
    word(address).store(value, std::memory_order_release);
  });
  if (const char *duration = std::getenv("RONDO_FAKE_ISSUING"))
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::strtoull(duration, nullptr, 10)));
  return result;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

FAKE cuMemcpyAsync(Address target, Address source, size_t bytes,
                   Stream stream) {
  if (!reaches(target, bytes) || !reaches(source, bytes))
    return InvalidValue;
  return fakeEnqueue(stream, [=] {
    std::memmove(reinterpret_cast<void *>(target),
                 reinterpret_cast<void *>(source), bytes);
  });
}
FAKE cuMemsetD8Async(Address target, unsigned char value, size_t bytes,
                     Stream stream) {
  if (!reaches(target, bytes))
    return InvalidValue;
  return fakeEnqueue(stream, [=] {
    std::memset(reinterpret_cast<void *>(target), value, bytes);
  });
}
FAKE cuMemsetD2D8Async(Address target, size_t pitch, unsigned char value,
                       size_t width, size_t height, Stream stream) {
  if (!reaches(target, pitch * (height - 1) + width))
    return InvalidValue;
  return fakeEnqueue(stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memset(reinterpret_cast<char *>(target) + row * pitch, value, width);
  });
}
FAKE cuModuleLoadDataEx(Module *module, const void *image, unsigned,
                        JitOption *, void **) {
  // Machine code is for machines.
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0)
    return InvalidImage;
  *module = new ModuleObject;
  (*module)->text = static_cast<const char *>(image);
  return Success;
}
FAKE cuModuleUnload(Module module) {
  delete module;
  return Success;
}
FAKE cuModuleGetFunction(Function *function, Module module, const char *name) {
  const FakeKernel *kernel = findFakeKernel(name);
  if (module->text.find(".entry " + std::string(name) + "(") ==
          std::string::npos ||
      !kernel)
    return NotFound;
  std::lock_guard<std::mutex> lock(module->mutex);
  *function =
      &module->functions.emplace(name, FunctionObject{kernel}).first->second;
  return Success;
}
FAKE cuFuncSetAttribute(Function, int, int) { return Success; }
FAKE cuLaunchKernel(Function function, unsigned gridX, unsigned, unsigned,
                    unsigned blockX, unsigned, unsigned, unsigned,
                    Stream stream, void **parameters, void **) {
  const FakeKernel &kernel = *function->kernel;
  FakeArguments arguments{};
  // As many as the kernel declares, now: the caller may change them then.
  for (uint32_t i = 0; i < kernel.parameters; ++i)
    std::memcpy(&arguments[i], parameters[i], 8);
  stream = streamOf(stream);
  if (auto call = enterDevice(stream->device);
      call.owns_lock() && !std::exchange(function->loaded, true)) {
    Gpu &gpu = gpus[stream->device];
    std::lock_guard<std::mutex> lock(gpu.streamsMutex);
    for (Stream other : gpu.streams)
      other->waitUntilAtMost(0);
  }
  uint64_t threads = (uint64_t)gridX * blockX;
  return stream->add([&kernel, arguments, threads, stream] {
    bool fine = true;
    touch([&] { fine = kernel.run(arguments, threads); });
    if (fine)
      return;
    std::unique_lock<std::shared_mutex> lock(faultMutex);
    faulted = true;
    gpus[stream->device].broken = true;
  });
}
