//===- LibraryAttention.cpp - Attention by a device's library ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "rondo/Conversion/Passes.h"

#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

constexpr llvm::StringLiteral kLibrary = "kern.library";
/// What cuDNN does on every GPU since Ampere.
constexpr int64_t kMostDepth = 128;

static RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

template <typename OpTy>
static bool isInLibrary(OpTy op) {
  RankedTensorType query = getTensorType(op.getQuery()),
                   value = getTensorType(op.getValue());
  int64_t depth = query.getDimSize(3), valueDepth = value.getDimSize(3);
  int64_t rows = query.getDimSize(2), keys = value.getDimSize(2);
  Type element = query.getElementType();
  // One row and one key are not worth a library, and cuDNN refuses them.
  return (element.isBF16() || element.isF16()) && depth % 8 == 0 &&
         valueDepth % 8 == 0 && depth <= kMostDepth &&
         valueDepth <= kMostDepth && (op.getCausal() || !op.getWindow()) &&
         (!op.getCausal() || rows <= keys) && rows > 1 && keys > 1;
}

bool conversion::fitsLibraryAttention(nn::AttentionOp op) {
  return !op.getMask() && isInLibrary(op);
}

void lowering::markLibraryAttention(func::FuncOp function) {
  auto mark = [](Operation *op) {
    op->setAttr(kLibrary, UnitAttr::get(op->getContext()));
  };
  function.walk([&](Operation *op) {
    if (auto attention = dyn_cast<nn::AttentionOp>(op);
        attention && conversion::fitsLibraryAttention(attention))
      mark(op);
    if (auto grad = dyn_cast<nn::AttentionGradOp>(op);
        grad && isInLibrary(grad))
      mark(op);
  });
}

bool lowering::isLibraryAttention(Operation *op) {
  return op->hasAttr(kLibrary);
}

namespace rondo::lowering {

class LibraryAttentionEmitter {
public:
  LibraryAttentionEmitter(Emitter &emitter, Operation *op)
      : emitter(emitter), b(emitter.builder), loc(op->getLoc()) {}

  void emitForward(nn::AttentionOp op);
  void emitBackward(nn::AttentionGradOp op);

private:
  template <typename OpTy>
  static runtime::AttentionSizes getSizes(OpTy op) {
    ArrayRef<int64_t> query = getTensorType(op.getQuery()).getShape(),
                      value = getTensorType(op.getValue()).getShape();
    return {query[0], query[1], value[1], query[2],
            value[2], query[3], value[3]};
  }
  /// The memory of an operand; its place goes to `accesses`.
  Value read(Value operand, bool rowsFirst = false) {
    HeadView view = getHeadView(operand, rowsFirst, /*forLibrary=*/true);
    accesses.push_back(kern::AccessAttr::get(
        b.getContext(), view.offset,
        {view.batchStride, view.headStride, view.rowStride, 1}));
    return emitter.getMemory(view.base);
  }
  /// The memory of a result, or scratch where nothing reads it.
  Value write(Value result, bool rowsFirst) {
    HeadView view = getOwnHeadView(result, rowsFirst);
    accesses.push_back(kern::AccessAttr::get(
        b.getContext(), 0,
        {view.batchStride, view.headStride, view.rowStride, 1}));
    if (!result.use_empty())
      return emitter.getMemory(result);
    return emitter.createScratch(getTensorType(result).getShape(),
                                 getTensorType(result).getElementType());
  }
  Value createWorkspace(uint64_t bytes) {
    return emitter.createScratch({(int64_t)llvm::divideCeil(bytes, 4)},
                                 b.getF32Type());
  }

  Emitter &emitter;
  OpBuilder &b;
  Location loc;
  SmallVector<Attribute> accesses;
};

} // namespace rondo::lowering

void LibraryAttentionEmitter::emitForward(nn::AttentionOp op) {
  runtime::AttentionSizes sizes = getSizes(op);
  Value query = read(op.getQuery()), key = read(op.getKey()),
        value = read(op.getValue()),
        result = write(op.getResult(), op.getRowsFirst());
  Value statistics = emitter.getMemory(op.getStatistics());
  Value workspace = createWorkspace(runtime::attentionBytes(sizes));
  kern::AttentionOp::create(b, loc, query, key, value, result, statistics,
                            workspace, sizes.batch, sizes.heads, sizes.keyHeads,
                            sizes.rows, sizes.keys, sizes.depth,
                            sizes.valueDepth, b.getArrayAttr(accesses),
                            APFloat((float)op.getScale().convertToDouble()),
                            op.getCausal(), op.getWindowAttr());
}

void LibraryAttentionEmitter::emitBackward(nn::AttentionGradOp op) {
  runtime::AttentionSizes sizes = getSizes(op);
  runtime::AttentionBlock block = runtime::chooseAttentionBlock(
      sizes, op.getWindow().has_value(), emitter.options.attentionBytes);
  uint64_t library = runtime::attentionGradBytes(sizes, block);
  Value query = read(op.getQuery()), key = read(op.getKey()),
        value = read(op.getValue()),
        result = read(op.getResultValue(), op.getRowsFirst()),
        cotangent = read(op.getCotangent(), op.getRowsFirst()),
        dQuery = write(op.getDQuery(), op.getRowsFirst()),
        dKey = write(op.getDKey(), op.getRowsFirst()),
        dValue = write(op.getDValue(), op.getRowsFirst());
  Value statistics = emitter.getMemory(stripReshapes(op.getStatistics()));
  Value workspace =
      createWorkspace(runtime::layOutAttention(sizes, block, library).bytes);
  kern::AttentionGradOp::create(
      b, loc, query, key, value, result, statistics, cotangent, dQuery, dKey,
      dValue, workspace, sizes.batch, sizes.heads, sizes.keyHeads, sizes.rows,
      sizes.keys, sizes.depth, sizes.valueDepth, b.getArrayAttr(accesses),
      APFloat((float)op.getScale().convertToDouble()), op.getCausal(),
      op.getWindowAttr(), block.batch, block.heads, block.rows, block.keys,
      library);
}

void lowering::emitLibraryAttention(Emitter &emitter, Operation *op) {
  LibraryAttentionEmitter library(emitter, op);
  if (auto attention = dyn_cast<nn::AttentionOp>(op))
    library.emitForward(attention);
  else
    library.emitBackward(cast<nn::AttentionGradOp>(op));
}
