//===- CompileOptions.h - Flags of rondo-compile ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PIPELINES_COMPILEOPTIONS_H
#define RONDO_PIPELINES_COMPILEOPTIONS_H

#include "rondo/Import/Import.h"
#include "rondo/Support/Config.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rondo {

enum class ReportKind { None, Text, Json };

/// Everything the command line says.
struct CompileOptions {
  std::string input;
  std::string output;      ///< "-": standard output.
  std::string machineFile; ///< That --target names, if it is a file.
  ImportOptions import;
  Config config;
  bool isIR = false;         ///< The input is IR, not an ONNX model.
  int first = 0;             ///< The phase that left it,
  bool isPhaseGiven = false; ///< ... as the user said.
  int last = 0;              ///< The last phase to run.
  bool emitProgram = false;  ///< Else MLIR.
  ReportKind report = ReportKind::None;
  /// Flags given that act on what a model may lack, without dashes.
  std::vector<std::string> modelFlags;
};

/// Parses the command line; an error is a bad flag (exit code 2), already
/// printed where LLVM's parser found it.
llvm::Expected<CompileOptions> parseCompileOptions(int argc, char **argv);

} // namespace rondo

#endif // RONDO_PIPELINES_COMPILEOPTIONS_H
