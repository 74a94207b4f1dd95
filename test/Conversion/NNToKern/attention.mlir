// Attention by blocks of query rows, with all scores at once and with as few as
// allowed: 128 rows of one head.
// RUN: rondo-opt %s -rondo-convert-nn-to-kern -split-input-file | FileCheck %s
// RUN: rondo-opt %s -rondo-convert-nn-to-kern="score-bytes=1" -split-input-file | FileCheck %s --check-prefix=SMALL

// Four query heads for two key heads: two products, one for each place in a group.
// CHECK-LABEL: kern.func @grouped_heads(
// CHECK:         %[[S:.*]] = kern.scratch : memref<256xf32>
// CHECK-COUNT-2: kern.gemm %arg0, %arg1, %[[S]] {alpha = 2.500000e-01 : f32, batch = 2 : i64,
// CHECK:         kern.fused row [1, 4, 8, 8] {{.*}} outs(%[[S]], %arg4 :
// CHECK-COUNT-2: kern.gemm %[[S]], %arg2, %arg3 {batch = 2 : i64,
// CHECK:         kern.return
// SMALL-LABEL: kern.func @grouped_heads(
// SMALL:         %[[S:.*]] = kern.scratch : memref<64xf32>
// SMALL:         kern.gemm %arg0, %arg1, %[[S]] {alpha = 2.500000e-01 : f32, k = 16 : i64,
// SMALL:         kern.fused row [1, 1, 8, 8]
// SMALL:         kern.gemm %[[S]], %arg2, %arg3 {k = 8 : i64,
// SMALL-COUNT-3: kern.fused row [1, 1, 8, 8]
// SMALL:         kern.return
func.func @grouped_heads(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) -> (tensor<1x4x8x12xf32>, tensor<1x4x8xf32>) {
  %r, %s = nn.attention %q, %k, %v scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return %r, %s : tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
}

// -----

// Causal and within four keys: two comparisons of the distance. A row's statistics
// are the logarithm of its sum.
// CHECK-LABEL: kern.func @window(
// CHECK:           %[[D:.*]] = kern.index <0, [0, 0, -1, 1]> : i64
// CHECK:           arith.cmpi sle, %[[D]], %{{.*}} : i64
// CHECK:           %[[BEHIND:.*]] = arith.constant -4 : i64
// CHECK:           arith.cmpi sgt, %[[D]], %[[BEHIND]] : i64
// CHECK:           %[[MOST:.*]] = kern.reduce max
// CHECK:           %[[SUM:.*]] = kern.reduce sum
// CHECK:           %[[LOG:.*]] = math.log %[[SUM]] : f32
// CHECK:           arith.addf %[[LOG]], %{{.*}} : f32
func.func @window(%q: tensor<1x1x8x16xf32>) -> (tensor<1x1x8x16xf32>, tensor<1x1x8xf32>) {
  %r, %s = nn.attention %q, %q, %q causal window 4 scale 0.25
    : tensor<1x1x8x16xf32>, tensor<1x1x8x16xf32>, tensor<1x1x8x16xf32> -> tensor<1x1x8x16xf32>, tensor<1x1x8xf32>
  return %r, %s : tensor<1x1x8x16xf32>, tensor<1x1x8xf32>
}

// -----

// A mask is read, the same one for all heads; one of numbers is added.
// CHECK-LABEL: kern.func @boolean_mask(
// CHECK:         kern.fused row {{.*}} ins(%{{.*}}, %arg1 : {{.*}}) at [#kern.access<0, [0, 64, 8, 1]>, #kern.access<0, [0, 0, 8, 1]>]
// CHECK-NEXT:    ^bb0(%[[SCORE:.*]]: f32, %[[SEEN:.*]]: i1):
// CHECK:           arith.select %[[SEEN]], %[[SCORE]], %{{.*}} : f32
func.func @boolean_mask(%q: tensor<1x2x8x16xf32>, %m: tensor<8x8xi1>) -> tensor<1x2x8x16xf32> {
  %r, %s = nn.attention %q, %q, %q mask %m scale 0.25
    : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<8x8xi1> -> tensor<1x2x8x16xf32>, tensor<1x2x8xf32>
  return %r : tensor<1x2x8x16xf32>
}
// What it hides has a score as well; a row of nothing but minus infinity is 0 / 0.
// CHECK-LABEL: kern.func @filled_mask(
// CHECK:         ^bb0(%[[SCORE:.*]]: f32, %[[SEEN:.*]]: i1):
// CHECK:           %[[FILL:.*]] = arith.constant -1.000000e+30 : f32
// CHECK:           arith.select %[[SEEN]], %[[SCORE]], %[[FILL]] : f32
// CHECK:           %[[SUM:.*]] = kern.reduce sum
// CHECK:           arith.divf %{{.*}}, %[[SUM]] : f32
func.func @filled_mask(%q: tensor<1x2x8x16xf32>, %m: tensor<8x8xi1>) -> tensor<1x2x8x16xf32> {
  %r, %s = nn.attention %q, %q, %q mask %m fill -1.0e30 unguarded scale 0.25
    : tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<8x8xi1> -> tensor<1x2x8x16xf32>, tensor<1x2x8xf32>
  return %r : tensor<1x2x8x16xf32>
}
// CHECK-LABEL: kern.func @additive_mask(
// CHECK:         ^bb0(%[[SCORE:.*]]: f32, %[[MASK:.*]]: bf16):
// CHECK:           %[[WIDE:.*]] = arith.extf %[[MASK]] : bf16 to f32
// CHECK:           arith.addf %[[SCORE]], %[[WIDE]] : f32
func.func @additive_mask(%q: tensor<1x2x8x16xbf16>, %m: tensor<1x1x8x8xbf16>) -> tensor<1x2x8x16xbf16> {
  %r, %s = nn.attention %q, %q, %q mask %m scale 0.25
    : tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x1x8x8xbf16> -> tensor<1x2x8x16xbf16>, tensor<1x2x8xf32>
  return %r : tensor<1x2x8x16xbf16>
}

