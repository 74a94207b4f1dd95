//===- VerifyFences.cpp - Proves that nothing races and no event is idle --===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "rondo/Dialect/Sched/Passes.h"
#include "rondo/Dialect/Sched/Translation.h"

namespace rondo::sched {
#define GEN_PASS_DEF_SCHEDVERIFYFENCES
#include "rondo/Dialect/Sched/Passes.h.inc"
} // namespace rondo::sched

using namespace mlir;
using namespace rondo;
using namespace rondo::sched;

namespace {

struct VerifyFences : sched::impl::SchedVerifyFencesBase<VerifyFences> {
  using SchedVerifyFencesBase::SchedVerifyFencesBase;

  void runOnOperation() override {
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<ProgramOp>()))
      if (failed(runOnProgram(program)))
        return signalPassFailure();
  }

  LogicalResult runOnProgram(ProgramOp program) {
    FailureOr<scheduling::Schedule> schedule = readSchedule(program);
    if (failed(schedule))
      return failure();
    scheduling::FenceProblem problem;
    if (failed(report(program.getLoc(), problem.check(*schedule))))
      return failure();
    return report(program.getLoc(), problem.verify(*schedule));
  }
};

} // namespace
