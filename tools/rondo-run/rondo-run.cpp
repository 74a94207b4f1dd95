//===- rondo-run.cpp - Trains a program -----------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include <cstdio>

using namespace rondo::run;

static int runTool(int argc, char **argv) {
  Options options;
  std::string error = parseOptions(argc, argv, options);
  if (!error.empty()) {
    std::fprintf(stderr, "rondo-run: error: %s\n", error.c_str());
    return RONDO_BAD_OPTION;
  }
  if (options.help) {
    std::fputs(helpText().c_str(), stdout);
    return 0;
  }
  if (options.version) {
    std::printf("rondo-run %s\n", rondo_runtime_version());
    return 0;
  }
  if (options.listDevices) {
    std::fputs(rondo_list_devices(), stdout);
    return 0;
  }
  return run(options);
}

int main(int argc, char **argv) {
  // A line a step, for whoever watches through a pipe.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int code = runTool(argc, argv);
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && code == 0) {
    std::fputs("rondo-run: error: standard output cannot be written\n", stderr);
    code = RONDO_USER_ERROR;
  }
  return code;
}
