//===- Gemm.cpp - Matrix products through OpenBLAS ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "../Convert.h"
#include <algorithm>
#include <cblas.h>
#include <cmath>

using namespace rondo;
using namespace rondo::runtime;
using program::ElementType;

// Some distributions' cblas.h is the reference one, without OpenBLAS's own
// functions.
extern "C" void openblas_set_num_threads(int threads);
extern "C" char *openblas_get_corename(void);

GemmShape rondo::runtime::gemmShape(const program::Gemm &gemm) {
  GemmShape shape;
  shape.m = gemm.m();
  shape.n = gemm.n();
  shape.k = gemm.k();
  shape.batch = gemm.batch();
  shape.transposeA = gemm.transpose_a();
  shape.transposeB = gemm.transpose_b();
  shape.lda = gemm.lda();
  shape.ldb = gemm.ldb();
  shape.ldc = gemm.ldc();
  shape.strideA = gemm.stride_a();
  shape.strideB = gemm.stride_b();
  shape.strideC = gemm.stride_c();
  shape.alpha = gemm.alpha();
  shape.accumulate = gemm.accumulate();
  shape.bias = gemm.bias();
  shape.typeA = gemm.type_a();
  shape.typeB = gemm.type_b();
  shape.typeC = gemm.type_c();
  shape.tf32 = gemm.tf32();
  return shape;
}

void GemmScratch::Sizes::include(const GemmShape &shape) {
  if (shape.typeA != ElementType::F32)
    a = std::max(a, (size_t)(shape.m * shape.k));
  if (shape.typeB != ElementType::F32)
    b = std::max(b, (size_t)(shape.k * shape.n));
  if (shape.typeC != ElementType::F32)
    c = std::max(c, (size_t)(shape.m * shape.n));
}

void rondo::runtime::openblasSgemm(bool transposeA, bool transposeB, int m,
                                   int n, int k, float alpha, const float *a,
                                   int lda, const float *b, int ldb, float beta,
                                   float *c, int ldc) {
  cblas_sgemm(CblasRowMajor, transposeA ? CblasTrans : CblasNoTrans,
              transposeB ? CblasTrans : CblasNoTrans, m, n, k, alpha, a, lda, b,
              ldb, beta, c, ldc);
}

/// Packs a rows x columns matrix as f32.
static void widen(const std::byte *source, ElementType type, int64_t rows,
                  int64_t columns, int64_t leading, float *target) {
  for (int64_t row = 0; row < rows; ++row) {
    const std::byte *line = source + 2 * row * leading;
    float *out = target + row * columns;
    if (type == ElementType::BF16)
      for (int64_t column = 0; column < columns; ++column)
        out[column] = widenBF16(load16(line, (uint64_t)column));
    else
      for (int64_t column = 0; column < columns; ++column)
        out[column] = widenF16(load16(line, (uint64_t)column));
  }
}

/// Adds n elements of `type` to every row of m x n.
static void addToRows(const std::byte *bias, ElementType type, int64_t m,
                      int64_t n, int64_t leading, float *target) {
  for (int64_t row = 0; row < m; ++row) {
    float *line = target + row * leading;
    if (type == ElementType::F32)
      for (int64_t column = 0; column < n; ++column)
        line[column] += reinterpret_cast<const float *>(bias)[column];
    else if (type == ElementType::BF16)
      for (int64_t column = 0; column < n; ++column)
        line[column] += widenBF16(load16(bias, (uint64_t)column));
    else
      for (int64_t column = 0; column < n; ++column)
        line[column] += widenF16(load16(bias, (uint64_t)column));
  }
}

static void round(const float *source, ElementType type, int64_t rows,
                  int64_t columns, int64_t leading, std::byte *target) {
  for (int64_t row = 0; row < rows; ++row) {
    std::byte *line = target + 2 * row * leading;
    for (int64_t column = 0; column < columns; ++column)
      storeFloat(line, type, (uint64_t)column, source[row * columns + column]);
  }
}

