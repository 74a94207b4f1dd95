//===- Cost.cpp - What an op of a launch list costs ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

/// Operations on one element: expanded functions cost about 20.
static double getScalarCost(FusedOp op) {
  double cost = 0;
  for (Operation &inner : op.getBlock().without_terminator()) {
    if (isa<arith::ConstantOp, arith::ExtFOp, IndexOp>(inner) ||
        isUniform(op, inner.getResult(0)))
      continue;
    cost += isa<math::MathDialect>(inner.getDialect()) &&
                    !isa<math::AbsFOp, math::FmaOp>(inner)
                ? 20
                : 1;
  }
  for (Operation &inner : op.getBlock())
    cost += isa<ReduceOp>(inner);
  return cost;
}

/// Of a row's operands, what a GPU's block keeps in registers or shared memory
/// between passes; longer rows are read twice.
constexpr double kMostRowBytes = 227 << 10;

/// Bytes that the accesses to one memref touch; each element counts once.
static double getAccessBytes(FusedOp op, Value memref, AccessAttr access) {
  double elements = 1;
  for (auto [axis, extent] : llvm::enumerate(op.getDomain()))
    if (access.getStrides()[axis] != 0)
      elements *= axis == 0 ? op.getCalls()[1] - op.getCalls()[0] : extent;
  auto type = cast<MemRefType>(memref.getType());
  return std::min(elements, double(type.getNumElements())) *
         getElementBytes(type.getElementType());
}

static OpCost getFusedCost(FusedOp op, const KernTarget &target) {
  OpCost cost;
  cost.flops = getScalarCost(op) * op.getPoints();
  // One memref may be read in several ways: rotary embedding reads its halves
  // in both orders.
  llvm::MapVector<Value, double> read;
  for (auto [index, input] : llvm::enumerate(op.getInputs()))
    read[input] += getAccessBytes(op, input, op.getInputAccessAt(index));
  double rowBytes = 0;
  for (auto [input, bytes] : read) {
    cost.bytes += std::min(bytes, double(getBytes(input)));
    rowBytes += bytes * op.getDomain().back() / op.getPoints();
  }
  // For reductions, then for what is computed with them.
  bool hasPoints = llvm::any_of(op.getOutputAccess(), [](Attribute access) {
    return cast<AccessAttr>(access).getStrides().back() != 0;
  });
  if (op.getKind() == FusedKind::Row && hasPoints && rowBytes > kMostRowBytes)
    cost.bytes *= 2;
  for (auto [index, output] : llvm::enumerate(op.getOutputs()))
    cost.bytes += getAccessBytes(op, output, op.getOutputAccessAt(index)) *
                  (op.getAccumulate()[index] ? 2 : 1);
  cost.timeNs =
      std::max(cost.flops / target.scalarPerNs, cost.bytes / target.bytesPerNs);
  return cost;
}

static OpCost getGemmCost(GemmOp op, const KernTarget &target) {
  double m = op.getM(), n = op.getN(), k = op.getK(), batch = op.getBatch();
  auto bytes = [](Value memref) {
    return double(
        getElementBytes(cast<MemRefType>(memref.getType()).getElementType()));
  };
  OpCost cost;
  cost.flops = 2 * m * n * k * batch;
  cost.bytes =
      batch * (m * k * bytes(op.getA()) + k * n * bytes(op.getB()) +
               m * n * bytes(op.getC()) * (op.getAccumulate() ? 2 : 1));
  if (op.getBias())
    cost.bytes += n * bytes(op.getBias());
  bool isF32 = cast<MemRefType>(op.getA().getType()).getElementType().isF32() ||
               cast<MemRefType>(op.getB().getType()).getElementType().isF32();
  double rate = isF32 && target.f32FlopsPerNs > 0 ? target.f32FlopsPerNs
                                                  : target.flopsPerNs;
  cost.timeNs = std::max(cost.flops / rate, cost.bytes / target.bytesPerNs);
  return cost;
}

/// Pairs of a row and a key that it sees, of one head.
static double countPairs(const runtime::AttentionSizes &sizes, bool causal,
                         std::optional<int64_t> window) {
  double rows = sizes.rows, keys = sizes.keys;
  if (!causal)
    return rows * keys;
  // Row i sees the last of i + 1 + keys - rows keys.
  double pairs = rows * (keys - rows) + rows * (rows + 1) / 2;
  if (!window)
    return pairs;
  double full = std::clamp<double>(keys - *window, 0, rows);
  double rest = rows - full;
  return full * *window +
         (rest > 0 ? rest * (keys - rows) + rest * (rest + 1) / 2 : 0);
}

/// Products of extent `depth` and of `value_depth` for each visible pair, at
/// half the rate of plain ones.
template <typename OpTy>
static OpCost getAttentionCost(OpTy op, double products, double valueProducts,
                               const KernTarget &target) {
  runtime::AttentionSizes sizes = getSizes(op);
  OpCost cost;
  cost.flops = 2 * countPairs(sizes, op.getCausal(), op.getWindow()) *
               sizes.batch * sizes.heads *
               (products * sizes.depth + valueProducts * sizes.valueDepth);
  double perRow = sizes.depth + sizes.valueDepth;
  // Each matrix once.
  double matrices =
      sizes.batch * perRow *
      (sizes.heads * (double)sizes.rows + sizes.keyHeads * (double)sizes.keys);
  cost.bytes = 2 * matrices * (products > 1 ? 2 : 1);
  cost.timeNs = std::max(2 * cost.flops / target.flopsPerNs,
                         cost.bytes / target.bytesPerNs);
  return cost;
}

OpCost kern::getCost(Operation *op, const KernTarget &target) {
  OpCost cost;
  if (auto fused = dyn_cast<FusedOp>(op)) {
    cost = getFusedCost(fused, target);
  } else if (auto gemm = dyn_cast<GemmOp>(op)) {
    cost = getGemmCost(gemm, target);
  } else if (auto attention = dyn_cast<AttentionOp>(op)) {
    cost = getAttentionCost(attention, 1, 1, target);
  } else if (auto grad = dyn_cast<AttentionGradOp>(op)) {
    // Scores, dQ, dK; dP, dV.
    cost = getAttentionCost(grad, 3, 2, target);
  } else if (isa<ScratchOp, ReturnOp, FuncOp>(op)) {
    return cost;
  } else {
    if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
      // Reads and writes as many elements of the target as there are updates.
      cost.flops =
          double(scatter.getOuter()) * scatter.getCount() * scatter.getInner();
      cost.bytes = getBytes(scatter.getUpdates()) + 8 * cost.flops;
    } else if (auto gather = dyn_cast<GatherOp>(op)) {
      cost.bytes =
          2.0 * getBytes(gather.getTarget()) + getBytes(gather.getIndices());
    } else {
      for (Value operand : op->getOperands())
        cost.bytes += getBytes(operand);
    }
    cost.timeNs = cost.bytes / target.bytesPerNs;
  }
  cost.timeNs += target.latencyNs;
  return cost;
}
