//===- Passes.h - Conversions between dialects -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_CONVERSION_PASSES_H
#define RONDO_CONVERSION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/Kern/Kern.h"

namespace rondo {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Conversion/Passes.h.inc"

} // namespace rondo

#endif // RONDO_CONVERSION_PASSES_H
