//===- HostFused.cpp - Loops of fused kernels ----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The region's scalar program is written out for vectors of kLanes elements
// along one axis of the domain, the vector axis: the last one, or in a column
// kernel the last but one. Values that do not vary along it stay scalars,
// computed once before the vector loop.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::kern;

/// Columns that a column kernel accumulates at once, in memory that stays in
/// the first-level cache while whole rows go by.
constexpr int64_t kStrip = 256;

namespace {

/// Values computed so far at one place of the code.
struct Scope {
  DenseMap<Value, Value> values; ///< From the region's to the code's.
  DenseMap<int64_t, Value>
      bases; ///< Pointers of operands at vector coordinate 0.
};

/// One vector of elements along the vector axis.
struct Block16 : Scope {
  Value position;     ///< Coordinate of lane 0.
  Value mask;         ///< Lanes within the range; null: all.
  int64_t begin = -1; ///< If known at compile time: bounds of the segment
  int64_t end = -1;   ///< that the block lies in.
};

using BlockBody = llvm::function_ref<SmallVector<Value>(Block16 &, ValueRange)>;

class FusedEmitter {
public:
  FusedEmitter(FusedOp op, StringRef name, ModuleOp module)
      : op(op), b(op.getLoc(), op.getContext()),
        function(beginKernel(b, module, name)),
        yield(cast<YieldOp>(op.getBlock().back())) {}
  void emit();

private:
  // Axes.
  int64_t getRank() { return op.getDomain().size(); }
  bool isColumn() { return op.getKind() == FusedKind::Column; }
  bool varies(Value value);
  int64_t getLevel(Value value);

  // Code of values.
  Value evaluate(Value value, Block16 *block);
  Value load(unsigned input, Block16 *block);
  Value getGuardMask(AccessAttr access, Block16 &block, bool &never);
  Value getBase(unsigned operand);
  void store(unsigned output, Value value, Block16 *block);
  void prepare(Value value);
  void prepareOutput(unsigned output) {
    getBase(op.getInputs().size() + output);
  }

  // Loops.
  SmallVector<Value> forVectors(int64_t extent, ValueRange init,
                                BlockBody body);
  SmallVector<Value> forVectors(Value begin, Value end, ValueRange init,
                                BlockBody body);
  SmallVector<Value> forVectorsUpTo(Value begin, Value end,
                                    int64_t segmentBegin, int64_t segmentEnd,
                                    ValueRange init, BlockBody body);
  SmallVector<Value> vectorLoop(ValueRange init, BlockBody body);
  void forAxes(int64_t axis, int64_t end, llvm::function_ref<void()> body);
  void emitRow();
  void emitReductions(int64_t level);
  void emitOutputs();
  void emitColumns();
  void emitStrip(Value begin, Value end);

  Value join(ReduceOp reduce, Value accumulators);

  FusedOp op;
  CodeBuilder b;
  func::FuncOp function;
  YieldOp yield;
  int64_t vectorAxis = 0;
  SmallVector<Value> pointers;
  SmallVector<Value> coordinates; ///< Null: the vector axis, or none yet.
  Scope outer;
  DenseMap<Value, bool> variesCache;
  DenseMap<Value, int64_t> levelCache;
  DenseMap<Operation *, Value> accumulators; ///< Column kernels: their memory.
};

} // namespace

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

//===----------------------------------------------------------------------===//
// Loops along the vector axis
//===----------------------------------------------------------------------===//

