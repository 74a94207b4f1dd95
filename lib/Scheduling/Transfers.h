//===- Transfers.h - Builds one iteration -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_TRANSFERS_H
#define RONDO_LIB_SCHEDULING_TRANSFERS_H

#include "DeviceUpdates.h"
#include "Pools.h"
#include "rondo/Scheduling/Problems.h"
#include <map>
#include <optional>
#include <set>

namespace rondo::scheduling::detail {

/// What a buffer of host memory is for.
enum class HostUse : uint8_t {
  Value, ///< Handed from stage to stage.
  Input,
  Count,
  Seed,
  Loss,
  CountScratch,
  Copy,
  Master,
  Moment,
  Landing,
  Sum,
  Squares,
  Scale,
  Coefficient,
  Scalars,
};

/// Which buffer. Names are for people: two layers may have the same.
struct HostKey {
  HostUse use = HostUse::Value;
  ValueKey of = {};
  uint32_t round = 0, microBatch = 0;
  bool odd = false;
  auto operator<=>(const HostKey &) const = default;
};

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
  /// What exists once a micro-batch of the step: staged inputs (`input`),
  /// label counts, seeds, losses.
  Operand perStep(HostUse use, uint32_t input, uint64_t bytes, uint32_t round,
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
  /// What an update on devices reads beside the state.
  Operand scalars(uint32_t block, uint64_t bytes, Access access);
  /// The scale of this iteration's loss; what is written there is that of the
  /// next one that comes by.
  Operand lossScale(Access access);
  /// The label count's workspace; counts run one after the other.
  Operand countScratch();

private:
  /// Of optimizer state and sums of gradients: pinned where copies reach them.
  Space stateSpace() const {
    return model.updateOnDevice ? Space::Pinned : Space::Host;
  }
  uint32_t make(const HostKey &key, const std::string &name, Space space,
                uint64_t bytes);
  Operand single(const HostKey &key, const std::string &name, Space space,
                 uint64_t bytes, Access access);
  /// Two in turn by iteration.
  Operand both(HostKey key, const std::string &name, Space space,
               uint64_t bytes, uint32_t phase, Access access);
  Operand copies(uint32_t block, uint32_t phase, Access access);

  const Model &model;
  Schedule &schedule;
  std::map<HostKey, uint32_t> known;
};

enum Priority : int32_t { kActivations = 0, kParameters = 1, kGradients = 2 };

/// Builds the schedule of one iteration: device lanes in Transfers.cpp, host
/// lanes in HostSteps.cpp, state lanes in DeviceUpdates.cpp.
class IterationBuilder {
public:
  IterationBuilder(const TransferProblem &problem, Schedule &schedule)
      : model(problem.model), machine(problem.machine), plan(problem.plan),
        schedule(schedule), host(problem.model, schedule) {}

  Outcome run();

private:
  struct BlockState {
    std::set<uint32_t> gradientLayers; ///< Whose backward adds to its gradient.
    size_t lastSlot =
        0; ///< After which nothing of the iteration touches copy or gradient.
    size_t firstSlot = SIZE_MAX; ///< That uploads it.
  };

  Outcome shapeStages();
  void makePools();
  void makeLocals();
  void findBlocks();

  Op &emit(OpKind kind, LaneKind lane, std::string name);
  Operand take(const StageValue &value, uint32_t device, Access access);
  void emitInputs();
  void emitParameterUpload(size_t slot, uint32_t value);
  void emitNextParameters(size_t slot, std::optional<uint32_t> position);
  void emitZero(size_t slot, uint32_t value);
  void emitSlot(size_t slot);
  void emitMicroBatch(size_t slot, uint32_t position);
  void emitValueUpload(size_t slot, uint32_t value, uint32_t microBatch);
  void emitValueDownload(size_t slot, uint32_t value, uint32_t microBatch);
  void emitLaunch(size_t slot, uint32_t launch, uint32_t microBatch);
  void emitGradientDownload(size_t slot, uint32_t value);
  void emitGradientRounding(size_t slot, uint32_t value);
  void emitUpdates(size_t slot);
  void emitOptimizer(uint32_t block);
  void emitLoss();
  // DeviceUpdates.cpp: updates on devices.
  void makeStateBuffers();
  void emitDeviceUpdates(uint32_t block);
  void emitPiece(uint32_t block, const StatePiece &piece,
                 const std::string &name);
  Operand stateOperand(const std::string &what, uint32_t instance,
                       uint64_t bytes, Access access) const;
  /// Whether the block's gradients are added up beside where they land.
  bool sumsApart(uint32_t block) const {
    return model.rounds > 1 ||
           (model.roundGradients && blocks[block].gradientLayers.size() > 1);
  }
  /// The block's whole gradient: of all uses and rounds.
  Operand gradientOf(uint32_t block, Access access);
  /// One partial sum a trainable parameter of the block.
  uint64_t squaresBytes(uint32_t block) const;
  /// ns to stream the op's operands through host memory.
  double hostTime(const Op &op) const;

  uint32_t microBatchOf(size_t slot, uint32_t position) const {
    return plan.slots[slot].microBatches[position];
  }
  std::string suffix(size_t slot, int64_t microBatch = -1) const;

  const Model &model;
  const Machine &machine;
  const Plan &plan;
  Schedule &schedule;
  HostBuffers host;
  std::vector<StageShape> shapes;
  std::vector<std::vector<uint32_t>>
      parameterValues; ///< By stage, in order of first use.
  PoolPlan pools;
  std::vector<bool> resident;       ///< By slot: its parameters are there.
  std::vector<uint32_t> poolBuffer; ///< First buffer of each pool.
  std::vector<std::vector<Cursor>> cursors[2]; ///< By the iteration's parity,
                                               ///< device, pool.
  std::vector<std::vector<uint32_t>> localBuffers; ///< By stage, value.
  std::vector<std::map<uint32_t, Operand>>
      held; ///< By slot: the instance of each value now.
  std::vector<BlockState> blocks;
  size_t lossSlot = 0; ///< The last fused one.
  /// For updates on devices: buffers by what they hold, sets of them taken in
  /// turn, and what each device has had.
  std::map<std::string, std::vector<uint32_t>> stateBuffers;
  uint32_t stateInstances = 0;
  std::vector<uint64_t> stateBytes;
  std::vector<uint32_t> stateTaken;
};

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_TRANSFERS_H
