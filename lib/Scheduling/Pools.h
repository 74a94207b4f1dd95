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
// one slot at a time, each take waits for the last use of what it replaces.
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
  ActivationsDown = 3
};
constexpr uint32_t kPoolClasses = 4;

struct Pool {
  PoolClass cls = PoolClass::Parameters;
  uint64_t bytes = 0; ///< Of each instance: the largest of its values.
  uint32_t count = 0;
};

/// The class of a transferred value.
PoolClass poolClass(const StageValue &value);

struct PoolPlan {
  std::vector<Pool> pools;
  std::vector<std::vector<uint32_t>>
      starts; ///< By device, pool: the first instance that an iteration takes.
  bool mirrored = false; ///< Parameters, in odd iterations: the first value
                         ///< goes where the last one lies, and so on, since
                         ///< backward is done with the last one first.

  /// The pool of a value, or the number of pools if it has none.
  uint32_t find(PoolClass cls, uint64_t bytes) const;
  uint64_t totalBytes() const;
};

/// How slots follow one another: stage and device of each, in launch order.
struct SlotSequence {
  std::vector<uint32_t> stage;
  std::vector<uint32_t> device;
  std::vector<uint32_t> microBatches; ///< Their number.
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
