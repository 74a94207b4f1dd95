//===- Inputs.h - Where the samples of a step come from ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model input is bound to an array that holds samples along axis 0. Samples
// are consumed in order (or in a permutation of its own for every epoch): step
// by step, micro-batch by micro-batch.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_INPUTS_H
#define RONDO_LIB_RUNTIME_INPUTS_H

#include "Npy.h"
#include <vector>

namespace rondo::runtime {

class Inputs {
public:
  explicit Inputs(const Program &program);

  /// Binds an input from step `firstStep` on. The array must have the program's
  /// element type and, beyond axis 0, shape.
  Status bindFile(const std::string &name, const std::string &path,
                  uint32_t firstStep);
  /// `data` stays alive and unchanged until replaced.
  Status bindMemory(const std::string &name, program::ElementType type,
                    std::span<const int64_t> shape, const void *data,
                    uint32_t firstStep);
  /// Visits samples `epochs` times; with `shuffle`, each time in another
  /// permutation drawn from `seed`.
  Status setOrder(bool shuffle, uint64_t seed, uint32_t epochs);

  /// The input that is bound to the file that `path` names, or "".
  std::string inputOfFile(const std::string &path) const;

  /// Steps that the bound arrays hold from `step` on. Error: an input that the
  /// program stages is not bound (all are named), or inputs hold different
  /// numbers of samples: those bound at the same step and, if shuffled, all.
  Status available(uint32_t step, uint64_t &steps) const;
  /// Steps that one visit of all samples takes.
  uint64_t stepsPerEpoch() const;
  /// Samples of one step, of the first input that has an axis of samples.
  uint64_t samplesPerStep() const;

  /// Bytes of one micro-batch; 0: of an input that the program does not stage.
  uint64_t batchBytes(uint32_t input) const {
    return inputs[input].used ? inputs[input].batch * inputs[input].rowBytes
                              : 0;
  }

  /// Copies one micro-batch's rows. Only within what `available` allows.
  void stage(uint32_t input, uint32_t microBatch, uint32_t step,
             std::byte *target) const;

private:
  struct Bound {
    bool used = false;  ///< The program stages it.
    uint64_t batch = 1; ///< Samples of a micro-batch.
    uint64_t rowBytes = 0;
    uint64_t samples = 0; ///< In the array; 0: unbound.
    uint32_t firstStep = 0;
    const std::byte *data = nullptr;
    NpyFile file;
  };

  Status find(const std::string &name, uint32_t &index) const;
  Status compare(uint32_t index, uint32_t other) const;
  Status check(uint32_t index, const std::string &what,
               const std::string &typeName, bool sameType,
               std::span<const int64_t> shape) const;
  void bind(uint32_t index, std::span<const int64_t> shape,
            const std::byte *data, uint32_t firstStep);

  const Program &program;
  std::vector<Bound> inputs;
  bool shuffled = false;
  uint64_t seed = 0;
  uint32_t epochs = 1;
};

/// The image of `index` under a permutation of [0, count) drawn from `seed`: a
/// Feistel network with cycle walking, so that no table is needed.
uint64_t permute(uint64_t index, uint64_t count, uint64_t seed);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_INPUTS_H
