// Every diagnostic of kern.fused and what is in its region.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics -o /dev/null

kern.func @no_domain(%x: memref<f32>, %y: memref<f32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op has an empty domain; a single point is [1]}}
  kern.fused elementwise [] calls [0, 1] ins(%x : memref<f32>) at [#kern.access<0, [1]>] outs(%y : memref<f32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @empty_axis(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op has an axis of extent 0}}
  kern.fused elementwise [4, 0] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1, 0]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @calls_beyond(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op calls are not a range within the first axis}}
  kern.fused elementwise [4] calls [2, 5] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @no_row(%x: memref<4xf32>, %y: memref<1xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op reduces the last axis and needs another one before it}}
  kern.fused row [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<1xf32>) at [#kern.access<0, [0]>] accumulate [false] {
  ^bb0(%e: f32):
    %s = kern.reduce sum %e : f32
    kern.yield %s : f32
  }
  kern.return
}

// -----

kern.func @lists_differ(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op has 1 inputs, 0 accesses to them, 1 outputs, 1 accesses and 2 accumulate flags}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false, false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @no_output() attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.fused' op has no output}}
  "kern.fused"() <{kind = #kern<kind elementwise>, domain = array<i64: 1>, calls = array<i64: 0, 1>, input_access = [], output_access = [],
      accumulate = array<i1>, operandSegmentSizes = array<i32: 0, 0>}> ({
    "kern.yield"() : () -> ()
  }) : () -> ()
  kern.return
}

// -----

kern.func @input_of_other_rank(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op input 0 has 2 strides in a domain of rank 1}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1, 1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @reads_too_far(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op input 0 touches elements [1, 5) of 4}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<1, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

// A guard keeps the first part of a concatenation out of the second's memory; the
// last point is one too far still.
kern.func @guard_too_wide(%x: memref<4xf32>, %y: memref<8xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op input 0 touches elements [0, 5) of 4}}
  kern.fused elementwise [8] calls [0, 8] ins(%x : memref<4xf32>) at [#kern.access<0, [1] if [0, 0, 5]>] outs(%y : memref<8xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @writes_before(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 touches elements [-3, 1) of 4}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [-1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @guarded_output(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 has guards}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1] if [0, 0, 2]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @column_keeps_rows(%x: memref<8x4xf32>, %y: memref<4x8xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 of a column kernel depends on the reduced axis}}
  kern.fused column [4, 8] calls [0, 4] ins(%x : memref<8x4xf32>) at [#kern.access<0, [1, 4]>] outs(%y : memref<4x8xf32>) at [#kern.access<0, [8, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @adds_in_bf16(%x: memref<4xbf16>, %y: memref<4xbf16>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 accumulates in 'bf16', not f32}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xbf16>) at [#kern.access<0, [1]>] outs(%y : memref<4xbf16>) at [#kern.access<0, [1]>] accumulate [true] {
  ^bb0(%e: bf16):
    kern.yield %e : bf16
  }
  kern.return
}

// -----

// Row 0 writes elements 0, 2, 4, row 1 elements 2, 4, 6.
kern.func @writes_twice(%x: memref<2x3xf32>, %y: memref<7xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 has one element for several points}}
  kern.fused elementwise [2, 3] calls [0, 2] ins(%x : memref<2x3xf32>) at [#kern.access<0, [3, 1]>] outs(%y : memref<7xf32>) at [#kern.access<0, [2, 2]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @other_access_in_place(%x: memref<2x2xf32>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 is the memory of input 0 with another access}}
  kern.fused elementwise [2, 2] calls [0, 2] ins(%x : memref<2x2xf32>) at [#kern.access<0, [2, 1]>] outs(%x : memref<2x2xf32>) at [#kern.access<0, [1, 2]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @same_output_twice(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op outputs 0 and 1 are the same memory}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>]
      outs(%y, %y : memref<4xf32>, memref<4xf32>) at [#kern.access<0, [1]>, #kern.access<0, [1]>] accumulate [false, false] {
  ^bb0(%e: f32):
    kern.yield %e, %e : f32, f32
  }
  kern.return
}

// -----

// The region.
kern.func @too_few_arguments(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op region has 0 arguments for 1 inputs}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
    %0 = arith.constant 1.0 : f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

kern.func @argument_of_other_type(%x: memref<4xbf16>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op argument 0 has type 'f32', not 'bf16'}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xbf16>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @yields_too_many(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op region does not yield one value for each of 1 outputs}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e, %e : f32, f32
  }
  kern.return
}

// -----

kern.func @yields_other_type(%x: memref<4xf32>, %y: memref<4xbf16>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op yields 'f32' for output 0 of 'bf16'}}
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xbf16>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @reduces_elementwise(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'kern.reduce' op in an elementwise kernel}}
    %s = kern.reduce sum %e : f32
    kern.yield %s : f32
  }
  kern.return
}

// -----