// -----

// Two blocks of rows: the first sees the first 128 keys alone, so it multiplies
// with no others.
// SMALL-LABEL: kern.func @blocks(
// SMALL:         kern.gemm {{.*}} m = 128 : i64, n = 128 : i64, transpose_b}
// SMALL:         kern.fused row [2, 1, 128, 128] calls [0, 1]
// SMALL:           kern.index <0, [-128, 0, -1, 1]>
// SMALL:         kern.gemm {{.*}} m = 128 : i64, n = 256 : i64, offset_a = 2048 : i64, transpose_b}
// SMALL:         kern.fused row [2, 1, 128, 256] calls [1, 2]
func.func @blocks(%q: tensor<1x1x256x16xf32>) -> tensor<1x1x256x16xf32> {
  %r, %s = nn.attention %q, %q, %q causal scale 0.25
    : tensor<1x1x256x16xf32>, tensor<1x1x256x16xf32>, tensor<1x1x256x16xf32> -> tensor<1x1x256x16xf32>, tensor<1x1x256xf32>
  return %r : tensor<1x1x256x16xf32>
}

// -----

// Backward: weights again from scores and statistics, and their changes; the
// queries' gradient per block, the values' a sum over heads in f32, rounded once.
// The keys' is not asked for.
// CHECK-LABEL: kern.func @backward(
// CHECK:         %[[P:.*]] = kern.scratch : memref<1x2x8xf32>
// CHECK-NEXT:    kern.fused row [1, 2, 8, 16] {{.*}} ins(%arg4, %arg2 : {{.*}} outs(%[[P]] :
// CHECK:         %[[VALUES:.*]] = kern.scratch : memref<1x1x8x16xf32>
// CHECK-NEXT:    kern.zero %[[VALUES]]
// CHECK:         kern.fused elementwise [1, 2, 8, 8]
// CHECK-NEXT:    ^bb0(%[[SCORE:.*]]: f32, %[[CHANGE:.*]]: f32, %[[STATISTIC:.*]]: f32, %[[PRODUCT:.*]]: f32):
// CHECK:           %[[D:.*]] = arith.subf %[[SCORE]], %[[STATISTIC]] : f32
// CHECK:           math.exp %[[D]] : f32
// CHECK:           arith.subf %[[CHANGE]], %[[PRODUCT]] : f32
// CHECK:         kern.gemm %{{.*}}, %arg1, %arg5
// CHECK:         kern.gemm %{{.*}}, %arg4, %[[VALUES]] {accumulate,
// CHECK:         kern.fused elementwise [128] {{.*}} ins(%[[VALUES]] : {{.*}} outs(%arg6 :
func.func @backward(%q: tensor<1x2x8x16xbf16>, %k: tensor<1x1x8x16xbf16>, %r: tensor<1x2x8x16xbf16>, %s: tensor<1x2x8xf32>, %c: tensor<1x2x8x16xbf16>)
    -> (tensor<1x2x8x16xbf16>, tensor<1x1x8x16xbf16>) {
  %dq, %dk, %dv = nn.attention_grad %q, %k, %k, %r, %s, %c causal scale 0.25
    : tensor<1x2x8x16xbf16>, tensor<1x1x8x16xbf16>, tensor<1x1x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8xf32>, tensor<1x2x8x16xbf16>
    -> tensor<1x2x8x16xbf16>, tensor<1x1x8x16xbf16>, tensor<1x1x8x16xbf16>
  return %dq, %dv : tensor<1x2x8x16xbf16>, tensor<1x1x8x16xbf16>
}
