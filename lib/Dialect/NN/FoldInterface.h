//===- FoldInterface.h - Folding of nn ops that have no folder --*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_FOLDINTERFACE_H
#define RONDO_LIB_DIALECT_NN_FOLDINTERFACE_H

#include "mlir/Interfaces/FoldInterfaces.h"

namespace rondo::nn {

/// Folds any op whose operands are constants and whose results are small, by
/// its reference evaluation. nn.iota never folds: masks stay symbolic.
class NNFoldInterface : public mlir::DialectFoldInterface {
public:
  using mlir::DialectFoldInterface::DialectFoldInterface;
  llvm::LogicalResult
  fold(mlir::Operation *op, llvm::ArrayRef<mlir::Attribute> operands,
       llvm::SmallVectorImpl<mlir::OpFoldResult> &results) const final;
};

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_FOLDINTERFACE_H
