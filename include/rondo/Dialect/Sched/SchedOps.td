//===- SchedOps.td - sched operations ----------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHEDOPS_TD
#define RONDO_DIALECT_SCHED_SCHEDOPS_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "rondo/Dialect/Sched/SchedInterfaces.td"
include "rondo/Dialect/Sched/SchedTypes.td"

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_ProgramOp : Sched_Op<"program", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"NextOp">]> {
  let summary = "One iteration of training, repeated";
  let description = [{
    Created by `rondo-convert-pipe-to-sched` without events; `rondo-sched-insert-fences` adds them;
    `rondo-sched-assign-offsets` gives every `sched.buffer` its offset and the program its arena sizes. Block arguments are events of earlier iterations
    (complete before iteration 0).

    ```mlir
    sched.program @step of @plan devices 2 rotation 1 period 2 {
    ^bb0(%copied: !sched.event):
      %ids = sched.buffer "input ids mb 0" : !sched.buffer<256, pinned>
      %x = sched.buffer "activations up of 256 bytes #0" : !sched.buffer<256, device>
      %0 = sched.host_launch "stage ids mb 0" stage_input(%ids : !sched.buffer<256, pinned>) [2] staging after (%copied) duration 30.0 <input = 0>
      %1 = sched.upload "upload ids" %ids to %x activation_up on 0 after (%0) priority 0 duration 2048.0 <input = 0>
        : !sched.buffer<256, pinned>, !sched.buffer<256, device>
      sched.next %1
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$plan, I32Attr:$devices, I32Attr:$rotation, I32Attr:$period,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$arena_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $plan `devices` $devices `rotation` $rotation `period` $period attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Sched_BufferOp : Sched_Op<"buffer"> {
  let summary = "Declares a buffer";
  let description = [{
    Created by `rondo-convert-pipe-to-sched`; `rondo-sched-assign-offsets` gives it its `offset`. In device space it exists on every device, at the same offset: the device of the operation that touches it is meant. `slot` is present when only that slot's compute lane
    touches it; such buffers may share bytes with others whose lives do not overlap.

    ```mlir
    %0 = sched.buffer "layers.0 parameters #0" offset 4096 : !sched.buffer<2048, device>
    ```
  }];
  let arguments = (ins StrAttr:$label, OptionalAttr<I32Attr>:$slot, OptionalAttr<I64Attr>:$offset);
  let results = (outs Sched_BufferType:$result);
  let assemblyFormat = "$label (`slot` $slot^)? (`offset` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sched_RotateOp : Sched_Op<"rotate", [SameOperandsAndResultType, Pure]> {
  let summary = "Takes several buffers in turn: operand (t + phase) mod count in iteration t";
  let description = [{
    Created by `rondo-convert-pipe-to-sched` where iterations overlap: parameters under staleness 1, staged inputs.

    ```mlir
    %now = sched.rotate %even, %odd phase 1 : !sched.buffer<1024, pinned>
    ```
  }];
  let arguments = (ins Variadic<Sched_BufferType>:$buffers, I32Attr:$phase);
  let results = (outs Sched_BufferType:$result);
  let assemblyFormat = "$buffers `phase` $phase attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Sched_ViewOp : Sched_Op<"view", [Pure]> {
  let summary = "A range of a buffer's bytes";
  let description = [{
    Created by `rondo-convert-pipe-to-sched`: one parameter of a block, a value in a larger buffer of a pool.

    ```mlir
    %bias = sched.view %block[9216] : !sched.buffer<9472, device> -> !sched.buffer<192, device>
    ```
  }];
  let arguments = (ins Sched_BufferType:$buffer, I64Attr:$byte_offset);
  let results = (outs Sched_BufferType:$result);
  let assemblyFormat = "$buffer `[` $byte_offset `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

class Sched_LaneOp<string mnemonic, list<Trait> traits = []> : Sched_Op<mnemonic, traits # [Sched_TimedOp]> {
  code timedMethods = [{
    ::rondo::sched::Lane getLane();
    int32_t getDevice();
    ::mlir::OperandRange getTouched();
    ::llvm::SmallVector<int32_t> getAccesses();
  }];
  let extraClassDeclaration = timedMethods;
}

class Sched_CopyOp<string mnemonic, string what, string example> : Sched_LaneOp<mnemonic> {
  let summary = what;
  let description = "Created by `rondo-convert-pipe-to-sched`. `priority`: lower goes first where lanes share a wire (activations 0, "
                    "parameters 1, gradients 2). `duration` is predicted, in ns.\n\n```mlir\n" # example # "\n```";
  let arguments = (ins Sched_BufferType:$source, Sched_BufferType:$target, Sched_LaneAttr:$lane_kind, I32Attr:$on, Variadic<Sched_EventType>:$waits,
                       StrAttr:$label, I32Attr:$priority, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = [{ $label $source `to` $target $lane_kind `on` $on (`after` `(` $waits^ `)`)? `priority` $priority `duration` $duration $tag attr-dict
                          `:` type($source) `,` type($target) }];
  let hasVerifier = 1;
}
def Sched_UploadOp : Sched_CopyOp<"upload", "Copies pinned memory to a device", [{
%1 = sched.upload "upload ids" %ids to %x activation_up on 0 after (%0) priority 0 duration 2048.0 <slot = 0>
  : !sched.buffer<256, pinned>, !sched.buffer<256, device>}]>;
def Sched_DownloadOp : Sched_CopyOp<"download", "Copies device memory to pinned memory", [{
%3 = sched.download "download gradient" %g to %sum gradient_down on 0 after (%2) priority 2 duration 2048.0 <block = 0>
  : !sched.buffer<1024, device>, !sched.buffer<1024, pinned>}]>;

def Sched_LaunchOp : Sched_LaneOp<"launch", [AttrSizedOperandSegments]> {
  let summary = "Runs a body's entry on a device's compute lane";
  let description = [{
    Created by `rondo-convert-pipe-to-sched`. `buffers` in the entry's argument order, then its scratch if it has any. `access`: 1 read, 2 written, 3 both.

    ```mlir
    %2 = sched.launch "forward layers.0 mb 0" @layer::@forward(%x, %w, %y) [1, 1, 2] on 0 after (%1) duration 5000.0 <layer = 1, slot = 0, round = 0, microBatch = 0>
      : !sched.buffer<512, device>, !sched.buffer<1024, device>, !sched.buffer<512, device>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$entry, Variadic<Sched_BufferType>:$buffers, DenseI32ArrayAttr:$access, I32Attr:$on, Variadic<Sched_EventType>:$waits,
                       StrAttr:$label, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = [{ $label $entry `(` $buffers `)` $access `on` $on (`after` `(` $waits^ `)`)? `duration` $duration $tag attr-dict `:` type($buffers) }];
  let hasVerifier = 1;
}

def Sched_ZeroOp : Sched_LaneOp<"zero"> {
  let summary = "Fills a device buffer with zeros, on the compute lane";
  let description = [{
    Created by `rondo-convert-pipe-to-sched` for gradients, which launches add to.

    ```mlir
    %1 = sched.zero "zero gradient of 'layers.0'" %g on 0 duration 700.0 <block = 0> : !sched.buffer<1024, device>
    ```
  }];
  let arguments = (ins Sched_BufferType:$buffer, I32Attr:$on, Variadic<Sched_EventType>:$waits, StrAttr:$label, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = "$label $buffer `on` $on (`after` `(` $waits^ `)`)? `duration` $duration $tag attr-dict `:` type($buffer)";
}

def Sched_RoundOp : Sched_LaneOp<"round"> {
  let summary = "Rounds a gradient in a device buffer from f32 to bf16, on the compute lane";
  let description = [{
    Element i, at byte 4 i, is then at byte 2 i: a download takes the first half of the buffer.

    ```mlir
    %2 = sched.round "round gradient" %g on 0 after (%1) duration 1.0 <slot = 3> : !sched.buffer<512, device>
    ```
  }];
  let arguments = (ins Sched_BufferType:$buffer, I32Attr:$on, Variadic<Sched_EventType>:$waits, StrAttr:$label, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = "$label $buffer `on` $on (`after` `(` $waits^ `)`)? `duration` $duration $tag attr-dict `:` type($buffer)";
}

def Sched_DeviceUpdateOp : Sched_LaneOp<"device_update", [AttrSizedOperandSegments]> {
  let summary = "Updates a piece of a block's state on a device";
  let description = [{
    Created by `rondo-convert-pipe-to-sched` for `--optimizer-device=gpu`. Its uploads come right before it, its downloads right after. `buffers`: gradient, master,
    moments, the upload copy unless the master is it, scalars. `piece`: where in the block's gradient the piece begins, in bytes.

    ```mlir
    %2 = sched.device_update "update layers.0" piece 0 (%g, %w, %m, %v, %s) [1, 3, 3, 3, 1] on 0 after (%1) duration 5000.0 <block = 1>
      : !sched.buffer<512, device>, !sched.buffer<512, device>, !sched.buffer<512, device>, !sched.buffer<512, device>, !sched.buffer<32, device>
    ```
  }];
  let arguments = (ins I64Attr:$piece, Variadic<Sched_BufferType>:$buffers, DenseI32ArrayAttr:$access, I32Attr:$on, Variadic<Sched_EventType>:$waits,
                       StrAttr:$label, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = [{ $label `piece` $piece `(` $buffers `)` $access `on` $on (`after` `(` $waits^ `)`)? `duration` $duration $tag attr-dict `:` type($buffers) }];
  let hasVerifier = 1;
}

def Sched_HostLaunchOp : Sched_LaneOp<"host_launch", [AttrSizedOperandSegments]> {
  let summary = "A step on a host lane";
  let description = [{
    Created by `rondo-convert-pipe-to-sched`. What the operands are is said in `rondo/Scheduling/Schedule.h`. `entry` for `count_labels` alone; `first`: an accumulation that overwrites.

    ```mlir
    %4 = sched.host_launch "add gradient" accumulate (%sum, %g : !sched.buffer<1024, pinned>, !sched.buffer<1024, pinned>) [3, 1] update
      after (%3) duration 100.0 <block = 0>
    ```
  }];
  let arguments = (ins Sched_HostActionAttr:$action, OptionalAttr<SymbolRefAttr>:$entry, Variadic<Sched_BufferType>:$buffers, DenseI32ArrayAttr:$access,
                       Sched_LaneAttr:$lane_kind, Variadic<Sched_EventType>:$waits, StrAttr:$label, UnitAttr:$first, F64Attr:$duration, Sched_TagAttr:$tag);
  let results = (outs Sched_EventType:$done);
  let assemblyFormat = [{ $label $action (`first` $first^)? ($entry^)? `(` ($buffers^ `:` type($buffers))? `)` $access $lane_kind (`after` `(` $waits^ `)`)? `duration` $duration $tag attr-dict }];
  let hasVerifier = 1;
}

def Sched_NextOp : Sched_Op<"next", [Terminator, HasParent<"ProgramOp">, Pure]> {
  let summary = "Passes events to the next iteration";
  let description = [{
    Operand i becomes block argument i of the next iteration. Its operands are what `rondo-sched-insert-fences` found that later iterations wait for.

    ```mlir
    sched.next %1, %2
    ```
  }];
  let arguments = (ins Variadic<Sched_EventType>:$events);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($events^)? attr-dict";
}

#endif // RONDO_DIALECT_SCHED_SCHEDOPS_TD
