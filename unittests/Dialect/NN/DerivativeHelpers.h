//===- DerivativeHelpers.h - Building and running pullbacks -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_DIALECT_NN_DERIVATIVEHELPERS_H
#define RONDO_UNITTESTS_DIALECT_NN_DERIVATIVEHELPERS_H

#include "DerivativeCases.h"
#include <optional>
#include <string>

namespace rondo::nn::test {

/// A function from a case's arguments and the cotangent of the op's first
/// result to operands' cotangents.
struct Pullback {
  mlir::func::FuncOp function;
  /// What `buildVJP` gave, one per operand, null ones too.
  llvm::SmallVector<mlir::Value> cotangents;
  /// The operand of each result: those whose cotangent is not null.
  llvm::SmallVector<unsigned> operands;
};

/// Builds `op`'s pullback into the case's module, and verifies it. With
/// `withCotangent` false nothing flows back.
mlir::FailureOr<Pullback> buildPullback(OpCase &instance,
                                        llvm::ArrayRef<bool> wanted,
                                        bool withCotangent = true);

/// Wants every operand that is an argument.
llvm::SmallVector<bool> wantAll(const OpCase &instance);

/// A function that computes the case's op by its decomposition.
mlir::FailureOr<mlir::func::FuncOp> buildDecomposed(OpCase &instance);

/// Runs a function; a test failure and nothing when it fails.
std::optional<std::vector<HostTensor>>
run(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs, bool exact);

/// A random cotangent of the op's first result.
HostTensor makeCotangent(const OpCase &instance, Random &random);

/// What differs between two lists of numbers by more than `tolerance` times
/// the largest of `expected` or 1; nothing if they agree. NaN equals nothing.
std::optional<std::string> compareNumbers(llvm::ArrayRef<double> actual,
                                          llvm::ArrayRef<double> expected,
                                          double tolerance);

/// The element types of the property tests.
mlir::Type getElementType(mlir::MLIRContext &context, llvm::StringRef name);

} // namespace rondo::nn::test

#endif // RONDO_UNITTESTS_DIALECT_NN_DERIVATIVEHELPERS_H
