//===- FusedBuilder.cpp - Builds one fused kernel ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusedBuilder.h"

#include "Lowering.h"
#include "Movement.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;
using kern::FusedKind;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

FusedBuilder::FusedBuilder(Location loc, Space space, ArrayRef<Output> outputs,
                           IsStored isStored)
    : loc(loc), space(space), outputs(outputs), isStored(isStored),
      builder(loc.getContext()) {
  if (space.outer > 1 || space.inner == 1)
    domain.push_back(space.outer);
  if (space.inner > 1)
    domain.push_back(space.inner);
  if (space.kind != FusedKind::Elementwise)
    domain.push_back(space.width);
}

FusedBuilder::~FusedBuilder() = default;

//===----------------------------------------------------------------------===//
// The domain
//===----------------------------------------------------------------------===//

/// The reduced axis stays one.
bool FusedBuilder::canSplit(const Split &wanted) const {
  if (space.kind != FusedKind::Elementwise && wanted.axis + 1 == domain.size())
    return false;
  return wanted.factor > 1 && wanted.factor < domain[wanted.axis] &&
         domain[wanted.axis] % wanted.factor == 0;
}

bool FusedBuilder::build() {
  while (!attempt()) {
    if (!split)
      return false;
    domain[split->axis] /= split->factor;
    domain.insert(domain.begin() + split->axis + 1, split->factor);
  }
  collapse();
  return true;
}

bool FusedBuilder::attempt() {
  region = std::make_unique<Region>();
  builder.setInsertionPointToStart(&region->emplaceBlock());
  inputs.clear();
  reads.clear();
  writes.clear();
  indices.clear();
  known.clear();
  split.reset();
  blocker = {};
  inReduction = false;
  everywhere.clear();
  for (int64_t extent : domain)
    everywhere.push_back({0, extent});

  // Row-major over the domain, without the reduced axis, and with it.
  size_t kept = domain.size() - (space.kind == FusedKind::Elementwise ? 0 : 1);
  Linear perRow(domain.size());
  int64_t stride = 1;
  for (size_t axis = kept; axis-- > 0; stride *= domain[axis])
    perRow.coefficients[axis] = domain[axis] == 1 ? 0 : stride;
  Linear perPoint = perRow;
  if (space.kind == FusedKind::Row) {
    perPoint = Linear(domain.size());
    perPoint.add(perRow, space.width);
    perPoint.coefficients.back() = 1;
  }

  SmallVector<Value> values;
  for (const Output &output : outputs) {
    int64_t elements =
        cast<RankedTensorType>(output.value.getType()).getNumElements();
    bool isRow =
        space.kind == FusedKind::Row && elements == space.outer * space.inner;
    const Linear &flat = isRow ? perRow : perPoint;
    Value value;
    // What is stored already, and not by this kernel, is read.
    bool isWritten = llvm::any_of(outputs, [&](const Output &other) {
      return other.value == output.value && !other.accumulate;
    });
    if (isStored(output.value) && !isWritten)
      value = emitLoad(output.value, flat, everywhere);
    else
      value = output.value.getDefiningOp() &&
                      isFusible(output.value.getDefiningOp())
                  ? emitOp(output.value.getDefiningOp(), flat, everywhere)
                  : emitLoad(output.value, flat, everywhere);
    if (!value)
      return false;
    known[{output.value.getAsOpaquePointer(), flat, everywhere}] = value;
    values.push_back(value);
    writes.push_back(flat);
  }
  kern::YieldOp::create(builder, loc, values);
  return true;
}

/// Joins neighbouring axes that every access runs through as if they were one:
/// longer loops, fewer different kernels.
void FusedBuilder::collapse() {
  auto forEach = [&](llvm::function_ref<void(Linear &)> body) {
    for (Read &read : reads)
      body(read.access);
    for (Linear &write : writes)
      body(write);
    for (auto &[op, index] : indices)
      body(index);
  };
  size_t end = domain.size() - (space.kind == FusedKind::Elementwise ? 0 : 1);
  for (size_t axis = 0; axis + 1 < end;) {
    bool joins = true;
    forEach([&](Linear &linear) {
      joins &= domain[axis] == 1 || domain[axis + 1] == 1 ||
               linear.coefficients[axis] ==
                   linear.coefficients[axis + 1] * domain[axis + 1];
    });
    for (Read &read : reads)
      joins &= read.bounds[axis] == Interval{0, domain[axis]} &&
               read.bounds[axis + 1] == Interval{0, domain[axis + 1]};
    if (!joins) {
      ++axis;
      continue;
    }
    size_t gone = domain[axis + 1] == 1 ? axis + 1 : axis;
    forEach([&](Linear &linear) {
      linear.coefficients.erase(linear.coefficients.begin() + gone);
    });
    domain[axis] *= domain[axis + 1];
    domain.erase(domain.begin() + axis + 1);
    for (Read &read : reads) {
      read.bounds[axis] = {0, domain[axis]};
      read.bounds.erase(read.bounds.begin() + axis + 1);
    }
    --end;
  }
}

