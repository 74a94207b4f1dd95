//===- HostFused.cpp - Loops of fused kernels on the host -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostFused.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::kern;

/// Columns that a column kernel accumulates at once, in memory that stays in
/// the first-level cache while whole rows go by.
constexpr int64_t kStrip = 256;

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
