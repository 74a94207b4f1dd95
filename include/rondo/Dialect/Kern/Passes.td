//===- Passes.td - kern passes -----------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_PASSES_TD
#define RONDO_DIALECT_KERN_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernPlanScratch : Pass<"rondo-kern-plan-scratch", "::rondo::kern::FuncOp"> {
  let summary = "Gives each scratch value an offset";
  let description = [{
    Each `kern.scratch` lives from its first to its last use. Larger ones are placed first, each at the lowest
    offset (a multiple of 64 bytes) that is free during its whole life. Sets `scratch` of the function.

    ```mlir
    %0 = kern.scratch : memref<4x16xf32>
    // becomes
    %0 = kern.scratch at 0 : memref<4x16xf32>
    ```
  }];
}

def KernEstimateCost : Pass<"rondo-kern-estimate-cost", "::rondo::kern::FuncOp"> {
  let summary = "Fills flops, bytes and time of a function";
  let description = [{
    The roofline of each op: the longer of its arithmetic and its memory traffic, plus a fixed latency, summed.
  }];
  let options = [
    Option<"flopsPerNs", "flops", "double", "50", "operations a nanosecond of products">,
    Option<"f32FlopsPerNs", "f32-flops", "double", "0", "the same where an operand is f32; 0: as the others">,
    Option<"scalarPerNs", "scalar", "double", "10", "operations a nanosecond of generated code">,
    Option<"bytesPerNs", "bandwidth", "double", "10", "bytes a nanosecond">,
    Option<"latencyNs", "latency", "double", "500", "nanoseconds a call">];
}

def KernVerifyScratch : Pass<"rondo-kern-verify-scratch", "::rondo::kern::FuncOp"> {
  let summary = "Proves that no op reads what was not written, and that results are";
  let description = [{
    Walks the ops in order over the bytes of the scratch arena. An op may read or add to those elements of a `kern.scratch` that ops wrote since
    the value's life began, and nothing that shares its bytes may have been written since. A life begins with the first write, after another value
    took the bytes, and where an op writes over what was read; one kernel in a life may work in place on what was read. Elements are exact
    (leading dimensions, strides, guards, batches); what indices pick from counts as read, what a select on coordinates never takes does not.
    Inputs are never written, gradients only added to, and every element of a result is written or added to. Shares no code with
    `rondo-kern-plan-scratch`.
  }];
}

#endif // RONDO_DIALECT_KERN_PASSES_TD
