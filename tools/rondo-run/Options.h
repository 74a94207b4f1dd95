//===- Options.h - Options of rondo-run -------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_RONDORUN_OPTIONS_H
#define RONDO_TOOLS_RONDORUN_OPTIONS_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rondo::run {

/// Name and file of an input.
using InputFile = std::pair<std::string, std::string>;

struct Options {
  std::string program;
  std::string device;
  std::vector<std::string> inputs; ///< As given: NAME=@FILE.npy.
  int64_t steps = -1;              ///< -1: what the inputs hold.
  uint32_t epochs = 1;
  bool shuffle = false;
  uint64_t shuffleSeed = 0;
  std::string learningRate = "constant";
  std::string weights, weightsPrefix;
  std::string save, saveGradients;
  bool sourceNames = false;
  std::string losses, log, trace;
  std::string tune;
  bool retune = false;
  enum class Report { None, Text, Json } report = Report::None;
  uint64_t reportAfter = 0; ///< Steps before those that are measured.
  uint32_t hostThreads = 0;
  double watchdog = 0; ///< Seconds. 0: as the runtime thinks; -1: never.
  uint64_t delaySeed = 0;
  uint32_t delayMicroseconds = 0;
  bool listDevices = false, help = false, version = false;
};

/// Empty if all is well, else what is wrong: exit code 2.
std::string parseOptions(int argc, const char *const *argv, Options &options);
/// Every way to read what was given for an input, shortest name first.
std::vector<InputFile> splitInput(const std::string &text);
std::string helpText();

} // namespace rondo::run

#endif // RONDO_TOOLS_RONDORUN_OPTIONS_H
