//===- CudaExecutable.cpp - A program's code on one GPU -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaExecutable.h"
#include "CudaKernels.h"
#include <algorithm>
#include <charconv>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using program::CallKind;

Status CudaExecutable::create(const Program &program, const CudaPool &pool,
                              const CudaPool::Member &gpu,
                              std::unique_ptr<CudaExecutable> &executable) {
  std::unique_ptr<CudaExecutable> result(new CudaExecutable(pool, gpu));
  if (Status status =
          result->load(kOwnKernels, "Rondo's own kernels", result->own);
      !status.ok())
    return status;
  for (auto [function, name] :
       {std::pair(&result->widen, "rondo_widen"),
        std::pair(&result->wait, "rondo_delay"),
        std::pair(&result->rounding, "rondo_round"),
        std::pair(&result->addPart, "rondo_add_part"),
        std::pair(&result->roundRows, "rondo_round_rows"),
        std::pair(&result->fill, "rondo_fill")})
    if (Status status = pool.driver().status(
            pool.driver().moduleGetFunction(function, result->own, name), name);
        !status.ok())
      return status;
  if (Status status = result->loadProgram(program); !status.ok())
    return status;
  if (Status status = result->resolve(program.table()); !status.ok())
    return Status(status.code(), program.path() + ": " + status.message());
  executable = std::move(result);
  return Status::success();
}

CudaExecutable::~CudaExecutable() {
  for (Module module : {code, own})
    if (module)
      (void)driver.moduleUnload(module);
}

