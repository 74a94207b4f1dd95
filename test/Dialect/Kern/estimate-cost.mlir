// Flops, bytes and time of launch lists, on a machine of round numbers: 100
// product operations a nanosecond, 10 others, 10 bytes, 1000 ns a call.
// RUN: rondo-opt %s -split-input-file -pass-pipeline="builtin.module(kern.func(rondo-kern-estimate-cost{flops=100 scalar=10 bandwidth=10 latency=1000}))" | FileCheck %s
// RUN: rondo-opt %s -split-input-file -pass-pipeline="builtin.module(kern.func(rondo-kern-estimate-cost))" | FileCheck %s --check-prefix=DEFAULT
// RUN: rondo-opt %s -split-input-file -pass-pipeline="builtin.module(kern.func(rondo-kern-estimate-cost{flops=100 f32-flops=10 scalar=10 bandwidth=10 latency=1000}))" | FileCheck %s --check-prefix=SLOW

// CHECK-LABEL: kern.func @nothing
// CHECK-SAME:    bytes = 0.000000e+00 : f64, flops = 0.000000e+00 : f64
// CHECK-SAME:    time = 0.000000e+00 : f64
kern.func @nothing() attributes {inputs = 0 : i64, time = 5.0 : f64} {
  kern.return
}

// -----

// 2 * 64 * 64 * 64 = 524288 operations take longer than 3 * 64 * 64 * 4 = 49152
// bytes: 5242.88 ns, plus a call.
// CHECK-LABEL: kern.func @product
// CHECK-SAME:    bytes = 4.915200e+04 : f64, flops = 5.242880e+05 : f64
// CHECK-SAME:    time = 6.242880e+03 : f64
// DEFAULT-LABEL: kern.func @product
// DEFAULT-SAME:    time = 1.098580e+04 : f64
// Where products of f32 are ten times slower: 52428.8 ns.
// SLOW-LABEL: kern.func @product
// SLOW-SAME:    time = 5.342880e+04 : f64
kern.func @product(%a: memref<64x64xf32>, %b: memref<64x64xf32>, %c: memref<64x64xf32>) attributes {inputs = 2 : i64} {
  kern.gemm %a, %b, %c {m = 64 : i64, n = 64 : i64, k = 64 : i64, lda = 64 : i64, ldb = 64 : i64, ldc = 64 : i64}
    : memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32>
  kern.return
}

// -----

// Memory decides: A of 1 x 64 and B of 64 x 64 in bf16 (8320 bytes), C of 1 x 64 in
// f32 read and written (512).
// CHECK-LABEL: kern.func @accumulated_product
// CHECK-SAME:    bytes = 8.832000e+03 : f64, flops = 8.192000e+03 : f64
// CHECK-SAME:    time = 1.883200e+03 : f64
// SLOW-LABEL: kern.func @accumulated_product
// SLOW-SAME:    time = 1.883200e+03 : f64
kern.func @accumulated_product(%a: memref<1x64xbf16>, %b: memref<64x64xbf16>, %c: memref<1x64xf32>) attributes {inputs = 2 : i64} {
  kern.gemm %a, %b, %c {m = 1 : i64, n = 64 : i64, k = 64 : i64, lda = 64 : i64, ldb = 64 : i64, ldc = 64 : i64, accumulate}
    : memref<1x64xbf16>, memref<64x64xbf16>, memref<1x64xf32>
  kern.return
}

// -----

// The same with a bias of 64 (256 bytes) instead of what was there.
// CHECK-LABEL: kern.func @product_with_bias
// CHECK-SAME:    bytes = 8.832000e+03 : f64, flops = 8.192000e+03 : f64
kern.func @product_with_bias(%a: memref<1x64xbf16>, %b: memref<64x64xbf16>, %d: memref<64xf32>, %c: memref<1x64xf32>) attributes {inputs = 3 : i64} {
  kern.gemm %a, %b, %c bias %d {m = 1 : i64, n = 64 : i64, k = 64 : i64, lda = 64 : i64, ldb = 64 : i64, ldc = 64 : i64}
    : memref<1x64xbf16>, memref<64x64xbf16>, memref<1x64xf32>, memref<64xf32>
  kern.return
}

// -----

