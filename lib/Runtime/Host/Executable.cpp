//===- Executable.cpp - The host code of a program ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executable.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;
using program::CallKind;

Status Executable::create(const Program &program,
                          std::unique_ptr<Executable> &executable) {
  const program::Program &table = program.table();
  std::vector<std::string> features;
  for (uint32_t i = 0; i < sizeOf(table.cpu_features()); ++i)
    features.emplace_back(text(table.cpu_features()->Get(i)));
  std::string missing;
  for (const std::string &feature : missingCpuFeatures(features))
    missing += (missing.empty() ? "" : ", ") + feature;
  if (!missing.empty())
    return deviceError(
        program.path() +
        ": its code needs CPU features that this machine lacks: " + missing +
        "; compile it with --host-cpu=native on this machine, or run it on a "
        "newer processor (generated code needs x86-64-v3 at least)");
  if (Status status = prepareOpenblas(); !status.ok())
    return status;
  std::unique_ptr<Executable> result(new Executable);
  if (Status status = result->open(program.blob(table.kernels())); !status.ok())
    return Status(status.code(), program.path() + ": " + status.message());
  if (Status status = result->resolve(table); !status.ok())
    return Status(status.code(), program.path() + ": " + status.message());
  executable = std::move(result);
  return Status::success();
}

Executable::~Executable() {
  if (library)
    ::dlclose(library);
}

/// dlopen wants a path; a memory file has one that leaves nothing behind.
Status Executable::open(std::span<const std::byte> code) {
  if (code.empty())
    return Status::success();
  int handle = ::memfd_create("rondo-kernels", MFD_CLOEXEC);
  if (handle < 0)
    return deviceError(format("memfd_create: %s", std::strerror(errno)));
  for (size_t written = 0; written < code.size();) {
    ssize_t step =
        ::write(handle, code.data() + written, code.size() - written);
    if (step <= 0) {
      int error = errno;
      ::close(handle);
      return deviceError(format("no room for %zu bytes of kernels: %s",
                                code.size(), std::strerror(error)));
    }
    written += (size_t)step;
  }
  std::string path = format("/proc/self/fd/%d", handle);
  library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *error = library ? nullptr : ::dlerror();
  ::close(handle);
  if (!library)
    return deviceError(format("the kernels cannot be loaded: %s",
                              error ? error : "unknown error"));
  return Status::success();
}

Status Executable::resolve(const program::Program &table) {
  std::vector<std::string> missing;
  auto find = [&](const flatbuffers::String *symbol) -> KernelFunction {
    std::string name(text(symbol));
    if (name.empty())
      return nullptr;
    void *address = library ? ::dlsym(library, name.c_str()) : nullptr;
    if (!address)
      missing.push_back(name);
    return reinterpret_cast<KernelFunction>(address);
  };
  if (table.optimizer()) {
    optimizer = find(table.optimizer()->symbol());
    optimizerWithCopy = find(table.optimizer()->symbol_with_copy());
  }
  for (uint32_t e = 0; e < sizeOf(table.entries()); ++e) {
    const auto *list = table.entries()->Get(e)->calls();
    entries.push_back({(uint32_t)calls.size(), sizeOf(list)});
    for (uint32_t c = 0; c < sizeOf(list); ++c) {
      const program::Call &source = *list->Get(c);
      Call call;
      call.kind = source.kind();
      call.firstAddress = (uint32_t)addresses.size();
      call.addressCount = sizeOf(source.addresses());
      for (uint32_t i = 0; i < call.addressCount; ++i)
        addresses.push_back({source.addresses()->Get(i)->argument(),
                             source.addresses()->Get(i)->offset()});
      call.begin = source.begin();
      call.extent = source.extent();
      call.bytes = source.bytes();
      if (call.kind == CallKind::Kernel)
        call.kernel = find(source.symbol());
      if (call.kind == CallKind::Gemm) {
        call.gemm = gemmShape(*source.gemm());
        scratchSizes.include(call.gemm);
      }
      if (call.kind == CallKind::Attention ||
          call.kind == CallKind::AttentionGrad) {
        call.attention = (uint32_t)attentions.size();
        attentions.push_back(attentionShape(
            *source.attention(), call.kind == CallKind::AttentionGrad));
        attentionElements =
            std::max(attentionElements, attentionScratch(attentions.back()));
      }
      mostPointers = std::max(mostPointers, call.addressCount);
      calls.push_back(call);
    }
  }
  if (missing.empty())
    return Status::success();
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  std::string names;
  for (const std::string &name : missing)
    names += (names.empty() ? "'" : ", '") + name + "'";
  return userError("its code lacks kernels that its launch lists name: " +
                   names);
}

