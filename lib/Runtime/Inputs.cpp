//===- Inputs.cpp - Where the samples of a step come from -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "rondo/Runtime/OutputFile.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;

static uint64_t mix(uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53u;
  return value ^ value >> 33;
}

uint64_t rondo::runtime::permute(uint64_t index, uint64_t count,
                                 uint64_t seed) {
  if (count <= 1)
    return 0;
  // Two halves of equal width cover [0, count); the walk leaves the rest out,
  // on average after less than four rounds.
  int half = (std::bit_width(count - 1) + 1) / 2;
  uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      uint64_t next =
          left ^ (mix(right + mix(seed + round * 0x9e3779b97f4a7c15u)) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= count);
  return index;
}

Inputs::Inputs(const Program &program) : program(program) {
  const program::Program &table = program.table();
  inputs.resize(sizeOf(table.inputs()));
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const program::Input &input = *table.inputs()->Get(i);
    std::span<const int64_t> shape = shapeOf(input.shape());
    uint64_t elements = 0;
    countElements(input.shape(), elements);
    inputs[i].batch = shape.empty() ? 1 : (uint64_t)shape[0];
    inputs[i].rowBytes =
        elements / inputs[i].batch * elementBytes(input.type());
  }
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i)
    if (const program::Op &op = *table.ops()->Get(i);
        op.kind() == program::OpKind::StageInput)
      inputs[(size_t)op.input()].used = true;
}

Status Inputs::find(const std::string &name, uint32_t &index) const {
  const auto *list = program.table().inputs();
  std::string names;
  for (index = 0; index < sizeOf(list); ++index) {
    if (text(list->Get(index)->name()) == name)
      return Status::success();
    names += (names.empty() ? "'" : ", '") +
             std::string(text(list->Get(index)->name())) + "'";
  }
  return userError("the program has no input '" + name + "'; its inputs are " +
                   (names.empty() ? "none" : names));
}

Status Inputs::check(uint32_t index, const std::string &what,
                     const std::string &typeName, bool sameType,
                     std::span<const int64_t> shape) const {
  const program::Input &input = *program.table().inputs()->Get(index);
  std::span<const int64_t> batch = shapeOf(input.shape());
  std::string name(text(input.name()));
  if (!sameType)
    return userError(format("input '%s': %s holds %s, the program wants %s; "
                            "convert it with array.astype('%s')",
                            name.c_str(), what.c_str(), typeName.c_str(),
                            elementName(input.type()),
                            elementName(input.type())));
  std::vector<int64_t> wanted(batch.begin(), batch.end());
  if (wanted.empty())
    wanted.push_back(1); // one value a micro-batch
  // Whoever gives so wrong a rank may not have so many extents.
  if (shape.size() > 64)
    return userError(format("input '%s': %s has %zu axes, the program wants "
                            "%zu",
                            name.c_str(), what.c_str(), shape.size(),
                            wanted.size()));
  uint64_t bytes = 0;
  if (shape.size() != wanted.size() || shape[0] < 0 ||
      !std::equal(shape.begin() + 1, shape.end(), wanted.begin() + 1) ||
      __builtin_mul_overflow((uint64_t)shape[0], inputs[index].rowBytes,
                             &bytes) ||
      bytes > (uint64_t)INT64_MAX) {
    std::string text = "[samples";
    for (size_t i = 1; i < wanted.size(); ++i)
      text += ", " + std::to_string(wanted[i]);
    return userError(format("input '%s': %s has shape %s, the program wants "
                            "%s] with %lld samples in each of %u "
                            "micro-batches a step",
                            name.c_str(), what.c_str(),
                            shapeText(shape).c_str(), text.c_str(),
                            (long long)wanted[0], program.microBatches()));
  }
  if (shape[0] == 0)
    return userError(
        format("input '%s': %s holds no samples", name.c_str(), what.c_str()));
  return Status::success();
}

void Inputs::bind(uint32_t index, std::span<const int64_t> shape,
                  const std::byte *data, uint32_t firstStep) {
  inputs[index].samples = (uint64_t)shape[0];
  inputs[index].data = data;
  inputs[index].firstStep = firstStep;
}

Status Inputs::bindFile(const std::string &name, const std::string &path,
                        uint32_t firstStep) {
  uint32_t index = 0;
  if (Status status = find(name, index); !status.ok())
    return status;
  NpyFile npy;
  if (Status status = NpyFile::open(path, npy); !status.ok())
    return status;
  bool same =
      npy.known && npy.type == program.table().inputs()->Get(index)->type();
  std::string typeName =
      npy.known ? elementName(npy.type) : "'" + npy.descriptor + "'";
  if (Status status = check(index, path, typeName, same, npy.shape);
      !status.ok())
    return status;
  inputs[index].file = std::move(npy);
  bind(index, inputs[index].file.shape, inputs[index].file.data.data(),
       firstStep);
  return Status::success();
}

