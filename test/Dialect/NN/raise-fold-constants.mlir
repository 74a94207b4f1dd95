// What is evaluated at compile time, and what stays.
// RUN: rondo-opt %s --rondo-nn-fold-constants --split-input-file | FileCheck %s --check-prefixes=CHECK,SMALL
// RUN: rondo-opt %s --rondo-nn-fold-constants=tables=true --split-input-file | FileCheck %s --check-prefixes=CHECK,TABLE

// The example of the pass: a chain that begins with an index.
// CHECK-LABEL: func.func @folds_chain
func.func @folds_chain(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[C:.*]] = nn.constant dense<[0.000000e+00, 1.000000e+00, 4.000000e+00, 9.000000e+00]> : tensor<4xf32>
  // CHECK-NEXT: nn.add %{{.*}}, %[[C]]
  %i = nn.iota 0 : tensor<4xi64>
  %f = nn.cast %i : tensor<4xi64> to tensor<4xf32>
  %c = nn.mul %f, %f : tensor<4xf32>
  %y = nn.add %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A broadcast stays one; what it stretches is folded.
// CHECK-LABEL: func.func @keeps_broadcast
func.func @keeps_broadcast(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: %[[C:.*]] = nn.constant dense<[0.000000e+00, 2.000000e+00, 4.000000e+00, 6.000000e+00]> : tensor<4xf32>
  // CHECK: %[[B:.*]] = nn.broadcast %[[C]] : tensor<4xf32> -> tensor<8x4xf32>
  // CHECK: nn.mul %{{.*}}, %[[B]]
  %i = nn.iota 0 {step = 2 : i64} : tensor<4xi64>
  %c = nn.cast %i : tensor<4xi64> to tensor<4xf32>
  %b = nn.broadcast %c : tensor<4xf32> -> tensor<8x4xf32>
  %y = nn.mul %x, %b : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// Identities and dead code go; a parameter's transpose stays.
nn.parameter @w trainable : tensor<4x8xf32>

// CHECK-LABEL: func.func @removes_identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>)
func.func @removes_identities(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  // CHECK-NEXT: %[[W:.*]] = nn.read @w
  // CHECK-NEXT: %[[T:.*]] = nn.transpose %[[W]] [1, 0]
  // CHECK-NEXT: nn.matmul %[[X]], %[[T]] transpose_rhs
  // CHECK-NEXT: return
  %w = nn.read @w : tensor<4x8xf32>
  %t = nn.transpose %w [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %0 = nn.reshape %x : tensor<2x4xf32> -> tensor<8xf32>
  %1 = nn.reshape %0 : tensor<8xf32> -> tensor<2x4xf32>
  %2 = nn.cast %1 : tensor<2x4xf32> to tensor<2x4xf32>
  %dead = nn.exp %2 : tensor<2x4xf32>
  %y = nn.matmul %2, %t transpose_rhs : tensor<2x4xf32>, tensor<8x4xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// A rotary table of 131,072 elements is folded only on request; the vectors
// that it is made of always are.
// CHECK-LABEL: func.func @folds_table
func.func @folds_table(%x: tensor<4x1024x128xf32>) -> tensor<4x1024x128xf32> {
  // TABLE: %[[T:.*]] = nn.constant {{.*}} : tensor<1024x128xf32>
  // TABLE-NEXT: nn.rope %{{.*}}, %[[T]], %[[T]]
  // SMALL: nn.constant {{.*}} : tensor<1024x1xf32>
  // SMALL: nn.cos %{{.*}} : tensor<1024x128xf32>
  %i = nn.iota 0 : tensor<1024xi64>
  %position = nn.cast %i : tensor<1024xi64> to tensor<1024xf32>
  %column = nn.reshape %position : tensor<1024xf32> -> tensor<1024x1xf32>
  %columns = nn.broadcast %column : tensor<1024x1xf32> -> tensor<1024x128xf32>
  %cos = nn.cos %columns : tensor<1024x128xf32>
  %y = nn.rope %x, %cos, %cos : tensor<4x1024x128xf32>, tensor<1024x128xf32>, tensor<1024x128xf32>
  return %y : tensor<4x1024x128xf32>
}

// -----

// A comparison of 1024 x 1024 indices is a mask, and so is what is made of it,
// whatever its element type.
// CHECK-LABEL: func.func @keeps_large_mask
func.func @keeps_large_mask(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  // CHECK: nn.compare
  // CHECK: %[[M:.*]] = nn.select
  // CHECK: nn.add %{{.*}}, %[[M]]
  %i = nn.iota 0 : tensor<1024x1024xi64>
  %j = nn.iota 1 : tensor<1024x1024xi64>
  %seen = nn.compare le %j, %i : tensor<1024x1024xi64>
  %zero = nn.constant dense<0.0> : tensor<1024x1024xf32>
  %low = nn.constant dense<0xFF800000> : tensor<1024x1024xf32>
  %mask = nn.select %seen, %zero, %low : tensor<1024x1024xi1>, tensor<1024x1024xf32>
  %y = nn.add %x, %mask : tensor<1024x1024xf32>
  return %y : tensor<1024x1024xf32>
}

// -----

// A bias by distance: too large for a constant where it masks attention, even
// when tables are folded.
// CHECK-LABEL: func.func @keeps_large_attention_bias
func.func @keeps_large_attention_bias(%q: tensor<1x1x512x8xf32>) -> tensor<1x1x512x8xf32> {
  // CHECK: %[[M:.*]] = nn.cast %{{.*}} : tensor<512x512xi64> to tensor<512x512xf32>
  // CHECK: nn.attention {{.*}} mask %[[M]]
  %i = nn.iota 0 : tensor<512x512xi64>
  %j = nn.iota 1 : tensor<512x512xi64>
  %distance = nn.sub %j, %i : tensor<512x512xi64>
  %bias = nn.cast %distance : tensor<512x512xi64> to tensor<512x512xf32>
  %y, %st = nn.attention %q, %q, %q mask %bias scale 1.0 : tensor<1x1x512x8xf32>, tensor<1x1x512x8xf32>, tensor<1x1x512x8xf32>, tensor<512x512xf32> -> tensor<1x1x512x8xf32>, tensor<1x1x512xf32>
  return %y : tensor<1x1x512x8xf32>
}

// -----

// What fails to evaluate stays: it is reported where it runs.
// CHECK-LABEL: func.func @keeps_division_by_zero
func.func @keeps_division_by_zero(%x: tensor<2xi64>) -> tensor<2xi64> {
  // CHECK: nn.div
  %a = nn.constant dense<[6, 7]> : tensor<2xi64>
  %b = nn.constant dense<[0, 1]> : tensor<2xi64>
  %c = nn.div %a, %b : tensor<2xi64>
  %y = nn.add %x, %c : tensor<2xi64>
  return %y : tensor<2xi64>
}
