//===- Driver.h - The parts of CUDA's driver that are used ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of our own for the driver's stable binary interface (the CUDA
// driver API reference documents it), so that Rondo is built without a CUDA
// toolkit. The library is found by name at run time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_DRIVER_H
#define RONDO_LIB_RUNTIME_CUDA_DRIVER_H

#include "rondo/Runtime/Status.h"
#include <cstddef>
#include <cstdint>

namespace rondo::runtime::cuda {

using DeviceHandle = int;
using Address =
    uint64_t; ///< In the one address space of the host and all devices.
using Context = struct ContextObject *;
using Stream = struct StreamObject *;
using EventHandle = struct EventObject *;
using Module = struct ModuleObject *;
using Function = struct FunctionObject *;
using GraphHandle = struct GraphObject *;
using GraphExec = struct GraphExecObject *;

/// Results that are told apart; 0 is success.
enum Result : int {
  Success = 0,
  OutOfMemory = 2,
  NoDevice = 100,
  NotReady = 600,
  PeerAccessEnabled = 704
};

enum DeviceAttribute : int {
  Multiprocessors = 16,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  HostPointersOfRegisteredMemory = 91,
  SharedMemoryOptIn = 97
};
constexpr int kMaxDynamicSharedMemory = 8; ///< A function attribute.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;
/// Not for times; who waits for it sleeps.
constexpr unsigned kEventForWaiting = 1 | 2;
constexpr unsigned kHostRegisterPortable = 1, kHostRegisterMapped = 2;
/// Waits until (int32_t)(*address - value) >= 0.
constexpr unsigned kWaitUntilReached = 0;
enum JitOption : int { JitErrorLog = 5, JitErrorLogBytes = 6 };

/// Member, exported name, parameters.
#define RONDO_CUDA_DRIVER(F)                                                   \
  F(init, "cuInit", unsigned flags)                                            \
  F(driverGetVersion, "cuDriverGetVersion", int *version)                      \
  F(getErrorName, "cuGetErrorName", Result result, const char **name)          \
  F(getErrorString, "cuGetErrorString", Result result, const char **text)      \
  F(deviceGetCount, "cuDeviceGetCount", int *count)                            \
  F(deviceGet, "cuDeviceGet", DeviceHandle *device, int ordinal)               \
  F(deviceGetName, "cuDeviceGetName", char *name, int bytes,                   \
    DeviceHandle device)                                                       \
  F(deviceGetBus, "cuDeviceGetPCIBusId", char *bus, int bytes,                 \
    DeviceHandle device)                                                       \
  F(deviceTotalMem, "cuDeviceTotalMem_v2", size_t *bytes, DeviceHandle device) \
  F(deviceGetAttribute, "cuDeviceGetAttribute", int *value,                    \
    DeviceAttribute attribute, DeviceHandle device)                            \
  F(deviceCanAccessPeer, "cuDeviceCanAccessPeer", int *can,                    \
    DeviceHandle device, DeviceHandle peer)                                    \
  F(primaryContextRetain, "cuDevicePrimaryCtxRetain", Context *context,        \
    DeviceHandle device)                                                       \
  F(primaryContextState, "cuDevicePrimaryCtxGetState", DeviceHandle device,    \
    unsigned *flags, int *active)                                              \
  F(primaryContextRelease, "cuDevicePrimaryCtxRelease_v2",                     \
    DeviceHandle device)                                                       \
  F(contextSetCurrent, "cuCtxSetCurrent", Context context)                     \
  F(contextEnablePeerAccess, "cuCtxEnablePeerAccess", Context peer,            \
    unsigned flags)                                                            \
  F(memGetInfo, "cuMemGetInfo_v2", size_t *free, size_t *total)                \
  F(memAlloc, "cuMemAlloc_v2", Address *address, size_t bytes)                 \
  F(memFree, "cuMemFree_v2", Address address)                                  \
  F(hostRegister, "cuMemHostRegister_v2", void *memory, size_t bytes,          \
    unsigned flags)                                                            \
  F(hostUnregister, "cuMemHostUnregister", void *memory)                       \
  F(memcpyAsync, "cuMemcpyAsync", Address target, Address source,              \
    size_t bytes, Stream stream)                                               \
  F(memsetAsync, "cuMemsetD8Async", Address target, unsigned char value,       \
    size_t bytes, Stream stream)                                               \
  F(memset2DAsync, "cuMemsetD2D8Async", Address target, size_t pitch,          \
    unsigned char value, size_t width, size_t height, Stream stream)           \
  F(streamCreate, "cuStreamCreateWithPriority", Stream *stream,                \
    unsigned flags, int priority)                                              \
  F(streamDestroy, "cuStreamDestroy_v2", Stream stream)                        \
  F(streamQuery, "cuStreamQuery", Stream stream)                               \
  F(streamSynchronize, "cuStreamSynchronize", Stream stream)                   \
  F(streamWaitEvent, "cuStreamWaitEvent", Stream stream, EventHandle event,    \
    unsigned flags)                                                            \
  F(streamWaitValue, "cuStreamWaitValue32_v2", Stream stream, Address address, \
    uint32_t value, unsigned flags)                                            \
  F(streamWriteValue, "cuStreamWriteValue32_v2", Stream stream,                \
    Address address, uint32_t value, unsigned flags)                           \
  F(eventCreate, "cuEventCreate", EventHandle *event, unsigned flags)          \
  F(eventDestroy, "cuEventDestroy_v2", EventHandle event)                      \
  F(eventRecord, "cuEventRecord", EventHandle event, Stream stream)            \
  F(eventSynchronize, "cuEventSynchronize", EventHandle event)                 \
  F(eventElapsedTime, "cuEventElapsedTime", float *milliseconds,               \
    EventHandle begin, EventHandle end)                                        \
  F(moduleLoad, "cuModuleLoadDataEx", Module *module, const void *image,       \
    unsigned options, JitOption *names, void **values)                         \
  F(moduleUnload, "cuModuleUnload", Module module)                             \
  F(moduleGetFunction, "cuModuleGetFunction", Function *function,              \
    Module module, const char *name)                                           \
  F(functionSetAttribute, "cuFuncSetAttribute", Function function,             \
    int attribute, int value)                                                  \
  F(streamBeginCapture, "cuStreamBeginCapture_v2", Stream stream, int mode)    \
  F(streamEndCapture, "cuStreamEndCapture", Stream stream, GraphHandle *graph) \
  F(graphInstantiate, "cuGraphInstantiateWithFlags", GraphExec *exec,          \
    GraphHandle graph, unsigned long long flags)                               \
  F(graphLaunch, "cuGraphLaunch", GraphExec exec, Stream stream)               \
  F(graphDestroy, "cuGraphDestroy", GraphHandle graph)                         \
  F(graphExecDestroy, "cuGraphExecDestroy", GraphExec exec)                    \
  F(launchKernel, "cuLaunchKernel", Function function, unsigned gridX,         \
    unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,          \
    unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters,   \
    void **extra)

struct Driver {
#define RONDO_MEMBER(MEMBER, NAME, ...) Result (*MEMBER)(__VA_ARGS__) = nullptr;
  RONDO_CUDA_DRIVER(RONDO_MEMBER)
#undef RONDO_MEMBER

  /// Loads and starts the driver, once in the process. Errors (Code::Device):
  /// it is missing, too old, or sees no device.
  static Status load(const Driver *&driver);
  /// "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string text(Result result) const;
  /// `what`: "cuMemAlloc of 3.0 GiB".
  Status status(Result result, const std::string &what) const {
    return result == Success ? Status::success()
                             : deviceError(what + ": " + text(result));
  }
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_DRIVER_H
