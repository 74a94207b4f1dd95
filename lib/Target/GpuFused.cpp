//===- GpuFused.cpp - GPU code of fused kernels --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The region's scalar program is written out for each of the `width` elements
// that a thread takes at a time along the vector axis. Values that do not vary
// along it are computed once. Threads beyond the end take the first elements
// again, and neither add nor store them.
//
//===----------------------------------------------------------------------===//

#include "GpuCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;
using host::combine;
using host::getIdentity;

namespace {

/// The elements that a thread takes at one time.
struct Chunk {
  Value position; ///< Coordinate of the first on the vector axis, always one
                  ///< that exists.
  Value isActive; ///< Null: always.
  SmallVector<DenseMap<Value, Value>> lanes;
};

class FusedEmitter {
public:
  FusedEmitter(FusedOp op, StringRef name, ModuleOp module)
      : op(op), name(name), shape(getShape(op)),
        b(op.getLoc(), module, name,
          op.getInputs().size() + op.getOutputs().size(), shape.block),
        yield(cast<YieldOp>(op.getBlock().back())),
        coordinates(op.getDomain().size()) {}
  void emit();

private:
  // Analysis.
  bool varies(Value value);
  int64_t getLevel(Value value);

  // Values.
  Chunk makeChunk(Value position, Value isActive = {});
  Value evaluate(Value value, Chunk *chunk, int64_t lane = 0);
  void load(unsigned input, Chunk &chunk);
  Value loadUniform(unsigned input);
  Value getBase(unsigned operand);
  Value getAddress(unsigned operand, Value position);
  void prepare(Value value);
  void store(unsigned output, ArrayRef<Value> values, Chunk &chunk);
  void storeUniform(unsigned output, Value value);

  // Styles.
  void setCoordinates(Value index);
  void emitElementwise();
  void emitRow(Value thread);
  void
  forChunks(Value thread, SmallVectorImpl<Value> &carried,
            llvm::function_ref<SmallVector<Value>(Chunk &, ValueRange)> body);
  void emitLevel(int64_t level, Value thread);
  void emitRowOutputs(Value thread);
  SmallVector<Value> joinThreads(MutableArrayRef<ReduceOp> reduces,
                                 ArrayRef<Value> sums, Value thread);
  void emitColumns();
  SmallVector<Value> sumColumns(MutableArrayRef<ReduceOp> reduces, Chunk &chunk,
                                Value group, Value begin, Value end);
  SmallVector<Value> joinGroups(MutableArrayRef<ReduceOp> reduces,
                                ArrayRef<Value> sums, Value thread,
                                Value group);
  void joinParts(MutableArrayRef<ReduceOp> reduces, ArrayRef<Value> sums,
                 Value item, Value thread, Value group,
                 llvm::function_ref<void(ArrayRef<Value>)> body);

