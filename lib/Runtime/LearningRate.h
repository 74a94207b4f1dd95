//===- LearningRate.h - The learning rate of each step ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_LEARNINGRATE_H
#define RONDO_LIB_RUNTIME_LEARNINGRATE_H

#include "rondo/Runtime/Status.h"

namespace rondo::runtime {

struct LearningRate {
  enum class Shape : uint8_t { Constant, Linear, Cosine };
  Shape shape = Shape::Constant;
  double base = 0;     ///< The program's.
  double least = 0;    ///< Where linear and cosine end.
  uint64_t warmup = 0; ///< Steps of a linear rise to base; the first step
                       ///< already has base / warmup.
  uint64_t total = 0;  ///< Steps after which `least` is reached.

  /// "constant", "cosine,warmup=100,min=1e-5".
  Status parse(const std::string &text);
  double at(uint64_t step) const;
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_LEARNINGRATE_H
