//===- Primitives.h - Short spellings of nn primitives ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What derivatives and decompositions are written in. Private to the library.
//
// Arguments of a call are evaluated in an order that compilers choose, and the
// order of operations in the output must not depend on the compiler: never
// nest two calls that create operations in one argument list.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_PRIMITIVES_H
#define RONDO_LIB_DIALECT_NN_PRIMITIVES_H

#include "rondo/Dialect/NN/NN.h"

namespace rondo::nn {

inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline bool isFloatTensor(mlir::Value value) {
  return mlir::isa<mlir::FloatType>(getTensorType(value).getElementType());
}

/// Creates primitives at one place. Elementwise ones take operands of one type.
class Primitives {
public:
  Primitives(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// Conversion to `elementType`; `value` itself if it has that type already.
  mlir::Value cast(mlir::Value value, mlir::Type elementType);
  /// Conversion to the type that an op on `value` computes in: f64 for f64,
  /// else f32.
  mlir::Value widen(mlir::Value value);
  /// Conversion to `like`'s element type.
  mlir::Value castLike(mlir::Value value, mlir::Value like) {
    return cast(value, getTensorType(like).getElementType());
  }

  /// A constant of `like`'s type.
  mlir::Value splat(mlir::Value like, double value);

  template <typename OpTy>
  mlir::Value unary(mlir::Value x) {
    return OpTy::create(builder, loc, x.getType(), x);
  }
  template <typename OpTy>
  mlir::Value binary(mlir::Value x, mlir::Value y) {
    return OpTy::create(builder, loc, x.getType(), x, y);
  }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  mlir::Value exp(mlir::Value x) { return unary<ExpOp>(x); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value scale(mlir::Value x, double factor) {
    return mul(x, splat(x, factor));
  }
  mlir::Value offset(mlir::Value x, double amount) {
    return add(x, splat(x, amount));
  }
  /// x * y, but an exact 0 where x is 0: 0 times NaN or infinity is 0.
  mlir::Value mulUnlessZero(mlir::Value x, mlir::Value y);

  mlir::Value compare(ComparePredicate predicate, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  /// `value` where `condition`, else an exact 0.
  mlir::Value keepWhere(mlir::Value condition, mlir::Value value) {
    return select(condition, value, splat(value, 0));
  }
  /// `value` except where `condition`, there an exact 0.
  mlir::Value dropWhere(mlir::Value condition, mlir::Value value) {
    return select(condition, splat(value, 0), value);
  }

  /// These return `value` itself if nothing changes.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<int64_t> shape);
  /// Zero padding to `shape`, `low` elements in front.
  mlir::Value pad(mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> shape);
  mlir::Value reduce(ReduceKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> axes, bool keepdims);
  /// Reduction over the last axis, broadcast to `value`'s shape again.
  mlir::Value reduceRows(ReduceKind kind, mlir::Value value);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// The cotangent to move when the op whose operand is `operand` only moves
/// values: where `cotangent` was rounded from a wider value and may end up as a
/// parameter's, whose gradient is f32, the value before rounding.
mlir::Value unroundedForParameter(mlir::Value cotangent, mlir::Value operand);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_PRIMITIVES_H
