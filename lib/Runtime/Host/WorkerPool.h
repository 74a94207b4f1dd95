//===- WorkerPool.h - Threads that share one list of chunks -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H
#define RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Runs a job's chunks on the caller and `workers` - 1 threads. Which thread
/// takes which chunk is left to chance, so a chunk must not depend on it. Locks
/// nothing and allocates nothing.
class WorkerPool {
public:
  explicit WorkerPool(uint32_t workers);
  ~WorkerPool();
  using Chunk = void (*)(void *context, uint64_t chunk);
  /// From one thread at a time; returns when all chunks are done.
  void run(uint64_t chunks, Chunk function, void *context);

private:
  void help();
  void work();

  std::vector<std::thread> threads;
  Chunk function = nullptr;
  void *context = nullptr;
  uint64_t chunks = 0;
  std::atomic<uint64_t> next{0};
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> pending{0};
  std::atomic<bool> stopping{false};
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H
