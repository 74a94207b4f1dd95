//===- Run.h - Trains as the options say ------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_RONDORUN_RUN_H
#define RONDO_TOOLS_RONDORUN_RUN_H

#include "Options.h"
#include "rondo-c/runtime.h"

namespace rondo::run {

/// Returns the exit code; errors go to standard error.
int run(const Options &options);

/// Prints what happened to standard output. Null, or an error.
rondo_error *printReport(const Options &options, const rondo_program *program,
                         rondo_session *session,
                         const std::vector<double> &losses);

} // namespace rondo::run

#endif // RONDO_TOOLS_RONDORUN_RUN_H
