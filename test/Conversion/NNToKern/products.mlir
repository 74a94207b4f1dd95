// Products: which matrices a kern.gemm is of, and where gradients are added.
// RUN: rondo-opt %s -rondo-convert-nn-to-kern -split-input-file | FileCheck %s

// Leading axes of the left operand are rows where the right one has none.
// CHECK-LABEL: kern.func @shared_weight(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 5 : i64, m = 6 : i64, n = 5 : i64, transpose_b}
func.func @shared_weight(%x: tensor<2x3x4xf32>, %w: tensor<5x4xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.matmul %x, %w transpose_rhs : tensor<2x3x4xf32>, tensor<5x4xf32> -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// CHECK-LABEL: kern.func @batched(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {batch = 2 : i64, k = 4 : i64, lda = 4 : i64, ldb = 5 : i64, ldc = 5 : i64, m = 3 : i64, n = 5 : i64,
// CHECK-SAME:       stride_a = 12 : i64, stride_b = 20 : i64, stride_c = 15 : i64}
func.func @batched(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.matmul %x, %y : tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}

// -----

// A bias is added by a kernel behind.
// CHECK-LABEL: kern.func @linear_with_bias(
// CHECK:         %[[P:.*]] = kern.scratch : memref<2x3x5xf32>
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %[[P]]
// CHECK-NEXT:    kern.fused elementwise [6, 5] {{.*}} ins(%[[P]], %arg2 : {{.*}}) at [#kern.access<0, [5, 1]>, #kern.access<0, [0, 1]>] outs(%arg3 :
// CHECK:           arith.addf
func.func @linear_with_bias(%x: tensor<2x3x4xf32>, %w: tensor<4x5xf32>, %b: tensor<5xf32>) -> tensor<2x3x5xf32> {
  %0 = nn.matmul %x, %w : tensor<2x3x4xf32>, tensor<4x5xf32> -> tensor<2x3x5xf32>
  %1 = nn.broadcast %b : tensor<5xf32> -> tensor<2x3x5xf32>
  %2 = nn.add %0, %1 : tensor<2x3x5xf32>
  return %2 : tensor<2x3x5xf32>
}

// -----

// A product in f32 that is only rounded to its operands' type is one in that type;
// one that is used in f32 too is not.
// CHECK-LABEL: kern.func @rounded(
// CHECK-NEXT:    kern.gemm {{.*}} : memref<3x4xbf16>, memref<4x5xbf16>, memref<3x5xbf16>
// CHECK-NEXT:    kern.return
func.func @rounded(%x: tensor<3x4xbf16>, %w: tensor<4x5xbf16>) -> tensor<3x5xbf16> {
  %0 = nn.matmul %x, %w : tensor<3x4xbf16>, tensor<4x5xbf16> -> tensor<3x5xf32>
  %1 = nn.cast %0 : tensor<3x5xf32> to tensor<3x5xbf16>
  return %1 : tensor<3x5xbf16>
}
// CHECK-LABEL: kern.func @rounded_and_kept(
// CHECK-NEXT:    kern.gemm {{.*}} : memref<3x4xbf16>, memref<4x5xbf16>, memref<3x5xf32>
// CHECK-NEXT:    kern.fused
func.func @rounded_and_kept(%x: tensor<3x4xbf16>, %w: tensor<4x5xbf16>) -> (tensor<3x5xbf16>, tensor<3x5xf32>) {
  %0 = nn.matmul %x, %w : tensor<3x4xbf16>, tensor<4x5xbf16> -> tensor<3x5xf32>
  %1 = nn.cast %0 : tensor<3x5xf32> to tensor<3x5xbf16>
  return %1, %0 : tensor<3x5xbf16>, tensor<3x5xf32>
}

// -----

// The transpose of a product is that of its operands.
// CHECK-LABEL: kern.func @transposed_result(
// CHECK-NEXT:    kern.gemm %arg1, %arg0, %arg2 {k = 4 : i64, lda = 5 : i64, ldb = 4 : i64, ldc = 3 : i64, m = 5 : i64, n = 3 : i64, transpose_a, transpose_b}
// CHECK-NEXT:    kern.return
func.func @transposed_result(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<5x3xf32> {
  %0 = nn.matmul %x, %w : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<3x5xf32> -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// -----

// Operands are views of what is in memory: transposed, ...
// CHECK-LABEL: kern.func @transposed_view(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {k = 4 : i64, lda = 3 : i64, ldb = 5 : i64, ldc = 5 : i64, m = 3 : i64, n = 5 : i64, transpose_a}
func.func @transposed_view(%x: tensor<4x3xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = nn.transpose %x [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %1 = nn.matmul %0, %w : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// ... heads side by side in rows, which begin 4 elements apart, ...
// CHECK-LABEL: kern.func @heads_view(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {batch = 2 : i64, k = 4 : i64, lda = 8 : i64, ldb = 8 : i64, ldc = 6 : i64, m = 6 : i64, n = 6 : i64,
// CHECK-SAME:       stride_a = 4 : i64, stride_b = 4 : i64, stride_c = 36 : i64, transpose_b}
func.func @heads_view(%x: tensor<1x6x8xf32>, %y: tensor<1x6x8xf32>) -> tensor<1x2x6x6xf32> {
  %0 = nn.reshape %x : tensor<1x6x8xf32> -> tensor<1x6x2x4xf32>
  %1 = nn.transpose %0 [0, 2, 1, 3] : tensor<1x6x2x4xf32> -> tensor<1x2x6x4xf32>
  %2 = nn.reshape %y : tensor<1x6x8xf32> -> tensor<1x6x2x4xf32>
  %3 = nn.transpose %2 [0, 2, 3, 1] : tensor<1x6x2x4xf32> -> tensor<1x2x4x6xf32>
  %4 = nn.matmul %1, %3 : tensor<1x2x6x4xf32>, tensor<1x2x4x6xf32> -> tensor<1x2x6x6xf32>
  return %4 : tensor<1x2x6x6xf32>
}

// -----

// ... or a slice of an argument.
// CHECK-LABEL: kern.func @sliced_view(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {k = 4 : i64, lda = 8 : i64, ldb = 5 : i64, ldc = 5 : i64, m = 3 : i64, n = 5 : i64, offset_a = 4 : i64}
func.func @sliced_view(%x: tensor<3x8xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = nn.slice %x [0, 4] [1, 1] : tensor<3x8xf32> -> tensor<3x4xf32>
  %1 = nn.matmul %0, %w : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Every second column is no matrix of the library's: it is copied first.
// CHECK-LABEL: kern.func @not_a_view(
// CHECK:         %[[C:.*]] = kern.scratch : memref<3x4xf32>
// CHECK-NEXT:    kern.fused elementwise [12] {{.*}} at [#kern.access<0, [2]>] outs(%[[C]] :
// CHECK:         kern.gemm %[[C]], %arg1, %arg2
func.func @not_a_view(%x: tensor<3x8xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = nn.slice %x [0, 0] [1, 2] : tensor<3x8xf32> -> tensor<3x4xf32>
  %1 = nn.matmul %0, %w : tensor<3x4xf32>, tensor<4x5xf32> -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// A gradient is added to by the product and the column sum themselves, ...
// CHECK-LABEL: kern.func @gradients(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg2 {accumulate, {{.*}}transpose_a}
// CHECK-NEXT:    kern.fused column [5, 3] {{.*}} outs(%arg3 : memref<5xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
func.func @gradients(%x: tensor<3x4xf32>, %dy: tensor<3x5xf32>)
    -> (tensor<4x5xf32> {pipe.role = #pipe.role<gradient>}, tensor<5xf32> {pipe.role = #pipe.role<gradient>}) {
  %0 = nn.matmul %x, %dy transpose_lhs : tensor<3x4xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  %1 = nn.reduce sum %dy [0] : tensor<3x5xf32>
  return %0, %1 : tensor<4x5xf32>, tensor<5xf32>
}

// -----

// ... but not where the product has another use, ...
// CHECK-LABEL: kern.func @gradient_and_result(
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %arg3 {k =
// CHECK-NEXT:    kern.fused elementwise [20] {{.*}} ins(%arg3 : {{.*}} outs(%arg2 : {{.*}} accumulate [true] {
func.func @gradient_and_result(%x: tensor<3x4xf32>, %dy: tensor<3x5xf32>) -> (tensor<4x5xf32> {pipe.role = #pipe.role<gradient>}, tensor<4x5xf32>) {
  %0 = nn.matmul %x, %dy transpose_lhs : tensor<3x4xf32>, tensor<3x5xf32> -> tensor<4x5xf32>
  return %0, %0 : tensor<4x5xf32>, tensor<4x5xf32>
}

// -----

// ... or is rounded before.
// CHECK-LABEL: kern.func @rounded_gradient(
// CHECK:         %[[P:.*]] = kern.scratch : memref<4x5xbf16>
// CHECK-NEXT:    kern.gemm %arg0, %arg1, %[[P]] {k =
// CHECK-NEXT:    kern.fused elementwise [20] {{.*}} ins(%[[P]] : {{.*}} outs(%arg2 : {{.*}} accumulate [true] {
func.func @rounded_gradient(%x: tensor<3x4xbf16>, %dy: tensor<3x5xbf16>) -> (tensor<4x5xf32> {pipe.role = #pipe.role<gradient>}) {
  %0 = nn.matmul %x, %dy transpose_lhs : tensor<3x4xbf16>, tensor<3x5xbf16> -> tensor<4x5xbf16>
  %1 = nn.cast %0 : tensor<4x5xbf16> to tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}
