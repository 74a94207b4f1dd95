//===- Translation.h - sched IR and the planner's Schedule ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// `sched` IR and `rondo::scheduling::Schedule` say the same thing; algorithms
// work on the latter.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_TRANSLATION_H
#define RONDO_DIALECT_SCHED_TRANSLATION_H

#include "rondo/Dialect/Sched/Sched.h"
#include "rondo/Scheduling/Problems.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rondo::sched {

/// Reads a program. Fails, with a diagnostic, on an event that is not an
/// operation's or passed on by `sched.next`.
llvm::FailureOr<scheduling::Schedule> readSchedule(ProgramOp program);

/// Writes `schedule` as a program of `plan` at the builder's insertion point.
/// `locate` gives each operation's location.
ProgramOp writeSchedule(
    mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
    mlir::FlatSymbolRefAttr plan, const scheduling::Schedule &schedule,
    llvm::function_ref<mlir::Location(const scheduling::Op &)> locate);

/// Reports a problem's messages at `loc`: an infeasible problem as errors that
/// carry "infeasible", so that drivers can tell (exit code 3).
llvm::LogicalResult report(mlir::Location loc,
                           const scheduling::Outcome &outcome);

/// Replaces `program`'s body by `schedule`, keeping the locations of its
/// operations (same operations in the same order).
void rewriteSchedule(ProgramOp program, const scheduling::Schedule &schedule);

} // namespace rondo::sched

#endif // RONDO_DIALECT_SCHED_TRANSLATION_H