/// Whole vectors, then one with a mask. The range is not known.
SmallVector<Value> FusedEmitter::forVectors(Value begin, Value end,
                                            ValueRange init, BlockBody body) {
  Value width = b.i64(kLanes);
  Value extent = arith::SubIOp::create(b, end, begin);
  Value vectors = arith::DivUIOp::create(b, extent, width);
  Value middle =
      arith::AddIOp::create(b, begin, arith::MulIOp::create(b, vectors, width));
  SmallVector<Value> sums = forVectorsUpTo(begin, middle, -1, -1, init, body);
  Value rest = arith::SubIOp::create(b, end, middle);
  Value hasRest =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, b.i64(0));
  auto branch = scf::IfOp::create(b, ValueRange(sums).getTypes(), hasRest,
                                  /*withElseRegion=*/!sums.empty());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Block16 block;
  block.position = middle;
  block.mask = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt, b.lanes(b.getI64Type()), b.broadcast(rest));
  SmallVector<Value> masked = body(block, sums);
  if (sums.empty())
    return {};
  scf::YieldOp::create(b, masked);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, sums);
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> FusedEmitter::forVectorsUpTo(Value begin, Value end,
                                                int64_t segmentBegin,
                                                int64_t segmentEnd,
                                                ValueRange init,
                                                BlockBody body) {
  auto loop = scf::ForOp::create(b, begin, end, b.i64(kLanes), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Block16 block;
  block.position = loop.getInductionVar();
  block.begin = segmentBegin;
  block.end = segmentEnd;
  SmallVector<Value> sums = body(block, loop.getRegionIterArgs());
  if (!sums.empty())
    scf::YieldOp::create(b, sums);
  return SmallVector<Value>(loop.getResults());
}

/// [0, extent), cut where guards begin and end so that within each segment they
/// hold or do not.
SmallVector<Value> FusedEmitter::forVectors(int64_t extent, ValueRange init,
                                            BlockBody body) {
  SmallVector<int64_t> bounds{0, extent};
  for (Attribute attr : op.getInputAccess()) {
    ArrayRef<int64_t> guards = cast<AccessAttr>(attr).getGuards();
    for (size_t i = 0; i < guards.size(); i += 3)
      for (int64_t bound : {guards[i + 1], guards[i + 2]})
        if (guards[i] == vectorAxis && bound % kLanes == 0 && bound > 0 &&
            bound < extent)
          bounds.push_back(bound);
  }
  llvm::sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());

  SmallVector<Value> sums(init);
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    int64_t begin = bounds[i], end = bounds[i + 1],
            middle = begin + (end - begin) / kLanes * kLanes;
    if (middle - begin > kLanes)
      sums =
          forVectorsUpTo(b.i64(begin), b.i64(middle), begin, end, sums, body);
    else if (middle > begin) {
      Block16 block;
      block.position = b.i64(begin);
      block.begin = begin;
      block.end = end;
      sums = body(block, sums);
    }
    if (middle == end)
      continue;
    Block16 block;
    block.position = b.i64(middle);
    block.begin = begin;
    block.end = end;
    SmallVector<bool> lanes(kLanes, false);
    std::fill_n(lanes.begin(), end - middle, true);
    block.mask = arith::ConstantOp::create(
        b, DenseElementsAttr::get(b.vectorOf(b.getI1Type()),
                                  ArrayRef<bool>(lanes)));
    sums = body(block, sums);
  }
  return sums;
}

/// The whole vector axis of a row or elementwise kernel.
SmallVector<Value> FusedEmitter::vectorLoop(ValueRange init, BlockBody body) {
  if (vectorAxis == 0)
    return forVectors(function.getArgument(1), function.getArgument(2), init,
                      body);
  return forVectors(op.getDomain()[vectorAxis], init, body);
}

