//===- Plugin.h - Kinds of devices in libraries of their own ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kind of device that needs more than every machine has lies in
// librondo_KIND.so, which is opened when it is asked for. It is built with the
// runtime and as new: its version is the runtime's.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_PLUGIN_H
#define RONDO_LIB_RUNTIME_PLUGIN_H

#include "rondo/Runtime/Device.h"

namespace rondo::runtime {

struct DevicePlugin {
  uint32_t version = 0;
  /// One line a device, or one line that says why there are none.
  std::string (*list)() = nullptr;
  /// As many devices as the program wants. `program` outlives them.
  Status (*open)(const Program &program, const DeviceOptions &options,
                 std::vector<std::unique_ptr<Device>> &devices) = nullptr;
};

/// Raised with every change of DevicePlugin, Device, Lane, Event or Task.
constexpr uint32_t kDevicePluginVersion = 4;
/// The exported function: const DevicePlugin *().
#define RONDO_DEVICE_PLUGIN_SYMBOL rondo_device_plugin
using DevicePluginFunction = const DevicePlugin *();

/// Opens librondo_KIND.so, beside the runtime or on the loader's path, once in
/// the process. Errors (Code::Device): not found, not loadable, or of another
/// version.
Status loadDevicePlugin(const std::string &kind, const DevicePlugin *&plugin);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_PLUGIN_H
