// Every diagnostic of rondo-convert-nn-to-kern; all problems of a function at once.
// RUN: rondo-opt %s -rondo-convert-nn-to-kern -split-input-file -verify-diagnostics -o /dev/null

// expected-error @+1 {{entry @declared is not one block of operations}}
func.func private @declared(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @+3 {{entry @arguments: argument 0 of type 'f32' is no tensor of static shape}}
// expected-error @+2 {{entry @arguments: argument 1 of type 'tensor<?xf32>' is no tensor of static shape}}
// expected-error @+1 {{entry @arguments: argument 2 of type 'tensor<*xf32>' is no tensor of static shape}}
func.func @arguments(%a: f32, %b: tensor<?xf32>, %c: tensor<*xf32>, %d: tensor<4xf32>) -> tensor<4xf32> {
  return %d : tensor<4xf32>
}

// -----

// expected-error @+2 {{entry @more_arguments: argument 0 of type 'tensor<4x0xf32>' is empty, and there is no kernel for that}}
// expected-error @+1 {{entry @more_arguments: argument 1 of type 'tensor<4xi8>' has an element type that kernels do not know}}
func.func @more_arguments(%a: tensor<4x0xf32>, %b: tensor<4xi8>) {
  return
}

// -----

// One function's problems do not hide the other's.
nn.parameter @w : tensor<2x3xf32>
func.func @operations(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'arith.addf' is not supported by the host's kernels}}
  %0 = arith.addf %x, %x : tensor<2x3xf32>
  // expected-error @+1 {{'nn.cumsum' is not supported by the host's kernels}}
  %1 = nn.cumsum %0 axis 1 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
func.func @reads() -> tensor<2x3xf32> {
  // expected-error @+1 {{'nn.read' is not supported by the host's kernels}}
  %0 = nn.read @w : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @empty(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{'nn.slice': a result of type 'tensor<2x0xf32>' is empty, and there is no kernel for that}}
  %0 = nn.slice %x [0, 0] [1, 1] : tensor<2x3xf32> -> tensor<2x0xf32>
  %1 = nn.concat 1, %0, %x : tensor<2x0xf32>, tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

func.func @product_of_f64(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  // expected-error @+1 {{'nn.matmul' has operands in f64; products are computed in f32, bf16 or f16}}
  %0 = nn.matmul %x, %x : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  // expected-error @+1 {{'nn.matmul' has operands in f64; products are computed in f32, bf16 or f16}}
  %1 = nn.matmul %0, %x : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  return %1 : tensor<4x4xf64>
}

// -----

func.func @attention_of_f64(%q: tensor<1x1x4x8xf64>) -> tensor<1x1x4x8xf64> {
  // expected-error @+1 {{'nn.attention' has operands in f64; products are computed in f32, bf16 or f16}}
  %r, %s = nn.attention %q, %q, %q scale 0.25 : tensor<1x1x4x8xf64>, tensor<1x1x4x8xf64>, tensor<1x1x4x8xf64> -> tensor<1x1x4x8xf64>, tensor<1x1x4xf64>
  return %r : tensor<1x1x4x8xf64>
}

// -----

// Frozen ones may be f64.
nn.parameter @a : tensor<4xf64>
// expected-error @+1 {{'nn.parameter' op trains, but is f64; parameters that train can be f32, bf16 or f16: freeze it, or export the model in f32}}
nn.parameter @b trainable : tensor<4xf64>
// expected-error @+1 {{'nn.parameter' op trains, but is f64}}
nn.parameter @c trainable : tensor<4xf64>
