//===- HostOps.cpp - The operations of the host lanes ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

/// Work is split here whatever the number of threads, and joined in this order.
constexpr uint64_t kChunk = 64 * 1024;

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

void Failure::report(uint32_t step, Status status, bool consistent) {
  std::lock_guard<std::mutex> lock(mutex);
  if (first.ok())
    first = std::move(status);
  if (step < stop.load(std::memory_order_relaxed))
    stop.store(step);
  // Either an update sees the stop, or this sees the update: both are in the
  // one order of all such accesses.
  sound = sound && consistent && updating.load() <= step;
}

bool Failure::beginUpdate(uint32_t step) {
  uint32_t before = updating.load(std::memory_order_relaxed);
  while (before < step + 1 && !updating.compare_exchange_weak(before, step + 1))
    ;
  return step < stop.load();
}

Status Failure::statusOf(uint64_t step) const {
  if (step < stop.load(std::memory_order_acquire))
    return Status::success();
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

bool Failure::consistent() const {
  if (!failed())
    return true;
  std::lock_guard<std::mutex> lock(mutex);
  return sound;
}

//===----------------------------------------------------------------------===//
// HostOps
//===----------------------------------------------------------------------===//

HostOps::HostOps(const Program &program, const Executable &executable,
                 Parameters &parameters, const Inputs &inputs, WorkerPool &pool,
                 Failure &failure)
    : program(program), table(program.table()), executable(executable),
      parameters(parameters), inputs(inputs), pool(pool), failure(failure),
      stagingScratch(executable.makeScratch()), blocks(sizeOf(table.blocks())),
      normBlocks(sizeOf(table.ops())) {
  std::vector<const program::Op *> optimizers(blocks.size());
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    if (op.kind() == OpKind::Optimizer)
      optimizers[(uint32_t)op.block()] = &op;
    if (op.kind() == OpKind::Norm)
      for (uint32_t operand = 0; operand + 1 < sizeOf(op.operands()); ++operand)
        normBlocks[i].push_back((uint32_t)blockOfGradient(table, op, operand));
  }
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    const program::Op *op = optimizers[parameter.block()];
    if (!parameter.trainable() || !op)
      continue;
    Block &block = blocks[parameter.block()];
    Member member;
    member.parameter = &parameter;
    member.elements = parameters.elements(i);
    member.firstChunk = block.chunks;
    member.masterOffset = masterOffset(table, parameter);
    bool copies = optimizerOperands(table, *op).upload >= 0;
    member.copyMaster =
        copies && parameter.upload_type() == program::ElementType::F32;
    member.kernel = copies && !member.copyMaster ? executable.optimizerWithCopy
                                                 : executable.optimizer;
    block.chunks += (member.elements + kChunk - 1) / kChunk;
    block.members.push_back(member);
  }
  uint64_t most = 0;
  for (const Block &block : blocks)
    most = std::max(most, block.chunks);
  chunkSums.resize(most);
}

void HostOps::run(void *context, const TaskCall &call) {
  auto &operation = *static_cast<Operation *>(context);
  HostOps &self = *operation.ops;
  const program::Op &op = *self.table.ops()->Get(operation.index);
  switch (op.kind()) {
  case OpKind::StageInput:
    return self.stageInput(op, call);
  case OpKind::CountLabels:
    if (int64_t number = self.executable.run(
            (uint32_t)op.entry(), call.arguments, self.stagingScratch);
        number >= 0)
      launchFailed(context, call, (uint32_t)number);
    return;
  case OpKind::Seed:
    return self.seed(op, operation.index, call);
  case OpKind::Loss:
    return self.loss(op, operation.index, call);
  case OpKind::Accumulate:
    return self.accumulate(op, call);
  case OpKind::Norm:
    return self.norm(op, call);
  case OpKind::Clip:
    return self.clip(op, operation.index, call);
  case OpKind::Optimizer:
    return self.update(op, call);
  default:
    return;
  }
}

void HostOps::launchFailed(void *context, const TaskCall &call,
                           uint32_t number) {
  auto &operation = *static_cast<Operation *>(context);
  const program::Program &table = operation.ops->table;
  const program::Op &op = *table.ops()->Get(operation.index);
  std::string_view node = text(
      table.entries()->Get((uint32_t)op.entry())->calls()->Get(number)->node());
  if (node.empty())
    node = text(op.node());
  std::string where = node.empty() ? opText(table, operation.index)
                                   : "node '" + std::string(node) + "'";
  operation.ops->failure.report(
      call.iteration,
      userError(format("step %u, micro-batch %u: %s: an index is out of range; "
                       "look for ids or labels "
                       "beyond the model's in the inputs",
                       call.iteration, stepMicroBatch(table, op),
                       where.c_str())));
}

static float loadF32(const std::byte *data) {
  float value;
  std::memcpy(&value, data, 4);
  return value;
}

static void storeF32(std::byte *data, float value) {
  std::memcpy(data, &value, 4);
}

