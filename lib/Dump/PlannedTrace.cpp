//===- PlannedTrace.cpp - The predicted timeline --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dump/Dump.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Runtime/Trace.h"

using namespace rondo;

runtime::Status dump::writePlannedTrace(const runtime::Program &program,
                                        const std::string &path) {
  return runtime::writeFile(path, [&](std::FILE *file) {
    const program::Program &table = program.table();
    runtime::TraceWriter writer(file, table);
    for (uint32_t i = 0; i < runtime::sizeOf(table.ops()); ++i) {
      const program::Op &op = *table.ops()->Get(i);
      writer.add(i, 0, op.device() < 0 ? 0 : (uint32_t)op.device(), op.start(),
                 op.duration());
    }
    writer.finish();
  });
}
