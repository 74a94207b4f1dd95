//===- KernAttrs.td - kern attributes ----------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_KERNATTRS_TD
#define RONDO_DIALECT_KERN_KERNATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "rondo/Dialect/Kern/KernDialect.td"

def Kern_KindEnum : I32EnumAttr<"FusedKind", "what the last axis of a fused kernel's domain is",
    [I32EnumAttrCase<"Elementwise", 0, "elementwise">, // parallel, as all others
     I32EnumAttrCase<"Row", 1, "row">,                 // reduced by the 16-accumulator tree
     I32EnumAttrCase<"Column", 2, "column">]> {        // reduced in increasing order
  let cppNamespace = "::rondo::kern";
  let genSpecializedAttr = 0;
}
def Kern_KindAttr : EnumAttr<Kern_Dialect, Kern_KindEnum, "kind">;

def Kern_CombinerEnum : I32EnumAttr<"Combiner", "how a reduction combines two values",
    [I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::rondo::kern";
  let genSpecializedAttr = 0;
}
def Kern_CombinerAttr : EnumAttr<Kern_Dialect, Kern_CombinerEnum, "combiner">;

def Kern_AccessAttr : AttrDef<Kern_Dialect, "Access"> {
  let mnemonic = "access";
  let summary = "Which element of a memref a point of the iteration domain touches";
  let description = [{
    The row-major element number offset + sum of stride * coordinate, one stride per axis of the domain: broadcasts (stride 0),
    transposes, slices and reshapes of contiguous memory are all of this form. `guards` are triples (axis, begin, end): the element
    is touched only where begin <= coordinate < end for each; elsewhere the value read is unspecified and not used. That is how a part of a
    concatenation or of a padded tensor is read.

    Example: `#kern.access<32, [64, 1] if [1, 0, 32]>`
  }];
  let parameters = (ins "int64_t":$offset, ArrayRefParameter<"int64_t">:$strides, OptionalArrayRefParameter<"int64_t">:$guards);
  let assemblyFormat = "`<` $offset `,` `[` $strides `]` (`if` `[` $guards^ `]`)? `>`";
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "int64_t":$offset, "::llvm::ArrayRef<int64_t>":$strides), [{
    return $_get($_ctxt, offset, strides, ::llvm::ArrayRef<int64_t>());
  }]>];
}

#endif // RONDO_DIALECT_KERN_KERNATTRS_TD
