//===- RaiseBias.cpp - Products that add a bias ---------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEBIAS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

static bool raise(AddOp add) {
  MatmulOp product;
  Value bias;
  bool matches =
      matchCommuted<AddOp>(add.getResult(), [&](Value rows, Value stretched) {
        product = rows.getDefiningOp<MatmulOp>();
        bias = matchRowVector(stretched);
        return product && product->hasOneUse() && !product.getBias() &&
               getTensor(product.getRhs()).getRank() == 2 && bias;
      });
  // The result is not of a wider type than the bias then.
  if (!matches || getTensor(bias).getElementType() !=
                      getTensor(product.getRhs()).getElementType())
    return false;
  OpBuilder builder(add);
  bias = createReshape(builder, add.getLoc(), bias,
                       {getTensor(bias).getShape().back()});
  auto raised =
      MatmulOp::create(builder, product.getLoc(), add.getType(),
                       product.getLhs(), product.getRhs(), bias,
                       product.getTransposeLhs(), product.getTransposeRhs());
  add.replaceAllUsesWith(raised.getResult());
  add.erase();
  product.erase();
  return true;
}

namespace {
struct RaiseBias : rondo::nn::impl::NNRaiseBiasBase<RaiseBias> {
  void runOnOperation() override {
    getOperation().walk([&](AddOp add) {
      if (raise(add))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
