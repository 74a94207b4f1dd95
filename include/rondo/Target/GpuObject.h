//===- GpuObject.h - GPU code of kernels -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of kern.funcs become entries of one PTX text. An entry's parameters
// are a 64-bit pointer to global memory for each address of the call, in order;
// those that read indices have one more, `int32_t *status`, which they set to 1
// where an index is out of range. One launch does a call's whole range.
// Pointers are aligned as buffers are, plus the address's offset.
//
// Sums go in a fixed order that follows from a row's length, or columns' length
// and number, and no atomic operation touches a floating-point number: every
// launch gives the same bits. Kernels that sum long columns keep partial sums
// in memory of the PTX module: launches of one kernel on one GPU must not
// overlap.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_GPUOBJECT_H
#define RONDO_TARGET_GPUOBJECT_H

#include "rondo/Target/HostObject.h"

namespace rondo::target {

struct GpuOptions {
  /// The least capable GPU that the code is for: "sm_80", "sm_90", ... Newer
  /// ones run it too.
  std::string arch = "sm_80";
};

/// The optimizer's kernel for one launch over so many elements.
struct GpuUpdate {
  AdamWKernel kernel;
  int64_t elements = 0;
  std::string symbol;
};

/// Compiles all kernels of `functions` (verified), and `updates`, to PTX. Fails
/// after a diagnostic.
mlir::FailureOr<std::string>
emitGpuCode(mlir::Location loc, llvm::ArrayRef<kern::FuncOp> functions,
            const GpuOptions &options, llvm::ArrayRef<GpuUpdate> updates = {});

/// The dialects that kernels are written in on their way to machine code.
void registerCodeDialects(mlir::DialectRegistry &registry);

/// Fills in the GPU's part of an entry's kernel calls, which `translateEntry`
/// made from the same function.
void addLaunches(kern::FuncOp function, std::vector<Call> &calls);

} // namespace rondo::target

#endif // RONDO_TARGET_GPUOBJECT_H
