//===- VerifyTransfers.cpp - Does a program do what its plan says? --------===//
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
#define GEN_PASS_DEF_SCHEDVERIFYTRANSFERS
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

using namespace mlir;
using namespace rondo;

namespace {

struct VerifyTransfers
    : planning::impl::SchedVerifyTransfersBase<VerifyTransfers> {
  void runOnOperation() override {
    if (failed(verify(getOperation())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  LogicalResult verify(ModuleOp module) {
    FailureOr<sched::ProgramOp> op =
        planning::getOnly<sched::ProgramOp>(module, "transfers");
    FailureOr<planning::PlannedModel> planned =
        planning::readPlannedModel(module, "slots");
    if (failed(op) || failed(planned))
      return failure();
    if (op->getPlan() != planned->op.getSymName())
      return op->emitOpError()
             << "is of @" << op->getPlan() << ", but the module's plan is @"
             << planned->op.getSymName();
    FailureOr<scheduling::Schedule> schedule = sched::readSchedule(*op);
    if (failed(schedule))
      return failure();
    scheduling::TransferProblem problem{planned->info.model, planned->machine,
                                        planned->plan};
    return sched::report(op->getLoc(), problem.verify(*schedule));
  }
};

} // namespace
