//===- CudaGraphs.h - Launches of an entry as one graph ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where kernels end sooner than the host hands out the next, the calls of an
// entry are recorded when an operation first launches it with some addresses,
// and from then on handed out at once. The kernels, and hence the bits, are the
// same.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAGRAPHS_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAGRAPHS_H

#include "CudaExecutable.h"
#include "rondo/Runtime/Device.h"
#include <map>

namespace rondo::runtime::cuda {

/// Its calls need the device's context to be current.
class CudaGraphs {
public:
  /// RONDO_TEST_GRAPHS=0 and =1 stand for a program none or all of whose
  /// entries are short.
  CudaGraphs(const Driver &driver, CudaExecutable &executable,
             const program::Program &table);
  ~CudaGraphs();
  CudaGraphs(const CudaGraphs &) = delete;
  CudaGraphs &operator=(const CudaGraphs &) = delete;

  /// 32-bit words that kernels of graphs write, zeros at first: an operation's
  /// are its own, since a graph keeps their addresses; two iterations are in
  /// flight.
  uint64_t words() const { return 2 * (uint64_t)wordsOfIteration; }
  void open(uint32_t *words) { first = words; }
  /// From now on no launch is a graph.
  void close() { wordOf.clear(); }
  /// Whether this launch is one.
  bool takes(const TaskCall &call) const;
  /// `status`: the words of its calls, as CudaExecutable::launch has them.
  Status launch(const TaskCall &call, Stream stream, Address &status);
  /// Graphs recorded so far.
  uint32_t count() const { return recorded.load(std::memory_order_relaxed); }

private:
  Status record(uint32_t entry, std::byte *const *arguments, Address status,
                GraphExec &graph);

  const Driver &driver;
  CudaExecutable &executable;
  const program::Program &table;
  /// By operation; kNone: it launches no graph.
  std::vector<uint32_t> wordOf;
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t wordsOfIteration = 0;
  uint32_t *first = nullptr;
  Stream recording = nullptr;
  std::map<std::vector<Address>, GraphExec> graphs;
  std::vector<Address> key; ///< Entry, status, arguments.
  std::atomic<uint32_t> recorded{0};
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAGRAPHS_H
