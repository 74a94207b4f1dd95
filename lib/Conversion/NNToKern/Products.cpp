//===- Products.cpp - Products -------------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

void lowering::setOperand(int64_t rows, int64_t columns, int64_t rowStride,
                          int64_t columnStride, bool &transpose, int64_t &ld) {
  if (columnStride == 1) {
    ld = std::max(rowStride, columns);
    return;
  }
  transpose = !transpose;
  ld = std::max(columnStride, rows);
}

void lowering::createGemms(OpBuilder &builder, Location loc,
                           const GemmShape &shape, Value a, Value b, Value c,
                           ArrayRef<GemmOffsets> products) {
  // As kern.gemm's verifier has it.
  auto isApart = [&](int64_t stride, int64_t batch) {
    return stride >= (shape.m - 1) * shape.ldc + shape.n ||
           (stride >= shape.n && stride * (batch - 1) + shape.n <= shape.ldc);
  };
  while (!products.empty()) {
    const GemmOffsets &first = products.front();
    GemmOffsets stride;
    size_t batch = 1;
    for (; batch < products.size(); ++batch) {
      const GemmOffsets &before = products[batch - 1], &next = products[batch];
      GemmOffsets step{next.a - before.a, next.b - before.b, next.c - before.c};
      if (step.a < 0 || step.b < 0 || !isApart(step.c, batch + 1))
        break;
      if (batch == 1)
        stride = step;
      else if (step.a != stride.a || step.b != stride.b || step.c != stride.c)
        break;
    }
    if (batch == 1)
      stride = {};
    kern::GemmOp::create(builder, loc, a, b, c, shape.bias, shape.m, shape.n,
                         shape.k, batch, shape.transposeA, shape.transposeB,
                         shape.lda, shape.ldb, shape.ldc, stride.a, stride.b,
                         stride.c, first.a, first.b, first.c,
                         APFloat(shape.alpha), shape.accumulate);
    products = products.drop_front(batch);
  }
}

/// A vector's elements as f32, if that is asked for and they are narrower.
Value Emitter::convertVector(Value from, Type element, Location loc) {
  auto type = cast<MemRefType>(from.getType());
  if (type.getElementType() == element)
    return from;
  int64_t extent = type.getNumElements();
  Value to = createScratch({extent}, element);
  Attribute access =
      kern::AccessAttr::get(builder.getContext(), 0, ArrayRef<int64_t>{1});
  auto op = kern::FusedOp::create(
      builder, loc, kern::FusedKind::Elementwise, ArrayRef<int64_t>{extent},
      ArrayRef<int64_t>{0, extent}, from, builder.getArrayAttr(access), to,
      builder.getArrayAttr(access), ArrayRef<bool>{false});
  OpBuilder::InsertionGuard guard(builder);
  Block &region = op.getBody().emplaceBlock();
  Value narrow = region.addArgument(type.getElementType(), loc);
  builder.setInsertionPointToStart(&region);
  Value wide = arith::ExtFOp::create(builder, loc, element, narrow);
  kern::YieldOp::create(builder, loc, wide);
  return to;
}

/// Where the matrix of each batch index begins.
static SmallVector<int64_t> getOffsets(const MatrixView &view) {
  SmallVector<int64_t> offsets{view.offset};
  for (auto [extent, stride] :
       llvm::zip_equal(view.batchExtents, view.batchStrides)) {
    SmallVector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t index = 0; index < extent; ++index)
        next.push_back(offset + index * stride);
    offsets = std::move(next);
  }
  return offsets;
}

void Emitter::emitMatmul(nn::MatmulOp op) {
  auto lhsType = cast<RankedTensorType>(op.getLhs().getType()),
       rhsType = cast<RankedTensorType>(op.getRhs().getType());
  bool isShared = rhsType.getRank() < lhsType.getRank();
  MatrixView a = getMatrixView(op.getLhs(), isShared),
             b = getMatrixView(op.getRhs(), /*leadingRows=*/false);
  int64_t aRows = lhsType.getDimSize(lhsType.getRank() - 2),
          aColumns = lhsType.getShape().back();
  if (isShared)
    aRows = lhsType.getNumElements() / aColumns;
  int64_t bRows = rhsType.getDimSize(rhsType.getRank() - 2),
          bColumns = rhsType.getShape().back();

  GemmShape shape;
  shape.m = op.getTransposeLhs() ? aColumns : aRows;
  shape.k = op.getTransposeLhs() ? aRows : aColumns;
  shape.n = op.getTransposeRhs() ? bRows : bColumns;
  shape.transposeA = op.getTransposeLhs();
  shape.transposeB = op.getTransposeRhs();
  setOperand(aRows, aColumns, a.rowStride, a.columnStride, shape.transposeA,
             shape.lda);
  setOperand(bRows, bColumns, b.rowStride, b.columnStride, shape.transposeB,
             shape.ldb);
  shape.ldc = shape.n;
  shape.accumulate = plan.isAccumulated(op.getResult());
  if (op.getBias())
    shape.bias = convertVector(
        getMemory(stripReshapes(op.getBias())),
        cast<RankedTensorType>(op.getResult().getType()).getElementType(),
        op.getLoc());

  SmallVector<int64_t> aOffsets = getOffsets(a), bOffsets = getOffsets(b);
  SmallVector<GemmOffsets> products;
  for (auto [index, offsets] :
       llvm::enumerate(llvm::zip_equal(aOffsets, bOffsets)))
    products.push_back({std::get<0>(offsets), std::get<1>(offsets),
                        int64_t(index) * shape.m * shape.n});
  Value aMemory = getMemory(a.base), bMemory = getMemory(b.base);
  createGemms(builder, op.getLoc(), shape, aMemory, bMemory,
              getMemory(op.getResult()), products);
}
