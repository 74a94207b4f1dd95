//===- JoinLossHeads.cpp - One visit to the logits ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Joint.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Whether `op` is computed from `source`.
static bool dependsOn(Operation *op, Operation *source) {
  DenseSet<Operation *> seen{op};
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    for (Value operand : work.pop_back_val()->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer == source)
        return true;
      if (producer && seen.insert(producer).second)
        work.push_back(producer);
    }
  }
  return false;
}

void pipe::joinLossHeads(Joint &joint) {
  for (auto grad : joint.getBlock().getOps<nn::LinearCrossEntropyGradOp>())
    for (auto head : llvm::make_early_inc_range(
             joint.getBlock().getOps<nn::LinearCrossEntropyOp>())) {
      if (head.getHidden() != grad.getHidden() ||
          head.getWeight() != grad.getWeight() ||
          head.getLabels() != grad.getLabels() ||
          head.getBias() != grad.getBias() ||
          head->getAttrDictionary() != grad->getAttrDictionary() ||
          dependsOn(grad, head))
        continue;
      for (JointResult &output : joint.outputs)
        if (output.value == head.getResult())
          output.value = grad.getLoss();
      head.replaceAllUsesWith(grad.getLoss());
      joint.forwardOps.erase(head);
      head.erase();
    }
}
