// Loss heads and their near misses.
// RUN: rondo-opt %s --rondo-nn-raise-linear-cross-entropy --split-input-file | FileCheck %s
// RUN: not rondo-opt %s --split-input-file --rondo-nn-raise-linear-cross-entropy=chunk=0 2>&1 | FileCheck %s --check-prefix=CHUNK

// CHUNK: error: a chunk of 0 rows of logits; at least 1 is needed

// The logits of all positions; the weight is stored by class.
// CHECK-LABEL: func.func @raises_head
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<16x8xf32>, %[[L:.*]]: tensor<8xi64>)
// CHECK-NEXT: %[[H:.*]] = nn.reshape %[[X]] : tensor<2x4x8xf32> -> tensor<8x8xf32>
// CHECK-NEXT: %[[R:.*]] = nn.linear_cross_entropy %[[H]], %[[W]], %[[L]] transpose_weight ignore -100 chunk 2048 logits f32
// CHECK-NEXT: return %[[R]]
func.func @raises_head(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>, %l: tensor<8xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w transpose_rhs : tensor<2x4x8xf32>, tensor<16x8xf32> -> tensor<2x4x16xf32>
  %r = nn.reshape %z : tensor<2x4x16xf32> -> tensor<8x16xf32>
  %loss = nn.cross_entropy %r, %l ignore -100 : tensor<8x16xf32>, tensor<8xi64>
  return %loss : tensor<f32>
}

// -----

// The exporter shifts by slicing logits: the labels are moved instead, and all rows stay where they are.
// CHECK-LABEL: func.func @moves_labels
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xbf16>, %[[W:.*]]: tensor<8x16xbf16>, %[[L:.*]]: tensor<6xi32>)
// CHECK-NEXT: %[[SHAPED:.*]] = nn.reshape %[[L]] : tensor<6xi32> -> tensor<2x3xi32>
// CHECK-NEXT: %[[PADDED:.*]] = nn.pad %[[SHAPED]] [0, 0] [0, 1] -1 : i32 : tensor<2x3xi32> -> tensor<2x4xi32>
// CHECK-NEXT: %[[FLAT:.*]] = nn.reshape %[[PADDED]] : tensor<2x4xi32> -> tensor<8xi32>
// CHECK-NEXT: %[[H:.*]] = nn.reshape %[[X]] : tensor<2x4x8xbf16> -> tensor<8x8xbf16>
// CHECK-NEXT: nn.linear_cross_entropy %[[H]], %[[W]], %[[FLAT]] ignore -1 chunk 2048 logits bf16
func.func @moves_labels(%x: tensor<2x4x8xbf16>, %w: tensor<8x16xbf16>, %l: tensor<6xi32>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<2x4x8xbf16>, tensor<8x16xbf16> -> tensor<2x4x16xbf16>
  %f = nn.cast %z : tensor<2x4x16xbf16> to tensor<2x4x16xf32>
  %s = nn.slice %f [0, 0, 0] [1, 1, 1] : tensor<2x4x16xf32> -> tensor<2x3x16xf32>
  %r = nn.reshape %s : tensor<2x3x16xf32> -> tensor<6x16xf32>
  %loss = nn.cross_entropy %r, %l ignore -1 : tensor<6x16xf32>, tensor<6xi32>
  return %loss : tensor<f32>
}

// -----

// No label is ignored, so rows cannot be left out by one: hidden rows are picked.
// CHECK-LABEL: func.func @picks_rows
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8x16xf32>, %[[L:.*]]: tensor<6xi64>)
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[X]] [0, 1, 0] [1, 1, 1] : tensor<2x4x8xf32> -> tensor<2x3x8xf32>
// CHECK-NEXT: %[[H:.*]] = nn.reshape %[[S]] : tensor<2x3x8xf32> -> tensor<6x8xf32>
// CHECK-NEXT: nn.linear_cross_entropy %[[H]], %[[W]], %[[L]] chunk 2048 logits f32
func.func @picks_rows(%x: tensor<2x4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<6xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<2x4x8xf32>, tensor<8x16xf32> -> tensor<2x4x16xf32>
  %s = nn.slice %z [0, 1, 0] [1, 1, 1] : tensor<2x4x16xf32> -> tensor<2x3x16xf32>
  %r = nn.reshape %s : tensor<2x3x16xf32> -> tensor<6x16xf32>
  %loss = nn.cross_entropy %r, %l : tensor<6x16xf32>, tensor<6xi64>
  return %loss : tensor<f32>
}

