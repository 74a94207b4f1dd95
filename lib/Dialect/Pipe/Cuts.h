//===- Cuts.h - Where to cut a loss function into layers --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_CUTS_H
#define RONDO_LIB_DIALECT_PIPE_CUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace rondo::pipe {

/// A contraction, or anything else whose result is worth keeping.
bool isProduct(mlir::Operation *op);
/// Rows of a floating table that some input or parameter holds.
bool isLookup(mlir::Operation *op);

/// The operations of a loss function that are cut into layers, in program
/// order. All others are cloned into each layer that uses them: those that
/// depend on no input, and cheap ones that depend on inputs and frozen
/// parameters alone.
struct MainOps {
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, int64_t> position;

  bool contains(mlir::Operation *op) const { return position.contains(op); }
};

/// `isTrainable` says it of a parameter's name. The loss is the operand of the
/// function's return.
MainOps findMainOps(mlir::func::FuncOp loss,
                    llvm::function_ref<bool(llvm::StringRef)> isTrainable);

/// The results of main operations before `cut` (a position) that are used at or
/// behind it, in program order.
llvm::SmallVector<mlir::Value> getLiveValues(const MainOps &main, int64_t cut);

/// Positions in `main.ops` where layers end, increasing; the last is the
/// number of operations.
llvm::SmallVector<int64_t> findLayerEnds(const MainOps &main);

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_CUTS_H
