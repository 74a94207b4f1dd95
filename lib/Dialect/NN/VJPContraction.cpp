//===- VJPContraction.cpp - Derivatives of products and attention ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products give f32 (f64 for f64 operands) and one cast rounds it, so that a
// parameter's gradient is there in f32 before the cast.
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

/// A matrix operand of a product.
namespace {
struct Factor {
  Value value;
  bool transposed = false;
};
} // namespace

/// lhs times rhs in the type that products accumulate in.
static Value createProduct(Primitives &p, Factor lhs, Factor rhs) {
  RankedTensorType lhsType = getTensorType(lhs.value);
  RankedTensorType rhsType = getTensorType(rhs.value);
  SmallVector<int64_t> shape(lhsType.getShape());
  int64_t rank = shape.size();
  if (lhs.transposed)
    shape[rank - 2] = lhsType.getDimSize(rank - 1);
  int64_t rhsRank = rhsType.getRank();
  shape[rank - 1] = rhsType.getDimSize(rhsRank - (rhs.transposed ? 2 : 1));
  OpBuilder &builder = p.getBuilder();
  Type element = lhsType.getElementType().isF64() ? Type(builder.getF64Type())
                                                  : Type(builder.getF32Type());
  return MatmulOp::create(builder, p.getLoc(),
                          RankedTensorType::get(shape, element), lhs.value,
                          rhs.value, lhs.transposed, rhs.transposed);
}

/// All axes but the last as one.
static Value flattenRows(Primitives &p, Value value) {
  RankedTensorType type = getTensorType(value);
  int64_t columns = type.getShape().back();
  int64_t rows = 1;
  for (int64_t extent : type.getShape().drop_back())
    rows *= extent;
  return p.reshape(value, {rows, columns});
}

/// With A, B the factors and D the result's cotangent, each of them as it lies
/// in memory: A B = C gives dA = D B^T and dB = A^T D; where A is stored
/// transposed, so is dA = (D B^T)^T = B D^T, and so for B.
LogicalResult MatmulOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 ArrayRef<bool> wanted,
                                 SmallVectorImpl<Value> &results) {
  results.append(getNumOperands(), Value());
  MutableArrayRef<Value> operandCotangents =
      MutableArrayRef<Value>(results).take_back(getNumOperands());
  if (!cotangents.front())
    return success();
  Primitives p(builder, getLoc());
  Value lhs = getLhs(), rhs = getRhs();
  bool lhsTransposed = getTransposeLhs(), rhsTransposed = getTransposeRhs();
  // A wider result's cotangent is rounded to the factors' type, as products
  // take factors of one type.
  Value cotangent = p.castLike(cotangents.front(), lhs);

  if (wanted[0]) {
    Value product =
        lhsTransposed
            ? createProduct(p, {rhs, rhsTransposed}, {cotangent, true})
            : createProduct(p, {cotangent, false}, {rhs, !rhsTransposed});
    operandCotangents[0] = p.castLike(product, lhs);
  }
  if (getBias() && wanted[2]) {
    Value sum =
        p.reduce(ReduceKind::Sum, p.widen(flattenRows(p, cotangents.front())),
                 {0}, /*keepdims=*/false);
    operandCotangents[2] = p.castLike(sum, getBias());
  }
  if (!wanted[1])
    return success();
  if (getTensorType(rhs).getRank() < getTensorType(lhs).getRank()) {
    // One matrix for every batch: its cotangent is one product as long as all
    // batches together.
    lhs = flattenRows(p, lhs);
    cotangent = flattenRows(p, cotangent);
  }
  Value product =
      rhsTransposed
          ? createProduct(p, {cotangent, true}, {lhs, lhsTransposed})
          : createProduct(p, {lhs, !lhsTransposed}, {cotangent, false});
  operandCotangents[1] = p.castLike(product, rhs);
  return success();
}

LogicalResult AttentionOp::buildVJP(OpBuilder &builder,
                                    ArrayRef<Value> cotangents,
                                    ArrayRef<bool> wanted,
                                    SmallVectorImpl<Value> &results) {
  size_t first = results.size();
  results.append(getNumOperands(), Value());
  if (cotangents[1])
    return emitOpError("has no derivative through its statistics; use them "
                       "only in what needs no gradient");
  if (!cotangents[0] || !llvm::any_of(wanted, [](bool want) { return want; }))
    return success();
  if (getMask())
    return emitOpError("has an explicit mask and so no derivative: only "
                       "causal and windowed masks are kept in this op; run "
                       "the raise phase, which recognises them or writes the "
                       "attention out");
  SmallVector<RankedTensorType> types;
  for (Value operand : {getQuery(), getKey(), getValue()}) {
    RankedTensorType type = getTensorType(operand);
    SmallVector<int64_t> shape(type.getShape());
    if (getRowsFirst())
      std::swap(shape[1], shape[2]);
    types.push_back(type.clone(shape));
  }
  auto grad = AttentionGradOp::create(
      builder, getLoc(), types[0], types[1], types[2], getQuery(), getKey(),
      getValue(), getResult(), getStatistics(), cotangents[0], getScaleAttr(),
      getCausalAttr(), getWindowAttr(), getRowsFirstAttr());
  for (unsigned index = 0; index < 3; ++index) {
    if (!wanted[index])
      continue;
    Value cotangent = grad->getResult(index);
    if (getRowsFirst())
      cotangent = TransposeOp::create(
          builder, getLoc(), getTensorType(getOperand(index)), cotangent,
          builder.getDenseI64ArrayAttr({0, 2, 1, 3}));
    results[first + index] = cotangent;
  }
  return success();
}

LogicalResult LinearCrossEntropyOp::buildVJP(OpBuilder &builder,
                                             ArrayRef<Value> cotangents,
                                             ArrayRef<bool> wanted,
                                             SmallVectorImpl<Value> &results) {
  size_t first = results.size();
  results.append(getNumOperands(), Value());
  constexpr unsigned kHidden = 0, kWeight = 1, kBias = 3;
  bool wantsBias = getBias() && wanted[kBias];
  if (!cotangents[0] || !(wanted[kHidden] || wanted[kWeight] || wantsBias))
    return success();
  Primitives p(builder, getLoc());
  Type wide = getTensorType(getResult()).getElementType();
  Type bias = getBias() ? getTensorType(getBias()).clone(wide) : Type();
  auto grad = LinearCrossEntropyGradOp::create(
      builder, getLoc(), getResult().getType(), getHidden().getType(),
      getTensorType(getWeight()).clone(wide), bias, getHidden(), getWeight(),
      getLabels(), cotangents[0], getBias(), getTransposeWeightAttr(),
      getIgnoreIndexAttr(), getChunkAttr(), getLogitsAttr());
  if (wanted[kHidden])
    results[first + kHidden] = grad.getDHidden();
  if (wanted[kWeight])
    results[first + kWeight] = p.castLike(grad.getDWeight(), getWeight());
  if (wantsBias)
    results[first + kBias] = p.castLike(grad.getDBias(), getBias());
  return success();
}
