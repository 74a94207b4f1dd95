//===- AttentionScores.h - What attention scores are made of ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_TRANSFORMS_ATTENTIONSCORES_H
#define RONDO_LIB_DIALECT_NN_TRANSFORMS_ATTENTIONSCORES_H

#include "rondo/Dialect/NN/NN.h"

namespace rondo::nn {

/// What the scores of an attention are made of.
struct AttentionScores {
  MatmulOp product;
  double scale = 1;
  /// Additive or boolean (true: seen).
  mlir::Value mask;
  /// What the mask does, if it is boolean.
  bool hidesWhereTrue = false;
  /// The score of a hidden key, if it is finite.
  std::optional<double> fill;
};

/// The softmax that computes `value`, under casts, and whether a guard puts 0
/// where a row sees nothing.
struct AttentionProbabilities {
  SoftmaxOp softmax;
  bool isGuarded = false;
};
AttentionProbabilities matchProbabilities(mlir::Value value);

/// Follows at most `depth` steps of scaling and masking, and casts, from the
/// scores down to the product of query and key.
bool matchScores(mlir::Value value, AttentionScores &scores, int depth = 8);

/// The mask that an attention op takes for `scores`, of rank 4 or null.
mlir::Value createMask(mlir::OpBuilder &builder, mlir::Location loc,
                       AttentionScores &scores);

/// [b, s, d] as [b, 1, s, d].
mlir::Value createRank4(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_TRANSFORMS_ATTENTIONSCORES_H
