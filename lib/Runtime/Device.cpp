//===- Device.cpp - Events, and the pools of devices ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/Device.h"
#include "Host/HostDevice.h"
#include "Plugin.h"
#include <charconv>
#include <chrono>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;

int64_t rondo::runtime::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Event::signal(uint32_t value) {
  std::atomic<uint32_t> &counter = counters[value % 2];
  uint32_t before = counter.load(std::memory_order_relaxed);
  // Once released it stays so.
  while (before < value && !counter.compare_exchange_weak(
                               before, value, std::memory_order_release,
                               std::memory_order_relaxed))
    ;
  counter.notify_all();
}

void Event::release() {
  for (std::atomic<uint32_t> &counter : counters) {
    counter.fetch_or(kReleased, std::memory_order_release);
    counter.notify_all();
  }
}

void Event::wait(uint32_t value) const {
  const std::atomic<uint32_t> &counter = turn(value);
  for (uint32_t seen; (seen = counter.load(std::memory_order_acquire)) < value;)
    counter.wait(seen, std::memory_order_acquire);
}

Status rondo::runtime::parseDeviceSpec(const std::string &spec,
                                       std::string &kind, uint32_t &count) {
  size_t colon = spec.find(':');
  kind = spec.substr(0, colon);
  count = 1;
  if (colon != std::string::npos) {
    const char *begin = spec.data() + colon + 1,
               *end = spec.data() + spec.size();
    auto [stop, error] = std::from_chars(begin, end, count);
    if (error != std::errc() || stop != end || count == 0 || count > 4096)
      return flagsError("--device=" + spec +
                        ": the number of devices is not a number from 1 to "
                        "4096; write --device=" +
                        kind + ":4");
  }
  if (kind != "host" && kind != "cuda")
    return flagsError("--device=" + spec + ": unknown kind of device '" + kind +
                      "'; this runtime has: host, cuda");
  return Status::success();
}

Status
rondo::runtime::openDevices(const std::string &spec, const Program &program,
                            const Executable &executable,
                            const DeviceOptions &options,
                            std::vector<std::unique_ptr<Device>> &devices) {
  std::string kind;
  uint32_t count = 0;
  if (Status status = parseDeviceSpec(spec, kind, count); !status.ok())
    return status;
  const program::Program &table = program.table();
  if (count != table.devices())
    return flagsError(format("--device=%s: %s was compiled for %u devices; run "
                             "it with --device=%s:%u, or compile it "
                             "again with --devices=%u",
                             spec.c_str(), program.path().c_str(),
                             table.devices(), kind.c_str(), table.devices(),
                             count));
  devices.clear();
  if (kind != "host") {
    const DevicePlugin *plugin = nullptr;
    Status status = loadDevicePlugin(kind, plugin);
    if (status.ok())
      status = plugin->open(program, options, devices);
    return status.ok() ? status
                       : Status(status.code(),
                                "--device=" + spec + ": " + status.message());
  }
  for (uint32_t i = 0; i < count; ++i) {
    std::unique_ptr<Device> device;
    if (Status status = HostDevice::open(i, table.device_bytes(), executable,
                                         options, device);
        !status.ok())
      return status;
    devices.push_back(std::move(device));
  }
  return Status::success();
}

std::string rondo::runtime::listDevices() {
  long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  auto memory =
      (uint64_t)::sysconf(_SC_PHYS_PAGES) * (uint64_t)::sysconf(_SC_PAGE_SIZE);
  std::string list = format(
      "host:N  N virtual devices on this machine (%ld cores, %s of memory)\n",
      cores, formatBytes(memory).c_str());
  const DevicePlugin *plugin = nullptr;
  if (Status status = loadDevicePlugin("cuda", plugin); !status.ok())
    return list + "cuda:N  none: " + status.message() + "\n";
  return list + plugin->list();
}
