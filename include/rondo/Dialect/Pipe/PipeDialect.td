//===- PipeDialect.td - Who computes it --------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PIPEDIALECT_TD
#define RONDO_DIALECT_PIPE_PIPEDIALECT_TD

include "mlir/IR/OpBase.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::rondo::pipe";
  let summary = "Who computes it: layers, stages, slots, rounds, micro-batches";
  let description = [{
    The `pipe` dialect cuts the loss function into a chain of layers, gives each distinct layer
    body its derivative entries, and then says which stage, slot and device runs which layer.
    It says nothing about when: that is `sched`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::rondo::nn::NNDialect", "::mlir::func::FuncDialect"];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

#endif // RONDO_DIALECT_PIPE_PIPEDIALECT_TD
