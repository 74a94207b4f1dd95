//===- ProgramBuilder.h - Programs by hand, for tests -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tests' model, h = x W0 + b0 + shift; y = h W1; loss = mean over labelled
// rows of |y - label|^2, as a program of three slots a round: layer 0 forward,
// layer 1 forward and backward, layer 0 backward. `shift` is frozen and lies in
// the program, the weights in weights.bin beside it. Sizes are in ToyShape.h.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_PROGRAMBUILDER_H
#define RONDO_UNITTESTS_RUNTIME_PROGRAMBUILDER_H

#include "ToyShape.h"
#include "rondo/Runtime/Program.h"
#include <string>
#include <vector>

namespace rondo::runtime::testing {

struct ToyOptions {
  uint32_t devices = 2;
  uint32_t rounds = 2;
  uint32_t microBatches = 2;
  uint32_t staleness = 0;
  bool bf16 = false; ///< Uploads; else the masters are what is uploaded.
  bool weighByLabels = false;
  double clipNorm = 0;
  double lossScale = 0; ///< The first; it grows after `scaleGrowth` steps.
  uint32_t scaleGrowth = 2000;
  bool rotate = true;
  bool gpu = false;           ///< Carries code for GPUs, too.
  bool deviceUpdates = false; ///< Block b is updated on device b mod `devices`.
};

/// The table of the toy program, with conservative waits: every two conflicting
/// accesses are ordered.
program::ProgramT toyProgram(const ToyOptions &options);

/// Gives every kernel call its GPU kernel of the same name, with a grid that
/// fits.
void addDeviceCode(program::ProgramT &table);

/// The bytes of a file: table, kernels, PTX if the table has device code, and
/// `values` (see Parameter::value) in blobs.
std::string sealedProgram(program::ProgramT table);

/// Adds, to every op, waits for all operations it conflicts with, on physical
/// devices and bytes.
void addWaits(program::ProgramT &table);

/// Initial weights, and where the samples come from.
std::vector<float> toyWeights(uint64_t count, uint32_t seed);
constexpr uint64_t kToyWeight = (uint64_t)TOY_COLUMNS * TOY_COLUMNS;
constexpr uint64_t kToyWeightsBytes = 4 * (2 * kToyWeight + TOY_COLUMNS);

/// A fresh folder, removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  std::string path;
};

void writeBytes(const std::string &path, const std::string &bytes);
std::string readBytes(const std::string &path);
/// Writes toy.rondo and weights.bin; returns the former's path.
std::string writeToy(const std::string &folder, const ToyOptions &options);
inline std::string writeToy(const TemporaryFolder &folder,
                            const ToyOptions &options) {
  return writeToy(folder.path, options);
}
/// GPUs that tests may use: what the environment variable RONDO_TEST_CUDA says.
uint32_t testGpus();
/// A .npy file. `descriptor`: NumPy's, such as "<f4".
std::string npyBytes(const std::string &descriptor,
                     const std::vector<int64_t> &shape, const void *data,
                     size_t bytes);

/// Samples for `steps` steps: x in [-1, 1], labels from -1 (ignored) to 2.
struct ToyData {
  std::vector<float> x;
  std::vector<int64_t> labels;
  uint64_t samples;
};
ToyData toyData(const ToyOptions &options, uint64_t steps);

/// The same training in doubles, written down plainly.
struct ToyReference {
  std::vector<double> losses;
  std::vector<double> norms;
  std::vector<double> w0, b0, w1;
  std::vector<double> g0, gb, g1; ///< Of the last step, before clipping.
};
ToyReference trainReference(const ToyOptions &options, const ToyData &data,
                            uint64_t steps, double learningRate = 0.01);

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_PROGRAMBUILDER_H
