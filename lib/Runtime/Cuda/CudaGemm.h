//===- CudaGemm.h - Matrix products through cuBLASLt ------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products compute in f32: never in TF32. The library's first choice for a
// shape within a fixed workspace is taken, among those that add partial
// products in one order; it is made once, so that a product has the same bits
// in every step and on every GPU of one kind. Where C is bf16 or f16 and
// accumulates, the library may round the product before it adds it; gradients
// are f32.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAGEMM_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAGEMM_H

#include "../Host/Gemm.h"
#include "CublasLt.h"
#include "CudaPool.h"

namespace rondo::runtime::cuda {

/// The products of one device's program. Its calls need the device's context to
/// be current.
class CudaGemms {
public:
  explicit CudaGemms(const Driver &driver) : driver(driver) {}
  ~CudaGemms();
  CudaGemms(const CudaGemms &) = delete;
  CudaGemms &operator=(const CudaGemms &) = delete;

  /// Adds a product, whose A, B, C and bias lie at multiples of `alignment`;
  /// `plan`: its number. Errors (Code::Device): cuBLASLt is missing, or has no
  /// product of this kind; the caller says of which node.
  Status add(const GemmShape &shape, const uint64_t (&alignment)[4],
             uint32_t &plan);
  /// After the last add: takes the workspace from the device.
  Status finish();
  /// `widen`: rondo_widen of CudaKernels.h; null unless widens().
  /// `bias`: heeded if the product has one.
  Status run(uint32_t plan, Address a, Address b, Address c, Address bias,
             Stream stream, Function widen) const;

  uint64_t workspaceBytes() const { return workspaceSize; }
  /// Some product has operands of two types: they are widened to f32 first.
  bool widens() const { return widened[0] + widened[1] != 0; }

private:
  struct Plan {
    GemmShape shape;
    bool widen[2] = {false, false}; ///< A, B.
    BlasDescription description = nullptr;
    BlasLayout first = nullptr, second = nullptr,
               result = nullptr; ///< Of B, A, C: column major is the transpose.
    BlasAlgorithm algorithm{};
  };
  Status choose(Plan &plan, const uint64_t (&alignment)[4]);
  Status setBias(const Plan &plan, Address bias) const;
  Status widenOperand(const Plan &plan, int operand, Address &address,
                      Stream stream, Function function) const;
  Status check(int status, const char *what) const;

  const Driver &driver;
  const CublasLt *blas = nullptr;
  BlasHandle handle = nullptr;
  std::vector<Plan> plans;
  uint64_t widened[2] = {0, 0}; ///< Bytes of the largest A and B to be widened.
  Address workspace = 0;
  uint64_t workspaceSize = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAGEMM_H
