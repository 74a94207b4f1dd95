//===- ProgramBuilder.cpp - Programs by hand, for tests -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToyBuilder.h"
#include "rondo/Runtime/ProgramFormat.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace rondo;
using namespace rondo::program;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using rondo::runtime::testing::ToyOptions;

constexpr uint64_t kActivation = 4 * kRows * kColumns;

uint32_t ToyBuilder::buffer(const std::string &name, Space space, int device,
                            uint64_t bytes) {
  auto result = std::make_unique<BufferT>();
  result->name = name;
  result->space = space;
  result->device = space == Space::Device ? device : -1;
  result->bytes = bytes;
  // Buffers of all logical devices lie side by side, so that whichever device
  // plays whom, they never overlap.
  result->offset = used[(size_t)space];
  used[(size_t)space] += (bytes + 255) / 256 * 256;
  table.buffers.push_back(std::move(result));
  return (uint32_t)table.buffers.size() - 1;
}

OpT &ToyBuilder::op(OpKind kind, Lane lane, int device,
                    const std::string &name) {
  auto result = std::make_unique<OpT>();
  result->kind = kind;
  result->lane = lane;
  result->device = device;
  result->name = name;
  table.ops.push_back(std::move(result));
  return *table.ops.back();
}

void ToyBuilder::operand(OpT &op, std::vector<uint32_t> buffers, uint64_t bytes,
                         int access, uint64_t offset, uint32_t phase) {
  auto result = std::make_unique<OperandT>();
  result->buffers = std::move(buffers);
  result->bytes = bytes;
  result->access = (uint8_t)access;
  result->offset = offset;
  result->phase = phase;
  op.operands.push_back(std::move(result));
}

void ToyBuilder::copy(OpKind kind, Lane lane, int device,
                      const std::string &name, std::vector<uint32_t> from,
                      uint32_t phase, std::vector<uint32_t> to,
                      uint64_t bytes) {
  OpT &copied = op(kind, lane, device, name);
  operand(copied, std::move(from), bytes, 1, 0, phase);
  operand(copied, std::move(to), bytes, 2);
}

Reach testing::reach(int64_t fixed, int64_t step) {
  return Reach(0, fixed, 0, step);
}

std::unique_ptr<CallT> testing::kernel(const std::string &symbol,
                                       int64_t extent,
                                       std::vector<Address> addresses,
                                       std::vector<Reach> reaches) {
  auto call = std::make_unique<CallT>();
  call->kind = CallKind::Kernel;
  call->symbol = symbol;
  call->extent = extent;
  call->addresses = std::move(addresses);
  call->reach = std::move(reaches);
  return call;
}

static std::unique_ptr<CallT> gemm(uint32_t a, uint32_t b, uint32_t c,
                                   int64_t m, int64_t n, int64_t k, bool ta,
                                   bool tb, bool accumulate,
                                   ElementType typeB) {
  auto call = std::make_unique<CallT>();
  call->kind = CallKind::Gemm;
  call->addresses = {Address(a, 0), Address(b, 0), Address(c, 0)};
  call->gemm = std::make_unique<GemmT>();
  call->gemm->m = m;
  call->gemm->n = n;
  call->gemm->k = k;
  call->gemm->transpose_a = ta;
  call->gemm->transpose_b = tb;
  call->gemm->lda = ta ? m : k;
  call->gemm->ldb = tb ? k : n;
  call->gemm->ldc = n;
  call->gemm->accumulate = accumulate;
  call->gemm->type_b = typeB;
  return call;
}

