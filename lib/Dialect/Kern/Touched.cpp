//===- Touched.cpp - Which elements an operation touches -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

namespace {
/// Points of a fused kernel's domain: coordinates of each axis.
using Points = SmallVector<ElementRange, 4>;
} // namespace

//===----------------------------------------------------------------------===//
// Where a fused kernel uses what it reads
//===----------------------------------------------------------------------===//

/// Leaves what may fulfil offset + sum of stride * coordinate <= bound; false
/// if that is nothing.
static bool keepAtMost(Points &region, ArrayRef<int64_t> strides,
                       int64_t offset, int64_t bound) {
  // Numbers whose products and sums do not overflow, as those of real kernels.
  constexpr int64_t most = 1 << 28, mostSum = int64_t(1) << 60;
  if (std::abs(offset) > mostSum || std::abs(bound) > mostSum ||
      region.size() > 8)
    return true;
  int64_t least = offset;
  for (auto [range, stride] : llvm::zip_equal(region, strides)) {
    if (std::abs(stride) > most || range.end > most)
      return true;
    least += stride * (stride < 0 ? range.end - 1 : range.begin);
  }
  if (least > bound)
    return false;
  for (auto [range, stride] : llvm::zip_equal(region, strides)) {
    int64_t steps = stride ? (bound - least) / std::abs(stride) : 0;
    if (stride > 0)
      range.end = std::min(range.end, range.begin + steps + 1);
    else if (stride < 0)
      range.begin = std::max(range.begin, range.end - 1 - steps);
  }
  return true;
}

/// Leaves the points where `condition` may hold, as far as it compares a
/// number computed from coordinates; false if that is nothing.
static bool keepWhere(Points &region, Value condition) {
  if (auto both = condition.getDefiningOp<arith::AndIOp>())
    return keepWhere(region, both.getLhs()) && keepWhere(region, both.getRhs());
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  auto index = compare ? compare.getLhs().getDefiningOp<IndexOp>() : IndexOp();
  APInt constant;
  if (!index || !matchPattern(compare.getRhs(), m_ConstantInt(&constant)))
    return true;
  int64_t bound = constant.getSExtValue();
  int64_t offset = index.getExpression().getOffset();
  if (std::min(bound, offset) <= INT64_MIN + 1)
    return true;
  ArrayRef<int64_t> strides = index.getExpression().getStrides();
  SmallVector<int64_t, 4> negative;
  for (int64_t stride : strides)
    negative.push_back(stride == INT64_MIN ? INT64_MAX : -stride);
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::sle:
    return keepAtMost(region, strides, offset, bound);
  case arith::CmpIPredicate::slt:
    return keepAtMost(region, strides, offset, bound - 1);
  case arith::CmpIPredicate::sge:
    return keepAtMost(region, negative, -offset, -bound);
  case arith::CmpIPredicate::sgt:
    return keepAtMost(region, negative, -offset, -bound - 1);
  default:
    return true;
  }
}

static Points getDomain(FusedOp op) {
  Points region;
  for (int64_t extent : op.getDomain())
    region.push_back({0, extent});
  region.front() = {op.getCalls()[0], op.getCalls()[1]};
  return region;
}

/// For each value that is used: a box around the points whose results depend on
/// it. A select takes only one of two; what the other one read may be anything.
static llvm::DenseMap<Value, Points> getUses(FusedOp op) {
  llvm::DenseMap<Value, Points> uses;
  auto use = [&](Value value, const Points &region) {
    auto [it, isNew] = uses.try_emplace(value, region);
    if (isNew)
      return;
    for (auto [known, more] : llvm::zip_equal(it->second, region)) {
      known.begin = std::min(known.begin, more.begin);
      known.end = std::max(known.end, more.end);
    }
  };
  Points all = getDomain(op);
  for (Operation &next : llvm::reverse(op.getBlock())) {
    if (isa<YieldOp>(next)) {
      for (Value value : next.getOperands())
        use(value, all);
      continue;
    }
    auto found = uses.find(next.getResult(0));
    if (found == uses.end())
      continue;
    Points region = found->second;
    if (isa<ReduceOp>(next))
      region.back() = all.back();
    if (auto select = dyn_cast<arith::SelectOp>(next)) {
      use(select.getCondition(), region);
      use(select.getFalseValue(), region);
      if (keepWhere(region, select.getCondition()))
        use(select.getTrueValue(), region);
      continue;
    }
    for (Value value : next.getOperands())
      use(value, region);
  }
  return uses;
}

static std::optional<Box> getBox(AccessAttr access, Points region) {
  ArrayRef<int64_t> guards = access.getGuards();
  for (size_t i = 0; i < guards.size(); i += 3) {
    ElementRange &range = region[guards[i]];
    range.begin = std::max(range.begin, guards[i + 1]);
    range.end = std::min(range.end, guards[i + 2]);
  }
  int64_t first = access.getOffset();
  SmallVector<Axis, 4> axes;
  for (auto [range, stride] : llvm::zip_equal(region, access.getStrides())) {
    if (range.begin >= range.end)
      return std::nullopt;
    first += stride * range.begin;
    axes.push_back({stride, range.end - range.begin});
  }
  return Box::get(first, axes);
}

