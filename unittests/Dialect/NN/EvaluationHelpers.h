//===- EvaluationHelpers.h - Evaluation of ops written as text --*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_DIALECT_NN_EVALUATIONHELPERS_H
#define RONDO_UNITTESTS_DIALECT_NN_EVALUATIONHELPERS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/DebugStringHelper.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"
#include "gtest/gtest.h"

namespace rondo::nn::test {

/// A context with what functions of nn ops need, which collects diagnostics.
class EvaluationTest : public ::testing::Test {
protected:
  EvaluationTest();

  /// "dense<[1.0, 2.0]> : tensor<2xf32>".
  HostTensor parseTensor(llvm::StringRef text);
  mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::StringRef text);
  /// The results of function @f of `module`.
  mlir::FailureOr<llvm::SmallVector<HostTensor>>
  evaluate(mlir::ModuleOp module, llvm::ArrayRef<HostTensor> inputs = {},
           const EvaluationContext &how = {}, ParameterLookup lookup = nullptr);
  /// The value called %r after `body`, which is of type `type`.
  mlir::FailureOr<HostTensor> evaluateBody(llvm::StringRef body,
                                           llvm::StringRef type,
                                           const EvaluationContext &how = {});
  /// Expects %r after `body` to be the tensor written in `expected`, each
  /// element within `tolerance` relative to max(1, magnitude); 0: the same
  /// bits. NaN equals NaN.
  void expectValue(llvm::StringRef body, llvm::StringRef expected,
                   double tolerance = 0, const EvaluationContext &how = {});
  /// Expects evaluation to fail with a message that contains `message`.
  void expectFailure(llvm::StringRef body, llvm::StringRef type,
                     llvm::StringRef message);

  mlir::MLIRContext context;
  std::string diagnostics;
};

/// Compares as EvaluationTest::expectValue does.
void expectClose(const HostTensor &actual, const HostTensor &expected,
                 double tolerance);

} // namespace rondo::nn::test

#endif // RONDO_UNITTESTS_DIALECT_NN_EVALUATIONHELPERS_H
