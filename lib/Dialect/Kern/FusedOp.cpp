//===- FusedOp.cpp - Fused kernels ---------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

int64_t FusedOp::getPoints() {
  int64_t points = getCalls()[1] - getCalls()[0];
  for (int64_t extent : getDomain().drop_front())
    points *= extent;
  return points;
}

ElementRange kern::getRange(AccessAttr access, ArrayRef<int64_t> domain) {
  SmallVector<int64_t> begin(domain.size(), 0), end(domain);
  ArrayRef<int64_t> guards = access.getGuards();
  for (size_t i = 0; i < guards.size(); i += 3) {
    begin[guards[i]] = std::max(begin[guards[i]], guards[i + 1]);
    end[guards[i]] = std::min(end[guards[i]], guards[i + 2]);
  }
  ElementRange range{access.getOffset(), access.getOffset() + 1};
  for (auto [axis, stride] : llvm::enumerate(access.getStrides())) {
    if (begin[axis] >= end[axis])
      return {};
    range.begin += std::min(stride * begin[axis], stride * (end[axis] - 1));
    range.end += std::max(stride * begin[axis], stride * (end[axis] - 1));
  }
  return range;
}

/// Whether `value` itself, a load or an index, varies along the last axis.
static bool variesAtSource(FusedOp op, Value value) {
  size_t last = op.getDomain().size() - 1;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    AccessAttr access = op.getInputAccessAt(argument.getArgNumber());
    if (access.getStrides()[last] != 0)
      return true;
    for (size_t i = 0; i < access.getGuards().size(); i += 3)
      if (access.getGuards()[i] == int64_t(last))
        return true;
    return false;
  }
  auto index = value.getDefiningOp<IndexOp>();
  return index && index.getExpression().getStrides()[last] != 0;
}

/// Whether `holds` of a value that `value` is computed from, or of itself.
/// Reductions are looked at, not through.
static bool anySource(Value value, llvm::function_ref<bool(Value)> holds) {
  SmallVector<Value> stack{value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (holds(next))
      return true;
    Operation *producer = next.getDefiningOp();
    if (producer && !isa<ReduceOp>(producer))
      llvm::append_range(stack, producer->getOperands());
  }
  return false;
}

bool kern::isUniform(FusedOp op, Value value) {
  return !anySource(value, [&](Value at) { return variesAtSource(op, at); });
}

LogicalResult IndexOp::verify() {
  auto fused = (*this)->getParentOfType<FusedOp>();
  if (getExpression().getStrides().size() != fused.getDomain().size())
    return emitOpError("has ")
           << getExpression().getStrides().size()
           << " strides in a domain of rank " << fused.getDomain().size();
  if (!getExpression().getGuards().empty())
    return emitOpError("has guards");
  return success();
}

static LogicalResult verifyAccess(FusedOp op, StringRef name, unsigned index,
                                  Value memref, AccessAttr access) {
  auto type = cast<MemRefType>(memref.getType());
  if (access.getStrides().size() != op.getDomain().size())
    return op.emitOpError()
           << name << ' ' << index << " has " << access.getStrides().size()
           << " strides in a domain of rank " << op.getDomain().size();
  ElementRange range = getRange(access, op.getDomain());
  if (range.begin < 0 || range.end > type.getNumElements())
    return op.emitOpError()
           << name << ' ' << index << " touches elements [" << range.begin
           << ", " << range.end << ") of " << type.getNumElements();
  return success();
}

/// Each point of a call must write an element of its own: sorted by stride,
/// each axis steps over all that the smaller ones span.
static LogicalResult verifyInjective(FusedOp op, unsigned index, bool perRow) {
  AccessAttr access = op.getOutputAccessAt(index);
  SmallVector<std::pair<int64_t, int64_t>> axes;
  SmallVector<int64_t> extents(op.getDomain());
  extents[0] = op.getCalls()[1] - op.getCalls()[0];
  for (auto [axis, extent] : llvm::enumerate(extents))
    if (extent > 1 && !(perRow && axis + 1 == op.getDomain().size()))
      axes.push_back({std::abs(access.getStrides()[axis]), extent});
  llvm::sort(axes);
  int64_t span = 1;
  for (auto [stride, extent] : axes) {
    if (stride < span)
      return op.emitOpError()
             << "output " << index << " has one element for several points";
    span = stride * (extent - 1) + span;
  }
  return success();
}

static LogicalResult verifyOutput(FusedOp op, unsigned index) {
  AccessAttr access = op.getOutputAccessAt(index);
  if (!access.getGuards().empty())
    return op.emitOpError() << "output " << index << " has guards";
  // On the last axis alone may a stride be 0: one element a row.
  bool perRow =
      op.getKind() != FusedKind::Elementwise && access.getStrides().back() == 0;
  if (op.getKind() == FusedKind::Column && !perRow)
    return op.emitOpError()
           << "output " << index
           << " of a column kernel depends on the reduced axis";
  if (op.getAccumulate()[index]) {
    Type element =
        cast<MemRefType>(op.getOutputs()[index].getType()).getElementType();
    if (!element.isF32())
      return op.emitOpError() << "output " << index << " accumulates in "
                              << element << ", not f32";
  }
  return verifyInjective(op, index, perRow);
}

