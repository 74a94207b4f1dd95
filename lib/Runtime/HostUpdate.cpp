//===- HostUpdate.cpp - Sums of gradients, norms, updates -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "HostOps.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace rondo;
using namespace rondo::runtime;

/// The coefficient of a step whose gradient overflowed.
constexpr float kSkip = -1;

/// Elements [begin, end) of a gradient, at most a chunk, as f32: where they
/// are, or, of bf16, in a place that the thread's next call takes again.
static const float *widenedGradient(const std::byte *gradient, bool narrow,
                                    uint64_t begin, uint64_t end) {
  if (!narrow)
    return reinterpret_cast<const float *>(gradient) + begin;
  static thread_local std::vector<float> values;
  values.resize(std::max<size_t>(values.size(), end - begin));
  for (uint64_t i = begin; i < end; ++i)
    values[i - begin] = widenBF16(load16(gradient, i));
  return values.data();
}

bool HostOps::isNarrow(const program::Op &op, uint32_t operand,
                       const program::Block &block) const {
  return table.gradient_transfer() == program::ElementType::BF16 &&
         2 * op.operands()->Get(operand)->bytes() == block.gradient_bytes();
}

/// Copies what is not read again soon past the caches: the target's lines are
/// not fetched first, which is a third of the traffic.
static void copyOnce(float *target, const float *source, uint64_t count) {
#if defined(__x86_64__)
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
    const std::byte *addend;
    uint64_t elements;
    bool first, narrow;
  } job{reinterpret_cast<float *>(call.arguments[0]), call.arguments[1],
        op.operands()->Get(0)->bytes() / 4, op.first(),
        op.operands()->Get(1)->bytes() != op.operands()->Get(0)->bytes()};
  pool.run((job.elements + kChunk - 1) / kChunk,
           [](void *context, uint64_t chunk) {
             const Job &job = *static_cast<Job *>(context);
             uint64_t begin = chunk * kChunk,
                      end = std::min(job.elements, begin + kChunk);
             const float *addend =
                 widenedGradient(job.addend, job.narrow, begin, end);
             if (job.first) {
               copyOnce(job.sum + begin, addend, end - begin);
               return;
             }
             for (uint64_t i = begin; i < end; ++i)
               job.sum[i] += addend[i - begin];
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

#if defined(__x86_64__)
/// Adds squares to eight sums, as long as there are eight values; returns how
/// many were added.
[[gnu::target("avx2")]] static uint64_t
addSquaresAvx2(const float *values, uint64_t count, double *sums) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    // As far ahead as the update's kernel asks for memory.
    _mm_prefetch(reinterpret_cast<const char *>(values + i + 256), _MM_HINT_T0);
    __m256d x = _mm256_cvtps_pd(_mm_loadu_ps(values + i)),
            y = _mm256_cvtps_pd(_mm_loadu_ps(values + i + 4));
    low = _mm256_add_pd(low, _mm256_mul_pd(x, x));
    high = _mm256_add_pd(high, _mm256_mul_pd(y, y));
  }
  _mm256_storeu_pd(sums, low);
  _mm256_storeu_pd(sums + 4, high);
  return i;
}
#endif