static SmallVector<std::optional<Box>> getFusedBoxes(FusedOp op) {
  llvm::DenseMap<Value, Points> uses = getUses(op);
  SmallVector<std::optional<Box>> boxes;
  for (BlockArgument argument : op.getBlock().getArguments()) {
    auto use = uses.find(argument);
    if (use == uses.end())
      boxes.push_back(std::nullopt);
    else
      boxes.push_back(getBox(op.getInputAccessAt(boxes.size()), use->second));
  }
  Points all = getDomain(op);
  for (Attribute access : op.getOutputAccess())
    boxes.push_back(getBox(cast<AccessAttr>(access), all));
  return boxes;
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

/// The bias is `n` neighbours, as is all of other operands.
static std::optional<Box> getGemmBox(GemmOp op, unsigned number) {
  auto getMatrix = [&](int64_t rows, int64_t columns, bool isTransposed,
                       int64_t ld, int64_t stride, int64_t offset) {
    if (isTransposed)
      std::swap(rows, columns);
    return Box::get(
        offset, {{1, columns}, {ld, rows}, {stride, int64_t(op.getBatch())}});
  };
  int64_t m = op.getM(), n = op.getN(), k = op.getK();
  switch (number) {
  case 0:
    return getMatrix(m, k, op.getTransposeA(), op.getLda(), op.getStrideA(),
                     op.getOffsetA());
  case 1:
    return getMatrix(k, n, op.getTransposeB(), op.getLdb(), op.getStrideB(),
                     op.getOffsetB());
  case 2:
    return getMatrix(m, n, false, op.getLdc(), op.getStrideC(),
                     op.getOffsetC());
  default:
    return Box::get(0, {{1, n}});
  }
}

std::optional<Box> kern::getWhole(Value memref) {
  int64_t elements = cast<MemRefType>(memref.getType()).getNumElements();
  if (!elements)
    return std::nullopt;
  return Box::get(0, {{1, elements}});
}

/// `access` is of all operands but the statistics and the workspace.
template <typename OpTy>
static std::optional<Box> getAttentionBox(OpTy op, OpOperand &operand) {
  int64_t rows = op.getRows(), keys = op.getKeys(), depth = op.getDepth(),
          valueDepth = op.getValueDepth(), heads = op.getHeads(),
          keyHeads = op.getKeyHeads();
  unsigned statistics = op.getStatisticsMutable().getOperandNumber(),
           number = operand.getOperandNumber();
  if (number == statistics ||
      number == op.getWorkspaceMutable().getOperandNumber())
    return getWhole(operand.get());
  // Of query, key, value, result, cotangent, d_query, d_key, d_value.
  constexpr bool isOfKeys[] = {false, true,  true, false,
                               false, false, true, true};
  constexpr bool isOfValue[] = {false, false, true,  true,
                                true,  false, false, true};
  unsigned index = number - (number > statistics);
  auto access = cast<AccessAttr>(op.getAccess()[index]);
  return getBox(access, {{0, int64_t(op.getBatch())},
                         {0, isOfKeys[index] ? keyHeads : heads},
                         {0, isOfKeys[index] ? keys : rows},
                         {0, isOfValue[index] ? valueDepth : depth}});
}

static SmallVector<std::optional<Box>> getBoxes(Operation *op) {
  if (auto fused = dyn_cast<FusedOp>(op))
    return getFusedBoxes(fused);
  SmallVector<std::optional<Box>> boxes;
  for (OpOperand &operand : op->getOpOperands())
    boxes.push_back(
        llvm::TypeSwitch<Operation *, std::optional<Box>>(op)
            .Case<GemmOp>([&](GemmOp gemm) {
              return getGemmBox(gemm, operand.getOperandNumber());
            })
            .Case<AttentionOp, AttentionGradOp>([&](auto attention) {
              return getAttentionBox(attention, operand);
            })
            .Default([&](Operation *) { return getWhole(operand.get()); }));
  return boxes;
}

SmallVector<Touch, 4> kern::getTouches(Operation *op) {
  SmallVector<std::optional<Box>> boxes = getBoxes(op);
  SmallVector<Touch, 4> touches;
  for (auto [operand, box] : llvm::zip_equal(op->getOpOperands(), boxes))
    touches.push_back({&operand, box});
  Effects effects = getEffects(op);
  for (OpOperand *operand : effects.reads)
    touches[operand->getOperandNumber()].isRead = true;
  for (OpOperand *operand : effects.writes)
    touches[operand->getOperandNumber()].isWritten = true;
  return touches;
}