LogicalResult FusedOp::verify() {
  if (getDomain().empty())
    return emitOpError("has an empty domain; a single point is [1]");
  for (int64_t extent : getDomain())
    if (extent < 1)
      return emitOpError("has an axis of extent ") << extent;
  if (getCalls().size() != 2 || getCalls()[0] < 0 ||
      getCalls()[0] >= getCalls()[1] || getCalls()[1] > getDomain()[0])
    return emitOpError("calls are not a range within the first axis");
  if (getKind() != FusedKind::Elementwise && getDomain().size() < 2)
    return emitOpError("reduces the last axis and needs another one before it");
  if (getInputs().size() != getInputAccess().size() ||
      getOutputs().size() != getOutputAccess().size() ||
      getOutputs().size() != getAccumulate().size())
    return emitOpError("has ")
           << getInputs().size() << " inputs, " << getInputAccess().size()
           << " accesses to them, " << getOutputs().size() << " outputs, "
           << getOutputAccess().size() << " accesses and "
           << getAccumulate().size() << " accumulate flags";
  if (getOutputs().empty())
    return emitOpError("has no output");
  for (unsigned i = 0; i < getInputs().size(); ++i)
    if (failed(verifyAccess(*this, "input", i, getInputs()[i],
                            getInputAccessAt(i))))
      return failure();
  for (unsigned i = 0; i < getOutputs().size(); ++i) {
    if (failed(verifyAccess(*this, "output", i, getOutputs()[i],
                            getOutputAccessAt(i))) ||
        failed(verifyOutput(*this, i)))
      return failure();
    for (unsigned j = 0; j < getInputs().size(); ++j)
      if (getInputs()[j] == getOutputs()[i] &&
          getInputAccessAt(j) != getOutputAccessAt(i))
        return emitOpError("output ") << i << " is the memory of input " << j
                                      << " with another access";
    for (unsigned j = 0; j < i; ++j)
      if (getOutputs()[j] == getOutputs()[i])
        return emitOpError("outputs ")
               << j << " and " << i << " are the same memory";
  }
  return success();
}

static bool isElement(Type type) {
  return type.isF32() || type.isBF16() || type.isF16() || type.isF64() ||
         type.isInteger(64) || type.isInteger(32) || type.isInteger(1);
}

/// Of `math` those that every target computes alike.
static bool isScalarOp(Operation &op) {
  if (op.getNumRegions() || op.getNumResults() != 1 ||
      !isElement(op.getResult(0).getType()))
    return false;
  return isa<arith::ArithDialect>(op.getDialect()) ||
         isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CosOp, math::ErfOp, math::ExpOp, math::FloorOp, math::FmaOp,
             math::LogOp, math::PowFOp, math::RoundEvenOp, math::RsqrtOp,
             math::SinOp, math::SqrtOp, math::TanhOp, math::TruncOp>(op);
}

LogicalResult FusedOp::verifyRegions() {
  Block &block = getBlock();
  if (block.getNumArguments() != getInputs().size())
    return emitOpError("region has ")
           << block.getNumArguments() << " arguments for " << getInputs().size()
           << " inputs";
  for (auto [argument, input] :
       llvm::zip_equal(block.getArguments(), getInputs()))
    if (argument.getType() !=
        cast<MemRefType>(input.getType()).getElementType())
      return emitOpError("argument ")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", not " << cast<MemRefType>(input.getType()).getElementType();
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValues().size() != getOutputs().size())
    return emitOpError("region does not yield one value for each of ")
           << getOutputs().size() << " outputs";

  for (Operation &op : block.without_terminator()) {
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      if (getKind() == FusedKind::Elementwise)
        return op.emitOpError("in an elementwise kernel");
      if (getKind() == FusedKind::Column &&
          anySource(reduce.getOperand(), [](Value source) {
            return bool(source.getDefiningOp<ReduceOp>());
          }))
        return op.emitOpError(
            "reduces what depends on a reduction, in a column kernel");
      continue;
    }
    if (!isa<IndexOp>(op) && !isScalarOp(op))
      return op.emitOpError("is not a scalar operation that kernels compute");
    // One thing is left to the target: `afn` on an exponential lets GPUs take
    // their own, which has the same bits in every kernel.
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(op))
      if (auto flags = fast.getFastMathFlagsAttr();
          flags && flags.getValue() != arith::FastMathFlags::none &&
          !(isa<math::ExpOp>(op) &&
            flags.getValue() == arith::FastMathFlags::afn))
        return op.emitOpError(
            "has fast-math flags; every rounding is written down");
  }
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    Type element =
        cast<MemRefType>(getOutputs()[index].getType()).getElementType();
    if (value.getType() != element)
      return emitOpError("yields ")
             << value.getType() << " for output " << index << " of " << element;
    bool perRow = getKind() != FusedKind::Elementwise &&
                  getOutputAccessAt(index).getStrides().back() == 0;
    if (perRow && !isUniform(*this, value))
      return emitOpError("output ")
             << index
             << " has one element a row, but its value varies within the row";
    if (getKind() == FusedKind::Column && getAccumulate()[index]) {
      auto reduce = value.getDefiningOp<ReduceOp>();
      if (!reduce || reduce.getCombiner() != Combiner::Sum)
        return emitOpError("output ")
               << index << " accumulates, but its value is not the sum itself";
    }
  }
  return success();
}
