//===- Config.h - What a compilation was asked for --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The answers to everything a user may ask on the command line, kept in the
// module (`rondo.config`), so that a compilation stopped at any phase goes on
// from the printed IR alone to the same bytes.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SUPPORT_CONFIG_H
#define RONDO_SUPPORT_CONFIG_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "rondo/Scheduling/Model.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rondo {

/// --recompute.
enum class Recompute { Auto, Full, Elementwise, None };

/// --optimizer, the defaults of every parameter group.
struct OptimizerConfig {
  std::string kind = "adamw";
  double learningRate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weightDecay = 0.01;
};

/// --param-group: parameters one of whose names matches `pattern` wholly (the
/// first group that matches counts).
struct ParameterGroup {
  std::string pattern;
  std::vector<std::pair<std::string, double>>
      settings; ///< weight-decay, lr (an absolute learning rate).

  /// `names`: of one parameter; empty ones are none.
  bool matches(llvm::ArrayRef<std::string> names) const;
};

/// --attention.
enum class Attention { Auto, Library, Decomposed };

/// --optimizer-device.
enum class OptimizerDevice { Host, Gpu, Auto };

struct Config {
  int64_t devices = 1;
  int64_t deviceMemory =
      0; ///< Bytes a program may use on each device; 0: the target's.
  int64_t hostMemory =
      0; ///< Bytes of pinned and host memory together; 0: the target's.
  int64_t microBatches = 1; ///< Of one round.
  int64_t rounds = 1;
  int64_t staleness = 0; ///< 0 or 1.
  bool rotate =
      true; ///< Carry the round robin over from one iteration to the next.
  double clipGradNorm = 0;     ///< 0: no clipping.
  bool weighByLabels = false;  ///< --loss-reduction=step.
  bool allowTf32 = false;      ///< Products of f32 with TF32's 10 bits.
  bool roundGradients = false; ///< --grad-transfer=bf16.
  double lossScale = 65536;    ///< The first one, where anything is f16.
  Recompute recompute = Recompute::Auto;
  int64_t headChunk = 2048; ///< Rows of the loss head's logits at once.
  Attention attention = Attention::Auto;
  /// What a library's gradient of attention may use at once, in bytes, about.
  int64_t attentionMemory = int64_t(1) << 30;
  std::string precision; ///< fp32, bf16, fp16; empty: what the graph says.
  OptimizerConfig optimizer;
  OptimizerDevice optimizerDevice = OptimizerDevice::Host;
  /// What state on its way to be updated may take of each device, in bytes,
  /// about.
  int64_t optimizerMemory = int64_t(256) << 20;
  std::vector<ParameterGroup> groups;
  std::string hostCpu = "x86-64-v3";
  /// --cuda-arch: GPUs that the program has machine code for, beside PTX.
  std::vector<std::string> cudaArchs;
  scheduling::Machine machine; ///< The target's speeds and sizes; `devices` and
                               ///< the limits above win.

  /// Reads `rondo.config` of a module; the defaults where it has none. Emits a
  /// diagnostic for an unknown or ill-typed key.
  static llvm::FailureOr<Config> read(mlir::ModuleOp module);
  void write(mlir::ModuleOp module) const;

  /// Whether attention is left to the device's library where it can: by
  /// default on GPUs.
  bool useLibraryAttention() const {
    return attention == Attention::Library ||
           (attention == Attention::Auto && machine.name != "host");
  }

  /// Machine with the limits applied.
  scheduling::Machine getMachine() const;
};

/// "adamw,lr=0.001,beta1=0.9": errors name what is wrong and what is known.
llvm::Expected<OptimizerConfig> parseOptimizer(llvm::StringRef text);
/// "REGEX,weight-decay=0".
llvm::Expected<ParameterGroup> parseParameterGroup(llvm::StringRef text);
/// A positive number.
llvm::Expected<double> parseClipNorm(llvm::StringRef text);
/// "24GiB", "800MB", "4096".
llvm::Expected<int64_t> parseBytes(llvm::StringRef text);
/// "auto", "full", "elementwise", "none".
llvm::Expected<Recompute> parseRecompute(llvm::StringRef text);
/// "auto", "library", "decomposed".
llvm::Expected<Attention> parseAttention(llvm::StringRef text);
/// "host", "gpu", "auto".
llvm::Expected<OptimizerDevice> parseOptimizerDevice(llvm::StringRef text);
/// "sm_90,sm_89": architectures that the kernels' PTX can be assembled for.
llvm::Expected<std::vector<std::string>> parseCudaArchs(llvm::StringRef text);
/// A known name ("host", "rtx4090", "a800", "h200") or a JSON file with the
/// fields of scheduling::Machine in snake case.
llvm::Expected<scheduling::Machine> findMachine(llvm::StringRef nameOrFile);

} // namespace rondo

#endif // RONDO_SUPPORT_CONFIG_H
