//===- Passes.td - pipe passes -----------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PASSES_TD
#define RONDO_DIALECT_PIPE_PASSES_TD

include "mlir/Pass/PassBase.td"

def PipeOutlineLayers : Pass<"rondo-pipe-outline-layers", "::mlir::ModuleOp"> {
  let summary = "Turns the loss function into a chain of layers";
  let description = [{
    Input: one function with `nn.loss`, as `raise` leaves it. Output: `pipe.body`s with the entry `forward`, and one `pipe.chain` of the function's name.

    Three kinds of operations are not cut but cloned into every layer that uses them: those that depend on no input (constants, masks, converted
    parameters), and those that depend on inputs alone and are cheap (labels, ids, masks). The rest, in program order, is cut where one value (or, where one is
    never enough, as few as possible) is live. Between such cuts lie segments; a run of segments that repeats (same operations and types) and
    contains products gives layers of one unit each. What is left around runs is cut after each product; what contains no product joins a neighbour.
    Layers whose bodies are equal operation by operation share one.

    Constants of `table-elements` elements and more that are not one repeated value (rotary tables) become frozen `nn.parameter`s, one for each content. The
    integer subgraph of the labels of the only `nn.cross_entropy` becomes the body `@labels`.

    ```mlir
    func.func @loss(%x: tensor<4x8xf32> {nn.name = "x"}) -> tensor<f32> attributes {nn.loss} {
      %w0 = nn.read @"m.0.weight" : tensor<8x8xf32>
      %0 = nn.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
      %1 = nn.tanh %0 : tensor<4x8xf32>
      %w1 = nn.read @"m.1.weight" : tensor<8x2xf32>
      %2 = nn.matmul %1, %w1 : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
      %3 = nn.reduce mean %2 [0, 1] : tensor<4x2xf32>
      return %3 : tensor<f32>
    }
    // becomes, beside the bodies
    pipe.chain @loss attributes {input_names = ["x"]} {
    ^bb0(%x: tensor<4x8xf32>):
      %0 = pipe.layer "m.0" @body_0 () sides (%x : tensor<4x8xf32>) [@"m.0.weight"] -> tensor<4x8xf32>
      %1 = pipe.layer "m.1" @body_1 (%0 : tensor<4x8xf32>) sides () [@"m.1.weight"] -> tensor<f32>
      pipe.yield %1 : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"tableElements", "table-elements", "int64_t", "1024",
           "Elements from which a constant that is not one repeated value becomes a parameter">];
  let dependentDialects = ["::rondo::pipe::PipeDialect", "::rondo::nn::NNDialect", "::mlir::func::FuncDialect"];
}

def PipeDifferentiateBodies : Pass<"rondo-pipe-differentiate-bodies", "::mlir::ModuleOp"> {
  let summary = "Adds the entries that training needs to every body";
  let description = [{
    Reverse mode over `forward`, by `nn::DifferentiableOp`. All entries are slices of one list of operations (forward, then reverse), so a value is computed by
    the same operations whichever entry computes it. Cotangents of a value are added in reverse program order. Gradients are f32.

    Only what trainable parameters need is computed: a layer with nothing trainable before it gets `backward_*_nodx`, one with nothing
    trainable at all nothing. A body whose layers train different parameters is cloned first, one body for each choice.

    Save sets: `all` is what the reverse part reads of the forward part, without what the boundary, parameters or sides give for no more than a view, a widening
    or a comparison; `products` are the products (and looked-up rows) from which elementwise and row operations rebuild that inside `backward_products`.
  }];
  let dependentDialects = ["::rondo::pipe::PipeDialect", "::rondo::nn::NNDialect", "::mlir::func::FuncDialect"];
}

def PipeVerifyPhase : Pass<"rondo-pipe-verify-phase", "::mlir::ModuleOp"> {
  let summary = "Checks the contract of a phase where single operations cannot";
  let description = [{
    `layers`: one chain, no loss function and no `nn.read` left, every body used. `grad`: besides, every layer's body has the entries that the layer needs, and gradients of
    exactly the trainable parameters that reach the loss; nothing that only frozen values need is computed; no entry holds dead operations; `forward_products`
    and `forward_all` compute the output by the operations of `forward`. Shares no code with the passes that establish this.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"layers\"", "layers or grad">];
}

#endif // RONDO_DIALECT_PIPE_PASSES_TD
