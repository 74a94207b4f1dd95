//===- AttentionOps.cpp - Attention in a library -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"
#include "rondo/Runtime/AttentionFormat.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

namespace {
/// An operand that `access` says the place of.
struct Matrix {
  StringRef name;
  Value memory;
  bool isOfKeys = false;  ///< [batch, key heads, keys, ...].
  bool isOfValue = false; ///< [..., value depth].
  bool isWritten = false;
};
} // namespace

template <typename OpTy>
static runtime::AttentionSizes getSizesOf(OpTy op) {
  return {(int64_t)op.getBatch(),     (int64_t)op.getHeads(),
          (int64_t)op.getKeyHeads(),  (int64_t)op.getRows(),
          (int64_t)op.getKeys(),      (int64_t)op.getDepth(),
          (int64_t)op.getValueDepth()};
}
runtime::AttentionSizes kern::getSizes(AttentionOp op) {
  return getSizesOf(op);
}
runtime::AttentionSizes kern::getSizes(AttentionGradOp op) {
  return getSizesOf(op);
}

template <typename OpTy>
static LogicalResult verifySizes(OpTy op) {
  runtime::AttentionSizes sizes = getSizesOf(op);
  for (auto [name, extent] : {std::pair("batch", sizes.batch),
                              {"heads", sizes.heads},
                              {"key_heads", sizes.keyHeads},
                              {"rows", sizes.rows},
                              {"keys", sizes.keys},
                              {"depth", sizes.depth},
                              {"value_depth", sizes.valueDepth}})
    if (extent < 1)
      return op.emitOpError() << name << " is " << extent;
  if (sizes.heads % sizes.keyHeads)
    return op.emitOpError() << sizes.heads << " heads are not a multiple of "
                            << sizes.keyHeads << " key heads";
  if (sizes.depth % 8 || sizes.valueDepth % 8)
    return op.emitOpError() << "depth " << sizes.depth << " and value_depth "
                            << sizes.valueDepth << " are not multiples of 8";
  if (op.getCausal() && sizes.rows > sizes.keys)
    return op.emitOpError()
           << "is causal with " << sizes.rows << " rows but " << sizes.keys
           << " keys: the first rows would see none";
  if (op.getWindow() && (*op.getWindow() < 1 || !op.getCausal()))
    return op.emitOpError() << "window " << *op.getWindow()
                            << " is not positive, or without causal";
  if (!op.getScale().isFinite())
    return op.emitOpError("scale is not finite");
  return success();
}

template <typename OpTy>
static LogicalResult verifyMatrices(OpTy op, ArrayRef<Matrix> matrices) {
  if (op.getAccess().size() != matrices.size())
    return op.emitOpError()
           << "has " << op.getAccess().size() << " accesses for "
           << matrices.size() << " matrices";
  runtime::AttentionSizes sizes = getSizesOf(op);
  Type element =
      cast<MemRefType>(matrices.front().memory.getType()).getElementType();
  for (auto [matrix, attr] : llvm::zip_equal(matrices, op.getAccess())) {
    auto access = cast<AccessAttr>(attr);
    auto type = cast<MemRefType>(matrix.memory.getType());
    if (type.getElementType() != element)
      return op.emitOpError()
             << matrix.name << " has element type " << type.getElementType()
             << ", but query has " << element;
    ArrayRef<int64_t> strides = access.getStrides();
    if (strides.size() != 4 || strides.back() != 1 ||
        !access.getGuards().empty())
      return op.emitOpError()
             << matrix.name
             << " is not of form <offset, [batch, head, row, 1]>";
    // 16 bytes are 8 elements.
    if (access.getOffset() % 8 ||
        llvm::any_of(strides.drop_back(),
                     [](int64_t stride) { return stride < 0 || stride % 8; }))
      return op.emitOpError() << matrix.name
                              << " has rows that do not begin at multiples of "
                                 "16 bytes, or a negative stride";
    int64_t columns = matrix.isOfValue ? sizes.valueDepth : sizes.depth;
    if (strides[2] < columns)
      return op.emitOpError() << matrix.name << " has rows of " << columns
                              << " elements " << strides[2] << " apart";
    int64_t domain[] = {sizes.batch,
                        matrix.isOfKeys ? sizes.keyHeads : sizes.heads,
                        matrix.isOfKeys ? sizes.keys : sizes.rows, columns};
    ElementRange range = getRange(access, domain);
    if (range.begin < 0 || range.end > type.getNumElements())
      return op.emitOpError()
             << matrix.name << " touches elements [" << range.begin << ", "
             << range.end << ") of " << type.getNumElements();
    if (!matrix.isWritten)
      continue;
    // Rows of its own for every batch, head and row, in any order of these.
    SmallVector<std::pair<int64_t, int64_t>> axes;
    for (auto [stride, extent] : llvm::zip_equal(strides, domain))
      if (extent > 1)
        axes.push_back({stride, extent});
    llvm::sort(axes);
    int64_t span = 1;
    for (auto [stride, extent] : axes) {
      if (stride < span)
        return op.emitOpError()
               << matrix.name << " has one element for several places";
      span += stride * (extent - 1);
    }
  }
  int64_t statistics = sizes.batch * sizes.heads * sizes.rows,
          actual =
              cast<MemRefType>(op.getStatistics().getType()).getNumElements();
  if (actual != statistics)
    return op.emitOpError()
           << "statistics have " << actual << " elements, not " << statistics;
  return success();
}

