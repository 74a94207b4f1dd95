//===- Arithmetic.cpp - What decides the bits of a step -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"
#include "rondo/Dialect/Pipe/Pipe.h"
#include "rondo/Target/Program.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace rondo;

/// Hash of an operation's text without locations.
static std::string hashOf(Operation *op) {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  op->print(stream, OpPrintingFlags().useLocalScope());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      ArrayRef<uint8_t>((const uint8_t *)printed.data(), printed.size()));
  return llvm::formatv("{0:x-16}{1:x-16}", hash.high64, hash.low64).str();
}

/// The entry without what a planner's target adds to it.
static std::string hashOfEntry(kern::FuncOp entry) {
  OwningOpRef<kern::FuncOp> copy = entry.clone();
  OpBuilder builder(copy->getContext());
  (*copy)->setAttr("time", builder.getF64FloatAttr(0));
  return hashOf(*copy);
}

std::string target::describeArithmetic(ModuleOp module, const Config &config) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "rondo arithmetic 1\n";
  for (auto body : module.getOps<pipe::BodyOp>())
    for (auto entry : body.getEntries().front().getOps<kern::FuncOp>())
      out << "entry " << body.getSymName() << "::" << entry.getSymName() << " "
          << hashOfEntry(entry) << "\n";
  for (auto chain : module.getOps<pipe::ChainOp>())
    out << "chain " << hashOf(chain) << "\n";
  for (auto parameter : module.getOps<nn::ParameterOp>()) {
    out << "parameter " << parameter.getSymName() << " " << parameter.getType()
        << (parameter.getTrainable() ? " trained" : " frozen");
    if (parameter.getValue())
      out << " " << hashOf(parameter);
    out << "\n";
  }
  out << "step " << config.rounds << " rounds of " << config.microBatches
      << " micro-batches, staleness " << config.staleness << ", "
      << (config.weighByLabels ? "weighed by labels" : "equal weights")
      << ", clip " << llvm::formatv("{0:e17}", config.clipGradNorm) << "\n";
  if (config.allowTf32)
    out << "products of f32 in tf32 where devices have it\n";
  if (config.roundGradients)
    out << "gradients travel as bf16\n";
  bool scales = llvm::any_of(
      module.getOps<nn::ParameterOp>(), [](nn::ParameterOp parameter) {
        return getElementTypeOrSelf(parameter.getType()).isF16();
      });
  if (scales)
    out << "loss scale " << llvm::formatv("{0:e17}", config.lossScale)
        << " at first\n";
  const OptimizerConfig &optimizer = config.optimizer;
  out << llvm::formatv(
      "optimizer {0} {1:e17} {2:e17} {3:e17} {4:e17} {5:e17}\n", optimizer.kind,
      optimizer.learningRate, optimizer.beta1, optimizer.beta2,
      optimizer.epsilon, optimizer.weightDecay);
  for (const ParameterGroup &group : config.groups) {
    out << "group " << group.pattern;
    for (auto &[key, value] : group.settings)
      out << llvm::formatv(" {0}={1:e17}", key, value);
    out << "\n";
  }
  out << "processor " << config.hostCpu << "\n";
  return text;
}
