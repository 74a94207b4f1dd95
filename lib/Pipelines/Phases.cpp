//===- Phases.cpp - The road from file to program -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/Phases.h"
#include "rondo/Conversion/Passes.h"
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

static constexpr Phase phases[] = {
    {"import", "the graph in the nn dialect, shapes static", nothing},
    {"raise", "exporters' decompositions recognised", raise},
    {"layers", "a chain of layers that share bodies", layers},
    {"grad", "bodies with forward, rebuild and backward entries", grad},
    {"kernels", "entries as lists of library calls and kernels", kernels},
    {"stages", "forward stages, one fused tail, backward stages", stages},
    {"slots", "slots dealt to devices", slots},
    {"transfers", "every copy, launch and host step on its lane", transfers},
    {"fences", "the events that order every hazard", fences},
    {"memory", "every buffer at its offset", memory},
    {"program", "the .rondo file", nothing},
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
