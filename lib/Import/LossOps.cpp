//===- LossOps.cpp - Import of losses -------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "TensorData.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;

namespace rondo {

/// Scores [n, classes, d...] and labels [n, d...] become rows.
static LogicalResult importSoftmaxCrossEntropyLoss(NodeImport &n) {
  std::string reduction = n.getString("reduction", "mean");
  if (reduction != "mean")
    return n.unsupported("reduction " + reduction);
  if (n.operand(2))
    return n.unsupported("class weights");
  if (n.hasOutput(1))
    return n.unsupported("output of the log probabilities");
  if (!n.isFloat(0) ||
      !(n.element(1).isInteger(64) || n.element(1).isInteger(32)))
    return n.error() << "scores have type " << n.operand(0).getType()
                     << ", labels " << n.operand(1).getType();
  SmallVector<int64_t> expected(n.shape(0));
  if (expected.size() >= 2)
    expected.erase(expected.begin() + 1);
  if (n.rank(0) < 2 || ArrayRef<int64_t>(expected) != n.shape(1))
    return n.error() << "labels of shape " << nn::shapeToString(n.shape(1))
                     << " do not fit scores of shape "
                     << nn::shapeToString(n.shape(0));
  SmallVector<int64_t> permutation{0};
  for (int64_t axis = 2; axis < n.rank(0); ++axis)
    permutation.push_back(axis);
  permutation.push_back(1);
  int64_t rows = countElements(n.shape(1));
  Value scores = n.e.transpose(n.operand(0), permutation);
  scores = n.e.reshape(scores, {rows, n.shape(0)[1]});
  Value labels = n.e.reshape(n.operand(1), {rows});
  IntegerAttr ignored;
  if (n.findAttribute("ignore_index"))
    ignored = n.e.getBuilder().getI64IntegerAttr(n.getInt("ignore_index", 0));
  Value loss = n.e.create<nn::CrossEntropyOp>(scores, labels, ignored);
  return n.setResult(n.e.cast(loss, n.element(0)));
}

void registerLossOps(OpTable &table) {
  table["SoftmaxCrossEntropyLoss"] = {12, 2, 3, importSoftmaxCrossEntropyLoss};
}

} // namespace rondo