EntryScratch Executable::makeScratch() const {
  EntryScratch scratch;
  scratch.pointers.resize(mostPointers);
  scratch.gemm.a.resize(scratchSizes.a);
  scratch.gemm.b.resize(scratchSizes.b);
  scratch.gemm.c.resize(scratchSizes.c);
  scratch.attention.resize(attentionElements);
  return scratch;
}

int64_t Executable::run(uint32_t index, std::byte *const *arguments,
                        EntryScratch &scratch) const {
  const Entry &entry = entries[index];
  for (uint32_t c = 0; c < entry.callCount; ++c) {
    const Call &call = calls[entry.firstCall + c];
    auto address = [&](uint32_t i) {
      const Address &place = addresses[call.firstAddress + i];
      return arguments[place.argument] + place.offset;
    };
    switch (call.kind) {
    case CallKind::Kernel:
      for (uint32_t i = 0; i < call.addressCount; ++i)
        scratch.pointers[i] = address(i);
      if (call.kernel(scratch.pointers.data(), call.begin, call.extent) != 0)
        return c;
      break;
    case CallKind::Gemm:
      runGemm(call.gemm, address(0), address(1), address(2),
              call.gemm.bias ? address(3) : nullptr, scratch.gemm);
      break;
    case CallKind::Attention:
    case CallKind::AttentionGrad: {
      std::byte *matrices[10];
      for (uint32_t i = 0; i < call.addressCount; ++i)
        matrices[i] = address(i);
      runAttention(attentions[call.attention], matrices, scratch.attention);
      break;
    }
    case CallKind::Zero:
      std::memset(address(0), 0, call.bytes);
      break;
    case CallKind::Copy:
      // The two may be one and the same.
      std::memmove(address(1), address(0), call.bytes);
      break;
    }
  }
  return -1;
}

static int64_t loadIndex(const std::byte *data, program::ElementType type,
                         uint64_t at) {
  if (type == program::ElementType::I64) {
    int64_t index;
    std::memcpy(&index, data + 8 * at, 8);
    return index;
  }
  int32_t index;
  std::memcpy(&index, data + 4 * at, 4);
  return index;
}

std::string rondo::runtime::describeIndex(const program::Call &call,
                                          std::byte *const *arguments) {
  uint64_t tuple = sizeOf(call.index_extents());
  if (tuple == 0)
    return "";
  const program::Address &place = *call.addresses()->Get(1);
  const std::byte *data = arguments[place.argument()] + place.offset();
  uint64_t count = (uint64_t)call.index_rows() * tuple;
  for (uint64_t at = 0; at < count; ++at) {
    int64_t index = loadIndex(data, call.index_type(), at),
            extent = call.index_extents()->Get((uint32_t)(at % tuple));
    // Cross entropy looks up the number of classes for a negative label, since
    // a gather counts negative indices from the end.
    if (index < -extent || index >= extent)
      return format("%lld, at place %llu of %llu, lies outside [%lld, %lld)%s",
                    (long long)index, (unsigned long long)(at / tuple),
                    (unsigned long long)call.index_rows(), -(long long)extent,
                    (long long)extent,
                    index == extent
                        ? " (as a label it stands for any negative one too)"
                        : "");
  }
  return "";
}
