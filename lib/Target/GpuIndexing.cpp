//===- GpuIndexing.cpp - GPU code of gathers and tables -----------------===//
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

static Type getElement(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

void gpu::reportInvalid(GpuBuilder &b, Value status) {
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
