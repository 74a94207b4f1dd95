//===- SchedTypes.td - sched types -------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHEDTYPES_TD
#define RONDO_DIALECT_SCHED_SCHEDTYPES_TD

include "mlir/IR/AttrTypeBase.td"
include "rondo/Dialect/Sched/SchedAttrs.td"

def Sched_EventType : TypeDef<Sched_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "The completion of an operation";
}

def Sched_BufferType : TypeDef<Sched_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A fixed number of bytes in a memory space";
  let description = [{ `!sched.buffer<4096, device>`: where a value lives is in its type, and nowhere else. }];
  let parameters = (ins "uint64_t":$bytes, EnumParameter<Sched_SpaceEnum>:$space);
  let assemblyFormat = "`<` $bytes `,` $space `>`";
}

#endif // RONDO_DIALECT_SCHED_SCHEDTYPES_TD
