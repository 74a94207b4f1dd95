//===- Processors.h - Processors and memory nodes ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_PROCESSORS_H
#define RONDO_LIB_RUNTIME_HOST_PROCESSORS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rondo::runtime {

struct Processor {
  int id = 0;   ///< As in sched_setaffinity(2).
  int node = 0; ///< The memory node it belongs to.
};

/// The processors that this process may use, so ordered that busy threads take
/// them from the front: the first one of every core before any second one, and
/// memory nodes in turn.
std::vector<Processor> usableProcessors();

/// The same of the processors `allowed`; `system`: the folder that is
/// /sys/devices/system. Whatever it does not tell is taken as one node, and one
/// processor a core.
std::vector<Processor> orderProcessors(std::span<const int> allowed,
                                       const std::string &system);

/// Threads that share the update lane's work by default: one a processor, less
/// those that issuing and `devices` devices' own threads need.
uint32_t defaultHostThreads(size_t processors, uint32_t devices);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_PROCESSORS_H
