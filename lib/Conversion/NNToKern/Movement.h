//===- Movement.h - Movements as strides -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_CONVERSION_NNTOKERN_MOVEMENT_H
#define RONDO_LIB_CONVERSION_NNTOKERN_MOVEMENT_H

#include "Linear.h"
#include "rondo/Dialect/NN/NN.h"

namespace rondo::lowering {

/// A transpose, slice or broadcast: element (i...) of the result is element
/// offset + sum of stride * i of the operand. Neighbouring axes that move as
/// one are one, so that no more is asked of an index than the movement needs.
struct Movement {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// The operand's element number.
  Linear apply(llvm::ArrayRef<Linear> index, size_t axes) const;
};
/// Empty for another op.
std::optional<Movement> getMovement(mlir::Operation *op);

} // namespace rondo::lowering

#endif // RONDO_LIB_CONVERSION_NNTOKERN_MOVEMENT_H
