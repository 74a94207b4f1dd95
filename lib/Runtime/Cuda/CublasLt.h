//===- CublasLt.h - The parts of cuBLASLt that are used ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declarations of our own for cuBLASLt's binary interface, as in Driver.h.
// Versions 12 and 13 agree in all of it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUBLASLT_H
#define RONDO_LIB_RUNTIME_CUDA_CUBLASLT_H

#include "Driver.h"

namespace rondo::runtime::cuda {

using BlasHandle = struct BlasObject *;
using BlasDescription = struct BlasDescriptionObject *;
using BlasLayout = struct BlasLayoutObject *;
using BlasPreference = struct BlasPreferenceObject *;

enum BlasType : int { BlasF32 = 0, BlasF16 = 2, BlasBF16 = 14 };
enum BlasCompute : int { BlasComputeF32 = 68, BlasComputeTF32 = 77 };
enum BlasTranspose : int32_t { BlasNormal = 0, BlasTransposed = 1 };
enum BlasEpilogue : uint32_t { BlasAddBias = 4 };
enum BlasDescriptionAttribute : int {
  BlasTransposeA = 3,
  BlasTransposeB = 4,
  BlasEpilogueKind = 7,
  BlasBiasPointer = 8
};
enum BlasLayoutAttribute : int { BlasBatchCount = 5, BlasBatchStride = 6 };
enum BlasPreferenceAttribute : int {
  BlasMaxWorkspace = 1,
  BlasReductionSchemes = 3,
  BlasAlignmentA = 5,
  BlasAlignmentB = 6,
  BlasAlignmentC = 7,
  BlasAlignmentD = 8
};
/// Partial products of a split k go to the workspace in f32 and are added there
/// in one order.
constexpr uint32_t kBlasReduceInWorkspace = 2;

enum BlasAlgorithmAttribute : int { BlasReductionScheme = 3 };

struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasChoice {
  BlasAlgorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

#define RONDO_CUBLASLT(F)                                                      \
  F(create, "cublasLtCreate", BlasHandle *handle)                              \
  F(destroy, "cublasLtDestroy", BlasHandle handle)                             \
  F(descriptionCreate, "cublasLtMatmulDescCreate",                             \
    BlasDescription *description, BlasCompute compute, BlasType scale)         \
  F(descriptionDestroy, "cublasLtMatmulDescDestroy",                           \
    BlasDescription description)                                               \
  F(descriptionSet, "cublasLtMatmulDescSetAttribute",                          \
    BlasDescription description, BlasDescriptionAttribute attribute,           \
    const void *value, size_t bytes)                                           \
  F(layoutCreate, "cublasLtMatrixLayoutCreate", BlasLayout *layout,            \
    BlasType type, uint64_t rows, uint64_t columns, int64_t leading)           \
  F(layoutDestroy, "cublasLtMatrixLayoutDestroy", BlasLayout layout)           \
  F(layoutSet, "cublasLtMatrixLayoutSetAttribute", BlasLayout layout,          \
    BlasLayoutAttribute attribute, const void *value, size_t bytes)            \
  F(preferenceCreate, "cublasLtMatmulPreferenceCreate",                        \
    BlasPreference *preference)                                                \
  F(preferenceDestroy, "cublasLtMatmulPreferenceDestroy",                      \
    BlasPreference preference)                                                 \
  F(preferenceSet, "cublasLtMatmulPreferenceSetAttribute",                     \
    BlasPreference preference, BlasPreferenceAttribute attribute,              \
    const void *value, size_t bytes)                                           \
  F(choose, "cublasLtMatmulAlgoGetHeuristic", BlasHandle handle,               \
    BlasDescription description, BlasLayout a, BlasLayout b, BlasLayout c,     \
    BlasLayout d, BlasPreference preference, int wanted, BlasChoice *choices,  \
    int *found)                                                                \
  F(checkAlgorithm, "cublasLtMatmulAlgoCheck", BlasHandle handle,              \
    BlasDescription description, BlasLayout a, BlasLayout b, BlasLayout c,     \
    BlasLayout d, const BlasAlgorithm *algorithm, BlasChoice *result)          \
  F(algorithmGet, "cublasLtMatmulAlgoConfigGetAttribute",                      \
    const BlasAlgorithm *algorithm, BlasAlgorithmAttribute attribute,          \
    void *value, size_t bytes, size_t *written)                                \
  F(multiply, "cublasLtMatmul", BlasHandle handle,                             \
    BlasDescription description, const void *alpha, const void *a,             \
    BlasLayout aLayout, const void *b, BlasLayout bLayout, const void *beta,   \
    const void *c, BlasLayout cLayout, void *d, BlasLayout dLayout,            \
    const BlasAlgorithm *algorithm, void *workspace, size_t workspaceBytes,    \
    Stream stream)

struct CublasLt {
#define RONDO_MEMBER(MEMBER, NAME, ...) int (*MEMBER)(__VA_ARGS__) = nullptr;
  RONDO_CUBLASLT(RONDO_MEMBER)
#undef RONDO_MEMBER
  const char *(*statusName)(int status) = nullptr;
  size_t (*version)() = nullptr;

  /// Loads libcublasLt.so.13 or .12, once in the process. Error (Code::Device):
  /// neither is found.
  static Status load(const CublasLt *&library);
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUBLASLT_H
