//===- IssueThread.cpp - Issues a device's tasks --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IssueThread.h"
#include "CudaLane.h"
#include <algorithm>
#include <bit>
#include <pthread.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

static void waitUntil(const std::atomic<uint32_t> &word, uint32_t wanted) {
  for (uint32_t value;
       (value = word.load(std::memory_order_acquire)) != wanted;)
    word.wait(value, std::memory_order_acquire);
}

IssueThread::IssueThread(uint32_t index, uint32_t capacity)
    : bits((uint32_t)std::bit_width(std::max(capacity, 16u) - 1)),
      ring(std::make_unique<Place[]>((size_t)1 << bits)),
      thread([this] { run(); }) {
  pthread_setname_np(thread.native_handle(), format("issue %u", index).c_str());
}

IssueThread::~IssueThread() {
  push(nullptr, {});
  thread.join();
}

void IssueThread::push(CudaLane *lane, const TaskCall &call) {
  uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  Place &place = ring[number & ((1u << bits) - 1)];
  uint32_t turn = 2 * (number >> bits);
  waitUntil(place.turn, turn);
  place.lane = lane;
  place.call = call;
  place.turn.store(turn + 1, std::memory_order_release);
  place.turn.notify_all();
}

void IssueThread::run() {
  for (uint32_t number = 0;; ++number) {
    Place &place = ring[number & ((1u << bits) - 1)];
    uint32_t turn = 2 * (number >> bits);
    waitUntil(place.turn, turn + 1);
    CudaLane *lane = place.lane;
    TaskCall call = place.call;
    // Numbers begin again after 2^32 tasks, and so do rounds.
    place.turn.store(2 * ((number + (1u << bits)) >> bits),
                     std::memory_order_release);
    place.turn.notify_all();
    if (!lane)
      return;
    int64_t begin = now();
    lane->issueNow(call);
    busyTime.fetch_add(now() - begin, std::memory_order_relaxed);
  }
}
