//===- HostFused.h - Emitter of fused kernels for the host ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region's scalar program is written out for vectors of kLanes elements
// along one axis of the domain, the vector axis: the last one, or in a column
// kernel the last but one. Values that do not vary along it stay scalars,
// computed once before the vector loop.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_HOSTFUSED_H
#define RONDO_LIB_TARGET_HOSTFUSED_H

#include "HostCode.h"

namespace rondo::host {

/// Values computed so far at one place of the code.
struct Scope {
  /// From the region's to the code's.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Pointers of operands at vector coordinate 0.
  llvm::DenseMap<int64_t, mlir::Value> bases;
};

/// One vector of elements along the vector axis.
struct Block16 : Scope {
  mlir::Value position; ///< Coordinate of lane 0.
  mlir::Value mask;     ///< Lanes within the range; null: all.
  int64_t begin = -1;   ///< If known at compile time: bounds of the segment
  int64_t end = -1;     ///< that the block lies in.
};

using BlockBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    Block16 &, mlir::ValueRange)>;

class FusedEmitter {
public:
  FusedEmitter(kern::FusedOp op, llvm::StringRef name, mlir::ModuleOp module)
      : op(op), b(op.getLoc(), op.getContext()),
        function(beginKernel(b, module, name)),
        yield(cast<kern::YieldOp>(op.getBlock().back())) {}
  void emit();

private:
  // Axes.
  int64_t getRank() { return op.getDomain().size(); }
  bool isColumn() { return op.getKind() == kern::FusedKind::Column; }
  bool varies(mlir::Value value);
  int64_t getLevel(mlir::Value value);

  // Code of values.
  mlir::Value evaluate(mlir::Value value, Block16 *block);
  mlir::Value load(unsigned input, Block16 *block);
  mlir::Value getGuardMask(kern::AccessAttr access, Block16 &block,
                           bool &never);
  mlir::Value getBase(unsigned operand);
  void store(unsigned output, mlir::Value value, Block16 *block);
  void prepare(mlir::Value value);
  void prepareOutput(unsigned output) {
    getBase(op.getInputs().size() + output);
  }

  // Loops.
  llvm::SmallVector<mlir::Value>
  forVectors(int64_t extent, mlir::ValueRange init, BlockBody body);
  llvm::SmallVector<mlir::Value> forVectors(mlir::Value begin, mlir::Value end,
                                            mlir::ValueRange init,
                                            BlockBody body);
  llvm::SmallVector<mlir::Value>
  forVectorsUpTo(mlir::Value begin, mlir::Value end, int64_t segmentBegin,
                 int64_t segmentEnd, mlir::ValueRange init, BlockBody body);
  llvm::SmallVector<mlir::Value> vectorLoop(mlir::ValueRange init,
                                            BlockBody body);
  void forAxes(int64_t axis, int64_t end, llvm::function_ref<void()> body);
  void emitRow();
  void emitReductions(int64_t level);
  void emitOutputs();
  void emitColumns();
  void emitStrip(mlir::Value begin, mlir::Value end);

  mlir::Value join(kern::ReduceOp reduce, mlir::Value accumulators);

  kern::FusedOp op;
  CodeBuilder b;
  mlir::func::FuncOp function;
  kern::YieldOp yield;
  int64_t vectorAxis = 0;
  llvm::SmallVector<mlir::Value> pointers;
  /// Null: the vector axis, or none yet.
  llvm::SmallVector<mlir::Value> coordinates;
  Scope outer;
  llvm::DenseMap<mlir::Value, bool> variesCache;
  llvm::DenseMap<mlir::Value, int64_t> levelCache;
  /// Column kernels: their memory.
  llvm::DenseMap<mlir::Operation *, mlir::Value> accumulators;
};

} // namespace rondo::host

#endif // RONDO_LIB_TARGET_HOSTFUSED_H