kern::FusedOp FusedBuilder::create(OpBuilder &b,
                                   llvm::function_ref<Value(Value)> getMemory,
                                   ArrayRef<Value> outputMemory) {
  auto getAccess = [&](const Linear &linear,
                       const Bounds &bounds) -> Attribute {
    SmallVector<int64_t> guards;
    for (auto [axis, interval] : llvm::enumerate(bounds))
      if (interval != Interval{0, domain[axis]})
        guards.append({int64_t(axis), interval.begin, interval.end});
    return kern::AccessAttr::get(b.getContext(), linear.constant,
                                 linear.coefficients, guards);
  };
  SmallVector<Attribute> readAccess, writeAccess;
  SmallVector<Value> memory;
  for (const Read &read : reads) {
    memory.push_back(getMemory(read.value));
    readAccess.push_back(getAccess(read.access, read.bounds));
  }
  Bounds whole;
  for (int64_t extent : domain)
    whole.push_back({0, extent});
  for (const Linear &write : writes)
    writeAccess.push_back(getAccess(write, whole));
  for (auto &[op, index] : indices)
    op.setExpressionAttr(cast<kern::AccessAttr>(getAccess(index, whole)));
  SmallVector<bool> accumulate;
  for (const Output &output : outputs)
    accumulate.push_back(output.accumulate);
  auto op = kern::FusedOp::create(b, loc, space.kind, domain,
                                  ArrayRef<int64_t>{0, domain.front()}, memory,
                                  b.getArrayAttr(readAccess), outputMemory,
                                  b.getArrayAttr(writeAccess), accumulate);
  op.getBody().takeBody(*region);
  return op;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value FusedBuilder::block(Value value) {
  if (!blocker && !split)
    blocker = stripReshapes(value);
  return {};
}

/// One index per axis of `value`, whose axes were joined to `shape`.
std::optional<SmallVector<Linear>>
FusedBuilder::takeApart(Value value, ArrayRef<int64_t> shape,
                        const Linear &flat, const Bounds &bounds) {
  std::optional<Split> wanted;
  std::optional<SmallVector<Linear>> indices =
      delinearize(flat, shape, bounds, wanted);
  if (indices)
    return indices;
  if (wanted && canSplit(*wanted)) {
    if (!blocker && !split)
      split = wanted;
  } else {
    block(value);
  }
  return std::nullopt;
}

Value FusedBuilder::emit(Value value, const Linear &flat, const Bounds &asked) {
  value = stripReshapes(value);
  // Along an axis that it does not depend on, a value is the same everywhere.
  Bounds bounds = asked;
  for (size_t axis = 0; axis < domain.size(); ++axis)
    if (flat.coefficients[axis] == 0)
      bounds[axis] = everywhere[axis];
  Key key{value.getAsOpaquePointer(), flat, bounds};
  auto it = known.find(key);
  if (it != known.end())
    return it->second;
  bool isOutput = llvm::any_of(outputs, [&](const Output &output) {
    return output.value == value && !output.accumulate;
  });
  Operation *op = value.getDefiningOp();
  Value result;
  if (!op || !isFusible(op) || (isStored(value) && !isOutput))
    result = emitLoad(value, flat, bounds);
  else
    result = emitOp(op, flat, bounds);
  if (result)
    known[key] = result;
  return result;
}

Value FusedBuilder::emitLoad(Value value, const Linear &flat,
                             const Bounds &bounds) {
  if (!llvm::is_contained(inputs, value))
    inputs.push_back(value);
  reads.push_back({value, flat, bounds});
  return region->front().addArgument(getElement(value), loc);
}

Value FusedBuilder::emitOp(Operation *op, const Linear &flat,
                           const Bounds &bounds) {
  Value result = op->getResult(0);
  if (std::optional<Attribute> splat = getSplat(result))
    return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(*splat));
  if (auto reduce = dyn_cast<nn::ReduceOp>(op))
    return emitReduce(reduce, flat, bounds);
  if (auto concat = dyn_cast<nn::ConcatOp>(op))
    return emitConcat(concat, flat, bounds);
  if (auto pad = dyn_cast<nn::PadOp>(op))
    return emitPad(pad, flat, bounds);
  if (auto iota = dyn_cast<nn::IotaOp>(op))
    return emitIota(iota, flat, bounds);
  if (isa<nn::ReshapeOp>(op))
    return emit(op->getOperand(0), flat, bounds);
  if (isa<nn::BroadcastOp, nn::TransposeOp, nn::SliceOp>(op))
    return emitMovement(op, flat, bounds);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(emit(operand, flat, bounds));
    if (!operands.back())
      return {};
  }
  return lowerScalar(builder, op, operands);
}

