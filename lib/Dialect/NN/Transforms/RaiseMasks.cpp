//===- RaiseMasks.cpp - Recognises attention masks ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskAnalysis.h"
#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEMASKS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {

struct RaiseMasks : rondo::nn::impl::NNRaiseMasksBase<RaiseMasks> {
  void runOnOperation() override {
    // All layers use one mask: look into it once.
    DenseMap<std::pair<Value, std::pair<int64_t, int64_t>>,
             std::optional<VisibleKeys>>
        analyzed;
    getOperation().walk([&](AttentionOp attention) {
      Value mask = attention.getMask();
      if (!mask)
        return;
      MaskSpace space = {getTensor(attention.getQuery()).getDimSize(2),
                         getTensor(attention.getKey()).getDimSize(2)};
      auto [entry, isNew] =
          analyzed.insert({{mask, {space.queries, space.keys}}, std::nullopt});
      if (isNew)
        entry->second = analyzeMask(mask, space);
      if (entry->second && raise(attention, *entry->second, space))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }

  /// Replaces the mask by attributes that show the same keys.
  static bool raise(AttentionOp attention, const VisibleKeys &shown,
                    MaskSpace space) {
    MaskForm own;
    own.causal = attention.getCausal();
    if (std::optional<uint64_t> window = attention.getWindow())
      own.window = static_cast<int64_t>(*window);
    KeyIntervals visible =
        intersect(shown.intervals, getVisibleKeys(own, space));
    // Where a row is hidden as a whole, the attributes give 0. Softmax gives
    // NaN, or the mean over keys that are all as finitely low.
    std::optional<double> fill;
    if (std::optional<APFloat> value = attention.getFill())
      fill = value->convertToDouble();
    bool isZero = !shown.hidesWithFinite && !fill && !attention.getUnguarded();
    if (!isZero && llvm::any_of(visible, [](KeyInterval interval) {
          return interval.isEmpty();
        }))
      return false;
    Type element = getTensor(attention.getQuery()).getElementType();
    if (fill && *fill > getHidingBound(element))
      return false;
    std::optional<MaskForm> form = classify(visible, space);
    if (!form)
      return false;
    attention.getMaskMutable().clear();
    attention.removeFillAttr();
    attention.setUnguarded(false);
    attention.setCausal(form->causal);
    if (form->window)
      attention.setWindow(*form->window);
    else
      attention.removeWindowAttr();
    return true;
  }
};

} // namespace
