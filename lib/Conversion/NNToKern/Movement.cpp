//===- Movement.cpp - Movements as strides -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Movement.h"

#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Linear Movement::apply(ArrayRef<Linear> index, size_t axes) const {
  Linear flat(axes);
  flat.constant = offset;
  for (auto [part, stride] : llvm::zip_equal(index, strides))
    flat.add(part, stride);
  return flat;
}

/// Joins axes whose strides run on, and drops axes of one element.
static void coalesce(Movement &movement) {
  Movement joined;
  joined.offset = movement.offset;
  for (auto [extent, stride] :
       llvm::zip_equal(movement.shape, movement.strides)) {
    if (extent == 1)
      continue;
    if (!joined.shape.empty() && joined.strides.back() == stride * extent) {
      joined.shape.back() *= extent;
      joined.strides.back() = stride;
      continue;
    }
    joined.shape.push_back(extent);
    joined.strides.push_back(stride);
  }
  movement = std::move(joined);
}

std::optional<Movement> lowering::getMovement(Operation *op) {
  if (!isa<nn::BroadcastOp, nn::TransposeOp, nn::SliceOp>(op))
    return std::nullopt;
  Movement movement;
  movement.shape = SmallVector<int64_t>(getShape(op->getResult(0)));
  ArrayRef<int64_t> from = getShape(op->getOperand(0));
  SmallVector<int64_t> own = nn::getRowMajorStrides(from);
  if (isa<nn::BroadcastOp>(op)) {
    movement.strides.assign(movement.shape.size() - from.size(), 0);
    for (auto [extent, stride] : llvm::zip_equal(from, own))
      movement.strides.push_back(extent == 1 ? 0 : stride);
  } else if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    for (int64_t axis : transpose.getPermutation())
      movement.strides.push_back(own[axis]);
  } else {
    auto slice = cast<nn::SliceOp>(op);
    for (auto [axis, stride] : llvm::enumerate(own)) {
      movement.strides.push_back(slice.getSteps()[axis] * stride);
      movement.offset += slice.getStarts()[axis] * stride;
    }
  }
  coalesce(movement);
  return movement;
}
