//===- WorkerPool.cpp - Threads that share one list of chunks -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"
#include <algorithm>
#include <pthread.h>
#include <sched.h>

using namespace rondo::runtime;

/// Some tens of microseconds: the update lane's next operation mostly follows
/// at once, and waking a sleeping thread takes longer.
constexpr int kSpins = 1000;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <typename Done>
void WorkerPool::spin(const Done &done) const {
  for (int i = 0; spins && i < kSpins && !done(); ++i)
    relax();
}

WorkerPool::WorkerPool(uint32_t workers,
                       std::span<const Processor> processors) {
  bool placed = workers <= processors.size();
  // The caller spins, too.
  spins = workers < processors.size();
  std::vector<int> nodes;
  std::vector<uint32_t> homes(workers);
  for (uint32_t i = 0; placed && i < workers; ++i) {
    auto node = std::find(nodes.begin(), nodes.end(), processors[i].node);
    homes[i] = (uint32_t)(node - nodes.begin());
    if (node == nodes.end())
      nodes.push_back(processors[i].node);
  }
  partCount = (uint32_t)std::max<size_t>(1, nodes.size());
  parts = std::make_unique<Part[]>(partCount);
  for (uint32_t home : homes)
    ++parts[home].workers;
  for (uint32_t i = 0; workers > 1 && i < workers; ++i) {
    std::thread &thread =
        threads.emplace_back([this, home = homes[i]] { help(home); });
    pthread_setname_np(thread.native_handle(), "Worker");
    if (!placed)
      continue;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors[i].id, &set);
    // Where that is not allowed, threads go where the system puts them.
    (void)pthread_setaffinity_np(thread.native_handle(), sizeof set, &set);
  }
}

WorkerPool::~WorkerPool() {
  stopping.store(true, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::deal(uint64_t chunks, Chunk job, void *argument,
                      bool canShare) {
  if (threads.empty() || (chunks <= 1 && canShare)) {
    for (uint64_t i = 0; i < chunks; ++i)
      job(argument, i);
    return;
  }
  function = job;
  context = argument;
  shared = canShare;
  uint64_t workersBefore = 0;
  for (uint32_t i = 0; i < partCount; ++i) {
    parts[i].next.store(chunks * workersBefore / threads.size(),
                        std::memory_order_relaxed);
    workersBefore += parts[i].workers;
    parts[i].end = chunks * workersBefore / threads.size();
  }
  pending.store((uint32_t)threads.size(), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  spin([&] { return pending.load(std::memory_order_acquire) == 0; });
  for (uint32_t left; (left = pending.load(std::memory_order_acquire)) != 0;)
    pending.wait(left, std::memory_order_acquire);
}

void WorkerPool::work(uint32_t home) {
  for (uint32_t i = 0; i < (shared ? partCount : 1); ++i) {
    Part &part = parts[(home + i) % partCount];
    for (uint64_t chunk; (chunk = part.next.fetch_add(
                              1, std::memory_order_relaxed)) < part.end;)
      function(context, chunk);
  }
}

void WorkerPool::help(uint32_t home) {
  for (uint32_t seen = 0;; ++seen) {
    spin([&] { return generation.load(std::memory_order_acquire) != seen; });
    generation.wait(seen, std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    work(home);
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      pending.notify_one();
  }
}
