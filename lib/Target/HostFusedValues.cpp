//===- HostFusedValues.cpp - Values of fused kernels on the host ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFused.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::kern;

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// Whether a value varies along the vector axis.
bool FusedEmitter::varies(Value value) {
  auto [it, isNew] = variesCache.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    AccessAttr access = op.getInputAccessAt(argument.getArgNumber());
    result =
        access.getStrides()[vectorAxis] != 0 || hasGuardOn(access, vectorAxis);
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    result = index.getExpression().getStrides()[vectorAxis] != 0;
  } else if (value.getDefiningOp<ReduceOp>()) {
    result = isColumn();
  } else {
    result = llvm::any_of(value.getDefiningOp()->getOperands(),
                          [&](Value operand) { return varies(operand); });
  }
  return variesCache[value] = result;
}

/// Levels of reductions that must be complete before `value` is computed.
int64_t FusedEmitter::getLevel(Value value) {
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return 0;
  auto [it, isNew] = levelCache.try_emplace(value, 0);
  if (!isNew)
    return it->second;
  int64_t level = 0;
  for (Value operand : producer->getOperands())
    level = std::max(level, getLevel(operand));
  if (isa<ReduceOp>(producer))
    ++level;
  return levelCache[value] = level;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The pointer of an operand at coordinate 0 of the vector axis. Guarded
/// coordinates are brought into their range: what is read there is not used,
/// but must be memory that exists.
Value FusedEmitter::getBase(unsigned operand) {
  Value &base = outer.bases[operand];
  if (base)
    return base;
  unsigned inputs = op.getInputs().size();
  AccessAttr access = operand < inputs ? op.getInputAccessAt(operand)
                                       : op.getOutputAccessAt(operand - inputs);
  Value memref = operand < inputs ? op.getInputs()[operand]
                                  : op.getOutputs()[operand - inputs];
  // A positive offset is in the address that the call passes.
  Value index = b.i64(std::min<int64_t>(access.getOffset(), 0));
  for (auto [axis, stride] : llvm::enumerate(access.getStrides())) {
    if (stride == 0 || int64_t(axis) == vectorAxis)
      continue;
    Value coordinate = coordinates[axis];
    for (size_t i = 0; i < access.getGuards().size(); i += 3) {
      if (access.getGuards()[i] != int64_t(axis))
        continue;
      coordinate = arith::MaxSIOp::create(b, coordinate,
                                          b.i64(access.getGuards()[i + 1]));
      coordinate = arith::MinSIOp::create(b, coordinate,
                                          b.i64(access.getGuards()[i + 2] - 1));
    }
    Value step = arith::MulIOp::create(b, coordinate, b.i64(stride));
    index = arith::AddIOp::create(b, index, step);
  }
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  base = b.offset(pointers[operand], element, index);
  return base;
}

/// The lanes where the guards on the vector axis hold; null: all that the block
/// has. `never`: none.
Value FusedEmitter::getGuardMask(AccessAttr access, Block16 &block,
                                 bool &never) {
  Value mask = block.mask;
  never = false;
  for (size_t i = 0; i < access.getGuards().size(); i += 3) {
    if (access.getGuards()[i] != vectorAxis)
      continue;
    int64_t low = access.getGuards()[i + 1], high = access.getGuards()[i + 2];
    if (block.begin >= 0 && block.begin >= low && block.end <= high)
      continue;
    if (block.begin >= 0 && (block.end <= low || block.begin >= high)) {
      never = true;
      return {};
    }
    VectorType type = b.vectorOf(b.getI64Type());
    Value index = arith::AddIOp::create(b, b.broadcast(block.position),
                                        b.lanes(b.getI64Type()));
    for (Value within :
         {Value(arith::CmpIOp::create(b, arith::CmpIPredicate::sge, index,
                                      b.integer(type, low))),
          Value(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index,
                                      b.integer(type, high)))})
      mask = mask ? Value(arith::AndIOp::create(b, mask, within)) : within;
  }
  return mask;
}

