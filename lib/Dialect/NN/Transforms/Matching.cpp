//===- Matching.cpp - Helpers of the raising passes -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Utils.h"

#include "llvm/ADT/DenseSet.h"
#include <cmath>

using namespace mlir;

namespace rondo::nn {

Value skipBroadcast(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  return broadcast ? broadcast.getOperand() : value;
}

Value skipFloatCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (cast && isa<FloatType>(getTensor(cast.getOperand()).getElementType()) &&
      isa<FloatType>(getTensor(value).getElementType()))
    return cast.getOperand();
  return value;
}

bool isNearSplat(Value value, double expected) {
  std::optional<double> splat = getSplatConstant(value);
  if (!splat)
    return false;
  // Half a unit in the last place, and as much again where a constant is a
  // product of two rounded ones.
  Type element = getTensor(value).getElementType();
  double tolerance = 1e-6;
  if (element.isBF16())
    tolerance = 0x1p-7;
  else if (element.isF16())
    tolerance = 0x1p-10;
  return std::abs(*splat - expected) <= tolerance * std::abs(expected);
}

std::optional<std::pair<Value, double>> matchScaling(Value value) {
  std::optional<std::pair<Value, double>> found;
  matchCommuted<MulOp>(value, [&](Value x, Value factor) {
    if (std::optional<double> splat = getSplatConstant(factor))
      found = {x, *splat};
    return found.has_value();
  });
  if (auto div = value.getDefiningOp<DivOp>())
    if (std::optional<double> splat = getSplatConstant(div.getRhs());
        splat && *splat != 0)
      found = {div.getLhs(), 1 / *splat};
  return found;
}

Value matchRowVector(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return nullptr;
  RankedTensorType vector = getTensor(broadcast.getOperand());
  int64_t columns = getTensor(value).getShape().back();
  if (vector.getRank() == 0 || vector.getShape().back() != columns ||
      vector.getNumElements() != columns)
    return nullptr;
  return broadcast.getOperand();
}

bool dependsOnTrainable(Value value) {
  SmallVector<Value> pending = {value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second || !op)
      continue;
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
          op, read.getParameterAttr());
      if (!parameter || parameter.getTrainable())
        return true;
    }
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

Value createReshape(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> shape) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getOperand();
  RankedTensorType type = getTensor(value);
  return type.getShape() == shape
             ? value
             : ReshapeOp::create(builder, loc, type.clone(shape), value);
}

void eraseDeadOps(func::FuncOp function) {
  for (Block &block : function.getBody())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
}

} // namespace rondo::nn