void ToyBuilder::entries() {
  ElementType weight = options.bf16 ? ElementType::BF16 : ElementType::F32;
  auto add = [&](const std::string &name, uint32_t arguments,
                 uint64_t scratch) -> EntryT & {
    table.entries.push_back(std::make_unique<EntryT>());
    table.entries.back()->name = name;
    table.entries.back()->arguments = arguments;
    table.entries.back()->scratch_bytes = scratch;
    return *table.entries.back();
  };
  int64_t row = kColumns * (options.bf16 ? 2 : 4);
  // x, w0, b0, shift -> h
  EntryT &forward = add("layer0::forward", 5, 0);
  forward.calls.push_back(
      gemm(0, 1, 4, kRows, kColumns, kColumns, false, false, false, weight));
  forward.calls.push_back(kernel(options.bf16 ? "add_bias_bf16" : "add_bias",
                                 kRows * kColumns,
                                 {Address(4, 0), Address(2, 0), Address(3, 0)},
                                 {reach(0, 4), reach(row, 0), reach(row, 0)}));
  // h, labels, w1, seed -> loss, dh, gw1; scratch y
  EntryT &loss = add("layer1::forward_backward", 7, kActivation);
  loss.calls.push_back(
      gemm(0, 2, 7, kRows, kColumns, kColumns, false, false, false, weight));
  loss.calls.push_back(
      kernel("square_loss", kRows,
             {Address(7, 0), Address(1, 0), Address(3, 0), Address(4, 0)},
             {reach(0, 4 * kColumns), reach(0, 8), reach(4, 0), reach(4, 0)}));
  loss.calls.back()->node = "node_square";
  // As it would look labels up.
  loss.calls.back()->index_type = ElementType::I64;
  loss.calls.back()->index_rows = kRows;
  loss.calls.back()->index_extents = {1000};
  loss.calls.push_back(
      gemm(7, 2, 5, kRows, kColumns, kColumns, false, true, false, weight));
  loss.calls.push_back(gemm(0, 7, 6, kColumns, kColumns, kRows, true, false,
                            true, ElementType::F32));
  // x, dh -> gw0, gb0
  EntryT &backward = add("layer0::backward", 4, 0);
  backward.calls.push_back(gemm(0, 1, 2, kColumns, kColumns, kRows, true, false,
                                true, ElementType::F32));
  backward.calls.push_back(
      kernel("bias_gradient", kColumns, {Address(1, 0), Address(3, 0)},
             {reach(4 * (kRows - 1) * kColumns, 4), reach(0, 4)}));
  // labels -> count
  EntryT &count = add("labels::count", 2, 0);
  count.calls.push_back(kernel("count_labels", kRows,
                               {Address(0, 0), Address(1, 0)},
                               {reach(0, 8), reach(4, 0)}));
}

