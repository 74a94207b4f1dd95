//===- NNDialect.td - What is computed ---------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNDIALECT_TD
#define RONDO_DIALECT_NN_NNDIALECT_TD

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::rondo::nn";
  let summary = "What is computed: tensors with value semantics and static shapes";
  let description = [{
    The `nn` dialect states a training graph and nothing about where or when it
    runs. All values are ranked tensors of static shape over
    f32, bf16, f16, f64, i64, i32 and i1. There is no implicit broadcasting:
    elementwise ops take operands of one shape, `nn.broadcast` stretches.

    Precision: an op computes in f32 (f64 for f64 operands) and rounds its result once to the
    result's element type. A value therefore has the same bits wherever it is
    computed, fused or not.

    Ops are created by import unless they say otherwise. `rondo-nn-fold-constants` removes those whose value is known,
    `rondo-nn-raise-*` replace decompositions by composites, and `rondo-convert-nn-to-kern` turns all that are left into kernels and
    library calls; module-level parameters alone stay until the program is written.

    Every op implements shape inference, cost, reference evaluation and, where a
    derivative exists, its vector-Jacobian product (VJP), so adding an op means
    writing these in one place.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

#endif // RONDO_DIALECT_NN_NNDIALECT_TD
