// Attention writes its result as the product behind it reads it.
// RUN: rondo-opt %s --rondo-nn-fold-attention-rows --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @folds_transpose(
// CHECK-SAME:    %[[Q:.*]]: tensor<1x4x8x16xf32>, %[[K:.*]]: tensor<1x2x8x16xf32>)
// CHECK:         %[[R:.*]], %{{.*}} = nn.attention %[[Q]], %[[K]], %[[K]] causal rows_first scale 2.500000e-01
// CHECK-SAME:      -> tensor<1x8x4x16xf32>, tensor<1x4x8xf32>
// CHECK-NEXT:    nn.reshape %[[R]]
func.func @folds_transpose(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>) -> tensor<1x8x64xf32> {
  %r, %s = nn.attention %q, %k, %k causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  %0 = nn.transpose %r [0, 2, 1, 3] : tensor<1x4x8x16xf32> -> tensor<1x8x4x16xf32>
  %1 = nn.reshape %0 : tensor<1x8x4x16xf32> -> tensor<1x8x64xf32>
  return %1 : tensor<1x8x64xf32>
}

// -----

// Someone else wants the heads first.
// CHECK-LABEL: func.func @keeps_second_use(
// CHECK:         nn.attention %{{.*}} causal scale
// CHECK:         nn.transpose
func.func @keeps_second_use(%q: tensor<1x4x8x16xf32>) -> (tensor<1x4x8x16xf32>, tensor<1x8x4x16xf32>) {
  %r, %s = nn.attention %q, %q, %q causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  %0 = nn.transpose %r [0, 2, 1, 3] : tensor<1x4x8x16xf32> -> tensor<1x8x4x16xf32>
  return %r, %0 : tensor<1x4x8x16xf32>, tensor<1x8x4x16xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_other_transpose(
// CHECK:         nn.attention %{{.*}} causal scale
// CHECK:         nn.transpose %{{.*}} [0, 1, 3, 2]
func.func @keeps_other_transpose(%q: tensor<1x4x8x16xf32>) -> tensor<1x4x16x8xf32> {
  %r, %s = nn.attention %q, %q, %q causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  %0 = nn.transpose %r [0, 1, 3, 2] : tensor<1x4x8x16xf32> -> tensor<1x4x16x8xf32>
  return %0 : tensor<1x4x16x8xf32>
}