void HostOps::stageInput(const program::Op &op, const TaskCall &call) {
  inputs.stage((uint32_t)op.input(), stepMicroBatch(table, op), call.iteration,
               call.arguments[0]);
}

//===----------------------------------------------------------------------===//
// Seeds and losses
//===----------------------------------------------------------------------===//

void HostOps::seed(const program::Op &op, uint32_t index,
                   const TaskCall &call) {
  uint32_t count = program.microBatches();
  if (!table.weigh_by_labels()) {
    for (uint32_t m = 0; m < count; ++m)
      storeF32(call.arguments[m], (float)(1.0 / count));
    return;
  }
  double sum = 0;
  for (uint32_t m = 0; m < count; ++m)
    sum += loadF32(call.arguments[m]);
  if (!(sum > 0)) {
    failure.report(
        call.iteration,
        userError(format("step %u: none of its %u micro-batches has a valid "
                         "label, so its loss is undefined "
                         "(%s)",
                         call.iteration, count, opText(table, index).c_str())));
    return;
  }
  for (uint32_t m = 0; m < count; ++m)
    storeF32(call.arguments[count + m],
             (float)(loadF32(call.arguments[m]) / sum));
}

void HostOps::loss(const program::Op &op, uint32_t index,
                   const TaskCall &call) {
  uint32_t count = program.microBatches();
  double sum = 0, weights = 0;
  for (uint32_t m = 0; m < count; ++m) {
    double loss = loadF32(call.arguments[m]);
    double weight =
        table.weigh_by_labels() ? loadF32(call.arguments[count + m]) : 1.0;
    // A mean over no labels is 0/0; such a micro-batch counts for nothing.
    if (weight == 0)
      continue;
    if (!std::isfinite(loss)) {
      std::string layer =
          op.layer() >= 0 ? format(", layer %d", op.layer()) : "";
      failure.report(call.iteration,
                     userError(format("step %u, micro-batch %u%s: the loss is "
                                      "%g: stopped before the update, with the "
                                      "parameters as step %lld left them (%s); "
                                      "lower the learning rate or look for bad "
                                      "samples",
                                      call.iteration, m, layer.c_str(), loss,
                                      (long long)call.iteration - 1,
                                      opText(table, index).c_str())));
      return;
    }
    sum += weight * loss;
    weights += weight;
  }
  results[call.iteration % 2]->loss = sum / weights;
  results[call.iteration % 2]->learningRate = learningRate.at(call.iteration);
}

//===----------------------------------------------------------------------===//
// Sums, norms, updates
//===----------------------------------------------------------------------===//

/// Copies what is not read again soon past the caches: the target's lines are
/// not fetched first, which is a third of the traffic.
static void copyOnce(float *target, const float *source, uint64_t count) {
#if defined(__SSE2__)
  if (reinterpret_cast<uintptr_t>(target) % 16 == 0 && target != source) {
    uint64_t whole = count / 4 * 4;
    for (uint64_t i = 0; i < whole; i += 4)
      _mm_stream_ps(target + i, _mm_loadu_ps(source + i));
    _mm_sfence();
    target += whole;
    source += whole;
    count -= whole;
  }
#endif
  std::memmove(target, source, 4 * count);
}

void HostOps::accumulate(const program::Op &op, const TaskCall &call) {
  struct Job {
    float *sum;
    const float *addend;
    uint64_t elements;
    bool first;
  } job{reinterpret_cast<float *>(call.arguments[0]),
        reinterpret_cast<const float *>(call.arguments[1]),
        op.operands()->Get(0)->bytes() / 4, op.first()};
  pool.run((job.elements + kChunk - 1) / kChunk,
           [](void *context, uint64_t chunk) {
             const Job &job = *static_cast<Job *>(context);
             uint64_t begin = chunk * kChunk,
                      end = std::min(job.elements, begin + kChunk);
             if (job.first) {
               copyOnce(job.sum + begin, job.addend + begin, end - begin);
               return;
             }
             for (uint64_t i = begin; i < end; ++i)
               job.sum[i] += job.addend[i];
           },
           &job);
}

const HostOps::Member &HostOps::memberOf(const Block &block,
                                         uint64_t chunk) const {
  auto after =
      std::upper_bound(block.members.begin(), block.members.end(), chunk,
                       [](uint64_t chunk, const Member &member) {
                         return chunk < member.firstChunk;
                       });
  return *(after - 1);
}

/// In eight sums, joined as a tree: an order that vector units keep.
static double sumSquares(const float *values, uint64_t count) {
  double sums[8] = {};
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (uint64_t j = 0; j < 8; ++j)
      sums[j] += (double)values[i + j] * (double)values[i + j];
  for (uint64_t j = 0; i < count; ++i, ++j)
    sums[j] += (double)values[i] * (double)values[i];
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) +
         ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

