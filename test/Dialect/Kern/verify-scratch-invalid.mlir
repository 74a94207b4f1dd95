// Every diagnostic of rondo-kern-verify-scratch.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(kern.func(rondo-kern-verify-scratch))" -o /dev/null

kern.func @reads_before_writing(%x: memref<16xf32>, %y: memref<16xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.copy' op reads elements [0, 16) of 16 of argument 0, a result, before anything has written there}}
  kern.copy %x, %y : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

kern.func @not_planned(%y: memref<16xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.scratch' op has no offset; run rondo-kern-plan-scratch}}
  %0 = kern.scratch : memref<16xf32>
  kern.zero %0 : memref<16xf32>
  kern.copy %0, %y : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

kern.func @never_written(%y: memref<16xf32>) attributes {inputs = 0 : i64, scratch = 64 : i64} {
  %0 = kern.scratch at 0 : memref<16xf32>
  // expected-error @+1 {{'kern.copy' op operand 0 is scratch that nothing has written}}
  kern.copy %0, %y : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

// Half of the value is not enough.
kern.func @half_written(%x: memref<16xf32>, %y: memref<32xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<32xf32>
  // expected-note @+1 {{the other value, at byte 0}}
  %1 = kern.scratch at 0 : memref<16xf32>
  kern.copy %x, %1 : memref<16xf32>, memref<16xf32>
  // expected-error @+1 {{'kern.copy' op operand 0 is scratch whose bytes another value has taken}}
  kern.copy %0, %y : memref<32xf32>, memref<32xf32>
  kern.return
}

// -----

kern.func @taken(%x: memref<16xf32>, %y: memref<32xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<32xf32>
  // expected-note @+1 {{the other value, at byte 64}}
  %1 = kern.scratch at 64 : memref<16xf32>
  kern.zero %0 : memref<32xf32>
  kern.copy %x, %1 : memref<16xf32>, memref<16xf32>
  // expected-error @+1 {{'kern.copy' op operand 0 is scratch whose bytes another value has taken}}
  kern.copy %0, %y : memref<32xf32>, memref<32xf32>
  kern.return
}

// -----

kern.func @writes_an_input(%x: memref<16xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.zero' op writes to argument 0, an input}}
  kern.zero %x : memref<16xf32>
  kern.return
}

// -----

kern.func @results_share_bytes(%x: memref<16xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<32xf32>
  %1 = kern.scratch at 64 : memref<16xf32>
  // expected-error @+1 {{'kern.fused' op writes two values that share bytes}}
  kern.fused elementwise [16] calls [0, 16] ins(%x : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0, %1 : memref<32xf32>, memref<16xf32>) at [#kern.access<0, [1]>, #kern.access<0, [1]>] accumulate [false, false] {
  ^bb0(%e: f32):
    kern.yield %e, %e : f32, f32
  }
  kern.return
}

// -----

kern.func @writes_over_its_operand(%x: memref<32xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<32xf32>
  %1 = kern.scratch at 64 : memref<16xf32>
  kern.copy %x, %0 : memref<32xf32>, memref<32xf32>
  // expected-error @+1 {{'kern.fused' op writes over operand 0, which it reads}}
  kern.fused elementwise [16] calls [0, 16] ins(%0 : memref<32xf32>) at [#kern.access<0, [1]>]
      outs(%1 : memref<16xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

// A product of 15 of 16 columns.
kern.func @column_missing(%x: memref<16x16xf32>, %y: memref<16x16xf32>) attributes {inputs = 1 : i64, scratch = 1024 : i64} {
  // expected-note @+1 {{the value, at byte 0}}
  %0 = kern.scratch at 0 : memref<16x16xf32>
  kern.gemm %x, %x, %0 {m = 16 : i64, n = 15 : i64, k = 16 : i64, lda = 16 : i64, ldb = 16 : i64, ldc = 16 : i64}
    : memref<16x16xf32>, memref<16x16xf32>, memref<16x16xf32>
  // expected-error @+1 {{'kern.copy' op reads element 15 of 256 of operand 0, scratch, but nothing has written there since its life began; an operation before this one is missing or writes too little}}
  kern.copy %0, %y : memref<16x16xf32>, memref<16x16xf32>
  kern.return
}

// -----

// Scores of two blocks in one scratch; of the second block one head's product is missing, so that
// the first block's weights are still there.
kern.func @head_missing(%x: memref<4x4xf32>, %y: memref<2x4x4xf32>, %z: memref<2x4x4xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  // expected-note @+1 {{the value, at byte 0}}
  %0 = kern.scratch at 0 : memref<2x4x4xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<2x4x4xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, offset_c = 16 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<2x4x4xf32>
  kern.copy %0, %y : memref<2x4x4xf32>, memref<2x4x4xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<2x4x4xf32>
  // expected-error @+1 {{'kern.copy' op reads elements [16, 32) of 32 of operand 0, scratch, but nothing has written there}}
  kern.copy %0, %z : memref<2x4x4xf32>, memref<2x4x4xf32>
  kern.return
}

// -----

// The product that writes the scores anew is missing: the second kernel would work on the first one's results.
kern.func @modified_twice(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {inputs = 1 : i64, scratch = 64 : i64} {
  %0 = kern.scratch at 0 : memref<16xf32>
  kern.copy %x, %0 : memref<16xf32>, memref<16xf32>
  kern.fused elementwise [16] calls [0, 16] ins(%0 : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0 : memref<16xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    %n = math.exp %e : f32
    kern.yield %n : f32
  }
  kern.copy %0, %y : memref<16xf32>, memref<16xf32>
  // expected-error @+1 {{'kern.fused' op modifies scratch at byte 0 a second time, after it was read; an operation that writes it anew is missing before this one}}
  kern.fused elementwise [16] calls [0, 16] ins(%0 : memref<16xf32>) at [#kern.access<0, [1]>]
      outs(%0 : memref<16xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    %n = math.exp %e : f32
    kern.yield %n : f32
  }
  kern.copy %0, %z : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

// The mask shows rows their own column and those before: 4 of 6 columns; the product writes 3.
kern.func @mask_shows_more(%x: memref<4x4xf32>, %y: memref<4x6xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  // expected-note @+1 {{the value, at byte 0}}
  %0 = kern.scratch at 0 : memref<4x6xf32>
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 3 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 6 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x6xf32>
  // expected-error @+1 {{'kern.fused' op reads element 3 of 24 of operand 0, scratch}}
  kern.fused elementwise [4, 6] calls [0, 4] ins(%0 : memref<4x6xf32>) at [#kern.access<0, [6, 1]>]
      outs(%y : memref<4x6xf32>) at [#kern.access<0, [6, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %distance = kern.index <0, [1, -1]> : i64
    %zero = arith.constant 0 : i64
    %visible = arith.cmpi sge, %distance, %zero : i64
    %lowest = arith.constant 0.0 : f32
    %s = arith.select %visible, %e, %lowest : f32
    kern.yield %s : f32
  }
  kern.return
}

// -----

kern.func @adds_to_nothing(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64, scratch = 64 : i64} {
  // expected-note @+1 {{the value, at byte 0}}
  %0 = kern.scratch at 0 : memref<4x4xf32>
  kern.gemm %x, %x, %0 {m = 2 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  // expected-error @+1 {{'kern.gemm' op adds to elements [8, 16) of 16 of operand 2, scratch}}
  kern.gemm %x, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, accumulate}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.copy %0, %y : memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @adds_to_a_result(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.gemm' op adds to elements [0, 16) of 16 of argument 1, a result, before anything has written there}}
  kern.gemm %x, %x, %y {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, accumulate}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @result_missing(%x: memref<4x48xf32>, %w: memref<48x48xf32>, %y: memref<4x48xf32>) attributes {inputs = 2 : i64} {
  kern.gemm %x, %w, %y {m = 4 : i64, n = 2 : i64, k = 48 : i64, lda = 48 : i64, ldb = 48 : i64, ldc = 48 : i64}
    : memref<4x48xf32>, memref<48x48xf32>, memref<4x48xf32>
  // expected-error @+1 {{'kern.return' op comes before anything has written elements [2, 48) of 192 of argument 2, a result; an operation of the entry is missing or writes too little}}
  kern.return
}

// -----

kern.func @gradient_missing(%x: memref<4x4xf32>, %g: memref<4x4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {inputs = 1 : i64} {
  kern.gemm %x, %x, %g {m = 3 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, accumulate}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  // expected-error @+1 {{'kern.return' op comes before anything has added to elements [12, 16) of 16 of argument 1}}
  kern.return
}

// -----

kern.func @gradient_written_over(%g: memref<4x4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.zero' op writes over argument 0, a gradient, which is only added to}}
  kern.zero %g : memref<4x4xf32>
  kern.return
}

// -----

kern.func @product_of_itself(%x: memref<4x4xf32>, %y: memref<8x4xf32>) attributes {inputs = 1 : i64, scratch = 128 : i64} {
  %0 = kern.scratch at 0 : memref<8x4xf32>
  kern.zero %0 : memref<8x4xf32>
  // expected-error @+1 {{'kern.gemm' op writes over operand 0, which it reads}}
  kern.gemm %0, %x, %0 {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, offset_c = 12 : i64}
    : memref<8x4xf32>, memref<4x4xf32>, memref<8x4xf32>
  kern.return
}
