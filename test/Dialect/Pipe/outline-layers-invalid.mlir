// RUN: rondo-opt %s -split-input-file -verify-diagnostics --rondo-pipe-outline-layers -o /dev/null

// expected-error @+1 {{no loss function: none has the attribute 'nn.loss'}}
module {
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

func.func @first(%x: tensor<4xf32>) -> tensor<f32> attributes {nn.loss} {
  %l = nn.reduce sum %x [0] : tensor<4xf32>
  return %l : tensor<f32>
}
// expected-error @+1 {{is a second loss function beside 'first'; exactly one may have 'nn.loss'}}
func.func @second(%x: tensor<4xf32>) -> tensor<f32> attributes {nn.loss} {
  %l = nn.reduce sum %x [0] : tensor<4xf32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{must have one block to be cut into layers}}
func.func private @loss(%x: tensor<4xf32>) -> tensor<f32> attributes {nn.loss}

// -----

// Every operation of another dialect is reported.
func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @loss(%x: tensor<4xf32>) -> tensor<f32> attributes {nn.loss} {
  // expected-error @+1 {{'func.call' op is no operation of the nn dialect, so it cannot become part of a layer}}
  %y = func.call @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @+1 {{'func.call' op is no operation of the nn dialect}}
  %z = func.call @g(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %l = nn.reduce sum %z [0] : tensor<4xf32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{must give one scalar, the loss, but has the type '(tensor<4xf32>) -> tensor<4xf32>'}}
func.func @loss(%x: tensor<4xf32>) -> tensor<4xf32> attributes {nn.loss} {
  %y = nn.neg %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @+1 {{must give one scalar, the loss}}
func.func @loss(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>) attributes {nn.loss} {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{returns one of its inputs as the loss}}
func.func @loss(%x: tensor<f32>) -> tensor<f32> attributes {nn.loss} {
  return %x : tensor<f32>
}
