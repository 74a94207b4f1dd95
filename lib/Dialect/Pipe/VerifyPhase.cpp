//===- VerifyPhase.cpp - Contracts of the phases layers and grad ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written from the phases' contracts alone: nothing here is shared with the
// passes that establish them.
//
//===----------------------------------------------------------------------===//

#include "VerifyGradients.h"
#include "rondo/Dialect/Pipe/Passes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace rondo::pipe {
#define GEN_PASS_DEF_PIPEVERIFYPHASE
#include "rondo/Dialect/Pipe/Passes.h.inc"
} // namespace rondo::pipe

namespace {
struct VerifyPhase : pipe::impl::PipeVerifyPhaseBase<VerifyPhase> {
  using PipeVerifyPhaseBase::PipeVerifyPhaseBase;
  void runOnOperation() override;

private:
  FailureOr<ChainOp> verifyLayers();
};
} // namespace

FailureOr<ChainOp> VerifyPhase::verifyLayers() {
  ModuleOp module = getOperation();
  ChainOp chain;
  for (auto op : module.getOps<ChainOp>()) {
    if (chain)
      return op.emitOpError()
             << "is a second chain beside @" << chain.getSymName();
    chain = op;
  }
  if (!chain)
    return emitError(module.getLoc())
           << "phase '" << phase << "' needs a pipe.chain, found none";
  WalkResult reads = module.walk([](nn::ReadOp read) {
    read.emitOpError() << "is left behind 'layers': layers take parameters as "
                          "operands";
    return WalkResult::interrupt();
  });
  if (reads.wasInterrupted())
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("nn.loss"))
      return function.emitOpError() << "is left behind 'layers'";

  llvm::StringSet<> used;
  if (chain.getLabels())
    used.insert(*chain.getLabels());
  for (auto layer : chain.getBody().getOps<LayerOp>())
    used.insert(layer.getBody());
  for (auto body : module.getOps<BodyOp>())
    if (!used.contains(body.getSymName()))
      return body.emitOpError() << "is used by no layer";
  return chain;
}

void VerifyPhase::runOnOperation() {
  if (phase != "layers" && phase != "grad") {
    emitError(getOperation().getLoc())
        << "unknown phase '" << phase << "', expected layers or grad";
    return signalPassFailure();
  }
  FailureOr<ChainOp> chain = verifyLayers();
  if (failed(chain) || (phase == "grad" && failed(verifyGradients(*chain))))
    signalPassFailure();
}
