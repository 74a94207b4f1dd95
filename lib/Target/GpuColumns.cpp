//===- GpuColumns.cpp - Column sums of fused kernels on GPUs --------------===//
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
    SmallVector<Value> joined;
    for (ReduceOp reduce : reduces)
      joined.append(shape.width, getIdentity(b, reduce, reduce.getType()));
    // Those of a round of groups are loaded together.
    constexpr int64_t kAhead = 8;
    auto addFrom = [&](int64_t begin, int64_t end, int64_t ahead) {
      auto loop = scf::ForOp::create(b, b.add(group, b.i64(begin)), b.i64(end),
                                     b.i64(ahead * shape.groups), joined);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> parts, next(loop.getRegionIterArgs());
      for (int64_t i = 0; i < ahead; ++i)
        for (size_t number = 0; number < sums.size(); ++number) {
          Value part = b.add(loop.getInductionVar(), b.i64(i * shape.groups));
          parts.push_back(
              b.loadScalar(sums[number].getType(), getPlace(part, number)));
        }
      for (auto [i, part] : llvm::enumerate(parts)) {
        size_t number = i % sums.size();
        next[number] =
            combine(b, reduces[number / shape.width], next[number], part);
      }
      scf::YieldOp::create(b, next);
      joined.assign(loop.getResults().begin(), loop.getResults().end());
    };
    int64_t round = kAhead * shape.groups, whole = shape.parts / round * round;
    if (whole > 0)
      addFrom(0, whole, kAhead);
    if (whole < shape.parts)
      addFrom(whole, shape.parts, 1);
    body(joinGroups(reduces, joined, thread, group));
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
