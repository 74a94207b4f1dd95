//===- FakeBlas.cpp - libcublasLt.so.13, played by the host ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Four algorithms that add in different orders, hence to different bits, and
// take different times. The last claims to add in place by atomic operations:
// nobody may choose it.
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Cuda/CublasLt.h"
#include "FakeGpu.h"
#include <chrono>
#include <vector>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using namespace rondo::runtime::testing;

namespace rondo::runtime::cuda {

struct BlasObject {};
struct BlasDescriptionObject {
  BlasCompute compute;
  int32_t transposeA = 0, transposeB = 0;
  uint32_t epilogue = 1;
  Address bias = 0;
};
struct BlasLayoutObject {
  BlasType type;
  uint64_t rows, columns;
  int64_t leading, stride = 0;
  int32_t batch = 1;
};
struct BlasPreferenceObject {};

} // namespace rondo::runtime::cuda

#define FAKE extern "C" __attribute__((visibility("default"))) int

constexpr int InvalidArgument = 7, kAlgorithms = 4;
constexpr uint64_t kMagic = 0x726f6e646f000000;
constexpr uint32_t kSchemes[kAlgorithms] = {0, 2, 0, 1};
constexpr int kMicroseconds[kAlgorithms] = {60, 30, 15, 1};

static int numberOf(const BlasAlgorithm &algorithm) {
  uint64_t number = algorithm.data[0] - kMagic;
  return number < kAlgorithms ? (int)number : -1;
}

FAKE cublasLtCreate(BlasHandle *handle) {
  *handle = new BlasObject;
  return 0;
}
FAKE cublasLtDestroy(BlasHandle handle) {
  delete handle;
  return 0;
}
FAKE cublasLtMatmulDescCreate(BlasDescription *description, BlasCompute compute,
                              BlasType) {
  *description = new BlasDescriptionObject{compute};
  return 0;
}
FAKE cublasLtMatmulDescDestroy(BlasDescription description) {
  delete description;
  return 0;
}
FAKE cublasLtMatmulDescSetAttribute(BlasDescription description,
                                    BlasDescriptionAttribute attribute,
                                    const void *value, size_t) {
  switch (attribute) {
  case BlasTransposeA:
    description->transposeA = *static_cast<const int32_t *>(value);
    return 0;
  case BlasTransposeB:
    description->transposeB = *static_cast<const int32_t *>(value);
    return 0;
  case BlasEpilogueKind:
    description->epilogue = *static_cast<const uint32_t *>(value);
    return 0;
  case BlasBiasPointer:
    description->bias = *static_cast<const Address *>(value);
    return 0;
  }
  return InvalidArgument;
}
FAKE cublasLtMatrixLayoutCreate(BlasLayout *layout, BlasType type,
                                uint64_t rows, uint64_t columns,
                                int64_t leading) {
  *layout = new BlasLayoutObject{type, rows, columns, leading};
  return 0;
}
FAKE cublasLtMatrixLayoutDestroy(BlasLayout layout) {
  delete layout;
  return 0;
}
FAKE cublasLtMatrixLayoutSetAttribute(BlasLayout layout,
                                      BlasLayoutAttribute attribute,
                                      const void *value, size_t) {
  if (attribute == BlasBatchCount)
    layout->batch = *static_cast<const int32_t *>(value);
  else
    layout->stride = *static_cast<const int64_t *>(value);
  return 0;
}
FAKE cublasLtMatmulPreferenceCreate(BlasPreference *preference) {
  *preference = new BlasPreferenceObject;
  return 0;
}
FAKE cublasLtMatmulPreferenceDestroy(BlasPreference preference) {
  delete preference;
  return 0;
}
FAKE cublasLtMatmulPreferenceSetAttribute(BlasPreference,
                                          BlasPreferenceAttribute, const void *,
                                          size_t) {
  return 0;
}
FAKE cublasLtMatmulAlgoGetHeuristic(BlasHandle, BlasDescription, BlasLayout,
                                    BlasLayout, BlasLayout, BlasLayout,
                                    BlasPreference, int wanted,
                                    BlasChoice *choices, int *found) {
  for (*found = 0; *found < wanted && *found < kAlgorithms; ++*found) {
    choices[*found] = BlasChoice{};
    choices[*found].algorithm.data[0] = kMagic + (uint64_t)*found;
  }
  return 0;
}
FAKE cublasLtMatmulAlgoCheck(BlasHandle, BlasDescription, BlasLayout,
                             BlasLayout, BlasLayout, BlasLayout,
                             const BlasAlgorithm *algorithm,
                             BlasChoice *result) {
  *result = BlasChoice{};
  return numberOf(*algorithm) < 0 ? InvalidArgument : 0;
}
FAKE cublasLtMatmulAlgoConfigGetAttribute(const BlasAlgorithm *algorithm,
                                          BlasAlgorithmAttribute, void *value,
                                          size_t bytes, size_t *written) {
  int number = numberOf(*algorithm);
  if (number < 0 || bytes != 4)
    return InvalidArgument;
  *static_cast<uint32_t *>(value) = kSchemes[number];
  *written = 4;
  return 0;
}
extern "C" __attribute__((visibility("default"))) const char *
cublasLtGetStatusName(int) {
  return "CUBLAS_STATUS_OF_THE_TESTS";
}
extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() {
  return 139999;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static float load(const void *data, BlasType type, int64_t index) {
  if (type == BlasF32)
    return static_cast<const float *>(data)[index];
  uint16_t bits = static_cast<const uint16_t *>(data)[index];
  return type == BlasBF16 ? widenBF16(bits) : widenF16(bits);
}

static void store(void *data, BlasType type, int64_t index, float value) {
  if (type == BlasF32)
    static_cast<float *>(data)[index] = value;
  else
    static_cast<uint16_t *>(data)[index] =
        type == BlasBF16 ? roundBF16(value) : roundF16(value);
}

/// To 10 bits of fraction.
static float roundTF32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  bits += 0xfff + (bits >> 13 & 1);
  return std::bit_cast<float>(bits & ~0x1fffu);
}

