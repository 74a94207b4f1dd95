//===- Kernels.cpp - Phase kernels ---------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Conversion/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "rondo/Dialect/Kern/Passes.h"
#include "rondo/Dialect/Pipe/Pipe.h"

using namespace mlir;
using namespace rondo;

/// Passes on launch lists, under `manager`.
static void addFunctionPasses(OpPassManager &manager,
                              const conversion::KernelOptions &options) {
  manager.addPass(kern::createKernPlanScratch());
  kern::KernEstimateCostOptions cost;
  cost.flopsPerNs = options.flopsPerNs;
  cost.f32FlopsPerNs = options.f32FlopsPerNs;
  cost.scalarPerNs = options.scalarPerNs;
  cost.bytesPerNs = options.bytesPerNs;
  cost.latencyNs = options.latencyNs;
  manager.addPass(kern::createKernEstimateCost(cost));
  manager.addPass(kern::createKernVerifyScratch());
}

void conversion::buildKernelsPipeline(OpPassManager &manager,
                                      const KernelOptions &options) {
  ConvertNNToKernOptions convert;
  convert.scoreBytes = options.scoreBytes;
  convert.libraryAttention = options.libraryAttention;
  convert.attentionBytes = options.attentionBytes;
  manager.addPass(createConvertNNToKern(convert));
  addFunctionPasses(manager.nest<pipe::BodyOp>().nest<kern::FuncOp>(), options);
  addFunctionPasses(manager.nest<kern::FuncOp>(), options);
}

void conversion::registerKernelsPipeline() {
  PassPipelineRegistration<>(
      "rondo-kernels-pipeline", "phase kernels: entries as launch lists",
      [](OpPassManager &manager) { buildKernelsPipeline(manager); });
}
