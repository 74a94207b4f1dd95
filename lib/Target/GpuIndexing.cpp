//===- GpuIndexing.cpp - GPU code of gathers, scatters and tables --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Kernels that read indices have one more parameter, an i32 that they set to 1
// where one is out of range.
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
constexpr int64_t kMostBlocks = 1 << 16;
constexpr int64_t kWarps = kBlock / kWarp;

static Type getElement(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

static void reportInvalid(GpuBuilder &b, Value status) {
  LLVM::StoreOp::create(b, b.integer(b.getI32Type(), 1), status, 4);
}

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// Elements that a thread copies: 16 bytes where rows are that long.
static int64_t getWidth(GatherOp op) {
  int64_t width = 16 / getElementBytes(getElement(op.getSource()));
  while (op.getInner() % width != 0)
    width /= 2;
  return width;
}

static int64_t getItems(GatherOp op) {
  return op.getOuter() * op.getCount() * (op.getInner() / getWidth(op));
}

Extents gpu::getExtents(GatherOp op) {
  return {{kBlock, 1, 1},
          {uint32_t(std::min<int64_t>(kMostBlocks,
                                      llvm::divideCeil(getItems(op), kBlock))),
           1, 1}};
}

void gpu::emitGather(GatherOp op, StringRef name, ModuleOp module) {
  Extents extents = getExtents(op);
  GpuBuilder b(op.getLoc(), module, name, /*parameters=*/4, extents.block);
  Value source = b.getParameter(0), indices = b.getParameter(1),
        target = b.getParameter(2), status = b.getParameter(3);
  Type element = getElement(op.getSource()),
       indexElement = getElement(op.getIndices());
  int64_t width = getWidth(op), vectors = op.getInner() / width,
          tuple = op.getExtents().size(), table = 1;
  for (int64_t extent : op.getExtents())
    table *= extent;
  int64_t threads = int64_t(extents.grid[0]) * kBlock;
  auto loop = scf::ForOp::create(b, b.linear(kBlock, threads),
                                 b.i64(getItems(op)), b.i64(threads));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = b.divide(loop.getInductionVar(), vectors);
    Value column =
        b.multiply(b.remainder(loop.getInductionVar(), vectors), width);
    Value outer = b.divide(row, op.getCount());
    Value number = op.getBatched() ? row : b.remainder(row, op.getCount());
    Value first = b.multiply(number, tuple);
    Value at = b.i64(0), isValid = b.integer(b.getI1Type(), 1);
    for (auto [part, extent] : llvm::enumerate(op.getExtents())) {
      Value pointer =
          b.offset(indices, indexElement, b.add(first, b.i64(part)));
      auto [index, isInRange] =
          host::loadIndex(b, indexElement, pointer, extent);
      isValid = arith::AndIOp::create(b, isValid, isInRange);
      at = b.add(b.multiply(at, extent), index);
    }
    auto branch = scf::IfOp::create(b, isValid, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    Value from = b.add(
        b.multiply(b.add(b.multiply(outer, table), at), op.getInner()), column);
    Value to = b.add(b.multiply(row, op.getInner()), column);
    // Bits, so that a NaN stays what it is.
    Type bits = b.getIntegerType(8 * getElementBytes(element));
    b.storeWide(bits, b.loadWide(bits, b.offset(source, bits, from), width),
                b.offset(target, bits, to));
    b.setInsertionPointToStart(branch.elseBlock());
    reportInvalid(b, status);
  }
  b.finish();
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Block i of [o] adds all rows of updates [o] whose index is that of row i, in
/// their order, if none before i has it.
Extents gpu::getExtents(ScatterAddOp op) {
  return {{kBlock, 1, 1}, {uint32_t(op.getCount() * op.getOuter()), 1, 1}};
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
    matches = b.allocateShared((name + "_matches").str(), kWarps * 4);
  }

  void emit() {
    thread = b.threadX();
    mine = b.remainder(b.blockX(), op.getCount());
    outer = b.divide(b.blockX(), op.getCount());
    auto [index, isValid] = load(mine);
    wanted = index;
    auto branch = scf::IfOp::create(b, isValid, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      emitWindows();
      b.setInsertionPointToStart(branch.elseBlock());
      reportInvalid(b, b.getParameter(3));
    }
    b.finish();
  }

private:
  std::pair<Value, Value> load(Value number) {
    return host::loadIndex(b, indexElement,
                           b.offset(b.getParameter(1), indexElement, number),
                           op.getExtent());
  }

  Value getMatches(Value warp) {
    return b.offset(matches, b.getI32Type(), warp);
  }

  /// Goes through the indices a block at a time, until one before `mine`
  /// matches. All threads see the same.
  void emitWindows() {
    Type i64 = b.getI64Type();
    auto windows =
        scf::WhileOp::create(b, TypeRange{i64}, ValueRange{b.i64(0)});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&windows.getBefore(), {}, i64, op.getLoc());
    scf::ConditionOp::create(
        b, b.isLess(before->getArgument(0), b.i64(op.getCount())),
        before->getArguments());
    Block *after = b.createBlock(&windows.getAfter(), {}, i64, op.getLoc());
    Value start = after->getArgument(0);
    Value number = b.add(start, thread);
    Value exists = b.isLess(number, b.i64(op.getCount()));
    // Of those that do not exist, the block's own is read, and then not
    // counted.
    auto [index, isValid] =
        load(arith::SelectOp::create(b, exists, number, mine));
    Value isMatch =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, index, wanted);
    isMatch = arith::AndIOp::create(
        b, arith::AndIOp::create(b, isMatch, isValid), exists);
    Value word = b.ballot(isMatch);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                          b.remainder(thread, kWarp), b.i64(0));
    b.runIf(isFirst, [&] {
      b.storeScalar(b.getI32Type(), word, getMatches(b.divide(thread, kWarp)));
    });
    b.synchronizeBlock();
    auto words = scf::ForOp::create(b, b.i64(0), b.i64(kWarps), b.i64(1),
                                    ValueRange{b.i64(0)});
    {
      OpBuilder::InsertionGuard inWords(b);
      b.setInsertionPointToStart(words.getBody());
      Value warp = words.getInductionVar();
      Value all = b.loadScalar(b.getI32Type(), getMatches(warp));
      Value first = b.add(start, b.multiply(warp, kWarp));
      scf::YieldOp::create(
          b, ValueRange{emitMatches(all, first, words.getRegionIterArg(0))});
    }
    b.synchronizeBlock();
    Value next = b.add(start, b.i64(kBlock));
    Value wasFound = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                           words.getResult(0), b.i64(0));
    scf::YieldOp::create(b, ValueRange{Value(arith::SelectOp::create(
                                b, wasFound, b.i64(op.getCount()), next))});
  }

  /// Adds the rows whose bits are set, from the lowest. Not 0 from then on
  /// where one lies before `mine`.
  Value emitMatches(Value bits, Value first, Value stopped) {
    Type i32 = b.getI32Type(), i64 = b.getI64Type();
    auto loop =
        scf::WhileOp::create(b, TypeRange{i32, i64}, ValueRange{bits, stopped});
    OpBuilder::InsertionGuard guard(b);
    SmallVector<Location> locations(2, op.getLoc());
    Block *before =
        b.createBlock(&loop.getBefore(), {}, TypeRange{i32, i64}, locations);
    Value hasMore = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne, before->getArgument(0), b.integer(i32, 0));
    Value goesOn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         before->getArgument(1), b.i64(0));
    scf::ConditionOp::create(b, arith::AndIOp::create(b, hasMore, goesOn),
                             before->getArguments());
    Block *after =
        b.createBlock(&loop.getAfter(), {}, TypeRange{i32, i64}, locations);
    Value left = after->getArgument(0);
    Value lowest = LLVM::CountTrailingZerosOp::create(b, i32, left,
                                                      /*is_zero_poison=*/false);
    Value row = b.add(first, arith::ExtUIOp::create(b, i64, lowest));
    Value isEarlier = b.isLess(row, mine);
    Value isMine =
        arith::XOrIOp::create(b, isEarlier, b.integer(b.getI1Type(), 1));
    b.runIf(isMine, [&] { addRow(row); });
    Value rest = arith::AndIOp::create(
        b, left, arith::SubIOp::create(b, left, b.integer(i32, 1)));
    scf::YieldOp::create(
        b, ValueRange{rest, Value(arith::ExtUIOp::create(b, i64, isEarlier))});
    return loop.getResult(1);
  }

  void addRow(Value row) {
    Value source = b.add(b.multiply(outer, op.getCount()), row),
          target = b.add(b.multiply(outer, op.getExtent()), wanted);
    Value from =
        b.offset(b.getParameter(0), element, b.multiply(source, op.getInner()));
    Value to =
        b.offset(b.getParameter(2), sumType, b.multiply(target, op.getInner()));
    auto columns =
        scf::ForOp::create(b, thread, b.i64(op.getInner()), b.i64(kBlock));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(columns.getBody());
    Value update = b.loadScalar(
        element, b.offset(from, element, columns.getInductionVar()));
    if (update.getType() != sumType)
      update = arith::ExtFOp::create(b, sumType, update);
    Value pointer = b.offset(to, sumType, columns.getInductionVar());
    b.storeScalar(
        sumType,
        arith::AddFOp::create(b, b.loadScalar(sumType, pointer), update),
        pointer);
  }

  ScatterAddOp op;
  GpuBuilder b;
  Type element, sumType, indexElement;
  Value matches, thread, mine, outer, wanted;
};

} // namespace