// Nor where most rows are left out: their products would be for nothing.
// CHECK-LABEL: func.func @picks_last_rows
// CHECK: %[[S:.*]] = nn.slice %{{.*}} [0, 3, 0] [1, 1, 1] : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
// CHECK: nn.linear_cross_entropy %{{.*}}, %{{.*}}, %{{.*}} ignore -100
// CHECK-SAME: tensor<2x8xf32>, tensor<8x16xf32>, tensor<2xi64>
func.func @picks_last_rows(%x: tensor<2x4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<2xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<2x4x8xf32>, tensor<8x16xf32> -> tensor<2x4x16xf32>
  %s = nn.slice %z [0, 3, 0] [1, 1, 1] : tensor<2x4x16xf32> -> tensor<2x1x16xf32>
  %r = nn.reshape %s : tensor<2x1x16xf32> -> tensor<2x16xf32>
  %loss = nn.cross_entropy %r, %l ignore -100 : tensor<2x16xf32>, tensor<2xi64>
  return %loss : tensor<f32>
}

// -----

// A tied weight comes transposed; the bias may stand on either side.
// CHECK-LABEL: func.func @raises_bias
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf16>, %[[W:.*]]: tensor<16x8xf16>, %[[B:.*]]: tensor<1x16xf16>, %[[L:.*]]: tensor<4xi64>)
// CHECK-NEXT: %[[V:.*]] = nn.reshape %[[B]] : tensor<1x16xf16> -> tensor<16xf16>
// CHECK-NEXT: nn.linear_cross_entropy %[[X]], %[[W]], %[[L]] bias %[[V]] transpose_weight chunk 2048 logits f16
func.func @raises_bias(%x: tensor<4x8xf16>, %w: tensor<16x8xf16>, %b: tensor<1x16xf16>, %l: tensor<4xi64>) -> tensor<f32> {
  %t = nn.transpose %w [1, 0] : tensor<16x8xf16> -> tensor<8x16xf16>
  %z = nn.matmul %x, %t : tensor<4x8xf16>, tensor<8x16xf16> -> tensor<4x16xf16>
  %s = nn.broadcast %b : tensor<1x16xf16> -> tensor<4x16xf16>
  %y = nn.add %s, %z : tensor<4x16xf16>
  %f = nn.cast %y : tensor<4x16xf16> to tensor<4x16xf32>
  %loss = nn.cross_entropy %f, %l : tensor<4x16xf32>, tensor<4xi64>
  return %loss : tensor<f32>
}

// -----

// Logits that are used elsewhere, too; scaled ones; only some classes; rounded twice; a bias by row; every other row; f64.
// CHECK-LABEL: func.func @keeps_used_logits
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_used_logits(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) -> (tensor<f32>, tensor<4x16xf32>) {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %loss = nn.cross_entropy %z, %l : tensor<4x16xf32>, tensor<4xi64>
  return %loss, %z : tensor<f32>, tensor<4x16xf32>
}

// CHECK-LABEL: func.func @keeps_scaled_logits
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_scaled_logits(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %t = nn.tanh %z : tensor<4x16xf32>
  %loss = nn.cross_entropy %t, %l : tensor<4x16xf32>, tensor<4xi64>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @keeps_some_classes
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_some_classes(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.slice %z [0, 0] [1, 1] : tensor<4x16xf32> -> tensor<4x12xf32>
  %loss = nn.cross_entropy %s, %l : tensor<4x12xf32>, tensor<4xi64>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @keeps_rounded_twice
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_rounded_twice(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %n = nn.cast %z : tensor<4x16xf32> to tensor<4x16xbf16>
  %loss = nn.cross_entropy %n, %l : tensor<4x16xbf16>, tensor<4xi64>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @keeps_bias_by_row
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_bias_by_row(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<4x1xf32>, %l: tensor<4xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.broadcast %b : tensor<4x1xf32> -> tensor<4x16xf32>
  %y = nn.add %z, %s : tensor<4x16xf32>
  %loss = nn.cross_entropy %y, %l : tensor<4x16xf32>, tensor<4xi64>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @keeps_every_other_row
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_every_other_row(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<2xi64>) -> tensor<f32> {
  %z = nn.matmul %x, %w : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %s = nn.slice %z [0, 0] [2, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %loss = nn.cross_entropy %s, %l : tensor<2x16xf32>, tensor<2xi64>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @keeps_f64
// CHECK-NOT: nn.linear_cross_entropy
func.func @keeps_f64(%x: tensor<4x8xf64>, %w: tensor<8x16xf64>, %l: tensor<4xi64>) -> tensor<f64> {
  %z = nn.matmul %x, %w : tensor<4x8xf64>, tensor<8x16xf64> -> tensor<4x16xf64>
  %loss = nn.cross_entropy %z, %l : tensor<4x16xf64>, tensor<4xi64>
  return %loss : tensor<f64>
}
