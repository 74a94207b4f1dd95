//===- Phases.h - The road from file to program ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PIPELINES_PHASES_H
#define RONDO_PIPELINES_PHASES_H

#include "mlir/Pass/PassManager.h"
#include "rondo/Support/Config.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace rondo {

/// A phase: what --compile-to and --from call it, and its passes. docs/phases
/// says what holds after each.
struct Phase {
  llvm::StringLiteral name;
  llvm::StringLiteral description;
  void (*addPasses)(mlir::OpPassManager &, const Config &);
  /// What proves that a module, perhaps edited, is what this phase leaves.
  void (*addVerifiers)(mlir::OpPassManager &, const Config &);
};

/// In order. The first, `import`, makes the module and has no passes; the last,
/// `program`, writes the file and has none either.
llvm::ArrayRef<Phase> getPhases();

/// Position of the phase called `name`, or -1.
int findPhase(llvm::StringRef name);

/// "import, raise, ...".
std::string getPhaseNames();

} // namespace rondo

#endif // RONDO_PIPELINES_PHASES_H
