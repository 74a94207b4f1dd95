//===- Ptxas.h - Machine code of GPU kernels --------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA's assembler makes machine code ("cubins") for chosen GPUs of the PTX
// that every program for GPUs has, so that the driver need not compile it. It
// is looked for when it is asked for (--cuda-arch) and comes with the CUDA
// toolkit, or with nvcc's PyPI wheel.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_PTXAS_H
#define RONDO_TARGET_PTXAS_H

#include "rondo/Dialect/Kern/Kern.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rondo::target {

/// In PATH, $CUDA_HOME/bin (without that, /usr/local/cuda/bin), or beside the
/// packages of PATH's Python, of $VIRTUAL_ENV, of ~/.local. Error: it is in
/// none of these.
llvm::Expected<std::string> findPtxas();

struct Cubin {
  std::string arch; ///< "sm_90"
  std::string code;
};

/// Assembles what emitGpuCode made of `functions`, for each of `archs`. A
/// kernel whose registers do not suffice gets a warning at its operation. Fails
/// after a diagnostic: there is no ptxas, or it refuses.
mlir::FailureOr<std::vector<Cubin>>
assembleGpuCode(mlir::Location loc, llvm::ArrayRef<kern::FuncOp> functions,
                llvm::StringRef ptx, llvm::ArrayRef<std::string> archs);

} // namespace rondo::target

#endif // RONDO_TARGET_PTXAS_H
