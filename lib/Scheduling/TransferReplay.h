//===- TransferReplay.h - A schedule, replayed on symbols -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares no code with the solver. The schedule is replayed in issue order on
// physical buffers that hold symbols: "boundary value 1 of layer 7, step 3,
// round 0, micro-batch 2", "parameters of block 4 after 2 updates", "the sum of
// rounds 0 to 1 of ...". Each op must find the symbols that the model says it
// needs; if the step's loss and every update do, so did all before them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_TRANSFERREPLAY_H
#define RONDO_LIB_SCHEDULING_TRANSFERREPLAY_H

#include "Support.h"
#include <map>

namespace rondo::scheduling::detail {

enum class Kind : uint8_t {
  Nothing,
  Input,
  Count,
  Seed,
  Loss,
  Boundary,
  Saved,
  Cotangent,
  Parameters, ///< a: block; step: updates applied.
  Partial,    ///< Gradient of block a by layer b in one round; count:
              ///< micro-batches added; set: 1 once it is rounded.
  Sum,        ///< Gradient of block a by layer b; count: rounds added.
  Total,      ///< Gradient of block a; count: uses added.
  Moments,
  Squares,
  Coefficient,
  Scale, ///< step: of the iteration whose loss it scales.
  Scalars,
};

struct Symbol {
  Kind kind = Kind::Nothing;
  uint32_t a = 0, b = 0, set = 0;
  uint64_t step = 0;
  uint32_t round = 0, microBatch = 0, count = 0;
  bool operator==(const Symbol &) const = default;
};

/// Bytes of a block's state, as the upload copy or as the gradient lays it out.
struct StateRange {
  uint64_t offset = 0, bytes = 0;
  bool asUploaded = false;
};

struct Entry {
  const EntryCost *cost = nullptr;
  uint32_t set = 0;
};

class Replay {
public:
  Replay(const TransferProblem &problem, const Schedule &schedule)
      : model(problem.model), plan(problem.plan), schedule(schedule),
        contents(schedule.buffers.size() * schedule.devices) {}
  Outcome run();

private:
  /// What an operand must be.
  struct Form {
    uint64_t bytes = 0;
    Access access = Access::Read;
    uint64_t offset = 0;
  };

  bool prepare();
  bool initialize();
  void complain(const Op &op, const std::string &problem) {
    outcome.ok = false;
    // One slip spoils all that follows from it: the first few tell.
    if (outcome.messages.size() < 10)
      outcome.messages.push_back("'" + op.name + "' of iteration " +
                                 std::to_string(step) + " " + problem);
  }
  Symbol &at(const Op &op, size_t operand) {
    const Operand &o = op.operands[operand];
    uint32_t buffer = o.buffers[(step + o.phase) % o.buffers.size()];
    bool device = schedule.buffers[buffer].space == Space::Device;
    return contents[buffer * (size_t)schedule.devices +
                    (device ? schedule.physicalDevice(op.device, step) : 0)];
  }
  bool expect(const Op &op, size_t operand, const Symbol &wanted);
  Symbol ofBatch(Kind kind, const Op &op, uint32_t a = 0, uint32_t b = 0,
                 uint32_t set = 0) const {
    return {kind, a, b, set, step, (uint32_t)op.round, (uint32_t)op.microBatch,
            0};
  }
  Entry findEntry(const Op &op) const;
  uint32_t batchesOf(uint32_t round, uint32_t layer) const;
  bool fieldsAreValid(const Op &op) const;
  std::vector<Form> formOf(const Op &op) const;
  std::vector<Form> formOf(const Op &op, const Entry &entry) const;
  uint64_t squaresBytes(size_t block) const;
  /// 8 f32 where squares have one double.
  uint64_t scalarBytes(size_t block) const { return 4 * squaresBytes(block); }
  static bool isOfState(const Op &op) {
    return op.lane == LaneKind::StateUp || op.lane == LaneKind::StateDown;
  }
  void checkForm(const Op &op, const std::vector<Form> &form);
  bool checkRange(const Op &op, size_t operand, uint64_t offset,
                  uint64_t bytes);
  void checkSlot(const Op &op);
  void checkTwins();
  void begin(const Op &op, size_t operand, Symbol symbol);
  uint64_t bytesOf(const Symbol &symbol) const;
  bool checkTags(const Op &op, const Symbol &symbol);
  std::string text(const Symbol &symbol) const;

  void copy(const Op &op);
  void launch(const Op &op, const Entry &entry);
  void accumulate(const Op &op);
  void norm(const Op &op);
  void clip(const Op &op);
  void optimize(const Op &op);
  /// The block's whole gradient: of all uses, rounds and micro-batches.
  Symbol wholeGradient(uint32_t block) const;
  // DeviceUpdateReplay.cpp
  void checkWhereUpdated(const Op &op);
  void checkStateCopies();
  void beginState();
  void copyState(const Op &op);
  void makeScalars(const Op &op);
  void updatePiece(const Op &op);
  void settle(const Op &op, uint32_t buffer, const StateRange &range);
  uint32_t bufferOf(const Op &op, size_t operand) const {
    const Operand &o = op.operands[operand];
    return o.buffers[(step + o.phase) % o.buffers.size()];
  }
  StateRange &rangeAt(const Op &op, size_t operand) {
    return ranges[&at(op, operand) - contents.data()];
  }
  void joinBatches(const Op &op);
  void play(const Op &op, size_t index);

  const Model &model;
  const Plan &plan;
  const Schedule &schedule;
  std::vector<Symbol> contents; ///< By buffer, device.
  /// Of state on devices: which part of the block's it is.
  std::map<ptrdiff_t, StateRange> ranges;
  /// By buffer of the host, then by offset: what is newer there than the rest.
  std::map<uint32_t, std::map<uint64_t, std::pair<uint64_t, Symbol>>> parts;
  std::vector<Entry> entries; ///< Of launches.
  std::vector<std::vector<uint32_t>>
      uses; ///< By block: the layers whose use of it trains.
  std::vector<uint32_t> updates, norms; ///< By block, in this iteration.
  uint32_t losses = 0;
  uint64_t step = 0;
  Outcome outcome;
};

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_TRANSFERREPLAY_H
