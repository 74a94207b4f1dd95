//===- CudaGemm.cpp - Matrix products through cuBLASLt --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaGemm.h"
#include "rondo/Runtime/Program.h"
#include <algorithm>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using rondo::program::ElementType;

static BlasType blasType(ElementType type) {
  return type == ElementType::BF16  ? BlasBF16
         : type == ElementType::F16 ? BlasF16
                                    : BlasF32;
}

Status CudaGemms::check(int status, const char *what) const {
  if (status == 0)
    return Status::success();
  return deviceError(format("%s of cuBLASLt %zu: %s", what, blas->version(),
                            blas->statusName(status)));
}

CudaGemms::~CudaGemms() {
  for (Plan &plan : plans) {
    if (plan.description)
      (void)blas->descriptionDestroy(plan.description);
    for (BlasLayout layout : {plan.first, plan.second, plan.result})
      if (layout)
        (void)blas->layoutDestroy(layout);
  }
  if (handle)
    (void)blas->destroy(handle);
  if (workspace)
    (void)driver.memFree(workspace);
}

static std::string productText(const GemmShape &shape) {
  return format(
      "a product of %lld x %lld x %lld in batches of %lld, %s x %s to %s",
      (long long)shape.m, (long long)shape.n, (long long)shape.k,
      (long long)shape.batch, elementName(shape.typeA),
      elementName(shape.typeB), elementName(shape.typeC));
}

Status CudaGemms::add(const GemmShape &shape, const uint64_t (&alignment)[4],
                      uint32_t &number) {
  if (!blas) {
    if (Status status = CublasLt::load(blas); !status.ok())
      return status;
    if (Status status = check(blas->create(&handle), "cublasLtCreate");
        !status.ok())
      return status;
  }
  number = (uint32_t)plans.size();
  plans.emplace_back();
  Plan &plan = plans.back();
  plan.shape = shape;
  // Nothing to choose where there is nothing to add up.
  if (shape.m == 0 || shape.n == 0 || shape.batch == 0 || shape.k == 0)
    return Status::success();
  for (int operand = 0; operand < 4; ++operand)
    plan.alignment[operand] = std::min<uint64_t>(alignment[operand], 256);
  if (shape.typeA != shape.typeB) {
    uint64_t elements[2] = {(uint64_t)(shape.m * shape.k) *
                                (shape.strideA ? (uint64_t)shape.batch : 1),
                            (uint64_t)(shape.k * shape.n) *
                                (shape.strideB ? (uint64_t)shape.batch : 1)};
    for (int operand = 0; operand < 2; ++operand) {
      if ((operand ? shape.typeB : shape.typeA) == ElementType::F32)
        continue;
      plan.widen[operand] = true;
      widened[operand] =
          std::max(widened[operand], (4 * elements[operand] + 255) / 256 * 256);
      plan.alignment[operand] = 256;
    }
  }
  ElementType computed =
      plan.widen[0] || plan.widen[1] ? ElementType::F32 : shape.typeA;
  if (shape.typeC != ElementType::F32 && shape.typeC != computed)
    return deviceError("cuBLASLt has no " + productText(shape).substr(2) +
                       ": the result must be float32 or of the operands' type; "
                       "compile the model with one --precision");
  if (Status status = describe(plan); !status.ok())
    return status;
  std::vector<BlasAlgorithm> first;
  if (Status status = candidates(plan, 1, first); !status.ok())
    return status;
  plan.algorithm = first.front();
  return Status::success();
}

std::string CudaGemms::name(const Plan &plan) {
  const GemmShape &shape = plan.shape;
  auto operand = [&](const char *what, int number, ElementType type,
                     bool transposed, int64_t leading, int64_t stride) {
    return format(", %s %s%s, %lld to a row, %lld to a batch, at %u", what,
                  elementName(plan.widen[number % 2] && number < 2
                                  ? ElementType::F32
                                  : type),
                  transposed ? " transposed" : "", (long long)leading,
                  (long long)stride, plan.alignment[number]);
  };
  return format("%lld x %lld x %lld in batches of %lld", (long long)shape.m,
                (long long)shape.n, (long long)shape.k,
                (long long)shape.batch) +
         operand("A", 0, shape.typeA, shape.transposeA, shape.lda,
                 shape.strideA) +
         operand("B", 1, shape.typeB, shape.transposeB, shape.ldb,
                 shape.strideB) +
         operand("C", 2, shape.typeC, false, shape.ldc, shape.strideC) +
         (shape.accumulate ? ", added" : "") + (shape.tf32 ? ", TF32" : "") +
         (shape.bias ? format(", bias at %u", plan.alignment[3]) : "");
}

