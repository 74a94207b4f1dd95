//===- InputFiles.h - The files that a compilation reads --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_PIPELINES_INPUTFILES_H
#define RONDO_LIB_PIPELINES_INPUTFILES_H

#include "mlir/IR/BuiltinOps.h"
#include "rondo/Pipelines/CompileOptions.h"

namespace rondo {

/// What of the command line would be lost if `-o` were written; "": nothing.
std::string findOverwritten(const CompileOptions &options);
/// The same of the files of weights: `external`, those that the model names
/// (relative to it), and those that parameters of `module` are in.
std::string findOverwrittenWeights(const CompileOptions &options,
                                   mlir::ModuleOp module,
                                   llvm::ArrayRef<std::string> external);

/// Module attribute `nn.weights`: of each file that parameters are in, its
/// size and hash as they are now. Absent files are left out. The model's folder
/// is that of attribute `nn.source`.
mlir::LogicalResult recordWeightFiles(mlir::ModuleOp module);

} // namespace rondo

#endif // RONDO_LIB_PIPELINES_INPUTFILES_H
