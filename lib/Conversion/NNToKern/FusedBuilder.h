//===- FusedBuilder.h - Builds one fused kernel ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_CONVERSION_NNTOKERN_FUSEDBUILDER_H
#define RONDO_LIB_CONVERSION_NNTOKERN_FUSEDBUILDER_H

#include "Linear.h"
#include "rondo/Dialect/NN/NN.h"
#include <functional>
#include <map>
#include <memory>
#include <tuple>

namespace rondo::lowering {

/// The points of a fused kernel.
struct Space {
  kern::FusedKind kind = kern::FusedKind::Elementwise;
  /// Points but for the reduced axis: of a column kernel outer * inner.
  int64_t outer = 1;
  int64_t inner = 1;
  /// Extent of the reduced axis.
  int64_t width = 1;
  bool operator==(const Space &) const = default;
  int64_t getPoints() const {
    return outer * inner * (kind == kern::FusedKind::Row ? width : 1);
  }
};

/// A value that a kernel computes.
struct Output {
  mlir::Value value;
  /// Added to what is there.
  bool accumulate = false;
  /// The function's result to write to; -1: where the value is stored.
  int64_t result = -1;
};

/// One scalar operation's lowering: `operands` are elements. Null if `op` is
/// not elementwise.
mlir::Value lowerScalar(mlir::OpBuilder &builder, mlir::Operation *op,
                        llvm::ArrayRef<mlir::Value> operands);

/// Whether `op` is lowered into regions of fused kernels (all but products,
/// indexing and tables).
bool isFusible(mlir::Operation *op);
/// A constant that is one repeated value.
std::optional<mlir::Attribute> getSplat(mlir::Value value);
/// `value` seen through reshapes: the same bytes.
mlir::Value stripReshapes(mlir::Value value);

class FusedBuilder {
public:
  using IsStored = std::function<bool(mlir::Value)>;

  /// `isStored`: whether a value (stripped) is read from memory. Outputs are
  /// computed even so.
  FusedBuilder(mlir::Location loc, Space space, llvm::ArrayRef<Output> outputs,
               IsStored isStored);
  ~FusedBuilder();

  /// Writes the region. If that fails, storing `getBlocker` (stripped, maybe an
  /// output) would help.
  bool build();
  mlir::Value getBlocker() const { return blocker; }
  /// The values read, in order, each once.
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }

  /// Creates the op with memory for inputs and outputs.
  kern::FusedOp create(mlir::OpBuilder &builder,
                       llvm::function_ref<mlir::Value(mlir::Value)> getMemory,
                       llvm::ArrayRef<mlir::Value> outputMemory);

private:
  struct Read {
    mlir::Value value;
    Linear access;
    Bounds bounds;
  };
  using Key = std::tuple<void *, Linear, Bounds>;

  bool attempt();
  mlir::Value emit(mlir::Value value, const Linear &flat, const Bounds &bounds);
  mlir::Value emitOp(mlir::Operation *op, const Linear &flat,
                     const Bounds &bounds);
  mlir::Value emitLoad(mlir::Value value, const Linear &flat,
                       const Bounds &bounds);
  mlir::Value emitReduce(nn::ReduceOp op, const Linear &flat,
                         const Bounds &bounds);
  mlir::Value emitMovement(mlir::Operation *op, const Linear &flat,
                           const Bounds &bounds);
  mlir::Value emitConcat(nn::ConcatOp op, const Linear &flat,
                         const Bounds &bounds);
  mlir::Value emitPad(nn::PadOp op, const Linear &flat, const Bounds &bounds);
  mlir::Value emitIota(nn::IotaOp op, const Linear &flat, const Bounds &bounds);
  mlir::Value emitIndex(const Linear &index);
  /// Null, with `split` or `blocker` set.
  mlir::Value block(mlir::Value value);
  std::optional<llvm::SmallVector<Linear>>
  takeApart(mlir::Value value, llvm::ArrayRef<int64_t> shape,
            const Linear &flat, const Bounds &bounds);
  bool canSplit(const Split &wanted) const;
  void collapse();

  mlir::Location loc;
  Space space;
  llvm::SmallVector<Output> outputs;
  IsStored isStored;
  mlir::OpBuilder builder;

  llvm::SmallVector<int64_t> domain;
  Bounds everywhere;
  std::optional<Split> split;
  mlir::Value blocker;
  std::unique_ptr<mlir::Region> region;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<Read> reads; ///< One per argument of the region.
  llvm::SmallVector<Linear> writes;
  llvm::SmallVector<std::pair<kern::IndexOp, Linear>> indices;
  std::map<Key, mlir::Value> known;
  bool inReduction = false;
};

} // namespace rondo::lowering

#endif // RONDO_LIB_CONVERSION_NNTOKERN_FUSEDBUILDER_H
