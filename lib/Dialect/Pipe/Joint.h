//===- Joint.h - Forward and reverse of a layer in one list -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_JOINT_H
#define RONDO_LIB_DIALECT_PIPE_JOINT_H

#include "rondo/Dialect/Pipe/Entries.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace rondo::pipe {

/// Values whose cotangent some trainable parameter or wanted boundary value
/// needs: floating ones that depend on these.
llvm::DenseSet<mlir::Value>
findActiveValues(mlir::func::FuncOp forward, llvm::ArrayRef<bool> trainable,
                 llvm::ArrayRef<bool> wantedBoundary);

/// Which results of `forward` are among them.
llvm::SmallVector<bool> findActiveOutputs(mlir::func::FuncOp forward,
                                          llvm::ArrayRef<bool> trainable,
                                          llvm::ArrayRef<bool> wantedBoundary);

/// A result of an entry.
struct JointResult {
  mlir::Value value;
  Role role;
  int64_t index;
};

/// The operations of `forward` and, behind them, those of its reverse. Entries
/// are slices of it.
struct Joint {
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  /// By argument: `forward`'s, then the outputs' cotangents (the seed).
  llvm::SmallVector<EntryValue> arguments;
  llvm::DenseSet<mlir::Operation *> forwardOps;
  llvm::SmallVector<JointResult> outputs;    ///< Or the loss.
  llvm::SmallVector<JointResult> cotangents; ///< Of wanted boundary values.
  llvm::SmallVector<JointResult> gradients;  ///< Of trainable parameters.

  mlir::Block &getBlock() const {
    return mlir::func::FuncOp(*function).getBody().front();
  }
  bool isForward(mlir::Operation *op) const { return forwardOps.contains(op); }
  const EntryValue &getArgument(mlir::Value value) const {
    return arguments[mlir::cast<mlir::BlockArgument>(value).getArgNumber()];
  }
};

/// Differentiates. Fails after an error at each operation that has no
/// derivative but needs one.
mlir::FailureOr<Joint> buildJoint(mlir::func::FuncOp forward,
                                  llvm::ArrayRef<bool> trainable,
                                  llvm::ArrayRef<bool> wantedBoundary);

/// Takes the loss of a head from the operation that gives its cotangents: one
/// visit to the logits. Where what comes after the head is not linear, its
/// cotangent depends on its loss, and there must be two visits.
void joinLossHeads(Joint &joint);

/// Adds an entry that gives `results` to `body`: what of `joint` they need.
/// `saved` holds the values that a backward entry is given, with their numbers;
/// it is empty for other entries.
mlir::func::FuncOp emitEntry(BodyOp body, EntryId id, const Joint &joint,
                             llvm::ArrayRef<JointResult> results,
                             const llvm::DenseMap<mlir::Value, int64_t> &saved);

/// Values to save so that the reverse part of `results` can be computed from
/// them, the boundary, sides and parameters; in program order.
llvm::SmallVector<mlir::Value>
findSavedValues(const Joint &joint, SaveSet saveSet,
                llvm::ArrayRef<JointResult> results);

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_JOINT_H
