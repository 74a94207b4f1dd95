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
/// for so long. rondo_round(values, begin, end): elements [begin, end) of f32
/// become bf16, element i at byte 2 i; each thread takes four, and each block
/// reads all of its own before it writes any.
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
)ptx";

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAKERNELS_H