void ToyBuilder::describe() {
  table.name = "toy";
  table.source = "toy.onnx";
  table.producer = "tests";
  table.target = "host";
  table.devices = options.devices;
  table.rotation = options.rotate ? 3 * options.rounds % options.devices : 0;
  table.rounds = options.rounds;
  table.micro_batches = options.microBatches;
  table.staleness = options.staleness;
  table.weigh_by_labels = options.weighByLabels;
  table.label_entry = 3;
  table.label_inputs = {1};
  table.plan = "three slots a round";
  table.inputs.push_back(std::make_unique<InputT>());
  table.inputs[0]->name = "x";
  table.inputs[0]->type = ElementType::F32;
  table.inputs[0]->shape = {(int64_t)kRows, (int64_t)kColumns};
  table.inputs.push_back(std::make_unique<InputT>());
  table.inputs[1]->name = "labels";
  table.inputs[1]->type = ElementType::I64;
  table.inputs[1]->shape = {(int64_t)kRows};
  table.optimizer = std::make_unique<OptimizerT>();
  table.optimizer->learning_rate = 0.01;
  table.optimizer->beta1 = 0.9;
  table.optimizer->beta2 = 0.95;
  table.optimizer->epsilon = 1e-6;
  table.optimizer->weight_decay = 0.1;
  table.optimizer->clip_norm = options.clipNorm;
  table.optimizer->loss_scale = options.lossScale;
  table.optimizer->scale_growth = options.scaleGrowth;
  table.optimizer->symbol = "adamw_f32";
  table.optimizer->symbol_with_copy = "adamw_copy";
  table.prediction = std::make_unique<PredictionT>();
  table.prediction->iteration_ns = 1e6;

  auto parameter = [&](const std::string &name, const std::string &source,
                       std::vector<int64_t> shape, uint32_t block,
                       uint64_t member, int64_t state, uint64_t offset,
                       const std::string &role) -> ParameterT & {
    auto result = std::make_unique<ParameterT>();
    result->name = name;
    result->source = source;
    result->type = ElementType::F32;
    result->upload_type = options.bf16 ? ElementType::BF16 : ElementType::F32;
    result->shape = std::move(shape);
    result->block = block;
    result->member_offset = member;
    result->gradient_offset = result->state_offset = state;
    result->trainable = state >= 0;
    result->role = role;
    result->weight_decay = role == "weight" ? 0.1f : 0.0f;
    if (result->trainable) {
      result->location = "weights.bin";
      result->offset = offset;
      result->length = 4;
      for (int64_t extent : result->shape)
        result->length *= (uint64_t)extent;
    }
    table.parameters.push_back(std::move(result));
    return *table.parameters.back();
  };
  // Block 0 begins with the frozen one: uploads and states lie differently.
  auto n = (int64_t)kColumns;
  parameter("shift", "layer0.shift", {n}, 0, 0, -1, 0, "bias");
  parameter("val_1", "layer0.weight", {n, n}, 0, 256 * 8, 0, 0, "weight")
      .transposed = true;
  parameter("layer0.bias", "layer0.bias", {n}, 0,
            256 * 8 + element * kToyWeight, 4 * n * n, 4 * kToyWeight, "bias");
  ParameterT &tied = parameter("layer1.weight", "layer1.weight", {n, n}, 1, 0,
                               0, 4 * (kToyWeight + kColumns), "weight");
  tied.copies = {"val_9"};
  tied.copies_transposed = {true};
  bytes0 = 256 * 8 + element * (kToyWeight + kColumns);
  bytes1 = element * kToyWeight;
}

/// Inputs, label counts, seeds.
void ToyBuilder::stage() {
  uint32_t step = options.rounds * options.microBatches;
  for (uint32_t m = 0; m < step; ++m) {
    std::string tag = std::to_string(m);
    x.push_back(buffer("x " + tag, Space::Pinned, -1, kActivation));
    labels.push_back(buffer("labels " + tag, Space::Pinned, -1, 8 * kRows));
    counts.push_back(buffer("count " + tag, Space::Pinned, -1, 4));
    seeds.push_back(buffer("seed " + tag, Space::Pinned, -1, 4));
    losses.push_back(buffer("loss " + tag, Space::Pinned, -1, 4));
    h.push_back(buffer("h " + tag, Space::Pinned, -1, kActivation));
    dh.push_back(buffer("dh " + tag, Space::Pinned, -1, kActivation));
  }
  for (uint32_t m = 0; m < step; ++m)
    for (int input = 0; input < 2; ++input) {
      OpT &staged = op(OpKind::StageInput, Lane::Staging, -1,
                       "stage " + std::to_string(m));
      staged.input = input;
      staged.round = (int)(m / options.microBatches);
      staged.micro_batch = (int)(m % options.microBatches);
      operand(staged, {input ? labels[m] : x[m]},
              input ? 8 * kRows : kActivation, 2);
    }
  if (options.weighByLabels)
    for (uint32_t m = 0; m < step; ++m) {
      OpT &counted = op(OpKind::CountLabels, Lane::Staging, -1,
                        "count " + std::to_string(m));
      counted.entry = 3;
      operand(counted, {labels[m]}, 8 * kRows, 1);
      operand(counted, {counts[m]}, 4, 2);
    }
  OpT &seed = op(OpKind::Seed, Lane::Staging, -1, "seed");
  if (options.weighByLabels)
    for (uint32_t m = 0; m < step; ++m)
      operand(seed, {counts[m]}, 4, 1);
  for (uint32_t m = 0; m < step; ++m)
    operand(seed, {seeds[m]}, 4, 2);
  if (options.lossScale > 0) {
    for (uint32_t c = 0; c <= options.staleness; ++c)
      scales.push_back(buffer("loss scale", Space::Host, -1, 4));
    operand(seed, scales, 4, 1);
  }
}

