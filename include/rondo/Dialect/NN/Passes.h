//===- Passes.h - nn passes -------------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_PASSES_H
#define RONDO_DIALECT_NN_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "rondo/Dialect/NN/NN.h"

namespace rondo::nn {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Dialect/NN/Passes.h.inc"

/// The `raise` phase, on a module as import leaves it: constants folded,
/// exporters' decompositions recognised, masks resolved, the result verified.
/// `precision`: fp32, bf16, fp16, or empty: what the graph says. `headChunk`:
/// rows of logits that exist at once.
void buildRaisePipeline(mlir::OpPassManager &manager,
                        llvm::StringRef precision = "",
                        int64_t headChunk = 2048);

/// Registers the phase as `rondo-nn-raise`.
void registerRaisePipeline();

} // namespace rondo::nn

#endif // RONDO_DIALECT_NN_PASSES_H
