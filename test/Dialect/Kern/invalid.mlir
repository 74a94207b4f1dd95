// Every diagnostic of the kern dialect's verifiers but those of kern.fused.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics -o /dev/null

// expected-error @+1 {{'kern.func' op has results; an entry writes to its arguments}}
kern.func @results(%x: memref<4xf32>) -> memref<4xf32> attributes {inputs = 1 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op argument 1 is not contiguous memory of static shape: 'f32'}}
kern.func @scalar_argument(%x: memref<4xf32>, %y: f32) attributes {inputs = 2 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op argument 0 is not contiguous memory of static shape: 'memref<?xf32>'}}
kern.func @dynamic_argument(%x: memref<?xf32>) attributes {inputs = 1 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op argument 0 is not contiguous memory of static shape: 'memref<4xf32, strided<[2]>>'}}
kern.func @strided_argument(%x: memref<4xf32, strided<[2]>>) attributes {inputs = 1 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op says that 2 of 1 arguments are inputs}}
kern.func @too_many_inputs(%x: memref<4xf32>) attributes {inputs = 2 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op says that -1 of 1 arguments are inputs}}
kern.func @negative_inputs(%x: memref<4xf32>) attributes {inputs = -1 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op scratch of 100 bytes is not a multiple of 64}}
kern.func @odd_scratch() attributes {inputs = 0 : i64, scratch = 100 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op scratch of -64 bytes is not a multiple of 64}}
kern.func @negative_scratch() attributes {inputs = 0 : i64, scratch = -64 : i64} {
  kern.return
}

// -----

// expected-error @+1 {{'kern.func' op does not end in kern.return}}
kern.func @no_return(%x: memref<4xf32>) attributes {inputs = 0 : i64} {
  kern.zero %x : memref<4xf32>
}

// -----

kern.func @foreign() attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'arith.constant' op is no operation of a launch list}}
  %0 = arith.constant 1.0 : f32
  kern.return
}

// -----

kern.func @scratch_at_odd_byte() attributes {inputs = 0 : i64, scratch = 64 : i64} {
  // expected-error @+1 {{'kern.scratch' op offset 4 is not a multiple of 64}}
  %0 = kern.scratch at 4 : memref<4xf32>
  kern.return
}

// -----

kern.func @scratch_before_the_arena() attributes {inputs = 0 : i64, scratch = 64 : i64} {
  // expected-error @+1 {{'kern.scratch' op offset -64 is not a multiple of 64}}
  %0 = kern.scratch at -64 : memref<4xf32>
  kern.return
}

// -----

kern.func @scratch_beyond_the_arena() attributes {inputs = 0 : i64, scratch = 128 : i64} {
  // expected-error @+1 {{'kern.scratch' op ends at byte 132 of 128 bytes of scratch}}
  %0 = kern.scratch at 64 : memref<17xf32>
  kern.return
}

// -----

kern.func @copy_of_other_size(%x: memref<4xf32>, %y: memref<4xbf16>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.copy' op copies 16 bytes to 8}}
  kern.copy %x, %y : memref<4xf32>, memref<4xbf16>
  kern.return
}

// -----

kern.func @constant_of_other_type(%x: memref<2xi64>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.constant' op writes 'tensor<2xi32>' to 'memref<2xi64>'}}
  kern.constant %x, dense<[1, 2]> : tensor<2xi32> : memref<2xi64>
  kern.return
}

// -----

kern.func @constant_of_other_size(%x: memref<2xi64>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.constant' op writes 'tensor<3xi64>' to 'memref<2xi64>'}}
  kern.constant %x, dense<[1, 2, 3]> : tensor<3xi64> : memref<2xi64>
  kern.return
}

// -----

