//===- SchedInterfaces.td - sched op interfaces ------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHEDINTERFACES_TD
#define RONDO_DIALECT_SCHED_SCHEDINTERFACES_TD

include "mlir/IR/OpBase.td"

def Sched_TimedOp : OpInterface<"TimedOp"> {
  let cppNamespace = "::rondo::sched";
  let description = [{ An operation on a lane: what it waits for, and which buffers it touches. }];
  let methods = [
    InterfaceMethod<"The lane.", "::rondo::sched::Lane", "getLane", (ins)>,
    InterfaceMethod<"Logical device of iteration 0; -1 on the host.", "int32_t", "getDevice", (ins)>,
    InterfaceMethod<"Buffers touched, in order.", "::mlir::OperandRange", "getTouched", (ins)>,
    InterfaceMethod<"How each is touched: 1 read, 2 written, 3 both.", "::llvm::SmallVector<int32_t>", "getAccesses", (ins)>,
    InterfaceMethod<"Events waited for.", "::mlir::OperandRange", "getWaits", (ins)>,
    InterfaceMethod<"Events waited for.", "::mlir::MutableOperandRange", "getWaitsMutable", (ins)>,
    InterfaceMethod<"What it serves.", "::rondo::sched::TagAttr", "getTagAttr", (ins)>,
  ];
}

#endif // RONDO_DIALECT_SCHED_SCHEDINTERFACES_TD
