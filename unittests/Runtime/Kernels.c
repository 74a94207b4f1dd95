/*===- Kernels.c - Host kernels of the tests' programs ---------------------===*\
|*                                                                            *|
|* Part of the Rondo project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* Of the form that the compiler generates: int32_t f(void *const *pointers,  *|
|* int64_t begin, int64_t end). ProgramBuilder.h says what they are for.      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "ToyShape.h"
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define KERNEL __attribute__((visibility("default"))) int32_t

static float widen(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

enum { kRows = TOY_ROWS, kColumns = TOY_COLUMNS };

/* h (rows x columns), b, shift; begin, end count elements of h. */
KERNEL add_bias(void *const *pointers, int64_t begin, int64_t end) {
  float *h = pointers[0];
  const float *b = pointers[1], *shift = pointers[2];
  for (int64_t i = begin; i < end; ++i)
    h[i] += b[i % kColumns] + shift[i % kColumns];
  return 0;
}

KERNEL add_bias_bf16(void *const *pointers, int64_t begin, int64_t end) {
  float *h = pointers[0];
  const uint16_t *b = pointers[1], *shift = pointers[2];
  for (int64_t i = begin; i < end; ++i)
    h[i] += widen(b[i % kColumns]) + widen(shift[i % kColumns]);
  return 0;
}

/* y (rows x columns) becomes dy; labels, seed, loss. The loss is the mean over rows with label >= 0 of
   sum over columns of (y - label)^2. begin, end count rows; run whole. */
KERNEL square_loss(void *const *pointers, int64_t begin, int64_t end) {
  float *y = pointers[0];
  const int64_t *labels = pointers[1];
  float seed = *(const float *)pointers[2];
  float valid = 0, loss = 0;
  for (int64_t row = begin; row < end; ++row)
    if (labels[row] >= 1000)
      return 1;
  for (int64_t row = begin; row < end; ++row)
    if (labels[row] >= 0)
      valid += 1;
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      float difference = y[row * kColumns + column] - (float)labels[row];
      if (labels[row] < 0) {
        y[row * kColumns + column] = 0;
        continue;
      }
      loss += difference * difference;
      y[row * kColumns + column] = seed * 2 * difference / valid;
    }
  *(float *)pointers[3] = loss / valid;
  return 0;
}

/* dh (rows x columns), gb += sum over rows; begin, end count columns. */
KERNEL bias_gradient(void *const *pointers, int64_t begin, int64_t end) {
  const float *dh = pointers[0];
  float *gb = pointers[1];
  for (int64_t column = begin; column < end; ++column)
    for (int64_t row = 0; row < kRows; ++row)
      gb[column] += dh[row * kColumns + column];
  return 0;
}

/* labels, count */
KERNEL count_labels(void *const *pointers, int64_t begin, int64_t end) {
  const int64_t *labels = pointers[0];
  float count = 0;
  for (int64_t i = begin; i < end; ++i)
    count += labels[i] >= 0 ? 1 : 0;
  *(float *)pointers[1] = count;
  return 0;
}

static void adamw(const float *g, const float *in, float *out, float *m, float *v, uint16_t *copy,
                  const float *scalars, int64_t begin, int64_t end) {
  float rate = scalars[0], beta1 = scalars[1], beta2 = scalars[2], epsilon = scalars[3], decay = scalars[4];
  float correction1 = scalars[5], correction2 = scalars[6], coefficient = scalars[7];
  for (int64_t i = begin; i < end; ++i) {
    float gradient = g[i] * coefficient;
    float p = in[i] * (1 - rate * decay);
    m[i] = beta1 * m[i] + (1 - beta1) * gradient;
    v[i] = beta2 * v[i] + (1 - beta2) * gradient * gradient;
    p -= rate / correction1 * m[i] / (sqrtf(v[i]) / correction2 + epsilon);
    out[i] = p;
    if (copy)
      copy[i] = narrow(p);
  }
}

KERNEL adamw_f32(void *const *pointers, int64_t begin, int64_t end) {
  adamw(pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], 0, pointers[5], begin, end);
  return 0;
}

KERNEL adamw_copy(void *const *pointers, int64_t begin, int64_t end) {
  adamw(pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5], pointers[6], begin, end);
  return 0;
}

/* On devices: a coefficient below 0 keeps the state. */
KERNEL adamw_f32_or_skip(void *const *pointers, int64_t begin, int64_t end) {
  const float *scalars = pointers[5];
  return scalars[7] < 0 ? 0 : adamw_f32(pointers, begin, end);
}

KERNEL adamw_copy_or_skip(void *const *pointers, int64_t begin, int64_t end) {
  const float *in = pointers[1], *scalars = pointers[6];
  uint16_t *copy = pointers[5];
  if (scalars[7] >= 0)
    return adamw_copy(pointers, begin, end);
  for (int64_t i = begin; i < end; ++i)
    copy[i] = narrow(in[i]);
  return 0;
}

/* Sleeps for `end` milliseconds: what the watchdog is to notice. */
KERNEL sleep_ms(void *const *pointers, int64_t begin, int64_t end) {
  (void)pointers;
  usleep((useconds_t)((end - begin) * 1000));
  return 0;
}

/* target[i] = i + *addend */
KERNEL iota(void *const *pointers, int64_t begin, int64_t end) {
  float *target = pointers[0];
  for (int64_t i = begin; i < end; ++i)
    target[i] = (float)i + *(const float *)pointers[1];
  return 0;
}
