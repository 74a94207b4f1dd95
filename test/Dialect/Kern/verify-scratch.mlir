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
kern.func @gradients(%x: memref<4x4xf32>, %g: memref<4x4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}, %y: memref<4x4xf32>) attributes {inputs = 1 : i64} {
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

// -----

// Two products write the columns of every other head, two others the rest:
// together all that is read.
// CHECK-LABEL: kern.func @in_parts
kern.func @in_parts(%x: memref<4x4xf32>, %y: memref<4x8xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<4x8xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 2 : i64, k = 4 : i64, batch = 2 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 8 : i64, stride_c = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x8xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 2 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 8 : i64, offset_c = 6 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x8xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 2 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 8 : i64, offset_c = 2 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x8xf32>
  kern.copy %0, %y : memref<4x8xf32>, memref<4x8xf32>
  kern.return
}

// -----

// A transposed output and the two guarded parts of a concatenation, whose
// scratch is 6 wide and holds 4 columns.
// CHECK-LABEL: kern.func @strided
kern.func @strided(%x: memref<3x4xf32>, %y: memref<3x8xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<3x6xf32>
  kern.fused elementwise [4, 3] calls [0, 4] ins(%x : memref<3x4xf32>) at [#kern.access<0, [1, 4]>]
      outs(%0 : memref<3x6xf32>) at [#kern.access<1, [1, 6]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.fused elementwise [3, 8] calls [0, 3] ins(%0, %x : memref<3x6xf32>, memref<3x4xf32>) at [#kern.access<1, [6, 1] if [1, 0, 4]>, #kern.access<-4, [4, 1] if [1, 4, 8]>]
      outs(%y : memref<3x8xf32>) at [#kern.access<0, [8, 1]>] accumulate [false] {
  ^bb0(%e: f32, %f: f32):
    %i = kern.index <0, [0, 1]> : i64
    %four = arith.constant 4 : i64
    %first = arith.cmpi slt, %i, %four : i64
    %r = arith.select %first, %e, %f : f32
    kern.yield %r : f32
  }
  kern.return
}

// -----

// What a mask hides may be anything: of 4 x 6 scores the row kernel uses
// columns up to its own row's number, and the rounded columns of the block.
// CHECK-LABEL: kern.func @masked
kern.func @masked(%x: memref<4x4xf32>, %y: memref<4x6xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<4x6xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 6 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x6xf32>
  kern.fused row [4, 6] calls [0, 4] ins(%0 : memref<4x6xf32>) at [#kern.access<0, [6, 1]>]
      outs(%y : memref<4x6xf32>) at [#kern.access<0, [6, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %distance = kern.index <0, [-1, 1]> : i64
    %zero = arith.constant 0 : i64
    %visible = arith.cmpi sle, %distance, %zero : i64
    %lowest = arith.constant 0.0 : f32
    %s = arith.select %visible, %e, %lowest : f32
    %m = kern.reduce sum %s : f32
    %d = arith.subf %s, %m : f32
    kern.yield %d : f32
  }
  kern.return
}

// -----

// A life ends where what was read is written over.
// CHECK-LABEL: kern.func @two_lives
kern.func @two_lives(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {inputs = 1 : i64, scratch = 64 : i64} {
  %0 = kern.scratch at 0 : memref<16xf32>
  kern.copy %x, %0 : memref<16xf32>, memref<16xf32>
  kern.copy %0, %y : memref<16xf32>, memref<16xf32>
  kern.fused elementwise [8] calls [0, 8] ins(%x : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0 : memref<16xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.fused elementwise [8] calls [0, 8] ins(%x : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0 : memref<16xf32>) at [#kern.access<8, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.copy %0, %z : memref<16xf32>, memref<16xf32>
  kern.return
}
