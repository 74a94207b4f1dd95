//===- CheckFlags.cpp - Flags that the model gives nothing to do ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckFlags.h"
#include "rondo/Conversion/Passes.h"
#include "rondo/Dialect/NN/NN.h"

using namespace mlir;
using namespace rondo;

namespace {
/// What flags act on.
struct Found {
  bool head = false;
  bool f32Products = false;
  bool f16Weights = false;
  bool attention = false;
  bool libraryAttention = false;
};

struct CheckFlags : PassWrapper<CheckFlags, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckFlags)

  CheckFlags(std::vector<std::string> given, bool usesLibraryAttention)
      : given(std::move(given)), usesLibraryAttention(usesLibraryAttention) {}

  StringRef getArgument() const override { return "rondo-check-flags"; }
  StringRef getDescription() const override {
    return "Refuses flags that the model gives nothing to do";
  }
  void runOnOperation() override;

private:
  Found find();
  std::string getObstacle(StringRef flag, const Found &found) const;

  std::vector<std::string> given;
  bool usesLibraryAttention;
};
} // namespace

Found CheckFlags::find() {
  Found found;
  getOperation().walk([&](Operation *op) {
    if (auto parameter = dyn_cast<nn::ParameterOp>(op))
      found.f16Weights |= parameter.getTrainable() &&
                          getElementTypeOrSelf(parameter.getType()).isF16();
    found.head |= isa<nn::LinearCrossEntropyOp>(op);
    if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
      found.attention = true;
      found.libraryAttention |= conversion::fitsLibraryAttention(attention);
    }
    if (isa<nn::MatmulOp, nn::AttentionOp, nn::LinearCrossEntropyOp>(op))
      found.f32Products |=
          getElementTypeOrSelf(op->getOperand(0).getType()).isF32();
  });
  return found;
}

/// Why `flag` changes nothing; empty if it does.
std::string CheckFlags::getObstacle(StringRef flag, const Found &found) const {
  if (flag == "head-chunk" && !found.head)
    return "the model has no product whose only use is cross entropy, so there "
           "are no logits to compute in chunks";
  if (flag == "loss-scale" && !found.f16Weights)
    return "no weight that trains is f16, so the loss is not scaled; "
           "--precision=fp16 makes them so";
  if (flag == "allow-tf32" && !found.f32Products)
    return "the model has no product of f32 operands";
  if ((flag == "attention" && usesLibraryAttention) ||
      flag == "attention-memory") {
    if (!found.attention)
      return "no attention was recognised in the model";
    if (!found.libraryAttention)
      return "no attention of the model can be a library's: that needs bf16 or "
             "f16 (--precision), heads of at most 128 columns, a multiple of "
             "8, and no mask but causal and window";
  }
  return "";
}

void CheckFlags::runOnOperation() {
  markAllAnalysesPreserved();
  Found found = find();
  bool failed = false;
  for (const std::string &flag : given) {
    std::string obstacle = getObstacle(flag, found);
    if (obstacle.empty())
      continue;
    emitError(UnknownLoc::get(&getContext()))
        << "--" << flag << " would change nothing: " << obstacle;
    failed = true;
  }
  if (failed)
    signalPassFailure();
}

std::unique_ptr<Pass> rondo::createCheckFlags(std::vector<std::string> given,
                                              bool usesLibraryAttention) {
  return std::make_unique<CheckFlags>(std::move(given), usesLibraryAttention);
}
