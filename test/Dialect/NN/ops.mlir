// Every nn op prints as it was parsed, and survives the generic form and
// bytecode.
// RUN: rondo-opt %s | FileCheck %s
// RUN: rondo-opt %s --mlir-print-op-generic | rondo-opt | FileCheck %s
// RUN: rondo-opt %s --emit-bytecode | rondo-opt | FileCheck %s

// CHECK: nn.parameter @norm.weight trainable : tensor<32xf32> {stored = #nn.stored<"", 1024, 128>}
nn.parameter @norm.weight trainable : tensor<32xf32> {stored = #nn.stored<"", 1024, 128>}
// CHECK: nn.parameter @"onnx::MatMul_7" trainable : tensor<2x3xf32> {copies = ["onnx::MatMul_9"], copies_transposed = array<i1: true>, source = "fc.weight", stored = #nn.stored<"weights.bin", 0, 24>, transposed}
nn.parameter @"onnx::MatMul_7" trainable : tensor<2x3xf32> {stored = #nn.stored<"weights.bin", 0, 24>, source = "fc.weight", transposed, copies = ["onnx::MatMul_9"], copies_transposed = array<i1: true>}
// CHECK: nn.parameter @table : tensor<2xf32> {value = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>}
nn.parameter @table : tensor<2xf32> {value = dense<[1.0, 2.0]> : tensor<2xf32>}

// CHECK-LABEL: func.func @sources
func.func @sources() {
  // CHECK: nn.read @norm.weight : tensor<32xf32>
  %0 = nn.read @norm.weight : tensor<32xf32>
  // CHECK: nn.constant dense<[1.500000e+00, 2.000000e+00]> : tensor<2xbf16>
  %1 = nn.constant dense<[1.5, 2.0]> : tensor<2xbf16>
  // CHECK: nn.iota 1 : tensor<2x3xi64>
  %2 = nn.iota 1 : tensor<2x3xi64>
  // CHECK: nn.iota 0 {start = 5 : i64, step = -1 : i64} : tensor<4xf32>
  %3 = nn.iota 0 {start = 5 : i64, step = -1 : i64} : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @unary
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>, %[[I:.*]]: tensor<2xi64>, %[[B:.*]]: tensor<2xi1>)
func.func @unary(%x: tensor<2x3xf32>, %i: tensor<2xi64>, %b: tensor<2xi1>) {
  // CHECK: nn.neg %[[I]] : tensor<2xi64>
  %0 = nn.neg %i : tensor<2xi64>
  // CHECK: nn.abs %[[X]] : tensor<2x3xf32>
  %1 = nn.abs %x : tensor<2x3xf32>
  // CHECK: nn.exp %[[X]] : tensor<2x3xf32>
  %2 = nn.exp %x : tensor<2x3xf32>
  // CHECK: nn.log %[[X]] : tensor<2x3xf32>
  %3 = nn.log %x : tensor<2x3xf32>
  // CHECK: nn.sqrt %[[X]] : tensor<2x3xf32>
  %4 = nn.sqrt %x : tensor<2x3xf32>
  // CHECK: nn.rsqrt %[[X]] : tensor<2x3xf32>
  %5 = nn.rsqrt %x : tensor<2x3xf32>
  // CHECK: nn.reciprocal %[[X]] : tensor<2x3xf32>
  %6 = nn.reciprocal %x : tensor<2x3xf32>
  // CHECK: nn.tanh %[[X]] : tensor<2x3xf32>
  %7 = nn.tanh %x : tensor<2x3xf32>
  // CHECK: nn.sigmoid %[[X]] : tensor<2x3xf32>
  %8 = nn.sigmoid %x : tensor<2x3xf32>
  // CHECK: nn.erf %[[X]] : tensor<2x3xf32>
  %9 = nn.erf %x : tensor<2x3xf32>
  // CHECK: nn.sin %[[X]] : tensor<2x3xf32>
  %10 = nn.sin %x : tensor<2x3xf32>
  // CHECK: nn.cos %[[X]] : tensor<2x3xf32>
  %11 = nn.cos %x : tensor<2x3xf32>
  // CHECK: nn.relu %[[X]] : tensor<2x3xf32>
  %12 = nn.relu %x : tensor<2x3xf32>
  // CHECK: nn.not %[[B]] : tensor<2xi1>
  %13 = nn.not %b : tensor<2xi1>
  // CHECK: nn.silu %[[X]] : tensor<2x3xf32>
  %14 = nn.silu %x : tensor<2x3xf32>
  // CHECK: nn.gelu %[[X]] : tensor<2x3xf32>
  %15 = nn.gelu %x : tensor<2x3xf32>
  // CHECK: nn.gelu tanh %[[X]] : tensor<2x3xf32>
  %16 = nn.gelu tanh %x : tensor<2x3xf32>
  // CHECK: %[[NAN:.*]] = nn.is_nan %[[X]] : tensor<2x3xf32>
  %17 = nn.is_nan %x : tensor<2x3xf32>
  // CHECK: nn.not %[[NAN]] : tensor<2x3xi1>
  %18 = nn.not %17 : tensor<2x3xi1>
  return
}

// CHECK-LABEL: func.func @binary
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf16>, %[[Y:.*]]: tensor<2x3xf16>, %[[B:.*]]: tensor<2x3xi1>)
func.func @binary(%x: tensor<2x3xf16>, %y: tensor<2x3xf16>, %b: tensor<2x3xi1>) {
  // CHECK: nn.add %[[X]], %[[Y]] : tensor<2x3xf16>
  %0 = nn.add %x, %y : tensor<2x3xf16>
  // CHECK: nn.sub %[[X]], %[[Y]] : tensor<2x3xf16>
  %1 = nn.sub %x, %y : tensor<2x3xf16>
  // CHECK: nn.mul %[[X]], %[[Y]] : tensor<2x3xf16>
  %2 = nn.mul %x, %y : tensor<2x3xf16>
  // CHECK: nn.div %[[X]], %[[Y]] : tensor<2x3xf16>
  %3 = nn.div %x, %y : tensor<2x3xf16>
  // CHECK: nn.pow %[[X]], %[[Y]] : tensor<2x3xf16>
  %4 = nn.pow %x, %y : tensor<2x3xf16>
  // CHECK: nn.maximum %[[X]], %[[Y]] : tensor<2x3xf16>
  %5 = nn.maximum %x, %y : tensor<2x3xf16>
  // CHECK: nn.minimum %[[X]], %[[Y]] : tensor<2x3xf16>
  %6 = nn.minimum %x, %y : tensor<2x3xf16>
  // CHECK: %[[LE:.*]] = nn.compare le %[[X]], %[[Y]] : tensor<2x3xf16>
  %7 = nn.compare le %x, %y : tensor<2x3xf16>
  // CHECK: nn.and %[[LE]], %[[B]] : tensor<2x3xi1>
  %8 = nn.and %7, %b : tensor<2x3xi1>
  // CHECK: nn.or %[[LE]], %[[B]] : tensor<2x3xi1>
  %9 = nn.or %7, %b : tensor<2x3xi1>
  // CHECK: nn.select %[[LE]], %[[X]], %[[Y]] : tensor<2x3xi1>, tensor<2x3xf16>
  %10 = nn.select %7, %x, %y : tensor<2x3xi1>, tensor<2x3xf16>
  // CHECK: nn.cast %[[X]] : tensor<2x3xf16> to tensor<2x3xf32>
  %11 = nn.cast %x : tensor<2x3xf16> to tensor<2x3xf32>
  return
}

// CHECK-LABEL: func.func @movement
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @movement(%x: tensor<2x3x4xf32>) {
  // CHECK: nn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %0 = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  // CHECK: nn.broadcast %[[X]] : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  %1 = nn.broadcast %x : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  // CHECK: nn.transpose %[[X]] [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %2 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK: nn.slice %[[X]] [0, 2, 1] [1, -1, 2] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  %3 = nn.slice %x [0, 2, 1] [1, -1, 2] : tensor<2x3x4xf32> -> tensor<2x3x2xf32>
  // CHECK: nn.pad %[[X]] [0, 1, 0] [2, 0, 0] 0.000000e+00 : f32 : tensor<2x3x4xf32> -> tensor<4x4x4xf32>
  %4 = nn.pad %x [0, 1, 0] [2, 0, 0] 0.0 : f32 : tensor<2x3x4xf32> -> tensor<4x4x4xf32>
  // CHECK: %[[C:.*]] = nn.concat 1, %[[X]], %[[X]] : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  %5 = nn.concat 1, %x, %x : tensor<2x3x4xf32>, tensor<2x3x4xf32>
  // CHECK: nn.neg %[[C]] : tensor<2x6x4xf32>
  %6 = nn.neg %5 : tensor<2x6x4xf32>
  return
}

// CHECK-LABEL: func.func @indexing
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf32>, %[[I:.*]]: tensor<2x3xi64>)
func.func @indexing(%x: tensor<8x4xf32>, %i: tensor<2x3xi64>) {
  // CHECK: %[[G:.*]] = nn.gather %[[X]], %[[I]] axis 0 : tensor<8x4xf32>, tensor<2x3xi64>
  %0 = nn.gather %x, %i axis 0 : tensor<8x4xf32>, tensor<2x3xi64>
  // CHECK: nn.scatter_add %[[G]], %[[I]] axis 0 : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<8x4xf32>
  %1 = nn.scatter_add %0, %i axis 0 : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<8x4xf32>
  %tuples = nn.constant dense<[[0, 1], [7, 3]]> : tensor<2x2xi64>
  // CHECK: %[[P:.*]] = nn.gather_nd %[[X]], %{{.*}} : tensor<8x4xf32>, tensor<2x2xi64>
  %2 = nn.gather_nd %x, %tuples : tensor<8x4xf32>, tensor<2x2xi64>
  // CHECK: nn.neg %[[P]] : tensor<2xf32>
  %3 = nn.neg %2 : tensor<2xf32>
  // Batched: row b of the result is picked from row b of the operand.
  %batched = nn.constant dense<3> : tensor<8x1xi64>
  // CHECK: %[[Q:.*]] = nn.gather_nd %[[X]], %{{.*}} batch_dims 1 : tensor<8x4xf32>, tensor<8x1xi64>
  %4 = nn.gather_nd %x, %batched batch_dims 1 : tensor<8x4xf32>, tensor<8x1xi64>
  // CHECK: nn.neg %[[Q]] : tensor<8xf32>
  %5 = nn.neg %4 : tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @reductions
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @reductions(%x: tensor<2x3x4xf32>) {
  // CHECK: %[[S:.*]] = nn.reduce sum %[[X]] [0, 2] : tensor<2x3x4xf32>
  %0 = nn.reduce sum %x [0, 2] : tensor<2x3x4xf32>
  // CHECK: nn.neg %[[S]] : tensor<3xf32>
  %1 = nn.neg %0 : tensor<3xf32>
  // CHECK: %[[M:.*]] = nn.reduce mean %[[X]] [2] keepdims : tensor<2x3x4xf32>
  %2 = nn.reduce mean %x [2] keepdims : tensor<2x3x4xf32>
  // CHECK: nn.neg %[[M]] : tensor<2x3x1xf32>
  %3 = nn.neg %2 : tensor<2x3x1xf32>
  // CHECK: %[[A:.*]] = nn.reduce max %[[X]] [0, 1, 2] : tensor<2x3x4xf32>
  %4 = nn.reduce max %x [0, 1, 2] : tensor<2x3x4xf32>
  // CHECK: nn.neg %[[A]] : tensor<f32>
  %5 = nn.neg %4 : tensor<f32>
  // CHECK: nn.cumsum %[[X]] axis 1 {exclusive, reverse} : tensor<2x3x4xf32>
  %6 = nn.cumsum %x axis 1 {exclusive, reverse} : tensor<2x3x4xf32>
  // CHECK: nn.softmax %[[X]] : tensor<2x3x4xf32>
  %7 = nn.softmax %x : tensor<2x3x4xf32>
  return
}

// CHECK-LABEL: func.func @matmul
// CHECK-SAME: (%[[X:.*]]: tensor<2x16x32xbf16>, %[[W:.*]]: tensor<64x32xbf16>, %[[B:.*]]: tensor<64xbf16>)
func.func @matmul(%x: tensor<2x16x32xbf16>, %w: tensor<64x32xbf16>, %b: tensor<64xbf16>) {
  // CHECK: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] transpose_rhs : tensor<2x16x32xbf16>, tensor<64x32xbf16> -> tensor<2x16x64xbf16>
  %0 = nn.matmul %x, %w transpose_rhs : tensor<2x16x32xbf16>, tensor<64x32xbf16> -> tensor<2x16x64xbf16>
  // A wider result, batched on both sides.
  // CHECK: nn.matmul %[[Y]], %[[X]] transpose_lhs : tensor<2x16x64xbf16>, tensor<2x16x32xbf16> -> tensor<2x64x32xf32>
  %1 = nn.matmul %0, %x transpose_lhs : tensor<2x16x64xbf16>, tensor<2x16x32xbf16> -> tensor<2x64x32xf32>
  // CHECK: nn.matmul %[[X]], %[[W]] bias %[[B]] transpose_rhs : tensor<2x16x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16> -> tensor<2x16x64xf32>
  %2 = nn.matmul %x, %w bias %b transpose_rhs : tensor<2x16x32xbf16>, tensor<64x32xbf16>, tensor<64xbf16> -> tensor<2x16x64xf32>
  return
}

// CHECK-LABEL: func.func @attention
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x8x16xf32>, %[[K:.*]]: tensor<1x2x8x16xf32>, %[[V:.*]]: tensor<1x2x8x12xf32>, %[[M:.*]]: tensor<8x8xi1>)
func.func @attention(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %m: tensor<8x8xi1>) {
  // CHECK: %[[R:.*]], %[[S:.*]] = nn.attention %[[Q]], %[[K]], %[[V]] causal window 4 scale 2.500000e-01
  // CHECK-SAME: : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  %r, %s = nn.attention %q, %k, %v causal window 4 scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  // CHECK: nn.attention %[[Q]], %[[K]], %[[V]] mask %[[M]] scale 2.500000e-01
  // CHECK-SAME: tensor<1x2x8x12xf32>, tensor<8x8xi1> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  %r2, %s2 = nn.attention %q, %k, %v mask %m scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<8x8xi1> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  // CHECK: nn.attention %[[Q]], %[[K]], %[[V]] mask %[[M]] fill -1.000000e+30 unguarded causal scale 2.500000e-01
  %r4, %s4 = nn.attention %q, %k, %v mask %m fill -1.0e30 unguarded causal scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<8x8xi1> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  // CHECK: %[[ROWS:.*]], %{{.*}} = nn.attention %[[Q]], %[[K]], %[[V]] causal rows_first scale 2.500000e-01
  %r3, %s3 = nn.attention %q, %k, %v causal rows_first scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x8x4x12xf32>, tensor<1x4x8xf32>
  // CHECK: nn.attention_grad %{{.*}}, %[[ROWS]] causal rows_first scale 2.500000e-01
  %dq3, %dk3, %dv3 = nn.attention_grad %q, %k, %v, %r3, %s3, %r3 causal rows_first scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x8x4x12xf32>, tensor<1x4x8xf32>, tensor<1x8x4x12xf32>
    -> tensor<1x8x4x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x12xf32>
  // CHECK: nn.attention_grad %[[Q]], %[[K]], %[[V]], %[[R]], %[[S]], %[[R]] causal window 4 scale 2.500000e-01
  // CHECK-SAME: -> tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, %s, %r causal window 4 scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x4x8x12xf32>, tensor<1x4x8xf32>, tensor<1x4x8x12xf32>
    -> tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>
  return
}

