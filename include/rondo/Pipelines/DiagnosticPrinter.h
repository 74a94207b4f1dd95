//===- DiagnosticPrinter.h - Messages for users of the tools ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PIPELINES_DIAGNOSTICPRINTER_H
#define RONDO_PIPELINES_DIAGNOSTICPRINTER_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace rondo {

/// Prints every diagnostic on `os` while it lives:
///
///     error: node 'node_conv' (ai.onnx::Conv): ...
///     model.onnx: remark: ...
///     loss.mlir:12:3: error: ...
class DiagnosticPrinter : public mlir::ScopedDiagnosticHandler {
public:
  DiagnosticPrinter(mlir::MLIRContext *context, llvm::raw_ostream &os);

  /// Whether an error said that no plan fits: exit code 3 instead of 1.
  bool sawInfeasible() const { return infeasible; }
  /// Whether an error was about a flag, which its text begins with: exit
  /// code 2.
  bool sawBadFlag() const { return badFlag; }

private:
  void print(mlir::Diagnostic &diagnostic, bool isNote);

  llvm::raw_ostream &os;
  bool infeasible = false;
  bool badFlag = false;
};

} // namespace rondo

#endif // RONDO_PIPELINES_DIAGNOSTICPRINTER_H
