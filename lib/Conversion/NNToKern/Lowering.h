//===- Lowering.h - From an nn function to a launch list -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_CONVERSION_NNTOKERN_LOWERING_H
#define RONDO_LIB_CONVERSION_NNTOKERN_LOWERING_H

#include "FusedBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace rondo::lowering {

/// Whether a reduction is of the form that kernels do: a sum or maximum in the
/// accumulator's type over axis 1 of [outer, n] or [outer, n, inner].
bool isCanonical(nn::ReduceOp op);

/// Decomposes composites, brings reductions into canonical form, folds and
/// removes what is equal or unused.
mlir::LogicalResult prepare(mlir::func::FuncOp function);

/// Matrices as they lie in memory: element (batch..., row, column) of `base`.
struct MatrixView {
  mlir::Value base;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> batchExtents;
  llvm::SmallVector<int64_t> batchStrides;
  int64_t rowStride = 1;
  int64_t columnStride = 1;
};

/// `value` [batch..., rows, columns] as a view of the memory of the value that
/// it moves, or of its own memory where there are no such strides.
/// `leadingRows`: leading axes count as rows.
MatrixView getMatrixView(mlir::Value value, bool leadingRows);

/// A tensor [batch, heads, rows, columns] in memory.
struct HeadView {
  mlir::Value base;
  int64_t offset = 0;
  int64_t batchStride = 0;
  int64_t headStride = 0;
  int64_t rowStride = 0;
  int64_t columnStride = 1;
  int64_t at(int64_t batch, int64_t head, int64_t row) const {
    return offset + batch * batchStride + head * headStride + row * rowStride;
  }
};
/// Of [batch, heads, rows, columns], or [batch, rows, heads, columns].
/// `forLibrary`: columns are neighbours, and no stride is 0 where there is more
/// than one; rows begin at multiples of 8 elements.
HeadView getHeadView(mlir::Value value, bool rowsFirst = false,
                     bool forLibrary = false);
/// Of memory of its own.
HeadView getOwnHeadView(mlir::Value value, bool rowsFirst);

/// The values, stripped of reshapes, whose memory `op` (not fusible) reads.
llvm::SmallVector<mlir::Value> getOperandsInMemory(mlir::Operation *op);

/// Computes one output or several, or runs one op that is not fusible.
struct Step {
  mlir::Operation *op = nullptr; ///< Null: a fused kernel.
  Space space;
  llvm::SmallVector<Output> outputs;
  llvm::SmallVector<mlir::Value> inputs; ///< Stored values read.
  llvm::SetVector<mlir::Value> inlined;  ///< Values computed on the way.
  int64_t position = 0;                  ///< Of the last op in the function.
};

/// What is kept in memory, and the steps that fill it, in order.
class Plan {
public:
  explicit Plan(mlir::func::FuncOp function) : function(function) {}
  /// Fails after a diagnostic.
  mlir::LogicalResult compute();

  const std::vector<Step> &getSteps() const { return steps; }
  bool isStored(mlir::Value value) const { return stored.contains(value); }
  /// The result that a stored value lies in, or -1: scratch.
  int64_t getResult(mlir::Value value) const {
    return resultOf.contains(value) ? resultOf.lookup(value) : -1;
  }
  /// Whether a stored value is added to its result.
  bool isAccumulated(mlir::Value value) const {
    return accumulated.contains(value);
  }
  /// Results that are copies of stored values or arguments.
  llvm::ArrayRef<std::pair<mlir::Value, int64_t>> getCopies() const {
    return copies;
  }

private:
  mlir::LogicalResult checkProducts();
  void placeResults();
  void placeGradient(mlir::Value value, int64_t result);
  mlir::LogicalResult makeSteps(bool &changed);
  mlir::LogicalResult makeFused(const Output &output, bool &changed);
  /// The steps that compute a value, by number.
  using StepsOf = llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>>;
  bool storeShared();
  mlir::Value findNarrower(mlir::Value value, const StepsOf &stepsOf);
  bool isExpensive(mlir::Value value);
  llvm::DenseSet<mlir::Value> findSmall();
  void merge();
  bool tryMerge(unsigned into, unsigned from);
  size_t countRead(unsigned number, unsigned a, unsigned b);
  bool reaches(unsigned from, unsigned to, bool skipDirect);
  void dropUnread();
  void sort();
  void collect(Step &step);
  llvm::SetVector<mlir::Value> getAligned(const Step &step);

