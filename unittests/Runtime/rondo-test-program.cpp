//===- rondo-test-program.cpp - Writes the tests' program -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// rondo-test-program FOLDER [devices=N] [rounds=N] [microBatches=N]
// [staleness=N] [steps=N] [bf16] [weigh] [clip] [gpu] [nan=STEP] writes
// toy.rondo, weights.bin, x.npy and labels.npy, and prints the losses of the
// reference.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace rondo::runtime::testing;

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  ToyOptions options;
  uint64_t steps = 4;
  long nan = -1;
  for (int i = 2; i < argc; ++i) {
    const char *equals = std::strchr(argv[i], '=');
    std::string key(argv[i],
                    equals ? (size_t)(equals - argv[i]) : std::strlen(argv[i]));
    auto value = equals ? (uint32_t)std::atoi(equals + 1) : 1;
    if (key == "devices")
      options.devices = value;
    else if (key == "rounds")
      options.rounds = value;
    else if (key == "microBatches")
      options.microBatches = value;
    else if (key == "staleness")
      options.staleness = value;
    else if (key == "steps")
      steps = value;
    else if (key == "bf16")
      options.bf16 = true;
    else if (key == "weigh")
      options.weighByLabels = true;
    else if (key == "clip")
      options.clipNorm = 0.5;
    else if (key == "gpu")
      options.gpu = true;
    else if (key == "nan")
      nan = value;
    else
      return 2;
  }
  std::string folder = argv[1];
  writeToy(folder, options);
  ToyData data = toyData(options, steps);
  for (double loss : trainReference(options, data, steps).losses)
    std::printf("%.9f\n", loss);
  uint64_t perStep = data.samples / steps;
  if (nan >= 0)
    data.x[(uint64_t)nan * perStep * TOY_COLUMNS] = NAN;
  auto samples = (int64_t)data.samples;
  writeBytes(folder + "/x.npy", npyBytes("<f4", {samples, TOY_COLUMNS},
                                         data.x.data(), 4 * data.x.size()));
  writeBytes(
      folder + "/labels.npy",
      npyBytes("<i8", {samples}, data.labels.data(), 8 * data.labels.size()));
  return 0;
}
