//===- Parameters.h - Parameters and optimizer state by name ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the program put each parameter, and how it gets there from files and
// back.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_PARAMETERS_H
#define RONDO_LIB_RUNTIME_PARAMETERS_H

#include "Host/WorkerPool.h"
#include "Safetensors.h"
#include "rondo/Runtime/Device.h"
#include <vector>

namespace rondo::runtime {

/// Where values come from besides the program itself.
struct WeightsSource {
  std::string source; ///< FILE.safetensors, INDEX.json, a directory,
                      ///< random:SEED; empty: what the program names.
  std::string prefix; ///< Before every name in the files.
  bool isRandom() const { return source.rfind("random:", 0) == 0; }
  bool isFiles() const { return !source.empty() && !isRandom(); }
};

/// What of a parameter: its value, or its optimizer state.
enum class Quantity : uint8_t {
  Value = 0,
  Gradient = 1,
  FirstMoment = 2,
  SecondMoment = 3
};
enum class Names : uint8_t { Onnx = 0, Source = 1 };

class Parameters {
public:
  /// `workers` share loading, writing and saving, which run while nothing else
  /// uses them.
  Parameters(const Program &program, Buffer pinned, Buffer host,
             WorkerPool &workers);

  /// Gives every parameter its value in all copies. Reports all parameters
  /// without one, or with a wrong one, at once.
  Status load(const WeightsSource &weights);

  /// By ONNX or source name, or by that of a copy. -1: unknown.
  int64_t find(const std::string &name) const;
  uint64_t elements(uint32_t parameter) const;
  /// Reads all elements as f32, in the initializer's layout, as they are after
  /// `iterations` iterations; Gradient: as they were captured.
  void read(uint32_t parameter, Quantity quantity, uint64_t iterations,
            float *values) const;
  /// Writes all copies.
  Status write(uint32_t parameter, Quantity quantity, const float *values);

  /// Keeps a copy of what the optimizer reads: called by the Optimizer
  /// operation of the iteration whose gradients are wanted.
  void enableGradients();
  /// `narrow`: it is of bf16; `factor`: what undoes the loss's scale.
  void captureGradient(uint32_t block, const std::byte *gradient, bool narrow,
                       double factor);
  bool gradientsCaptured() const { return captured; }

  Status save(const std::string &path, Quantity quantity, Names names,
              uint64_t iterations) const;

private:
  struct Source;
  /// Elements as they lie in memory.
  struct Stored {
    const std::byte *data = nullptr;
    program::ElementType type{};
  };
  Status fromFiles(uint32_t index, const TensorFiles &files,
                   const std::string &prefix, Source &source) const;
  Status fromProgram(uint32_t index, Source &source, bool &found);
  /// Where a parameter's value comes from.
  enum class Origin : uint8_t { Drawn, Files, Program };
  Origin originOf(const program::Parameter &parameter,
                  const WeightsSource &weights) const;
  Status checkWeightFiles(const WeightsSource &weights) const;
  Status openLocation(const program::Parameter &parameter, Source &source);
  void store(uint32_t index, const Source &source);
  Stored locate(uint32_t index, Quantity quantity, uint64_t iterations) const;
  std::byte *address(uint32_t buffer) const;
  std::byte *operandAddress(const program::Operand &operand, bool isPiece,
                            uint64_t iteration) const;

  const Program &program;
  const program::Program &table;
  Buffer pinned, host;
  WorkerPool &workers;
  std::vector<StateOperands> states; ///< By block.
  std::map<std::string, std::unique_ptr<MappedFile>> files;
  std::vector<std::vector<float>> gradients; ///< By block.
  bool captured = false;
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_PARAMETERS_H