// CHECK-LABEL: func.func @composites
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<4x8xf32>, %[[L:.*]]: tensor<2xi64>)
func.func @composites(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>, %c: tensor<4x8xf32>, %labels: tensor<2xi64>) {
  // CHECK: nn.rms_norm %[[X]], %[[W]] epsilon 1.000000e-05 : tensor<2x4x8xf32>, tensor<8xf32>
  %0 = nn.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x4x8xf32>, tensor<8xf32>
  // CHECK: nn.rope %[[X]], %[[C]], %[[C]] : tensor<2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  %1 = nn.rope %x, %c, %c : tensor<2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  %logits = nn.reshape %x : tensor<2x4x8xf32> -> tensor<2x32xf32>
  // CHECK: %[[E:.*]] = nn.cross_entropy %{{.*}}, %[[L]] ignore -100 : tensor<2x32xf32>, tensor<2xi64>
  %2 = nn.cross_entropy %logits, %labels ignore -100 : tensor<2x32xf32>, tensor<2xi64>
  // CHECK: nn.cross_entropy %{{.*}}, %[[L]] : tensor<2x32xf32>, tensor<2xi64>
  %3 = nn.cross_entropy %logits, %labels : tensor<2x32xf32>, tensor<2xi64>
  // CHECK: nn.neg %[[E]] : tensor<f32>
  %4 = nn.neg %2 : tensor<f32>
  return
}

