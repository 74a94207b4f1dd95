//===- Passes.h - pipe passes -----------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PASSES_H
#define RONDO_DIALECT_PIPE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/Pipe/Pipe.h"

namespace rondo::pipe {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Dialect/Pipe/Passes.h.inc"
} // namespace rondo::pipe

#endif // RONDO_DIALECT_PIPE_PASSES_H
