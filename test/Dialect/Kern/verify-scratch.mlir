// What rondo-kern-verify-scratch accepts: it changes nothing.
// RUN: rondo-opt %s -split-input-file -pass-pipeline="builtin.module(kern.func(rondo-kern-verify-scratch))" | FileCheck %s

// Two values share bytes one after the other; an op writes over what it reads
// where both are one value.
// CHECK-LABEL: kern.func @shared_in_turn
kern.func @shared_in_turn(%x: memref<16xf32>, %y: memref<16xf32>) attributes {inputs = 1 : i64, scratch = 64 : i64} {
  %0 = kern.scratch at 0 : memref<16xf32>
  %1 = kern.scratch at 0 : memref<16xf32>
  kern.copy %x, %0 : memref<16xf32>, memref<16xf32>
  kern.fused elementwise [16] calls [0, 16] ins(%0 : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0 : memref<16xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    %n = arith.negf %e : f32
    kern.yield %n : f32
  }
  kern.copy %0, %y : memref<16xf32>, memref<16xf32>
  kern.zero %1 : memref<16xf32>
  kern.copy %1, %y : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

// A gradient is added to what it held before; once written it may be read.
// CHECK-LABEL: kern.func @gradients
kern.func @gradients(%x: memref<4x4xf32>, %g: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64} {
  kern.gemm %x, %x, %g {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, accumulate}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.copy %g, %y : memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

// Part of a value's bytes are written again, then all of them.
// CHECK-LABEL: kern.func @written_again
kern.func @written_again(%x: memref<16xf32>, %y: memref<32xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<32xf32>
  %1 = kern.scratch at 64 : memref<16xf32>
  kern.zero %0 : memref<32xf32>
  kern.copy %x, %1 : memref<16xf32>, memref<16xf32>
  kern.zero %0 : memref<32xf32>
  kern.copy %0, %y : memref<32xf32>, memref<32xf32>
  kern.return
}
