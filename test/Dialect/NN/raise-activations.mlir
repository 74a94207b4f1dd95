// SiLU and GELU, and what only looks like them.
// RUN: rondo-opt %s --rondo-nn-raise-activations --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @raises_silu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @raises_silu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = nn.silu %[[X]]
  // CHECK: %[[B:.*]] = nn.silu %[[X]]
  // CHECK: %[[C:.*]] = nn.silu %[[X]]
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %gate = nn.sigmoid %x : tensor<4xf32>
  %0 = nn.mul %x, %gate : tensor<4xf32>
  %1 = nn.mul %gate, %x : tensor<4xf32>
  %negative = nn.neg %x : tensor<4xf32>
  %exp = nn.exp %negative : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %bottom = nn.add %exp, %one : tensor<4xf32>
  %2 = nn.div %x, %bottom : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The gate of another value; the quick GELU's gate.
// CHECK-LABEL: func.func @keeps_other_gates
// CHECK-NOT: nn.silu
func.func @keeps_other_gates(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %gate = nn.sigmoid %y : tensor<4xf32>
  %0 = nn.mul %x, %gate : tensor<4xf32>
  %factor = nn.constant dense<1.702> : tensor<4xf32>
  %scaled = nn.mul %x, %factor : tensor<4xf32>
  %quick = nn.sigmoid %scaled : tensor<4xf32>
  %1 = nn.mul %x, %quick : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// (x * 0.5) * (1 + erf(x / sqrt 2)), and x * (0.5 * (erf(x * sqrt 0.5) + 1)).
// CHECK-LABEL: func.func @raises_gelu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @raises_gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = nn.gelu %[[X]] : tensor<4xf32>
  // CHECK: %[[B:.*]] = nn.gelu %[[X]] : tensor<4xf32>
  // CHECK: return %[[A]], %[[B]]
  %half = nn.constant dense<0.5> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %root = nn.constant dense<1.41421354> : tensor<4xf32>
  %inverse = nn.constant dense<0.707106769> : tensor<4xf32>
  %a0 = nn.div %x, %root : tensor<4xf32>
  %a1 = nn.erf %a0 : tensor<4xf32>
  %a2 = nn.add %one, %a1 : tensor<4xf32>
  %a3 = nn.mul %x, %half : tensor<4xf32>
  %a4 = nn.mul %a3, %a2 : tensor<4xf32>
  %b0 = nn.mul %inverse, %x : tensor<4xf32>
  %b1 = nn.erf %b0 : tensor<4xf32>
  %b2 = nn.add %b1, %one : tensor<4xf32>
  %b3 = nn.mul %half, %b2 : tensor<4xf32>
  %b4 = nn.mul %x, %b3 : tensor<4xf32>
  return %a4, %b4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// x is itself a product.
// CHECK-LABEL: func.func @raises_gelu_of_product
// CHECK: %[[X:.*]] = nn.mul
// CHECK-NEXT: nn.gelu %[[X]]
func.func @raises_gelu_of_product(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %half = nn.constant dense<0.5> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %inverse = nn.constant dense<0.707106769> : tensor<4xf32>
  %x = nn.mul %a, %b : tensor<4xf32>
  %0 = nn.mul %x, %inverse : tensor<4xf32>
  %1 = nn.erf %0 : tensor<4xf32>
  %2 = nn.add %1, %one : tensor<4xf32>
  %3 = nn.mul %x, %2 : tensor<4xf32>
  %4 = nn.mul %3, %half : tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// The tanh form with pow(x, 3), and with x (1 + c x^2).
// CHECK-LABEL: func.func @raises_tanh_gelu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @raises_tanh_gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = nn.gelu tanh %[[X]] : tensor<4xf32>
  // CHECK: %[[B:.*]] = nn.gelu tanh %[[X]] : tensor<4xf32>
  // CHECK: return %[[A]], %[[B]]
  %half = nn.constant dense<0.5> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %three = nn.constant dense<3.0> : tensor<4xf32>
  %cubic = nn.constant dense<0.044715> : tensor<4xf32>
  %outer = nn.constant dense<0.797884583> : tensor<4xf32>
  %a0 = nn.pow %x, %three : tensor<4xf32>
  %a1 = nn.mul %a0, %cubic : tensor<4xf32>
  %a2 = nn.add %x, %a1 : tensor<4xf32>
  %a3 = nn.mul %a2, %outer : tensor<4xf32>
  %a4 = nn.tanh %a3 : tensor<4xf32>
  %a5 = nn.add %a4, %one : tensor<4xf32>
  %a6 = nn.mul %x, %half : tensor<4xf32>
  %a7 = nn.mul %a6, %a5 : tensor<4xf32>
  %b0 = nn.mul %x, %x : tensor<4xf32>
  %b1 = nn.mul %b0, %cubic : tensor<4xf32>
  %b2 = nn.add %b1, %one : tensor<4xf32>
  %b3 = nn.mul %x, %b2 : tensor<4xf32>
  %b4 = nn.mul %outer, %b3 : tensor<4xf32>
  %b5 = nn.tanh %b4 : tensor<4xf32>
  %b6 = nn.add %one, %b5 : tensor<4xf32>
  %b7 = nn.mul %b6, %x : tensor<4xf32>
  %b8 = nn.mul %b7, %half : tensor<4xf32>
  return %a7, %b8 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A constant that is off, no 0.5, the gate of another value.
// CHECK-LABEL: func.func @keeps_near_gelu
// CHECK-NOT: nn.gelu
func.func @keeps_near_gelu(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %half = nn.constant dense<0.5> : tensor<4xf32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %off = nn.constant dense<0.7072> : tensor<4xf32>
  %inverse = nn.constant dense<0.707106769> : tensor<4xf32>
  %a0 = nn.mul %x, %off : tensor<4xf32>
  %a1 = nn.erf %a0 : tensor<4xf32>
  %a2 = nn.add %a1, %one : tensor<4xf32>
  %a3 = nn.mul %x, %half : tensor<4xf32>
  %a4 = nn.mul %a3, %a2 : tensor<4xf32>
  %b0 = nn.mul %x, %inverse : tensor<4xf32>
  %b1 = nn.erf %b0 : tensor<4xf32>
  %b2 = nn.add %b1, %one : tensor<4xf32>
  %b3 = nn.mul %x, %b2 : tensor<4xf32>
  %c0 = nn.mul %y, %half : tensor<4xf32>
  %c1 = nn.mul %c0, %b2 : tensor<4xf32>
  return %a4, %b3, %c1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// bf16 rounds the constants: 0.70703125 is the nearest to sqrt 0.5.
// CHECK-LABEL: func.func @raises_rounded_constants
// CHECK: nn.gelu %{{.*}} : tensor<4xbf16>
func.func @raises_rounded_constants(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %half = nn.constant dense<0.5> : tensor<4xbf16>
  %one = nn.constant dense<1.0> : tensor<4xbf16>
  %inverse = nn.constant dense<0.70703125> : tensor<4xbf16>
  %0 = nn.mul %x, %inverse : tensor<4xbf16>
  %1 = nn.erf %0 : tensor<4xbf16>
  %2 = nn.add %1, %one : tensor<4xbf16>
  %3 = nn.mul %x, %half : tensor<4xbf16>
  %4 = nn.mul %3, %2 : tensor<4xbf16>
  return %4 : tensor<4xbf16>
}