// Products.
kern.func @empty_product(%x: memref<4x4xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op extents 4 x 0 x 4, batch 1 are not all positive}}
  kern.gemm %x, %x, %x {m = 4 : i64, n = 0 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @product_of_f64(%x: memref<4x4xf32>, %y: memref<4x4xf64>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op B has element type 'f64', not f32, bf16 or f16}}
  kern.gemm %x, %y, %x {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf64>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @rows_overlap(%x: memref<4x4xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op A has rows of 4 elements but leading dimension 3}}
  kern.gemm %x, %x, %x {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 3 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

// The rows of a transposed A are as long as its columns are many.
kern.func @transposed_rows_overlap(%x: memref<2x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op A has rows of 4 elements but leading dimension 2}}
  kern.gemm %x, %y, %y {m = 4 : i64, n = 4 : i64, k = 2 : i64, transpose_a, lda = 2 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<2x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @negative_stride(%x: memref<4x4xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op B has a negative stride or offset}}
  kern.gemm %x, %x, %x {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, offset_b = -1 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @out_of_memory(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gemm' op C reaches element 19 of 16}}
  kern.gemm %x, %x, %y {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 5 : i64, offset_c = 1 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @beyond_all_memory(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.gemm' op A reaches beyond 2^63 elements}}
  kern.gemm %x, %x, %y {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 6148914691236517206 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  kern.return
}

// -----

kern.func @results_overlap(%x: memref<2x4x4xf32>, %y: memref<2x4x4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.gemm' op matrices of C overlap: stride 8, leading dimension 4}}
  kern.gemm %x, %x, %y {m = 4 : i64, n = 4 : i64, k = 4 : i64, batch = 2 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64,
      stride_a = 16 : i64, stride_b = 16 : i64, stride_c = 8 : i64} : memref<2x4x4xf32>, memref<2x4x4xf32>, memref<2x4x4xf32>
  kern.return
}

// -----

kern.func @gemm_bias_size(%x: memref<4x4xf32>, %b: memref<3xf32>, %y: memref<4x4xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gemm' op bias of type 'memref<3xf32>' is not 4 elements of 'f32', C's element type}}
  kern.gemm %x, %x, %y bias %b {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<3xf32>
  kern.return
}

// -----

kern.func @gemm_bias_type(%x: memref<4x4xbf16>, %b: memref<4xbf16>, %y: memref<4x4xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gemm' op bias of type 'memref<4xbf16>' is not 4 elements of 'f32', C's element type}}
  kern.gemm %x, %x, %y bias %b {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64}
    : memref<4x4xbf16>, memref<4x4xbf16>, memref<4x4xf32>, memref<4xbf16>
  kern.return
}

// -----

kern.func @gemm_bias_accumulates(%x: memref<4x4xf32>, %b: memref<4xf32>, %y: memref<4x4xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gemm' op adds a bias in a batch, or to what is there; it is one or the other}}
  kern.gemm %x, %x, %y bias %b {m = 4 : i64, n = 4 : i64, k = 4 : i64, lda = 4 : i64, ldb = 4 : i64, ldc = 4 : i64, accumulate}
    : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>, memref<4xf32>
  kern.return
}

// -----

// Indexing.
kern.func @gather_along_nothing(%x: memref<4xf32>, %i: memref<4xi64>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.gather' op picks along no axis}}
  kern.gather %x, %i, %x {outer = 1 : i64, extents = array<i64>, count = 4 : i64, inner = 1 : i64} : memref<4xf32>, memref<4xi64>, memref<4xf32>
  kern.return
}

// -----

kern.func @gather_from_less(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<2xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op source has 4 elements, not 5}}
  kern.gather %x, %i, %y {outer = 1 : i64, extents = array<i64: 5>, count = 2 : i64, inner = 1 : i64} : memref<4xf32>, memref<2xi64>, memref<2xf32>
  kern.return
}

// -----

kern.func @gather_by_fewer(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<3xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op indices has 2 elements, not 3}}
  kern.gather %x, %i, %y {outer = 1 : i64, extents = array<i64: 4>, count = 3 : i64, inner = 1 : i64} : memref<4xf32>, memref<2xi64>, memref<3xf32>
  kern.return
}

