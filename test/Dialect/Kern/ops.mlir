// Every operation of the kern dialect, printed and parsed again.
// RUN: rondo-opt %s -split-input-file | rondo-opt -split-input-file | FileCheck %s
// RUN: rondo-opt %s -split-input-file -mlir-print-op-generic | rondo-opt -split-input-file | FileCheck %s

// CHECK-LABEL: kern.func @nothing()
// CHECK-SAME:    inputs = 0 : i64
// CHECK-NEXT:    kern.return
kern.func @nothing() attributes {inputs = 0 : i64} {
  kern.return
}

// -----

// What the passes fill in is kept, as are roles of arguments.
// CHECK-LABEL: kern.func private @memory(%arg0: memref<4x16xf32> {pipe.index = 0 : i64},
// CHECK-SAME:    attributes {bytes = 5.120000e+02 : f64, flops = 1.000000e+00 : f64, inputs = 1 : i64, scratch = 640 : i64, time = 3.000000e+00 : f64}
// CHECK:         kern.scratch : memref<2xi1>
// CHECK:         %[[S:.*]] = kern.scratch at 128 : memref<64xf32>
// CHECK:         kern.zero %[[S]] : memref<64xf32>
// CHECK:         kern.copy %arg0, %[[S]] : memref<4x16xf32>, memref<64xf32>
// CHECK:         kern.constant %arg1, dense<[1, 2]> : tensor<2xi64> : memref<2xi64>
kern.func private @memory(%x: memref<4x16xf32> {pipe.index = 0 : i64}, %y: memref<2xi64>)
    attributes {inputs = 1 : i64, scratch = 640 : i64, flops = 1.0 : f64, bytes = 512.0 : f64, time = 3.0 : f64} {
  %0 = kern.scratch : memref<2xi1>
  %1 = kern.scratch at 128 : memref<64xf32>
  kern.zero %1 : memref<64xf32>
  kern.copy %x, %1 : memref<4x16xf32>, memref<64xf32>
  kern.constant %y, dense<[1, 2]> : tensor<2xi64> : memref<2xi64>
  kern.return
}

// -----

// A product of bf16 into f32; one with a bias; then one of three batches whose results are
// interleaved, that adds, with everything that has a default.
// CHECK-LABEL: kern.func @products
// CHECK:         kern.gemm %arg0, %arg1, %arg2 {k = 8 : i64, lda = 8 : i64, ldb = 8 : i64, ldc = 16 : i64, m = 4 : i64, n = 16 : i64, transpose_b} :
// CHECK:         kern.gemm %arg0, %arg1, %arg6 bias %arg7 {k = 8 : i64, lda = 8 : i64, ldb = 8 : i64, ldc = 16 : i64, m = 4 : i64, n = 16 : i64, transpose_b}
// CHECK-SAME:      : memref<4x8xbf16>, memref<16x8xbf16>, memref<4x16xbf16>, memref<16xbf16>
// CHECK:         kern.gemm %arg3, %arg4, %arg5
// CHECK-SAME:      {accumulate, alpha = 2.500000e-01 : f32, batch = 3 : i64, k = 5 : i64, lda = 4 : i64, ldb = 2 : i64, ldc = 8 : i64, m = 4 : i64, n = 2 : i64,
// CHECK-SAME:       offset_a = 1 : i64, offset_b = 2 : i64, offset_c = 1 : i64, stride_a = 20 : i64, stride_b = 10 : i64, stride_c = 2 : i64, transpose_a}
kern.func @products(%a: memref<4x8xbf16>, %b: memref<16x8xbf16>, %c: memref<4x16xf32>, %d: memref<61xf32>, %e: memref<32xf32>, %f: memref<4x8xf32>,
                    %g: memref<4x16xbf16>, %h: memref<16xbf16>) attributes {inputs = 2 : i64} {
  kern.gemm %a, %b, %c {m = 4 : i64, n = 16 : i64, k = 8 : i64, transpose_b, lda = 8 : i64, ldb = 8 : i64, ldc = 16 : i64}
    : memref<4x8xbf16>, memref<16x8xbf16>, memref<4x16xf32>
  kern.gemm %a, %b, %g bias %h {m = 4 : i64, n = 16 : i64, k = 8 : i64, transpose_b, lda = 8 : i64, ldb = 8 : i64, ldc = 16 : i64}
    : memref<4x8xbf16>, memref<16x8xbf16>, memref<4x16xbf16>, memref<16xbf16>
  kern.gemm %d, %e, %f {m = 4 : i64, n = 2 : i64, k = 5 : i64, batch = 3 : i64, transpose_a, lda = 4 : i64, ldb = 2 : i64, ldc = 8 : i64,
      stride_a = 20 : i64, stride_b = 10 : i64, stride_c = 2 : i64, offset_a = 1 : i64, offset_b = 2 : i64, offset_c = 1 : i64,
      alpha = 0.25 : f32, accumulate} : memref<61xf32>, memref<32xf32>, memref<4x8xf32>
  kern.return
}

