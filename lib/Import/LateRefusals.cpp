//===- LateRefusals.cpp - What later phases would refuse ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import knows all nodes, so that it can name at once what phases `grad` and
// `kernels` would refuse one by one.
//
//===----------------------------------------------------------------------===//

#include "LateRefusals.h"
#include "mlir/IR/TypeUtilities.h"

#include "rondo/Dialect/NN/NN.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace rondo {

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// Floating-point values that depend on a trainable parameter.
static DenseSet<Value> findActive(ModuleOp module, Block &block) {
  DenseSet<StringAttr> trainable;
  for (auto parameter : module.getOps<nn::ParameterOp>())
    if (parameter.getTrainable())
      trainable.insert(parameter.getSymNameAttr());
  DenseSet<Value> active;
  for (Operation &op : block) {
    auto read = dyn_cast<nn::ReadOp>(op);
    bool isActive = read ? trainable.contains(read.getParameterAttr().getAttr())
                         : llvm::any_of(op.getOperands(), [&](Value operand) {
                             return active.contains(operand);
                           });
    for (Value result : op.getResults())
      if (isActive && isFloat(result))
        active.insert(result);
  }
  return active;
}

/// Why there is no kernel for `op`, or empty.
static StringRef getObstacle(Operation &op) {
  if (isa<nn::CumsumOp>(op))
    return "of what is known at run time alone: compute it before and make it "
           "an input";
  if (isa<nn::MatmulOp, nn::AttentionOp>(op) &&
      getElementTypeOrSelf(op.getOperand(0)).isF64())
    return "of f64: products are computed in f32, bf16 or f16";
  auto isEmpty = [](Type type) {
    return cast<ShapedType>(type).getNumElements() == 0;
  };
  if (llvm::any_of(op.getResultTypes(), isEmpty))
    return "with an empty result of what is known at run time alone: leave "
           "such nodes out";
  return "";
}

SmallVector<LateRefusal> findLateRefusals(ModuleOp module,
                                          const Emitter &emitter, Block &block,
                                          ValueRange ends) {
  DenseSet<Value> active = findActive(module, block);
  // What the loss is computed from, and what has a cotangent.
  DenseSet<Value> needed(ends.begin(), ends.end()), varied;
  for (Value end : ends)
    if (active.contains(end))
      varied.insert(end);
  SmallVector<LateRefusal> refusals;
  for (Operation &op : llvm::reverse(block)) {
    auto isNeeded = [&](Value value) { return needed.contains(value); };
    if (!llvm::any_of(op.getResults(), isNeeded))
      continue;
    needed.insert(op.operand_begin(), op.operand_end());
    bool isVaried = llvm::any_of(
        op.getResults(), [&](Value value) { return varied.contains(value); });
    bool passesOn = false;
    for (Value operand : op.getOperands())
      if (isVaried && active.contains(operand)) {
        varied.insert(operand);
        passesOn = true;
      }
    // What depends on neither inputs nor parameters is folded.
    StringRef obstacle =
        emitter.isIndependent(op.getResult(0)) ? "" : getObstacle(op);
    if (!obstacle.empty())
      refusals.push_back({&op, obstacle.str()});
    else if (passesOn && !isa<nn::DifferentiableOp>(op))
      refusals.push_back(
          {&op, "which has no derivative, and parameters train through it: "
                "freeze them or write it in other operations"});
  }
  std::reverse(refusals.begin(), refusals.end());
  return refusals;
}

} // namespace rondo
