//===- SchedDialect.td - When, and what moves --------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHEDDIALECT_TD
#define RONDO_DIALECT_SCHED_SCHEDDIALECT_TD

include "mlir/IR/OpBase.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::rondo::sched";
  let summary = "When, and what moves: one iteration on lanes, with buffers and events";
  let description = [{
    A `sched.program` is one iteration of training as a list of operations in issue order. Each runs on a lane: five per device
    (`compute`, `parameter_up`, `gradient_down`, `activation_up`, `activation_down`) and two on the host (`update`, `staging`). A lane runs its operations one
    after the other; between lanes only events order. Iterations repeat the template: logical device d of iteration t is
    physical device (d + t * rotation) mod devices, and `sched.rotate` takes several buffers in turn. Completion is an SSA value of type
    `!sched.event`; events of earlier iterations are the program's block arguments, passed on by `sched.next`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // RONDO_DIALECT_SCHED_SCHEDDIALECT_TD
