//===- WorkerPool.h - Threads that share one list of chunks -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H
#define RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H

#include "Processors.h"
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace rondo::runtime {

/// Runs a job's chunks on `workers` threads, each on a processor of its own
/// where there are enough. Which thread takes which chunk is left to chance, so
/// a result must not depend on it. Chunks are split between memory nodes in
/// proportion to their workers, the first ones to the first node; a worker
/// turns to other nodes' chunks when those of its own are taken. Locks nothing
/// and allocates nothing.
class WorkerPool {
public:
  /// `processors`: where the workers go, from the front; with fewer of them
  /// than workers, threads go where the system puts them. One worker is the
  /// caller itself, where it is.
  explicit WorkerPool(uint32_t workers,
                      std::span<const Processor> processors = {});
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  using Chunk = void (*)(void *context, uint64_t chunk);
  /// From one thread at a time; returns when all chunks are done.
  void run(uint64_t chunks, Chunk function, void *context) {
    deal(chunks, function, context, /*shared=*/true);
  }
  /// The same, with every chunk on the node that it belongs to: for the first
  /// touch of memory, which decides where its pages lie.
  void runAtHome(uint64_t chunks, Chunk function, void *context) {
    deal(chunks, function, context, /*shared=*/false);
  }
  /// `function` takes a chunk number.
  template <typename Function>
  void forEach(uint64_t chunks, const Function &function) {
    run(
        chunks,
        [](void *context, uint64_t chunk) {
          (*static_cast<const Function *>(context))(chunk);
        },
        const_cast<void *>(static_cast<const void *>(&function)));
  }
  uint32_t workers() const {
    return std::max<uint32_t>(1, (uint32_t)threads.size());
  }

private:
  /// The chunks of one node that are not yet taken, on a cache line of its own.
  struct alignas(64) Part {
    std::atomic<uint64_t> next{0};
    uint64_t end = 0;
    uint32_t workers = 0;
  };

  void deal(uint64_t chunks, Chunk function, void *context, bool shared);
  void help(uint32_t home);
  void work(uint32_t home);
  template <typename Done>
  void spin(const Done &done) const;

  std::vector<std::thread> threads;
  std::unique_ptr<Part[]> parts; ///< By node.
  uint32_t partCount = 1;
  bool spins = false; ///< Waiting keeps nobody from running.
  Chunk function = nullptr;
  void *context = nullptr;
  bool shared = true;
  std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> pending{0};
  std::atomic<bool> stopping{false};
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_WORKERPOOL_H