void ToyBuilder::round(uint32_t r) {
  auto N = (int)options.devices;
  int first = (int)(3 * r) % N, second = (int)(3 * r + 1) % N,
      third = (int)(3 * r + 2) % N;
  std::string tag = " r" + std::to_string(r);
  auto onDevice = [&](const std::string &name, int device, uint64_t bytes) {
    return buffer(name + tag, Space::Device, device, bytes);
  };
  uint64_t grad0 = 4 * (kToyWeight + kColumns), grad1 = 4 * kToyWeight;
  // Two instances, taken in turn: the next iteration's upload does not wait for
  // this one's launches.
  std::vector<uint32_t> params0{onDevice("params0", first, bytes0),
                                onDevice("params0 odd", first, bytes0)};
  uint32_t params1 = onDevice("params1", second, bytes1),
           g1 = onDevice("g1", second, grad1);
  uint32_t g0 = onDevice("g0", third, grad0),
           scratch = onDevice("scratch", second, kActivation);

  OpT &up0 =
      op(OpKind::Upload, Lane::ParameterUp, first, "upload block 0" + tag);
  operand(up0, upload0, bytes0, 1, 0, uploadPhase);
  operand(up0, params0, bytes0, 2);
  auto count = options.microBatches;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t m = r * count + i;
    std::string mb = tag + " mb" + std::to_string(i);
    uint32_t dx = onDevice("x" + mb, first, kActivation),
             dhOut = onDevice("h" + mb, first, kActivation);
    copy(OpKind::Upload, Lane::ActivationUp, first, "upload x" + mb, {x[m]}, 0,
         {dx}, kActivation);
    OpT &forward =
        op(OpKind::Launch, Lane::Compute, first, "forward layer 0" + mb);
    forward.entry = 0;
    forward.round = (int)r;
    forward.micro_batch = (int)i;
    forward.node = "node_linear0";
    operand(forward, {dx}, kActivation, 1);
    operand(forward, params0, element * kToyWeight, 1, 256 * 8);
    operand(forward, params0, element * kColumns, 1,
            256 * 8 + element * kToyWeight);
    operand(forward, params0, element * kColumns, 1);
    operand(forward, {dhOut}, kActivation, 2);
    copy(OpKind::Download, Lane::ActivationDown, first, "download h" + mb,
         {dhOut}, 0, {h[m]}, kActivation);
  }
  copy(OpKind::Upload, Lane::ParameterUp, second, "upload block 1" + tag,
       upload1, uploadPhase, {params1}, bytes1);
  operand(op(OpKind::Zero, Lane::Compute, second, "zero g1" + tag), {g1}, grad1,
          2);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t m = r * count + i;
    std::string mb = tag + " mb" + std::to_string(i);
    uint32_t hIn = onDevice("h in" + mb, second, kActivation),
             label = onDevice("labels" + mb, second, 8 * kRows);
    uint32_t seed = onDevice("seed" + mb, second, 4),
             loss = onDevice("loss" + mb, second, 4);
    uint32_t dhOut = onDevice("dh" + mb, second, kActivation);
    copy(OpKind::Upload, Lane::ActivationUp, second, "upload h" + mb, {h[m]}, 0,
         {hIn}, kActivation);
    copy(OpKind::Upload, Lane::ActivationUp, second, "upload labels" + mb,
         {labels[m]}, 0, {label}, 8 * kRows);
    copy(OpKind::Upload, Lane::ActivationUp, second, "upload seed" + mb,
         {seeds[m]}, 0, {seed}, 4);
    OpT &fused =
        op(OpKind::Launch, Lane::Compute, second, "fused layer 1" + mb);
    fused.entry = 1;
    fused.round = (int)r;
    fused.micro_batch = (int)i;
    fused.node = "node_loss";
    operand(fused, {hIn}, kActivation, 1);
    operand(fused, {label}, 8 * kRows, 1);
    operand(fused, {params1}, bytes1, 1);
    operand(fused, {seed}, 4, 1);
    operand(fused, {loss}, 4, 2);
    operand(fused, {dhOut}, kActivation, 2);
    operand(fused, {g1}, grad1, 3);
    operand(fused, {scratch}, kActivation, 2);
    copy(OpKind::Download, Lane::ActivationDown, second, "download loss" + mb,
         {loss}, 0, {losses[m]}, 4);
    copy(OpKind::Download, Lane::ActivationDown, second, "download dh" + mb,
         {dhOut}, 0, {dh[m]}, kActivation);
  }
  copy(OpKind::Download, Lane::GradientDown, second, "download g1" + tag, {g1},
       0, {pinned1}, grad1);
  OpT &sum = op(OpKind::Accumulate, Lane::Update, -1, "sum g1" + tag);
  sum.first = r == 0;
  operand(sum, {sum1}, grad1, sum.first ? 2 : 3);
  operand(sum, {pinned1}, grad1, 1);
  operand(op(OpKind::Zero, Lane::Compute, third, "zero g0" + tag), {g0}, grad0,
          2);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t m = r * count + i;
    std::string mb = tag + " mb" + std::to_string(i);
    uint32_t xIn = onDevice("x in" + mb, third, kActivation),
             dhIn = onDevice("dh in" + mb, third, kActivation);
    copy(OpKind::Upload, Lane::ActivationUp, third, "upload x again" + mb,
         {x[m]}, 0, {xIn}, kActivation);
    copy(OpKind::Upload, Lane::ActivationUp, third, "upload dh" + mb, {dh[m]},
         0, {dhIn}, kActivation);
    OpT &backward =
        op(OpKind::Launch, Lane::Compute, third, "backward layer 0" + mb);
    backward.entry = 2;
    backward.round = (int)r;
    backward.micro_batch = (int)i;
    operand(backward, {xIn}, kActivation, 1);
    operand(backward, {dhIn}, kActivation, 1);
    operand(backward, {g0}, 4 * kToyWeight, 3);
    operand(backward, {g0}, 4 * kColumns, 3, 4 * kToyWeight);
  }
  copy(OpKind::Download, Lane::GradientDown, third, "download g0" + tag, {g0},
       0, {pinned0}, grad0);
  OpT &sumUp = op(OpKind::Accumulate, Lane::Update, -1, "sum g0" + tag);
  sumUp.first = r == 0;
  operand(sumUp, {sum0}, grad0, sumUp.first ? 2 : 3);
  operand(sumUp, {pinned0}, grad0, 1);
}

