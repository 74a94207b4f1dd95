//===- DerivativeCases.h - Random instances of nn ops ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the property tests of derivatives and decompositions draw from: for
// each differentiable op, instances of many shapes, attributes and values. One
// seed gives the same instance on every machine.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_DIALECT_NN_DERIVATIVECASES_H
#define RONDO_UNITTESTS_DIALECT_NN_DERIVATIVECASES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "rondo/Dialect/NN/NN.h"
#include <vector>

namespace rondo::nn::test {

/// SplitMix64; the standard library's distributions differ between libraries.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// In [0, bound).
  int64_t below(int64_t bound) { return int64_t(next() % uint64_t(bound)); }
  /// In [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool flip() { return next() & 1; }
  /// In [low, high).
  double uniform(double low, double high);

private:
  uint64_t state;
};

/// A function whose arguments are an op's operands (except those that the case
/// wants constant) and whose results are the op's.
struct OpCase {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::Operation *op = nullptr;
  /// Values of the arguments, exact doubles.
  std::vector<HostTensor> inputs;
  /// The operands of `op` that have a derivative.
  llvm::SmallVector<unsigned> differentiable;
};

struct CaseKind {
  llvm::StringRef name;
  /// Floating operands have `element`.
  OpCase (*make)(mlir::MLIRContext &context, Random &random,
                 mlir::Type element);
};

llvm::ArrayRef<CaseKind> getCaseKinds();

/// A context with what the cases need.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// `value` with elements drawn from [low, high).
void fillUniform(HostTensor &tensor, Random &random, double low, double high);

/// The function as text, for messages.
std::string print(mlir::Operation *op);

} // namespace rondo::nn::test

#endif // RONDO_UNITTESTS_DIALECT_NN_DERIVATIVECASES_H
