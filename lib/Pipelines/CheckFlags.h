//===- CheckFlags.h - Flags that the model gives nothing to do --*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_PIPELINES_CHECKFLAGS_H
#define RONDO_LIB_PIPELINES_CHECKFLAGS_H

#include "mlir/Pass/Pass.h"
#include "rondo/Pipelines/CompileOptions.h"

namespace rondo {

/// Runs after the raise phase, which has recognised what these flags act on:
/// an error, beginning with the flag, for each of `given` (without dashes) that
/// has nothing to act on.
std::unique_ptr<mlir::Pass> createCheckFlags(std::vector<std::string> given,
                                             bool usesLibraryAttention);

} // namespace rondo

#endif // RONDO_LIB_PIPELINES_CHECKFLAGS_H
