//===- CudaExecutable.h - A program's code on one GPU -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The program's kernels, machine code or PTX that the driver compiles, and the
// launch list of every entry that a Launch operation names.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H

#include "CudaAttention.h"
#include "CudaGemm.h"
#include "rondo/Runtime/Program.h"

namespace rondo::runtime::cuda {

/// Its calls need the device's context to be current.
class CudaExecutable {
public:
  /// Errors name what the program lacks, or the node whose kernel or product
  /// this GPU cannot run.
  static Status create(const Program &program, const CudaPool &pool,
                       const CudaPool::Member &gpu,
                       std::unique_ptr<CudaExecutable> &executable);
  ~CudaExecutable();
  CudaExecutable(const CudaExecutable &) = delete;
  CudaExecutable &operator=(const CudaExecutable &) = delete;

  /// Puts an entry's calls on a stream. Call number c sets the 32-bit word
  /// `status` + 4 c to 1 when an index is out of range.
  Status launch(uint32_t entry, std::byte *const *arguments, Address status,
                Stream stream);
  /// One of them (for measurements).
  Status launchCall(uint32_t entry, uint32_t call, std::byte *const *arguments,
                    Address status, Stream stream);
  /// Keeps a stream busy.
  Status delay(uint64_t nanoseconds, Stream stream) const;
  /// f32 becomes bf16, in place: element i moves from byte 4 i to byte 2 i.
  Status round(Address values, uint64_t elements, Stream stream) const;

  uint32_t calls(uint32_t entry) const { return entries[entry].callCount; }
  uint32_t mostCalls() const;
  /// What an entry's calls put on a stream, at most about.
  uint64_t commands(uint32_t entry) const { return entries[entry].commands; }
  /// Whether the operation runs an entry on a device.
  static bool isLaunch(const program::Op &op) {
    return op.kind() == program::OpKind::Launch ||
           op.kind() == program::OpKind::DeviceUpdate;
  }
  uint64_t workspaceBytes() const {
    return gemms.workspaceBytes() + attentions.workspaceBytes();
  }
  /// "machine code for sm_90", or PTX and what for.
  const std::string &codeKind() const { return codeKind_; }
  const CudaGemms &products() const { return gemms; }
  /// Libraries, and which algorithms products use.
  std::string arithmetic() const {
    return gemms.arithmetic() + attentions.arithmetic();
  }
  /// See CudaGemms::tune.
  Status tune(TuneFile &file, Address scratch, uint64_t scratchBytes) {
    return gemms.tune(file, scratch, scratchBytes, widen, fill);
  }

private:
  struct Call {
    program::CallKind kind;
    uint32_t firstAddress = 0, addressCount = 0;
    Function function = nullptr;
    uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, sharedBytes = 0;
    uint32_t gemm = 0;
    uint32_t attention = 0;
    uint64_t bytes = 0;
    std::string name; ///< "node 'x' (kernel 'f')", for errors.
  };
  struct Place {
    uint32_t argument;
    uint64_t offset;
  };
  struct Entry {
    uint32_t firstCall = 0, callCount = 0;
    uint64_t commands = 0;
  };

  CudaExecutable(const CudaPool &pool, const CudaPool::Member &gpu)
      : driver(pool.driver()), gpu(gpu), gemms(driver),
        attentions(driver, gpu) {}
  Status load(const void *ptx, const std::string &what, Module &module) const;
  Status loadProgram(const Program &program);
  /// False: there is none for this GPU, or the driver does not take it.
  bool loadCubin(const Program &program, const program::DeviceCode &source);
  Status resolve(const program::Program &table);
  Status resolveKernel(const program::Call &source, Call &call);

  const Driver &driver;
  const CudaPool::Member &gpu;
  CudaGemms gemms;
  CudaAttentions attentions;
  Module code = nullptr, own = nullptr;
  std::string codeKind_;
  Function widen = nullptr, wait = nullptr, rounding = nullptr,
           addPart = nullptr, roundRows = nullptr, fill = nullptr;
  std::vector<Entry> entries; ///< By entry of the program; those that only the
                              ///< host runs are empty.
  std::vector<Call> calls_;
  std::vector<Place> places;
  size_t mostPlaces = 0; ///< Addresses of a call.
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAEXECUTABLE_H
