//===- Program.h - Writes the .rondo file -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_PROGRAM_H
#define RONDO_TARGET_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "rondo/Runtime/WeightFile.h"
#include "rondo/Support/Config.h"
#include <string>

namespace rondo::target {

/// Compiles the kernels of a module after phase `memory` and lays the whole
/// program out as a .rondo file (schema/program.fbs), byte for byte the same
/// for the same module. `outputPath`: where the file will lie; weight files are
/// named relative to it. Fails with a diagnostic.
llvm::FailureOr<std::string> emitProgram(mlir::ModuleOp module,
                                         llvm::StringRef outputPath);

/// An element of module attribute `nn.weights`: a file of weights, as
/// #nn.stored names it, and what it was when the model was imported. The
/// program names those that its parameters are in.
mlir::Attribute getWeightFileAttr(mlir::MLIRContext *context,
                                  llvm::StringRef location,
                                  const runtime::FileIdentity &identity);

/// Canonical text of all that decides the bits of a step: bodies, chain, what
/// trains and how; not devices, memory or plan.
std::string describeArithmetic(mlir::ModuleOp module, const Config &config);

} // namespace rondo::target

#endif // RONDO_TARGET_PROGRAM_H
