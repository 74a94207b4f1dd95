//===- PrecisionAnalysis.cpp - What may be rounded, and where -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionAnalysis.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace rondo::nn;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

bool rondo::nn::isWeight(ParameterOp parameter) {
  auto type = cast<RankedTensorType>(parameter.getType());
  if (!isa<FloatType>(type.getElementType()) || parameter.getValue())
    return false;
  // A frozen vector is a scale, a bias or a table: too small to matter.
  return parameter.getTrainable() || type.getRank() >= 2;
}

bool rondo::nn::movesElements(Operation *op) {
  return isa<ReshapeOp, BroadcastOp, TransposeOp, SliceOp, PadOp, ConcatOp,
             GatherOp, GatherNDOp>(op);
}

PrecisionAnalysis::PrecisionAnalysis(func::FuncOp function,
                                     const SymbolTable &symbols) {
  Block &block = function.getBody().front();
  for (Operation &op : block)
    visitForward(op, symbols);
  for (Operation &op : llvm::reverse(block))
    visitBackward(op);
}

void PrecisionAnalysis::visitForward(Operation &op,
                                     const SymbolTable &symbols) {
  bool isActive = llvm::any_of(
      op.getOperands(), [&](Value value) { return isActivation(value); });
  if (auto read = dyn_cast<ReadOp>(op)) {
    auto parameter = symbols.lookup<ParameterOp>(read.getParameter());
    isActive = parameter && isWeight(parameter);
  }
  for (Value result : op.getResults())
    if (isActive && isFloat(result))
      activations.insert(result);
  auto widens = [](Operation &op) {
    auto cast = dyn_cast<CastOp>(op);
    return cast && isFloat(cast.getOperand()) && isFloat(cast.getResult()) &&
           cast.getOperand().getType().getElementTypeBitWidth() <
               cast.getType().getElementTypeBitWidth();
  };
  if (widens(op) || (movesElements(&op) && isExplicitlyWide(op.getOperand(0))))
    widened.insert(op.getResult(0));
}

/// Whether everything that comes of this use keeps all digits on its way to
/// the loss or a softmax.
bool PrecisionAnalysis::leadsToLoss(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (isa<SoftmaxOp, func::ReturnOp>(user))
    return true;
  if (isa<MatmulOp, AttentionOp, CrossEntropyOp, RmsNormOp, RopeOp>(user))
    return false;
  return llvm::all_of(user->getResults(), [&](Value result) {
    return !isFloat(result) || wantsWide(result);
  });
}

void PrecisionAnalysis::visitBackward(Operation &op) {
  for (Value result : op.getResults()) {
    if (!isFloat(result) || result.use_empty())
      continue;
    if (llvm::all_of(result.getUses(),
                     [&](OpOperand &use) { return leadsToLoss(use); }))
      wide.insert(result);
    if (llvm::any_of(result.getUses(), [&](OpOperand &use) {
          Operation *user = use.getOwner();
          if (isa<AttentionOp>(user))
            return use.getOperandNumber() < 3; // not the mask
          return isa<MatmulOp>(user) ||
                 (movesElements(user) && feedsProduct(user->getResult(0)));
        }))
      factors.insert(result);
  }
}
