//===- Transfers.h - Builds one iteration ------------------------*- C++
//-*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information. SPDX-License-Identifier:
// Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_TRANSFERS_H
#define RONDO_LIB_SCHEDULING_TRANSFERS_H

#include "Pools.h"
#include "rondo/Scheduling/Problems.h"
#include <map>

namespace rondo::scheduling::detail {

/// The buffers of host memory, made on first mention. Every function returns
/// the operand for one use.
class HostBuffers {
public:
  HostBuffers(const Model &model, Schedule &schedule)
      : model(model), schedule(schedule) {}

  /// A boundary value, saved value or cotangent of a micro-batch: two in turn
  /// by round where rounds or iterations overlap.
  Operand value(const ValueKey &key, uint64_t bytes, uint32_t round,
                uint32_t microBatch, Access access);
  /// What exists once a micro-batch of the step: staged inputs, label counts,
  /// seeds, losses.
  Operand perStep(const std::string &name, uint64_t bytes, uint32_t round,
                  uint32_t microBatch, Access access);
  /// The upload copy that this iteration's uploads read.
  Operand uploadCopy(uint32_t block, Access access);
  /// The one that this iteration's update writes, for the next but `staleness`.
  Operand nextCopy(uint32_t block, Access access);
  Operand master(uint32_t block, bool next, Access access);
  Operand moment(uint32_t block, uint32_t index);
  Operand landing(uint32_t block, uint32_t layer, Access access);
  Operand sum(uint32_t block, uint32_t layer, Access access);
  Operand partials(uint32_t block, uint64_t bytes, Access access);
  Operand coefficient(Access access);
  /// The label count's workspace; counts run one after the other.
  Operand countScratch();

private:
  uint32_t make(const std::string &name, Space space, uint64_t bytes);
  Operand single(const std::string &name, Space space, uint64_t bytes,
                 Access access);
  Operand copies(uint32_t block, uint32_t phase, Access access);

  const Model &model;
  Schedule &schedule;
  std::map<std::string, uint32_t> known;
};

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_TRANSFERS_H
