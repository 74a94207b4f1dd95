// Attention in bf16 and f16 is left to the device's library where that does it; the gradient's blocks follow from what it may use.
// RUN: rondo-opt %s -split-input-file --pass-pipeline='builtin.module(rondo-convert-nn-to-kern{library-attention=true attention-bytes=1000000})' | FileCheck %s
// RUN: rondo-opt %s -split-input-file --pass-pipeline='builtin.module(rondo-convert-nn-to-kern)' | FileCheck %s --check-prefix=HOST

// HOST-NOT: kern.attention

// Queries [b, s, h * d] are read where they lie: heads 64 elements apart, rows 256.
// CHECK-LABEL: kern.func @from_projections(
// CHECK-SAME: %[[Q:.*]]: memref<2x256x256xbf16>, %[[K:.*]]: memref<2x2x256x64xbf16>, %[[V:.*]]: memref<2x2x256x64xbf16>, %[[O:.*]]: memref<2x4x256x64xbf16>, %[[L:.*]]: memref<2x4x256xf32>
// CHECK-NOT: kern.fused
// CHECK: %[[W:.*]] = kern.scratch : memref<270336xf32>
// CHECK: kern.attention %[[Q]], %[[K]], %[[V]], %[[O]], %[[L]], %[[W]] {access = [#kern.access<0, [65536, 64, 256, 1]>, #kern.access<0, [32768, 16384, 64, 1]>,
// CHECK-SAME: batch = 2 : i64, causal, depth = 64 : i64, heads = 4 : i64, key_heads = 2 : i64, keys = 256 : i64, rows = 256 : i64, scale = 1.250000e-01 : f32, value_depth = 64 : i64}
func.func @from_projections(%q: tensor<2x256x256xbf16>, %k: tensor<2x2x256x64xbf16>, %v: tensor<2x2x256x64xbf16>) -> (tensor<2x4x256x64xbf16>, tensor<2x4x256xf32>) {
  %0 = nn.reshape %q : tensor<2x256x256xbf16> -> tensor<2x256x4x64xbf16>
  %1 = nn.transpose %0 [0, 2, 1, 3] : tensor<2x256x4x64xbf16> -> tensor<2x4x256x64xbf16>
  %y, %l = nn.attention %1, %k, %v causal scale 0.125 : tensor<2x4x256x64xbf16>, tensor<2x2x256x64xbf16>, tensor<2x2x256x64xbf16> -> tensor<2x4x256x64xbf16>, tensor<2x4x256xf32>
  return %y, %l : tensor<2x4x256x64xbf16>, tensor<2x4x256xf32>
}

// -----

// All scores' cotangents would take 1 MiB: the gradient goes batch by batch.
// CHECK-LABEL: kern.func @by_batches
// CHECK: kern.attention_grad
// CHECK-SAME: block_batch = 1 : i64, block_heads = 4 : i64, block_keys = 256 : i64, block_rows = 256 : i64
// CHECK-SAME: library_bytes = 2113536 : i64
func.func @by_batches(%q: tensor<2x4x256x64xf16>, %k: tensor<2x2x256x64xf16>, %v: tensor<2x2x256x64xf16>, %y: tensor<2x4x256x64xf16>, %l: tensor<2x4x256xf32>,
                      %c: tensor<2x4x256x64xf16>) -> (tensor<2x4x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>) {
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %y, %l, %c causal window 64 scale 0.125 : tensor<2x4x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>,
    tensor<2x4x256x64xf16>, tensor<2x4x256xf32>, tensor<2x4x256x64xf16> -> tensor<2x4x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>
  return %dq, %dk, %dv : tensor<2x4x256x64xf16>, tensor<2x2x256x64xf16>, tensor<2x2x256x64xf16>
}

// -----

