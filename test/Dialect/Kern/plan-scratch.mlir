// Offsets of scratch values, from the ops between their first and last use.
// RUN: rondo-opt %s -split-input-file -pass-pipeline="builtin.module(kern.func(rondo-kern-plan-scratch,rondo-kern-verify-scratch))" | FileCheck %s

// The second value may take the first one's bytes, as the third is computed from
// the second alone; the second and the third are alive together.
// CHECK-LABEL: kern.func @reuses_what_is_dead
// CHECK-SAME:    scratch = 128 : i64
// CHECK:         kern.scratch at 0 : memref<16xf32>
// CHECK:         kern.scratch at 64 : memref<16xf32>
// CHECK:         kern.scratch at 0 : memref<16xf32>
kern.func @reuses_what_is_dead(%x: memref<16xf32>, %y: memref<16xf32>) attributes {inputs = 1 : i64} {
  %0 = kern.scratch : memref<16xf32>
  kern.copy %x, %0 : memref<16xf32>, memref<16xf32>
  %1 = kern.scratch : memref<16xf32>
  kern.copy %0, %1 : memref<16xf32>, memref<16xf32>
  %2 = kern.scratch : memref<16xf32>
  kern.copy %1, %2 : memref<16xf32>, memref<16xf32>
  kern.copy %2, %y : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

// Where a value is made does not matter, its uses do: the first one's last.
// CHECK-LABEL: kern.func @keeps_what_is_read_later
// CHECK-SAME:    scratch = 128 : i64
// CHECK:         kern.scratch at 0 : memref<16xf32>
// CHECK:         kern.scratch at 64 : memref<16xf32>
kern.func @keeps_what_is_read_later(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<16xf32>) attributes {inputs = 1 : i64} {
  %0 = kern.scratch : memref<16xf32>
  %1 = kern.scratch : memref<16xf32>
  kern.copy %x, %0 : memref<16xf32>, memref<16xf32>
  kern.copy %x, %1 : memref<16xf32>, memref<16xf32>
  kern.copy %1, %y : memref<16xf32>, memref<16xf32>
  kern.copy %0, %z : memref<16xf32>, memref<16xf32>
  kern.return
}

// -----

// The larger one is placed first, at 0; sizes are rounded up to 64 bytes. i1 takes
// a byte.
// CHECK-LABEL: kern.func @places_large_ones_first
// CHECK-SAME:    scratch = 256 : i64
// CHECK:         kern.scratch at 192 : memref<3xi1>
// CHECK:         kern.scratch at 0 : memref<33xf32>
kern.func @places_large_ones_first(%b: memref<3xi1>, %x: memref<33xf32>, %c: memref<3xi1>, %y: memref<33xf32>) attributes {inputs = 2 : i64} {
  %0 = kern.scratch : memref<3xi1>
  kern.copy %b, %0 : memref<3xi1>, memref<3xi1>
  %1 = kern.scratch : memref<33xf32>
  kern.copy %x, %1 : memref<33xf32>, memref<33xf32>
  kern.copy %0, %c : memref<3xi1>, memref<3xi1>
  kern.copy %1, %y : memref<33xf32>, memref<33xf32>
  kern.return
}

// -----

// A hole that is large enough is taken: the fourth value goes between the others,
// where the second was.
// CHECK-LABEL: kern.func @fills_holes
// CHECK-SAME:    scratch = 448 : i64
// CHECK:         kern.scratch at 0 : memref<48xf32>
// CHECK:         kern.scratch at 192 : memref<32xf32>
// CHECK:         kern.scratch at 320 : memref<32xf32>
// CHECK:         kern.scratch at 192 : memref<16xf32>
kern.func @fills_holes(%x: memref<48xf32>, %y: memref<48xf32>) attributes {inputs = 1 : i64} {
  %0 = kern.scratch : memref<48xf32>
  %1 = kern.scratch : memref<32xf32>
  %2 = kern.scratch : memref<32xf32>
  %3 = kern.scratch : memref<16xf32>
  kern.zero %0 : memref<48xf32>
  kern.zero %1 : memref<32xf32>
  kern.copy %1, %2 : memref<32xf32>, memref<32xf32>
  kern.zero %3 : memref<16xf32>
  kern.zero %3 : memref<16xf32>
  kern.zero %2 : memref<32xf32>
  kern.copy %0, %y : memref<48xf32>, memref<48xf32>
  kern.return
}

// -----

// A value without uses takes no byte.
// CHECK-LABEL: kern.func @unused
// CHECK-SAME:    scratch = {{(0|64)}} : i64
kern.func @unused() attributes {inputs = 0 : i64} {
  %0 = kern.scratch : memref<16xf32>
  kern.return
}
