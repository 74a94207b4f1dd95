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
// products in one order, or the fastest of several (CudaTune.cpp); it is made
// once, so that a product has the same bits in every step and on every GPU of
// one kind. Where C is bf16 or f16 and
// accumulates, the library may round the product before it adds it; gradients
// are f32.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAGEMM_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAGEMM_H

#include "../Host/Gemm.h"
#include "../TuneFile.h"
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
  /// After finish(): products use the file's choices. Those that it lacks are
  /// timed, on operands in `scratch`, which is as large as any of them, and
  /// added. `fill`: rondo_fill of CudaKernels.h. Error (Code::User): the file
  /// has an algorithm that cuBLASLt does not know or that is not deterministic.
  Status tune(TuneFile &file, Address scratch, uint64_t scratchBytes,
              Function widen, Function fill);
  /// `widen`: rondo_widen of CudaKernels.h; null unless widens().
  /// `bias`: heeded if the product has one.
  Status run(uint32_t plan, Address a, Address b, Address c, Address bias,
             Stream stream, Function widen) const;

  uint64_t workspaceBytes() const { return workspaceSize; }
  /// Some product has operands of two types: they are widened to f32 first.
  bool widens() const { return widened[0] + widened[1] != 0; }
  /// Library, products and their algorithms, a line each, whatever their order.
  std::string arithmetic() const;
  /// cublasLtGetVersion; 0: there are no products.
  uint64_t version() const { return blas ? blas->version() : 0; }

  /// What algorithms may use: NVIDIA recommends it for Hopper, and it is enough
  /// for every older architecture.
  static constexpr uint64_t kWorkspace = 32u << 20;

private:
  struct Plan {
    GemmShape shape;
    bool widen[2] = {false, false}; ///< A, B.
    BlasDescription description = nullptr;
    BlasLayout first = nullptr, second = nullptr,
               result = nullptr; ///< Of B, A, C: column major is the transpose.
    /// A, B, C, bias, in bytes.
    uint32_t alignment[4] = {256, 256, 256, 256};
    BlasAlgorithm algorithm{};
  };
  /// Of all that an algorithm depends on.
  static std::string name(const Plan &plan);
  Status describe(Plan &plan);
  /// At least one, the library's first choice at the front.
  Status candidates(const Plan &plan, int wanted,
                    std::vector<BlasAlgorithm> &algorithms) const;
  /// Whether it adds partial products in one order, and in the workspace.
  bool deterministic(const Plan &plan, const BlasAlgorithm &algorithm) const;
  Status fastest(uint32_t number, Address scratch, uint64_t scratchBytes,
                 Function widen, Function fill, TuneFile::Choice &choice);
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
