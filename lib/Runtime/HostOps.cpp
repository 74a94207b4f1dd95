//===- HostOps.cpp - The operations of the host lanes ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"
#include "Convert.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

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
  if (table.optimizer())
    scaling.next = table.optimizer()->loss_scale();
  std::vector<const program::Op *> optimizers(blocks.size());
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    if (op.kind() == OpKind::Optimizer || op.kind() == OpKind::UpdateScalars)
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
    // On devices kernels and copies are those of the program's entries.
    bool copies = op->kind() == OpKind::Optimizer &&
                  optimizerOperands(table, *op).upload >= 0;
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
  case OpKind::UpdateScalars:
    return self.updateScalars(op, call);
  default:
    return;
  }
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
  double scale = 1;
  if (table.optimizer() && table.optimizer()->loss_scale() > 0)
    scale = usedScale(call.arguments[sizeOf(op.operands()) - 1]);
  if (!table.weigh_by_labels()) {
    for (uint32_t m = 0; m < count; ++m)
      storeF32(call.arguments[m], (float)(scale * (1.0 / count)));
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
             (float)(scale * (loadF32(call.arguments[m]) / sum)));
}

void HostOps::loss(const program::Op &op, uint32_t index,
                   const TaskCall &call) {
  uint32_t count = program.microBatches(), step = call.iteration;
  double sum = 0, weights = 0;
  for (uint32_t m = 0; m < count; ++m) {
    double loss = loadF32(call.arguments[m]);
    double weight =
        table.weigh_by_labels() ? loadF32(call.arguments[count + m]) : 1.0;
    // A mean over no labels is 0/0; such a micro-batch counts for nothing.
    if (weight == 0)
      continue;
    if (!std::isfinite(loss)) {
      std::string what = format("step %u, micro-batch %u", step, m);
      if (op.layer() >= 0)
        what += format(", layer %d", op.layer());
      Status status;
      if (lacksLabels(step, m))
        status = userError(
            what + ": the loss is undefined, because none of its labels is " +
            "valid" + stopped(step, index) +
            "; leave such samples out, or compile with --loss-reduction=step, "
            "by which they count for nothing");
      else
        status = userError(what + format(": the loss is %g", loss) +
                           stopped(step, index) + advice(step));
      failure.report(step, std::move(status));
      return;
    }
    sum += weight * loss;
    weights += weight;
  }
  results[step % 2]->loss = sum / weights;
  results[step % 2]->learningRate = learningRate.at(step);
}
