//===- GpuFused.h - Emitter of fused kernels for GPUs -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The region's scalar program is written out for each of the `width` elements
// that a thread takes at a time along the vector axis. Values that do not vary
// along it are computed once. Threads beyond the end take the first elements
// again, and neither add nor store them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_GPUFUSED_H
#define RONDO_LIB_TARGET_GPUFUSED_H

#include "GpuCode.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace rondo::gpu {

/// The elements that a thread takes at one time.
struct Chunk {
  mlir::Value position; ///< Coordinate of the first on the vector axis, always
                        ///< one that exists.
  mlir::Value isActive; ///< Null: always.
  llvm::SmallVector<llvm::DenseMap<mlir::Value, mlir::Value>> lanes;
  /// Of pairs of which one is selected for the whole chunk.
  llvm::SmallVector<
      llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, mlir::Value>>
      chosen;
  llvm::DenseSet<mlir::Value> preloaded; ///< Of which all operands are loaded.
};

class FusedEmitter {
public:
  FusedEmitter(kern::FusedOp op, llvm::StringRef name, mlir::ModuleOp module)
      : op(op), name(name), shape(getShape(op)),
        b(op.getLoc(), module, name,
          op.getInputs().size() + op.getOutputs().size(), shape.block),
        yield(cast<kern::YieldOp>(op.getBlock().back())),
        coordinates(op.getDomain().size()) {}
  void emit();

private:
  // Analysis.
  bool varies(mlir::Value value);
  int64_t getLevel(mlir::Value value);

  // Values.
  Chunk makeChunk(mlir::Value position, mlir::Value isActive = {});
  mlir::Value evaluate(mlir::Value value, Chunk *chunk, int64_t lane = 0);
  void load(unsigned input, Chunk &chunk);
  mlir::Value loadUniform(unsigned input);
  mlir::Value getBase(unsigned operand);
  mlir::Value getAddress(unsigned operand, mlir::Value position);
  mlir::Value getWideAddress(unsigned input, const Chunk &chunk);
  bool areAlike(mlir::Value x, mlir::Value y);
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y,
                     Chunk &chunk, int64_t lane);
  mlir::Value evaluateChoice(mlir::arith::SelectOp op, Chunk &chunk,
                             int64_t lane);
  std::optional<std::pair<mlir::Value, mlir::Value>>
  findChoice(mlir::arith::SelectOp op, bool &isLeft, bool &isRight);
  void preload(mlir::Value value, Chunk &chunk);
  void preloadChoice(mlir::Value condition, mlir::Value x, mlir::Value y,
                     Chunk &chunk);
  void prepare(mlir::Value value);
  void store(unsigned output, llvm::ArrayRef<mlir::Value> values, Chunk &chunk);
  void storeUniform(unsigned output, mlir::Value value);

  // Styles.
  void setCoordinates(mlir::Value index);
  void emitElementwise();
  void emitRow(mlir::Value thread);
  void
  forChunks(mlir::Value thread, llvm::SmallVectorImpl<mlir::Value> &carried,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(Chunk &,
                                                              mlir::ValueRange)>
                body);
  void emitLevel(int64_t level, mlir::Value thread);
  /// The sum over a row of exp(x - m), m the maximum of x.
  struct ShiftedSum {
    kern::ReduceOp maximum, sum;
    mlir::Operation *exponential;
    mlir::Value x;
  };
  llvm::SmallVector<ShiftedSum> findShiftedSums();
  void emitShiftedSums(llvm::MutableArrayRef<ShiftedSum> shifted,
                       mlir::Value thread);
  void emitRowOutputs(mlir::Value thread);
  llvm::SmallVector<mlir::Value>
  joinThreads(llvm::MutableArrayRef<kern::ReduceOp> reduces,
              llvm::ArrayRef<mlir::Value> sums, mlir::Value thread);
  void emitColumns();
  llvm::SmallVector<mlir::Value>
  sumColumns(llvm::MutableArrayRef<kern::ReduceOp> reduces, Chunk &chunk,
             mlir::Value group, mlir::Value begin, mlir::Value end);
  llvm::SmallVector<mlir::Value>
  joinGroups(llvm::MutableArrayRef<kern::ReduceOp> reduces,
             llvm::ArrayRef<mlir::Value> sums, mlir::Value thread,
             mlir::Value group);
  void joinParts(llvm::MutableArrayRef<kern::ReduceOp> reduces,
                 llvm::ArrayRef<mlir::Value> sums, mlir::Value item,
                 mlir::Value thread, mlir::Value group,
                 llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);

  kern::FusedOp op;
  llvm::StringRef name;
  Shape shape;
  GpuBuilder b;
  kern::YieldOp yield;
  /// Null: the vector axis, or none yet.
  llvm::SmallVector<mlir::Value> coordinates;
  /// Values that do not vary along the vector axis.
  llvm::DenseMap<mlir::Value, mlir::Value> uniform;
  llvm::DenseMap<unsigned, mlir::Value> bases;
  mlir::Value isRowActive;       ///< Whether the row is stored; null: it is.
  llvm::SmallVector<Chunk> held; ///< Unrolled rows: chunks of earlier passes.
  mlir::Value shared;
  int64_t usedShared = 0;
  llvm::DenseMap<mlir::Value, bool> variesCache;
  llvm::DenseMap<mlir::Value, int64_t> levelCache;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, bool> alikeCache;
};

} // namespace rondo::gpu

#endif // RONDO_LIB_TARGET_GPUFUSED_H