  FusedOp op;
  StringRef name;
  Shape shape;
  GpuBuilder b;
  YieldOp yield;
  SmallVector<Value> coordinates; ///< Null: the vector axis, or none yet.
  DenseMap<Value, Value>
      uniform; ///< Values that do not vary along the vector axis.
  DenseMap<unsigned, Value> bases;
  SmallVector<Chunk> held; ///< Unrolled rows: chunks of earlier passes.
  Value shared;
  int64_t usedShared = 0;
  DenseMap<Value, bool> variesCache;
  DenseMap<Value, int64_t> levelCache;
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
    Value position = chunk.position;
    if (guard)
      position = b.clamp(position, guard->first, guard->second - shape.width);
    SmallVector<Value> values =
        b.loadWide(element, getAddress(input, position), shape.width);
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
    SmallVector<Value> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(evaluate(operand, chunk, lane));
    result = host::evaluateOp(b, inner, operands, b.getI1Type());
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

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void FusedEmitter::emitElementwise() {
  int64_t vectors = shape.extent / shape.width,
          threads = int64_t(shape.grid[0]) * shape.threads;
  Value first = b.linear(shape.threads, threads);
  auto emitItem = [&](Value item) {
    Value vector = item;
    if (shape.vectorAxis > 0) {
      vector = b.remainder(item, vectors);
      setCoordinates(b.divide(item, vectors));
    }
    Value position = b.multiply(vector, shape.width);
    Chunk chunk = makeChunk(
        shape.begin == 0 ? position : b.add(position, b.i64(shape.begin)));
    // All is read before anything is written: an output may be an input's
    // memory.
    SmallVector<SmallVector<Value>> values;
    for (Value value : yield.getValues()) {
      values.emplace_back();
      for (int64_t lane = 0; lane < shape.width; ++lane)
        values.back().push_back(evaluate(value, &chunk, lane));
    }
    for (auto [output, elements] : llvm::enumerate(values))
      store(output, elements, chunk);
  };
  if (threads >= shape.items) {
    b.runIf(threads == shape.items ? Value()
                                   : b.isLess(first, b.i64(shape.items)),
            [&] { emitItem(first); });
    return;
  }
  auto loop = scf::ForOp::create(b, first, b.i64(shape.items), b.i64(threads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  emitItem(loop.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Runs the body over a thread's chunks, in increasing order. Unrolled rows
/// keep what they loaded from pass to pass.
void FusedEmitter::forChunks(
    Value thread, SmallVectorImpl<Value> &carried,
    llvm::function_ref<SmallVector<Value>(Chunk &, ValueRange)> body) {
  int64_t step = shape.threads * shape.width, whole = shape.extent / step;
  Value first = b.add(b.multiply(thread, shape.width), b.i64(shape.begin));
  auto makeNumbered = [&](int64_t number) {
    Value position = b.add(first, b.i64(number * step));
    Value isActive =
        number < whole ? Value()
                       : b.isLess(position, b.i64(shape.begin + shape.extent));
    return makeChunk(position, isActive);
  };
  if (shape.isUnrolled) {
    if (held.empty())
      for (int64_t number = 0; number < shape.chunks; ++number)
        held.push_back(makeNumbered(number));
    for (Chunk &chunk : held)
      carried = body(chunk, carried);
    return;
  }
  auto loop = scf::ForOp::create(b, b.i64(0), b.i64(whole), b.i64(1), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Chunk chunk =
        makeChunk(b.add(first, b.multiply(loop.getInductionVar(), step)));
    SmallVector<Value> next = body(chunk, loop.getRegionIterArgs());
    if (!next.empty())
      scf::YieldOp::create(b, next);
  }
  carried.assign(loop.getResults().begin(), loop.getResults().end());
  if (whole == shape.chunks)
    return;
  Chunk last = makeNumbered(whole);
  carried = body(last, carried);
}

/// Joins the threads' sums: lanes of a warp whose numbers differ in one bit,
/// from the highest, then warps alike. All threads get the result.
SmallVector<Value> FusedEmitter::joinThreads(MutableArrayRef<ReduceOp> reduces,
                                             ArrayRef<Value> sums,
                                             Value thread) {
  SmallVector<Value> joined(sums);
  auto joinLanes = [&](int64_t count) {
    for (auto [reduce, sum] : llvm::zip_equal(reduces, joined))
      for (int64_t mask = count / 2; mask >= 1; mask /= 2)
        sum = combine(b, reduce, sum, b.exchange(sum, mask));
  };
  joinLanes(kWarp);
  int64_t warps = shape.threads / kWarp, places = llvm::PowerOf2Ceil(warps);
  if (warps == 1)
    return joined;
  SmallVector<Value> slots;
  for (size_t i = 0; i < reduces.size(); ++i, usedShared += warps)
    slots.push_back(b.offset(shared, b.getI64Type(), b.i64(usedShared)));
  auto getSlot = [&](size_t number, Value warp) {
    return b.offset(slots[number], b.getI64Type(), warp);
  };
  Value lane = b.remainder(thread, kWarp);
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, b.i64(0));
  b.runIf(isFirst, [&] {
    for (size_t i = 0; i < reduces.size(); ++i)
      b.storeScalar(reduces[i].getType(), joined[i],
                    getSlot(i, b.divide(thread, kWarp)));
  });
  b.synchronizeBlock();
  Value place = b.remainder(thread, places),
        isTaken = b.isLess(place, b.i64(warps));
  for (size_t i = 0; i < reduces.size(); ++i) {
    Type type = reduces[i].getType();
    joined[i] = b.loadScalar(type, getSlot(i, b.clamp(place, 0, warps - 1)));
    if (places != warps)
      joined[i] = arith::SelectOp::create(b, isTaken, joined[i],
                                          getIdentity(b, reduces[i], type));
  }
  joinLanes(places);
  return joined;
}

/// One pass over the row for the reductions of one level.
void FusedEmitter::emitLevel(int64_t level, Value thread) {
  SmallVector<ReduceOp> reduces;
  SmallVector<Value> sums;
  for (ReduceOp reduce : op.getBlock().getOps<ReduceOp>()) {
    if (getLevel(reduce) != level)
      continue;
    reduces.push_back(reduce);
    sums.push_back(getIdentity(b, reduce, reduce.getType()));
    prepare(reduce.getOperand());
  }
  forChunks(thread, sums, [&](Chunk &chunk, ValueRange old) {
    SmallVector<Value> next;
    for (auto [reduce, before] : llvm::zip_equal(reduces, old)) {
      Value after = before;
      for (int64_t lane = 0; lane < shape.width; ++lane)
        after = combine(b, reduce, after,
                        evaluate(reduce.getOperand(), &chunk, lane));
      if (chunk.isActive)
        after = arith::SelectOp::create(b, chunk.isActive, after, before);
      next.push_back(after);
    }
    return next;
  });
  for (auto [reduce, sum] :
       llvm::zip_equal(reduces, joinThreads(reduces, sums, thread)))
    uniform[reduce.getResult()] = sum;
}

/// The last pass: outputs that have an element per point, then those that have
/// one per row.
void FusedEmitter::emitRowOutputs(Value thread) {
  SmallVector<unsigned> perPoint, perRow;
  for (unsigned output = 0; output < op.getOutputs().size(); ++output)
    (op.getOutputAccessAt(output).getStrides().back() == 0 ? perRow : perPoint)
        .push_back(output);
  SmallVector<Value> rowValues;
  for (unsigned output : perRow)
    rowValues.push_back(evaluate(yield.getValues()[output], nullptr));
  for (unsigned output : perPoint) {
    prepare(yield.getValues()[output]);
    getBase(op.getInputs().size() + output);
  }
  SmallVector<Value> none;
  if (!perPoint.empty())
    forChunks(thread, none, [&](Chunk &chunk, ValueRange) {
      SmallVector<SmallVector<Value>> values;
      for (unsigned output : perPoint) {
        values.emplace_back();
        for (int64_t lane = 0; lane < shape.width; ++lane)
          values.back().push_back(
              evaluate(yield.getValues()[output], &chunk, lane));
      }
      b.runIf(chunk.isActive, [&] {
        for (auto [output, elements] : llvm::zip_equal(perPoint, values))
          store(output, elements, chunk);
      });
      return SmallVector<Value>();
    });
  if (perRow.empty())
    return;
  // One thread writes what others may still have to read.
  if (shape.style == Style::BlockRows)
    b.synchronizeBlock();
  else
    b.synchronizeWarp();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, b.i64(0));
  b.runIf(isFirst, [&] {
    for (auto [output, value] : llvm::zip_equal(perRow, rowValues))
      storeUniform(output, value);
  });
}

void FusedEmitter::emitRow(Value thread) {
  int64_t levels = 0;
  for (Value value : yield.getValues())
    levels = std::max(levels, getLevel(value));
  for (int64_t level = 1; level <= levels; ++level)
    emitLevel(level, thread);
  emitRowOutputs(thread);
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Each thread's sums over those of rows [begin, end) that are its group's,
/// `width` by reduction.
SmallVector<Value> FusedEmitter::sumColumns(MutableArrayRef<ReduceOp> reduces,
                                            Chunk &chunk, Value group,
                                            Value begin, Value end) {
  constexpr int64_t kAhead = 4; // rows whose loads are under way together
  int64_t reduced = op.getDomain().size() - 1;
  SmallVector<Value> sums;
  for (ReduceOp reduce : reduces)
    sums.append(shape.width, getIdentity(b, reduce, reduce.getType()));

  auto evaluateRow = [&](Value row) {
    uniform.clear();
    bases.clear();
    coordinates[reduced] = row;
    Chunk fresh = makeChunk(chunk.position);
    SmallVector<Value> values;
    for (ReduceOp reduce : reduces)
      for (int64_t lane = 0; lane < shape.width; ++lane)
        values.push_back(evaluate(reduce.getOperand(), &fresh, lane));
    return values;
  };
  auto addRow = [&](SmallVectorImpl<Value> &into, ArrayRef<Value> values) {
    for (auto [number, value] : llvm::enumerate(values))
      into[number] =
          combine(b, reduces[number / shape.width], into[number], value);
  };
  auto sumFrom = [&](Value first, Value limit, int64_t ahead) {
    auto loop =
        scf::ForOp::create(b, first, limit, b.i64(ahead * shape.groups), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<SmallVector<Value>> rows;
    for (int64_t i = 0; i < ahead; ++i)
      rows.push_back(
          evaluateRow(b.add(loop.getInductionVar(), b.i64(i * shape.groups))));
    SmallVector<Value> next(loop.getRegionIterArgs());
    for (ArrayRef<Value> values : rows)
      addRow(next, values);
    scf::YieldOp::create(b, next);
    sums.assign(loop.getResults().begin(), loop.getResults().end());
  };
  // Whole rounds of all groups, then the rest.
  int64_t round = kAhead * shape.groups;
  Value rows = arith::SubIOp::create(b, end, begin);
  Value middle = b.add(begin, b.multiply(b.divide(rows, round), round));
  sumFrom(b.add(begin, group), middle, kAhead);
  sumFrom(b.add(middle, group), end, 1);
  return sums;
}

/// Joins the groups' sums in halves, in shared memory; the first group gets the
/// result.
SmallVector<Value> FusedEmitter::joinGroups(MutableArrayRef<ReduceOp> reduces,
                                            ArrayRef<Value> sums, Value thread,
                                            Value group) {
  SmallVector<Value> joined(sums);
  int64_t plane = shape.groups * shape.threads;
  auto getSlot = [&](size_t number, int64_t above) {
    Value place = b.add(b.multiply(group, shape.threads), thread);
    return b.offset(
        shared, b.getI64Type(),
        b.add(place, b.i64(number * plane + above * shape.threads)));
  };
  for (int64_t half = shape.groups / 2; half >= 1; half /= 2) {
    for (auto [number, sum] : llvm::enumerate(joined))
      b.storeScalar(sum.getType(), sum, getSlot(number, 0));
    b.synchronizeBlock();
    // Groups beyond the half add what does not matter.
    Value isLow = b.isLess(group, b.i64(half));
    for (auto [number, sum] : llvm::enumerate(joined)) {
      Value other = arith::SelectOp::create(b, isLow, getSlot(number, half),
                                            getSlot(number, 0));
      sum = combine(b, reduces[number / shape.width], sum,
                    b.loadScalar(sum.getType(), other));
    }
    b.synchronizeBlock();
  }
  return joined;
}

/// Joins the parts' sums: each block leaves its own in global memory, and the
/// last one to do so, whichever that is, goes on with all of them, in their
/// order. The body runs in that block alone.
void FusedEmitter::joinParts(MutableArrayRef<ReduceOp> reduces,
                             ArrayRef<Value> sums, Value item, Value thread,
                             Value group,
                             llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (shape.parts == 1)
    return body(sums);
  int64_t width =
      int64_t(shape.grid[0]) * shape.threads; // threads side by side
  int64_t count = sums.size();
  Value left = b.allocateGlobal((name + "_parts").str(),
                                shape.parts * count * width * kSlotBytes);
  Value arrived =
      b.allocateGlobal((name + "_arrived").str(), int64_t(shape.grid[0]) * 4);
  auto getPlace = [&](Value part, size_t number) {
    Value plane = b.add(b.multiply(part, count), b.i64(number));
    return b.offset(left, b.getI64Type(),
                    b.add(b.multiply(plane, width), item));
  };
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, b.i64(0));
  b.runIf(isFirst, [&] {
    for (auto [number, sum] : llvm::enumerate(sums))
      b.storeScalar(sum.getType(), sum, getPlace(b.blockY(), number));
  });
  Value isLast = b.arriveLast(arrived, shape.parts, thread, group, shared);
  b.runIf(isLast, [&] {
    // Parts go round the groups as rows do.
    SmallVector<Value> init;
    for (ReduceOp reduce : reduces)
      init.append(shape.width, getIdentity(b, reduce, reduce.getType()));
    auto loop = scf::ForOp::create(b, group, b.i64(shape.parts),
                                   b.i64(shape.groups), init);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> next;
      for (auto [number, sum] : llvm::enumerate(loop.getRegionIterArgs())) {
        Value part = b.loadScalar(sum.getType(),
                                  getPlace(loop.getInductionVar(), number));
        next.push_back(combine(b, reduces[number / shape.width], sum, part));
      }
      scf::YieldOp::create(b, next);
    }
    body(joinGroups(reduces, SmallVector<Value>(loop.getResults()), thread,
                    group));
  });
}

void FusedEmitter::emitColumns() {
  int64_t reduced = op.getDomain().size() - 1,
          vectors = shape.extent / shape.width;
  SmallVector<ReduceOp> reduces(op.getBlock().getOps<ReduceOp>());
  Value thread = b.threadX(),
        group = shape.groups == 1 ? b.i64(0) : b.threadY();
  Value place = b.linear(shape.threads, int64_t(shape.grid[0]) * shape.threads),
        item = place;
  // Threads without columns go along: all take part in barriers.
  Value isActive;
  if (int64_t(shape.grid[0]) * shape.threads != shape.items) {
    isActive = b.isLess(item, b.i64(shape.items));
    item = arith::SelectOp::create(b, isActive, item, b.i64(0));
  }
  Value vector = item;
  if (shape.vectorAxis > 0) {
    vector = b.remainder(item, vectors);
    setCoordinates(b.divide(item, vectors));
  }
  Chunk chunk =
      makeChunk(b.add(b.multiply(vector, shape.width), b.i64(shape.begin)));
  int64_t rows = op.getDomain()[reduced],
          each = llvm::divideCeil(rows, shape.parts);
  Value begin = b.i64(0), end = b.i64(rows);
  if (shape.parts > 1) {
    begin = b.multiply(b.blockY(), each);
    end = b.clamp(b.add(begin, b.i64(each)), 0, rows);
    begin = b.clamp(begin, 0, rows);
  }
  SmallVector<Value> sums = joinGroups(
      reduces, sumColumns(reduces, chunk, group, begin, end), thread, group);
  if (shape.groups > 1) {
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, b.i64(0));
    isActive =
        isActive ? Value(arith::AndIOp::create(b, isActive, isFirst)) : isFirst;
  }
  joinParts(reduces, sums, place, thread, group, [&](ArrayRef<Value> joined) {
    for (auto [number, sum] : llvm::enumerate(joined))
      chunk.lanes[number % shape.width]
                 [reduces[number / shape.width].getResult()] = sum;
    uniform.clear();
    bases.clear();
    coordinates[reduced] = b.i64(0);
    b.runIf(isActive, [&] {
      for (auto [output, value] : llvm::enumerate(yield.getValues())) {
        SmallVector<Value> elements;
        for (int64_t lane = 0; lane < shape.width; ++lane)
          elements.push_back(evaluate(value, &chunk, lane));
        store(output, elements, chunk);
      }
    });
  });
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

void FusedEmitter::emit() {
  int64_t reduces = llvm::range_size(op.getBlock().getOps<ReduceOp>());
  int64_t slots = 0;
  if (shape.style == Style::BlockRows)
    slots = reduces * (shape.threads / kWarp);
  else if (shape.style == Style::Columns && shape.groups > 1)
    slots = reduces * shape.width * shape.groups * shape.threads;
  // A slot holds a value of any type.
  if (slots > 0)
    shared = b.allocateShared((name + "_shared").str(), slots * kSlotBytes);
  switch (shape.style) {
  case Style::Elementwise:
    emitElementwise();
    break;
  case Style::WarpRows: {
    int64_t warps = shape.block[0] / kWarp;
    Value thread = b.threadX();
    Value row = b.add(b.multiply(b.blockX(), warps), b.divide(thread, kWarp));
    b.runIf(shape.items % warps == 0 ? Value()
                                     : b.isLess(row, b.i64(shape.items)),
            [&] {
              setCoordinates(row);
              emitRow(b.remainder(thread, kWarp));
            });
    break;
  }
  case Style::BlockRows:
    setCoordinates(b.blockX());
    emitRow(b.threadX());
    break;
  case Style::Columns:
    emitColumns();
    break;
  }
  b.finish();
}

void gpu::emitFused(FusedOp op, StringRef name, ModuleOp module) {
  FusedEmitter(op, name, module).emit();
}
