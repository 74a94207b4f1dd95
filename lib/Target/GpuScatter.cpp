//===- GpuScatter.cpp - Sums of rows by index on GPUs --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A block has a few update rows of its own, far apart, as the rows where
// frequent indices come first lie side by side. For each of them whose index
// none before has, it adds all rows with that index, in their order, to the
// target's row: no two blocks touch the same row, and no order is left to
// chance.
//
// To find them it goes through all indices, a window at a time. A filter in
// shared memory, one byte for each remainder of an index, passes hardly any but
// those that the block looks for; these few are compared, and for each of the
// block's rows there is a bit for each index of the window.
//
//===----------------------------------------------------------------------===//

#include "GpuCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;

constexpr int64_t kBlock = 256;
constexpr int64_t kWarps = kBlock / kWarp;
/// Update rows of a block.
constexpr int64_t kRows = 8;
/// Remainders that the filter knows.
constexpr int64_t kFilter = 4096;
/// Indices of a window: a word of bits for each thread.
constexpr int64_t kWindow = kBlock * 32;
/// Indices that a thread loads together.
constexpr int64_t kAhead = 4;
/// Update rows that are under way together.
constexpr int64_t kUnderWay = 4;

static Type getElement(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

static int64_t getBlocks(ScatterAddOp op) {
  return llvm::divideCeil(op.getCount(), kRows);
}

Extents gpu::getExtents(ScatterAddOp op) {
  return {{kBlock, 1, 1}, {uint32_t(getBlocks(op) * op.getOuter()), 1, 1}};
}

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(ScatterAddOp op, StringRef name, ModuleOp module)
      : op(op),
        b(op.getLoc(), module, name, /*parameters=*/4, getExtents(op).block),
        element(getElement(op.getUpdates())),
        sumType(getElement(op.getTarget())),
        indexElement(getElement(op.getIndices())) {
    auto allocate = [&](StringRef part, int64_t bytes) {
      return b.allocateShared((name + part).str(), bytes);
    };
    filter = allocate("_filter", kFilter);
    wanted = allocate("_wanted", kRows * 8);
    words = allocate("_words", kWindow / 8);
    bits = allocate("_bits", kRows * kWindow / 8);
    summary = allocate("_summary", kRows * kWarps * 4);
    list = allocate("_list", kWindow * 2);
    width = 16 / getElementBytes(sumType);
    while (op.getInner() % width != 0)
      width /= 2;
  }

  void emit() {
    thread = b.threadX();
    lane = b.remainder(thread, kWarp);
    warp = b.divide(thread, kWarp);
    outer = b.divide(b.blockX(), getBlocks(op));
    first = b.remainder(b.blockX(), getBlocks(op));
    fillFilter();
    auto windows =
        scf::ForOp::create(b, b.i64(0), b.i64(op.getCount()), b.i64(kWindow),
                           ValueRange{b.integer(b.getI32Type(), 0)});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(windows.getBody());
      start = windows.getInductionVar();
      scanWindow();
      b.synchronizeBlock();
      compareCandidates();
      b.synchronizeBlock();
      Value done = addRows(windows.getRegionIterArg(0));
      b.synchronizeBlock();
      scf::YieldOp::create(b, ValueRange{done});
    }
    b.finish();
  }

