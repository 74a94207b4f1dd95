//===- MaskAnalysis.h - Which keys a mask shows -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKANALYSIS_H
#define RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKANALYSIS_H

#include "MaskTerm.h"

namespace rondo::nn {

/// From here on a score, or what a mask adds to one, is as good as minus
/// infinity beside scores of that element type.
double getHidingBound(mlir::Type element);

/// The keys that each query sees.
struct VisibleKeys {
  KeyIntervals intervals;
  /// Whether an additive mask hides the others with a finite value: where it
  /// hides a whole row, it hides nothing, as softmax ignores a shift.
  bool hidesWithFinite = false;
};

/// The keys that each query sees under `mask` (boolean, or additive with 0 and
/// values that no score can make up for), which broadcasts to
/// [batch, heads, queries, keys]. Nothing if the mask depends on inputs, batch
/// or head, or if the keys are not an interval for each query.
///
/// Takes time and memory in proportion to queries + keys, and to the size of
/// constants it meets.
std::optional<VisibleKeys> analyzeMask(mlir::Value mask, MaskSpace space);

/// What nn.attention can say about visible keys.
struct MaskForm {
  bool causal = false;
  std::optional<int64_t> window;
};

/// The keys that each query sees under a form (see nn.attention).
KeyIntervals getVisibleKeys(const MaskForm &form, MaskSpace space);
/// The form under which each query sees exactly `visible`, if there is one.
std::optional<MaskForm> classify(const KeyIntervals &visible, MaskSpace space);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKANALYSIS_H
