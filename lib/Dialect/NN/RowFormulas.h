//===- RowFormulas.h - What values and derivatives share -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_ROWFORMULAS_H
#define RONDO_LIB_DIALECT_NN_ROWFORMULAS_H

#include "Primitives.h"

namespace rondo::nn {

/// 1 / sqrt(mean(x^2) + epsilon) of each row of the last axis, which stays with
/// extent 1. `x` is f32 or f64.
mlir::Value buildInverseRms(Primitives &p, mlir::Value x, double epsilon);

/// concat(-x2, x1) of the halves x1, x2 of the last axis.
mlir::Value rotateHalves(Primitives &p, mlir::Value x);

/// exp(x - max) of each row of the last axis, and what it is made of.
struct ShiftedExponentials {
  mlir::Value shifted;      ///< x - max, the shape of x
  mlir::Value exponentials; ///< exp(shifted), the shape of x
  mlir::Value sum;          ///< of each row; the last axis has extent 1
};
/// `x` is f32 or f64.
ShiftedExponentials buildShiftedExponentials(Primitives &p, mlir::Value x);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_ROWFORMULAS_H
