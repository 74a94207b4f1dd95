// Every diagnostic of rondo-kern-verify-scratch.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics -pass-pipeline="builtin.module(kern.func(rondo-kern-verify-scratch))" -o /dev/null

kern.func @reads_before_writing(%x: memref<16xf32>, %y: memref<16xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.copy' op reads argument 0, a result that nothing has written}}
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
