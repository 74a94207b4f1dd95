//===- GpuRecorder.h - Kernel runs, to be repeated on a GPU ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the environment names a folder, RONDO_GPU_CASES, every kernel that the
// tests run on the host is written there with its PTX and the memory before and
// after. test/cuda/replay.py runs them on a GPU, where there need be no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_TARGET_GPURECORDER_H
#define RONDO_UNITTESTS_TARGET_GPURECORDER_H

#include "rondo/Target/HostObject.h"
#include <fstream>

namespace rondo::test {

using Bytes = std::vector<uint8_t>;

class GpuRecorder {
public:
  /// Null unless kernels are to be recorded.
  static std::unique_ptr<GpuRecorder> create(const std::string &ptx);

  /// `memory`: of each argument, before and after; `op`: what the call runs.
  void record(const std::string &function, mlir::Operation *op,
              const target::Call &call, const std::vector<Bytes> &before,
              const std::vector<Bytes> &after, int status);

private:
  GpuRecorder() = default;
  uint64_t write(const Bytes &bytes);
  std::ofstream index, data;
  uint64_t end = 0; ///< Of the data.
};

} // namespace rondo::test

#endif // RONDO_UNITTESTS_TARGET_GPURECORDER_H