// Rows have levels, columns one.
kern.func @reduces_twice(%x: memref<8x4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused column [4, 8] calls [0, 4] ins(%x : memref<8x4xf32>) at [#kern.access<0, [1, 4]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [false] {
  ^bb0(%e: f32):
    %m = kern.reduce max %e : f32
    %d = arith.subf %e, %m : f32
    // expected-error @+1 {{'kern.reduce' op reduces what depends on a reduction, in a column kernel}}
    %s = kern.reduce sum %d : f32
    kern.yield %s : f32
  }
  kern.return
}

// -----

kern.func @foreign(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'builtin.unrealized_conversion_cast' op is not a scalar operation that kernels compute}}
    %0 = builtin.unrealized_conversion_cast %e : f32 to f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

kern.func @vectors(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'arith.constant' op is not a scalar operation that kernels compute}}
    %0 = arith.constant dense<1.0> : vector<4xf32>
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @function_of_no_target(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'math.cbrt' op is not a scalar operation that kernels compute}}
    %0 = math.cbrt %e : f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

kern.func @small_integers(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'arith.fptosi' op is not a scalar operation that kernels compute}}
    %0 = arith.fptosi %e : f32 to i8
    kern.yield %e : f32
  }
  kern.return
}

// -----

kern.func @fast_math(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    // expected-error @+1 {{'arith.addf' op has fast-math flags; every rounding is written down}}
    %0 = arith.addf %e, %e fastmath<contract> : f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

kern.func @index_of_other_rank(%y: memref<4xi64>) attributes {inputs = 0 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins() at [] outs(%y : memref<4xi64>) at [#kern.access<0, [1]>] accumulate [false] {
    // expected-error @+1 {{'kern.index' op has 2 strides in a domain of rank 1}}
    %0 = kern.index <0, [1, 1]> : i64
    kern.yield %0 : i64
  }
  kern.return
}

// -----

kern.func @guarded_index(%y: memref<4xi64>) attributes {inputs = 0 : i64} {
  kern.fused elementwise [4] calls [0, 4] ins() at [] outs(%y : memref<4xi64>) at [#kern.access<0, [1]>] accumulate [false] {
    // expected-error @+1 {{'kern.index' op has guards}}
    %0 = kern.index <0, [1] if [0, 0, 2]> : i64
    kern.yield %0 : i64
  }
  kern.return
}

// -----

// What is written once a row must be the same for all of it: a load along the row
// is not, nor is an index, nor a guarded load.
kern.func @row_result_varies(%x: memref<4x8xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 has one element a row, but its value varies within the row}}
  kern.fused row [4, 8] calls [0, 4] ins(%x : memref<4x8xf32>) at [#kern.access<0, [8, 1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [false] {
  ^bb0(%e: f32):
    %s = kern.reduce sum %e : f32
    %d = arith.subf %s, %e : f32
    kern.yield %d : f32
  }
  kern.return
}

// -----

kern.func @row_index_varies(%y: memref<4xi64>) attributes {inputs = 0 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 has one element a row, but its value varies within the row}}
  kern.fused row [4, 8] calls [0, 4] ins() at [] outs(%y : memref<4xi64>) at [#kern.access<0, [1, 0]>] accumulate [false] {
    %0 = kern.index <0, [0, 1]> : i64
    kern.yield %0 : i64
  }
  kern.return
}

// -----

kern.func @row_guard_varies(%x: memref<4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 has one element a row, but its value varies within the row}}
  kern.fused row [4, 8] calls [0, 4] ins(%x : memref<4xf32>) at [#kern.access<0, [1, 0] if [1, 0, 2]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [false] {
  ^bb0(%e: f32):
    kern.yield %e : f32
  }
  kern.return
}

// -----

// A sum over columns starts from what is there, which what is computed from it
// cannot.
kern.func @adds_more_than_the_sum(%x: memref<8x4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 accumulates, but its value is not the sum itself}}
  kern.fused column [4, 8] calls [0, 4] ins(%x : memref<8x4xf32>) at [#kern.access<0, [1, 4]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
  ^bb0(%e: f32):
    %s = kern.reduce sum %e : f32
    %n = arith.negf %s : f32
    kern.yield %n : f32
  }
  kern.return
}

// -----

kern.func @adds_a_maximum(%x: memref<8x4xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  // expected-error @+1 {{'kern.fused' op output 0 accumulates, but its value is not the sum itself}}
  kern.fused column [4, 8] calls [0, 4] ins(%x : memref<8x4xf32>) at [#kern.access<0, [1, 4]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
  ^bb0(%e: f32):
    %s = kern.reduce max %e : f32
    kern.yield %s : f32
  }
  kern.return
}

// -----

// A row kernel adds what it knows by then, a sum or not: no error.
kern.func @row_adds_a_maximum(%x: memref<4x8xf32>, %y: memref<4xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [4, 8] calls [0, 4] ins(%x : memref<4x8xf32>) at [#kern.access<0, [8, 1]>] outs(%y : memref<4xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
  ^bb0(%e: f32):
    %s = kern.reduce max %e : f32
    kern.yield %s : f32
  }
  kern.return
}