  mlir::func::FuncOp function;
  llvm::SetVector<mlir::Value> stored;
  llvm::DenseMap<mlir::Value, int64_t> resultOf;
  llvm::DenseSet<mlir::Value> accumulated;
  llvm::SmallVector<Output> gradients; ///< Added to results by fused kernels.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> copies;
  llvm::DenseMap<mlir::Operation *, int64_t> positions;
  std::vector<Step> steps;
};

struct EmitOptions {
  int64_t scoreBytes = 0;     ///< Of attention scores at once, about.
  int64_t attentionBytes = 0; ///< Of a library's gradient of attention, about.
};

/// Writes the launch list of a planned function.
class Emitter {
public:
  Emitter(mlir::func::FuncOp source, Plan &plan, const EmitOptions &options)
      : source(source), plan(plan), options(options),
        builder(source.getContext()) {}
  /// Beside the source.
  kern::FuncOp emit();

private:
  mlir::Value getMemory(mlir::Value value);
  mlir::Value createScratch(llvm::ArrayRef<int64_t> shape, mlir::Type element);
  void emitStep(const Step &step);
  void emitFused(const Step &step);
  void emitMatmul(nn::MatmulOp op);
  mlir::Value convertVector(mlir::Value from, mlir::Type element,
                            mlir::Location loc);
  void emitGather(nn::GatherOp op);
  void emitGatherND(nn::GatherNDOp op);
  void emitScatterAdd(nn::ScatterAddOp op);

  mlir::func::FuncOp source;
  Plan &plan;
  EmitOptions options;
  mlir::OpBuilder builder;
  kern::FuncOp target;
  llvm::DenseMap<mlir::Value, mlir::Value> memory;
  friend class AttentionEmitter;
  friend class LossHeadEmitter;
  friend void emitLossHead(Emitter &, nn::LinearCrossEntropyOp);
  friend void emitLossHeadGrad(Emitter &, nn::LinearCrossEntropyGradOp);
  friend class LibraryAttentionEmitter;
};

/// Marks the attention that a GPU's library can do.
void markLibraryAttention(mlir::func::FuncOp function);
bool isLibraryAttention(mlir::Operation *op);
void emitLibraryAttention(Emitter &emitter, mlir::Operation *op);

/// Attention, by blocks of query rows whose scores take at most about
/// `scoreBytes`.
void emitAttention(Emitter &emitter, nn::AttentionOp op);
void emitAttentionGrad(Emitter &emitter, nn::AttentionGradOp op);

/// A linear layer under a cross entropy, by chunks of rows.
void emitLossHead(Emitter &emitter, nn::LinearCrossEntropyOp op);
void emitLossHeadGrad(Emitter &emitter, nn::LinearCrossEntropyGradOp op);

/// Where the matrices of one product of a batch begin.
struct GemmOffsets {
  int64_t a = 0, b = 0, c = 0;
};
/// What the products of a batch have in common.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transposeA = false, transposeB = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  float alpha = 1;
  bool accumulate = false;
  mlir::Value bias; ///< Memory of one product's n columns, or null.
};
/// Sets the leading dimension and transposition of an operand that is stored
/// with these strides; `rows` and `columns` before transposition.
void setOperand(int64_t rows, int64_t columns, int64_t rowStride,
                int64_t columnStride, bool &transpose, int64_t &ld);
/// One kern.gemm for each run of products whose matrices are evenly apart.
void createGemms(mlir::OpBuilder &builder, mlir::Location loc,
                 const GemmShape &shape, mlir::Value a, mlir::Value b,
                 mlir::Value c, llvm::ArrayRef<GemmOffsets> products);

/// Whether result `index` of an entry is a gradient, which is added to.
bool isGradient(mlir::func::FuncOp function, unsigned index);

} // namespace rondo::lowering

#endif // RONDO_LIB_CONVERSION_NNTOKERN_LOWERING_H
