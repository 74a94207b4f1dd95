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
// runs the kernel over [begin, end) of its first axis; calls over disjoint
// ranges may run at the same time. The result is 0, or 1 where an index is out
// of range (gather, scatter_add). Equal kernels are one function, named after a
// hash of what it computes, so names and code do not depend on where it is
// used.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TARGET_HOSTOBJECT_H
#define RONDO_TARGET_HOSTOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "rondo/Dialect/Kern/Kern.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>
#include <vector>

namespace rondo::target {

struct HostOptions {
  /// As in -mcpu: "x86-64-v3", "native", ... At least x86-64-v3.
  std::string cpu = "x86-64-v3";
  /// AdamW's. Compiled in, because 1 - beta needs more digits than an f32 beta
  /// has.
  double beta1 = 0.9;
  double beta2 = 0.999;
};

/// Whether host code can be made for a processor; an error says why not, and
/// for which it can.
llvm::Error checkHostCpu(llvm::StringRef cpu);

/// One call of a launch list, as in schema/program.fbs.
struct Call {
  enum class Kind : uint8_t {
    Kernel = 0,
    Gemm = 1,
    Zero = 2,
    Copy = 3,
    Attention = 4,
    AttentionGrad = 5
  };
  /// Argument `argument` of the entry plus bytes. The scratch counts as one
  /// more argument after the function's.
  struct Address {
    uint32_t argument = 0;
    uint64_t offset = 0;
    bool operator==(const Address &) const = default;
  };

  /// Bytes from an address on: [begin + beginStep * extent, end + endStep *
  /// extent).
  struct Reach {
    int64_t begin = 0, end = 0, beginStep = 0, endStep = 0;
  };

  Kind kind = Kind::Kernel;
  std::vector<Address> addresses; ///< As in schema/program.fbs.
  std::vector<Reach> reach;       ///< Kernel: what it touches at each address.
  std::string symbol;             ///< Kernel.
  int64_t begin = 0, extent = 0;  ///< Kernel: it is run over [begin, extent).
  /// Kernel that looks indices up: its second pointer's `indexRows` tuples are
  /// of one index in [-extent, extent) for each of these.
  std::vector<int64_t> indexExtents;
  int64_t indexRows = 0;
  mlir::Type indexType;
  /// Kernel: its launch on a GPU (GpuObject.h), empty where there is no code
  /// for one.
  std::string gpuSymbol;
  std::array<uint32_t, 3> block{}, grid{};
  uint64_t bytes = 0; ///< Zero, Copy; Kernel: what it moves, as the cost model
                      ///< counts.
  std::string node;   ///< For errors and traces.

  // Gemm.
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transposeA = false, transposeB = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t strideA = 0, strideB = 0, strideC = 0;
  float alpha = 1;
  bool accumulate = false;
  bool bias = false;              ///< Then its address comes after C's.
  mlir::Type typeA, typeB, typeC; ///< f32, bf16 or f16.

  // Attention, AttentionGrad.
  runtime::AttentionSizes sizes;
  runtime::AttentionBlock attentionBlock; ///< AttentionGrad.
  float scale = 1;
  bool causal = false;
  int64_t window = 0;           ///< 0: none.
  mlir::Type element;           ///< bf16 or f16.
  std::vector<int64_t> strides; ///< Batch, head, row of each matrix.
  uint64_t workspaceBytes = 0;
  uint64_t libraryBytes = 0; ///< AttentionGrad.
};

/// A kernel of the optimizer.
struct AdamWKernel {
  double beta1 = 0.9, beta2 = 0.999;
  mlir::Type copyType;     ///< bf16 or f16; null: no upload copy is written.
  mlir::Type gradientType; ///< Null: f32; or bf16.
  /// A coefficient below 0 leaves the state as it is, which is updated in
  /// place; the upload copy is written from it.
  bool maySkip = false;
};

struct CompiledEntry {
  std::string name;       ///< "body::entry", or "entry" outside of a body.
  uint32_t arguments = 0; ///< Without the scratch.
  uint64_t scratchBytes = 0;
  std::vector<Call> calls;
  double flops = 0, bytes = 0, time = 0;
};

struct HostObject {
  std::string sharedObject; ///< An ELF file.
  std::vector<std::string>
      cpuFeatures; ///< That the code needs, in LLVM's names: "avx2", "fma", ...
  std::vector<CompiledEntry> entries; ///< In the order given.
  /// AdamW over f32 elements; pointers and scalars as at `Optimizer` in
  /// schema/program.fbs.
  std::string optimizer;
  std::string optimizerWithCopy; ///< Empty where there is no copy type.
};

/// Compiles all kernels of `functions` (verified, scratch planned) and the
/// optimizer's. `copyType`: null, or the bf16 or f16 that weights are also
/// written in. `updates`: further kernels of the optimizer. Fails after a
/// diagnostic.
mlir::FailureOr<HostObject>
emitHostObject(mlir::Location loc, llvm::ArrayRef<kern::FuncOp> functions,
               mlir::Type copyType, const HostOptions &options,
               llvm::ArrayRef<AdamWKernel> updates = {});

/// The kernels as a module of functions in the arith, math, scf and llvm
/// dialects: what `emitHostObject` compiles.
mlir::OwningOpRef<mlir::ModuleOp>
emitHostKernels(mlir::Location loc, llvm::ArrayRef<kern::FuncOp> functions);

/// The launch list of an entry.
std::vector<Call> translateEntry(kern::FuncOp function);

/// The exported name of the kernel that a kern.fused, gather, scatter_add or
/// constant op runs.
std::string getKernelSymbol(mlir::Operation *op);

} // namespace rondo::target

#endif // RONDO_TARGET_HOSTOBJECT_H