/// In eight sums, joined as a tree: an order that vector units keep. A square
/// is exact in double, so the compiler may fuse it with the addition or not.
static double sumSquares(const float *values, uint64_t count) {
  double sums[8] = {};
  uint64_t i = 0;
#if defined(__x86_64__)
  // This library's own code is for any x86-64.
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (avx2)
    i = addSquaresAvx2(values, count, sums);
#endif
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
    bool narrow;
  };
  uint32_t last = sizeOf(op.operands()) - 1;
  std::byte *partials = call.arguments[last];
  // Whatever has room beyond one sum an operand is 0, so that Clip may add all.
  std::memset(partials, 0, op.operands()->Get(last)->bytes());
  for (uint32_t operand = 0; operand < last; ++operand) {
    uint32_t number = normBlocks[call.task->index][operand];
    const Block &block = blocks[number];
    Job job{this, &block, call.arguments[operand],
            isNarrow(op, operand, *table.blocks()->Get(number))};
    pool.run(
        block.chunks,
        [](void *context, uint64_t chunk) {
          const Job &job = *static_cast<Job *>(context);
          const Member &member = job.self->memberOf(*job.block, chunk);
          uint64_t begin = (chunk - member.firstChunk) * kChunk,
                   count = std::min(kChunk, member.elements - begin),
                   first = (uint64_t)member.parameter->gradient_offset() / 4 +
                           begin;
          job.self->chunkSums[chunk] = sumSquares(
              widenedGradient(job.gradient, job.narrow, first, first + count),
              count);
        },
        &job);
    double sum = 0;
    for (uint64_t chunk = 0; chunk < block.chunks; ++chunk)
      sum += chunkSums[chunk];
    std::memcpy(partials + 8 * operand, &sum, 8);
  }
}

/// A step's loss scale; memory begins as zeros, which stand for the first one.
float HostOps::usedScale(const std::byte *data) const {
  float scale = loadF32(data);
  return scale == 0 ? (float)table.optimizer()->loss_scale() : scale;
}

void HostOps::clip(const program::Op &op, uint32_t index,
                   const TaskCall &call) {
  const program::Optimizer &optimizer = *table.optimizer();
  uint32_t last = sizeOf(op.operands()) - 1, sums = last;
  bool scales = optimizer.loss_scale() > 0;
  float scale = 1;
  if (scales)
    scale = usedScale(call.arguments[--sums]);
  double sum = 0;
  for (uint32_t operand = 0; operand < sums; ++operand)
    for (uint64_t at = 0; at < op.operands()->Get(operand)->bytes(); at += 8) {
      double partial;
      std::memcpy(&partial, call.arguments[operand] + at, 8);
      sum += partial;
    }
  double norm = std::sqrt(sum) / scale;
  bool overflow = !std::isfinite(norm);
  if (overflow && !(scales && scale > 1)) {
    failure.report(call.iteration,
                   userError(format("step %u: the norm of the gradient is %g",
                                    call.iteration, norm) +
                             stopped(call.iteration, index) +
                             advice(call.iteration)));
    return;
  }
  StepResult &result = *results[call.iteration % 2];
  result.gradientNorm = norm;
  double limit = optimizer.clip_norm(),
         coefficient = limit > 0 ? std::min(1.0, limit / (norm + 1e-6)) : 1;
  if (scales) {
    result.lossScale = scale;
    result.skipped = overflow;
    // A step that used the scale from before the last cut cuts no further.
    if (overflow) {
      scaling.next = std::max(1.0, std::min(scaling.next, scale * 0.5));
      scaling.good = 0;
    } else if (++scaling.updates, ++scaling.good == optimizer.scale_growth()) {
      scaling.next = std::min(scaling.next * 2, 0x1p+24);
      scaling.good = 0;
    }
    storeF32(call.arguments[sums], (float)scaling.next);
  }
  storeF32(call.arguments[last],
           overflow ? kSkip : (float)(coefficient / scale));
}

struct HostOps::Update {
  HostOps *self;
  const Block *block;
  OptimizerOperands operands;
  std::byte *const *arguments;
  double rate;
  bool narrow; ///< The gradient is of bf16.
  float constants[8];
};

bool HostOps::beginUpdate(const program::Op &op, const TaskCall &call) {
  if (call.iteration >= failure.stop.load(std::memory_order_acquire) ||
      !failure.beginUpdate(call.iteration))
    return false;
  bool scales = table.optimizer()->loss_scale() > 0;
  if (call.iteration == captureStep.load(std::memory_order_relaxed))
    parameters.captureGradient(
        (uint32_t)op.block(), call.arguments[0],
        isNarrow(op, 0, *table.blocks()->Get((uint32_t)op.block())),
        scales ? 1 / results[call.iteration % 2]->lossScale : 1);
  return true;
}

