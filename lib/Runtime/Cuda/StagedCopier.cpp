//===- StagedCopier.cpp - Copies through a pinned ring --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StagedCopier.h"
#include "CudaDevice.h"
#include <algorithm>
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

Status StagedCopier::open(uint64_t bytes) {
  constexpr uint64_t page = 4096;
  slotBytes = bytes;
  auto memory = std::make_unique<Arena>();
  if (Status status = memory->allocate(
          (kSlots * slotBytes + page - 1) / page * page, "memory for staging");
      !status.ok())
    return status;
  if (Status status = device.pool->pin(memory->buffer(), "memory for staging");
      !status.ok())
    return status;
  ring = std::move(memory);
  const Driver &driver = device.driver();
  for (Slot &slot : slots)
    if (Status status =
            driver.status(driver.eventCreate(&slot.copied, kEventForWaiting),
                          "cuEventCreate");
        !status.ok())
      return status;
  return Status::success();
}

StagedCopier::~StagedCopier() {
  const Driver &driver = device.driver();
  if (device.pool->failed())
    return;
  for (Slot &slot : slots)
    if (slot.copied)
      (void)driver.eventDestroy(slot.copied);
  if (ring)
    device.pool->unpin(ring->buffer());
}

Status StagedCopier::settle(uint32_t number) {
  Slot &slot = slots[number];
  if (!slot.busy)
    return Status::success();
  slot.busy = false;
  if (Result result = device.driver().eventSynchronize(slot.copied);
      result != Success)
    return device.driver().status(result, "a staged copy");
  if (slot.target)
    std::memcpy(slot.target, ring->buffer().data + number * slotBytes,
                slot.bytes);
  return Status::success();
}

Status StagedCopier::pass(std::byte *target, std::byte *source,
                          uint64_t bytes) {
  const Driver &driver = device.driver();
  auto address = [](std::byte *pointer) {
    return reinterpret_cast<Address>(pointer);
  };
  bool up = device.pool->staged(address(source)),
       down = device.pool->staged(address(target));
  Status status = device.makeCurrent();
  uint32_t number = 0;
  for (uint64_t at = 0; at < bytes && status.ok();
       number = (number + 1) % kSlots) {
    // What the GPU reaches by itself goes in one piece.
    uint64_t piece = up || down ? std::min(bytes - at, slotBytes) : bytes;
    if (status = settle(number); !status.ok())
      break;
    Slot &slot = slots[number];
    std::byte *staging = ring->buffer().data + number * slotBytes;
    if (up)
      std::memcpy(staging, source + at, piece);
    slot.target = down ? target + at : nullptr;
    slot.bytes = piece;
    status = driver.status(
        driver.memcpyAsync(address(down ? staging : target + at),
                           address(up ? staging : source + at), piece, stream),
        "a copy of " + formatBytes(bytes));
    if (status.ok())
      status = driver.status(driver.eventRecord(slot.copied, stream),
                             "cuEventRecord");
    slot.busy = status.ok();
    at += piece;
  }
  // In the order of the copies.
  for (uint32_t i = 0; i < kSlots && status.ok(); ++i)
    status = settle((number + i) % kSlots);
  return status;
}

void StagedCopier::copy(const TaskCall &call) {
  if (device.pool->failed()) {
    device.pool->lose(call.iteration);
    return;
  }
  if (Status status =
          pass(call.arguments[1], call.arguments[0], call.task->bytes);
      !status.ok())
    device.fail(call, status);
}
