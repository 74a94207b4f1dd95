//===- NNBase.td - What all nn operations share ------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNBASE_TD
#define RONDO_DIALECT_NN_NNBASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "rondo/Dialect/NN/NNAttrs.td"
include "rondo/Dialect/NN/NNDialect.td"
include "rondo/Dialect/NN/NNInterfaces.td"

def NN_FloatType : AnyTypeOf<[F32, BF16, F16, F64]>;
def NN_ElementType : AnyTypeOf<[F32, BF16, F16, F64, I64, I32, I1]>;
def NN_Tensor : StaticShapeTensorOf<[NN_ElementType]>;
def NN_FloatTensor : StaticShapeTensorOf<[NN_FloatType]>;
def NN_NumberTensor : StaticShapeTensorOf<[F32, BF16, F16, F64, I64, I32]>;
def NN_IndexTensor : StaticShapeTensorOf<[I64, I32]>;
def NN_BoolTensor : StaticShapeTensorOf<[I1]>;

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, traits # [
        Pure, DeclareOpInterfaceMethods<NN_CostOp>,
        DeclareOpInterfaceMethods<NN_EvaluableOp>]>;

#endif // RONDO_DIALECT_NN_NNBASE_TD