void HostOps::fillScalars(const TaskCall &call, int coefficient,
                          float (&scalars)[8]) const {
  const program::Optimizer &optimizer = *table.optimizer();
  // Steps that were skipped have not moved the moments.
  double time = optimizer.loss_scale() > 0 ? (double)scaling.updates
                                           : (double)call.iteration + 1;
  scalars[1] = (float)optimizer.beta1();
  scalars[2] = (float)optimizer.beta2();
  scalars[3] = (float)optimizer.epsilon();
  scalars[5] = (float)(1 - std::pow(optimizer.beta1(), time));
  scalars[6] = (float)std::sqrt(1 - std::pow(optimizer.beta2(), time));
  scalars[7] = coefficient < 0 ? 1.0f : loadF32(call.arguments[coefficient]);
}

void HostOps::fillParameter(const program::Parameter &parameter, double rate,
                            float (&scalars)[8]) {
  scalars[0] = (float)(rate * (double)parameter.learning_rate_scale());
  scalars[4] = parameter.weight_decay();
}

/// For updates on devices: a step that failed, or is skipped, leaves the state
/// as it is.
void HostOps::updateScalars(const program::Op &op, const TaskCall &call) {
  uint32_t last = sizeOf(op.operands()) - 1;
  float scalars[8] = {};
  if (beginUpdate(op, call))
    fillScalars(call, last == 2 ? 1 : -1, scalars);
  else
    scalars[7] = kSkip;
  double rate = learningRate.at(call.iteration);
  std::byte *target = call.arguments[last];
  for (const Member &member : blocks[(size_t)op.block()].members) {
    fillParameter(*member.parameter, rate, scalars);
    std::memcpy(target, scalars, sizeof scalars);
    target += sizeof scalars;
  }
}

void HostOps::update(const program::Op &op, const TaskCall &call) {
  const Block &block = blocks[(size_t)op.block()];
  if (!beginUpdate(op, call))
    return;
  Update job{this,
             &block,
             optimizerOperands(table, op),
             call.arguments,
             learningRate.at(call.iteration),
             isNarrow(op, 0, *table.blocks()->Get((uint32_t)op.block())),
             {}};
  fillScalars(call, job.operands.coefficient, job.constants);
  if (job.constants[7] == kSkip)
    return skip(job);
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
        fillParameter(parameter, job.rate, scalars);
        void *pointers[8];
        int count = 0;
        auto add = [&](int operand, uint64_t offset) {
          pointers[count++] = job.arguments[operand] + offset;
        };
        uint64_t first = (uint64_t)parameter.gradient_offset() / 4;
        // The kernel counts from the parameter's first element.
        pointers[count++] = const_cast<float *>(
            widenedGradient(job.arguments[job.operands.gradient], job.narrow,
                            first + begin, first + end) -
            begin);
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

/// The masters stay as they are; what is written in turn with another copy is
/// brought up to date.
void HostOps::skip(const Update &update) {
  pool.run(
      update.block->chunks,
      [](void *context, uint64_t chunk) {
        const Update &job = *static_cast<const Update *>(context);
        const Member &member = job.self->memberOf(*job.block, chunk);
        const program::Parameter &parameter = *member.parameter;
        uint64_t begin = (chunk - member.firstChunk) * kChunk,
                 end = std::min(member.elements, begin + kChunk);
        const std::byte *from =
            job.arguments[job.operands.masterIn] + member.masterOffset;
        std::byte *to =
            job.arguments[job.operands.masterOut] + member.masterOffset;
        if (to != from)
          std::memcpy(to + 4 * begin, from + 4 * begin, 4 * (end - begin));
        if (job.operands.upload < 0)
          return;
        std::byte *copy =
            job.arguments[job.operands.upload] + parameter.member_offset();
        for (uint64_t i = begin; i < end; ++i)
          storeFloat(copy, parameter.upload_type(), i, loadF32(from + 4 * i));
      },
      const_cast<Update *>(&update));
}
