//===- Passes.td - sched passes ----------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_PASSES_TD
#define RONDO_DIALECT_SCHED_PASSES_TD

include "mlir/Pass/PassBase.td"

def SchedInsertFences : Pass<"rondo-sched-insert-fences", "::mlir::ModuleOp"> {
  let summary = "Adds exactly the events that order every hazard";
  let description = [{
    Every two operations that touch one buffer instance, one writing, must be ordered, in one iteration and between iterations. An event is added for each
    such pair that lane order and the other events do not already imply (the transitive reduction), so every event is necessary.
    Algorithm: `rondo::scheduling::FenceProblem`.
  }];
  let dependentDialects = ["::rondo::sched::SchedDialect"];
}

def SchedVerifyFences : Pass<"rondo-sched-verify-fences", "::mlir::ModuleOp"> {
  let summary = "Proves that no two conflicting accesses race, and that no event is idle";
  let description = [{
    Works on physical devices over the unrolled cycle; on buffers before offsets are known, on byte ranges after. Shares no code with
    `rondo-sched-insert-fences`.
  }];
}

def SchedAssignOffsets : Pass<"rondo-sched-assign-offsets", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its place in its arena";
  let description = [{
    Buffers that transfers touch lie side by side; those that one slot's compute lane alone touches are packed by lifetime. Fails, with the largest consumers
    and what to change, when an arena exceeds its limit.
  }];
  let options = [
    Option<"deviceLimit", "device-limit", "uint64_t", "0", "Bytes of a device's arena; 0: no limit">,
    Option<"hostLimit", "host-limit", "uint64_t", "0", "Bytes of pinned and host memory together; 0: no limit">];
  let dependentDialects = ["::rondo::sched::SchedDialect"];
}

def SchedVerifyOffsets : Pass<"rondo-sched-verify-offsets", "::mlir::ModuleOp"> {
  let summary = "Proves by replay that every read finds its own buffer's last value";
  let description = [{ Bounds, alignment, and overwritten values, on byte ranges of physical devices. }];
  let options = [
    Option<"deviceLimit", "device-limit", "uint64_t", "0", "Bytes of a device's arena; 0: no limit">,
    Option<"hostLimit", "host-limit", "uint64_t", "0", "Bytes of pinned and host memory together; 0: no limit">];
}

#endif // RONDO_DIALECT_SCHED_PASSES_TD
