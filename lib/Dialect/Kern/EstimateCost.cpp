//===- EstimateCost.cpp - Flops, bytes and time of entries ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Passes.h"

namespace rondo::kern {
#define GEN_PASS_DEF_KERNESTIMATECOST
#include "rondo/Dialect/Kern/Passes.h.inc"
} // namespace rondo::kern

using namespace mlir;
using namespace rondo::kern;

namespace {
struct EstimateCost : rondo::kern::impl::KernEstimateCostBase<EstimateCost> {
  using KernEstimateCostBase::KernEstimateCostBase;

  void runOnOperation() override {
    KernTarget target{flopsPerNs, scalarPerNs, bytesPerNs, latencyNs};
    OpCost sum;
    for (Operation &op : getOperation().getBody().front()) {
      OpCost cost = getCost(&op, target);
      sum.flops += cost.flops;
      sum.bytes += cost.bytes;
      sum.timeNs += cost.timeNs;
    }
    getOperation().setFlops(APFloat(sum.flops));
    getOperation().setBytes(APFloat(sum.bytes));
    getOperation().setTime(APFloat(sum.timeNs));
  }
};
} // namespace
