//===- CudaKernels.h - Kernels of the CUDA device itself --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, so that nothing of CUDA is needed to build it; the driver compiles it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAKERNELS_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAKERNELS_H

namespace rondo::runtime::cuda {

/// rondo_widen(source, target, elements, columns, leading, half): packs a
/// matrix of bf16 (half: f16) as f32. rondo_delay(nanoseconds): does nothing
/// for so long. rondo_add_part adds bf16 to f32, group by group (y of the
/// grid); rondo_round_rows rounds packed rows of f32 to rows that lie apart.
/// rondo_round(values, begin, end): elements [begin, end) of f32 become bf16,
/// element i at byte 2 i; each thread takes four, and each block reads all of
/// its own before it writes any. rondo_fill(target, words): random
/// bits, but such that every float, bf16 and f16 in them is of moderate size.
constexpr char kOwnKernels[] = R"ptx(
.version 7.0
.target sm_80
.address_size 64

// source, target, elements, columns, leading, half
.visible .entry rondo_widen(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5)
{
  .reg .pred %p<3>;
  .reg .b16 %h<2>;
  .reg .b32 %r<8>;
  .reg .f32 %f<2>;
  .reg .b64 %d<20>;
  ld.param.u64 %d0, [p0];
  ld.param.u64 %d1, [p1];
  ld.param.u64 %d2, [p2];
  ld.param.u64 %d3, [p3];
  ld.param.u64 %d4, [p4];
  ld.param.u64 %d5, [p5];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d6, %r0, %r1;
  cvt.u64.u32 %d7, %r2;
  add.u64 %d6, %d6, %d7;
  mul.wide.u32 %d8, %r3, %r1;
  setp.ne.u64 %p1, %d5, 0;
next:
  setp.ge.u64 %p0, %d6, %d2;
  @%p0 bra done;
  div.u64 %d9, %d6, %d3;
  mul.lo.u64 %d10, %d9, %d3;
  sub.u64 %d11, %d6, %d10;
  mad.lo.u64 %d12, %d9, %d4, %d11;
  shl.b64 %d13, %d12, 1;
  add.u64 %d14, %d0, %d13;
  ld.global.b16 %h0, [%d14];
  @%p1 bra narrow;
  cvt.u32.u16 %r4, %h0;
  shl.b32 %r5, %r4, 16;
  mov.b32 %f0, %r5;
  bra store;
narrow:
  cvt.f32.f16 %f0, %h0;
store:
  shl.b64 %d15, %d6, 2;
  add.u64 %d16, %d1, %d15;
  st.global.f32 [%d16], %f0;
  add.u64 %d6, %d6, %d8;
  bra next;
done:
  ret;
}

// target, words
.visible .entry rondo_fill(.param .u64 p0, .param .u64 p1)
{
  .reg .pred %p<1>;
  .reg .b32 %r<8>;
  .reg .b64 %d<8>;
  ld.param.u64 %d0, [p0];
  ld.param.u64 %d1, [p1];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d2, %r0, %r1;
  cvt.u64.u32 %d3, %r2;
  add.u64 %d2, %d2, %d3;
  mul.wide.u32 %d4, %r3, %r1;
more:
  setp.ge.u64 %p0, %d2, %d1;
  @%p0 bra filled;
  cvt.u32.u64 %r4, %d2;
  mul.lo.u32 %r4, %r4, 0x9e3779b1;
  shr.u32 %r5, %r4, 16;
  xor.b32 %r4, %r4, %r5;
  mul.lo.u32 %r4, %r4, 0x85ebca6b;
  shr.u32 %r5, %r4, 13;
  xor.b32 %r4, %r4, %r5;
  and.b32 %r4, %r4, 0x807f807f;
  or.b32 %r4, %r4, 0x3f003f00;
  shl.b64 %d5, %d2, 2;
  add.u64 %d6, %d0, %d5;
  st.global.u32 [%d6], %r4;
  add.u64 %d2, %d2, %d4;
  bra more;
filled:
  ret;
}

// values, begin, end
.visible .entry rondo_round(.param .u64 p0, .param .u64 p1, .param .u64 p2)
{
  .reg .pred %p<3>;
  .reg .b16 %h<4>;
  .reg .b32 %r<4>;
  .reg .f32 %f<4>;
  .reg .b64 %d<10>;
  ld.param.u64 %d0, [p0];
  ld.param.u64 %d1, [p1];
  ld.param.u64 %d2, [p2];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %d3, %r0, %r1;
  cvt.u64.u32 %d4, %r2;
  add.u64 %d3, %d3, %d4;
  shl.b64 %d3, %d3, 2;
  add.u64 %d3, %d3, %d1;
  shl.b64 %d4, %d3, 2;
  add.u64 %d4, %d0, %d4;
  shl.b64 %d5, %d3, 1;
  add.u64 %d5, %d0, %d5;
  add.u64 %d6, %d3, 4;
  setp.le.u64 %p0, %d6, %d2;
  setp.lt.u64 %p1, %d3, %d2;
  @%p0 bra whole;
  @!%p1 bra meet;
  ld.global.f32 %f0, [%d4];
  add.u64 %d7, %d3, 1;
  setp.lt.u64 %p2, %d7, %d2;
  @%p2 ld.global.f32 %f1, [%d4+4];
  add.u64 %d7, %d3, 2;
  setp.lt.u64 %p2, %d7, %d2;
  @%p2 ld.global.f32 %f2, [%d4+8];
  bra meet;
whole:
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d4];
meet:
  bar.sync 0;
  @!%p1 bra done;
  cvt.rn.bf16.f32 %h0, %f0;
  @%p0 bra write;
  st.global.b16 [%d5], %h0;
  add.u64 %d7, %d3, 1;
  setp.lt.u64 %p2, %d7, %d2;
  @!%p2 bra done;
  cvt.rn.bf16.f32 %h1, %f1;
  st.global.b16 [%d5+2], %h1;
  add.u64 %d7, %d3, 2;
  setp.lt.u64 %p2, %d7, %d2;
  @!%p2 bra done;
  cvt.rn.bf16.f32 %h2, %f2;
  st.global.b16 [%d5+4], %h2;
  bra done;
write:
  cvt.rn.bf16.f32 %h1, %f1;
  cvt.rn.bf16.f32 %h2, %f2;
  cvt.rn.bf16.f32 %h3, %f3;
  st.global.v4.b16 [%d5], {%h0, %h1, %h2, %h3};
done:
  ret;
}

