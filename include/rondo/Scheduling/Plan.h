//===- Plan.h - Stages and slots --------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULING_PLAN_H
#define RONDO_SCHEDULING_PLAN_H

#include "rondo/Scheduling/Model.h"
#include <compare>
#include <string>
#include <vector>

namespace rondo::scheduling {

enum class StageKind : uint8_t { Forward = 0, Fused = 1, Backward = 2 };

/// A run of layers [begin, end) in one direction. A fused stage runs forward,
/// loss and backward.
struct Stage {
  StageKind kind = StageKind::Forward;
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t rebuilt = 0; ///< Fused: of so many layers, from the first that has a
                        ///< backward, what backward reads is rebuilt before it
                        ///< and not held since forward. Saves memory.
  double time = 0;      ///< ns, one micro-batch.
  double flops = 0;     ///< One micro-batch.
  uint64_t parameterBytes = 0; ///< Uploaded once a slot.
  uint64_t gradientBytes = 0;  ///< Downloaded once a slot.
  uint64_t deviceBytes = 0;    ///< Everything the slot needs at once on its
                               ///< device, without the next slot's prefetch.
};

/// (stage, round, micro-batches) on a logical device. `device` is that of
/// iteration 0; iteration t uses (device + t * rotation) mod devices.
struct Slot {
  uint32_t stage = 0;
  uint32_t round = 0;
  uint32_t device = 0;
  std::vector<uint32_t> microBatches;
};

/// For how many slots in a row a device has buffers of parameters and of
/// gradients: 2, and the next slot's uploads (the last one's downloads) run
/// beside this one's launches; or 1, and a buffer's next copy waits for the
/// launches that use it. A slot after one of the same stage in one iteration
/// finds its parameters where they are.
struct SlotBuffers {
  uint32_t parameters = 2;
  uint32_t gradients = 2;
  auto operator<=>(const SlotBuffers &) const = default;
};

/// Asymmetric stages (RoundPipe, arXiv 2604.27085, section 3) in execution
/// order: forward stages from layer 0, one fused tail, backward stages from the
/// tail to layer 0; and the slots in launch order.
struct Plan {
  std::vector<Stage> stages;
  std::vector<Slot> slots;
  uint32_t rotation = 0;
  SlotBuffers buffers;
  std::vector<SaveSet> keep; ///< K per layer: what a forward stage keeps (in
                             ///< host memory). Fused layers keep on the device.
  std::vector<SaveSet> save; ///< S per layer: what its backward reads.
  std::string reason;        ///< The plan in words: what bound it.
};

/// A problem's outcome: `ok`, or why not, with the numbers and what to change.
struct Outcome {
  bool ok = true;
  bool infeasible = false; ///< True: valid input, but nothing fits (exit code
                           ///< 3). False: a malformed problem.
  std::vector<std::string> messages;
  static Outcome success() { return {}; }
  static Outcome failure(std::string message) {
    return {false, false, {std::move(message)}};
  }
  explicit operator bool() const { return ok; }
};

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_PLAN_H
