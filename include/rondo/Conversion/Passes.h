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
#include "rondo/Dialect/NN/NN.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace rondo::conversion {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "rondo/Conversion/Passes.h.inc"

/// The machine that entries are lowered for.
struct KernelOptions {
  double flopsPerNs = 50;   ///< Of products.
  double f32FlopsPerNs = 0; ///< Of products in f32; 0: as the others.
  double scalarPerNs = 10;
  double bytesPerNs = 10;
  double latencyNs = 500;                 ///< Of one call.
  int64_t scoreBytes = int64_t(64) << 20; ///< Attention scores at once.
  bool libraryAttention = false; ///< Attention by the device's library.
  /// What a library's gradient of attention may use at once, about.
  int64_t attentionBytes = int64_t(1) << 30;
};

/// Phase `kernels`: every entry becomes a planned, verified kern.func with its
/// cost.
void buildKernelsPipeline(mlir::OpPassManager &manager,
                          const KernelOptions &options = {});
/// Whether a library can compute `op`: element type, heads, mask.
bool fitsLibraryAttention(nn::AttentionOp op);
/// Registers it as rondo-kernels-pipeline, with the default options.
void registerKernelsPipeline();

} // namespace rondo::conversion

#endif // RONDO_CONVERSION_PASSES_H
