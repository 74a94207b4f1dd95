//===- PrecisionAnalysis.h - What may be rounded, and where -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_TRANSFORMS_PRECISIONANALYSIS_H
#define RONDO_LIB_DIALECT_NN_TRANSFORMS_PRECISIONANALYSIS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "rondo/Dialect/NN/NN.h"

namespace rondo::nn {

/// Whether the parameter is a weight: what meets it is an activation. The rest
/// (folded tables, rotary frequencies) stays as precise as the model has it.
bool isWeight(ParameterOp parameter);

/// An operation that only moves elements.
bool movesElements(mlir::Operation *op);

/// What a function says of its values before any type is changed.
class PrecisionAnalysis {
public:
  PrecisionAnalysis(mlir::func::FuncOp function,
                    const mlir::SymbolTable &symbols);

  /// A weight, or computed from one.
  bool isActivation(mlir::Value value) const {
    return activations.contains(value);
  }
  /// A float that leads to the loss or to a softmax through nothing but
  /// elementwise operations, reductions and movement: rounding it would save
  /// nothing and cost digits. Logits of `nn.cross_entropy` are none: they are
  /// the largest value of a language model.
  bool wantsWide(mlir::Value value) const { return wide.contains(value); }
  /// A product reads it, perhaps in another shape: it is rounded once, for all
  /// its users.
  bool feedsProduct(mlir::Value value) const { return factors.contains(value); }
  /// The model itself widened it, and nothing but its shape has changed since.
  bool isExplicitlyWide(mlir::Value value) const {
    return widened.contains(value);
  }

private:
  void visitForward(mlir::Operation &op, const mlir::SymbolTable &symbols);
  void visitBackward(mlir::Operation &op);
  bool leadsToLoss(mlir::OpOperand &use) const;

  llvm::DenseSet<mlir::Value> activations, wide, factors, widened;
};

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_TRANSFORMS_PRECISIONANALYSIS_H