namespace {

struct Product {
  BlasDescriptionObject description;
  BlasLayoutObject layoutA, layoutB, layoutC, layoutD;
  float alpha, beta;
  const void *a, *b, *c;
  void *d;
  int algorithm;

  void run() const;
  float element(int32_t batch, int64_t i, int64_t j) const;
};

} // namespace

float Product::element(int32_t batch, int64_t i, int64_t j) const {
  auto depth =
      (int64_t)(description.transposeA ? layoutA.rows : layoutA.columns);
  auto term = [&](int64_t l) {
    float x = load(a, layoutA.type,
                   batch * layoutA.stride + (description.transposeA
                                                 ? l + i * layoutA.leading
                                                 : i + l * layoutA.leading)),
          y = load(b, layoutB.type,
                   batch * layoutB.stride + (description.transposeB
                                                 ? j + l * layoutB.leading
                                                 : l + j * layoutB.leading));
    return description.compute == BlasComputeTF32 ? roundTF32(x) * roundTF32(y)
                                                  : x * y;
  };
  float sum = 0, second = 0;
  if (algorithm == 2) {
    for (int64_t l = depth - 1; l >= 0; --l)
      sum += term(l);
    return sum;
  }
  for (int64_t l = 0; l < depth; ++l)
    (algorithm == 1 && l >= depth / 2 ? second : sum) += term(l);
  return sum + second;
}

void Product::run() const {
  auto begin = std::chrono::steady_clock::now();
  for (int32_t batch = 0; batch < layoutD.batch; ++batch)
    for (int64_t j = 0; j < (int64_t)layoutD.columns; ++j)
      for (int64_t i = 0; i < (int64_t)layoutD.rows; ++i) {
        float value = alpha * element(batch, i, j);
        if (beta != 0)
          value +=
              beta * load(c, layoutC.type,
                          batch * layoutC.stride + i + j * layoutC.leading);
        if (description.epilogue == BlasAddBias)
          value += load(reinterpret_cast<const void *>(description.bias),
                        layoutD.type, i);
        store(d, layoutD.type, batch * layoutD.stride + i + j * layoutD.leading,
              value);
      }
  while (std::chrono::steady_clock::now() - begin <
         std::chrono::microseconds(kMicroseconds[algorithm]))
    ;
}

FAKE cublasLtMatmul(BlasHandle, BlasDescription description, const void *alpha,
                    const void *a, BlasLayout layoutA, const void *b,
                    BlasLayout layoutB, const void *beta, const void *c,
                    BlasLayout layoutC, void *d, BlasLayout layoutD,
                    const BlasAlgorithm *algorithm, void *, size_t,
                    Stream stream) {
  int number = numberOf(*algorithm);
  if (number < 0 || number == 3)
    return InvalidArgument;
  Product product{*description,
                  *layoutA,
                  *layoutB,
                  *layoutC,
                  *layoutD,
                  *static_cast<const float *>(alpha),
                  *static_cast<const float *>(beta),
                  a,
                  b,
                  c,
                  d,
                  number};
  return fakeEnqueue(stream, [product] { product.run(); }) == Success ? 0 : 13;
}
