//===- VerifyGradients.h - Contract of the phase grad -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_VERIFYGRADIENTS_H
#define RONDO_LIB_DIALECT_PIPE_VERIFYGRADIENTS_H

#include "rondo/Dialect/Pipe/Pipe.h"

namespace rondo::pipe {

/// Checks the bodies of `chain` against what its layers need; reports the first
/// violation.
llvm::LogicalResult verifyGradients(ChainOp chain);

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_VERIFYGRADIENTS_H