/// A column major result's rows are C's columns.
Status CudaGemms::setBias(const Plan &plan, Address bias) const {
  return check(blas->descriptionSet(plan.description, BlasBiasPointer, &bias,
                                    sizeof bias),
               "the address of a bias");
}

Status CudaGemms::describe(Plan &plan) {
  const GemmShape &shape = plan.shape;
  auto layout = [&](BlasLayout &layout, ElementType type, int64_t rows,
                    int64_t columns, int64_t leading,
                    int64_t stride) -> Status {
    if (Status status =
            check(blas->layoutCreate(&layout, blasType(type), (uint64_t)rows,
                                     (uint64_t)columns, leading),
                  "cublasLtMatrixLayoutCreate");
        !status.ok())
      return status;
    auto batch = (int32_t)shape.batch;
    if (Status status =
            check(blas->layoutSet(layout, BlasBatchCount, &batch, sizeof batch),
                  "a layout's batch");
        !status.ok())
      return status;
    return check(
        blas->layoutSet(layout, BlasBatchStride, &stride, sizeof stride),
        "a layout's stride");
  };
  // Row-major C = A B is column-major C' = B' A', and each matrix's transpose
  // is what lies in memory. Widened operands are packed.
  int64_t rowsA = shape.transposeA ? shape.k : shape.m,
          columnsA = shape.transposeA ? shape.m : shape.k;
  int64_t rowsB = shape.transposeB ? shape.n : shape.k,
          columnsB = shape.transposeB ? shape.k : shape.n;
  bool wideA = plan.widen[0], wideB = plan.widen[1];
  int64_t strideA = wideA && shape.strideA ? rowsA * columnsA : shape.strideA;
  int64_t strideB = wideB && shape.strideB ? rowsB * columnsB : shape.strideB;
  ElementType typeA = wideA ? ElementType::F32 : shape.typeA,
              typeB = wideB ? ElementType::F32 : shape.typeB;
  if (Status status = layout(plan.first, typeB, columnsB, rowsB,
                             wideB ? columnsB : shape.ldb, strideB);
      !status.ok())
    return status;
  if (Status status = layout(plan.second, typeA, columnsA, rowsA,
                             wideA ? columnsA : shape.lda, strideA);
      !status.ok())
    return status;
  if (Status status = layout(plan.result, shape.typeC, shape.n, shape.m,
                             shape.ldc, shape.strideC);
      !status.ok())
    return status;
  if (Status status =
          check(blas->descriptionCreate(&plan.description,
                                        shape.tf32 && typeA == ElementType::F32
                                            ? BlasComputeTF32
                                            : BlasComputeF32,
                                        BlasF32),
                "cublasLtMatmulDescCreate");
      !status.ok())
    return status;
  for (auto [attribute, transposed] :
       {std::pair(BlasTransposeA, shape.transposeB),
        std::pair(BlasTransposeB, shape.transposeA)}) {
    BlasTranspose value = transposed ? BlasTransposed : BlasNormal;
    if (Status status = check(blas->descriptionSet(plan.description, attribute,
                                                   &value, sizeof value),
                              "a transposition");
        !status.ok())
      return status;
  }
  if (shape.bias) {
    BlasEpilogue epilogue = BlasAddBias;
    if (Status status =
            check(blas->descriptionSet(plan.description, BlasEpilogueKind,
                                       &epilogue, sizeof epilogue),
                  "a bias");
        !status.ok())
      return status;
    // Only for the choice, which heeds its alignment.
    if (Status status = setBias(plan, plan.alignment[3]); !status.ok())
      return status;
  }
  return Status::success();
}

