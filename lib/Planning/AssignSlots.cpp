//===- AssignSlots.cpp - Deals the slots to the devices -------------------===//
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
#define GEN_PASS_DEF_PIPEASSIGNSLOTS
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

using namespace mlir;
using namespace rondo;

namespace {

struct AssignSlots : planning::impl::PipeAssignSlotsBase<AssignSlots> {
  void runOnOperation() override {
    if (failed(assign(getOperation())))
      signalPassFailure();
  }

  LogicalResult assign(ModuleOp module) {
    FailureOr<planning::PlannedModel> planned =
        planning::readPlannedModel(module, "stages");
    if (failed(planned))
      return failure();
    auto &[config, op, info, plan, machine] = *planned;
    scheduling::SlotProblem problem{info.model, machine.devices, config.rotate};
    if (failed(sched::report(op.getLoc(), problem.check(plan))) ||
        failed(sched::report(op.getLoc(), problem.solve(plan))) ||
        failed(sched::report(op.getLoc(), problem.verify(plan))))
      return failure();
    OpBuilder builder(op);
    planning::writePlan(builder, op.getLoc(), op.getChainAttr(), info.model,
                        config.devices, plan);
    op.erase();
    return success();
  }
};

} // namespace
