//===- FoldAttentionRows.cpp - Results of attention by rows --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNFOLDATTENTIONROWS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

/// Takes a transpose of heads and rows into the attention before it.
static bool fold(AttentionOp attention) {
  Value result = attention.getResult();
  if (attention.getRowsFirst() || !result.hasOneUse())
    return false;
  auto transpose = dyn_cast<TransposeOp>(*result.user_begin());
  if (!transpose || transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1, 3})
    return false;
  attention.setRowsFirst(true);
  result.setType(transpose.getResult().getType());
  transpose.getResult().replaceAllUsesWith(result);
  transpose.erase();
  return true;
}

namespace {
struct FoldAttentionRows
    : rondo::nn::impl::NNFoldAttentionRowsBase<FoldAttentionRows> {
  void runOnOperation() override {
    // What is erased may be the op that a walk would visit next.
    SmallVector<AttentionOp> attentions;
    getOperation().walk(
        [&](AttentionOp attention) { attentions.push_back(attention); });
    for (AttentionOp attention : attentions)
      if (fold(attention))
        ++numFolded;
  }
};
} // namespace
