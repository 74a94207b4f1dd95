// The code that GPUs run: how a kernel is shared out, which accesses are wide,
// and that sums and products become one only where they are written so.
// RUN: rondo-opt %s --rondo-print-ptx --split-input-file -o /dev/null | FileCheck %s

// A thread takes four elements at a time.
// CHECK-LABEL: // @elementwise kernel_{{[0-9a-f]+}}_www grid 1x1x1 block 256x1x1
// CHECK: .version 7.0
// CHECK: .target sm_80
// CHECK: .maxntid 256, 1, 1
// CHECK-NOT: fma.rn
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: mul.rn.f32
// CHECK: add.rn.f32
// CHECK: st.global.v4.b32
// CHECK: ret;
kern.func @elementwise(%x: memref<4x256xf32>, %y: memref<4x256xf32>, %r: memref<4x256xf32>) attributes {inputs = 2 : i64} {
  kern.fused elementwise [1024] calls [0, 1024] ins(%x, %y : memref<4x256xf32>, memref<4x256xf32>)
      at [#kern.access<0, [1]>, #kern.access<0, [1]>]
      outs(%r : memref<4x256xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %b : f32
    kern.yield %1 : f32
  }
  kern.return
}

// -----

// Eight bf16 are 16 bytes; a transposed input is read one by one; more than one
// million blocks go round.
// CHECK-LABEL: // @wide kernel_{{[0-9a-f]+}}_wnw grid 65536x1x1 block 256x1x1
// CHECK: ld.global.v4.b32
// CHECK-COUNT-8: ld.global.b16
// CHECK: st.global.v4.b32
// CHECK: bra
kern.func @wide(%x: memref<32768x8192xbf16>, %y: memref<8192x32768xbf16>, %r: memref<32768x8192xbf16>) attributes {inputs = 2 : i64} {
  kern.fused elementwise [32768, 8192] calls [0, 32768] ins(%x, %y : memref<32768x8192xbf16>, memref<8192x32768xbf16>)
      at [#kern.access<0, [8192, 1]>, #kern.access<0, [1, 32768]>]
      outs(%r : memref<32768x8192xbf16>) at [#kern.access<0, [8192, 1]>] accumulate [false] {
  ^bb0(%a: bf16, %b: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = math.fma %0, %1, %1 : f32
    %3 = arith.truncf %2 : f32 to bf16
    kern.yield %3 : bf16
  }
  kern.return
}

// -----

// Where it begins decides whether 16 bytes are aligned: part of the name.
// CHECK-LABEL: // @aligned
// CHECK-SAME: kernel_[[HASH:[0-9a-f]+]]_ww grid
// CHECK: // @aligned kernel_[[HASH]]_nw grid
// CHECK-NOT: ld.global.b32
// CHECK: .entry kernel_[[HASH]]_ww(
// CHECK: ld.global.v4.b32
// CHECK: .entry kernel_[[HASH]]_nw(
// CHECK-COUNT-4: ld.global.b32
kern.func @aligned(%x: memref<1032xf32>, %r: memref<1024xf32>, %s: memref<1024xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [1024] calls [0, 1024] ins(%x : memref<1032xf32>) at [#kern.access<4, [1]>]
      outs(%r : memref<1024xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%a: f32):
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  kern.fused elementwise [1024] calls [0, 1024] ins(%x : memref<1032xf32>) at [#kern.access<5, [1]>]
      outs(%s : memref<1024xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%a: f32):
    %0 = arith.negf %a : f32
    kern.yield %0 : f32
  }
  kern.return
}

// -----

// A warp takes a short row, or several shorter ones: no shared memory, no
// barrier. Beyond the last row that row is computed again, and not stored.
// CHECK-LABEL: // @warp kernel_{{[0-9a-f]+}}_ww grid 3x1x1 block 64x1x1
// CHECK-NOT: .shared
// CHECK-NOT: bar.sync
// CHECK: min.{{[su]}}
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: max.NaN.f32
// CHECK-NOT: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// CHECK: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// CHECK: st.global.v4.b32
kern.func @warp(%x: memref<17x64xf32>, %y: memref<17x64xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [17, 64] calls [0, 17] ins(%x : memref<17x64xf32>) at [#kern.access<0, [64, 1]>]
      outs(%y : memref<17x64xf32>) at [#kern.access<0, [64, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %m = kern.reduce max %e : f32
    %d = arith.subf %e, %m : f32
    kern.yield %d : f32
  }
  kern.return
}

// -----

// A block takes a longer one; what was loaded stays in registers for the second
// pass.
// CHECK-LABEL: // @block kernel_{{[0-9a-f]+}}_ww grid 16x1x1 block 256x1x1
// CHECK: .entry
// CHECK-COUNT-4: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: bar.sync
// CHECK-COUNT-4: st.global.v4.b32
kern.func @block(%x: memref<16x4096xf32>, %y: memref<16x4096xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [16, 4096] calls [0, 16] ins(%x : memref<16x4096xf32>) at [#kern.access<0, [4096, 1]>]
      outs(%y : memref<16x4096xf32>) at [#kern.access<0, [4096, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %m = kern.reduce sum %e : f32
    %d = arith.subf %e, %m : f32
    kern.yield %d : f32
  }
  kern.return
}

// -----

// Sixteen groups of rows; the first adds to what is there.
// CHECK-LABEL: // @column kernel_{{[0-9a-f]+}}_nn grid 2x1x1 block 32x16x1
// CHECK: .shared
// CHECK-COUNT-8: bar.sync
// CHECK: ld.global.b32
// CHECK-NEXT: add.rn.f32
// CHECK-NEXT: st.global.b32
kern.func @column(%x: memref<256x64xf32>, %y: memref<64xf32>) attributes {inputs = 1 : i64} {
  kern.fused column [64, 256] calls [0, 64] ins(%x : memref<256x64xf32>) at [#kern.access<0, [1, 64]>]
      outs(%y : memref<64xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
  ^bb0(%e: f32):
    %m = kern.reduce sum %e : f32
    kern.yield %m : f32
  }
  kern.return
}

// -----

// Few long columns are summed in parts; the last block of a column joins them.
// CHECK-LABEL: // @parts kernel_{{[0-9a-f]+}}_nn grid 2x8x1 block 32x16x1
// CHECK: fence.acq_rel.gpu
// CHECK: bar.sync
// CHECK: atom.{{.*}}add.u32
// CHECK: st.shared
// CHECK: bar.sync
// CHECK: fence.acq_rel.gpu
// CHECK: add.rn.f32
kern.func @parts(%x: memref<4096x64xf32>, %y: memref<64xf32>) attributes {inputs = 1 : i64} {
  kern.fused column [64, 4096] calls [0, 64] ins(%x : memref<4096x64xf32>) at [#kern.access<0, [1, 64]>]
      outs(%y : memref<64xf32>) at [#kern.access<0, [1, 0]>] accumulate [true] {
  ^bb0(%e: f32):
    %m = kern.reduce sum %e : f32
    kern.yield %m : f32
  }
  kern.return
}

// -----

// Functions are expanded: calls of none are left, nor the GPU's approximate ones.
// CHECK-LABEL: // @functions
// CHECK-NOT: {{call|\.extern|\.approx|__nv}}
// CHECK: div.rn.f32
// CHECK-NOT: {{call|\.extern|\.approx|__nv}}
// CHECK: ret;
kern.func @functions(%x: memref<64xf32>, %y: memref<64xf32>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [64] calls [0, 64] ins(%x : memref<64xf32>) at [#kern.access<0, [1]>]
      outs(%y : memref<64xf32>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    %0 = math.exp %e : f32
    %1 = math.log %0 : f32
    %2 = math.tanh %1 : f32
    %3 = math.erf %2 : f32
    %4 = math.sin %3 : f32
    %5 = math.cos %4 : f32
    %6 = math.powf %5, %e : f32
    %7 = math.rsqrt %6 : f32
    kern.yield %7 : f32
  }
  kern.return
}

// -----

// The sigmoid's quotient needs no branches: its divisor is at least 1. bf16 has
// an instruction that rounds.
// CHECK-LABEL: // @sigmoid
// CHECK-NOT: div.rn
// CHECK: rcp.approx.ftz.f32
// CHECK-COUNT-2: fma.rn.f32
// CHECK-NOT: div.rn
// CHECK: cvt.rn.bf16x2.f32
// CHECK: ret;
kern.func @sigmoid(%x: memref<64xf32>, %y: memref<64xbf16>) attributes {inputs = 1 : i64} {
  kern.fused elementwise [64] calls [0, 64] ins(%x : memref<64xf32>) at [#kern.access<0, [1]>]
      outs(%y : memref<64xbf16>) at [#kern.access<0, [1]>] accumulate [false] {
  ^bb0(%e: f32):
    %one = arith.constant 1.0 : f32
    %0 = arith.negf %e : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %1, %one : f32
    %3 = arith.divf %one, %2 : f32
    %4 = arith.truncf %3 : f32 to bf16
    kern.yield %4 : bf16
  }
  kern.return
}

// -----

// Rotary embedding reads the other half once, at an address that depends on the
// side, and multiplies once.
// CHECK-LABEL: // @halves
// CHECK: .entry
// CHECK-COUNT-3: ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: neg.f32
// CHECK: st.global.v4.b32
// CHECK: ret;
kern.func @halves(%x: memref<64x6x16xbf16>, %c: memref<64x16xbf16>, %y: memref<6x64x16xbf16>) attributes {inputs = 2 : i64} {
  kern.fused elementwise [6, 64, 16] calls [0, 6] ins(%x, %x, %x, %c : memref<64x6x16xbf16>, memref<64x6x16xbf16>, memref<64x6x16xbf16>, memref<64x16xbf16>)
      at [#kern.access<0, [16, 96, 1]>, #kern.access<-8, [16, 96, 1] if[2, 8, 16]>, #kern.access<8, [16, 96, 1] if[2, 0, 8]>, #kern.access<0, [0, 16, 1]>]
      outs(%y : memref<6x64x16xbf16>) at [#kern.access<0, [1024, 16, 1]>] accumulate [false] {
  ^bb0(%e: bf16, %back: bf16, %ahead: bf16, %t: bf16):
    %0 = arith.extf %ahead : bf16 to f32
    %1 = arith.negf %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    %i = kern.index <0, [0, 0, 1]> : i64
    %c8 = arith.constant 8 : i64
    %low = arith.cmpi slt, %i, %c8 : i64
    %3 = arith.select %low, %2, %back : bf16
    %4 = arith.extf %3 : bf16 to f32
    %5 = arith.extf %t : bf16 to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = arith.extf %e : bf16 to f32
    %8 = arith.addf %6, %7 : f32
    %9 = arith.truncf %8 : f32 to bf16
    kern.yield %9 : bf16
  }
  kern.return
}

// -----

// A row that registers do not hold is read twice, not three times: its maximum
// and the sum of exponentials are found together. `afn` allows the GPU's own
// function.
// CHECK-LABEL: // @long_softmax kernel_{{[0-9a-f]+}}_ww grid 4x1x1 block 512x1x1
// CHECK: .entry
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: max.NaN.f32
// CHECK: ex2.approx.ftz.f32
// CHECK: shfl.sync.bfly
// CHECK-COUNT-2: ld.global.v4.b32
// CHECK: ex2.approx.ftz.f32
// CHECK: st.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: ret;
kern.func @long_softmax(%x: memref<4x65536xf32>, %y: memref<4x65536xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [4, 65536] calls [0, 4] ins(%x : memref<4x65536xf32>) at [#kern.access<0, [65536, 1]>]
      outs(%y : memref<4x65536xf32>) at [#kern.access<0, [65536, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %m = kern.reduce max %e : f32
    %d = arith.subf %e, %m : f32
    %p = math.exp %d fastmath<afn> : f32
    %s = kern.reduce sum %p : f32
    %q = arith.divf %p, %s : f32
    kern.yield %q : f32
  }
  kern.return
}

// -----

// What a row holds besides keeps its passes: the sum is of other values.
// CHECK-LABEL: // @long_variance
// CHECK: .entry
// CHECK-COUNT-6: ld.global.v4.b32
// CHECK: ret;
kern.func @long_variance(%x: memref<4x65536xf32>, %y: memref<4x65536xf32>) attributes {inputs = 1 : i64} {
  kern.fused row [4, 65536] calls [0, 4] ins(%x : memref<4x65536xf32>) at [#kern.access<0, [65536, 1]>]
      outs(%y : memref<4x65536xf32>) at [#kern.access<0, [65536, 1]>] accumulate [false] {
  ^bb0(%e: f32):
    %m = kern.reduce max %e : f32
    %d = arith.subf %e, %m : f32
    %p = arith.mulf %d, %d : f32
    %s = kern.reduce sum %p : f32
    %q = arith.divf %p, %s : f32
    kern.yield %q : f32
  }
  kern.return
}

// -----

// An index out of range sets the last parameter.
// CHECK-LABEL: // @rows kernel_{{[0-9a-f]+}} grid 1x1x1 block 256x1x1
// CHECK: // @rows kernel_{{[0-9a-f]+}} grid 6x1x1 block 256x1x1
// CHECK: .entry
// CHECK: param_3
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32
// CHECK: st.global.b32 [{{.*}}], 1;
// CHECK: .entry
// CHECK: param_3
// CHECK: vote.sync.ballot.b32
// CHECK-NOT: atom
// CHECK: add.rn.f32
kern.func @rows(%table: memref<9x16xf32>, %index: memref<6xi64>, %rows: memref<6x16xf32>, %sum: memref<9x16xf32>) attributes {inputs = 2 : i64} {
  kern.gather %table, %index, %rows {outer = 1 : i64, extents = array<i64: 9>, count = 6 : i64, inner = 16 : i64}
    : memref<9x16xf32>, memref<6xi64>, memref<6x16xf32>
  kern.scatter_add %rows, %index, %sum {outer = 1 : i64, extent = 9 : i64, count = 6 : i64, inner = 16 : i64}
    : memref<6x16xf32>, memref<6xi64>, memref<9x16xf32>
  kern.return
}
