// RUN: rondo-opt %s | rondo-opt | FileCheck %s
// RUN: rondo-opt %s --pass-pipeline='builtin.module(kern.func(rondo-kern-estimate-cost{flops=100 scalar=10 bandwidth=1000 latency=7}))' | FileCheck %s --check-prefix=COST
// RUN: rondo-opt %s --pass-pipeline='builtin.module(kern.func(rondo-kern-plan-scratch,rondo-kern-verify-scratch))' -o - | FileCheck %s --check-prefix=SCRATCH

// Of 64 x 64 pairs of each head half and the diagonal are seen: 2 x 2 products of 64; half the products' rate.
// COST-LABEL: kern.func @forward
// COST-SAME: flops = 1.064960e+06
// COST-SAME: time = 2.130620e+04 : f64
// Nothing of the workspace is read, and it is written by its op alone.
// SCRATCH-LABEL: kern.func @forward
// SCRATCH-SAME: scratch = 1056768 : i64
// CHECK-LABEL: kern.func @forward
// CHECK: kern.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {{{.*}}causal{{.*}}} : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>
kern.func @forward(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// A window of 16: 16 x 17 / 2 + 48 x 16 pairs; five products.
// COST-LABEL: kern.func @backward
// COST-SAME: flops = 1.157120e+06
// CHECK-LABEL: kern.func @backward
// CHECK: kern.attention_grad {{.*}}block_batch = 1 : i64, block_heads = 2 : i64, block_keys = 64 : i64, block_rows = 64 : i64{{.*}}window = 16 : i64
kern.func @backward(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>, %c: memref<1x2x64x64xbf16>,
                    %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 6 : i64} {
  %w = kern.scratch : memref<500000xf32>
  kern.attention_grad %q, %k, %v, %o, %l, %c, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, window = 16 : i64, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 64 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}