Status Inputs::bindMemory(const std::string &name, program::ElementType type,
                          std::span<const int64_t> shape, const void *data,
                          uint32_t firstStep) {
  uint32_t index = 0;
  if (Status status = find(name, index); !status.ok())
    return status;
  if (!data)
    return flagsError("input '" + name + "': there is no array");
  bool same = type == program.table().inputs()->Get(index)->type();
  if (Status status = check(index, "the array", elementName(type), same, shape);
      !status.ok())
    return status;
  inputs[index].file = NpyFile();
  bind(index, shape, static_cast<const std::byte *>(data), firstStep);
  return Status::success();
}

Status Inputs::setOrder(bool shuffle, uint64_t shuffleSeed, uint32_t visits) {
  if (visits == 0)
    return flagsError("0 epochs leave nothing to train on");
  shuffled = shuffle;
  seed = shuffleSeed;
  epochs = visits;
  return Status::success();
}

uint64_t Inputs::samplesPerStep() const {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].used)
      return inputs[i].batch * program.microBatches();
  return 0;
}

uint64_t Inputs::stepsPerEpoch() const {
  uint64_t steps = UINT64_MAX;
  for (const Bound &input : inputs)
    if (input.used)
      steps = std::min(steps,
                       input.samples / (input.batch * program.microBatches()));
  return steps;
}

/// Samples of one row after the other belong together: all inputs are of the
/// same ones. An array bound at a later step has its own beginning.
Status Inputs::compare(uint32_t index, uint32_t other) const {
  const Bound &a = inputs[other], &b = inputs[index];
  if (!shuffled && a.firstStep != b.firstStep)
    return Status::success();
  // Counted in micro-batches, since an input may have one value for each.
  bool same = shuffled ? a.batch == b.batch && a.samples == b.samples
                       : a.samples / a.batch == b.samples / b.batch &&
                             (a.batch != b.batch || a.samples == b.samples);
  if (same)
    return Status::success();
  const auto *list = program.table().inputs();
  return userError(format(
      "inputs must hold the same samples: '%s' holds %llu, '%s' holds %llu",
      std::string(text(list->Get(other)->name())).c_str(),
      (unsigned long long)a.samples,
      std::string(text(list->Get(index)->name())).c_str(),
      (unsigned long long)b.samples));
}

std::string Inputs::inputOfFile(const std::string &path) const {
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].file.file && sameFile(path, inputs[i].file.file->path()))
      return std::string(text(program.table().inputs()->Get(i)->name()));
  return "";
}

Status Inputs::available(uint32_t step, uint64_t &steps) const {
  steps = UINT64_MAX;
  std::string unbound;
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].used && !inputs[i].data)
      unbound += (unbound.empty() ? "'" : ", '") +
                 std::string(text(program.table().inputs()->Get(i)->name())) +
                 "'";
  if (!unbound.empty())
    return userError("no data for input " + unbound +
                     "; give --input=NAME=@FILE.npy for each");
  int64_t first = -1;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].used)
      continue;
    if (first < 0)
      first = i;
    if (Status status = compare(i, (uint32_t)first); !status.ok())
      return status;
  }
  if (first < 0)
    return Status::success();
  uint64_t all = 0;
  if (__builtin_mul_overflow(stepsPerEpoch(), (uint64_t)epochs, &all))
    all = UINT64_MAX;
  for (const Bound &input : inputs)
    if (input.used) {
      uint64_t used = step - input.firstStep;
      steps = std::min(steps, all > used ? all - used : 0);
    }
  return Status::success();
}

void Inputs::stage(uint32_t index, uint32_t microBatch, uint32_t step,
                   std::byte *target) const {
  const Bound &input = inputs[index];
  uint64_t perEpoch = stepsPerEpoch(), local = step - input.firstStep;
  uint64_t epoch = local / perEpoch, inEpoch = local % perEpoch;
  uint64_t sample =
      (inEpoch * program.microBatches() + microBatch) * input.batch;
  if (!shuffled) {
    std::memcpy(target, input.data + sample * input.rowBytes,
                input.batch * input.rowBytes);
    return;
  }
  for (uint64_t i = 0; i < input.batch; ++i)
    std::memcpy(target + i * input.rowBytes,
                input.data +
                    permute(sample + i, input.samples, mix(seed) + epoch) *
                        input.rowBytes,
                input.rowBytes);
}
