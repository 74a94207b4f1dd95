//===- Kernels.cu - GPU kernels of the tests' programs --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Kernels.c, with the status word last. Kernels.ptx is made from this by
//   nvcc -ptx -arch=sm_80 --fmad=false Kernels.cu
// with its .version lowered to 7.0, so that older drivers take it, too.
//
//===----------------------------------------------------------------------===//

#include "ToyShape.h"
#include <stdint.h>

#define KERNEL extern "C" __global__ void

static __device__ float widen(uint16_t half) { return __uint_as_float((uint32_t)half << 16); }
static __device__ int thread() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }

KERNEL add_bias(float *h, const float *b, const float *shift) {
  int i = thread();
  if (i < TOY_ROWS * TOY_COLUMNS)
    h[i] += b[i % TOY_COLUMNS] + shift[i % TOY_COLUMNS];
}

KERNEL add_bias_bf16(float *h, const uint16_t *b, const uint16_t *shift) {
  int i = thread();
  if (i < TOY_ROWS * TOY_COLUMNS)
    h[i] += widen(b[i % TOY_COLUMNS]) + widen(shift[i % TOY_COLUMNS]);
}

KERNEL square_loss(float *y, const int64_t *labels, const float *seed, float *result, int32_t *status) {
  float valid = 0, loss = 0;
#pragma unroll 1
  for (int row = 0; row < TOY_ROWS; ++row) {
    if (labels[row] >= 1000) {
      *status = 1;
      return;
    }
    if (labels[row] >= 0)
      valid += 1;
  }
#pragma unroll 1
  for (int i = 0; i < TOY_ROWS * TOY_COLUMNS; ++i) {
    int64_t label = labels[i / TOY_COLUMNS];
    float difference = y[i] - (float)label;
    if (label >= 0)
      loss += difference * difference;
    y[i] = label < 0 ? 0 : *seed * 2 * difference / valid;
  }
  *result = loss / valid;
}

KERNEL bias_gradient(const float *dh, float *gb) {
  int column = thread();
  if (column >= TOY_COLUMNS)
    return;
#pragma unroll 1
  for (int row = 0; row < TOY_ROWS; ++row)
    gb[column] += dh[row * TOY_COLUMNS + column];
}

/* For 900 ms. */
KERNEL sleep_ms() {
  uint64_t begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < 900000000ull);
}

KERNEL iota(float *target, const float *addend) { target[threadIdx.x] = (float)threadIdx.x + *addend; }

/* Writes where nothing is. */
KERNEL fault(float *target) { *(volatile float *)((char *)target + (1ull << 40)) = 1; }

static __device__ uint16_t narrow(float value) {
  uint32_t bits = __float_as_uint(value);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* One element a thread: g, in, out, m, v, copy or null, scalars. */
static __device__ void adamw(const float *g, const float *in, float *out, float *m, float *v, uint16_t *copy, const float *scalars, int i) {
  float rate = scalars[0], beta1 = scalars[1], beta2 = scalars[2], epsilon = scalars[3], decay = scalars[4];
  float correction1 = scalars[5], correction2 = scalars[6], coefficient = scalars[7];
  float p = in[i];
  if (coefficient >= 0) {
    float gradient = g[i] * coefficient;
    p *= 1 - rate * decay;
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    p -= rate / correction1 * m[i] / (sqrtf(v[i]) / correction2 + epsilon);
    out[i] = p;
  }
  if (copy)
    copy[i] = narrow(p);
}

/* Threads are exactly as many as elements. */
KERNEL adamw_f32_or_skip(const float *g, const float *in, float *out, float *m, float *v, const float *scalars) {
  adamw(g, in, out, m, v, 0, scalars, thread());
}

KERNEL adamw_copy_or_skip(const float *g, const float *in, float *out, float *m, float *v, uint16_t *copy, const float *scalars) {
  adamw(g, in, out, m, v, copy, scalars, thread());
}