void HostOps::norm(const program::Op &op, const TaskCall &call) {
  struct Job {
    HostOps *self;
    const Block *block;
    const std::byte *gradient;
  };
  uint32_t last = sizeOf(op.operands()) - 1;
  std::byte *partials = call.arguments[last];
  // Whatever has room beyond one sum an operand is 0, so that Clip may add all.
  std::memset(partials, 0, op.operands()->Get(last)->bytes());
  for (uint32_t operand = 0; operand < last; ++operand) {
    const Block &block = blocks[normBlocks[call.task->index][operand]];
    Job job{this, &block, call.arguments[operand]};
    pool.run(
        block.chunks,
        [](void *context, uint64_t chunk) {
          const Job &job = *static_cast<Job *>(context);
          const Member &member = job.self->memberOf(*job.block, chunk);
          uint64_t begin = (chunk - member.firstChunk) * kChunk;
          const auto *values =
              reinterpret_cast<const float *>(
                  job.gradient + member.parameter->gradient_offset()) +
              begin;
          job.self->chunkSums[chunk] =
              sumSquares(values, std::min(kChunk, member.elements - begin));
        },
        &job);
    double sum = 0;
    for (uint64_t chunk = 0; chunk < block.chunks; ++chunk)
      sum += chunkSums[chunk];
    std::memcpy(partials + 8 * operand, &sum, 8);
  }
}

void HostOps::clip(const program::Op &op, uint32_t index,
                   const TaskCall &call) {
  uint32_t last = sizeOf(op.operands()) - 1;
  double sum = 0;
  for (uint32_t operand = 0; operand < last; ++operand)
    for (uint64_t at = 0; at < op.operands()->Get(operand)->bytes(); at += 8) {
      double partial;
      std::memcpy(&partial, call.arguments[operand] + at, 8);
      sum += partial;
    }
  double norm = std::sqrt(sum);
  if (!std::isfinite(norm)) {
    failure.report(
        call.iteration,
        userError(format("step %u: the norm of the gradient is %g: stopped "
                         "before the update, with the "
                         "parameters as step %lld left them (%s); lower the "
                         "learning rate or look for bad "
                         "samples",
                         call.iteration, norm, (long long)call.iteration - 1,
                         opText(table, index).c_str())));
    return;
  }
  results[call.iteration % 2]->gradientNorm = norm;
  storeF32(
      call.arguments[last],
      (float)std::min(1.0, table.optimizer()->clip_norm() / (norm + 1e-6)));
}

struct HostOps::Update {
  HostOps *self;
  const Block *block;
  OptimizerOperands operands;
  std::byte *const *arguments;
  double rate;
  float constants[8];
};

void HostOps::update(const program::Op &op, const TaskCall &call) {
  const Block &block = blocks[(size_t)op.block()];
  if (!failure.beginUpdate(call.iteration))
    return;
  if (call.iteration == captureStep.load(std::memory_order_relaxed))
    parameters.captureGradient((uint32_t)op.block(), call.arguments[0]);
  const program::Optimizer &optimizer = *table.optimizer();
  double time = (double)call.iteration + 1;
  Update job{this,
             &block,
             optimizerOperands(table, op),
             call.arguments,
             learningRate.at(call.iteration),
             {}};
  job.constants[1] = (float)optimizer.beta1();
  job.constants[2] = (float)optimizer.beta2();
  job.constants[3] = (float)optimizer.epsilon();
  job.constants[5] = (float)(1 - std::pow(optimizer.beta1(), time));
  job.constants[6] = (float)std::sqrt(1 - std::pow(optimizer.beta2(), time));
  job.constants[7] = job.operands.coefficient < 0
                         ? 1.0f
                         : loadF32(call.arguments[job.operands.coefficient]);
  pool.run(
      block.chunks,
      [](void *context, uint64_t chunk) {
        const Update &job = *static_cast<Update *>(context);
        const Member &member = job.self->memberOf(*job.block, chunk);
        const program::Parameter &parameter = *member.parameter;
        uint64_t begin = (chunk - member.firstChunk) * kChunk,
                 end = std::min(member.elements, begin + kChunk);
        float scalars[8];
        std::memcpy(scalars, job.constants, sizeof scalars);
        scalars[0] =
            (float)(job.rate * (double)parameter.learning_rate_scale());
        scalars[4] = parameter.weight_decay();
        void *pointers[8];
        int count = 0;
        auto add = [&](int operand, uint64_t offset) {
          pointers[count++] = job.arguments[operand] + offset;
        };
        add(job.operands.gradient, (uint64_t)parameter.gradient_offset());
        add(job.operands.masterIn, member.masterOffset);
        add(job.operands.masterOut, member.masterOffset);
        for (int i = 0; i < job.operands.momentCount; ++i)
          add(job.operands.moments + i, (uint64_t)parameter.state_offset());
        if (job.operands.upload >= 0 && !member.copyMaster)
          add(job.operands.upload, parameter.member_offset());
        pointers[count++] = scalars;
        member.kernel(pointers, (int64_t)begin, (int64_t)end);
        if (member.copyMaster)
          std::memcpy(job.arguments[job.operands.upload] +
                          parameter.member_offset() + 4 * begin,
                      job.arguments[job.operands.masterOut] +
                          member.masterOffset + 4 * begin,
                      4 * (end - begin));
      },
      &job);
}
