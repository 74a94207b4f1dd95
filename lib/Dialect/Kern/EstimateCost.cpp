//===- EstimateCost.cpp - Flops, bytes and time of entries ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Passes.h"

#include <cmath>

namespace rondo::kern {
#define GEN_PASS_DEF_KERNESTIMATECOST
#include "rondo/Dialect/Kern/Passes.h.inc"
} // namespace rondo::kern

using namespace mlir;
using namespace rondo::kern;

/// To six digits: more are not meant, and these print as they are.
static APFloat keepSixDigits(double value) {
  if (value == 0)
    return APFloat(0.0);
  double unit = std::pow(10.0, std::floor(std::log10(value)) - 5);
  return APFloat(unit < 1 ? std::round(value * std::round(1 / unit)) /
                                std::round(1 / unit)
                          : std::round(value / unit) * unit);
}

namespace {
struct EstimateCost : rondo::kern::impl::KernEstimateCostBase<EstimateCost> {
  using KernEstimateCostBase::KernEstimateCostBase;

  void runOnOperation() override {
    KernTarget target{flopsPerNs, scalarPerNs, bytesPerNs, latencyNs,
                      f32FlopsPerNs};
    OpCost sum;
    for (Operation &op : getOperation().getBody().front()) {
      OpCost cost = getCost(&op, target);
      sum.flops += cost.flops;
      sum.bytes += cost.bytes;
      sum.timeNs += cost.timeNs;
    }
    getOperation().setFlops(keepSixDigits(sum.flops));
    getOperation().setBytes(keepSixDigits(sum.bytes));
    getOperation().setTime(keepSixDigits(sum.timeNs));
  }
};
} // namespace
