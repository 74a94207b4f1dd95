// Fused kernels: what is computed on the way, and where each value is read.
// RUN: rondo-opt %s -rondo-convert-nn-to-kern -split-input-file | FileCheck %s

// Arguments, then results; a whole chain at one point.
// CHECK-LABEL: kern.func @elementwise(
// CHECK-SAME:    %[[X:.*]]: memref<4x8xf32>, %[[Y:.*]]: memref<4x8xf32>, %[[R:.*]]: memref<4x8xf32>) attributes {
// CHECK-SAME:    inputs = 2 : i64
// CHECK-NEXT:    kern.fused elementwise [32] calls [0, 32] ins(%[[X]], %[[Y]] : {{.*}}) at [#kern.access<0, [1]>, #kern.access<0, [1]>]
// CHECK-SAME:        outs(%[[R]] : {{.*}}) at [#kern.access<0, [1]>] accumulate [false] {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0.0
// CHECK-NEXT:      %[[M:.*]] = arith.maximumf %[[S]], %[[ZERO]] : f32
// CHECK-NEXT:      kern.yield %[[M]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    kern.return
func.func @elementwise(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.add %x, %y : tensor<4x8xf32>
  %1 = nn.relu %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Each result of an nn op is rounded to its type, though nobody stores it.
// CHECK-LABEL: kern.func @rounds_every_result(
// CHECK:         %[[S:.*]] = arith.addf %{{.*}} : f32
// CHECK-NEXT:    %[[N:.*]] = arith.truncf %[[S]] : f32 to bf16
// CHECK-NEXT:    %[[W:.*]] = arith.extf %[[N]] : bf16 to f32
// CHECK:         %[[P:.*]] = arith.mulf %[[W]], %{{.*}} : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.truncf %[[P]] : f32 to bf16
// CHECK-NEXT:    kern.yield %[[Q]] : bf16
func.func @rounds_every_result(%x: tensor<8xbf16>, %y: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = nn.add %x, %y : tensor<8xbf16>
  %1 = nn.mul %0, %y : tensor<8xbf16>
  return %1 : tensor<8xbf16>
}

// -----

// A composite is its decomposition; another reduction of the same rows joins it.
// CHECK-LABEL: kern.func @row_results(
// CHECK-SAME:    %[[X:.*]]: memref<4x8xf32>, %[[Y:.*]]: memref<4x8xf32>, %[[M:.*]]: memref<4xf32>)
// CHECK-NEXT:    kern.fused row [4, 8] calls [0, 4] ins(%[[X]] : {{.*}}) at [#kern.access<0, [8, 1]>]
// CHECK-SAME:        outs(%[[M]], %[[Y]] : {{.*}}) at [#kern.access<0, [1, 0]>, #kern.access<0, [8, 1]>] accumulate [false, false] {
// CHECK-NEXT:    ^bb0(%[[E:.*]]: f32):
// CHECK-NEXT:      %[[MOST:.*]] = kern.reduce max %[[E]] : f32
// CHECK-NEXT:      %[[D:.*]] = arith.subf %[[E]], %[[MOST]] : f32
// CHECK-NEXT:      %[[P:.*]] = math.exp %[[D]] : f32
// CHECK-NEXT:      %[[S:.*]] = kern.reduce sum %[[P]] : f32
// CHECK-NEXT:      %[[Q:.*]] = arith.divf %[[P]], %[[S]] : f32
// CHECK-NEXT:      kern.yield %[[MOST]], %[[Q]] : f32, f32
// CHECK-NEXT:    }
// CHECK-NEXT:    kern.return
func.func @row_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %0 = nn.softmax %x : tensor<4x8xf32>
  %1 = nn.reduce max %x [1] : tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// A reduction of leading axes goes down columns; a mean divides once.
// CHECK-LABEL: kern.func @column(
// CHECK:         kern.fused column [32, 2] calls [0, 32] ins({{.*}}) at [#kern.access<0, [1, 32]>] outs({{.*}}) at [#kern.access<0, [1, 0]>]
// CHECK:           %[[S:.*]] = kern.reduce sum
// CHECK-NEXT:      %[[N:.*]] = arith.constant 2.0
// CHECK-NEXT:      arith.divf %[[S]], %[[N]] : f32
func.func @column(%x: tensor<2x4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.reduce mean %x [0] : tensor<2x4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// All axes at once are one row.
// CHECK-LABEL: kern.func @whole(
// CHECK:         kern.fused row [1, 64] calls [0, 1]
// CHECK-NOT:     kern.fused
func.func @whole(%x: tensor<2x4x8xf32>) -> tensor<f32> {
  %0 = nn.reduce sum %x [0, 1, 2] : tensor<2x4x8xf32>
  return %0 : tensor<f32>
}

// -----

// Axes that are not neighbours: the last ones by rows, the rest by columns.
// CHECK-LABEL: kern.func @apart(
// CHECK:         %[[S:.*]] = kern.scratch
// CHECK:         kern.fused row [8, 8] {{.*}} outs(%[[S]] :
// CHECK:         kern.fused column [4, 2] {{.*}} ins(%[[S]] :
func.func @apart(%x: tensor<2x4x8xf32>) -> tensor<4xf32> {
  %0 = nn.reduce sum %x [0, 2] : tensor<2x4x8xf32>
  return %0 : tensor<4xf32>
}

// -----

// bf16 is summed in f32 and rounded once.
// CHECK-LABEL: kern.func @narrow_sum(
// CHECK:         ^bb0(%[[E:.*]]: bf16):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[E]] : bf16 to f32
// CHECK-NEXT:      %[[S:.*]] = kern.reduce sum %[[W]] : f32
// CHECK-NEXT:      arith.truncf %[[S]] : f32 to bf16
func.func @narrow_sum(%x: tensor<4x8xbf16>) -> tensor<4xbf16> {
  %0 = nn.reduce sum %x [1] : tensor<4x8xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// Rows, then columns: stored between are the exponentials and their sums, not the
// quotients, which cost little to compute again.
// CHECK-LABEL: kern.func @stores_what_is_expensive(
// CHECK-DAG:     %[[P:.*]] = kern.scratch : memref<4x8xf32>
// CHECK-DAG:     %[[S:.*]] = kern.scratch : memref<4xf32>
// CHECK:         kern.fused row [4, 8] {{.*}} outs(%[[P]], %[[S]] :
// CHECK:         kern.fused column [8, 4] {{.*}} ins(%[[P]], %[[S]] : {{.*}}) at [#kern.access<0, [1, 8]>, #kern.access<0, [0, 1]>]
// CHECK:           arith.divf
// CHECK-NEXT:      kern.reduce sum
func.func @stores_what_is_expensive(%x: tensor<4x8xf32>) -> tensor<8xf32> {
  %0 = nn.softmax %x : tensor<4x8xf32>
  %1 = nn.reduce sum %0 [0] : tensor<4x8xf32>
  return %1 : tensor<8xf32>
}

// -----

// A value that a product needs in memory is stored by the kernel that goes on with
// it.
// CHECK-LABEL: kern.func @stores_for_a_product(
// CHECK-SAME:    %[[X:[^:]*]]: memref<64xf32>, %[[Y:[^:]*]]: memref<64xf32>, %[[W:[^:]*]]: memref<64x64xf32>, %[[P:[^:]*]]: memref<1x64xf32>, %[[R:[^:]*]]: memref<64xf32>)
// CHECK-NEXT:    %[[T:.*]] = kern.scratch : memref<64xf32>
// CHECK-NEXT:    kern.fused elementwise [64] calls [0, 64] ins(%[[X]], %[[Y]] : {{.*}} outs(%[[T]], %[[R]] :
// CHECK:         kern.gemm %[[T]], %[[W]], %[[P]]
func.func @stores_for_a_product(%x: tensor<64xf32>, %y: tensor<64xf32>, %w: tensor<64x64xf32>) -> (tensor<1x64xf32>, tensor<64xf32>) {
  %0 = nn.tanh %x : tensor<64xf32>
  %1 = nn.reshape %0 : tensor<64xf32> -> tensor<1x64xf32>
  %2 = nn.matmul %1, %w : tensor<1x64xf32>, tensor<64x64xf32> -> tensor<1x64xf32>
  %3 = nn.mul %0, %y : tensor<64xf32>
  return %2, %3 : tensor<1x64xf32>, tensor<64xf32>
}

// -----

// Movements are strides.
// CHECK-LABEL: kern.func @transposed(
// CHECK:         kern.fused elementwise [8, 4] {{.*}} at [#kern.access<0, [1, 8]>, #kern.access<0, [4, 1]>]
func.func @transposed(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = nn.add %0, %y : tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: kern.func @sliced(
// CHECK:         kern.fused elementwise [4, 3] {{.*}} at [#kern.access<31, [-8, -2]>]
func.func @sliced(%x: tensor<4x8xf32>) -> tensor<4x3xf32> {
  %0 = nn.slice %x [3, 7] [-1, -2] : tensor<4x8xf32> -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

// -----

// What is the same for all that a broadcast repeats is computed before it: 8
// elements of a row, not 32.
// CHECK-LABEL: kern.func @broadcast(
// CHECK:         kern.fused elementwise [4, 8] {{.*}} at [#kern.access<0, [0, 1]>, #kern.access<0, [8, 1]>]
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.broadcast %x : tensor<8xf32> -> tensor<4x8xf32>
  %1 = nn.mul %0, %y : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Each part of a concatenation is read under a guard, from where its own memory
// would begin.
// CHECK-LABEL: kern.func @concatenated(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4x8xf32>, %[[Y:[^:]*]]: memref<4x8xf32>
// CHECK-NEXT:    kern.fused elementwise [4, 16] {{.*}} ins(%[[Y]], %[[X]] : {{.*}}) at [#kern.access<-8, [8, 1] if[1, 8, 16]>, #kern.access<0, [8, 1] if[1, 0, 8]>]
// CHECK-NEXT:    ^bb0(%[[B:.*]]: f32, %[[A:.*]]: f32):
// CHECK-NEXT:      %[[N:.*]] = arith.negf %[[B]] : f32
// CHECK-NEXT:      %[[I:.*]] = kern.index <0, [0, 1]> : i64
// CHECK-NEXT:      %[[END:.*]] = arith.constant 8 : i64
// CHECK-NEXT:      %[[FIRST:.*]] = arith.cmpi slt, %[[I]], %[[END]] : i64
// CHECK-NEXT:      arith.select %[[FIRST]], %[[A]], %[[N]] : f32
func.func @concatenated(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x16xf32> {
  %0 = nn.neg %y : tensor<4x8xf32>
  %1 = nn.concat 1, %x, %0 : tensor<4x8xf32>, tensor<4x8xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: kern.func @padded(
// CHECK:         kern.fused elementwise [12] {{.*}} at [#kern.access<-1, [1] if[0, 1, 9]>]
// CHECK-DAG:       %[[VALUE:.*]] = arith.constant 2.0
// CHECK-DAG:       arith.cmpi sge
// CHECK-DAG:       arith.cmpi slt
// CHECK:           arith.select %{{.*}}, %{{.*}}, %[[VALUE]] : f32
func.func @padded(%x: tensor<8xf32>) -> tensor<12xf32> {
  %0 = nn.pad %x [1] [3] 2.0 : f32 : tensor<8xf32> -> tensor<12xf32>
  return %0 : tensor<12xf32>
}

// -----

// CHECK-LABEL: kern.func @iota(
// CHECK:           %[[I:.*]] = kern.index <5, [0, -1]> : i64
// CHECK-NEXT:      arith.sitofp %[[I]] : i64 to f32
func.func @iota(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.iota 1 {start = 5 : i64, step = -1 : i64} : tensor<4x8xf32>
  %1 = nn.mul %0, %x : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Results that are arguments, or the same value twice, are copies; a reshape is
// neither.
// CHECK-LABEL: kern.func @copied_results(
// CHECK-SAME:    %[[X:[^:]*]]: memref<4x8xf32>, %[[A:[^:]*]]: memref<8x4xf32>, %[[B:[^:]*]]: memref<32xf32>, %[[C:[^:]*]]: memref<4x8xf32>)
// CHECK-NEXT:    kern.fused elementwise [32] {{.*}} outs(%[[B]] :
// CHECK:         kern.copy %[[X]], %[[A]]
// CHECK-NEXT:    kern.copy %[[B]], %[[C]]
// CHECK-NEXT:    kern.return
func.func @copied_results(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<32xf32>, tensor<4x8xf32>) {
  %0 = nn.reshape %x : tensor<4x8xf32> -> tensor<8x4xf32>
  %1 = nn.neg %x : tensor<4x8xf32>
  %2 = nn.reshape %1 : tensor<4x8xf32> -> tensor<32xf32>
  return %0, %2, %1 : tensor<8x4xf32>, tensor<32xf32>, tensor<4x8xf32>
}

// -----

// One repeated value is written into the kernel, a table is data.
// CHECK-LABEL: kern.func @constants(
// CHECK:         kern.constant %[[T:.*]], dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32> : memref<3xf32>
// CHECK-NEXT:    kern.fused elementwise [3] calls [0, 3] ins(%{{.*}} : memref<3xf32>, memref<3xf32>)
// CHECK:           arith.constant 5.0
func.func @constants(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = nn.constant dense<5.0> : tensor<3xf32>
  %2 = nn.mul %0, %x : tensor<3xf32>
  %3 = nn.add %2, %1 : tensor<3xf32>
  return %3 : tensor<3xf32>
}

// -----

// Functions of a pipe.body become its entries and keep their roles.
// CHECK-LABEL: pipe.body @layer {
// CHECK-NEXT:    kern.func @forward(%{{.*}}: memref<4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<boundary>}, %{{.*}}: memref<4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<output>})
// CHECK-SAME:      pipe.entry = #pipe.entry<forward>
// CHECK-NOT:     func.func
pipe.body @layer {
  func.func @forward(%x: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64})
      -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %0 = nn.relu %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
