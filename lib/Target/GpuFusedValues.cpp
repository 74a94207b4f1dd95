//===- GpuFusedValues.cpp - Values of fused kernels on GPUs ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuFused.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
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
    result = access.getStrides()[shape.vectorAxis] != 0 ||
             host::hasGuardOn(access, shape.vectorAxis);
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    result = index.getExpression().getStrides()[shape.vectorAxis] != 0;
  } else if (value.getDefiningOp<ReduceOp>()) {
    result = shape.style == Style::Columns;
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
  return levelCache[value] = level + isa<ReduceOp>(producer);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Chunk FusedEmitter::makeChunk(Value position, Value isActive) {
  Chunk chunk;
  chunk.position = isActive ? Value(arith::SelectOp::create(
                                  b, isActive, position, b.i64(shape.begin)))
                            : position;
  chunk.isActive = isActive;
  chunk.lanes.resize(shape.width);
  chunk.chosen.resize(shape.width);
  return chunk;
}

static AccessAttr getAccess(FusedOp op, unsigned operand) {
  unsigned inputs = op.getInputs().size();
  return operand < inputs ? op.getInputAccessAt(operand)
                          : op.getOutputAccessAt(operand - inputs);
}

static Type getElement(FusedOp op, unsigned operand) {
  unsigned inputs = op.getInputs().size();
  Value memref = operand < inputs ? op.getInputs()[operand]
                                  : op.getOutputs()[operand - inputs];
  return cast<MemRefType>(memref.getType()).getElementType();
}

/// The bounds of an access on an axis; none: those of the domain.
static std::optional<std::pair<int64_t, int64_t>> getGuard(AccessAttr access,
                                                           int64_t axis) {
  std::optional<std::pair<int64_t, int64_t>> bounds;
  for (size_t i = 0; i < access.getGuards().size(); i += 3) {
    if (access.getGuards()[i] != axis)
      continue;
    int64_t low = access.getGuards()[i + 1], high = access.getGuards()[i + 2];
    bounds = bounds ? std::pair(std::max(bounds->first, low),
                                std::min(bounds->second, high))
                    : std::pair(low, high);
  }
  return bounds;
}

/// An operand's pointer at coordinate 0 of the vector axis. Guarded coordinates
/// are brought into their range: what is read there is not used, but must be
/// memory that exists.
Value FusedEmitter::getBase(unsigned operand) {
  Value &base = bases[operand];
  if (base)
    return base;
  AccessAttr access = getAccess(op, operand);
  // A positive offset is in the address that the call passes.
  Value index = b.i64(std::min<int64_t>(access.getOffset(), 0));
  for (auto [axis, stride] : llvm::enumerate(access.getStrides())) {
    if (stride == 0 || int64_t(axis) == shape.vectorAxis)
      continue;
    Value coordinate = coordinates[axis];
    if (auto guard = getGuard(access, axis))
      coordinate = b.clamp(coordinate, guard->first, guard->second - 1);
    index = b.add(index, b.multiply(coordinate, stride));
  }
  return base =
             b.offset(b.getParameter(operand), getElement(op, operand), index);
}

Value FusedEmitter::getAddress(unsigned operand, Value position) {
  int64_t stride = getAccess(op, operand).getStrides()[shape.vectorAxis];
  Value base = getBase(operand);
  return stride == 0 ? base
                     : b.offset(base, getElement(op, operand),
                                b.multiply(position, stride));
}

/// Where a wide load of a chunk begins.
Value FusedEmitter::getWideAddress(unsigned input, const Chunk &chunk) {
  Value position = chunk.position;
  if (auto guard = getGuard(op.getInputAccessAt(input), shape.vectorAxis))
    position = b.clamp(position, guard->first, guard->second - shape.width);
  return getAddress(input, position);
}

/// Loads all elements of a chunk.
void FusedEmitter::load(unsigned input, Chunk &chunk) {
  AccessAttr access = op.getInputAccessAt(input);
  Type element = getElement(op, input);
  Value argument = op.getBlock().getArgument(input);
  ElementRange range = getRange(access, op.getDomain());
  auto guard = getGuard(access, shape.vectorAxis);
  if (range.begin == range.end) {
    Type type = b.getValueType(element);
    Value zero =
        arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
    for (auto &lane : chunk.lanes)
      lane[argument] = zero;
    return;
  }
  if (shape.isWide[input]) {
    SmallVector<Value> values =
        b.loadWide(element, getWideAddress(input, chunk), shape.width);
    for (auto [lane, value] : llvm::zip_equal(chunk.lanes, values))
      lane[argument] = value;
    return;
  }
  for (auto [number, lane] : llvm::enumerate(chunk.lanes)) {
    Value position =
        number == 0 ? chunk.position : b.add(chunk.position, b.i64(number));
    if (guard)
      position = b.clamp(position, guard->first, guard->second - 1);
    lane[argument] = b.loadScalar(element, getAddress(input, position));
  }
}

Value FusedEmitter::loadUniform(unsigned input) {
  AccessAttr access = op.getInputAccessAt(input);
  Type element = getElement(op, input);
  ElementRange range = getRange(access, op.getDomain());
  if (range.begin == range.end)
    return arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(b.getValueType(element))));
  return b.loadScalar(element, getBase(input));
}

