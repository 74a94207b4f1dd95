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

#endif // RONDO_PLANNING_PASSES_TD