private:
  Value isZero(Value number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number,
                                 b.integer(number.getType(), 0));
  }
  Value isSet(Value number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, number,
                                 b.integer(number.getType(), 0));
  }
  std::pair<Value, Value> loadIndex(Value number) {
    return host::loadIndex(b, indexElement,
                           b.offset(b.getParameter(1), indexElement, number),
                           op.getExtent());
  }
  /// The number of the block's `row`th row.
  Value getOwn(Value row) {
    return b.add(first, b.multiply(row, getBlocks(op)));
  }
  Value getPlace(Value index) {
    return b.offset(filter, b.getI8Type(),
                    arith::AndIOp::create(b, index, b.i64(kFilter - 1)));
  }
  Value getBits(Value row, Value word) {
    return b.offset(bits, b.getI32Type(), b.add(b.multiply(row, kBlock), word));
  }
  Value getSummary(Value row, Value warp) {
    return b.offset(summary, b.getI32Type(),
                    b.add(b.multiply(row, kWarps), warp));
  }
  Value loadWord(Value pointer) {
    return b.loadScalar(b.getI32Type(), pointer);
  }
  /// The lowest bit's number.
  Value findFirst(Value word) {
    Value lowest = LLVM::CountTrailingZerosOp::create(b, b.getI32Type(), word,
                                                      /*is_zero_poison=*/false);
    return arith::ExtUIOp::create(b, b.getI64Type(), lowest);
  }
  Value shiftOne(Value bit) {
    return arith::ShLIOp::create(
        b, b.integer(b.getI32Type(), 1),
        arith::TruncIOp::create(b, b.getI32Type(), bit));
  }

  /// Runs the body for each bit that is set, from the lowest.
  SmallVector<Value>
  forBits(Value word, ArrayRef<Value> carried,
          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    SmallVector<Value> init{word};
    llvm::append_range(init, carried);
    SmallVector<Type> types(ValueRange(init).getTypes());
    SmallVector<Location> locations(types.size(), op.getLoc());
    auto loop = scf::WhileOp::create(b, types, init);
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
    scf::ConditionOp::create(b, isSet(before->getArgument(0)),
                             before->getArguments());
    Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
    Value left = after->getArgument(0);
    SmallVector<Value> next =
        body(findFirst(left), after->getArguments().drop_front());
    Value rest = arith::AndIOp::create(
        b, left, arith::SubIOp::create(b, left, b.integer(b.getI32Type(), 1)));
    next.insert(next.begin(), rest);
    scf::YieldOp::create(b, next);
    return SmallVector<Value>(loop.getResults().drop_front());
  }

  void fillFilter() {
    Type i64 = b.getI64Type();
    for (int64_t at = 0; at < kFilter / 8; at += kBlock)
      b.storeScalar(i64, b.i64(0),
                    b.offset(filter, i64, b.add(thread, b.i64(at))));
    b.synchronizeBlock();
    b.runIf(b.isLess(thread, b.i64(kRows)), [&] {
      Value mine = getOwn(thread);
      Value exists = b.isLess(mine, b.i64(op.getCount()));
      auto [index, isValid] =
          loadIndex(arith::SelectOp::create(b, exists, mine, first));
      Value isWanted = arith::AndIOp::create(b, exists, isValid);
      b.storeScalar(i64, arith::SelectOp::create(b, isWanted, index, b.i64(-1)),
                    b.offset(wanted, i64, thread));
      auto branch = scf::IfOp::create(b, isValid, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      b.storeScalar(b.getI8Type(), b.integer(b.getI8Type(), 1),
                    getPlace(index));
      b.setInsertionPointToStart(branch.elseBlock());
      reportInvalid(b, b.getParameter(3));
    });
    b.synchronizeBlock();
  }

  /// One bit for each index of the window that the filter passes.
  void scanWindow() {
    constexpr int64_t kSteps = kWindow / kBlock;
    auto loop = scf::ForOp::create(b, b.i64(0), b.i64(kSteps), b.i64(kAhead));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> exist, indices;
    for (int64_t i = 0; i < kAhead; ++i) {
      Value step = b.add(loop.getInductionVar(), b.i64(i));
      Value number = b.add(b.add(start, b.multiply(step, kBlock)), thread);
      exist.push_back(b.isLess(number, b.i64(op.getCount())));
      indices.push_back(
          loadIndex(arith::SelectOp::create(b, exist[i], number, b.i64(0)))
              .first);
    }
    for (int64_t i = 0; i < kAhead; ++i) {
      Value passes = isSet(b.loadScalar(b.getI8Type(), getPlace(indices[i])));
      Value word = b.ballot(arith::AndIOp::create(b, passes, exist[i]));
      Value step = b.add(loop.getInductionVar(), b.i64(i));
      b.runIf(isZero(lane), [&] {
        b.storeScalar(b.getI32Type(), word,
                      b.offset(words, b.getI32Type(),
                               b.add(b.multiply(step, kWarps), warp)));
      });
    }
  }

  /// Of each of the block's rows one bit for each index that is its own; each
  /// thread takes one word of the window.
  void compareCandidates() {
    Type i32 = b.getI32Type();
    for (int64_t row = 0; row < kRows; ++row)
      b.storeScalar(i32, b.integer(i32, 0), getBits(b.i64(row), thread));
    forBits(
        loadWord(b.offset(words, i32, thread)), {}, [&](Value bit, ValueRange) {
          Value number = b.add(b.add(start, b.multiply(thread, kWarp)), bit);
          auto [index, isValid] = loadIndex(number);
          for (int64_t row = 0; row < kRows; ++row) {
            Value own = b.loadScalar(
                b.getI64Type(), b.offset(wanted, b.getI64Type(), b.i64(row)));
            Value isOwn =
                arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, own);
            isOwn = arith::AndIOp::create(b, isOwn, isValid);
            b.runIf(isOwn, [&] {
              Value place = getBits(b.i64(row), thread);
              b.storeScalar(
                  i32, arith::OrIOp::create(b, loadWord(place), shiftOne(bit)),
                  place);
            });
          }
          return SmallVector<Value>();
        });
    // The loops of a warp's threads end at different times.
    b.synchronizeWarp();
    for (int64_t row = 0; row < kRows; ++row) {
      Value word = b.ballot(isSet(loadWord(getBits(b.i64(row), thread))));
      b.runIf(isZero(lane),
              [&] { b.storeScalar(i32, word, getSummary(b.i64(row), warp)); });
    }
  }

  /// Adds what the window has for the block's rows. `done`: a bit for each of
  /// these that another block adds; returned with those found now. All threads
  /// see the same.
  Value addRows(Value done) {
    Type i32 = b.getI32Type();
    auto loop = scf::ForOp::create(b, b.i64(0), b.i64(kRows), b.i64(1),
                                   ValueRange{done});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar();
    // Warps with bits, and where the first is.
    Value warps = b.integer(i32, 0);
    for (int64_t i = 0; i < kWarps; ++i) {
      Value isTaken = isSet(loadWord(getSummary(row, b.i64(i))));
      warps = arith::OrIOp::create(
          b, warps,
          arith::SelectOp::create(b, isTaken, b.integer(i32, 1 << i),
                                  b.integer(i32, 0)));
    }
    Value hasAny = isSet(warps);
    // Where there is none, what is read is not used.
    Value firstWarp =
        arith::AndIOp::create(b, findFirst(warps), b.i64(kWarps - 1));
    Value firstLane = arith::AndIOp::create(
        b, findFirst(loadWord(getSummary(row, firstWarp))), b.i64(kWarp - 1));
    Value firstWord = b.add(b.multiply(firstWarp, kWarp), firstLane);
    Value lowest = b.add(b.add(start, b.multiply(firstWord, kWarp)),
                         findFirst(loadWord(getBits(row, firstWord))));
    Value isEarlier =
        arith::AndIOp::create(b, hasAny, b.isLess(lowest, getOwn(row)));
    Value next = arith::OrIOp::create(
        b, loop.getRegionIterArg(0),
        arith::SelectOp::create(b, isEarlier, shiftOne(row),
                                b.integer(i32, 0)));
    Value isDone = isSet(arith::AndIOp::create(b, next, shiftOne(row)));
    Value adds = arith::AndIOp::create(
        b, hasAny,
        arith::XOrIOp::create(b, isDone, b.integer(b.getI1Type(), 1)));
    // All threads go together.
    b.runIf(adds, [&] {
      Value count = fillList(row, warps);
      b.synchronizeBlock();
      addColumns(row, count);
      b.synchronizeBlock();
    });
    scf::YieldOp::create(b, ValueRange{next});
    return loop.getResult(0);
  }

  /// Writes the places in the window of a row's bits, in order; returns how
  /// many there are.
  Value fillList(Value row, Value warps) {
    Type i32 = b.getI32Type();
    Value zero = b.i64(0);
    // All bits, and those before the thread's own word.
    SmallVector<Value> counts =
        forBits(warps, {zero, zero}, [&](Value w, ValueRange outside) {
          return forBits(
              loadWord(getSummary(row, w)), SmallVector<Value>(outside),
              [&](Value l, ValueRange old) {
                Value word = b.add(b.multiply(w, kWarp), l);
                Value bits =
                    LLVM::CtPopOp::create(b, i32, loadWord(getBits(row, word)));
                bits = arith::ExtUIOp::create(b, b.getI64Type(), bits);
                Value isBefore = b.isLess(word, thread);
                return SmallVector<Value>{
                    b.add(old[0], bits),
                    b.add(old[1],
                          arith::SelectOp::create(b, isBefore, bits, zero))};
              });
        });
    forBits(loadWord(getBits(row, thread)), {counts[1]},
            [&](Value bit, ValueRange at) {
              Value place = b.add(b.multiply(thread, kWarp), bit);
              b.storeScalar(b.getI16Type(),
                            arith::TruncIOp::create(b, b.getI16Type(), place),
                            b.offset(list, b.getI16Type(), at[0]));
              return SmallVector<Value>{b.add(at[0], b.i64(1))};
            });
    return counts[0];
  }

  /// Adds the listed rows to the target's, `width` columns at a time.
  void addColumns(Value row, Value count) {
    Value index =
        b.loadScalar(b.getI64Type(), b.offset(wanted, b.getI64Type(), row));
    Value target = b.add(b.multiply(outer, op.getExtent()), index);
    Value to =
        b.offset(b.getParameter(2), sumType, b.multiply(target, op.getInner()));
    auto columns =
        scf::ForOp::create(b, b.multiply(thread, width), b.i64(op.getInner()),
                           b.i64(kBlock * width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(columns.getBody());
    Value column = columns.getInductionVar();
    Value pointer = b.offset(to, sumType, column);
    SmallVector<Value> sums = load(sumType, pointer);
    Value whole = b.multiply(b.divide(count, kUnderWay), kUnderWay);
    sums = addRange(b.i64(0), whole, kUnderWay, column, sums);
    sums = addRange(whole, count, 1, column, sums);
    b.storeWide(sumType, sums, pointer);
  }

  /// Adds rows [begin, end) of the list, `step` of which are loaded together.
  SmallVector<Value> addRange(Value begin, Value end, int64_t step,
                              Value column, ArrayRef<Value> sums) {
    auto loop = scf::ForOp::create(b, begin, end, b.i64(step), sums);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> updates, next(loop.getRegionIterArgs());
    for (int64_t i = 0; i < step; ++i) {
      Value place = b.loadScalar(
          b.getI16Type(), b.offset(list, b.getI16Type(),
                                   b.add(loop.getInductionVar(), b.i64(i))));
      place = arith::ExtUIOp::create(b, b.getI64Type(), place);
      Value source =
          b.add(b.multiply(outer, op.getCount()), b.add(start, place));
      Value at = b.add(b.multiply(source, op.getInner()), column);
      llvm::append_range(
          updates, load(element, b.offset(b.getParameter(0), element, at)));
    }
    for (auto [i, update] : llvm::enumerate(updates))
      next[i % width] = arith::AddFOp::create(b, next[i % width], update);
    scf::YieldOp::create(b, next);
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> load(Type type, Value pointer) {
    SmallVector<Value> values = b.loadWide(type, pointer, width);
    for (Value &value : values)
      if (value.getType() != sumType)
        value = arith::ExtFOp::create(b, sumType, value);
    return values;
  }

  ScatterAddOp op;
  GpuBuilder b;
  Type element, sumType, indexElement;
  int64_t width = 1;
  Value filter, wanted, words, bits, summary, list;
  Value thread, lane, warp, outer, first, start;
};

} // namespace

void gpu::emitScatterAdd(ScatterAddOp op, StringRef name, ModuleOp module) {
  ScatterEmitter(op, name, module).emit();
}
