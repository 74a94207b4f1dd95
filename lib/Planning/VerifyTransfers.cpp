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
    FailureOr<Config> config = Config::read(module);
    FailureOr<sched::ProgramOp> op =
        planning::getOnly<sched::ProgramOp>(module, "transfers");
    FailureOr<pipe::PlanOp> planOp =
        planning::getOnly<pipe::PlanOp>(module, "slots");
    if (failed(config) || failed(op) || failed(planOp))
      return failure();
    if (op->getPlan() != planOp->getSymName())
      return op->emitOpError()
             << "is of @" << op->getPlan() << ", but the module's plan is @"
             << planOp->getSymName();
    FailureOr<planning::ModelInfo> info = planning::buildModel(module, *config);
    FailureOr<scheduling::Schedule> schedule = sched::readSchedule(*op);
    if (failed(info) || failed(schedule))
      return failure();
    scheduling::Plan plan = planning::readPlan(*planOp);
    scheduling::Machine machine = config->getMachine();
    scheduling::TransferProblem problem{info->model, machine, plan};
    return sched::report(op->getLoc(), problem.verify(*schedule));
  }
};

} // namespace