void rondo::runtime::runGemm(const GemmShape &shape, const std::byte *a,
                             const std::byte *b, std::byte *c,
                             const std::byte *bias, GemmScratch &scratch) {
  if (shape.m == 0 || shape.n == 0)
    return;
  for (int64_t i = 0; i < shape.batch; ++i) {
    const float *fa = reinterpret_cast<const float *>(a) + i * shape.strideA;
    const float *fb = reinterpret_cast<const float *>(b) + i * shape.strideB;
    float *fc = reinterpret_cast<float *>(c) + i * shape.strideC;
    int64_t lda = shape.lda, ldb = shape.ldb, ldc = shape.ldc;
    if (shape.typeA != ElementType::F32) {
      int64_t rows = shape.transposeA ? shape.k : shape.m,
              columns = shape.transposeA ? shape.m : shape.k;
      if (i == 0 || shape.strideA != 0)
        widen(a + 2 * i * shape.strideA, shape.typeA, rows, columns, shape.lda,
              scratch.a.data());
      fa = scratch.a.data();
      lda = std::max<int64_t>(columns, 1);
    }
    if (shape.typeB != ElementType::F32) {
      int64_t rows = shape.transposeB ? shape.n : shape.k,
              columns = shape.transposeB ? shape.k : shape.n;
      if (i == 0 || shape.strideB != 0)
        widen(b + 2 * i * shape.strideB, shape.typeB, rows, columns, shape.ldb,
              scratch.b.data());
      fb = scratch.b.data();
      ldb = std::max<int64_t>(columns, 1);
    }
    if (shape.typeC != ElementType::F32) {
      fc = scratch.c.data();
      ldc = shape.n;
      if (shape.accumulate)
        widen(c + 2 * i * shape.strideC, shape.typeC, shape.m, shape.n,
              shape.ldc, fc);
    }
    openblasSgemm(shape.transposeA, shape.transposeB, (int)shape.m,
                  (int)shape.n, (int)shape.k, shape.alpha, fa, (int)lda, fb,
                  (int)ldb, shape.accumulate ? 1.0f : 0.0f, fc, (int)ldc);
    if (shape.bias)
      addToRows(bias, shape.typeC, shape.m, shape.n, ldc, fc);
    if (shape.typeC != ElementType::F32)
      round(fc, shape.typeC, shape.m, shape.n, shape.ldc,
            c + 2 * i * shape.strideC);
  }
}

//===----------------------------------------------------------------------===//
// Self-test
//===----------------------------------------------------------------------===//

Status rondo::runtime::testSgemm(SgemmFunction sgemm) {
  // Below and above the blocking of every kernel, with tails; vectors, too.
  constexpr int shapes[][3] = {{1, 1, 1},     {3, 5, 7},     {16, 16, 16},
                               {33, 65, 129}, {1, 130, 67},  {130, 1, 67},
                               {96, 128, 70}, {150, 70, 260}};
  uint32_t state = 1;
  auto fill = [&](std::vector<float> &values) {
    for (float &value : values) {
      state = state * 1664525u + 1013904223u;
      value = (float)(int32_t)state * 0x1p-31f;
    }
  };
  for (const auto &[m, n, k] : shapes)
    for (int variant = 0; variant < 8; ++variant) {
      bool ta = variant & 1, tb = variant & 2;
      float beta = variant & 4 ? 1.0f : 0.0f;
      std::vector<float> a((size_t)(m * k)), b((size_t)(k * n)),
          c((size_t)(m * n));
      fill(a);
      fill(b);
      fill(c);
      std::vector<float> before = c;
      sgemm(ta, tb, m, n, k, 0.5f, a.data(), ta ? m : k, b.data(), tb ? k : n,
            beta, c.data(), n);
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          double exact = beta * before[(size_t)(i * n + j)],
                 size = std::fabs(exact);
          for (int l = 0; l < k; ++l) {
            double term = 0.5 * a[(size_t)(ta ? l * m + i : i * k + l)] *
                          b[(size_t)(tb ? j * k + l : l * n + j)];
            exact += term;
            size += std::fabs(term);
          }
          float found = c[(size_t)(i * n + j)];
          if (!(std::fabs(found - exact) <= 1e-5 * size + 1e-30))
            return deviceError(format(
                "OpenBLAS computes wrong products on this processor: sgemm of "
                "%d x %d x %d (transposed: %d, %d) gives "
                "%.9g instead of %.9g at (%d, %d). It chose its code for '%s'; "
                "set the environment variable "
                "OPENBLAS_CORETYPE to an older one, for example "
                "OPENBLAS_CORETYPE=Haswell, or install a newer OpenBLAS",
                m, n, k, ta, tb, found, exact, i, j, openblas_get_corename()));
        }
    }
  return Status::success();
}

Status rondo::runtime::prepareOpenblas() {
  static const Status status = [] {
    openblas_set_num_threads(1);
    return testSgemm(openblasSgemm);
  }();
  return status;
}
