//===- Trace.h - Timelines in Chrome's format -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_TRACE_H
#define RONDO_RUNTIME_TRACE_H

#include "rondo/Runtime/Program.h"
#include <cstdio>

namespace rondo::runtime {

/// Writes measured and predicted timelines alike: processes are devices and the
/// host, threads are lanes, times are microseconds.
class TraceWriter {
public:
  /// Begins the file: names of processes and lanes.
  TraceWriter(std::FILE *file, const program::Program &table);
  /// Operation `op` of iteration `step` on physical device `device` (ignored on
  /// host lanes); nanoseconds from the trace's begin.
  void add(uint32_t op, uint64_t step, uint32_t device, double begin,
           double duration);
  /// Ends the file.
  void finish();

private:
  void addName(const char *kind, uint32_t process, int thread,
               const std::string &name);

  std::FILE *file;
  const program::Program &table;
};

/// Bytes that a copy moves; 0 for other operations.
uint64_t copiedBytes(const program::Op &op);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_TRACE_H
