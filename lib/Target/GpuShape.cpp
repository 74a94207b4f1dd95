//===- GpuShape.cpp - How a fused kernel spreads over a GPU --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuShape.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;

/// Threads of a block where nothing else decides.
constexpr int64_t kBlock = 256;
/// Blocks of an elementwise kernel; more work goes round.
constexpr int64_t kMostBlocks = 1 << 16;
/// The longest row that one warp or a part of it takes, in elements.
constexpr int64_t kWarpRow = 512;
/// Elements of all inputs that a thread may hold in registers, of the 255 that
/// it has; the rest is for what is computed from them.
constexpr int64_t kHeldElements = 96;
/// A column kernel's blocks that fill a large GPU.
constexpr int64_t kEnoughBlocks = 128;
/// Rows that one block of a column kernel takes; more where there are so many
/// columns that the parts together would have more than these.
constexpr int64_t kPartRows = 512;
constexpr int64_t kMostPartColumns = 1 << 15;
/// Shared memory that any block may have.
constexpr int64_t kSharedBytes = 48 << 10;

static int64_t getOperandBytes(FusedOp op, unsigned operand) {
  unsigned inputs = op.getInputs().size();
  Value memref = operand < inputs ? op.getInputs()[operand]
                                  : op.getOutputs()[operand - inputs];
  return getElementBytes(cast<MemRefType>(memref.getType()).getElementType());
}

static AccessAttr getAccess(FusedOp op, unsigned operand) {
  unsigned inputs = op.getInputs().size();
  return operand < inputs ? op.getInputAccessAt(operand)
                          : op.getOutputAccessAt(operand - inputs);
}

static unsigned getOperandCount(FusedOp op) {
  return op.getInputs().size() + op.getOutputs().size();
}

/// Whether `width` elements of an operand lie side by side and aligned wherever
/// a thread begins. Arguments and scratch are aligned to 16 bytes at least.
static bool isWide(FusedOp op, unsigned operand, const Shape &shape) {
  AccessAttr access = getAccess(op, operand);
  int64_t bytes = getOperandBytes(op, operand),
          piece = std::min<int64_t>(16, shape.width * bytes);
  if (shape.width == 1 || access.getStrides()[shape.vectorAxis] != 1)
    return false;
  auto isAligned = [&](int64_t elements) {
    return elements * bytes % piece == 0;
  };
  if (!isAligned(access.getOffset()) || !isAligned(shape.begin))
    return false;
  for (auto [axis, stride] : llvm::enumerate(access.getStrides()))
    if (int64_t(axis) != shape.vectorAxis && op.getDomain()[axis] > 1 &&
        !isAligned(stride))
      return false;
  for (size_t i = 0; i < access.getGuards().size(); i += 3) {
    int64_t low = access.getGuards()[i + 1], high = access.getGuards()[i + 2];
    if (access.getGuards()[i] == shape.vectorAxis &&
        (low % shape.width != 0 || high % shape.width != 0 || high <= low))
      return false;
  }
  return true;
}

/// The widest of 8, 4, 2 and 1 that divides the extent.
static int64_t getWidth(int64_t extent, int64_t most) {
  int64_t width = most;
  while (extent % width != 0)
    width /= 2;
  return width;
}

/// Rows that are run side by side are those that lie side by side in the
/// inputs: what is written waits in the cache until it fills whole pages of
/// memory.
static void orderRows(FusedOp op, Shape &shape) {
  llvm::SmallVector<int64_t> reach(shape.vectorAxis, 0);
  for (Attribute attr : op.getInputAccess()) {
    auto strides = cast<AccessAttr>(attr).getStrides();
    if (strides[shape.vectorAxis] != 0)
      for (int64_t axis : shape.order)
        reach[axis] += std::abs(strides[axis]);
  }
  llvm::stable_sort(shape.order,
                    [&](int64_t x, int64_t y) { return reach[x] > reach[y]; });
}

