//===- HostOps.h - The operations of the host lanes -------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOSTOPS_H
#define RONDO_LIB_RUNTIME_HOSTOPS_H

#include "Host/Executable.h"
#include "Host/WorkerPool.h"
#include "Inputs.h"
#include "LearningRate.h"
#include "Parameters.h"
#include "rondo/Runtime/Device.h"
#include "rondo/Runtime/Session.h"
#include <mutex>

namespace rondo::runtime {

/// The first error of a session. Tasks of the failed step and of later ones are
/// no longer run; earlier steps finish.
class Failure {
public:
  /// `consistent`: false if the state is lost whatever the updates did.
  void report(uint32_t step, Status status, bool consistent = true);
  /// Before an update of `step` writes. False: the step has failed, and the
  /// update must not run.
  bool beginUpdate(uint32_t step);
  bool failed() const { return stop.load(std::memory_order_acquire) != kNever; }
  /// The error for whoever waits for `step`; ok for steps before it.
  Status statusOf(uint64_t step) const;
  /// No update of the failed step has run: the state is that after the steps
  /// before it.
  bool consistent() const;

  static constexpr uint32_t kNever = Event::kReleased;
  /// The first step that is not run.
  std::atomic<uint32_t> stop{kNever};

private:
  mutable std::mutex mutex; ///< Taken when something failed, not in a step.
  Status first;
  bool sound = true;
  std::atomic<uint32_t> updating{0}; ///< Steps of which an update has begun.
};

/// Seeds, losses, sums, norms, updates. `update` and `staging` run at the same
/// time, each from one thread.
class HostOps {
public:
  HostOps(const Program &program, const Executable &executable,
          Parameters &parameters, const Inputs &inputs, WorkerPool &pool,
          Failure &failure);

  /// The step's results go here; set before the step is issued. Two steps are
  /// in flight.
  StepResult *results[2] = {nullptr, nullptr};
  LearningRate learningRate;
  /// Devices' memory is the host's, and may be read.
  bool readsDevices = false;
  /// The step whose gradients are kept.
  std::atomic<uint64_t> captureStep{UINT64_MAX};

  /// Task::host, with an Operation as context.
  struct Operation {
    HostOps *ops = nullptr;
    uint32_t index = 0;
  };
  static void run(void *context, const TaskCall &call);
  /// Task::failed, with an Operation as context.
  static void launchFailed(void *context, const TaskCall &call,
                           uint32_t number);

private:
  /// Elements: work is split here whatever the number of threads, and joined in
  /// this order.
  static constexpr uint64_t kChunk = 64 * 1024;
  /// A trainable parameter within its block.
  struct Member {
    const program::Parameter *parameter = nullptr;
    uint64_t elements = 0, firstChunk = 0, masterOffset = 0;
    KernelFunction kernel = nullptr;
    bool copyMaster = false; ///< Its f32 upload copy is written by a copy,
                             ///< beside bf16 neighbours.
  };
  struct Block {
    std::vector<Member> members;
    uint64_t chunks = 0;
  };
  struct Update;

  void stageInput(const program::Op &op, const TaskCall &call);
  void seed(const program::Op &op, uint32_t index, const TaskCall &call);
  void loss(const program::Op &op, uint32_t index, const TaskCall &call);
  void accumulate(const program::Op &op, const TaskCall &call);
  void norm(const program::Op &op, const TaskCall &call);
  void clip(const program::Op &op, uint32_t index, const TaskCall &call);
  void update(const program::Op &op, const TaskCall &call);
  void updateScalars(const program::Op &op, const TaskCall &call);
  /// Whether the step's update may begin; from then on it is that of a failed
  /// step if the step fails. Keeps the gradient if it was asked for.
  bool beginUpdate(const program::Op &op, const TaskCall &call);
  /// What the kernel of the optimizer reads, of no one parameter.
  void fillScalars(const TaskCall &call, int coefficient,
                   float (&scalars)[8]) const;
  /// Adds what is one parameter's.
  static void fillParameter(const program::Parameter &parameter, double rate,
                            float (&scalars)[8]);
  bool lacksLabels(uint32_t step, uint32_t microBatch);
  std::string stopped(uint32_t step, uint32_t index) const;
  std::string advice(uint32_t step) const;
  void skip(const Update &job);
  /// Whether the operand, the block's gradient, is of bf16.
  bool isNarrow(const program::Op &op, uint32_t operand,
                const program::Block &block) const;
  float usedScale(const std::byte *data) const;
  double totalLabels(const TaskCall &call, bool &valid) const;
  const Member &memberOf(const Block &block, uint64_t chunk) const;

  const Program &program;
  const program::Program &table;
  const Executable &executable;
  Parameters &parameters;
  const Inputs &inputs;
  WorkerPool &pool;
  Failure &failure;
  EntryScratch stagingScratch;
  std::vector<Block> blocks;
  std::vector<std::vector<uint32_t>>
      normBlocks; ///< By op: the block of each gradient operand.
  std::vector<double> chunkSums;

  /// Dynamic loss scaling, as torch.amp.GradScaler does it. Touched by the
  /// update lane alone; what a step uses travels through a planned buffer.
  struct Scaling {
    double next = 0;      ///< The scale decided last.
    uint32_t good = 0;    ///< Steps in a row without overflow.
    uint64_t updates = 0; ///< Steps that were not skipped.
  } scaling;
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOSTOPS_H