Value FusedBuilder::emitMovement(Operation *op, const Linear &flat,
                                 const Bounds &bounds) {
  Movement movement = *getMovement(op);
  std::optional<SmallVector<Linear>> index =
      takeApart(op->getResult(0), movement.shape, flat, bounds);
  if (!index)
    return {};
  return emit(op->getOperand(0), movement.apply(*index, domain.size()), bounds);
}

Value FusedBuilder::emitReduce(nn::ReduceOp op, const Linear &flat,
                               const Bounds &bounds) {
  ArrayRef<int64_t> shape = getShape(op.getOperand());
  bool isRow = shape.size() == 2;
  FusedKind needed = isRow ? FusedKind::Row : FusedKind::Column;
  size_t reduced = domain.size() - 1;
  if (space.kind != needed || shape[1] != space.width ||
      flat.coefficients[reduced] != 0)
    return block(op.getResult());
  if (!isRow &&
      (inReduction || shape[0] * shape[2] != space.outer * space.inner))
    return block(op.getResult());

  Linear source(domain.size());
  if (isRow) {
    source.add(flat, space.width);
    source.coefficients[reduced] = 1;
  } else {
    std::optional<SmallVector<Linear>> index =
        takeApart(op.getResult(), {shape[0], shape[2]}, flat, bounds);
    if (!index)
      return {};
    source.add((*index)[0], shape[1] * shape[2]);
    source.add((*index)[1]);
    source.coefficients[reduced] += shape[2];
  }
  // The whole row is reduced, whatever part of it is being computed.
  Bounds whole = bounds;
  whole[reduced] = everywhere[reduced];
  bool outerReduction = inReduction;
  inReduction = true;
  Value operand = emit(op.getOperand(), source, whole);
  inReduction = outerReduction;
  if (!operand)
    return {};
  auto combiner = op.getKind() == nn::ReduceKind::Max ? kern::Combiner::Max
                                                      : kern::Combiner::Sum;
  return kern::ReduceOp::create(builder, loc, operand.getType(), combiner,
                                operand);
}

Value FusedBuilder::emitIndex(const Linear &index) {
  auto op = kern::IndexOp::create(
      builder, loc, builder.getI64Type(),
      kern::AccessAttr::get(builder.getContext(), index.constant,
                            index.coefficients, ArrayRef<int64_t>()));
  indices.push_back({op, index});
  return op;
}

/// [before, axis, after].
static SmallVector<int64_t> joinAround(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> joined{1, shape[axis], 1};
  for (auto [number, extent] : llvm::enumerate(shape))
    if (int64_t(number) != axis)
      joined[int64_t(number) < axis ? 0 : 2] *= extent;
  return joined;
}

Value FusedBuilder::emitIota(nn::IotaOp op, const Linear &flat,
                             const Bounds &bounds) {
  std::optional<SmallVector<Linear>> index = takeApart(
      op.getResult(), joinAround(getShape(op.getResult()), op.getAxis()), flat,
      bounds);
  if (!index)
    return {};
  Linear value(domain.size());
  value.constant = op.getStart();
  value.add((*index)[1], op.getStep());
  Value number = emitIndex(value);
  Type element = getElement(op.getResult());
  if (element.isInteger(64))
    return number;
  if (isa<IntegerType>(element))
    return arith::TruncIOp::create(builder, loc, element, number);
  if (element.isF64())
    return arith::SIToFPOp::create(builder, loc, element, number);
  Value wide =
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), number);
  return element.isF32()
             ? wide
             : Value(arith::TruncFOp::create(builder, loc, element, wide));
}