static void shapeElementwise(FusedOp op, Shape &shape, int64_t rows) {
  // 16 bytes of the narrowest operand that is contiguous.
  int64_t narrowest = 16;
  for (unsigned operand = 0; operand < getOperandCount(op); ++operand)
    if (getAccess(op, operand).getStrides()[shape.vectorAxis] == 1)
      narrowest = std::min(narrowest, getOperandBytes(op, operand));
  shape.width = getWidth(shape.extent, std::min<int64_t>(8, 16 / narrowest));
  orderRows(op, shape);
  shape.items = rows * (shape.extent / shape.width);
  shape.threads = kBlock;
  shape.block[0] = kBlock;
  shape.grid[0] =
      std::min<int64_t>(kMostBlocks, llvm::divideCeil(shape.items, kBlock));
}

static void shapeRows(FusedOp op, Shape &shape, int64_t rows) {
  shape.items = rows;
  orderRows(op, shape);
  if (shape.extent <= kWarpRow) {
    shape.style = Style::WarpRows;
    shape.width = getWidth(shape.extent, 8);
    shape.threads = std::min<int64_t>(
        kWarp, llvm::PowerOf2Ceil(shape.extent / shape.width));
    shape.block[0] = 2 * kWarp;
    shape.grid[0] = llvm::divideCeil(rows, shape.block[0] / shape.threads);
  } else {
    shape.style = Style::BlockRows;
    shape.width = getWidth(shape.extent, 8);
    int64_t vectors = shape.extent / shape.width;
    // Whole warps of which few go without an element.
    shape.chunks = llvm::divideCeil(vectors, vectors <= 1024 ? 256 : 512);
    shape.threads =
        llvm::alignTo(llvm::divideCeil(vectors, shape.chunks), kWarp);
    shape.block[0] = shape.threads;
    shape.grid[0] = rows;
  }
  shape.chunks = llvm::divideCeil(shape.extent / shape.width, shape.threads);
  int64_t held = 0;
  for (Attribute access : op.getInputAccess())
    held += cast<AccessAttr>(access).getStrides()[shape.vectorAxis] != 0;
  shape.isUnrolled =
      shape.chunks == 1 || held * shape.chunks * shape.width <= kHeldElements;
}

static void shapeColumns(FusedOp op, Shape &shape, int64_t others) {
  shape.style = Style::Columns;
  int64_t reduced = op.getDomain().back();
  shape.groups = reduced >= 256 ? 16 : reduced >= 64 ? 4 : 1;
  int64_t columns = others * shape.extent;
  shape.parts = std::min<int64_t>(llvm::divideCeil(reduced, kPartRows),
                                  llvm::divideCeil(kMostPartColumns, columns));
  shape.threads = shape.groups == 1 ? kBlock : kWarp;
  shape.width = getWidth(shape.extent, 4);
  int64_t slots = llvm::range_size(op.getBlock().getOps<ReduceOp>()) *
                  shape.groups * shape.threads;
  while (
      shape.width > 1 &&
      (columns * shape.parts / (shape.width * shape.threads) < kEnoughBlocks ||
       slots * shape.width * kSlotBytes > kSharedBytes))
    shape.width /= 2;
  shape.items = columns / shape.width;
  shape.block = {uint32_t(shape.threads), uint32_t(shape.groups), 1};
  shape.grid[0] = llvm::divideCeil(shape.items, shape.threads);
  shape.grid[1] = shape.parts;
}

Shape gpu::getShape(FusedOp op) {
  Shape shape;
  int64_t rank = op.getDomain().size();
  bool isColumn = op.getKind() == FusedKind::Column;
  shape.vectorAxis = rank - (isColumn ? 2 : 1);
  int64_t others = 1;
  for (int64_t axis = 0; axis < shape.vectorAxis; ++axis)
    shape.order.push_back(axis);
  for (int64_t axis : shape.order)
    others *=
        axis == 0 ? op.getCalls()[1] - op.getCalls()[0] : op.getDomain()[axis];
  shape.extent = op.getDomain()[shape.vectorAxis];
  if (shape.vectorAxis == 0) {
    shape.begin = op.getCalls()[0];
    shape.extent = op.getCalls()[1] - shape.begin;
  }
  if (isColumn)
    shapeColumns(op, shape, others);
  else if (op.getKind() == FusedKind::Row)
    shapeRows(op, shape, others);
  else
    shapeElementwise(op, shape, others);
  for (unsigned operand = 0; operand < getOperandCount(op); ++operand)
    shape.isWide.push_back(isWide(op, operand, shape));
  return shape;
}