static LogicalResult verifyWorkspace(Operation *op, Value workspace,
                                     uint64_t needed) {
  if ((uint64_t)getBytes(workspace) < needed)
    return op->emitOpError() << "has a workspace of " << getBytes(workspace)
                             << " bytes, but needs " << needed;
  return success();
}

LogicalResult AttentionOp::verify() {
  Matrix matrices[] = {{"query", getQuery()},
                       {"key", getKey(), true},
                       {"value", getValue(), true, true},
                       {"result", getResult(), false, true, true}};
  if (failed(verifySizes(*this)) || failed(verifyMatrices(*this, matrices)))
    return failure();
  return verifyWorkspace(*this, getWorkspace(),
                         runtime::attentionBytes(getSizes(*this)));
}

LogicalResult AttentionGradOp::verify() {
  Matrix matrices[] = {{"query", getQuery()},
                       {"key", getKey(), true},
                       {"value", getValue(), true, true},
                       {"result", getResult(), false, true},
                       {"cotangent", getCotangent(), false, true},
                       {"d_query", getDQuery(), false, false, true},
                       {"d_key", getDKey(), true, false, true},
                       {"d_value", getDValue(), true, true, true}};
  if (failed(verifySizes(*this)) || failed(verifyMatrices(*this, matrices)))
    return failure();
  runtime::AttentionSizes sizes = getSizes(*this);
  runtime::AttentionBlock block = getAttentionBlock(*this);
  int64_t group = sizes.heads / sizes.keyHeads;
  if (block.batch < 1 || sizes.batch % block.batch)
    return emitOpError("block_batch ")
           << block.batch << " does not divide batch " << sizes.batch;
  if (block.heads < 1 || sizes.heads % block.heads || block.heads % group)
    return emitOpError("block_heads ")
           << block.heads << " is not a part of " << sizes.heads
           << " heads in groups of " << group;
  if (block.rows < 1 || block.rows > sizes.rows)
    return emitOpError("block_rows ")
           << block.rows << " is not from 1 to " << sizes.rows;
  if (block.keys < 1 || block.keys > sizes.keys)
    return emitOpError("block_keys ")
           << block.keys << " is not from 1 to " << sizes.keys;
  if (block.keys < sizes.keys &&
      (getWindow() || (getCausal() && block.keys < block.rows)))
    return emitOpError("cuts keys by ")
           << block.keys << " with a window, or causal with " << block.rows
           << " rows at a time";
  uint64_t library = runtime::attentionGradBytes(sizes, block);
  if (getLibraryBytes() < library)
    return emitOpError("library_bytes ")
           << getLibraryBytes() << " is less than the " << library
           << " that a block may take";
  return verifyWorkspace(
      *this, getWorkspace(),
      runtime::layOutAttention(sizes, block, getLibraryBytes()).bytes);
}

runtime::AttentionBlock kern::getAttentionBlock(AttentionGradOp op) {
  return {(int64_t)op.getBlockBatch(), (int64_t)op.getBlockHeads(),
          (int64_t)op.getBlockRows(), (int64_t)op.getBlockKeys()};
}