// nanoseconds
.visible .entry rondo_delay(.param .u64 p0)
{
  .reg .pred %p<1>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [p0];
  mov.u64 %d1, %globaltimer;
again:
  mov.u64 %d2, %globaltimer;
  sub.u64 %d3, %d2, %d1;
  setp.lt.u64 %p0, %d3, %d0;
  @%p0 bra again;
  ret;
}

// part, sum, vectors of 8 elements, elements of a group of part, of sum, half
.visible .entry rondo_add_part(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5)
{
  .reg .pred %p<2>;
  .reg .b16 %h<8>;
  .reg .b32 %r<12>;
  .reg .f32 %f<16>;
  .reg .b64 %d<12>;
  ld.param.u64 %d0, [p0];
  ld.param.u64 %d1, [p1];
  ld.param.u64 %d2, [p2];
  ld.param.u64 %d3, [p3];
  ld.param.u64 %d4, [p4];
  ld.param.u64 %d5, [p5];
  mov.u32 %r0, %ctaid.y;
  cvt.u64.u32 %d6, %r0;
  mul.lo.u64 %d7, %d6, %d3;
  shl.b64 %d7, %d7, 1;
  add.u64 %d0, %d0, %d7;
  mul.lo.u64 %d7, %d6, %d4;
  shl.b64 %d7, %d7, 2;
  add.u64 %d1, %d1, %d7;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d6, %r0, %r1;
  cvt.u64.u32 %d7, %r2;
  add.u64 %d6, %d6, %d7;
  mul.wide.u32 %d8, %r3, %r1;
  setp.ne.u64 %p1, %d5, 0;
next:
  setp.ge.u64 %p0, %d6, %d2;
  @%p0 bra done;
  shl.b64 %d9, %d6, 4;
  add.u64 %d10, %d0, %d9;
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%d10];
  shl.b64 %d9, %d6, 5;
  add.u64 %d11, %d1, %d9;
  ld.global.v4.f32 {%f8, %f9, %f10, %f11}, [%d11];
  ld.global.v4.f32 {%f12, %f13, %f14, %f15}, [%d11+16];
  @%p1 bra narrow;
  shl.b32 %r8, %r4, 16;
  mov.b32 %f0, %r8;
  and.b32 %r8, %r4, 0xffff0000;
  mov.b32 %f1, %r8;
  shl.b32 %r8, %r5, 16;
  mov.b32 %f2, %r8;
  and.b32 %r8, %r5, 0xffff0000;
  mov.b32 %f3, %r8;
  shl.b32 %r8, %r6, 16;
  mov.b32 %f4, %r8;
  and.b32 %r8, %r6, 0xffff0000;
  mov.b32 %f5, %r8;
  shl.b32 %r8, %r7, 16;
  mov.b32 %f6, %r8;
  and.b32 %r8, %r7, 0xffff0000;
  mov.b32 %f7, %r8;
  bra sum;
