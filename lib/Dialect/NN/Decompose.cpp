//===- Decompose.cpp - Composites as primitives ---------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These lists of primitives are what kernels are generated from: they define
// the bits of a composite's value. Each computes in f32 (f64 for f64 operands)
// and rounds where the op's description says so.
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"
#include "RowFormulas.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

//===----------------------------------------------------------------------===//
// Shared formulas
//===----------------------------------------------------------------------===//

Value nn::buildInverseRms(Primitives &p, Value x, double epsilon) {
  Value square = p.mul(x, x);
  Value mean = p.reduce(ReduceKind::Mean, square,
                        {getTensorType(x).getRank() - 1}, /*keepdims=*/true);
  return p.unary<RsqrtOp>(p.offset(mean, epsilon));
}

Value nn::rotateHalves(Primitives &p, Value x) {
  RankedTensorType type = getTensorType(x);
  int64_t last = type.getRank() - 1;
  int64_t half = type.getDimSize(last) / 2;
  SmallVector<int64_t> starts(last + 1, 0), steps(last + 1, 1);
  SmallVector<int64_t> shape(type.getShape());
  shape[last] = half;
  Value first = p.slice(x, starts, steps, shape);
  starts[last] = half;
  Value second = p.slice(x, starts, steps, shape);
  Value flipped = p.neg(second);
  return ConcatOp::create(p.getBuilder(), p.getLoc(), type, last,
                          ValueRange{flipped, first});
}

ShiftedExponentials nn::buildShiftedExponentials(Primitives &p, Value x) {
  ShiftedExponentials row;
  Value maximum = p.reduceRows(ReduceKind::Max, x);
  row.shifted = p.sub(x, maximum);
  row.exponentials = p.exp(row.shifted);
  row.sum = p.reduce(ReduceKind::Sum, row.exponentials,
                     {getTensorType(x).getRank() - 1}, /*keepdims=*/true);
  return row;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

SmallVector<Value> SiluOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value x = p.widen(getOperand());
  Value gate = p.unary<SigmoidOp>(x);
  return {p.castLike(p.mul(x, gate), getResult())};
}

SmallVector<Value> GeluOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value x = p.widen(getOperand());
  Value gate;
  if (getTanh()) {
    // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
    Value square = p.mul(x, x);
    Value stretch = p.offset(p.scale(square, 0.044715), 1);
    Value inner =
        p.scale(p.mul(x, stretch), std::sqrt(2.0) * llvm::numbers::inv_sqrtpi);
    gate = p.unary<TanhOp>(inner);
  } else {
    gate = p.unary<ErfOp>(p.scale(x, std::sqrt(0.5)));
  }
  Value half = p.scale(x, 0.5);
  return {p.castLike(p.mul(half, p.offset(gate, 1)), getResult())};
}

SmallVector<Value> SoftmaxOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value x = p.widen(getOperand());
  ShiftedExponentials row = buildShiftedExponentials(p, x);
  Value sum = p.broadcast(row.sum, getTensorType(x).getShape());
  return {p.castLike(p.div(row.exponentials, sum), getResult())};
}

//===----------------------------------------------------------------------===//
// Normalisation and positions
//===----------------------------------------------------------------------===//

SmallVector<Value> RmsNormOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value x = p.widen(getOperand());
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  Value scale =
      p.broadcast(buildInverseRms(p, x, getEpsilon().convertToDouble()), shape);
  Value normalised = p.castLike(p.mul(x, scale), getOperand());
  Value weight = p.broadcast(p.castLike(getWeight(), getOperand()), shape);
  return {p.mul(normalised, weight)};
}

SmallVector<Value> RopeOp::buildDecomposition(OpBuilder &builder) {
  Primitives p(builder, getLoc());
  Value x = getOperand();
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  Value cosine = p.broadcast(p.castLike(getCosine(), x), shape);
  Value sine = p.broadcast(p.castLike(getSine(), x), shape);
  Value straight = p.mul(x, cosine);
  Value turned = p.mul(rotateHalves(p, x), sine);
  return {p.add(straight, turned)};
}