// -----

// CHECK-LABEL: kern.func @rows
// CHECK:         kern.gather %arg0, %arg1, %arg2 {batched, count = 3 : i64, extents = array<i64: 4, 5>, inner = 2 : i64, outer = 2 : i64}
// CHECK:         kern.scatter_add %arg2, %arg3, %arg4 {count = 3 : i64, extent = 7 : i64, inner = 2 : i64, outer = 2 : i64}
kern.func @rows(%table: memref<2x4x5x2xf32>, %tuples: memref<2x3x2xi64>, %picked: memref<2x3x2xf32>, %index: memref<3xi32>, %sums: memref<2x7x2xf32>)
    attributes {inputs = 2 : i64} {
  kern.gather %table, %tuples, %picked {outer = 2 : i64, extents = array<i64: 4, 5>, count = 3 : i64, inner = 2 : i64, batched}
    : memref<2x4x5x2xf32>, memref<2x3x2xi64>, memref<2x3x2xf32>
  kern.scatter_add %picked, %index, %sums {outer = 2 : i64, extent = 7 : i64, count = 3 : i64, inner = 2 : i64}
    : memref<2x3x2xf32>, memref<3xi32>, memref<2x7x2xf32>
  kern.return
}

// -----

// Broadcasts, a guard, a part of the calls; an output in the memory of an input;
// no inputs at all.
// CHECK-LABEL: kern.func @elementwise
// CHECK:         kern.fused elementwise [4, 64] calls [1, 3] ins(%arg0, %arg1 : memref<4x64xf32>, memref<64xf32>)
// CHECK-SAME:      at [#kern.access<0, [64, 1]>, #kern.access<-32, [0, 1] if[1, 32, 64]>]
// CHECK-SAME:      outs(%arg0 : memref<4x64xf32>) at [#kern.access<0, [64, 1]>] accumulate [true] {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      %[[I:.*]] = kern.index <3, [64, 1]> : i64
// CHECK:         kern.fused elementwise [1] calls [0, 1] ins() at [] outs(%arg2 : memref<i64>)
kern.func @elementwise(%x: memref<4x64xf32>, %y: memref<64xf32>, %z: memref<i64>) attributes {inputs = 0 : i64} {
  kern.fused elementwise [4, 64] calls [1, 3] ins(%x, %y : memref<4x64xf32>, memref<64xf32>)
      at [#kern.access<0, [64, 1]>, #kern.access<-32, [0, 1] if [1, 32, 64]>]
      outs(%x : memref<4x64xf32>) at [#kern.access<0, [64, 1]>] accumulate [true] {
  ^bb0(%a: f32, %b: f32):
    %0 = kern.index <3, [64, 1]> : i64
    %1 = arith.sitofp %0 : i64 to f32
    %2 = arith.addf %a, %b : f32
    %3 = arith.mulf %1, %2 : f32
    kern.yield %3 : f32
  }
  kern.fused elementwise [1] calls [0, 1] ins() at [] outs(%z : memref<i64>) at [#kern.access<0, [0]>] accumulate [false] {
    %0 = arith.constant 7 : i64
    kern.yield %0 : i64
  }
  kern.return
}

// -----

// A row kernel of two passes with an element and a row result; a column kernel
// whose result goes on after the sum.
// CHECK-LABEL: kern.func @reductions
// CHECK:         kern.fused row [4, 64] calls [0, 4]
// CHECK:           %[[M:.*]] = kern.reduce max %{{.*}} : f32
// CHECK:           %[[D:.*]] = arith.subf %{{.*}}, %[[M]] : f32
// CHECK:           %[[S:.*]] = kern.reduce sum %[[D]] : f32
// CHECK:           kern.yield %[[D]], %[[S]] : f32, f32
// CHECK:         kern.fused column [64, 4] calls [0, 64]
// CHECK:           kern.reduce sum
kern.func @reductions(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>, %c: memref<64xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [4, 64] calls [0, 4] ins(%x : memref<4x64xf32>) at [#kern.access<0, [64, 1]>]
      outs(%y, %s : memref<4x64xf32>, memref<4xf32>) at [#kern.access<0, [64, 1]>, #kern.access<0, [1, 0]>] accumulate [false, false] {
  ^bb0(%e: f32):
    %m = kern.reduce max %e : f32
    %d = arith.subf %e, %m : f32
    %t = kern.reduce sum %d : f32
    kern.yield %d, %t : f32, f32
  }
  kern.fused column [64, 4] calls [0, 64] ins(%x : memref<4x64xf32>) at [#kern.access<0, [1, 64]>]
      outs(%c : memref<64xf32>) at [#kern.access<0, [1, 0]>] accumulate [false] {
  ^bb0(%e: f32):
    %t = kern.reduce sum %e : f32
    %n = arith.negf %t : f32
    kern.yield %n : f32
  }
  kern.return
}
