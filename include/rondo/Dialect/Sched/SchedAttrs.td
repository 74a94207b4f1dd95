//===- SchedAttrs.td - sched attributes --------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHEDATTRS_TD
#define RONDO_DIALECT_SCHED_SCHEDATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "rondo/Dialect/Sched/SchedDialect.td"

class Sched_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::rondo::sched";
  let genSpecializedAttr = 0;
}

// The values of the three enums are those of rondo::scheduling.
def Sched_SpaceEnum : Sched_Enum<"Space", "memory space",
    [I32EnumAttrCase<"Device", 0, "device">, I32EnumAttrCase<"Pinned", 1, "pinned">, I32EnumAttrCase<"Host", 2, "host">]>;
def Sched_LaneEnum : Sched_Enum<"Lane", "lane",
    [I32EnumAttrCase<"Compute", 0, "compute">, I32EnumAttrCase<"ParameterUp", 1, "parameter_up">,
     I32EnumAttrCase<"GradientDown", 2, "gradient_down">, I32EnumAttrCase<"ActivationUp", 3, "activation_up">,
     I32EnumAttrCase<"ActivationDown", 4, "activation_down">, I32EnumAttrCase<"Update", 5, "update">,
     I32EnumAttrCase<"Staging", 6, "staging">, I32EnumAttrCase<"StateUp", 7, "state_up">, I32EnumAttrCase<"StateDown", 8, "state_down">]>;
def Sched_LaneAttr : EnumAttr<Sched_Dialect, Sched_LaneEnum, "lane">;
def Sched_HostActionEnum : Sched_Enum<"HostAction", "what a host launch does",
    [I32EnumAttrCase<"StageInput", 5, "stage_input">, I32EnumAttrCase<"CountLabels", 6, "count_labels">, I32EnumAttrCase<"Seed", 7, "seed">,
     I32EnumAttrCase<"Loss", 8, "loss">, I32EnumAttrCase<"Accumulate", 9, "accumulate">, I32EnumAttrCase<"Norm", 10, "norm">,
     I32EnumAttrCase<"Clip", 11, "clip">, I32EnumAttrCase<"Optimizer", 12, "optimizer">,
     I32EnumAttrCase<"UpdateScalars", 14, "update_scalars">]>;
def Sched_HostActionAttr : EnumAttr<Sched_Dialect, Sched_HostActionEnum, "action">;

def Sched_TagAttr : AttrDef<Sched_Dialect, "Tag"> {
  let mnemonic = "tag";
  let summary = "Which part of the plan an operation serves; -1: none";
  let parameters = (ins DefaultValuedParameter<"int32_t", "-1">:$layer, DefaultValuedParameter<"int32_t", "-1">:$slot,
                        DefaultValuedParameter<"int32_t", "-1">:$round, DefaultValuedParameter<"int32_t", "-1">:$microBatch,
                        DefaultValuedParameter<"int32_t", "-1">:$block, DefaultValuedParameter<"int32_t", "-1">:$input);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // RONDO_DIALECT_SCHED_SCHEDATTRS_TD