/// Loops over axes [axis, end), the first over what the call asks for.
void FusedEmitter::forAxes(int64_t axis, int64_t end,
                           llvm::function_ref<void()> body) {
  if (axis == end)
    return body();
  if (axis > 0 && op.getDomain()[axis] == 1) {
    coordinates[axis] = b.i64(0);
    return forAxes(axis + 1, end, body);
  }
  Value begin = axis == 0 ? Value(function.getArgument(1)) : b.i64(0);
  Value extent =
      axis == 0 ? Value(function.getArgument(2)) : b.i64(op.getDomain()[axis]);
  auto loop = scf::ForOp::create(b, begin, extent, b.i64(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  coordinates[axis] = loop.getInductionVar();
  forAxes(axis + 1, end, body);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Joins the accumulators in halves.
Value FusedEmitter::join(ReduceOp reduce, Value accumulators) {
  for (int32_t width = kLanes / 2; width >= 1; width /= 2) {
    SmallVector<int32_t> low, high;
    for (int32_t lane = 0; lane < width; ++lane) {
      low.push_back(lane);
      high.push_back(lane + width);
    }
    Value left =
        LLVM::ShuffleVectorOp::create(b, accumulators, accumulators, low);
    Value right =
        LLVM::ShuffleVectorOp::create(b, accumulators, accumulators, high);
    accumulators = combine(b, reduce, left, right);
  }
  return LLVM::ExtractElementOp::create(b, accumulators,
                                        b.integer(b.getI32Type(), 0));
}

/// One pass over the row for the reductions of one level.
void FusedEmitter::emitReductions(int64_t level) {
  SmallVector<ReduceOp> reduces;
  SmallVector<Value> init;
  for (ReduceOp reduce : op.getBlock().getOps<ReduceOp>()) {
    if (getLevel(reduce) != level)
      continue;
    reduces.push_back(reduce);
    init.push_back(getIdentity(b, reduce, b.vectorOf(reduce.getType())));
    prepare(reduce.getOperand());
  }
  SmallVector<Value> sums =
      vectorLoop(init, [&](Block16 &block, ValueRange old) {
        SmallVector<Value> next;
        for (auto [reduce, before] : llvm::zip_equal(reduces, old)) {
          Value after =
              combine(b, reduce, before, evaluate(reduce.getOperand(), &block));
          if (block.mask)
            after = arith::SelectOp::create(b, block.mask, after, before);
          next.push_back(after);
        }
        return next;
      });
  for (auto [reduce, sum] : llvm::zip_equal(reduces, sums))
    outer.values[reduce.getResult()] = join(reduce, sum);
}

/// The last pass: outputs that have an element per point, then those that have
/// one per row.
void FusedEmitter::emitOutputs() {
  SmallVector<unsigned> perPoint, perRow;
  for (unsigned output = 0; output < op.getOutputs().size(); ++output) {
    bool isRow = op.getKind() == FusedKind::Row &&
                 op.getOutputAccessAt(output).getStrides().back() == 0;
    (isRow ? perRow : perPoint).push_back(output);
  }
  for (unsigned output : perPoint) {
    prepare(yield.getValues()[output]);
    prepareOutput(output);
  }
  if (!perPoint.empty())
    vectorLoop({}, [&](Block16 &block, ValueRange) {
      // All is read before anything is written: an output may be an input's
      // memory.
      SmallVector<Value> values;
      for (unsigned output : perPoint)
        values.push_back(evaluate(yield.getValues()[output], &block));
      for (auto [output, value] : llvm::zip_equal(perPoint, values))
        store(output, value, &block);
      return SmallVector<Value>();
    });
  SmallVector<Value> values;
  for (unsigned output : perRow)
    values.push_back(evaluate(yield.getValues()[output], nullptr));
  for (auto [output, value] : llvm::zip_equal(perRow, values))
    store(output, value, nullptr);
}

void FusedEmitter::emitRow() {
  outer = Scope();
  int64_t levels = 0;
  for (Value value : yield.getValues())
    levels = std::max(levels, getLevel(value));
  for (int64_t level = 1; level <= levels; ++level)
    emitReductions(level);
  emitOutputs();
}

/// Columns [begin, end), at most kStrip of them.
void FusedEmitter::emitStrip(Value begin, Value end) {
  int64_t reduced = getRank() - 1;
  SmallVector<ReduceOp> reduces(op.getBlock().getOps<ReduceOp>());
  auto getSlot = [&](ReduceOp reduce, Block16 &block) {
    Value index = arith::SubIOp::create(b, block.position, begin);
    return b.offset(accumulators[reduce], reduce.getType(), index);
  };

  // What the accumulators start from.
  outer = Scope();
  coordinates[reduced] = b.i64(0);
  for (unsigned output = 0; output < op.getOutputs().size(); ++output)
    prepareOutput(output);
  forVectors(begin, end, {}, [&](Block16 &block, ValueRange) {
    for (ReduceOp reduce : reduces) {
      Value start = getIdentity(b, reduce, b.vectorOf(reduce.getType()));
      for (auto [output, value] : llvm::enumerate(yield.getValues())) {
        if (value != reduce.getResult() || !op.getAccumulate()[output])
          continue;
        int64_t stride = op.getOutputAccessAt(output).getStrides()[vectorAxis];
        Value step = arith::MulIOp::create(b, block.position, b.i64(stride));
        Value pointer = b.offset(getBase(op.getInputs().size() + output),
                                 b.getF32Type(), step);
        start = b.loadVector(b.getF32Type(), pointer, stride, block.mask);
      }
      b.storeVector(reduce.getType(), start, getSlot(reduce, block), 1, {});
    }
    return SmallVector<Value>();
  });

  auto rows =
      scf::ForOp::create(b, b.i64(0), b.i64(op.getDomain()[reduced]), b.i64(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    outer = Scope();
    coordinates[reduced] = rows.getInductionVar();
    for (ReduceOp reduce : reduces)
      prepare(reduce.getOperand());
    forVectors(begin, end, {}, [&](Block16 &block, ValueRange) {
      for (ReduceOp reduce : reduces) {
        Value slot = getSlot(reduce, block);
        Value before = b.loadVector(reduce.getType(), slot, 1, {});
        Value after =
            combine(b, reduce, before, evaluate(reduce.getOperand(), &block));
        b.storeVector(reduce.getType(), after, slot, 1, {});
      }
      return SmallVector<Value>();
    });
  }

  outer = Scope();
  coordinates[reduced] = b.i64(0);
  for (unsigned output = 0; output < op.getOutputs().size(); ++output) {
    prepare(yield.getValues()[output]);
    prepareOutput(output);
  }
  forVectors(begin, end, {}, [&](Block16 &block, ValueRange) {
    for (ReduceOp reduce : reduces)
      block.values[reduce.getResult()] =
          b.loadVector(reduce.getType(), getSlot(reduce, block), 1, {});
    for (unsigned output = 0; output < op.getOutputs().size(); ++output)
      store(output, evaluate(yield.getValues()[output], &block), &block);
    return SmallVector<Value>();
  });
}

void FusedEmitter::emitColumns() {
  for (ReduceOp reduce : op.getBlock().getOps<ReduceOp>())
    accumulators[reduce] = LLVM::AllocaOp::create(
        b, pointers.front().getType(), b.getStorageType(reduce.getType()),
        b.i64(kStrip), /*alignment=*/64);
  forAxes(0, vectorAxis, [&] {
    Value begin = vectorAxis == 0 ? Value(function.getArgument(1)) : b.i64(0);
    Value end = vectorAxis == 0 ? Value(function.getArgument(2))
                                : b.i64(op.getDomain()[vectorAxis]);
    auto strips = scf::ForOp::create(b, begin, end, b.i64(kStrip));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(strips.getBody());
    Value first = strips.getInductionVar();
    Value last = arith::AddIOp::create(b, first, b.i64(kStrip));
    emitStrip(first, arith::MinSIOp::create(b, last, end));
  });
}

void FusedEmitter::emit() {
  vectorAxis = getRank() - (isColumn() ? 2 : 1);
  coordinates.resize(getRank());
  for (unsigned i = 0; i < op.getInputs().size() + op.getOutputs().size(); ++i)
    pointers.push_back(getPointer(b, function, i));
  if (isColumn())
    emitColumns();
  else
    forAxes(0, vectorAxis, [&] { emitRow(); });
  b.setInsertionPointToEnd(&function.getBody().front());
  endKernel(b);
}

void host::emitFused(FusedOp op, StringRef name, ModuleOp module) {
  FusedEmitter(op, name, module).emit();
}
