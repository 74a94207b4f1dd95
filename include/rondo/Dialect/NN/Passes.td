//===- Passes.td - nn passes -------------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_PASSES_TD
#define RONDO_DIALECT_NN_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // RONDO_DIALECT_NN_PASSES_TD
