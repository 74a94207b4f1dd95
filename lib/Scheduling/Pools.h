//===- Pools.h - Device buffers that transfers share in turn ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever a copy lane touches on a device lies in a pool: instances of one
// size, taken in turn. A slot's (or micro-batch's) takes and those of the one
// before it are always different instances, which is what lets a copy run ahead
// of the launches; the next take after that waits. Where a plan has buffers for
// one slot at a time, each take waits for the last use of what it replaces, so
// takes go in the order in which backward sets instances free: from the last
// one down after a fused slot, and up again after the next.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_POOLS_H
#define RONDO_LIB_SCHEDULING_POOLS_H

#include "StageShape.h"

namespace rondo::scheduling::detail {

enum class PoolClass : uint8_t {
  Parameters = 0,
  Gradients = 1,
  ActivationsUp = 2,
  ActivationsDown = 3,
  SharedParameters = 4, ///< Of several layers, where Parameters have buffers
                        ///< for one slot: these have them for two, else all
                        ///< uploads behind theirs waited for the slot's end.
};
constexpr uint32_t kPoolClasses = 5;

struct Pool {
  PoolClass cls = PoolClass::Parameters;
  uint64_t bytes = 0; ///< Of each instance: the largest of its values.
  uint32_t count = 0;
};

/// The class of a transferred value.
PoolClass poolClass(const StageValue &value, const SlotBuffers &buffers);

/// Where a device goes on taking instances of a pool.
struct Cursor {
  uint32_t next = 0; ///< Of the pool's instances.
  bool down = false; ///< `next` was taken last: it goes on below.
  auto operator<=>(const Cursor &) const = default;

  uint32_t take(uint32_t count) {
    uint32_t above = (next + 1) % count, below = (next + count - 1) % count;
    uint32_t taken = down ? below : next;
    next = down ? below : above;
    return taken;
  }
};

struct PoolPlan {
  std::vector<Pool> pools;
  SlotBuffers buffers;
  /// By parity of the iteration, device and pool.
  std::vector<std::vector<Cursor>> starts[2];

  /// The pool of a value, or the number of pools if it has none.
  uint32_t find(const StageValue &value) const;
  /// Whether takes turn around behind a fused slot that uploaded parameters.
  bool turns(uint32_t pool) const {
    return buffers.parameters == 1 && pools[pool].cls == PoolClass::Parameters;
  }
  uint64_t totalBytes() const;
};

/// How slots follow one another: stage and device of each, in launch order.
struct SlotSequence {
  std::vector<uint32_t> stage;
  std::vector<uint32_t> device;
  std::vector<uint32_t> microBatches; ///< Their number.
  uint32_t fused = 0;                 ///< The fused stage.
  SlotBuffers buffers;
  uint32_t devices = 1;
  uint32_t rotation = 0;
  bool wraps = false; ///< An iteration's first slots run ahead of the last ones
                      ///< of the iteration before.
};

/// Slots that find their parameters on the device: those whose stage is that of
/// the slot before on their device, in the same iteration.
std::vector<bool> findResident(const SlotSequence &slots);

PoolPlan planPools(const std::vector<StageShape> &shapes,
                   const SlotSequence &slots);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_POOLS_H
