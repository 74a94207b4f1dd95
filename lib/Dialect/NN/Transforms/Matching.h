//===- Matching.h - Helpers of the raising passes ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_TRANSFORMS_MATCHING_H
#define RONDO_LIB_DIALECT_NN_TRANSFORMS_MATCHING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "rondo/Dialect/NN/NN.h"

namespace rondo::nn {

inline mlir::RankedTensorType getTensor(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Calls `match` with the operands of `value` in both orders, if an `OpTy`
/// defines it, until it returns true.
template <typename OpTy, typename Match>
bool matchCommuted(mlir::Value value, Match match) {
  auto op = value.getDefiningOp<OpTy>();
  return op &&
         (match(op.getLhs(), op.getRhs()) || match(op.getRhs(), op.getLhs()));
}

/// The operand of a broadcast, else `value`.
mlir::Value skipBroadcast(mlir::Value value);
/// What a cast between floating-point types converts, else `value`.
mlir::Value skipFloatCast(mlir::Value value);
/// Whether all elements are `expected`, up to what `value`'s type rounds.
bool isNearSplat(mlir::Value value, double expected);
/// The factor c of `x * c` or `x / c` (then 1 / c) with equal elements c, and
/// x.
std::optional<std::pair<mlir::Value, double>> matchScaling(mlir::Value value);

/// The vector of which `value` is a broadcast along all but the last axis, with
/// the extents [1, ..., n]; or null.
mlir::Value matchRowVector(mlir::Value value);

/// Whether a parameter that trains, or that is not known here, takes part in
/// computing `value`.
bool dependsOnTrainable(mlir::Value value);

/// `value` in another shape, without the reshapes it has gone through.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Removes ops of the function without side effects whose results nobody uses.
void eraseDeadOps(mlir::func::FuncOp function);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_TRANSFORMS_MATCHING_H