/// Each part is computed where it may be asked for, and chosen by the index.
Value FusedBuilder::emitConcat(nn::ConcatOp op, const Linear &flat,
                               const Bounds &bounds) {
  SmallVector<int64_t> joined =
      joinAround(getShape(op.getResult()), op.getAxis());
  std::optional<SmallVector<Linear>> index =
      takeApart(op.getResult(), joined, flat, bounds);
  if (!index)
    return {};
  const Linear &along = (*index)[1];
  Interval asked = getValues(along, bounds);
  Value result, number;
  int64_t end = joined[1];
  for (Value operand : llvm::reverse(op.getOperands())) {
    int64_t extent = getShape(operand)[op.getAxis()];
    int64_t begin = end - extent;
    int64_t partEnd = end;
    end = begin;
    if (partEnd <= asked.begin || asked.end <= begin)
      continue;
    Bounds part = bounds;
    if (begin > asked.begin || partEnd < asked.end) {
      std::optional<AxisInterval> where = solve(along, begin, partEnd, bounds);
      if (!where)
        return block(op.getResult());
      Interval &interval = part[where->axis];
      interval = {std::max(interval.begin, where->interval.begin),
                  std::min(interval.end, where->interval.end)};
      if (interval.size() <= 0)
        continue;
    }
    SmallVector<Linear> source = *index;
    source[1].constant -= begin;
    Value value = emit(
        operand,
        linearize(source, {joined[0], extent, joined[2]}, domain.size()), part);
    if (!value)
      return {};
    if (!result) {
      result = value;
      continue;
    }
    if (!number)
      number = emitIndex(along);
    Value bound = arith::ConstantOp::create(builder, loc,
                                            builder.getI64IntegerAttr(partEnd));
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, number, bound);
    result = arith::SelectOp::create(builder, loc, isBefore, value, result);
  }
  return result;
}

Value FusedBuilder::emitPad(nn::PadOp op, const Linear &flat,
                            const Bounds &bounds) {
  // Neighbouring axes without padding are one.
  SmallVector<int64_t> shape, low, result;
  bool isOpen = false;
  for (auto [axis, extent] : llvm::enumerate(getShape(op.getOperand()))) {
    int64_t before = op.getLow()[axis], whole = getShape(op.getResult())[axis];
    bool isPadded = whole != extent;
    if (isOpen && !isPadded) {
      shape.back() *= extent;
      result.back() *= extent;
      continue;
    }
    shape.push_back(extent);
    low.push_back(before);
    result.push_back(whole);
    isOpen = !isPadded;
  }
  std::optional<SmallVector<Linear>> index =
      takeApart(op.getResult(), result, flat, bounds);
  if (!index)
    return {};
  Value padding =
      arith::ConstantOp::create(builder, loc, cast<TypedAttr>(op.getValue()));
  Value isInside;
  Bounds part = bounds;
  SmallVector<Linear> source = *index;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    int64_t begin = low[axis], end = begin + extent;
    source[axis].constant -= begin;
    Interval asked = getValues((*index)[axis], bounds);
    if (begin <= asked.begin && asked.end <= end)
      continue;
    if (asked.end <= begin || end <= asked.begin)
      return padding;
    std::optional<AxisInterval> where =
        solve((*index)[axis], begin, end, bounds);
    if (!where)
      return block(op.getResult());
    Interval &interval = part[where->axis];
    interval = {std::max(interval.begin, where->interval.begin),
                std::min(interval.end, where->interval.end)};
    if (interval.size() <= 0)
      return padding;
    Value number = emitIndex((*index)[axis]);
    for (auto [predicate, bound] : {std::pair(arith::CmpIPredicate::sge, begin),
                                    {arith::CmpIPredicate::slt, end}}) {
      Value limit = arith::ConstantOp::create(builder, loc,
                                              builder.getI64IntegerAttr(bound));
      Value within =
          arith::CmpIOp::create(builder, loc, predicate, number, limit);
      isInside =
          isInside
              ? Value(arith::AndIOp::create(builder, loc, isInside, within))
              : within;
    }
  }
  Value value =
      emit(op.getOperand(), linearize(source, shape, domain.size()), part);
  if (!value)
    return {};
  return isInside ? Value(arith::SelectOp::create(builder, loc, isInside, value,
                                                  padding))
                  : value;
}
