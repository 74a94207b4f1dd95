//===- RaisePipeline.cpp - The raise phase ------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace rondo::nn {

void buildRaisePipeline(OpPassManager &manager, StringRef precision,
                        int64_t headChunk) {
  OpPassManager &functions = manager.nest<func::FuncOp>();
  functions.addPass(createNNFoldConstants());
  // One value for one expression: patterns compare values.
  functions.addPass(createCSEPass());
  functions.addPass(createNNRaiseRmsNorm());
  functions.addPass(createNNRaiseActivations());
  functions.addPass(createNNRaiseRope());
  functions.addPass(createNNRaiseAttention());
  functions.addPass(createNNRaiseGroupedHeads());
  functions.addPass(createNNRaiseMasks());
  // Tables now, when masks cannot be mistaken for them.
  functions.addPass(createNNFoldConstants({/*tables=*/true}));
  // What is recognised by now says what may be rounded.
  if (!precision.empty())
    manager.addPass(createNNAssignPrecision({precision.str()}));
  OpPassManager &rest = manager.nest<func::FuncOp>();
  rest.addPass(createNNDecomposeMaskedAttention());
  rest.addPass(createNNFoldAttentionRows());
  rest.addPass(createNNRaiseLinearCrossEntropy({headChunk}));
  rest.addPass(createNNRaiseBias());
  rest.addPass(createNNFoldConstants());
  rest.addPass(createCSEPass());
  manager.addPass(createNNHoistTables());
  manager.addNestedPass<func::FuncOp>(createNNVerifyRaised());
}

void registerRaisePipeline() {
  PassPipelineRegistration<>(
      "rondo-nn-raise",
      "The raise phase: folds constants, recognises exporters' decompositions",
      [](OpPassManager &manager) { buildRaisePipeline(manager); });
}

} // namespace rondo::nn
