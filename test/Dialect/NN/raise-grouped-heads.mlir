// Keys and values from before their repetition for groups of query heads; exporters' whole forms are in raise-attention.mlir.
// RUN: rondo-opt %s --rondo-nn-raise-grouped-heads --split-input-file | FileCheck %s

// Two key heads, each broadcast to two query heads: the attention takes the two.
// CHECK-LABEL: func.func @takes_what_is_repeated(
// CHECK-SAME:    %[[Q:.*]]: tensor<1x4x8x16xf32>, %[[K:.*]]: tensor<1x2x1x8x16xf32>, %[[V:.*]]: tensor<1x2x8x16xf32>)
// CHECK-NOT:     nn.broadcast
// CHECK:         %[[KEY:.*]] = nn.reshape %[[K]] : tensor<1x2x1x8x16xf32> -> tensor<1x2x8x16xf32>
// CHECK:         nn.attention %[[Q]], %[[KEY]], %[[V]] causal
func.func @takes_what_is_repeated(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x1x8x16xf32>, %v: tensor<1x2x8x16xf32>) -> tensor<1x4x8x16xf32> {
  %0 = nn.broadcast %k : tensor<1x2x1x8x16xf32> -> tensor<1x2x2x8x16xf32>
  %1 = nn.reshape %0 : tensor<1x2x2x8x16xf32> -> tensor<1x4x8x16xf32>
  %2 = nn.reshape %v : tensor<1x2x8x16xf32> -> tensor<1x2x1x8x16xf32>
  %3 = nn.broadcast %2 : tensor<1x2x1x8x16xf32> -> tensor<1x2x2x8x16xf32>
  %4 = nn.reshape %3 : tensor<1x2x2x8x16xf32> -> tensor<1x4x8x16xf32>
  %r, %s = nn.attention %q, %1, %4 causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  return %r : tensor<1x4x8x16xf32>
}

// -----

// Values of heads of their own: key and value heads must be as many.
// CHECK-LABEL: func.func @keeps_half_repeated(
// CHECK:         %[[B:.*]] = nn.broadcast
// CHECK:         %[[KEY:.*]] = nn.reshape %[[B]]
// CHECK:         nn.attention %{{.*}}, %[[KEY]], %{{.*}} causal
func.func @keeps_half_repeated(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x1x8x16xf32>, %v: tensor<1x4x8x16xf32>) -> tensor<1x4x8x16xf32> {
  %0 = nn.broadcast %k : tensor<1x2x1x8x16xf32> -> tensor<1x2x2x8x16xf32>
  %1 = nn.reshape %0 : tensor<1x2x2x8x16xf32> -> tensor<1x4x8x16xf32>
  %r, %s = nn.attention %q, %1, %v causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  return %r : tensor<1x4x8x16xf32>
}

// -----

// Repeated as a whole (heads 0, 1, 0, 1), not for groups (0, 0, 1, 1).
// CHECK-LABEL: func.func @keeps_tiled(
// CHECK-COUNT-2: nn.broadcast
// CHECK:         nn.attention
func.func @keeps_tiled(%q: tensor<1x4x8x16xf32>, %k: tensor<1x1x2x8x16xf32>) -> tensor<1x4x8x16xf32> {
  %0 = nn.broadcast %k : tensor<1x1x2x8x16xf32> -> tensor<1x2x2x8x16xf32>
  %1 = nn.reshape %0 : tensor<1x2x2x8x16xf32> -> tensor<1x4x8x16xf32>
  %2 = nn.broadcast %k : tensor<1x1x2x8x16xf32> -> tensor<1x2x2x8x16xf32>
  %3 = nn.reshape %2 : tensor<1x2x2x8x16xf32> -> tensor<1x4x8x16xf32>
  %r, %s = nn.attention %q, %1, %3 causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  return %r : tensor<1x4x8x16xf32>
}
