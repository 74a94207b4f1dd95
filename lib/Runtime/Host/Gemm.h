//===- Gemm.h - Matrix products through OpenBLAS ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One thread, and always gemm: a product has the same bits wherever it runs.
// Operands of two bytes are widened to f32 first and the f32 result is rounded
// once.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_GEMM_H
#define RONDO_LIB_RUNTIME_HOST_GEMM_H

#include "rondo/Runtime/Status.h"
#include "schema/program_generated.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rondo::runtime {

/// program.fbs, table Gemm.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transposeA = false, transposeB = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  float alpha = 1;
  bool accumulate = false, bias = false;
  program::ElementType typeA{}, typeB{}, typeC{};
  bool tf32 = false; ///< For devices that have it.
};
GemmShape gemmShape(const program::Gemm &gemm);

/// Room for widened operands, of one thread.
struct GemmScratch {
  struct Sizes {
    size_t a = 0, b = 0, c = 0; ///< Elements.
    void include(const GemmShape &shape);
  };
  std::vector<float> a, b, c;
};

/// `bias`: read if the shape has one.
void runGemm(const GemmShape &shape, const std::byte *a, const std::byte *b,
             std::byte *c, const std::byte *bias, GemmScratch &scratch);

/// C = alpha * op(A) op(B) + beta * C, row major: cblas_sgemm without its order
/// argument.
using SgemmFunction = void (*)(bool transposeA, bool transposeB, int m, int n,
                               int k, float alpha, const float *a, int lda,
                               const float *b, int ldb, float beta, float *c,
                               int ldc);
/// OpenBLAS's.
void openblasSgemm(bool transposeA, bool transposeB, int m, int n, int k,
                   float alpha, const float *a, int lda, const float *b,
                   int ldb, float beta, float *c, int ldc);
/// Compares `sgemm` with a plain double-precision product: old builds are wrong
/// on some newer processors.
Status testSgemm(SgemmFunction sgemm);
/// Sets OpenBLAS to one thread and tests it, once in the process.
Status prepareOpenblas();

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_GEMM_H
