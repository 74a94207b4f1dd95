//===- HostObject.h - Host code of kernels ---------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels of kern.funcs become functions of one shared object that needs
// nothing but libc and libm:
//
//   int32_t name(void *const *pointers, int64_t begin, int64_t end)
//
// runs the kernel over [begin, end) of its first axis; calls over disjoint ranges may run at the same time.
// The result is 0, or 1 where an index is out of range (gather, scatter_add). Equal kernels are one function, named after a hash of
// what it computes, so names and code do not depend on where it is used.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_HOSTOBJECT_H
#define RONDO_TARGET_HOSTOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "rondo/Dialect/Kern/Kern.h"
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// The AdamW kernels to compile beside the module's. The betas are compiled
/// in because 1 - beta needs more digits than an f32 beta has.
struct HostAdamW {
  double beta1 = 0.9;
  double beta2 = 0.999;
  /// bf16 or f16: also a kernel that writes such a copy of the weights.
  mlir::Type copyType;
};

struct HostOptions {
  /// As in -mcpu: "x86-64-v3", "native", ... At least x86-64-v3.
  std::string cpu = "x86-64-v3";
  std::optional<HostAdamW> adamw;
};

struct HostObject {
  std::string sharedObject;             ///< An ELF file.
  std::vector<std::string> cpuFeatures; ///< That the code needs, in LLVM's names: "avx2", "fma", ...
  std::string adamwSymbol;              ///< Empty if not asked for.
  std::string adamwCopySymbol;
};

/// Compiles all kernels of all kern.funcs in `module`. Fails after a
/// diagnostic.
mlir::FailureOr<HostObject> emitHostObject(mlir::ModuleOp module, const HostOptions &options);

/// The same kernels as a module of functions in the arith, scf and llvm dialects: what
/// `emitHostObject` compiles.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> emitHostKernels(mlir::ModuleOp module, const HostOptions &options,
                                                                   HostObject &object);

//===----------------------------------------------------------------------===//
// Launch lists
//===----------------------------------------------------------------------===//

/// Argument `argument` of an entry plus bytes. The scratch counts as one more
/// argument after the function's.
struct HostAddress {
  uint32_t argument = 0;
  uint64_t offset = 0;
  bool operator==(const HostAddress &) const = default;
};

/// As `Gemm` in schema/program.fbs.
struct HostGemm {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transposeA = false, transposeB = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  float alpha = 1;
  bool accumulate = false;
  mlir::Type typeA, typeB, typeC;
};

enum class HostCallKind : uint8_t { Kernel = 0, Gemm = 1, Zero = 2, Copy = 3 };

/// As `Call` in schema/program.fbs.
struct HostCall {
  HostCallKind kind = HostCallKind::Kernel;
  std::vector<HostAddress> addresses;
  std::string symbol;
  int64_t begin = 0;  ///< Kernel: it is run over [begin, begin + extent).
  int64_t extent = 0;
  HostGemm gemm;
  uint64_t bytes = 0;
  std::string node;
};

/// The launch list of an entry. The function was verified; scratch offsets are
/// planned.
std::vector<HostCall> translateEntry(kern::FuncOp function);

/// The exported name of the kernel that a kern.fused, gather, scatter_add or
/// constant op runs.
std::string getKernelSymbol(mlir::Operation *op);

} // namespace rondo

#endif // RONDO_TARGET_HOSTOBJECT_H