Status CudaGemms::candidates(const Plan &plan, int wanted,
                             std::vector<BlasAlgorithm> &algorithms) const {
  BlasPreference preference = nullptr;
  if (Status status = check(blas->preferenceCreate(&preference),
                            "cublasLtMatmulPreferenceCreate");
      !status.ok())
    return status;
  int status = blas->preferenceSet(preference, BlasMaxWorkspace, &kWorkspace,
                                   sizeof kWorkspace);
  for (auto [attribute, value] :
       {std::pair(BlasReductionSchemes, kBlasReduceInWorkspace),
        std::pair(BlasAlignmentA, plan.alignment[1]),
        std::pair(BlasAlignmentB, plan.alignment[0]),
        std::pair(BlasAlignmentC, plan.alignment[2]),
        std::pair(BlasAlignmentD, plan.alignment[2])})
    if (status == 0)
      status = blas->preferenceSet(preference, attribute, &value, sizeof value);
  std::vector<BlasChoice> choices((size_t)wanted);
  int found = 0;
  if (status == 0)
    status = blas->choose(handle, plan.description, plan.first, plan.second,
                          plan.result, plan.result, preference, wanted,
                          choices.data(), &found);
  (void)blas->preferenceDestroy(preference);
  algorithms.clear();
  for (int i = 0; status == 0 && i < found; ++i)
    if (choices[(size_t)i].state == 0)
      algorithms.push_back(choices[(size_t)i].algorithm);
  if (!algorithms.empty())
    return Status::success();
  return deviceError(format("cuBLASLt %zu has no algorithm for %s (%s)",
                            blas->version(), productText(plan.shape).c_str(),
                            status ? blas->statusName(status) : "none found"));
}

Status CudaGemms::finish() {
  if (plans.empty())
    return Status::success();
  workspaceSize = kWorkspace + widened[0] + widened[1];
  return driver.status(driver.memAlloc(&workspace, workspaceSize),
                       "cuMemAlloc of " + formatBytes(workspaceSize) +
                           " for cuBLASLt's workspace");
}

Status CudaGemms::widenOperand(const Plan &plan, int operand, Address &address,
                               Stream stream, Function widen) const {
  const GemmShape &shape = plan.shape;
  bool transpose = operand ? shape.transposeB : shape.transposeA;
  uint64_t rows = (uint64_t)(operand ? (transpose ? shape.n : shape.k)
                                     : (transpose ? shape.k : shape.m));
  uint64_t columns = (uint64_t)(operand ? (transpose ? shape.k : shape.n)
                                        : (transpose ? shape.m : shape.k));
  uint64_t leading = (uint64_t)(operand ? shape.ldb : shape.lda),
           stride = (uint64_t)(operand ? shape.strideB : shape.strideA);
  uint64_t source = address,
           target = workspace + kWorkspace + (operand ? widened[0] : 0);
  uint64_t half = (operand ? shape.typeB : shape.typeA) == ElementType::F16,
           elements = rows * columns;
  uint64_t batches = stride ? (uint64_t)shape.batch : 1;
  address = target;
  void *parameters[] = {&source, &target, &elements, &columns, &leading, &half};
  for (uint64_t batch = 0; batch < batches; ++batch) {
    auto blocks =
        (unsigned)std::min<uint64_t>((elements + 255) / 256, 1u << 16);
    Result result = driver.launchKernel(widen, blocks, 1, 1, 256, 1, 1, 0,
                                        stream, parameters, nullptr);
    if (result != Success)
      return driver.status(result, "widening an operand");
    source += 2 * stride;
    target += 4 * elements;
  }
  return Status::success();
}

Status CudaGemms::run(uint32_t number, Address a, Address b, Address c,
                      Address bias, Stream stream, Function widen) const {
  const Plan &plan = plans[number];
  const GemmShape &shape = plan.shape;
  if (shape.m == 0 || shape.n == 0 || shape.batch == 0)
    return Status::success();
  if (shape.k == 0) {
    uint64_t element = elementBytes(shape.typeC);
    for (int64_t i = 0; i < shape.batch && !shape.accumulate; ++i)
      if (Result result = driver.memset2DAsync(
              c + element * (uint64_t)(i * shape.strideC),
              element * (uint64_t)shape.ldc, 0, element * (uint64_t)shape.n,
              (size_t)shape.m, stream);
          result != Success)
        return driver.status(result, "cuMemsetD2D8Async");
    return Status::success();
  }
  for (int operand = 0; operand < 2; ++operand)
    if (plan.widen[operand])
      if (Status status =
              widenOperand(plan, operand, operand ? b : a, stream, widen);
          !status.ok())
        return status;
  if (shape.bias)
    if (Status status = setBias(plan, bias); !status.ok())
      return status;
  float alpha = shape.alpha, beta = shape.accumulate ? 1.0f : 0.0f;
  auto pointer = [](Address address) {
    return reinterpret_cast<void *>(address);
  };
  return check(blas->multiply(handle, plan.description, &alpha, pointer(b),
                              plan.first, pointer(a), plan.second, &beta,
                              pointer(c), plan.result, pointer(c), plan.result,
                              &plan.algorithm, pointer(workspace), kWorkspace,
                              stream),
               "cublasLtMatmul");
}
