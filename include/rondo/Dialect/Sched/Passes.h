//===- Passes.h - sched passes ----------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_PASSES_H
#define RONDO_DIALECT_SCHED_PASSES_H

#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/Sched/Sched.h"

namespace rondo::sched {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Dialect/Sched/Passes.h.inc"
} // namespace rondo::sched

#endif // RONDO_DIALECT_SCHED_PASSES_H
