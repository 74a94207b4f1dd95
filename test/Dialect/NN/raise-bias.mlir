// Biases of linear layers and their near misses.
// RUN: rondo-opt %s --rondo-nn-raise-bias --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @raises_bias
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xbf16>, %[[W:.*]]: tensor<16x8xbf16>, %[[B:.*]]: tensor<16xbf16>)
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] bias %[[B]] transpose_rhs : tensor<2x4x8xbf16>, tensor<16x8xbf16>, tensor<16xbf16> -> tensor<2x4x16xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @raises_bias(%x: tensor<2x4x8xbf16>, %w: tensor<16x8xbf16>, %b: tensor<16xbf16>) -> tensor<2x4x16xbf16> {
  %y = nn.matmul %x, %w transpose_rhs : tensor<2x4x8xbf16>, tensor<16x8xbf16> -> tensor<2x4x16xbf16>
  %s = nn.broadcast %b : tensor<16xbf16> -> tensor<2x4x16xbf16>
  %z = nn.add %y, %s : tensor<2x4x16xbf16>
  return %z : tensor<2x4x16xbf16>
}

// -----

// On the left, and with axes of one element.
// CHECK-LABEL: func.func @raises_commuted
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<8x16xf32>, %[[B:.*]]: tensor<1x16xf32>)
// CHECK-NEXT: %[[V:.*]] = nn.reshape %[[B]] : tensor<1x16xf32> -> tensor<16xf32>
// CHECK-NEXT: nn.matmul %[[X]], %[[W]] bias %[[V]] transpose_lhs
func.func @raises_commuted(%x: tensor<8x4xf32>, %w: tensor<8x16xf32>, %b: tensor<1x16xf32>) -> tensor<4x16xf32> {
  %y = nn.matmul %x, %w transpose_lhs : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<1x16xf32> -> tensor<4x16xf32>
  %z = nn.add %s, %y : tensor<4x16xf32>
  return %z : tensor<4x16xf32>
}

// -----

// A product that is used elsewhere, too; one matrix a batch; a bias by row; a
// second bias; one of another type.
// CHECK-LABEL: func.func @keeps_used_product
// CHECK-NOT: bias
func.func @keeps_used_product(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<16xf32> -> tensor<4x16xf32>
  %z = nn.add %y, %s : tensor<4x16xf32>
  return %y, %z : tensor<4x16xf32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @keeps_batches
// CHECK-NOT: nn.matmul {{.*}} bias
func.func @keeps_batches(%x: tensor<2x4x8xf32>, %w: tensor<2x8x16xf32>, %b: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %y = nn.matmul %x, %w : tensor<2x4x8xf32>, tensor<2x8x16xf32> -> tensor<2x4x16xf32>
  %s = nn.broadcast %b : tensor<16xf32> -> tensor<2x4x16xf32>
  %z = nn.add %y, %s : tensor<2x4x16xf32>
  return %z : tensor<2x4x16xf32>
}

// CHECK-LABEL: func.func @keeps_bias_by_row
// CHECK-NOT: nn.matmul {{.*}} bias
func.func @keeps_bias_by_row(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<4x1xf32>) -> tensor<4x16xf32> {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<4x1xf32> -> tensor<4x16xf32>
  %z = nn.add %y, %s : tensor<4x16xf32>
  return %z : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @keeps_second_bias
// CHECK: nn.matmul {{.*}} bias
// CHECK: nn.add
func.func @keeps_second_bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %y = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<16xf32> -> tensor<4x16xf32>
  %z = nn.add %y, %s : tensor<4x16xf32>
  %t = nn.add %z, %s : tensor<4x16xf32>
  return %t : tensor<4x16xf32>
}

// CHECK-LABEL: func.func @keeps_wider_bias
// CHECK-NOT: nn.matmul {{.*}} bias
func.func @keeps_wider_bias(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %y = nn.matmul %x, %w : tensor<4x8xbf16>, tensor<8x16xbf16> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<16xf32> -> tensor<4x16xf32>
  %z = nn.add %y, %s : tensor<4x16xf32>
  return %z : tensor<4x16xf32>
}
