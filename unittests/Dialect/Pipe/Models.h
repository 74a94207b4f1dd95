//===- Models.h - Small models to cut and differentiate ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_DIALECT_PIPE_MODELS_H
#define RONDO_UNITTESTS_DIALECT_PIPE_MODELS_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::pipe::test {

struct Model {
  std::string name;
  std::string text; ///< A module with one loss function.
  int64_t indices;  ///< Integer inputs are below it; the last is ignored.
  int64_t layers;   ///< What is expected of the cut,
  int64_t bodies;   ///< after bodies were split, with that of the labels.
  std::vector<std::string> backwardEntries; ///< "label/entry", as they run.
};

std::vector<Model> getModels();

} // namespace rondo::pipe::test

#endif // RONDO_UNITTESTS_DIALECT_PIPE_MODELS_H
