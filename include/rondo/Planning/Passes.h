//===- Passes.h - Planning passes -------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_PASSES_H
#define RONDO_PLANNING_PASSES_H

#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/Pipe/Pipe.h"
#include "rondo/Dialect/Sched/Sched.h"

namespace rondo::planning {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

#endif // RONDO_PLANNING_PASSES_H
