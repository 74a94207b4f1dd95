//===- ConvertPipeToSched.cpp - Writes down an iteration ------------------===//
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
#define GEN_PASS_DEF_CONVERTPIPETOSCHED
#include "rondo/Planning/Passes.h.inc"
} // namespace rondo::planning

using namespace mlir;
using namespace rondo;

namespace {

struct ConvertPipeToSched
    : planning::impl::ConvertPipeToSchedBase<ConvertPipeToSched> {
  void runOnOperation() override {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

  LogicalResult convert(ModuleOp module) {
    FailureOr<planning::PlannedModel> planned =
        planning::readPlannedModel(module, "slots");
    if (failed(planned))
      return failure();
    planning::ModelInfo &info = planned->info;
    pipe::PlanOp op = planned->op;
    scheduling::TransferProblem problem{info.model, planned->machine,
                                        planned->plan};
    scheduling::Schedule schedule;
    if (failed(sched::report(op.getLoc(), problem.check())) ||
        failed(sched::report(op.getLoc(), problem.solve(schedule))) ||
        failed(sched::report(op.getLoc(), problem.verify(schedule))))
      return failure();
    OpBuilder builder(module.getBodyRegion());
    builder.setInsertionPointToEnd(module.getBody());
    // An operation is located at its layer, so that a run-time error names the
    // user's node.
    sched::writeSchedule(
        builder, module.getLoc(), "step",
        FlatSymbolRefAttr::get(op.getSymNameAttr()), schedule,
        [&](const scheduling::Op &entry) {
          if (entry.layer >= 0)
            return info.layers[entry.layer].getLoc();
          // What serves the loss as a whole is the loss layer's.
          bool ofLoss = entry.kind == scheduling::OpKind::Loss ||
                        entry.kind == scheduling::OpKind::Seed ||
                        entry.kind == scheduling::OpKind::CountLabels;
          return ofLoss ? info.layers.back().getLoc() : info.chain.getLoc();
        });
    return success();
  }
};

} // namespace
