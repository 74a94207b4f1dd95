//===- MachineCode.h - From kernels to machine code ------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_MACHINECODE_H
#define RONDO_LIB_TARGET_MACHINECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/CodeGen.h"
#include <string>

namespace llvm {
class TargetMachine;
}

namespace rondo::target {

/// An empty module, with the dialects loaded that kernels are written in.
mlir::OwningOpRef<mlir::ModuleOp> createKernelModule(mlir::Location loc);

/// Lowers the module in place and compiles it. Fails after a diagnostic.
mlir::FailureOr<std::string> compileModule(mlir::ModuleOp module,
                                           llvm::TargetMachine &machine,
                                           llvm::CodeGenFileType type);

} // namespace rondo::target

#endif // RONDO_LIB_TARGET_MACHINECODE_H