// CHECK-LABEL: func.func @loss_heads
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>, %[[W:.*]]: tensor<16x8xbf16>, %[[B:.*]]: tensor<16xbf16>, %[[L:.*]]: tensor<4xi64>, %[[S:.*]]: tensor<f32>)
func.func @loss_heads(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>, %b: tensor<16xbf16>, %labels: tensor<4xi64>, %seed: tensor<f32>) {
  // CHECK: %[[E:.*]] = nn.linear_cross_entropy %[[X]], %[[W]], %[[L]] bias %[[B]] transpose_weight ignore -100 chunk 1024 logits bf16 : tensor<4x8xbf16>, tensor<16x8xbf16>, tensor<4xi64>, tensor<16xbf16>
  %0 = nn.linear_cross_entropy %x, %w, %labels bias %b transpose_weight ignore -100 chunk 1024 logits bf16 : tensor<4x8xbf16>, tensor<16x8xbf16>, tensor<4xi64>, tensor<16xbf16>
  // CHECK: nn.neg %[[E]] : tensor<f32>
  %1 = nn.neg %0 : tensor<f32>
  // CHECK: nn.linear_cross_entropy %[[X]], %{{.*}}, %[[L]] chunk 2 logits f32 : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4xi64>
  %v = nn.transpose %w [1, 0] : tensor<16x8xbf16> -> tensor<8x16xbf16>
  %2 = nn.linear_cross_entropy %x, %v, %labels chunk 2 logits f32 : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4xi64>
  // CHECK: nn.linear_cross_entropy_grad %[[X]], %[[W]], %[[L]], %[[S]] bias %[[B]] transpose_weight ignore -100 chunk 1024 logits bf16
  // CHECK-SAME: : tensor<4x8xbf16>, tensor<16x8xbf16>, tensor<4xi64>, tensor<f32>, tensor<16xbf16> -> tensor<f32>, tensor<4x8xbf16>, tensor<16x8xf32>, tensor<16xf32>
  %3:4 = nn.linear_cross_entropy_grad %x, %w, %labels, %seed bias %b transpose_weight ignore -100 chunk 1024 logits bf16
    : tensor<4x8xbf16>, tensor<16x8xbf16>, tensor<4xi64>, tensor<f32>, tensor<16xbf16> -> tensor<f32>, tensor<4x8xbf16>, tensor<16x8xf32>, tensor<16xf32>
  // CHECK: nn.linear_cross_entropy_grad %[[X]], %{{.*}}, %[[L]], %[[S]] chunk 2 logits f32
  // CHECK-SAME: -> tensor<f32>, tensor<4x8xbf16>, tensor<8x16xf32>
  %4:3 = nn.linear_cross_entropy_grad %x, %v, %labels, %seed chunk 2 logits f32
    : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4xi64>, tensor<f32> -> tensor<f32>, tensor<4x8xbf16>, tensor<8x16xf32>
  return
}
