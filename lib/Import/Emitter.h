//===- Emitter.h - Builds nn ops and folds what is known --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_EMITTER_H
#define RONDO_LIB_IMPORT_EMITTER_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "rondo/Dialect/NN/NN.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <memory>
#include <optional>

namespace rondo {

/// A value known at compile time: all elements, or the one that all share.
struct KnownValue {
  mlir::RankedTensorType type;
  /// Of `type`, or a scalar of its element type.
  nn::HostTensor values;
  bool isSplat = false;

  nn::HostTensor toDense() const;
};

/// Builds nn ops at the end of a block, and evaluates each whose operands are
/// known and whose result is small, so that shapes are known when they are
/// needed. Ops whose results are known stay behind until `Materializer`
/// replaces them.
class Emitter {
public:
  Emitter(mlir::MLIRContext *context, mlir::Block *block);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }
  void setLoc(mlir::Location newLoc) { loc = newLoc; }
  /// Whether an evaluation failed (after a diagnostic) since the last call.
  bool takeFailure() { return std::exchange(evaluationFailed, false); }

  template <typename OpTy, typename... Args>
  OpTy create(Args &&...args) {
    auto op = OpTy::create(builder, loc, std::forward<Args>(args)...);
    fold(op);
    return op;
  }

  //===--------------------------------------------------------------------===//
  // Known values
  //===--------------------------------------------------------------------===//

  /// Null if not known.
  const KnownValue *getKnown(mlir::Value value) const;
  /// Elements of a known integer (or boolean) value of at most `limit`
  /// elements.
  std::optional<llvm::SmallVector<int64_t>>
  getIntegers(mlir::Value value, int64_t limit = 1 << 16) const;
  /// The element that all elements equal, integers as doubles.
  std::optional<double> getSplat(mlir::Value value) const;
  /// Whether the value depends on neither inputs nor parameters.
  bool isIndependent(mlir::Value value) const {
    return independent.contains(value);
  }
  /// The initializer that the value is, or -1.
  int getInitializer(mlir::Value value) const;

  mlir::Value constant(nn::HostTensor values);
  mlir::Value integers(llvm::ArrayRef<int64_t> values);
  mlir::Value splat(mlir::RankedTensorType type, double value);
  /// `scalar` has one element, of the type's.
  mlir::Value splat(mlir::RankedTensorType type, nn::HostTensor scalar);
  /// A scalar or tensor of `like`'s type.
  mlir::Value splatLike(mlir::Value like, double value);
  /// A constant initializer; `values` only if small.
  mlir::Value table(int initializer, mlir::RankedTensorType type,
                    std::optional<nn::HostTensor> values);

  //===--------------------------------------------------------------------===//
  // Ops that need no checks by the caller beyond what is said
  //===--------------------------------------------------------------------===//

  static mlir::RankedTensorType typeOf(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
    return typeOf(value).getShape();
  }
  static mlir::Type elementOf(mlir::Value value) {
    return typeOf(value).getElementType();
  }
  /// `shape` has as many elements.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  /// NumPy stretches the value to `shape`.
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value cast(mlir::Value value, mlir::Type element);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<int64_t> extents);
  /// `axes` sorted and distinct.
  mlir::Value reduce(nn::ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> axes, bool keepdims);
  mlir::Value iota(mlir::RankedTensorType type, int64_t axis, int64_t start = 0,
                   int64_t step = 1);

private:
  void fold(mlir::Operation *op);
  bool foldSplat(mlir::Operation *op);
  void setKnown(mlir::Value value, nn::HostTensor values, bool isSplat);
  bool evaluate(mlir::Operation *op, llvm::ArrayRef<nn::HostTensor> operands,
                nn::HostTensor &result);

  mlir::OpBuilder builder;
  mlir::Location loc;
  bool evaluationFailed = false;
  llvm::DenseMap<mlir::Value, std::shared_ptr<const KnownValue>> known;
  llvm::DenseMap<mlir::Value, int> initializers;
  llvm::DenseSet<mlir::Value> independent;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_EMITTER_H