// A function costs 20 operations, a sum 1: 21 for each of 64 points. The
// broadcast operand is read once (4 * 4), the other and the result wholly (256 each).
// CHECK-LABEL: kern.func @elementwise
// CHECK-SAME:    bytes = 5.280000e+02 : f64, flops = 1.344000e+03 : f64
// CHECK-SAME:    time = 1.134400e+03 : f64
kern.func @elementwise(%x: memref<4x16xf32>, %y: memref<4xf32>, %z: memref<4x16xf32>) attributes {inputs = 2 : i64} {
  kern.fused elementwise [4, 16] calls [0, 4] ins(%x, %y : memref<4x16xf32>, memref<4xf32>) at [#kern.access<0, [16, 1]>, #kern.access<0, [1, 0]>]
      outs(%z : memref<4x16xf32>) at [#kern.access<0, [16, 1]>] accumulate [false] {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    %1 = arith.addf %0, %b : f32
    kern.yield %1 : f32
  }
  kern.return
}

// -----

// Half of the calls cost half.
// CHECK-LABEL: kern.func @part
// CHECK-SAME:    bytes = 2.560000e+02 : f64, flops = 3.200000e+01 : f64
kern.func @part(%x: memref<4x16xf32>, %z: memref<4x16xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4, 16] calls [2, 4] ins(%x : memref<4x16xf32>) at [#kern.access<0, [16, 1]>]
      outs(%z : memref<4x16xf32>) at [#kern.access<0, [16, 1]>] accumulate [false] {
  ^bb0(%a: f32):
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

// What is the same for a whole row (rsqrt) counts nothing, an accumulated result
// twice: reduction 1, product 1.
// CHECK-LABEL: kern.func @row
// CHECK-SAME:    bytes = 7.680000e+02 : f64, flops = 1.280000e+02 : f64
kern.func @row(%x: memref<4x16xf32>, %z: memref<4x16xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [4, 16] calls [0, 4] ins(%x : memref<4x16xf32>) at [#kern.access<0, [16, 1]>]
      outs(%z : memref<4x16xf32>) at [#kern.access<0, [16, 1]>] accumulate [true] {
  ^bb0(%a: f32):
    %0 = kern.reduce sum %a : f32
    %1 = math.rsqrt %0 : f32
    %2 = arith.mulf %a, %1 : f32
    kern.yield %2 : f32
  }
  kern.return
}

// -----

// Two rows of 16 are read and written, with two indices of 8 bytes. A scatter reads
// 128 bytes of updates and reads and writes as many of its target.
// CHECK-LABEL: kern.func @gather
// CHECK-SAME:    bytes = 2.720000e+02 : f64, flops = 0.000000e+00 : f64
// CHECK-SAME:    time = 1.027200e+03 : f64
kern.func @gather(%t: memref<99x16xf32>, %i: memref<2xi64>, %y: memref<2x16xf32>) attributes {inputs = 2 : i64} {
  kern.gather %t, %i, %y {outer = 1 : i64, extents = array<i64: 99>, count = 2 : i64, inner = 16 : i64}
    : memref<99x16xf32>, memref<2xi64>, memref<2x16xf32>
  kern.return
}
// CHECK-LABEL: kern.func @scatter
// CHECK-SAME:    bytes = 3.840000e+02 : f64, flops = 3.200000e+01 : f64
kern.func @scatter(%u: memref<2x16xf32>, %i: memref<2xi64>, %y: memref<99x16xf32>) attributes {inputs = 2 : i64} {
  kern.scatter_add %u, %i, %y {outer = 1 : i64, extent = 99 : i64, count = 2 : i64, inner = 16 : i64}
    : memref<2x16xf32>, memref<2xi64>, memref<99x16xf32>
  kern.return
}

// -----

// Zeros are written, a copy is read and written: three calls.
// CHECK-LABEL: kern.func @memory
// CHECK-SAME:    bytes = 2.080000e+02 : f64, flops = 0.000000e+00 : f64
// CHECK-SAME:    time = 3.020800e+03 : f64
kern.func @memory(%x: memref<16xf32>, %y: memref<16xf32>, %t: memref<2xi64>) attributes {inputs = 1 : i64} {
  kern.zero %y : memref<16xf32>
  kern.copy %x, %y : memref<16xf32>, memref<16xf32>
  kern.constant %t, dense<[1, 2]> : tensor<2xi64> : memref<2xi64>
  kern.return
}
