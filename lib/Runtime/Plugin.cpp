//===- Plugin.cpp - Opening a kind of device ------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <unistd.h>

using namespace rondo::runtime;

#define RONDO_TEXT(NAME) #NAME
#define RONDO_NAME(NAME) RONDO_TEXT(NAME)

/// The folder of the library that this code is in, ending in '/'.
static std::string ownFolder() {
  Dl_info information;
  if (::dladdr(reinterpret_cast<void *>(&loadDevicePlugin), &information) ==
          0 ||
      !information.dli_fname)
    return "";
  std::string path = information.dli_fname;
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

static Status open(const std::string &kind, const DevicePlugin *&plugin) {
  std::string name = "librondo_" + kind + ".so", path = ownFolder() + name;
  // A library that is there but cannot be loaded is not looked for elsewhere.
  bool beside = ::access(path.c_str(), R_OK) == 0;
  void *library =
      ::dlopen((beside ? path : name).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = ::dlerror();
    return deviceError(std::string(error ? error : name) +
                       "; build Rondo's target rondo_" + kind + " and put " +
                       name + " beside librondo_runtime.so");
  }
  auto *function = reinterpret_cast<DevicePluginFunction *>(
      ::dlsym(library, RONDO_NAME(RONDO_DEVICE_PLUGIN_SYMBOL)));
  const DevicePlugin *found = function ? function() : nullptr;
  if (!found || found->version != kDevicePluginVersion)
    return deviceError(format("%s: of version %u, but this runtime needs "
                              "version %u; use the one that was built with it",
                              name.c_str(), found ? found->version : 0,
                              kDevicePluginVersion));
  plugin = found;
  return Status::success();
}

Status rondo::runtime::loadDevicePlugin(const std::string &kind,
                                        const DevicePlugin *&plugin) {
  struct Known {
    Status status;
    const DevicePlugin *plugin = nullptr;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto [place, fresh] = known.try_emplace(kind);
  if (fresh)
    place->second.status = open(kind, place->second.plugin);
  plugin = place->second.plugin;
  return place->second.status;
}
