//===- GpuChoice.cpp - Selections among like values on GPUs --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Rotary embedding takes an element from one half of a row or, negated, from
// the other. Where all elements of a chunk take the same side, what is computed
// alike on both sides is computed once, of operands that are selected: in the
// end of one load, from a selected address.
//
//===----------------------------------------------------------------------===//

#include "GpuFused.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;

/// Whether `condition` has one value over any chunk: chunks begin at multiples
/// of the width.
static bool isEven(Value condition, const Shape &shape) {
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto index = compare ? compare.getLhs().getDefiningOp<IndexOp>() : IndexOp();
  auto bound = compare ? compare.getRhs().getDefiningOp<arith::ConstantOp>()
                       : arith::ConstantOp();
  if (!index || !bound || shape.begin % shape.width != 0 ||
      (compare.getPredicate() != arith::CmpIPredicate::slt &&
       compare.getPredicate() != arith::CmpIPredicate::sge))
    return false;
  AccessAttr expression = index.getExpression();
  if (expression.getStrides()[shape.vectorAxis] != 1)
    return false;
  for (auto [axis, stride] : llvm::enumerate(expression.getStrides()))
    if (int64_t(axis) != shape.vectorAxis && stride % shape.width != 0)
      return false;
  int64_t limit = cast<IntegerAttr>(bound.getValue()).getInt();
  return (limit - expression.getOffset()) % shape.width == 0;
}

/// `value`, or that of which it is the negative; of the same type.
static Value dropSign(Value value, bool &isNegative) {
  Value inner = value;
  if (auto narrow = value.getDefiningOp<arith::TruncFOp>())
    inner = narrow.getOperand();
  auto negation = inner.getDefiningOp<arith::NegFOp>();
  if (!negation)
    return value;
  Value operand = negation.getOperand();
  if (inner != value) {
    auto wide = operand.getDefiningOp<arith::ExtFOp>();
    if (!wide || wide.getOperand().getType() != value.getType())
      return value;
    operand = wide.getOperand();
  }
  isNegative = true;
  return operand;
}

/// Whether `x` and `y` are computed alike, down to loads that can be one.
bool FusedEmitter::areAlike(Value x, Value y) {
  if (x == y)
    return true;
  if (x.getType() != y.getType())
    return false;
  auto [it, isNew] = alikeCache.try_emplace({x, y}, false);
  if (!isNew)
    return it->second;
  bool result = false;
  auto left = dyn_cast<BlockArgument>(x), right = dyn_cast<BlockArgument>(y);
  if (left && right) {
    auto isLoaded = [&](BlockArgument argument) {
      ElementRange range = getRange(
          op.getInputAccessAt(argument.getArgNumber()), op.getDomain());
      return varies(argument) && shape.isWide[argument.getArgNumber()] &&
             range.begin != range.end;
    };
    result = isLoaded(left) && isLoaded(right);
  } else if (!varies(x) && !varies(y)) {
    result = true;
  } else if (Operation *a = x.getDefiningOp(), *b = y.getDefiningOp();
             a && b && !isa<ReduceOp, IndexOp>(a) &&
             a->getName() == b->getName() &&
             a->getNumOperands() == b->getNumOperands() &&
             a->getAttrDictionary() == b->getAttrDictionary()) {
    result = llvm::all_of(
        llvm::zip(a->getOperands(), b->getOperands()), [&](auto pair) {
          return areAlike(std::get<0>(pair), std::get<1>(pair));
        });
  }
  return alikeCache[{x, y}] = result;
}