/// Loss, norm, clipping, optimizer.
void ToyBuilder::update() {
  OpT &loss = op(OpKind::Loss, Lane::Staging, -1, "loss");
  loss.node = "node_loss";
  loss.layer = 1;
  for (uint32_t buffer : losses)
    operand(loss, {buffer}, 4, 1);
  if (options.weighByLabels)
    for (uint32_t buffer : counts)
      operand(loss, {buffer}, 4, 1);
  uint64_t grad0 = 4 * (kToyWeight + kColumns), grad1 = 4 * kToyWeight;
  uint32_t coefficient = buffer("coefficient", Space::Host, -1, 4);
  bool waits = options.clipNorm > 0 || options.lossScale > 0;
  if (waits) {
    uint32_t partials = buffer("partial sums", Space::Host, -1, 256);
    OpT &norm = op(OpKind::Norm, Lane::Update, -1, "norm");
    operand(norm, {sum0}, grad0, 1);
    operand(norm, {sum1}, grad1, 1);
    operand(norm, {partials}, 16, 2);
    OpT &clip = op(OpKind::Clip, Lane::Update, -1, "clip");
    operand(clip, {partials}, 16, 1);
    if (options.lossScale > 0)
      operand(clip, scales, 4, 3);
    operand(clip, {coefficient}, 4, 2);
  }
  for (int block = 1; block >= 0; --block) {
    if (options.deviceUpdates) {
      updateOnDevice(block, waits, coefficient);
      continue;
    }
    OpT &optimizer = op(OpKind::Optimizer, Lane::Update, -1,
                        "update block " + std::to_string(block));
    optimizer.block = block;
    uint64_t state = block ? grad1 : grad0;
    operand(optimizer, {block ? sum1 : sum0}, state, 1);
    if (waits)
      operand(optimizer, {coefficient}, 4, 1);
    const std::vector<uint32_t> &master = block ? master1 : master0;
    uint64_t masterBytes = options.bf16 ? state : block ? bytes1 : bytes0;
    operand(optimizer, master, masterBytes, 1, 0, 0);
    operand(optimizer, master, masterBytes, 2, 0, master.size() > 1 ? 1 : 0);
    for (uint32_t moment : block ? moments1 : moments0)
      operand(optimizer, {moment}, state, 3);
    if (options.bf16)
      operand(optimizer, block ? upload1 : upload0, block ? bytes1 : bytes0, 2,
              0, uploadPhase);
  }
}

