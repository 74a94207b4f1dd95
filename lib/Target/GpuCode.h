//===- GpuCode.h - Building blocks of GPU code -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's parameters are pointers to global memory; a thread's values are
// scalars.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_GPUCODE_H
#define RONDO_LIB_TARGET_GPUCODE_H

#include "GpuShape.h"
#include "HostCode.h"

namespace rondo::gpu {

/// The kernel's name, with all that the code depends on and the host's does
/// not: the part of the domain that is run, and which operands are aligned.
/// Empty: the operation is no kernel.
std::string getSymbol(mlir::Operation &op);

class GpuBuilder : public host::CodeBuilder {
public:
  /// Starts the kernel `name` at the end of `module` and puts the builder into
  /// its body.
  GpuBuilder(mlir::Location loc, mlir::ModuleOp module, llvm::StringRef name,
             unsigned parameters, llvm::ArrayRef<uint32_t> block);
  void finish();

  mlir::Value getParameter(unsigned index) {
    return function.getArgument(index);
  }

  /// As i64.
  mlir::Value threadX();
  mlir::Value threadY();
  mlir::Value blockX();
  mlir::Value blockY();
  /// blockX * `threads` + threadX, in 32 bits where `total` of them allow.
  mlir::Value linear(int64_t threads, int64_t total);

  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, int64_t factor);
  mlir::Value divide(mlir::Value x, int64_t divisor);
  mlir::Value remainder(mlir::Value x, int64_t divisor);
  mlir::Value isLess(mlir::Value x, mlir::Value y);
  /// Into [low, high].
  mlir::Value clamp(mlir::Value x, int64_t low, int64_t high);
  /// A null condition always holds.
  mlir::Value both(mlir::Value x, mlir::Value y) {
    return x && y ? mlir::Value(mlir::arith::AndIOp::create(*this, x, y))
                  : (x ? x : y);
  }
  void runIf(mlir::Value condition, llvm::function_ref<void()> body);

  /// `count` elements side by side, aligned as a whole up to 16 bytes.
  llvm::SmallVector<mlir::Value> loadWide(mlir::Type element,
                                          mlir::Value pointer, int64_t count);
  void storeWide(mlir::Type element, mlir::ValueRange values,
                 mlir::Value pointer);

  /// The value of the lane whose number differs in the bits of `mask`.
  mlir::Value exchange(mlir::Value value, int64_t mask);
  /// Bit i: lane i's.
  mlir::Value ballot(mlir::Value condition);
  void synchronizeBlock();
  void synchronizeWarp();
  /// Memory of the block.
  mlir::Value allocateShared(llvm::StringRef name, int64_t bytes);
  /// Memory of the kernel, 0 at first: of all its launches, which therefore
  /// must not overlap.
  mlir::Value allocateGlobal(llvm::StringRef name, int64_t bytes);
  /// Whether this block is the last of `blocks` with one blockX to get here:
  /// what the others stored before is visible to it. `counters`: an i32 for
  /// each blockX, 0 before and after; `slot`: shared.
  mlir::Value arriveLast(mlir::Value counters, int64_t blocks,
                         mlir::Value thread, mlir::Value group,
                         mlir::Value slot);
  mlir::LLVM::LLVMPointerType getGlobalPointer() {
    return mlir::LLVM::LLVMPointerType::get(getContext(), 1);
  }

private:
  mlir::Value widen(mlir::Value number);
  mlir::ModuleOp module;
  mlir::LLVM::LLVMFuncOp function;
};

void emitFused(kern::FusedOp op, llvm::StringRef name, mlir::ModuleOp module);
void emitGather(kern::GatherOp op, llvm::StringRef name, mlir::ModuleOp module);
void emitScatterAdd(kern::ScatterAddOp op, llvm::StringRef name,
                    mlir::ModuleOp module);
void emitConstant(kern::ConstantOp op, llvm::StringRef name,
                  mlir::ModuleOp module);

/// Block and grid of the others.
struct Extents {
  std::array<uint32_t, 3> block, grid;
};
Extents getExtents(kern::GatherOp op);
Extents getExtents(kern::ScatterAddOp op);
Extents getExtents(kern::ConstantOp op);

} // namespace rondo::gpu

#endif // RONDO_LIB_TARGET_GPUCODE_H