// -----

kern.func @gather_to_less(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<1xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op target has 1 elements, not 2}}
  kern.gather %x, %i, %y {outer = 1 : i64, extents = array<i64: 4>, count = 2 : i64, inner = 1 : i64} : memref<4xf32>, memref<2xi64>, memref<1xf32>
  kern.return
}

// -----

// Two negative numbers would have the right product.
kern.func @gather_negative(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<2xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op has an extent or count of -1}}
  kern.gather %x, %i, %y {outer = -1 : i64, extents = array<i64: 4>, count = 2 : i64, inner = -1 : i64} : memref<4xf32>, memref<2xi64>, memref<2xf32>
  kern.return
}

// -----

kern.func @gather_huge(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<2xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op source has more than 2^63 elements}}
  kern.gather %x, %i, %y {outer = 1 : i64, extents = array<i64: 4611686018427387905>, count = 2 : i64, inner = 4 : i64}
    : memref<4xf32>, memref<2xi64>, memref<2xf32>
  kern.return
}

// -----

kern.func @gather_to_other_type(%x: memref<4xf32>, %i: memref<2xi64>, %y: memref<2xbf16>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op source and target differ in element type}}
  kern.gather %x, %i, %y {outer = 1 : i64, extents = array<i64: 4>, count = 2 : i64, inner = 1 : i64} : memref<4xf32>, memref<2xi64>, memref<2xbf16>
  kern.return
}

// -----

kern.func @scatter_of_fewer(%u: memref<4xf32>, %i: memref<2xi64>, %y: memref<9xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.scatter_add' op updates has 4 elements, not 6}}
  kern.scatter_add %u, %i, %y {outer = 1 : i64, extent = 3 : i64, count = 2 : i64, inner = 3 : i64} : memref<4xf32>, memref<2xi64>, memref<9xf32>
  kern.return
}

// -----

kern.func @scatter_into_bf16(%u: memref<2xf32>, %i: memref<2xi64>, %y: memref<3xbf16>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.scatter_add' op target has element type 'bf16', but sums are f32 or f64}}
  kern.scatter_add %u, %i, %y {outer = 1 : i64, extent = 3 : i64, count = 2 : i64, inner = 1 : i64} : memref<2xf32>, memref<2xi64>, memref<3xbf16>
  kern.return
}

// -----

kern.func @scatter_of_integers(%u: memref<2xi32>, %i: memref<2xi64>, %y: memref<3xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.scatter_add' op updates are not floating point}}
  kern.scatter_add %u, %i, %y {outer = 1 : i64, extent = 3 : i64, count = 2 : i64, inner = 1 : i64} : memref<2xi32>, memref<2xi64>, memref<3xf32>
  kern.return
}

// -----

// Indices are i64 or i32, and everything in the body of its owner.
kern.func @gather_by_floats(%x: memref<4xf32>, %y: memref<2xf32>) attributes {inputs = 2 : i64} {
  // expected-error @+1 {{'kern.gather' op operand #1 must be}}
  kern.gather %x, %y, %y {outer = 1 : i64, extents = array<i64: 4>, count = 2 : i64, inner = 1 : i64} : memref<4xf32>, memref<2xf32>, memref<2xf32>
  kern.return
}

// -----

kern.func @index_outside() attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.index' op expects parent op 'kern.fused'}}
  %0 = kern.index <0, [1]> : i64
  kern.return
}

// -----

// expected-error @+1 {{'kern.scratch' op expects parent op 'kern.func'}}
%0 = kern.scratch : memref<4xf32>

// -----

// expected-error @+1 {{guards are triples of an axis, a begin and an end, but there are 2 numbers}}
#access = #kern.access<0, [1] if [0, 4]>

// -----

// expected-error @+1 {{guard on axis 1 of a domain of rank 1}}
#access = #kern.access<0, [1] if [1, 0, 4]>
