//===- Labels.h - The number of valid labels --------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_LABELS_H
#define RONDO_LIB_DIALECT_PIPE_LABELS_H

#include "LayerBuilder.h"

namespace rondo::pipe {

struct LabelCount {
  BodyOp body;                       ///< With the entry `count`, detached.
  llvm::SmallVector<int64_t> inputs; ///< Inputs of `loss` that it takes.
};

/// The count of the labels that count in the only cross entropy of `loss`.
/// Nothing if every micro-batch weighs the same: there is no such operation or
/// more than one, no label is ignored, or the labels depend on more than
/// inputs.
std::optional<LabelCount> buildLabelCount(mlir::func::FuncOp loss,
                                          LayerBuilder &builder);

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_LABELS_H
