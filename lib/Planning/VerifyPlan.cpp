//===- VerifyPlan.cpp - Is this a plan of the model? ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Sched/Translation.h"
#include "rondo/Planning/Model.h"
#include "rondo/Planning/Passes.h"

namespace rondo::planning {
#define GEN_PASS_DEF_PIPEVERIFYPLAN
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

using namespace mlir;
using namespace rondo;

/// The plan repeats what was asked for: it must not say otherwise.
static LogicalResult checkAsked(pipe::PlanOp plan, const Config &config) {
  std::tuple<StringRef, uint64_t, int64_t> facts[] = {
      {"devices", plan.getDevices(), config.devices},
      {"rounds", plan.getRounds(), config.rounds},
      {"micro-batches", plan.getMicroBatches(), config.microBatches},
      {"staleness", plan.getStaleness(), config.staleness}};
  for (auto [what, planned, asked] : facts)
    if (planned != (uint64_t)asked)
      return plan.emitOpError() << "is for " << what << " " << planned
                                << ", but rondo.config says " << asked;
  return success();
}

namespace {

struct VerifyPlan : planning::impl::PipeVerifyPlanBase<VerifyPlan> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(ModuleOp module) {
    FailureOr<planning::PlannedModel> planned =
        planning::readPlannedModel(module, "stages");
    if (failed(planned))
      return failure();
    auto &[config, op, info, plan, machine] = *planned;
    if (failed(checkAsked(op, config)))
      return failure();
    scheduling::PartitionProblem partition{info.model, machine};
    if (failed(sched::report(op.getLoc(), partition.verify(plan))))
      return failure();
    if (plan.slots.empty())
      return success();
    scheduling::SlotProblem slots{info.model, machine.devices, config.rotate};
    return sched::report(op.getLoc(), slots.verify(plan));
  }
};

} // namespace
