//===- HostHarness.h - Runs launch lists in this process -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers functions of nn ops, compiles them, loads the shared object and runs
// the calls one by one, products by plain loops in double precision. The same
// functions go through the reference interpreter.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_TARGET_HOSTHARNESS_H
#define RONDO_UNITTESTS_TARGET_HOSTHARNESS_H

#include "GpuRecorder.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "rondo/Conversion/Passes.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Target/HostObject.h"
#include <map>
#include <random>
#include <string>
#include <vector>

namespace rondo::test {

/// The tensor as kernels see it, and back.
Bytes toBytes(const nn::HostTensor &tensor);
nn::HostTensor fromBytes(mlir::RankedTensorType type, const uint8_t *bytes);

/// One element's bits, rounded to nearest, and back.
uint64_t encode(double value, mlir::FloatType type);
double decode(uint64_t bits, mlir::FloatType type);

/// What the call Attention or AttentionGrad says, in doubles.
void attend(const target::Call &call, llvm::ArrayRef<void *> pointers);

/// A module of functions, compiled.
class CompiledModule {
public:
  /// `text`: functions of nn ops. Reports failures to GoogleTest; then
  /// `isValid` is false.
  explicit CompiledModule(mlir::MLIRContext &context, const std::string &text,
                          const conversion::KernelOptions &options = {},
                          const target::HostOptions &host = {},
                          mlir::Type copyType = {});
  ~CompiledModule();

  bool isValid() const { return library != nullptr; }
  std::vector<std::string> getFunctions() const;
  mlir::FunctionType getType(const std::string &function) const {
    return types.at(function);
  }
  const target::CompiledEntry &getEntry(const std::string &function) const;
  void *getSymbol(const std::string &name) const;

  /// Runs a function on its arguments' bytes; `initial`: what results hold
  /// before (all 0xff if empty). The calls' status is added to `status`.
  std::vector<Bytes> run(const std::string &function,
                         const std::vector<Bytes> &arguments,
                         int *status = nullptr,
                         const std::vector<Bytes> &initial = {}) const;
  /// What the reference interpreter computes.
  std::vector<nn::HostTensor>
  evaluate(const std::string &function,
           const std::vector<nn::HostTensor> &arguments) const;

  /// Random arguments: floats around 0 (`nn.low` and `nn.high` of the argument
  /// otherwise), integers from 0 to `nn.high` (exclusive, 4 otherwise).
  std::vector<nn::HostTensor> makeArguments(const std::string &function,
                                            unsigned seed) const;

private:
  /// Where kernels are recorded.
  void compileForGpus(llvm::ArrayRef<kern::FuncOp> functions);
  mlir::Operation *getOp(const std::string &function, size_t call) const;

  std::unique_ptr<GpuRecorder> recorder;
  mlir::OwningOpRef<mlir::ModuleOp> source; ///< Before lowering.
  mlir::OwningOpRef<mlir::ModuleOp> lowered;
  std::map<std::string, mlir::FunctionType> types;
  target::HostObject object;
  void *library = nullptr;
};

/// Runs every function of `text` on random arguments and compares with the
/// reference, within `test.tolerance` of the function (relative to the larger
/// of 1 and the value; by element type otherwise).
void checkAll(const std::string &text,
              const conversion::KernelOptions &options = {});

/// A context with all dialects that are needed.
std::unique_ptr<mlir::MLIRContext> makeContext();

} // namespace rondo::test

#endif // RONDO_UNITTESTS_TARGET_HOSTHARNESS_H
