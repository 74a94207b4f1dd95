//===- rondo-dump.cpp - Prints a program ----------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo-c/runtime.h"
#include "rondo/Dump/Dump.h"
#include <algorithm>
#include <iostream>
#include <string_view>

using namespace rondo;

static const char *const kUsage = R"(Prints a .rondo program.

Use: rondo-dump [OPTION] PROGRAM.rondo

  (none)             everything but machine code and weights
  --plan             the plan in words, memory, predicted step
  --json             the same as JSON
  --arithmetic       hash of all that decides the bits of a step
  --arithmetic-text  what that hash is of
  --ptx              the code that GPUs run
  --trace=FILE       write the predicted timeline (Chrome's trace format)
  --version          the version
)";

int main(int argc, char **argv) {
  std::string option, path;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      std::cout << kUsage;
      return 0;
    }
    if (argument == "--version") {
      std::cout << "rondo-dump " << rondo_runtime_version() << "\n";
      return 0;
    }
    std::string &target = argument.starts_with("--") ? option : path;
    if (!target.empty()) {
      std::cerr << "rondo-dump: '" << argument << "' after '" << target
                << "': one option and one program\n";
      return 2;
    }
    target = argument;
  }
  if (path.empty()) {
    std::cerr << kUsage;
    return 2;
  }
  constexpr std::string_view known[] = {
      "", "--plan", "--json", "--arithmetic", "--ptx", "--arithmetic-text"};
  constexpr std::string_view trace = "--trace=";
  bool isTrace = option.starts_with(trace);
  if (std::ranges::find(known, option) == std::end(known) &&
      (!isTrace || option == trace)) {
    std::cerr << "rondo-dump: option '" << option
              << (isTrace ? "' names no file\n"
                          : "' is not known; see --help\n");
    return 2;
  }
  std::unique_ptr<runtime::Program> program;
  runtime::Status status = runtime::Program::load(path, program);
  if (status.ok()) {
    if (option.empty())
      dump::printProgram(*program, std::cout);
    else if (option == "--plan")
      dump::printPlan(*program, std::cout);
    else if (option == "--json")
      dump::printPlanJson(*program, std::cout);
    else if (option == "--ptx")
      status = dump::printPtx(*program, std::cout);
    else if (isTrace) {
      std::string file = option.substr(trace.size());
      status = program->checkNotRead(file, /*weights=*/"", /*isSave=*/false);
      if (status.ok())
        status = dump::writePlannedTrace(*program, file);
    } else
      dump::printArithmetic(*program, option == "--arithmetic-text", std::cout);
  }
  if (status.ok() && !std::cout.flush())
    status = runtime::userError("standard output cannot be written");
  if (!status.ok()) {
    std::cerr << "rondo-dump: " << status.message() << "\n";
    return (int)status.code();
  }
  return 0;
}
