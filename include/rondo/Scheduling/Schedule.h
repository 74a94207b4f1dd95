//===- Schedule.h - When, and what moves ------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One iteration as a list of operations on lanes, in one global topological
// order (the issue order), with the buffers they touch. The same structure
// holds the `transfers` (no waits), `fences` (waits) and `memory` (offsets)
// phases and is what the verifier, the simulator, the emitter and `sched` IR
// share.
//
// Iteration t: logical device d is physical device (d + t * rotation) mod
// devices; an operand with several buffers uses buffers[(t + phase) mod
// buffers.size()].
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULING_SCHEDULE_H
#define RONDO_SCHEDULING_SCHEDULE_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::scheduling {

enum class Space : uint8_t { Device = 0, Pinned = 1, Host = 2 };

enum class LaneKind : uint8_t {
  Compute = 0,
  ParameterUp = 1,
  GradientDown = 2,
  ActivationUp = 3,
  ActivationDown = 4,
  Update = 5,
  Staging = 6, // these two once on the host, the others once per device
  StateUp = 7, ///< Optimizer state to a device, and the updates there.
  StateDown = 8,
};
constexpr uint32_t kDeviceLanes = 7;
constexpr uint32_t kHostLanes = 2;
inline bool isHostLane(LaneKind lane) {
  return lane == LaneKind::Update || lane == LaneKind::Staging;
}
/// Its place among a device's lanes, or the host's.
inline uint32_t laneIndex(LaneKind lane) {
  auto number = (uint32_t)lane, host = (uint32_t)LaneKind::Update;
  return isHostLane(lane) ? number - host
         : number < host  ? number
                          : number - kHostLanes;
}

enum class OpKind : uint8_t {
  Upload = 0,   ///< operands: source (pinned), destination (device).
  Download = 1, ///< operands: source (device), destination (pinned).
  PeerCopy = 2,
  Launch = 3,      ///< An entry on the compute lane; operands in the entry's
                   ///< argument order, then its scratch (if any bytes).
  Zero = 4,        ///< Compute lane; operand: what to fill with zeros.
  StageInput = 5,  ///< Staging lane; copies a micro-batch's rows of model input
                   ///< `input` to the operand (pinned).
  CountLabels = 6, ///< Staging lane; runs the label-count entry on staged
                   ///< inputs; operands: inputs..., count (pinned f32), then
                   ///< its workspace if it needs any.
  Seed =
      7, ///< Staging lane; operands: counts of all the step's micro-batches...
         ///< (if any), then every micro-batch's gradient seed (pinned f32),
         ///< then the loss scale (read, if the model has one).
  Loss = 8, ///< Staging lane; operands: each micro-batch's loss (pinned
            ///< f32)..., then counts as in Seed if any: joins the step's loss.
  Accumulate = 9, ///< Update lane; operands: sum (read unless `first`,
                  ///< written), addend (f32, or bf16 of half the bytes).
  Norm = 10, ///< Update lane; operands: gradient of `block` read, partial sums
             ///< written: squares in double, one a trainable parameter, in
             ///< order of gradient offset.
  Clip = 11, ///< Update lane; operands: partial sums..., loss scale (if the
             ///< model has one; written: that of the next iteration, or the
             ///< next but one with staleness 1), coefficient: min(1, max /
             ///< (norm + 1e-6)), of unscaled gradients.
  Optimizer = 12, ///< Update lane; operands: gradient (read), coefficient
                  ///< (read, if clipping), master read, master written,
                  ///< moments..., upload copy written (unless the master is).
  Round = 13, ///< Compute lane; operand: a gradient of f32, which becomes bf16
              ///< in the first half of its bytes.
  UpdateScalars =
      14, ///< Update lane; operands: gradient of `block` (read), coefficient
          ///< (read, if clipping), scalars written (pinned): what the
          ///< optimizer's kernel reads, 8 f32 for each trainable parameter of
          ///< the block in order of gradient offset. Comes after Loss.
  DeviceUpdate =
      15, ///< StateUp lane; operands on the device: gradient (read), master
          ///< (both), moments (both)..., upload copy written (unless the
          ///< master is), scalars (read). A piece of `block`, from byte
          ///< `piece` of its gradient on. Uploads of gradient, master,
          ///< moments..., scalars come right before it, downloads of master,
          ///< moments..., upload copy right after, in these orders.
};

enum class Access : uint8_t { Read = 1, Write = 2, ReadWrite = 3 };

/// A buffer. One of Space::Device exists on every device, at the same offset:
/// the device of the op that touches it says which one is meant (so the arenas
/// of all devices are alike, and `device` is always -1).
struct Buffer {
  std::string name;
  Space space = Space::Device;
  int32_t device = -1;
  uint64_t bytes = 0;
  bool computeOnly =
      false;         ///< Touched by one compute lane alone: packed by lifetime.
  int32_t slot = -1; ///< For computeOnly: the first slot of its stage (the
                     ///< stage's other rounds and micro-batches use it again).
  int64_t offset =
      -1; ///< In its arena; -1 before the memory phase. Multiples of 256.
};

struct Operand {
  std::vector<uint32_t>
      buffers; ///< One, or several taken in turn by iteration.
  uint32_t phase = 0;
  uint64_t offset = 0; ///< Bytes within the buffer.
  uint64_t bytes = 0;
  Access access = Access::Read;
};

/// "Operation `op` of iteration t - distance is complete."
struct Wait {
  uint32_t op = 0;
  uint32_t distance = 0;
  bool operator==(const Wait &) const = default;
};

struct Op {
  OpKind kind = OpKind::Launch;
  LaneKind lane = LaneKind::Compute;
  int32_t device = -1; ///< Logical device; -1 on host lanes.
  std::vector<Operand> operands;
  std::vector<Wait> waits; ///< Filled by `fences`.
  std::string entry;       ///< Launch, CountLabels: "body::entry".
  std::string name;        ///< For people: "upload model.layers.3", "forward
                           ///< model.layers.3 mb 2".
  int32_t layer = -1, slot = -1, round = -1, microBatch = -1, block = -1,
          input = -1;
  int32_t priority = 0; ///< Activations before parameters before gradients:
                        ///< lower goes first when pacing.
  bool first = false;   ///< Accumulate: overwrite.
  uint64_t piece = 0;   ///< DeviceUpdate: where in the block's gradient, bytes.
  double start = 0, duration = 0; ///< ns, predicted (first iteration, steady
                                  ///< state is in the report).
};

struct Schedule {
  std::string name;
  uint32_t devices = 1;
  uint32_t rotation = 0;
  uint32_t period = 1; ///< P: iterations after which all maps repeat.
  std::vector<Buffer> buffers;
  std::vector<Op> ops;                ///< In issue order.
  uint64_t arenaBytes[3] = {0, 0, 0}; ///< By Space; Device: each device's.

  uint32_t physicalDevice(int32_t device, uint64_t iteration) const {
    return (uint32_t)(((uint64_t)device + iteration % devices * rotation) %
                      devices);
  }
};

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_SCHEDULE_H