Value FusedEmitter::load(unsigned input, Block16 *block) {
  AccessAttr access = op.getInputAccessAt(input);
  Type element =
      cast<MemRefType>(op.getInputs()[input].getType()).getElementType();
  Value base = getBase(input);
  int64_t stride = access.getStrides()[vectorAxis];
  if (!block)
    return b.loadScalar(element, base);
  bool never;
  Value mask = getGuardMask(access, *block, never);
  ElementRange range = getRange(access, op.getDomain());
  Type type = b.vectorOf(b.getValueType(element));
  if (never || range.begin == range.end)
    return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
  if (stride == 0)
    return b.broadcast(b.loadScalar(element, base));
  Value step = arith::MulIOp::create(b, block->position, b.i64(stride));
  return b.loadVector(element, b.offset(base, element, step), stride, mask);
}

void FusedEmitter::store(unsigned output, Value value, Block16 *block) {
  AccessAttr access = op.getOutputAccessAt(output);
  Type element =
      cast<MemRefType>(op.getOutputs()[output].getType()).getElementType();
  Value base = getBase(op.getInputs().size() + output);
  // A column reduction that accumulates began with what was there.
  bool adds = op.getAccumulate()[output] && !isColumn();
  if (!block) {
    if (adds)
      value = arith::AddFOp::create(b, b.loadScalar(element, base), value);
    b.storeScalar(element, value, base);
    return;
  }
  if (!isa<VectorType>(value.getType()))
    value = b.broadcast(value);
  int64_t stride = access.getStrides()[vectorAxis];
  Value step = arith::MulIOp::create(b, block->position, b.i64(stride));
  Value pointer = b.offset(base, element, step);
  if (adds)
    value = arith::AddFOp::create(
        b, b.loadVector(element, pointer, stride, block->mask), value);
  b.storeVector(element, value, pointer, stride, block->mask);
}

/// The value in a block, or (null) outside of the vector loop.
Value FusedEmitter::evaluate(Value value, Block16 *block) {
  Scope &scope = block ? *block : outer;
  if (Value known = scope.values.lookup(value))
    return known;
  Value result;
  if (block && !varies(value)) {
    result = b.broadcast(evaluate(value, nullptr));
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    result = load(argument.getArgNumber(), block);
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    AccessAttr expression = index.getExpression();
    result = b.i64(expression.getOffset());
    for (auto [axis, stride] : llvm::enumerate(expression.getStrides())) {
      if (stride == 0)
        continue;
      Value coordinate =
          int64_t(axis) == vectorAxis ? block->position : coordinates[axis];
      result = arith::AddIOp::create(
          b, result, arith::MulIOp::create(b, coordinate, b.i64(stride)));
    }
    if (block) {
      Value step = b.integer(b.vectorOf(b.getI64Type()),
                             expression.getStrides()[vectorAxis]);
      Value lanes = arith::MulIOp::create(b, b.lanes(b.getI64Type()), step);
      result = arith::AddIOp::create(b, b.broadcast(result), lanes);
    }
  } else {
    Operation &inner = *value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(evaluate(operand, block));
    Type like = block ? Type(b.vectorOf(b.getI1Type())) : Type(b.getI1Type());
    result = evaluateOp(b, inner, operands, like);
  }
  scope.values[value] = result;
  return result;
}

/// Computes before a vector loop all that evaluating `value` in it needs and
/// that does not vary along it.
void FusedEmitter::prepare(Value value) {
  SmallVector<Value> stack{value};
  DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (!varies(next)) {
      evaluate(next, nullptr);
      continue;
    }
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      getBase(argument.getArgNumber());
      continue;
    }
    if (isa<ReduceOp>(next.getDefiningOp()))
      continue;
    llvm::append_range(stack, next.getDefiningOp()->getOperands());
  }
}
