//===- IndexingOps.cpp - Import of lookups --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;

namespace rondo {

static LogicalResult checkIndices(NodeImport &n, int i) {
  if (n.element(i).isInteger(64) || n.element(i).isInteger(32))
    return success();
  return n.error() << "indices have element type " << n.element(i);
}

static LogicalResult importGather(NodeImport &n) {
  auto axis = n.normalizeAxis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis) || failed(checkIndices(n, 1)))
    return failure();
  SmallVector<int64_t> shape(n.shape(0).take_front(*axis));
  llvm::append_range(shape, n.shape(1));
  llvm::append_range(shape, n.shape(0).drop_front(*axis + 1));
  if (failed(n.checkShape(shape)))
    return failure();
  return n.setResult(
      n.e.create<nn::GatherOp>(n.operand(0), n.operand(1), *axis).getResult());
}

static LogicalResult importGatherND(NodeImport &n) {
  int64_t batch = n.getInt("batch_dims", 0);
  if (failed(checkIndices(n, 1)))
    return failure();
  if (n.rank(0) < 1 || n.rank(1) < 1 || batch < 0 ||
      batch >= std::min(n.rank(0), n.rank(1)) || n.shape(1).back() < 1 ||
      n.shape(1).back() > n.rank(0) - batch ||
      n.shape(0).take_front(batch) != n.shape(1).take_front(batch))
    return n.error() << "indices of shape " << nn::shapeToString(n.shape(1))
                     << " do not fit data of shape "
                     << nn::shapeToString(n.shape(0)) << " with batch_dims "
                     << batch;
  SmallVector<int64_t> shape(n.shape(1).drop_back());
  llvm::append_range(shape, n.shape(0).drop_front(batch + n.shape(1).back()));
  if (failed(n.checkShape(shape)))
    return failure();
  return n.setResult(
      n.e.create<nn::GatherNDOp>(n.operand(0), n.operand(1), batch)
          .getResult());
}

static LogicalResult importCumSum(NodeImport &n) {
  auto axes = n.requiredIntegers(1, "axis");
  if (failed(axes))
    return failure();
  if (axes->size() != 1)
    return n.error() << "operand 'axis' must be a scalar";
  auto axis = n.normalizeAxis(axes->front(), n.rank(0));
  if (failed(axis))
    return failure();
  if (n.element(0).isInteger(1))
    return n.error() << "operand is boolean";
  return n.setResult(n.e.create<nn::CumsumOp>(n.operand(0).getType(),
                                              n.operand(0), *axis,
                                              n.getInt("exclusive", 0) != 0,
                                              n.getInt("reverse", 0) != 0)
                         .getResult());
}

void registerIndexingOps(OpTable &table) {
  table["Gather"] = {1, 2, 2, importGather};
  table["GatherND"] = {11, 2, 2, importGatherND};
  table["CumSum"] = {11, 2, 2, importCumSum};
}

} // namespace rondo
