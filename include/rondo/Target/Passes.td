//===- Passes.td - Passes that show code -------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_PASSES_TD
#define RONDO_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintPtx : Pass<"rondo-print-ptx", "::mlir::ModuleOp"> {
  let summary = "Prints the GPU code of all launch lists";
  let description = [{
    For tests and for looking at code: the PTX of the kernels of every `kern.func`, as a program for GPUs would hold it, and before it, as comments, each
    kernel's grid and block. The module stays as it is.
  }];
  let options = [Option<"arch", "arch", "std::string", "\"sm_80\"", "the least capable GPU that the code is for">];
}

#endif // RONDO_TARGET_PASSES_TD
