//===- Passes.h - Passes that show code ------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_PASSES_H
#define RONDO_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/Kern/Kern.h"

namespace rondo::target {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Target/Passes.h.inc"
} // namespace rondo::target

#endif // RONDO_TARGET_PASSES_H