Status CudaExecutable::load(const void *ptx, const std::string &what,
                            Module &module) const {
  std::string log(8192, '\0');
  JitOption options[] = {JitErrorLog, JitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  Result result = driver.moduleLoad(&module, ptx, 2, options, values);
  if (result == Success)
    return Status::success();
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  return deviceError(what + ": the driver does not compile it for " + gpu.name +
                     ": " + driver.text(result) +
                     (log.empty() ? "" : "\n" + log));
}

/// "sm_90" is 90; 0: not of that form. `exact`: "sm_90a" runs on that
/// architecture alone.
static int architecture(std::string_view name, bool &exact) {
  if (name.rfind("sm_", 0) != 0)
    return 0;
  int value = 0;
  auto [stop, error] =
      std::from_chars(name.data() + 3, name.data() + name.size(), value);
  exact = stop != name.data() + name.size();
  return error == std::errc() &&
                 (!exact ||
                  std::string_view(
                      stop, (size_t)(name.data() + name.size() - stop)) == "a")
             ? value
             : 0;
}

Status CudaExecutable::loadProgram(const Program &program) {
  const program::Program &table = program.table();
  if (sizeOf(table.device_code()) == 0)
    return flagsError(program.path() +
                      ": holds no code for GPUs (it was compiled for '" +
                      std::string(text(table.target())) +
                      "'); compile it again with --target=sm_80 or another "
                      "GPU's, or run it with " +
                      format("--device=host:%u", table.devices()));
  int capability = 10 * gpu.major + gpu.minor, best = 0;
  const program::DeviceCode *chosen = nullptr;
  std::string offered;
  for (const program::DeviceCode *candidate : *table.device_code()) {
    bool exact = false;
    int needs = architecture(text(candidate->arch()), exact);
    offered +=
        (offered.empty() ? "" : ", ") + std::string(text(candidate->arch()));
    if (needs == 0 || (exact ? needs != capability : needs > capability) ||
        needs < best)
      continue;
    best = needs;
    chosen = candidate;
  }
  if (!chosen)
    return deviceError(format("%s: its code is for %s, but %s is of compute "
                              "capability %d.%d; compile it again with "
                              "--target=sm_%d",
                              program.path().c_str(), offered.c_str(),
                              gpu.name.c_str(), gpu.major, gpu.minor,
                              capability));
  if (loadCubin(program, *chosen))
    return Status::success();
  std::span<const std::byte> ptx = program.blob(chosen->ptx());
  if (ptx.empty() || ptx.back() != std::byte(0))
    return userError(program.path() + ": damaged: the text of its code for " +
                     std::string(text(chosen->arch())) + " does not end");
  codeKind_ = "PTX for " + std::string(text(chosen->arch())) +
              ", compiled by the driver";
  return load(
      ptx.data(),
      program.path() + ": code for " + std::string(text(chosen->arch())), code);
}

/// Machine code is for the architecture that it was made for and for newer ones
/// of the same major number; of several the newest is taken. What the driver
/// does not take there is PTX for.
bool CudaExecutable::loadCubin(const Program &program,
                               const program::DeviceCode &source) {
  int capability = 10 * gpu.major + gpu.minor, best = 0;
  const program::Cubin *chosen = nullptr;
  for (uint32_t i = 0; i < sizeOf(source.cubins()); ++i) {
    const program::Cubin &candidate = *source.cubins()->Get(i);
    bool exact = false;
    int made = architecture(text(candidate.arch()), exact);
    if (exact ? made != capability
              : made / 10 != gpu.major || made > capability || made <= best)
      continue;
    best = made;
    chosen = &candidate;
  }
  if (!chosen)
    return false;
  std::span<const std::byte> bytes = program.blob(chosen->code());
  if (bytes.empty() ||
      driver.moduleLoad(&code, bytes.data(), 0, nullptr, nullptr) != Success) {
    code = nullptr;
    return false;
  }
  codeKind_ = "machine code for " + std::string(text(chosen->arch()));
  return true;
}

Status CudaExecutable::resolveKernel(const program::Call &source, Call &call) {
  std::string symbol(text(source.gpu_symbol()));
  if (symbol.empty())
    return userError(call.name + ": has no kernel for GPUs (gpu_symbol)");
  if (Result result =
          driver.moduleGetFunction(&call.function, code, symbol.c_str());
      result != Success)
    return userError(call.name + ": the program's code lacks kernel '" +
                     symbol + "' (" + driver.text(result) + ")");
  std::copy(source.grid()->begin(), source.grid()->end(), call.grid);
  std::copy(source.block()->begin(), source.block()->end(), call.block);
  call.sharedBytes = source.shared_bytes();
  if (call.sharedBytes <= 48u << 10)
    return Status::success();
  // More than 48 KiB must be asked for.
  int most = 0;
  (void)driver.deviceGetAttribute(&most, SharedMemoryOptIn, gpu.handle);
  if (call.sharedBytes > (uint32_t)most)
    return deviceError(
        format("%s: needs %u bytes of shared memory a block, %s has %d",
               call.name.c_str(), call.sharedBytes, gpu.name.c_str(), most));
  return driver.status(driver.functionSetAttribute(call.function,
                                                   kMaxDynamicSharedMemory,
                                                   (int)call.sharedBytes),
                       call.name);
}

/// What every argument of every entry is aligned to, in bytes: buffers lie at
/// multiples of 256.
static std::vector<std::vector<uint64_t>>
argumentAlignments(const program::Program &table) {
  std::vector<std::vector<uint64_t>> alignments(sizeOf(table.entries()));
  for (const program::Op *op : *table.ops()) {
    if (!CudaExecutable::isLaunch(*op))
      continue;
    std::vector<uint64_t> &entry = alignments[(size_t)op->entry()];
    entry.resize(std::max<size_t>(entry.size(), sizeOf(op->operands())), 256);
    for (uint32_t i = 0; i < sizeOf(op->operands()); ++i)
      if (uint64_t offset = op->operands()->Get(i)->offset())
        entry[i] = std::min(entry[i], offset & -offset);
  }
  return alignments;
}

Status CudaExecutable::resolve(const program::Program &table) {
  std::vector<std::vector<uint64_t>> alignments = argumentAlignments(table);
  std::vector<std::string> problems;
  Code problem = Code::Device;
  entries.resize(sizeOf(table.entries()));
  for (uint32_t e = 0; e < entries.size(); ++e) {
    const program::Entry &entry = *table.entries()->Get(e);
    if (alignments[e].empty() &&
        std::none_of(table.ops()->begin(), table.ops()->end(),
                     [&](const program::Op *op) {
                       return isLaunch(*op) && op->entry() == (int32_t)e;
                     }))
      continue;
    entries[e] = {(uint32_t)calls_.size(), sizeOf(entry.calls())};
    for (uint32_t c = 0; c < entries[e].callCount; ++c) {
      const program::Call &source = *entry.calls()->Get(c);
      Call call;
      call.kind = source.kind();
      call.name = text(source.node()).empty()
                      ? "entry '" + std::string(text(entry.name())) + "'"
                      : "node '" + std::string(text(source.node())) + "'";
      if (call.kind == CallKind::Kernel)
        call.name +=
            " (kernel '" + std::string(text(source.gpu_symbol())) + "')";
      call.firstAddress = (uint32_t)places.size();
      call.addressCount = sizeOf(source.addresses());
      uint64_t alignment[4] = {256, 256, 256, 256};
      for (uint32_t i = 0; i < call.addressCount; ++i) {
        const program::Address &address = *source.addresses()->Get(i);
        places.push_back({address.argument(), address.offset()});
        if (i < 4 && address.argument() < alignments[e].size()) {
          uint64_t offset = address.offset();
          alignment[i] = std::min(alignments[e][address.argument()],
                                  offset ? offset & -offset : 256);
        }
      }
      mostPlaces = std::max<size_t>(mostPlaces, call.addressCount);
      call.bytes = source.bytes();
      Status status;
      if (call.kind == CallKind::Kernel)
        status = resolveKernel(source, call);
      if (call.kind == CallKind::Gemm)
        status = gemms.add(gemmShape(*source.gemm()), alignment, call.gemm);
      if (call.kind == CallKind::Attention ||
          call.kind == CallKind::AttentionGrad)
        status =
            attentions.add(attentionShape(*source.attention(),
                                          call.kind == CallKind::AttentionGrad),
                           call.attention);
      if (!status.ok()) {
        std::string message = status.message();
        if (call.kind != CallKind::Kernel)
          message = call.name + ": " + message;
        if (std::find(problems.begin(), problems.end(), message) ==
            problems.end())
          problems.push_back(message);
        problem = status.code();
      }
      // A product may widen both operands, and join what it split.
      entries[e].commands += call.kind == CallKind::Gemm ? 6 : 1;
      if (status.ok() && (call.kind == CallKind::Attention ||
                          call.kind == CallKind::AttentionGrad))
        entries[e].commands += attentions.commands(call.attention);
      calls_.push_back(std::move(call));
    }
  }
  if (problems.empty()) {
    Status status = gemms.finish();
    return status.ok() ? attentions.finish() : status;
  }
  std::string all;
  for (size_t i = 0; i < std::min<size_t>(problems.size(), 20); ++i)
    all += (i ? "\n  " : "") + problems[i];
  if (problems.size() > 20)
    all += format("\n  and %zu more", problems.size() - 20);
  return Status(problem, all);
}

uint32_t CudaExecutable::mostCalls() const {
  uint32_t most = 1;
  for (const Entry &entry : entries)
    most = std::max(most, entry.callCount);
  return most;
}

Status CudaExecutable::launch(uint32_t entry, std::byte *const *arguments,
                              Address status, Stream stream) {
  for (uint32_t c = 0; c < entries[entry].callCount; ++c)
    if (Status result = launchCall(entry, c, arguments, status, stream);
        !result.ok())
      return result;
  return Status::success();
}

Status CudaExecutable::launchCall(uint32_t entry, uint32_t number,
                                  std::byte *const *arguments, Address status,
                                  Stream stream) {
  const Call &call = calls_[entries[entry].firstCall + number];
  auto address = [&](uint32_t i) {
    const Place &place = places[call.firstAddress + i];
    return reinterpret_cast<Address>(arguments[place.argument]) + place.offset;
  };
  Result result = Success;
  switch (call.kind) {
  case CallKind::Kernel:
    if (call.grid[0] == 0 || call.grid[1] == 0 || call.grid[2] == 0)
      break;
    // The driver reads as many parameters as the kernel declares: the last is
    // there for those that want it. Each thread that issues has its own.
    static thread_local std::vector<Address> values;
    static thread_local std::vector<void *> parameters;
    if (values.size() <= call.addressCount) {
      values.resize(mostPlaces + 1);
      parameters.resize(mostPlaces + 1);
    }
    for (uint32_t i = 0; i <= call.addressCount; ++i) {
      values[i] = i < call.addressCount ? address(i) : status + 4 * number;
      parameters[i] = &values[i];
    }
    result = driver.launchKernel(call.function, call.grid[0], call.grid[1],
                                 call.grid[2], call.block[0], call.block[1],
                                 call.block[2], call.sharedBytes, stream,
                                 parameters.data(), nullptr);
    break;
  case CallKind::Gemm:
    if (Status product =
            gemms.run(call.gemm, address(0), address(1), address(2),
                      call.addressCount > 3 ? address(3) : 0, stream, widen);
        !product.ok())
      return Status(product.code(), call.name + ": " + product.message());
    break;
  case CallKind::Attention:
  case CallKind::AttentionGrad: {
    Address operands[10];
    for (uint32_t i = 0; i < call.addressCount; ++i)
      operands[i] = address(i);
    if (Status attention = attentions.run(call.attention, operands, stream,
                                          addPart, roundRows);
        !attention.ok())
      return Status(attention.code(), call.name + ": " + attention.message());
    break;
  }
  case CallKind::Zero:
    if (call.bytes != 0)
      result = driver.memsetAsync(address(0), 0, call.bytes, stream);
    break;
  case CallKind::Copy:
    if (call.bytes != 0 && address(0) != address(1))
      result = driver.memcpyAsync(address(1), address(0), call.bytes, stream);
    break;
  }
  return result == Success
             ? Status::success()
             : deviceError(call.name + ": " + driver.text(result));
}

Status CudaExecutable::delay(uint64_t nanoseconds, Stream stream) const {
  void *arguments[] = {&nanoseconds};
  return driver.status(driver.launchKernel(wait, 1, 1, 1, 1, 1, 1, 0, stream,
                                           arguments, nullptr),
                       "a delay");
}

Status CudaExecutable::round(Address values, uint64_t elements,
                             Stream stream) const {
  constexpr unsigned threads = 256;
  // A launch writes only what launches before it have read, except the first,
  // whose one block reads all of it before it writes.
  uint64_t begin = 0, end = std::min<uint64_t>(elements, 4 * threads);
  while (begin < end) {
    uint64_t blocks = (end - begin + 4 * threads - 1) / (4 * threads);
    void *arguments[] = {&values, &begin, &end};
    if (Status status = driver.status(
            driver.launchKernel(rounding, (unsigned)blocks, 1, 1, threads, 1, 1,
                                0, stream, arguments, nullptr),
            "rounding a gradient");
        !status.ok())
      return status;
    begin = end;
    end = std::min(elements, 2 * end);
  }
  return Status::success();
}