// Two heads that share a key head take more than that: squares, whose parts and sums lie in the workspace. What nothing reads goes to scratch.
// CHECK-LABEL: kern.func @by_squares
// CHECK: kern.scratch : memref<1x1x1024x64xbf16>
// CHECK: kern.attention_grad
// CHECK-SAME: block_batch = 1 : i64, block_heads = 2 : i64, block_keys = 384 : i64, block_rows = 384 : i64
func.func @by_squares(%q: tensor<1x2x1024x64xbf16>, %k: tensor<1x1x1024x64xbf16>, %v: tensor<1x1x1024x64xbf16>, %y: tensor<1x2x1024x64xbf16>, %l: tensor<1x2x1024xf32>,
                   %c: tensor<1x2x1024x64xbf16>) -> (tensor<1x2x1024x64xbf16>, tensor<1x1x1024x64xbf16>) {
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %y, %l, %c causal scale 0.125 : tensor<1x2x1024x64xbf16>, tensor<1x1x1024x64xbf16>, tensor<1x1x1024x64xbf16>,
    tensor<1x2x1024x64xbf16>, tensor<1x2x1024xf32>, tensor<1x2x1024x64xbf16> -> tensor<1x2x1024x64xbf16>, tensor<1x1x1024x64xbf16>, tensor<1x1x1024x64xbf16>
  return %dq, %dv : tensor<1x2x1024x64xbf16>, tensor<1x1x1024x64xbf16>
}

// -----

// A view whose columns are apart is stored first.
// CHECK-LABEL: kern.func @stores_columns
// CHECK: kern.fused
// CHECK: kern.attention
func.func @stores_columns(%q: tensor<1x2x64x128xbf16>, %k: tensor<1x2x128x64xbf16>, %v: tensor<1x2x128x64xbf16>) -> tensor<1x2x128x64xbf16> {
  %0 = nn.transpose %q [0, 1, 3, 2] : tensor<1x2x64x128xbf16> -> tensor<1x2x128x64xbf16>
  %y, %l = nn.attention %0, %k, %v causal scale 0.125 : tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16> -> tensor<1x2x128x64xbf16>, tensor<1x2x128xf32>
  return %y : tensor<1x2x128x64xbf16>
}

// -----

// CHECK-LABEL: kern.func @keeps_f32
// CHECK-NOT: kern.attention
func.func @keeps_f32(%q: tensor<1x2x128x64xf32>, %k: tensor<1x2x128x64xf32>, %v: tensor<1x2x128x64xf32>) -> tensor<1x2x128x64xf32> {
  %y, %l = nn.attention %q, %k, %v causal scale 0.125 : tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32> -> tensor<1x2x128x64xf32>, tensor<1x2x128xf32>
  return %y : tensor<1x2x128x64xf32>
}

// -----

// CHECK-LABEL: kern.func @keeps_mask
// CHECK-NOT: kern.attention
func.func @keeps_mask(%q: tensor<1x2x128x64xbf16>, %k: tensor<1x2x128x64xbf16>, %v: tensor<1x2x128x64xbf16>, %m: tensor<128x128xi1>) -> tensor<1x2x128x64xbf16> {
  %y, %l = nn.attention %q, %k, %v mask %m scale 0.125 : tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>, tensor<128x128xi1> -> tensor<1x2x128x64xbf16>, tensor<1x2x128xf32>
  return %y : tensor<1x2x128x64xbf16>
}

// -----

// CHECK-LABEL: kern.func @keeps_deep_heads
// CHECK-NOT: kern.attention
func.func @keeps_deep_heads(%q: tensor<1x2x128x256xbf16>, %k: tensor<1x2x128x256xbf16>, %v: tensor<1x2x128x256xbf16>) -> tensor<1x2x128x256xbf16> {
  %y, %l = nn.attention %q, %k, %v causal scale 0.125 : tensor<1x2x128x256xbf16>, tensor<1x2x128x256xbf16>, tensor<1x2x128x256xbf16> -> tensor<1x2x128x256xbf16>, tensor<1x2x128xf32>
  return %y : tensor<1x2x128x256xbf16>
}
