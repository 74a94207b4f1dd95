// RUN: rondo-opt %s -split-input-file -verify-diagnostics --pass-pipeline='builtin.module(rondo-pipe-differentiate-bodies)' -o /dev/null

// expected-error @+1 {{expected one pipe.chain, found 0; run rondo-pipe-outline-layers first}}
module {
}

// -----

// Nothing that trains reaches the loss: the trainable parameter is only compared.
nn.parameter @w trainable : tensor<4xf32>
pipe.body @head {
  func.func @forward(%w: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward>} {
    %b = nn.compare eq %w, %w : tensor<4xf32>
    %f = nn.cast %b : tensor<4xi1> to tensor<4xf32>
    %l = nn.reduce sum %f [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
// expected-error @+1 {{has nothing to train: no trainable parameter reaches the loss}}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "head" @head () sides () [@w] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

// Operations without a derivative are all reported, in every body.
nn.parameter @w trainable : tensor<4xf32>
pipe.body @first {
  func.func @forward(%w: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward>} {
    // expected-error @+1 {{'nn.cumsum' op has no derivative, but the loss depends on trainable parameters through it; freeze them or write the operation in others}}
    %0 = nn.cumsum %w axis 0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%x: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward>} {
    // expected-error @+1 {{'nn.cumsum' op has no derivative}}
    %0 = nn.cumsum %x axis 0 : tensor<4xf32>
    %l = nn.reduce sum %0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "first" @first () sides () [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// An operation that refuses to be differentiated says why: a mask that was not recognised.
nn.parameter @q trainable : tensor<1x1x2x4xf32>
pipe.body @head {
  func.func @forward(%q: tensor<1x1x2x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward>} {
    %mask = nn.constant dense<0.0> : tensor<2x2xf32>
    // expected-error @+1 {{has an explicit mask and so no derivative}}
    %a, %s = nn.attention %q, %q, %q mask %mask scale 0.5 : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<2x2xf32> -> tensor<1x1x2x4xf32>, tensor<1x1x2xf32>
    %l = nn.reduce sum %a [0, 1, 2, 3] : tensor<1x1x2x4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "head" @head () sides () [@q] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

nn.parameter @q trainable : tensor<1x1x2x4xf32>
pipe.body @head {
  func.func @forward(%q: tensor<1x1x2x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward>} {
    // expected-error @+1 {{has no derivative through its statistics; use them only in what needs no gradient}}
    %a, %s = nn.attention %q, %q, %q scale 0.5 : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>, tensor<1x1x2xf32>
    %l = nn.reduce sum %s [0, 1, 2] : tensor<1x1x2xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "head" @head () sides () [@q] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

// Launch lists have no derivative any more.
// expected-error @+1 {{has no func.func 'forward' to differentiate}}
pipe.body @head {
  kern.func @forward(%l: memref<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {inputs = 0 : i64, pipe.entry = #pipe.entry<forward>} {
    kern.zero %l : memref<f32>
    kern.return
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "head" @head () sides () [] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}