/// `x` where `condition` holds, else `y`; alike.
Value FusedEmitter::choose(Value condition, Value x, Value y, Chunk &chunk,
                           int64_t lane) {
  if (x == y)
    return evaluate(x, &chunk, lane);
  if (Value found = chunk.chosen[lane].lookup({x, y}))
    return found;
  Value result;
  if (!varies(x) && !varies(y)) {
    result = arith::SelectOp::create(b, condition, evaluate(x, nullptr),
                                     evaluate(y, nullptr));
  } else if (auto left = dyn_cast<BlockArgument>(x)) {
    unsigned first = left.getArgNumber(),
             second = cast<BlockArgument>(y).getArgNumber();
    Value pointer =
        arith::SelectOp::create(b, condition, getWideAddress(first, chunk),
                                getWideAddress(second, chunk));
    Type element =
        cast<MemRefType>(op.getInputs()[first].getType()).getElementType();
    SmallVector<Value> values = b.loadWide(element, pointer, shape.width);
    for (auto [known, value] : llvm::zip_equal(chunk.chosen, values))
      known[{x, y}] = value;
    return values[lane];
  } else {
    Operation &inner = *x.getDefiningOp();
    SmallVector<Value> operands;
    for (auto [a, c] :
         llvm::zip(inner.getOperands(), y.getDefiningOp()->getOperands()))
      operands.push_back(choose(condition, a, c, chunk, lane));
    result = host::evaluateOp(b, inner, operands, b.getI1Type());
  }
  return chunk.chosen[lane][{x, y}] = result;
}

/// The two sides of a selection without their signs, if they are alike.
std::optional<std::pair<Value, Value>>
FusedEmitter::findChoice(arith::SelectOp op, bool &isLeft, bool &isRight) {
  if (!isa<FloatType>(op.getType()) || !isEven(op.getCondition(), shape))
    return std::nullopt;
  Value x = dropSign(op.getTrueValue(), isLeft),
        y = dropSign(op.getFalseValue(), isRight);
  if (!varies(x) || !varies(y) || !areAlike(x, y))
    return std::nullopt;
  return std::pair(x, y);
}

/// A selection of values that are alike but for their signs; else null.
Value FusedEmitter::evaluateChoice(arith::SelectOp op, Chunk &chunk,
                                   int64_t lane) {
  bool isLeft = false, isRight = false;
  auto sides = findChoice(op, isLeft, isRight);
  if (!sides)
    return {};
  // All lanes take the first's side.
  Value condition = evaluate(op.getCondition(), &chunk, 0);
  Value value = choose(condition, sides->first, sides->second, chunk, lane);
  if (!isLeft && !isRight)
    return value;
  Value negated = arith::NegFOp::create(b, value);
  if (isLeft == isRight)
    return negated;
  return arith::SelectOp::create(b, condition, isLeft ? negated : value,
                                 isLeft ? value : negated);
}

//===----------------------------------------------------------------------===//
// Loads ahead of use
//===----------------------------------------------------------------------===//

/// Whether rows have elements of their own; others are in the cache soon.
static bool isOfRow(FusedOp op, Value argument, int64_t vectorAxis) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  ArrayRef<int64_t> strides = op.getInputAccessAt(number).getStrides();
  for (auto [axis, stride] : llvm::enumerate(strides))
    if (int64_t(axis) != vectorAxis && stride != 0)
      return true;
  return false;
}

/// Loads what a chunk's value is computed from.
void FusedEmitter::preload(Value value, Chunk &chunk) {
  if (!varies(value) || !chunk.preloaded.insert(value).second)
    return;
  if (isa<BlockArgument>(value)) {
    if (isOfRow(op, value, shape.vectorAxis))
      evaluate(value, &chunk);
    return;
  }
  Operation *inner = value.getDefiningOp();
  if (auto select = dyn_cast<arith::SelectOp>(inner)) {
    bool isLeft = false, isRight = false;
    if (auto sides = findChoice(select, isLeft, isRight)) {
      preloadChoice(evaluate(select.getCondition(), &chunk), sides->first,
                    sides->second, chunk);
      return;
    }
  }
  if (!isa<IndexOp>(inner))
    for (Value operand : inner->getOperands())
      preload(operand, chunk);
}

void FusedEmitter::preloadChoice(Value condition, Value x, Value y,
                                 Chunk &chunk) {
  if (x == y)
    return preload(x, chunk);
  if (!varies(x) && !varies(y))
    return;
  if (isa<BlockArgument>(x)) {
    if (isOfRow(op, x, shape.vectorAxis))
      choose(condition, x, y, chunk, 0);
    return;
  }
  for (auto [a, c] : llvm::zip(x.getDefiningOp()->getOperands(),
                               y.getDefiningOp()->getOperands()))
    preloadChoice(condition, a, c, chunk);
}
