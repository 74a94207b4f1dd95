//===- GpuFused.cpp - Rows and elements of fused kernels on GPUs ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuFused.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;
using host::combine;
using host::getIdentity;

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
  joinLanes(std::min(kWarp, shape.threads));
  int64_t warps = shape.threads / kWarp, places = llvm::PowerOf2Ceil(warps);
  if (warps <= 1)
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
      b.runIf(b.both(chunk.isActive, isRowActive), [&] {
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
  b.runIf(b.both(isFirst, isRowActive), [&] {
    for (auto [output, value] : llvm::zip_equal(perRow, rowValues))
      storeUniform(output, value);
  });
}

void FusedEmitter::emitRow(Value thread) {
  int64_t levels = 0;
  for (Value value : yield.getValues())
    levels = std::max(levels, getLevel(value));
  // What is used behind a reduction is loaded before it, where there are
  // registers for it.
  if (shape.chunks == 1 && levels > 0) {
    SmallVector<Value> none;
    forChunks(thread, none, [&](Chunk &chunk, ValueRange) {
      for (Value value : yield.getValues())
        preload(value, chunk);
      return SmallVector<Value>();
    });
  }
  int64_t level = 1;
  if (SmallVector<ShiftedSum> shifted = findShiftedSums(); !shifted.empty()) {
    emitShiftedSums(shifted, thread);
    level = 3;
  }
  for (; level <= levels; ++level)
    emitLevel(level, thread);
  emitRowOutputs(thread);
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
    int64_t rows = shape.block[0] / shape.threads;
    Value thread = b.threadX();
    Value row =
        b.add(b.multiply(b.blockX(), rows), b.divide(thread, shape.threads));
    // All lanes of a warp go along; beyond the end they take the last row.
    if (shape.items % rows != 0) {
      isRowActive = b.isLess(row, b.i64(shape.items));
      row =
          arith::SelectOp::create(b, isRowActive, row, b.i64(shape.items - 1));
    }
    setCoordinates(row);
    emitRow(b.remainder(thread, shape.threads));
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
