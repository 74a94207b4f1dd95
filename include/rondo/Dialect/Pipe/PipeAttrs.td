//===- PipeAttrs.td - pipe attributes ----------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PIPEATTRS_TD
#define RONDO_DIALECT_PIPE_PIPEATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "rondo/Dialect/Pipe/PipeDialect.td"

def Pipe_RoleEnum : I32EnumAttr<"Role", "what an entry's argument or result is",
    [I32EnumAttrCase<"Boundary", 0, "boundary">,       // value entering the layer from the one before
     I32EnumAttrCase<"Saved", 1, "saved">,             // kept or rebuilt value of the layer's forward
     I32EnumAttrCase<"Cotangent", 2, "cotangent">,     // argument: of the layer's output; result: of an entering value
     I32EnumAttrCase<"Side", 3, "side">,               // model input used by the layer (labels, ids)
     I32EnumAttrCase<"Parameter", 4, "parameter">,
     I32EnumAttrCase<"Seed", 5, "seed">,               // scalar f32: the loss's cotangent
     I32EnumAttrCase<"Output", 6, "output">,           // result: value leaving to the next layer
     I32EnumAttrCase<"Loss", 7, "loss">,               // result: scalar f32
     I32EnumAttrCase<"Gradient", 8, "gradient">,       // result: f32, accumulated into
     I32EnumAttrCase<"Count", 9, "count">]> {          // result: scalar f32, number of valid labels
  let cppNamespace = "::rondo::pipe";
  let genSpecializedAttr = 0;
}
def Pipe_RoleAttr : EnumAttr<Pipe_Dialect, Pipe_RoleEnum, "role"> {
  let assemblyFormat = "`<` $value `>`";
}

def Pipe_SaveSetEnum : I32EnumAttr<"SaveSet", "what is kept of a forward for its backward",
    [I32EnumAttrCase<"Input", 0, "input">, I32EnumAttrCase<"Products", 1, "products">, I32EnumAttrCase<"All", 2, "all">]> {
  let cppNamespace = "::rondo::pipe";
  let genSpecializedAttr = 0;
}
def Pipe_SaveSetAttr : EnumAttr<Pipe_Dialect, Pipe_SaveSetEnum, "save_set"> {
  let assemblyFormat = "`<` $value `>`";
}

def Pipe_EntryKindEnum : I32EnumAttr<"EntryKind", "what an entry computes",
    [I32EnumAttrCase<"Forward", 0, "forward">,
     I32EnumAttrCase<"ForwardSave", 1, "forward_save">,
     I32EnumAttrCase<"Rebuild", 2, "rebuild">,
     I32EnumAttrCase<"Backward", 3, "backward">,
     I32EnumAttrCase<"ForwardBackward", 4, "forward_backward">,
     I32EnumAttrCase<"Count", 5, "count">]> {
  let cppNamespace = "::rondo::pipe";
  let genSpecializedAttr = 0;
}
def Pipe_EntryKindAttr : EnumAttr<Pipe_Dialect, Pipe_EntryKindEnum, "entry"> {
  let assemblyFormat = "`<` $value `>`";
}

def Pipe_StageKindEnum : I32EnumAttr<"StageKind", "direction of a stage",
    [I32EnumAttrCase<"Forward", 0, "forward">, I32EnumAttrCase<"Fused", 1, "fused">, I32EnumAttrCase<"Backward", 2, "backward">]> {
  let cppNamespace = "::rondo::pipe";
  let genSpecializedAttr = 0;
}
def Pipe_StageKindAttr : EnumAttr<Pipe_Dialect, Pipe_StageKindEnum, "stage_kind">;

#endif // RONDO_DIALECT_PIPE_PIPEATTRS_TD
