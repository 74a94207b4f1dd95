//===- KernDialect.td - How an entry runs ------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_KERNDIALECT_TD
#define RONDO_DIALECT_KERN_KERNDIALECT_TD

include "mlir/IR/OpBase.td"

def Kern_Dialect : Dialect {
  let name = "kern";
  let cppNamespace = "::rondo::kern";
  let summary = "How an entry runs: library calls and generated kernels on memory";
  let description = [{
    A `kern.func` is the straight-line launch list of one entry: products go to a
    library (`kern.gemm`), everything else is code to be generated (`kern.fused`,
    `kern.gather`, `kern.scatter_add`). All memory is contiguous and of static shape;
    where a value lies is a `kern.scratch` offset or an argument.

    Arithmetic is written down to the last rounding: regions hold scalar `arith` and
    `math` ops that compute in f32 (f64 for f64) and round wherever an nn op's result is rounded; reductions have one fixed
    tree; nothing may be contracted or reassociated. So a value has the same bits in every
    entry that computes it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // RONDO_DIALECT_KERN_KERNDIALECT_TD
