//===- HostOptimizer.h - The optimizer's kernels ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_HOSTOPTIMIZER_H
#define RONDO_LIB_TARGET_HOSTOPTIMIZER_H

#include "mlir/IR/BuiltinOps.h"

namespace rondo::host {

/// AdamW over elements [begin, end), in f32, in the order of operations of
/// torch.optim.AdamW (single tensor). `copyType` as in emitHostObject. Masked
/// lanes see zeros and write nothing.
void emitAdamW(mlir::Location loc, llvm::StringRef name, mlir::ModuleOp module,
               double beta1, double beta2, mlir::Type copyType);

} // namespace rondo::host

#endif // RONDO_LIB_TARGET_HOSTOPTIMIZER_H
