//===- UpdateEntries.cpp - Launch lists of updates on devices ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpdateEntries.h"

#include "AdamW.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::target;

CompiledEntry UpdateEntries::build(const scheduling::Op &op) {
  CompiledEntry entry;
  entry.name = op.name;
  entry.arguments = op.operands.size();
  uint32_t moments = info.model.momentsPerElement;
  bool copies = !info.model.uploadIsMaster;
  uint32_t copy = 2 + moments, scalars = copies ? copy + 1 : copy;
  uint64_t bytes = op.operands[1].bytes;
  bool narrow = op.operands[0].bytes != bytes;
  uint32_t member = 0;
  std::optional<uint64_t> copyBegin; // In the upload copy.
  for (const planning::Placement &placement : info.placements) {
    if (placement.block != (uint32_t)op.block || placement.gradientOffset < 0)
      continue;
    uint32_t number = member++;
    RankedTensorType type = placement.getType();
    Type element = type.getElementType();
    auto first = (uint64_t)placement.gradientOffset,
         begin = std::max(first, op.piece),
         end = std::min(first + (uint64_t)type.getNumElements() * 4,
                        op.piece + bytes);
    if (begin >= end)
      continue;
    uint64_t width = kern::getElementBytes(element),
             place = placement.uploadOffset + (begin - first) / 4 * width;
    if (!copyBegin)
      copyBegin = place;
    AdamWKernel kernel{beta1, beta2, {}, {}, /*maySkip=*/true};
    if (copies && !element.isF32())
      kernel.copyType = element;
    if (narrow)
      kernel.gradientType = BFloat16Type::get(type.getContext());
    uint64_t at = begin - op.piece;
    Call call;
    call.symbol = getAdamWSymbol(kernel);
    call.extent = (int64_t)(end - begin) / 4;
    call.addresses = {{0, narrow ? at / 2 : at}, {1, at}, {1, at}};
    for (uint32_t i = 0; i < moments; ++i)
      call.addresses.push_back({2 + i, at});
    // By element: bytes at each pointer.
    call.reach.assign(call.addresses.size(), {0, 0, 0, 4});
    call.reach.front().endStep = narrow ? 2 : 4;
    if (kernel.copyType) {
      call.addresses.push_back({copy, place - *copyBegin});
      call.reach.push_back({0, 0, 0, (int64_t)width});
    }
    call.addresses.push_back({scalars, 32 * (uint64_t)number});
    call.reach.push_back({0, 32, 0, 0});
    call.bytes = (end - begin) * (3 + 2 * moments);
    kernels.try_emplace(call.symbol, kernel);
    if (forGpus) {
      call.gpuSymbol = call.symbol + "_to" + std::to_string(call.extent);
      call.block = {gpu::kAdamWThreads, 1, 1};
      call.grid = {(uint32_t)gpu::getAdamWBlocks(call.extent), 1, 1};
      updates.try_emplace(call.gpuSymbol,
                          GpuUpdate{kernel, call.extent, call.gpuSymbol});
    }
    entry.bytes += (double)call.bytes;
    entry.calls.push_back(std::move(call));
    // Beside narrower ones, an f32 is copied as it is.
    if (!copies || !element.isF32())
      continue;
    Call copied;
    copied.kind = Call::Kind::Copy;
    copied.bytes = end - begin;
    copied.addresses = {{1, at}, {copy, place - *copyBegin}};
    entry.calls.push_back(std::move(copied));
  }
  entry.time = op.duration;
  return entry;
}

std::vector<AdamWKernel> UpdateEntries::getHostKernels() const {
  std::vector<AdamWKernel> list;
  for (auto &[symbol, kernel] : kernels)
    list.push_back(kernel);
  return list;
}

std::vector<GpuUpdate> UpdateEntries::getGpuUpdates() const {
  std::vector<GpuUpdate> list;
  for (auto &[symbol, update] : updates)
    list.push_back(update);
  return list;
}
