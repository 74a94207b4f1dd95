//===- LearningRate.cpp - The learning rate of each step ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LearningRate.h"
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

using namespace rondo::runtime;

Status LearningRate::parse(const std::string &text) {
  LearningRate result;
  result.base = base;
  result.total = total;
  bool first = true;
  std::set<std::string> given;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    auto wrong = [&](const char *why) {
      return flagsError("--lr-schedule=" + text + ": '" + word + "' " + why +
                        "; write, for example, cosine,warmup=100,min=1e-5");
    };
    if (first) {
      first = false;
      if (word == "constant")
        result.shape = Shape::Constant;
      else if (word == "linear")
        result.shape = Shape::Linear;
      else if (word == "cosine")
        result.shape = Shape::Cosine;
      else
        return wrong("is none of constant, linear, cosine");
      continue;
    }
    size_t equals = word.find('=');
    std::string key = word.substr(0, equals),
                value =
                    equals == std::string::npos ? "" : word.substr(equals + 1);
    const char *stop = value.data() + value.size();
    if (!given.insert(key).second)
      return wrong("is given twice");
    if (key == "warmup") {
      auto [at, error] = std::from_chars(value.data(), stop, result.warmup);
      if (error != std::errc() || at != stop)
        return wrong("is not a number of steps");
    } else if (key == "min") {
      auto [at, error] = std::from_chars(value.data(), stop, result.least);
      if (error != std::errc() || at != stop || !(result.least >= 0) ||
          !std::isfinite(result.least))
        return wrong("is not a rate");
      if (result.shape == Shape::Constant)
        return wrong("has no effect on a constant rate");
      if (result.least > base)
        return wrong(
            format("is above the program's learning rate, %g", base).c_str());
    } else {
      return wrong("is neither warmup= nor min=");
    }
  }
  *this = result;
  return Status::success();
}

double LearningRate::at(uint64_t step) const {
  if (step < warmup)
    return base * (double)(step + 1) / (double)warmup;
  if (shape == Shape::Constant)
    return base;
  uint64_t length = total > warmup ? total - warmup : 1;
  double progress = std::fmin((double)(step - warmup) / (double)length, 1.0);
  if (shape == Shape::Linear)
    return base + (least - base) * progress;
  return least + 0.5 * (base - least) * (1 + std::cos(M_PI * progress));
}
