//===- VerifyRaised.cpp - What later phases rely on ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

#include "llvm/ADT/DenseSet.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNVERIFYRAISED
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

static constexpr int64_t largestKnownElements = int64_t(1) << 28;

namespace {

struct VerifyRaised : rondo::nn::impl::NNVerifyRaisedBase<VerifyRaised> {
  void runOnOperation() override {
    bool isValid = true;
    DenseSet<Operation *> known;
    for (Operation &op : getOperation().getOps()) {
      if (op.hasTrait<OpTrait::IsTerminator>())
        continue;
      isValid &= verifyDialect(op) && verifyAttention(op);
      bool isKnown = isa<EvaluableOp>(op) && !isa<ReadOp>(op) &&
                     llvm::all_of(op.getOperands(), [&](Value operand) {
                       return operand.getDefiningOp() &&
                              known.contains(operand.getDefiningOp());
                     });
      if (!isKnown)
        continue;
      known.insert(&op);
      isValid &= verifySize(op);
    }
    if (!isValid)
      signalPassFailure();
  }

  static bool verifyDialect(Operation &op) {
    if (isa_and_nonnull<NNDialect>(op.getDialect()))
      return true;
    op.emitError() << "'" << op.getName()
                   << "' is not an op of the nn dialect, which alone may be "
                      "left after raise";
    return false;
  }

  static bool verifyAttention(Operation &op) {
    auto attention = dyn_cast<AttentionOp>(op);
    if (!attention || !attention.getMask())
      return true;
    op.emitError() << "attention at node '" << getNodeName(op.getLoc())
                   << "' still has a mask operand; run "
                      "rondo-nn-decompose-masked-attention";
    return false;
  }

  /// What only repeats or holds one value costs nothing.
  static bool verifySize(Operation &op) {
    if (isa<BroadcastOp, ConstantOp>(op))
      return true;
    for (Value result : op.getResults()) {
      int64_t count = getTensor(result).getNumElements();
      if (count <= largestKnownElements)
        continue;
      op.emitError() << "node '" << getNodeName(op.getLoc()) << "' computes "
                     << count << " elements ("
                     << shapeToString(getTensor(result).getShape())
                     << ") from constants alone, more than the limit of "
                     << largestKnownElements
                     << "; if this is an attention mask, it is neither causal "
                        "nor a sliding window: pass it as an "
                        "input, or export the model with shorter sequences";
      return false;
    }
    return true;
  }
};

} // namespace