/// The value at one element of a chunk, or (null) of any.
Value FusedEmitter::evaluate(Value value, Chunk *chunk, int64_t lane) {
  if (chunk && !varies(value))
    chunk = nullptr;
  DenseMap<Value, Value> &known = chunk ? chunk->lanes[lane] : uniform;
  if (Value found = known.lookup(value))
    return found;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (chunk) {
      load(argument.getArgNumber(), *chunk);
      return known.lookup(value);
    }
    result = loadUniform(argument.getArgNumber());
  } else if (auto index = value.getDefiningOp<IndexOp>()) {
    AccessAttr expression = index.getExpression();
    result = b.i64(expression.getOffset());
    for (auto [axis, stride] : llvm::enumerate(expression.getStrides())) {
      if (stride == 0)
        continue;
      Value coordinate = int64_t(axis) == shape.vectorAxis
                             ? b.add(chunk->position, b.i64(lane))
                             : coordinates[axis];
      result = b.add(result, b.multiply(coordinate, stride));
    }
  } else {
    Operation &inner = *value.getDefiningOp();
    if (auto select = dyn_cast<arith::SelectOp>(inner); select && chunk)
      result = evaluateChoice(select, *chunk, lane);
    if (!result) {
      SmallVector<Value> operands;
      for (Value operand : inner.getOperands())
        operands.push_back(evaluate(operand, chunk, lane));
      result = host::evaluateOp(b, inner, operands, b.getI1Type());
    }
  }
  return known[value] = result;
}

/// Computes before a loop or a branch all that evaluating `value` in it needs
/// and that does not vary along the vector axis.
void FusedEmitter::prepare(Value value) {
  SmallVector<Value> stack{value};
  DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (!varies(next))
      evaluate(next, nullptr);
    else if (auto argument = dyn_cast<BlockArgument>(next))
      getBase(argument.getArgNumber());
    else if (!isa<ReduceOp>(next.getDefiningOp()))
      llvm::append_range(stack, next.getDefiningOp()->getOperands());
  }
}

void FusedEmitter::store(unsigned output, ArrayRef<Value> values,
                         Chunk &chunk) {
  unsigned operand = op.getInputs().size() + output;
  Type element = getElement(op, operand);
  bool accumulates = op.getAccumulate()[output];
  if (shape.isWide[operand]) {
    Value pointer = getAddress(operand, chunk.position);
    SmallVector<Value> sums(values);
    if (accumulates)
      for (auto [sum, old] :
           llvm::zip_equal(sums, b.loadWide(element, pointer, shape.width)))
        sum = arith::AddFOp::create(b, old, sum);
    b.storeWide(element, sums, pointer);
    return;
  }
  for (auto [number, value] : llvm::enumerate(values)) {
    Value pointer =
        getAddress(operand, number == 0 ? chunk.position
                                        : b.add(chunk.position, b.i64(number)));
    Value sum = accumulates ? Value(arith::AddFOp::create(
                                  b, b.loadScalar(element, pointer), value))
                            : value;
    b.storeScalar(element, sum, pointer);
  }
}

void FusedEmitter::storeUniform(unsigned output, Value value) {
  unsigned operand = op.getInputs().size() + output;
  Type element = getElement(op, operand);
  Value pointer = getBase(operand);
  if (op.getAccumulate()[output])
    value = arith::AddFOp::create(b, b.loadScalar(element, pointer), value);
  b.storeScalar(element, value, pointer);
}

/// Coordinates of the axes before the vector axis, from a number that counts in
/// their order.
void FusedEmitter::setCoordinates(Value index) {
  for (auto [place, axis] : llvm::enumerate(llvm::reverse(shape.order))) {
    int64_t begin = axis == 0 ? op.getCalls()[0] : 0;
    int64_t extent =
        axis == 0 ? op.getCalls()[1] - begin : op.getDomain()[axis];
    bool isFirst = place + 1 == shape.order.size();
    Value coordinate = isFirst ? index : b.remainder(index, extent);
    coordinates[axis] =
        begin == 0 ? coordinate : b.add(coordinate, b.i64(begin));
    if (!isFirst)
      index = b.divide(index, extent);
  }
}
