//===- Dump.h - A program as text -------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DUMP_DUMP_H
#define RONDO_DUMP_DUMP_H

#include "rondo/Runtime/Program.h"
#include <iosfwd>

namespace rondo::dump {

/// Everything but machine code and weights: plan, parameters, buffers, entries
/// with their calls, operations with their waits.
void printProgram(const runtime::Program &program, std::ostream &out);
/// The plan in words, with the predicted step and bytes moved.
void printPlan(const runtime::Program &program, std::ostream &out);
/// The same as one JSON object.
void printPlanJson(const runtime::Program &program, std::ostream &out);
/// XXH3-128 of the canonical text of all that decides the bits of a step
/// (architecture, "Principles", 4): equal for plans that must train to equal
/// bits. With `text`, that text instead.
void printArithmetic(const runtime::Program &program, bool text,
                     std::ostream &out);
/// The PTX that GPUs run. Error: the program has none.
runtime::Status printPtx(const runtime::Program &program, std::ostream &out);
/// The predicted timeline of the first iteration, in the format of rondo-run
/// --trace.
runtime::Status writePlannedTrace(const runtime::Program &program,
                                  const std::string &path);

} // namespace rondo::dump

#endif // RONDO_DUMP_DUMP_H
