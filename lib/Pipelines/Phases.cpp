//===- Phases.cpp - The road from file to program -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "rondo/Conversion/Passes.h"
#include "rondo/Dialect/Kern/Kern.h"
#include "rondo/Dialect/Kern/Passes.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/Pipe/Passes.h"
#include "rondo/Dialect/Sched/Passes.h"
#include "rondo/Planning/Passes.h"

using namespace mlir;
using namespace rondo;

static void nothing(OpPassManager &, const Config &) {}

static void raise(OpPassManager &manager, const Config &config) {
  nn::buildRaisePipeline(manager, config.precision, config.headChunk);
}

static void layers(OpPassManager &manager, const Config &) {
  manager.addPass(pipe::createPipeOutlineLayers());
  manager.addPass(pipe::createPipeVerifyPhase({"layers"}));
}

static void grad(OpPassManager &manager, const Config &) {
  manager.addPass(pipe::createPipeDifferentiateBodies());
  manager.addPass(pipe::createPipeVerifyPhase({"grad"}));
}

static void kernels(OpPassManager &manager, const Config &config) {
  conversion::KernelOptions options;
  // Operations and bytes a nanosecond.
  options.flopsPerNs = config.machine.productFlops / 1e9;
  options.f32FlopsPerNs = config.machine.productFlopsF32 / 1e9;
  // TF32 has half of the 16-bit rate.
  if (config.allowTf32 && config.machine.name != "host")
    options.f32FlopsPerNs =
        std::max(options.f32FlopsPerNs, options.flopsPerNs / 2);
  options.scalarPerNs = config.machine.scalarFlops / 1e9;
  options.bytesPerNs = config.machine.deviceBandwidth / 1e9;
  options.latencyNs = config.machine.launchLatency;
  options.libraryAttention = config.useLibraryAttention();
  options.attentionBytes = config.attentionMemory;
  // A GPU wants larger products, and fewer launches.
  if (config.machine.name != "host")
    options.scoreBytes = int64_t(256) << 20;
  conversion::buildKernelsPipeline(manager, options);
}

static void stages(OpPassManager &manager, const Config &) {
  manager.addPass(planning::createPipePartitionStages());
}

static void slots(OpPassManager &manager, const Config &) {
  manager.addPass(planning::createPipeAssignSlots());
}

static void transfers(OpPassManager &manager, const Config &) {
  manager.addPass(planning::createConvertPipeToSched());
  manager.addPass(planning::createSchedVerifyTransfers());
}

static void fences(OpPassManager &manager, const Config &) {
  manager.addPass(sched::createSchedInsertFences());
}

static void memory(OpPassManager &manager, const Config &config) {
  scheduling::Machine machine = config.getMachine();
  sched::SchedAssignOffsetsOptions options;
  options.deviceLimit = machine.deviceBytes;
  options.hostLimit = machine.hostBytes;
  manager.addPass(sched::createSchedAssignOffsets(options));
}

static void verifyRaised(OpPassManager &manager, const Config &) {
  manager.addNestedPass<func::FuncOp>(nn::createNNVerifyRaised());
}

static void verifyLayers(OpPassManager &manager, const Config &) {
  manager.addPass(pipe::createPipeVerifyPhase({"layers"}));
}

static void verifyGrad(OpPassManager &manager, const Config &) {
  manager.addPass(pipe::createPipeVerifyPhase({"grad"}));
}

static void verifyKernels(OpPassManager &manager, const Config &) {
  manager.nest<pipe::BodyOp>().addNestedPass<kern::FuncOp>(
      kern::createKernVerifyScratch());
}

static void verifyPlan(OpPassManager &manager, const Config &config) {
  verifyKernels(manager, config);
  manager.addPass(planning::createPipeVerifyPlan());
}

static void verifyTransfers(OpPassManager &manager, const Config &config) {
  verifyPlan(manager, config);
  manager.addPass(planning::createSchedVerifyTransfers());
}

static void verifyFences(OpPassManager &manager, const Config &config) {
  verifyTransfers(manager, config);
  manager.addPass(sched::createSchedVerifyFences());
}

static void verifyMemory(OpPassManager &manager, const Config &config) {
  verifyFences(manager, config);
  scheduling::Machine machine = config.getMachine();
  manager.addPass(sched::createSchedVerifyOffsets(
      {machine.deviceBytes, machine.hostBytes}));
}

static constexpr Phase phases[] = {
    {"import", "the graph in the nn dialect, shapes static", nothing, nothing},
    {"raise", "exporters' decompositions recognised", raise, verifyRaised},
    {"layers", "a chain of layers that share bodies", layers, verifyLayers},
    {"grad", "bodies with forward, rebuild and backward entries", grad,
     verifyGrad},
    {"kernels", "entries as lists of library calls and kernels", kernels,
     verifyKernels},
    {"stages", "forward stages, one fused tail, backward stages", stages,
     verifyPlan},
    {"slots", "slots dealt to devices", slots, verifyPlan},
    {"transfers", "every copy, launch and host step on its lane", transfers,
     verifyTransfers},
    {"fences", "the events that order every hazard", fences, verifyFences},
    {"memory", "every buffer at its offset", memory, verifyMemory},
    {"program", "the .rondo file", nothing, nothing},
};

llvm::ArrayRef<Phase> rondo::getPhases() { return phases; }

int rondo::findPhase(llvm::StringRef name) {
  for (auto [number, phase] : llvm::enumerate(phases))
    if (phase.name == name)
      return (int)number;
  return -1;
}

std::string rondo::getPhaseNames() {
  return llvm::join(
      llvm::map_range(phases,
                      [](const Phase &phase) { return phase.name.str(); }),
      ", ");
}