ProgramT ToyBuilder::build() {
  element = options.bf16 ? 2 : 4;
  describe();
  entries();
  uint64_t grad0 = 4 * (kToyWeight + kColumns), grad1 = 4 * kToyWeight;
  uint32_t copies = options.staleness + 1;
  // With staleness 1, step t uploads what step t-2's update left and overwrites
  // it: the odd one out of two.
  uploadPhase = options.staleness ? 1 : 0;
  for (uint32_t c = 0; c < copies; ++c) {
    upload0.push_back(buffer("upload 0", Space::Pinned, -1, bytes0));
    upload1.push_back(buffer("upload 1", Space::Pinned, -1, bytes1));
  }
  master0 =
      options.bf16
          ? std::vector<uint32_t>{buffer("master 0", stateSpace(), -1, grad0)}
          : upload0;
  master1 =
      options.bf16
          ? std::vector<uint32_t>{buffer("master 1", stateSpace(), -1, grad1)}
          : upload1;
  for (int i = 0; i < 2; ++i) {
    moments0.push_back(buffer("moment 0", stateSpace(), -1, grad0));
    moments1.push_back(buffer("moment 1", stateSpace(), -1, grad1));
  }
  pinned0 = buffer("gradient 0", Space::Pinned, -1, grad0);
  pinned1 = buffer("gradient 1", Space::Pinned, -1, grad1);
  sum0 = buffer("sum 0", stateSpace(), -1, grad0);
  sum1 = buffer("sum 1", stateSpace(), -1, grad1);
  for (int block = 0; block < 2; ++block) {
    auto result = std::make_unique<BlockT>();
    result->name = "block " + std::to_string(block);
    result->upload = block ? upload1 : upload0;
    result->master = block ? master1 : master0;
    result->moments = block ? moments1 : moments0;
    result->gradients = {block ? sum1 : sum0};
    result->upload_bytes = block ? bytes1 : bytes0;
    result->gradient_bytes = block ? grad1 : grad0;
    table.blocks.push_back(std::move(result));
  }
  stage();
  for (uint32_t r = 0; r < options.rounds; ++r)
    round(r);
  update();
  table.device_bytes = used[0];
  table.pinned_bytes = used[1];
  table.host_bytes = used[2];
  addWaits(table);
  if (options.gpu)
    addDeviceCode(table);
  return std::move(table);
}

ProgramT testing::toyProgram(const ToyOptions &options) {
  return ToyBuilder(options).build();
}
