// What no GPU code is generated for.
// RUN: rondo-opt %s --rondo-print-ptx --split-input-file --verify-diagnostics -o /dev/null

kern.func @f64(%x: memref<64xf64>, %y: memref<64xf64>) attributes {inputs = 1 : i64} {
  // expected-error@+1 {{needs tanh of f64, for which there is no GPU code; compute it in f32, or compile with --target=host}}
  kern.fused elementwise [64] calls [0, 64] ins(%x : memref<64xf64>) at [#kern.access<0, [1]>]
      outs(%y : memref<64xf64>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f64):
    %0 = math.tanh %e : f64
    kern.yield %0 : f64
  }
  kern.return
}
