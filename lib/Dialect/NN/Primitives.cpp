//===- Primitives.cpp - Short spellings of nn primitives ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, getTensorType(value).getElementType());
}

Value Primitives::cast(Value value, Type elementType) {
  RankedTensorType type = getTensorType(value);
  if (type.getElementType() == elementType)
    return value;
  return CastOp::create(builder, loc, type.clone(elementType), value);
}

Value Primitives::widen(Value value) {
  bool isF64 = getTensorType(value).getElementType().isF64();
  return cast(value, isF64 ? builder.getF64Type() : builder.getF32Type());
}

Value Primitives::splat(Value like, double value) {
  RankedTensorType type = getTensorType(like);
  Type element = type.getElementType();
  TypedAttr attr =
      isa<FloatType>(element)
          ? TypedAttr(builder.getFloatAttr(element, value))
          : TypedAttr(builder.getIntegerAttr(element, int64_t(value)));
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, Attribute(attr)));
}

Value Primitives::mulUnlessZero(Value x, Value y) {
  Value isZero = compare(ComparePredicate::EQ, x, splat(x, 0));
  Value product = mul(x, y);
  return dropWhere(isZero, product);
}

Value Primitives::compare(ComparePredicate predicate, Value x, Value y) {
  Type type = getTensorType(x).clone(builder.getI1Type());
  return CompareOp::create(builder, loc, type, predicate, x, y);
}

Value Primitives::select(Value condition, Value onTrue, Value onFalse) {
  return SelectOp::create(builder, loc, onTrue.getType(), condition, onTrue,
                          onFalse);
}

Value Primitives::reshape(Value value, ArrayRef<int64_t> shape) {
  if (getTensorType(value).getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, withShape(value, shape), value);
}

Value Primitives::broadcast(Value value, ArrayRef<int64_t> shape) {
  if (getTensorType(value).getShape() == shape)
    return value;
  return BroadcastOp::create(builder, loc, withShape(value, shape), value);
}

Value Primitives::slice(Value value, ArrayRef<int64_t> starts,
                        ArrayRef<int64_t> steps, ArrayRef<int64_t> shape) {
  if (getTensorType(value).getShape() == shape &&
      llvm::all_of(starts, [](int64_t start) { return start == 0; }) &&
      llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return value;
  return SliceOp::create(builder, loc, withShape(value, shape), value, starts,
                         steps);
}

Value Primitives::pad(Value value, ArrayRef<int64_t> low,
                      ArrayRef<int64_t> shape) {
  RankedTensorType type = getTensorType(value);
  if (type.getShape() == shape)
    return value;
  SmallVector<int64_t> high;
  for (auto [axis, extent] : llvm::enumerate(shape))
    high.push_back(extent - low[axis] - type.getDimSize(axis));
  return PadOp::create(
      builder, loc, withShape(value, shape), value, low, high,
      mlir::cast<TypedAttr>(builder.getZeroAttr(type.getElementType())));
}

Value Primitives::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> axes,
                         bool keepdims) {
  if (axes.empty())
    return value;
  RankedTensorType type = getTensorType(value);
  SmallVector<int64_t> shape;
  for (auto [axis, extent] : llvm::enumerate(type.getShape())) {
    if (!llvm::is_contained(axes, int64_t(axis)))
      shape.push_back(extent);
    else if (keepdims)
      shape.push_back(1);
  }
  return ReduceOp::create(builder, loc, withShape(value, shape), kind, value,
                          axes, keepdims);
}

Value Primitives::reduceRows(ReduceKind kind, Value value) {
  RankedTensorType type = getTensorType(value);
  Value reduced = reduce(kind, value, {type.getRank() - 1}, /*keepdims=*/true);
  return broadcast(reduced, type.getShape());
}

/// Whether `value` is a block argument or a parameter as it is, moved or
/// converted.
static bool mayBeParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<ReadOp>(op))
      return true;
    if (!isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, PadOp, CastOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return true;
}

Value nn::unroundedForParameter(Value cotangent, Value operand) {
  auto rounding = cotangent.getDefiningOp<CastOp>();
  if (!rounding || !mayBeParameter(operand))
    return cotangent;
  auto from = dyn_cast<FloatType>(
      getTensorType(rounding.getOperand()).getElementType());
  auto to = cast<FloatType>(getTensorType(cotangent).getElementType());
  return from && from.getWidth() > to.getWidth() ? rounding.getOperand()
                                                 : cotangent;
}
