//===- LateRefusals.h - What later phases would refuse ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_LATEREFUSALS_H
#define RONDO_LIB_IMPORT_LATEREFUSALS_H

#include "Emitter.h"
#include "mlir/IR/BuiltinOps.h"

namespace rondo {

/// An operation that cannot be trained through or run, and why.
struct LateRefusal {
  mlir::Operation *op;
  std::string reason;
};

/// What no kernel is for, unless it is folded, and what has no derivative where
/// a cotangent passes through it; in program order. `ends`: the loss, and what
/// nodes read that could not be imported, taken to be differentiable.
llvm::SmallVector<LateRefusal> findLateRefusals(mlir::ModuleOp module,
                                                const Emitter &emitter,
                                                mlir::Block &block,
                                                mlir::ValueRange ends);

} // namespace rondo

#endif // RONDO_LIB_IMPORT_LATEREFUSALS_H
