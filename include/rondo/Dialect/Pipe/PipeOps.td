//===- PipeOps.td - pipe operations ------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PIPEOPS_TD
#define RONDO_DIALECT_PIPE_PIPEOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "rondo/Dialect/Pipe/PipeAttrs.td"

class Pipe_Op<string mnemonic, list<Trait> traits = []> : Op<Pipe_Dialect, mnemonic, traits>;

def Pipe_Value : StaticShapeTensorOf<[F32, BF16, F16, F64, I64, I32, I1]>;

def Pipe_BodyOp : Pipe_Op<"body", [IsolatedFromAbove, Symbol, SymbolTable, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "What one kind of layer computes: its entries";
  let description = [{
    Created by `rondo-pipe-outline-layers` with the entry `@forward`; `rondo-pipe-differentiate-bodies` adds
    the others; `rondo-convert-nn-to-kern` turns each entry from a `func.func` over tensors into a `kern.func`.
    Layers of equal structure share one body.

    Entry names and signatures (arguments, then results; each carries `pipe.role` and `pipe.index`, its number within the role;
    an entry has only the arguments it reads):

      * `forward`: boundary, side, parameter -> output (of the loss layer: -> loss); it alone names every argument of the layer
      * `forward_products`, `forward_all`: the same -> output, saved
      * `rebuild_products`, `rebuild_all`: boundary, side, parameter -> saved (no output: the last product is dead code)
      * `backward_products`, `backward_all`: boundary, saved, cotangent, side, parameter -> cotangent, gradient
      * `backward_products_nodx`, `backward_all_nodx`: -> gradient (for layers below which nothing trains)
      * `forward_backward` (loss layer only): boundary, side, parameter, seed -> loss, cotangent, gradient
      * `count` (in the body `@labels` alone): side -> count, run on the host

    A body has `backward_*`, `backward_*_nodx` or both, as its layers need; where they need neither (nothing to train in the layer or
    before it) it has `forward` alone. Otherwise it has both save sets, also when a set is empty (then `rebuild_*` does nothing). Entries that concern a
    save set carry `pipe.save_set`, those without dx `pipe.nodx`. A result may be an argument, or the same value as another result.
    Gradients and the loss are f32 (f64 for f64 parameters and graphs: tests).

    ```mlir
    pipe.body @layer {
      func.func @forward(%x: tensor<2x16x32xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64},
                         %w: tensor<32xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64})
          -> (tensor<2x16x32xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64})
          attributes {pipe.entry = #pipe.entry<forward>} {
        %y = nn.rms_norm %x, %w epsilon 1.0e-6 : tensor<2x16x32xf32>, tensor<32xf32>
        return %y : tensor<2x16x32xf32>
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$entries);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $entries";
  let hasRegionVerifier = 1;
}

def Pipe_ChainOp : Pipe_Op<"chain", [IsolatedFromAbove, Symbol, SingleBlockImplicitTerminator<"YieldOp">,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The loss as a chain of layers";
  let description = [{
    Created by `rondo-pipe-outline-layers` from the loss function. Block arguments are the model's inputs for one micro-batch
    (`input_names`). Holds `pipe.layer`s in order; each takes the values of the one before. `labels` names the body whose `count` entry counts valid labels,
    over the inputs listed in `label_inputs` (absent: every micro-batch weighs the same).

    ```mlir
    pipe.chain @loss attributes {input_names = ["ids", "labels"]} {
    ^bb0(%ids: tensor<2x16xi64>, %labels: tensor<2x16xi64>):
      %0 = pipe.layer "embed" @embed () sides (%ids : tensor<2x16xi64>) [@embed.weight] -> tensor<2x16x32xf32>
      %1 = pipe.layer "head" @head (%0 : tensor<2x16x32xf32>) sides (%labels : tensor<2x16xi64>) [@head.weight] -> tensor<f32>
      pipe.yield %1 : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$input_names,
                       OptionalAttr<FlatSymbolRefAttr>:$labels, OptionalAttr<DenseI64ArrayAttr>:$label_inputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Pipe_LayerOp : Pipe_Op<"layer", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "One layer of the chain";
  let description = [{
    Created by `rondo-pipe-outline-layers`; stays to the end, as the program names it. `boundary` are the results of the layer before (all of them, in order; none for the first), `sides` model inputs,
    `parameters` module-level `nn.parameter`s. `label` is the layer's name for people (a module path). The last layer yields the loss.

    ```mlir
    %1 = pipe.layer "model.layers.0" @layer (%0 : tensor<2x16x32xf32>) sides () [@"w.norm", @"w.q"] -> tensor<2x16x32xf32>
    ```
  }];
  let arguments = (ins StrAttr:$label, FlatSymbolRefAttr:$body, Variadic<Pipe_Value>:$boundary, Variadic<Pipe_Value>:$sides,
                       TypedArrayAttrBase<FlatSymbolRefAttr, "parameter symbols">:$parameters);
  let results = (outs Variadic<Pipe_Value>:$outputs);
  let assemblyFormat = [{ $label $body `(` ($boundary^ `:` type($boundary))? `)` `sides` `(` ($sides^ `:` type($sides))? `)` $parameters attr-dict `->` type($outputs) }];
  let hasVerifier = 1;
}

def Pipe_YieldOp : Pipe_Op<"yield", [Terminator, ReturnLike, Pure, ParentOneOf<["ChainOp"]>]> {
  let summary = "The chain's loss";
  let description = [{
    Created with the chain.

    ```mlir
    pipe.yield %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Pipe_Value>:$operands);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Pipe_PlanOp : Pipe_Op<"plan", [Symbol, SingleBlock, NoTerminator, NoRegionArguments,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Which stage runs which layers, and which device which slot";
  let description = [{
    Created by `rondo-pipe-partition-stages` (stages), completed by `rondo-pipe-assign-slots` (slots, rotation), consumed by
    `rondo-convert-pipe-to-sched`. `keep` (K) says per layer what a forward stage keeps in host memory, `save` (S) what its backward
    reads (0: its inputs, 1: also its products' results, 2: all that its derivative reads). `reason` is the plan in words.
    `parameter_slots`, `gradient_slots`: for how many slots in a row a device has buffers: 2, so that copies of the next (the last)
    slot run beside this one's launches, or 1.

    ```mlir
    pipe.plan @plan of @loss attributes {devices = 1 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64,
        keep = array<i64: 0, 0>, save = array<i64: 2, 2>, reason = "one fused stage"} {
      pipe.stage fused [0, 2) {time = 1.5e6 : f64, flops = 3.0e9 : f64, parameter_bytes = 4096 : i64, gradient_bytes = 4096 : i64, device_bytes = 16384 : i64}
      pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$chain, I64Attr:$devices, I64Attr:$rounds, I64Attr:$micro_batches,
                       I64Attr:$staleness, I64Attr:$rotation, DenseI64ArrayAttr:$keep, DenseI64ArrayAttr:$save, StrAttr:$reason,
                       DefaultValuedAttr<I64Attr, "2">:$parameter_slots, DefaultValuedAttr<I64Attr, "2">:$gradient_slots);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `of` $chain attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Pipe_StageOp : Pipe_Op<"stage", [HasParent<"PlanOp">]> {
  let summary = "A run of layers [begin, end) in one direction";
  let description = [{
    Created by `rondo-pipe-partition-stages`. Forward stages from layer 0, one fused tail (forward, loss, backward in one visit),
    backward stages towards layer 0. `time` in ns, `flops` of one micro-batch; `parameter_bytes`, `gradient_bytes` of one slot;
    `device_bytes` everything a slot needs at once. A fused stage does not hold what backward reads of its first `rebuilt` layers
    with a backward, but rebuilds it.

    ```mlir
    pipe.stage forward [0, 3) {time = 1.5e6 : f64, flops = 3.0e9 : f64, parameter_bytes = 4096 : i64, gradient_bytes = 0 : i64, device_bytes = 8192 : i64}
    ```
  }];
  let arguments = (ins Pipe_StageKindAttr:$kind, I64Attr:$begin, I64Attr:$end, F64Attr:$time, F64Attr:$flops,
                       I64Attr:$parameter_bytes, I64Attr:$gradient_bytes, I64Attr:$device_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$rebuilt);
  let assemblyFormat = "$kind `[` $begin `,` $end `)` attr-dict";
  let hasVerifier = 1;
}

def Pipe_SlotOp : Pipe_Op<"slot", [HasParent<"PlanOp">]> {
  let summary = "A stage and round with its micro-batches on a logical device";
  let description = [{
    Created by `rondo-pipe-assign-slots`. In launch order. Slot i of a round is on (offset + i) mod N, the offset carried over rounds.

    ```mlir
    pipe.slot stage 0 round 0 device 1 micro_batches [0, 1, 2, 3]
    ```
  }];
  let arguments = (ins I64Attr:$stage, I64Attr:$round, I64Attr:$device, DenseI64ArrayAttr:$micro_batches);
  let assemblyFormat = "`stage` $stage `round` $round `device` $device `micro_batches` $micro_batches attr-dict";
}

#endif // RONDO_DIALECT_PIPE_PIPEOPS_TD