void gpu::emitScatterAdd(ScatterAddOp op, StringRef name, ModuleOp module) {
  ScatterEmitter(op, name, module).emit();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

Extents gpu::getExtents(ConstantOp op) {
  int64_t elements =
      cast<MemRefType>(op.getTarget().getType()).getNumElements();
  return {{kBlock, 1, 1},
          {uint32_t(std::min<int64_t>(kMostBlocks,
                                      llvm::divideCeil(elements, kBlock))),
           1, 1}};
}

void gpu::emitConstant(ConstantOp op, StringRef name, ModuleOp module) {
  Extents extents = getExtents(op);
  std::string table = (name + "_table").str();
  GpuBuilder b(op.getLoc(), module, name, /*parameters=*/1, extents.block);
  host::emitTable(b, op, table, module, /*addressSpace=*/1);
  // Bits, so that a NaN stays what it is.
  Type element =
      b.getIntegerType(8 * getElementBytes(getElement(op.getTarget())));
  Value source = LLVM::AddressOfOp::create(b, b.getGlobalPointer(), table);
  int64_t threads = int64_t(extents.grid[0]) * kBlock;
  int64_t elements =
      cast<MemRefType>(op.getTarget().getType()).getNumElements();
  auto loop = scf::ForOp::create(b, b.linear(kBlock, threads), b.i64(elements),
                                 b.i64(threads));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value at = loop.getInductionVar();
    b.storeScalar(element, b.loadScalar(element, b.offset(source, element, at)),
                  b.offset(b.getParameter(0), element, at));
  }
  b.finish();
}
