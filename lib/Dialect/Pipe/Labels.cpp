//===- Labels.cpp - The number of valid labels ----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Labels.h"
#include "Cuts.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Puts the count of `labels` other than `ignored` behind them.
static Value createCount(Value labels, IntegerAttr ignored, Location loc) {
  OpBuilder builder(labels.getContext());
  builder.setInsertionPointAfterValue(labels);
  auto type = cast<RankedTensorType>(labels.getType());
  auto element = cast<IntegerType>(type.getElementType());
  Value constant = nn::ConstantOp::create(
      builder, loc,
      SplatElementsAttr::get(type,
                             APInt(64, ignored.getInt(), /*isSigned=*/true)
                                 .sextOrTrunc(element.getWidth())));
  Value isValid = nn::CompareOp::create(builder, loc, nn::ComparePredicate::NE,
                                        labels, constant);
  Value ones = nn::CastOp::create(builder, loc,
                                  type.clone(builder.getF32Type()), isValid);
  return nn::ReduceOp::create(builder, loc, nn::ReduceKind::Sum, ones,
                              ArrayRef<int64_t>{0}, /*keepdims=*/false);
}

std::optional<LabelCount> pipe::buildLabelCount(func::FuncOp loss,
                                                LayerBuilder &builder) {
  Operation *entropy = nullptr;
  Value labels;
  IntegerAttr ignored;
  for (Operation &op : loss.getBody().front()) {
    if (!isa<nn::CrossEntropyOp, nn::LinearCrossEntropyOp>(op))
      continue;
    if (entropy)
      return std::nullopt;
    entropy = &op;
    if (auto head = dyn_cast<nn::LinearCrossEntropyOp>(op)) {
      labels = head.getLabels();
      ignored = head.getIgnoreIndexAttr();
    } else {
      labels = cast<nn::CrossEntropyOp>(op).getLabels();
      ignored = cast<nn::CrossEntropyOp>(op).getIgnoreIndexAttr();
    }
  }
  if (!ignored)
    return std::nullopt;
  Value count = createCount(labels, ignored, entropy->getLoc());
  LayerParts parts = builder.collect(count.getDefiningOp(), {});
  if (!parts.parameters.empty() || llvm::any_of(parts.ops, isProduct))
    return std::nullopt;
  LabelCount result;
  result.body =
      builder.build("labels", EntryKind::Count, parts, count, Role::Count);
  for (Value side : parts.sides)
    result.inputs.push_back(cast<BlockArgument>(side).getArgNumber());
  return result;
}
