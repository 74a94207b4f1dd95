//===- AdamW.h - The optimizer's kernels -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AdamW in f32, in the order of operations of torch.optim.AdamW (single
// tensor). Every operation is rounded as IEEE 754 says, and no two become one:
// an element has the same bits whatever updates it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_ADAMW_H
#define RONDO_LIB_TARGET_ADAMW_H

#include "HostCode.h"
#include "rondo/Target/HostObject.h"

namespace rondo::target {

/// What is the same for all elements of a parameter.
struct AdamWScalars {
  mlir::Value keep;    ///< 1 - learning rate * weight decay
  mlir::Value root;    ///< sqrt(1 - beta2^t)
  mlir::Value epsilon; ///< Added to the denominator.
  mlir::Value step;    ///< -learning rate / (1 - beta1^t)
  mlir::Value coefficient;
  double beta1, beta2;
};

/// One element, or kLanes.
struct AdamWState {
  mlir::Value weight, first, second;
};

/// What an update reads, each loaded when it is used first.
struct AdamWLoads {
  llvm::function_ref<mlir::Value()> gradient, weight, first, second;
};

/// From the 8 f32 at `table`, as at `Optimizer` in schema/program.fbs; `spread`
/// makes of each what an update takes.
AdamWScalars
loadAdamWScalars(host::CodeBuilder &builder, mlir::Value table, double beta1,
                 double beta2,
                 llvm::function_ref<mlir::Value(mlir::Value)> spread);
/// Whether the coefficient there is below 0.
mlir::Value isSkipped(host::CodeBuilder &builder, mlir::Value table);
AdamWState updateAdamW(host::CodeBuilder &builder, const AdamWScalars &scalars,
                       const AdamWLoads &loads);

/// "adamw", "adamw_bf16", "adamw_bf16_of_bf16_or_skip".
std::string getAdamWSymbol(const AdamWKernel &kernel);

} // namespace rondo::target

namespace rondo::host {
/// Over elements [begin, end). Masked lanes see zeros and write nothing.
void emitAdamW(mlir::Location loc, llvm::StringRef name, mlir::ModuleOp module,
               const target::AdamWKernel &kernel);
} // namespace rondo::host

namespace rondo::gpu {
/// One launch over elements [0, elements) with the host's pointers, which are
/// multiples of 16; the state is updated in place.
void emitAdamW(mlir::Location loc, llvm::StringRef name, mlir::ModuleOp module,
               const target::AdamWKernel &kernel, int64_t elements);
/// Its blocks, each of kAdamWThreads.
int64_t getAdamWBlocks(int64_t elements);
constexpr uint32_t kAdamWThreads = 256;
} // namespace rondo::gpu

#endif // RONDO_LIB_TARGET_ADAMW_H
