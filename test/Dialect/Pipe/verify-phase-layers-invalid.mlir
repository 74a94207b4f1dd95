// RUN: rondo-opt %s -split-input-file -verify-diagnostics --rondo-pipe-verify-phase -o /dev/null

// The contract of `layers`.
// expected-error @+1 {{phase 'layers' needs a pipe.chain, found none}}
module {
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}
// expected-error @+1 {{is a second chain beside @loss}}
pipe.chain @other attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}
func.func @old() -> tensor<4xf32> {
  // expected-error @+1 {{is left behind 'layers': layers take parameters as operands}}
  %w = nn.read @w : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}
// expected-error @+1 {{is left behind 'layers'}}
func.func private @g(tensor<4xf32>) -> tensor<f32> attributes {nn.loss}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
// expected-error @+1 {{is used by no layer}}
pipe.body @unused {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}
