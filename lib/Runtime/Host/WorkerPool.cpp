//===- WorkerPool.cpp - Threads that share one list of chunks -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkerPool.h"

using namespace rondo::runtime;

WorkerPool::WorkerPool(uint32_t workers) {
  for (uint32_t i = 1; i < workers; ++i)
    threads.emplace_back([this] { help(); });
}

WorkerPool::~WorkerPool() {
  stopping.store(true, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::run(uint64_t count, Chunk chunk, void *argument) {
  if (threads.empty() || count <= 1) {
    for (uint64_t i = 0; i < count; ++i)
      chunk(argument, i);
    return;
  }
  function = chunk;
  context = argument;
  chunks = count;
  next.store(0, std::memory_order_relaxed);
  pending.store((uint32_t)threads.size(), std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_release);
  generation.notify_all();
  work();
  for (uint32_t left; (left = pending.load(std::memory_order_acquire)) != 0;)
    pending.wait(left, std::memory_order_acquire);
}

void WorkerPool::work() {
  for (uint64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < chunks;)
    function(context, i);
}

void WorkerPool::help() {
  for (uint32_t seen = 0;; ++seen) {
    generation.wait(seen, std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    work();
    if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
      pending.notify_one();
  }
}
