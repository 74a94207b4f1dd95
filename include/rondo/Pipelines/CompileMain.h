//===- CompileMain.h - The compiler's command line --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PIPELINES_COMPILEMAIN_H
#define RONDO_PIPELINES_COMPILEMAIN_H

namespace rondo {

/// Exit codes of rondo-compile.
enum class ExitCode {
  Done = 0,
  UserError = 1,
  BadFlags = 2,
  Infeasible = 3,
  Internal = 70,
};

/// Runs rondo-compile; returns its exit code.
int compileMain(int argc, char **argv);

} // namespace rondo

#endif // RONDO_PIPELINES_COMPILEMAIN_H
