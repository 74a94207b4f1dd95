//===- Passes.td - Planning passes -------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_PASSES_TD
#define RONDO_PLANNING_PASSES_TD

include "mlir/Pass/PassBase.td"

def PipePartitionStages : Pass<"rondo-pipe-partition-stages", "::mlir::ModuleOp"> {
  let summary = "Cuts the layers into asymmetric stages under the device's memory";
  let description = [{
    Phase `stages`: adds a `pipe.plan` with forward stages, one fused tail and backward stages, cut independently. Every candidate is checked against the
    exact memory plan it would get; if that exceeds the device, planning repeats with the excess subtracted. With `recompute = auto` the save set of least predicted
    step time wins. If no save set fits, full recomputation is tried once more with a backward that reads products alone and computes the rest twice.
    Infeasible only when no plan fits, with the numbers. Algorithm: `rondo::scheduling::PartitionProblem`; what is asked for is
    in the module's `rondo.config`.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def PipeAssignSlots : Pass<"rondo-pipe-assign-slots", "::mlir::ModuleOp"> {
  let summary = "Deals the slots of all rounds to the devices, round robin with carry-over";
  let description = [{
    Phase `slots`: slot i of a round is on device (offset + i) mod N; the offset carries over rounds and, unless `rotate` is off in `rondo.config`,
    over iterations (`rotation`). Algorithm: `rondo::scheduling::SlotProblem`.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect"];
}

def ConvertPipeToSched : Pass<"rondo-convert-pipe-to-sched", "::mlir::ModuleOp"> {
  let summary = "Writes down every transfer, launch and host step of an iteration";
  let description = [{
    Phase `transfers`: makes a `sched.program` of the plan, with lanes, priorities, predicted times and buffers taken from pools; no events yet.
    Algorithm: `rondo::scheduling::TransferProblem`.
  }];
  let dependentDialects = ["::rondo::sched::SchedDialect"];
}

def PipeVerifyPlan : Pass<"rondo-pipe-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Checks a plan against the model and what was asked for";
  let description = [{
    Devices, rounds, micro-batches and staleness are those of `rondo.config`; the stages hold every layer once in each direction, and the bytes they claim are
    right; slots, once there are any, run every stage of every round on the device that is next in turn. Shares no code with `rondo-pipe-partition-stages` and
    `rondo-pipe-assign-slots`.
  }];
}

def SchedVerifyTransfers : Pass<"rondo-sched-verify-transfers", "::mlir::ModuleOp"> {
  let summary = "Proves by replay that a program computes what its plan and chain say";
  let description = [{
    Reads the `sched.program` beside the `pipe.plan` and the `pipe.chain` that it is of, and replays it on symbols ("input 0 of layer 3, step 1, micro-batch 2")
    over the cycle: every copy, launch and host step must find the values that it needs, whole, of its device and iteration, and may not write over them; every
    block must be updated once a step. Names the operation that is missing something, doubled, or in the wrong place. Works after `transfers`, `fences` and
    `memory`; shares no code with `rondo-convert-pipe-to-sched`.
  }];
}

#endif // RONDO_PLANNING_PASSES_TD
