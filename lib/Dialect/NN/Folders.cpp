//===- Folders.cpp - Folding of nn ops ------------------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldInterface.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo::nn;

/// Constants above this many elements are not folded: evaluation in the
/// canonicaliser must cost next to nothing.
static constexpr int64_t foldedResultElements = 4096;
static constexpr int64_t foldedOperandElements = 1 << 16;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A constant whose elements are all equal moves to any shape at no cost.
static OpFoldResult foldMovedSplat(Attribute operand, Type result) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(operand))
    return splat.resizeSplat(cast<ShapedType>(result));
  return nullptr;
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Whether every value of `from` is a value of `to`.
static bool represents(Type to, Type from) {
  if (to == from || from.isInteger(1))
    return true;
  if (isa<IntegerType>(from)) {
    if (isa<IntegerType>(to))
      return to.getIntOrFloatBitWidth() >= from.getIntOrFloatBitWidth();
    return from.isInteger(32) && to.isF64();
  }
  if (!isa<FloatType>(to))
    return false;
  const llvm::fltSemantics &wide = cast<FloatType>(to).getFloatSemantics();
  const llvm::fltSemantics &narrow = cast<FloatType>(from).getFloatSemantics();
  return llvm::APFloat::isRepresentableBy(narrow, wide);
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  Type to = getType().getElementType();
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getOperand())) {
    // Through a scalar: the operand may be of any size.
    HostTensor scalar = HostTensor::fromAttribute(
        splat.resizeSplat(RankedTensorType::get({}, splat.getElementType())));
    auto scalarCast = [&]() -> std::optional<HostTensor> {
      HostTensor result(RankedTensorType::get({}, to));
      if (result.isFloat())
        result.floats()[0] = scalar.isFloat()
                                 ? scalar.floats()[0]
                                 : static_cast<double>(scalar.integers()[0]);
      else if (!scalar.isFloat())
        result.integers()[0] = scalar.integers()[0];
      else
        return std::nullopt; // left to the evaluation, which knows how to
                             // truncate
      result.round();
      return result;
    }();
    if (scalarCast)
      return scalarCast->toAttribute().resizeSplat(getType());
  }
  // A first cast that loses nothing can be skipped.
  auto inner = getOperand().getDefiningOp<CastOp>();
  if (!inner || !represents(inner.getType().getElementType(),
                            tensorOf(inner.getOperand()).getElementType()))
    return nullptr;
  if (inner.getOperand().getType() == getType())
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (OpFoldResult splat = foldMovedSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<ReshapeOp>();
  if (!inner)
    return nullptr;
  if (inner.getOperand().getType() == getType())
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (OpFoldResult splat = foldMovedSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return nullptr;
  getOperandMutable().assign(inner.getOperand());
  return getResult();
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> permutation = getPermutation();
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return getOperand();
  if (OpFoldResult splat = foldMovedSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return nullptr;
  SmallVector<int64_t> composed;
  for (int64_t axis : permutation)
    composed.push_back(inner.getPermutation()[axis]);
  if (llvm::equal(composed, llvm::seq<int64_t>(0, composed.size())))
    return inner.getOperand();
  getOperandMutable().assign(inner.getOperand());
  setPermutation(composed);
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  bool forward = llvm::all_of(
      llvm::zip_equal(getSteps(), getType().getShape()), [](auto pair) {
        return std::get<0>(pair) == 1 || std::get<1>(pair) <= 1;
      });
  if (getOperand().getType() == getType() && forward)
    return getOperand(); // a whole axis by step 1 can only start at 0
  if (OpFoldResult splat = foldMovedSplat(adaptor.getOperand(), getType()))
    return splat;
  auto inner = getOperand().getDefiningOp<SliceOp>();
  if (!inner || getType().getNumElements() == 0)
    return nullptr;
  SmallVector<int64_t> starts, steps;
  for (size_t axis = 0; axis < getStarts().size(); ++axis) {
    // What one element of an axis leaves unused may be any step: 1, because a
    // product of two of them could overflow.
    bool single = getType().getDimSize(axis) == 1;
    int64_t innerStep =
        inner.getType().getDimSize(axis) == 1 ? 1 : inner.getSteps()[axis];
    starts.push_back(inner.getStarts()[axis] + getStarts()[axis] * innerStep);
    steps.push_back(single ? 1 : getSteps()[axis] * innerStep);
  }
  getOperandMutable().assign(inner.getOperand());
  setStarts(starts);
  setSteps(steps);
  return getResult();
}

//===----------------------------------------------------------------------===//
// Everything else
//===----------------------------------------------------------------------===//

LogicalResult
NNFoldInterface::fold(Operation *op, ArrayRef<Attribute> operands,
                      SmallVectorImpl<OpFoldResult> &results) const {
  if (auto concat = dyn_cast<ConcatOp>(op);
      concat && concat->getNumOperands() == 1) {
    results.push_back(concat->getOperand(0));
    return success();
  }
  if (auto pad = dyn_cast<PadOp>(op);
      pad && pad.getOperand().getType() == pad.getType()) {
    results.push_back(pad.getOperand());
    return success();
  }

  // A broadcast costs nothing where it is used; its result, held, would.
  auto evaluable = dyn_cast<EvaluableOp>(op);
  if (!evaluable || operands.empty() || isa<BroadcastOp>(op))
    return failure();
  int64_t operandElements = 0, resultElements = 0;
  for (Value result : op->getResults())
    resultElements += tensorOf(result).getNumElements();
  for (Attribute operand : operands) {
    auto elements = dyn_cast_or_null<ElementsAttr>(operand);
    if (!elements)
      return failure();
    operandElements += elements.getNumElements();
  }
  if (resultElements > foldedResultElements ||
      operandElements > foldedOperandElements)
    return failure();

  SmallVector<HostTensor> inputs, outputs;
  for (Attribute operand : operands)
    inputs.push_back(HostTensor::fromAttribute(cast<ElementsAttr>(operand)));
  EvaluationContext context;
  context.quiet = true; // what cannot be evaluated is reported where it runs
  if (failed(evaluable.evaluate(context, inputs, outputs)))
    return failure();
  for (const HostTensor &output : outputs)
    results.push_back(output.toAttribute());
  return success();
}
