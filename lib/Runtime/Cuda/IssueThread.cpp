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
#include <chrono>
#include <pthread.h>
#include <sys/prctl.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// How long it sleeps while a lane has no room.
constexpr auto kPause = std::chrono::microseconds(20);

static void waitUntil(const std::atomic<uint32_t> &word, uint32_t wanted) {
  for (uint32_t value;
       (value = word.load(std::memory_order_acquire)) != wanted;)
    word.wait(value, std::memory_order_acquire);
}

IssueThread::Queue::Queue(uint32_t capacity)
    : bits((uint32_t)std::bit_width(std::max(capacity, 16u) - 1)),
      ring(std::make_unique<Place[]>((size_t)1 << bits)) {}

IssueThread::IssueThread(uint32_t index, uint32_t capacity,
                         uint32_t stateCapacity)
    : queues{Queue(capacity), Queue(stateCapacity)}, thread([this] { run(); }) {
  pthread_setname_np(thread.native_handle(), format("issue %u", index).c_str());
}

IssueThread::~IssueThread() {
  for (Queue &queue : queues)
    put(queue, nullptr, {});
  thread.join();
}

void IssueThread::push(CudaLane *lane, const TaskCall &call) {
  put(queues[lane->isOfState()], lane, call);
}

void IssueThread::put(Queue &queue, CudaLane *lane, const TaskCall &call) {
  uint32_t number = queue.next.fetch_add(1, std::memory_order_relaxed);
  Place &place = queue.place(number);
  uint32_t turn = queue.turn(number);
  waitUntil(place.turn, turn);
  place.lane = lane;
  place.call = call;
  place.turn.store(turn + 1, std::memory_order_release);
  pushed.fetch_add(1, std::memory_order_release);
  pushed.notify_one();
}

IssueThread::Step IssueThread::take(Queue &queue) {
  uint32_t number = queue.taken;
  Place &place = queue.place(number);
  if (queue.ended ||
      place.turn.load(std::memory_order_acquire) != queue.turn(number) + 1)
    return Step::Nothing;
  CudaLane *lane = place.lane;
  TaskCall call = place.call;
  if (lane && !lane->hasRoom(call))
    return Step::NoRoom;
  // Numbers begin again after 2^32 tasks, and so do rounds.
  place.turn.store(queue.turn(number + (1u << queue.bits)),
                   std::memory_order_release);
  place.turn.notify_all();
  ++queue.taken;
  queue.ended = !lane;
  if (lane) {
    int64_t begin = now();
    lane->issueNow(call);
    busyTime.fetch_add(now() - begin, std::memory_order_relaxed);
  }
  return Step::Issued;
}

void IssueThread::run() {
  // Sleeps are short: by default the system makes each 50 us longer.
  ::prctl(PR_SET_TIMERSLACK, 1000);
  while (!queues[0].ended || !queues[1].ended) {
    uint32_t seen = pushed.load(std::memory_order_acquire);
    Step steps[] = {take(queues[0]), take(queues[1])};
    if (steps[0] == Step::Issued || steps[1] == Step::Issued)
      continue;
    // Room comes when tasks end or what they wait for does: nobody says so.
    if (steps[0] == Step::NoRoom || steps[1] == Step::NoRoom)
      std::this_thread::sleep_for(kPause);
    else
      pushed.wait(seen, std::memory_order_acquire);
  }
}
