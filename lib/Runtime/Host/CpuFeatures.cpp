//===- CpuFeatures.cpp - What this processor can do -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executable.h"
#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

using namespace rondo::runtime;

/// LLVM's names of features that the kernel calls otherwise.
static std::string kernelName(const std::string &feature) {
  static const struct {
    const char *llvm, *kernel;
  } names[] = {{"sse3", "pni"},      {"lzcnt", "abm"},
               {"bmi", "bmi1"},      {"prfchw", "3dnowprefetch"},
               {"sahf", "lahf_lm"},  {"64bit", "lm"},
               {"crc32", "sse4_2"},  {"pclmul", "pclmulqdq"},
               {"rdrnd", "rdrand"},  {"sha", "sha_ni"},
               {"mwaitx", "mwaitx"}, {"vnni", "avx512_vnni"},
               {"x87", "fpu"},       {"cmov", "cmov"}};
  for (const auto &name : names)
    if (feature == name.llvm)
      return name.kernel;
  std::string result = feature;
  std::replace(result.begin(), result.end(), '.', '_');
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

/// The micro-architecture levels of the x86-64 psABI.
static std::vector<std::string> levelFeatures(const std::string &level) {
  std::vector<std::string> features;
  auto add = [&](std::initializer_list<const char *> more) {
    features.insert(features.end(), more.begin(), more.end());
  };
  bool v4 = level == "x86-64-v4", v3 = v4 || level == "x86-64-v3",
       v2 = v3 || level == "x86-64-v2";
  if (v2)
    add({"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"});
  if (v3)
    add({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe",
         "xsave"});
  if (v4)
    add({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  if (features.empty() && level != "x86-64" && level != "generic")
    features.push_back(level);
  return features;
}

static std::set<std::string> readFlags() {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0)
      continue;
    std::istringstream words(
        line.substr(std::min(line.find(':') + 1, line.size())));
    for (std::string word; words >> word;)
      flags.insert(word);
    break;
  }
  return flags;
}

/// Underscores do not count: one side writes avx512_bf16, the other avx512bf16.
static std::string squeezed(std::string name) {
  name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
  return name;
}

std::vector<std::string>
rondo::runtime::missingCpuFeatures(std::span<const std::string> required) {
  static const std::set<std::string> available = [] {
    std::set<std::string> names;
    for (const std::string &flag : readFlags())
      names.insert(squeezed(flag));
    return names;
  }();
  std::vector<std::string> missing;
  for (const std::string &name : required) {
    // As in LLVM's feature strings, a leading + asks for the feature and a
    // leading - for nothing.
    if (name.empty() || name[0] == '-')
      continue;
    for (const std::string &feature :
         levelFeatures(name[0] == '+' ? name.substr(1) : name))
      if (!available.count(squeezed(kernelName(feature))) &&
          std::find(missing.begin(), missing.end(), feature) == missing.end())
        missing.push_back(feature);
  }
  return missing;
}
