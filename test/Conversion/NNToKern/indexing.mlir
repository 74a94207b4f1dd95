// Rows picked and added by indices.
// RUN: rondo-opt %s -rondo-convert-nn-to-kern -split-input-file | FileCheck %s

// CHECK-LABEL: kern.func @gather(
// CHECK-NEXT:    kern.gather %arg0, %arg1, %arg2 {count = 6 : i64, extents = array<i64: 8>, inner = 4 : i64, outer = 1 : i64}
func.func @gather(%x: tensor<8x4xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
  %0 = nn.gather %x, %i axis 0 : tensor<8x4xf32>, tensor<2x3xi64>
  return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: kern.func @gather_along_inner_axis(
// CHECK-NEXT:    kern.gather %arg0, %arg1, %arg2 {count = 3 : i64, extents = array<i64: 8>, inner = 4 : i64, outer = 2 : i64}
func.func @gather_along_inner_axis(%x: tensor<2x8x4xf32>, %i: tensor<3xi32>) -> tensor<2x3x4xf32> {
  %0 = nn.gather %x, %i axis 1 : tensor<2x8x4xf32>, tensor<3xi32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Tuples pick single elements, or one a row where each row has its own.
// CHECK-LABEL: kern.func @gather_by_tuples(
// CHECK-NEXT:    kern.gather %arg0, %arg1, %arg3 {count = 5 : i64, extents = array<i64: 8, 4>, inner = 1 : i64, outer = 1 : i64}
// CHECK-NEXT:    kern.gather %arg0, %arg2, %arg4 {batched, count = 1 : i64, extents = array<i64: 4>, inner = 1 : i64, outer = 8 : i64}
func.func @gather_by_tuples(%x: tensor<8x4xf32>, %i: tensor<5x2xi64>, %j: tensor<8x1xi64>) -> (tensor<5xf32>, tensor<8xf32>) {
  %0 = nn.gather_nd %x, %i : tensor<8x4xf32>, tensor<5x2xi64>
  %1 = nn.gather_nd %x, %j batch_dims 1 : tensor<8x4xf32>, tensor<8x1xi64>
  return %0, %1 : tensor<5xf32>, tensor<8xf32>
}

// -----

// A scatter starts from zeros, ...
// CHECK-LABEL: kern.func @scatter(
// CHECK-NEXT:    kern.zero %arg2
// CHECK-NEXT:    kern.scatter_add %arg0, %arg1, %arg2 {count = 6 : i64, extent = 8 : i64, inner = 4 : i64, outer = 1 : i64}
func.func @scatter(%u: tensor<2x3x4xf32>, %i: tensor<2x3xi64>) -> tensor<8x4xf32> {
  %0 = nn.scatter_add %u, %i axis 0 : tensor<2x3x4xf32>, tensor<2x3xi64> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// ... but a gradient from what is there.
// CHECK-LABEL: kern.func @scatter_gradient(
// CHECK-NEXT:    kern.scatter_add %arg0, %arg1, %arg2
func.func @scatter_gradient(%u: tensor<3x4xf32>, %i: tensor<3xi64>) -> (tensor<8x4xf32> {pipe.role = #pipe.role<gradient>}) {
  %0 = nn.scatter_add %u, %i axis 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Sums are f32, rounded once.
// CHECK-LABEL: kern.func @scatter_bf16(
// CHECK:         %[[S:.*]] = kern.scratch : memref<8x4xf32>
// CHECK-NEXT:    kern.zero %[[S]]
// CHECK-NEXT:    kern.scatter_add %arg0, %arg1, %[[S]]
// CHECK-NEXT:    kern.fused elementwise [32] {{.*}} ins(%[[S]] :
// CHECK:           arith.truncf
func.func @scatter_bf16(%u: tensor<3x4xbf16>, %i: tensor<3xi64>) -> tensor<8x4xbf16> {
  %0 = nn.scatter_add %u, %i axis 0 : tensor<3x4xbf16>, tensor<3xi64> -> tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// -----

// Cross entropy: maxima and sums of rows, the label's logit picked with ignored
// labels replaced by 0 and negative ones by one out of range, the mean of rows that
// count.
// CHECK-LABEL: kern.func @cross_entropy(
// CHECK:         kern.fused elementwise [4]
// CHECK:           %[[IGNORED:.*]] = arith.constant -100 : i64
// CHECK:           arith.cmpi ne, %{{.*}}, %[[IGNORED]] : i64
// CHECK:         kern.gather %arg0, %{{.*}} {batched, count = 1 : i64, extents = array<i64: 8>, inner = 1 : i64, outer = 4 : i64}
// CHECK:         kern.fused row [4, 8]
// CHECK:           kern.reduce max
// CHECK:           kern.reduce sum
// CHECK:           kern.yield %{{.*}} : f32
// CHECK:         kern.fused row [1, 4] {{.*}} outs(%arg2 :
// CHECK:           %[[S:.*]] = kern.reduce sum
// CHECK:           %[[N:.*]] = kern.reduce sum
// CHECK:           arith.divf %[[S]], %[[N]] : f32
func.func @cross_entropy(%x: tensor<4x8xf32>, %l: tensor<4xi64>) -> tensor<f32> {
  %0 = nn.cross_entropy %x, %l ignore -100 : tensor<4x8xf32>, tensor<4xi64>
  return %0 : tensor<f32>
}