narrow:
  mov.b32 {%h0, %h1}, %r4;
  cvt.f32.f16 %f0, %h0;
  cvt.f32.f16 %f1, %h1;
  mov.b32 {%h0, %h1}, %r5;
  cvt.f32.f16 %f2, %h0;
  cvt.f32.f16 %f3, %h1;
  mov.b32 {%h0, %h1}, %r6;
  cvt.f32.f16 %f4, %h0;
  cvt.f32.f16 %f5, %h1;
  mov.b32 {%h0, %h1}, %r7;
  cvt.f32.f16 %f6, %h0;
  cvt.f32.f16 %f7, %h1;
sum:
  add.rn.f32 %f8, %f8, %f0;
  add.rn.f32 %f9, %f9, %f1;
  add.rn.f32 %f10, %f10, %f2;
  add.rn.f32 %f11, %f11, %f3;
  add.rn.f32 %f12, %f12, %f4;
  add.rn.f32 %f13, %f13, %f5;
  add.rn.f32 %f14, %f14, %f6;
  add.rn.f32 %f15, %f15, %f7;
  st.global.v4.f32 [%d11], {%f8, %f9, %f10, %f11};
  st.global.v4.f32 [%d11+16], {%f12, %f13, %f14, %f15};
  add.u64 %d6, %d6, %d8;
  bra next;
done:
  ret;
}

// sum, target, vectors of 8 elements, those of a row, rows, heads, strides of
// target (batch, head, row), half
.visible .entry rondo_round_rows(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u64 p7, .param .u64 p8, .param .u64 p9)
{
  .reg .pred %p<2>;
  .reg .b32 %r<12>;
  .reg .f32 %f<8>;
  .reg .b64 %d<24>;
  ld.param.u64 %d0, [p0];
  ld.param.u64 %d1, [p1];
  ld.param.u64 %d2, [p2];
  ld.param.u64 %d3, [p3];
  ld.param.u64 %d4, [p4];
  ld.param.u64 %d5, [p5];
  ld.param.u64 %d6, [p6];
  ld.param.u64 %d7, [p7];
  ld.param.u64 %d8, [p8];
  ld.param.u64 %d9, [p9];
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %d10, %r0, %r1;
  cvt.u64.u32 %d11, %r2;
  add.u64 %d10, %d10, %d11;
  mul.wide.u32 %d12, %r3, %r1;
  setp.ne.u64 %p1, %d9, 0;
next:
  setp.ge.u64 %p0, %d10, %d2;
  @%p0 bra done;
  shl.b64 %d13, %d10, 5;
  add.u64 %d13, %d0, %d13;
  ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d13];
  ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%d13+16];
  div.u64 %d14, %d10, %d3;
  mul.lo.u64 %d15, %d14, %d3;
  sub.u64 %d15, %d10, %d15;
  div.u64 %d16, %d14, %d4;
  mul.lo.u64 %d17, %d16, %d4;
  sub.u64 %d17, %d14, %d17;
  div.u64 %d18, %d16, %d5;
  mul.lo.u64 %d19, %d18, %d5;
  sub.u64 %d19, %d16, %d19;
  shl.b64 %d20, %d15, 3;
  mad.lo.u64 %d20, %d17, %d8, %d20;
  mad.lo.u64 %d20, %d19, %d7, %d20;
  mad.lo.u64 %d20, %d18, %d6, %d20;
  shl.b64 %d20, %d20, 1;
  add.u64 %d20, %d1, %d20;
  @%p1 bra narrow;
  cvt.rn.bf16x2.f32 %r4, %f1, %f0;
  cvt.rn.bf16x2.f32 %r5, %f3, %f2;
  cvt.rn.bf16x2.f32 %r6, %f5, %f4;
  cvt.rn.bf16x2.f32 %r7, %f7, %f6;
  bra store;
narrow:
  cvt.rn.f16x2.f32 %r4, %f1, %f0;
  cvt.rn.f16x2.f32 %r5, %f3, %f2;
  cvt.rn.f16x2.f32 %r6, %f5, %f4;
  cvt.rn.f16x2.f32 %r7, %f7, %f6;
store:
  st.global.v4.b32 [%d20], {%r4, %r5, %r6, %r7};
  add.u64 %d10, %d10, %d12;
  bra next;
done:
  ret;
}
)ptx";

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAKERNELS_H
