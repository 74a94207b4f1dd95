//===- VJPComposite.cpp - Derivatives of rms_norm and rope ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closed formulas in f32 (f64 for f64 operands) rather than the derivatives of
// the decompositions: fewer roundings, and one row kernel each.
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"
#include "RowFormulas.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

/// With r = 1 / sqrt(mean(x^2) + epsilon), h = x r and g = dy * weight:
/// dx = r (g - h mean(g h)), dweight = sum over the rows of dy h.
LogicalResult RmsNormOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted,
                                  SmallVectorImpl<Value> &results) {
  if (!cotangents.front() || (!wanted[0] && !wanted[1])) {
    results.append(2, Value());
    return success();
  }
  Primitives p(builder, getLoc());
  Value x = p.widen(getOperand());
  Value cotangent = p.widen(cotangents.front());
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  Value scale =
      p.broadcast(buildInverseRms(p, x, getEpsilon().convertToDouble()), shape);
  Value normalised = p.mul(x, scale);

  Value operandCotangent, weightCotangent;
  if (wanted[0]) {
    Value weight = p.broadcast(
        p.cast(getWeight(), getTensorType(x).getElementType()), shape);
    Value inner = p.mul(cotangent, weight);
    Value mean = p.reduceRows(ReduceKind::Mean, p.mul(inner, normalised));
    Value projected = p.mul(normalised, mean);
    Value centred = p.sub(inner, projected);
    operandCotangent = p.castLike(p.mul(scale, centred), getOperand());
  }
  if (wanted[1]) {
    auto rows = llvm::to_vector(llvm::seq<int64_t>(0, shape.size() - 1));
    Value product = p.mul(cotangent, normalised);
    Value sum = p.reduce(ReduceKind::Sum, product, rows, /*keepdims=*/false);
    weightCotangent = p.castLike(sum, getWeight());
  }
  results.append({operandCotangent, weightCotangent});
  return success();
}

/// rotate(x) = concat(-x2, x1) has the transpose u -> concat(u2, -u1), which
/// is -rotate. The tables may differ between the halves.
LogicalResult RopeOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted,
                               SmallVectorImpl<Value> &results) {
  Value value;
  if (cotangents.front() && wanted[0]) {
    Primitives p(builder, getLoc());
    Value cotangent = p.widen(cotangents.front());
    Type element = getTensorType(cotangent).getElementType();
    ArrayRef<int64_t> shape = getTensorType(cotangent).getShape();
    Value cosine = p.broadcast(p.cast(getCosine(), element), shape);
    Value sine = p.broadcast(p.cast(getSine(), element), shape);
    Value straight = p.mul(cotangent, cosine);
    Value turned = rotateHalves(p, p.mul(cotangent, sine));
    value = p.castLike(p.sub(straight, turned), getOperand());
  }
  results.append({value, Value(), Value()});
  return success();
}
