//===- NNAttrs.td - nn attributes --------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNATTRS_TD
#define RONDO_DIALECT_NN_NNATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "rondo/Dialect/NN/NNDialect.td"

class NN_Attr<string name, string mnemonicValue> : AttrDef<NN_Dialect, name> {
  let mnemonic = mnemonicValue;
}

def NN_ComparePredicateEnum : I32EnumAttr<"ComparePredicate", "comparison",
    [I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
     I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
     I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::rondo::nn";
  let genSpecializedAttr = 0;
}
def NN_ComparePredicateAttr : EnumAttr<NN_Dialect, NN_ComparePredicateEnum, "compare">;

def NN_ReduceKindEnum : I32EnumAttr<"ReduceKind", "reduction",
    [I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
     I32EnumAttrCase<"Max", 2, "max">]> {
  let cppNamespace = "::rondo::nn";
  let genSpecializedAttr = 0;
}
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKindEnum, "reduction">;

def NN_StoredAttr : NN_Attr<"Stored", "stored"> {
  let summary = "Where a parameter's bytes are: a range of a file";
  let description = [{
    Weights never enter the IR. `location` is a file name relative to the model
    (empty: the model file itself), `offset` and `length` are in bytes. Compiling does not need the
    file; running does.

    Example: `#nn.stored<"weights.bin", 4096, 8388608>`
  }];
  let parameters = (ins StringRefParameter<"file">:$location, "int64_t":$offset, "int64_t":$length);
  let assemblyFormat = "`<` $location `,` $offset `,` $length `>`";
}

#endif // RONDO_DIALECT_NN_NNATTRS_TD
