//===- ChainRunner.h - Trains a chain with the interpreter ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_DIALECT_PIPE_CHAINRUNNER_H
#define RONDO_UNITTESTS_DIALECT_PIPE_CHAINRUNNER_H

#include "rondo/Dialect/Pipe/Entries.h"
#include <map>
#include <string>
#include <vector>

namespace rondo::pipe::test {

/// Values of an entry's arguments or results, by role and number.
using EntryValues = std::map<std::pair<Role, int64_t>, nn::HostTensor>;
using Tensors = std::map<std::string, nn::HostTensor>;

/// What one micro-batch gives.
struct Training {
  nn::HostTensor loss;
  Tensors gradients; ///< By parameter, summed over its uses.
  /// Names of the entries that ran, in order, and what they were not given.
  std::vector<std::string> entries;
};

/// How the layers in front of the loss layer are run.
struct RunMode {
  SaveSet saveSet = SaveSet::All;
  bool rebuild = false; ///< Forward without saving, then rebuild.
  bool exact = true;    ///< Doubles throughout.
};

/// Runs the entries of a chain on the inputs and parameters, as a schedule
/// would: nothing but boundary values, saved values and cotangents goes from
/// one entry to the next. Test failures are reported; then the loss is empty.
Training train(ChainOp chain, const std::vector<nn::HostTensor> &inputs,
               const Tensors &parameters, RunMode mode);

} // namespace rondo::pipe::test

#endif // RONDO_UNITTESTS_DIALECT_PIPE_CHAINRUNNER_H
