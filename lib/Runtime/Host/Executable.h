//===- Executable.h - The host code of a program ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shared object in the file, opened, and the launch list of every entry
// with its kernels found.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_EXECUTABLE_H
#define RONDO_LIB_RUNTIME_HOST_EXECUTABLE_H

#include "Attention.h"
#include "Gemm.h"
#include "rondo/Runtime/Program.h"
#include <memory>
#include <vector>

namespace rondo::runtime {

/// Not 0: an index was out of range.
using KernelFunction = int32_t (*)(void *const *pointers, int64_t begin,
                                   int64_t end);

/// What one thread needs to run entries; as large as the program's largest call
/// needs.
struct EntryScratch {
  std::vector<void *> pointers;
  GemmScratch gemm;
  std::vector<float> attention;
};

class Executable {
public:
  /// Errors: a CPU feature is missing (named, before any code is opened), the
  /// code cannot be opened, or kernels are missing (all are named).
  static Status create(const Program &program,
                       std::unique_ptr<Executable> &executable);
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  /// -1, or the number of the entry's call that met an index out of range;
  /// later calls are not run then.
  int64_t run(uint32_t entry, std::byte *const *arguments,
              EntryScratch &scratch) const;
  EntryScratch makeScratch() const;

  KernelFunction optimizer =
      nullptr; ///< See program.fbs; null if the program names none.
  KernelFunction optimizerWithCopy = nullptr;

private:
  struct Call {
    program::CallKind kind;
    uint32_t firstAddress = 0, addressCount = 0;
    KernelFunction kernel = nullptr;
    int64_t begin = 0, extent = 0;
    uint64_t bytes = 0;
    GemmShape gemm;
    uint32_t attention = 0; ///< In attentions.
  };
  struct Address {
    uint32_t argument;
    uint64_t offset;
  };
  struct Entry {
    uint32_t firstCall, callCount;
  };

  Executable() = default;
  Status open(std::span<const std::byte> code);
  Status resolve(const program::Program &table);

  void *library = nullptr;
  std::vector<Entry> entries;
  std::vector<Call> calls;
  std::vector<Address> addresses;
  std::vector<AttentionShape> attentions;
  uint32_t mostPointers = 0;
  GemmScratch::Sizes scratchSizes;
  size_t attentionElements = 0;
};

/// For a call that met an index out of range: which one, and what is in range;
/// empty if the program does not say. `arguments`: what the call got, in memory
/// of the host.
std::string describeIndex(const program::Call &call,
                          std::byte *const *arguments);

/// Names of LLVM's target features that this machine lacks, of `required`.
std::vector<std::string>
missingCpuFeatures(std::span<const std::string> required);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_EXECUTABLE_H
