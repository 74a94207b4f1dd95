//===- Problems.h - The planner's problem objects ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each problem has check() (is the input well formed?), solve(), and verify()
// (is the answer right?), which shares no code with solve() and always runs.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULING_PROBLEMS_H
#define RONDO_SCHEDULING_PROBLEMS_H

#include "rondo/Scheduling/Plan.h"
#include "rondo/Scheduling/Schedule.h"
#include <optional>

namespace rondo::scheduling {

/// Cuts the layers into asymmetric stages under the device's memory.
struct PartitionProblem {
  const Model &model;
  const Machine &machine;
  SaveSet keep = SaveSet::Input; ///< --recompute: full -> Input, elementwise ->
                                 ///< Products, none -> All.
  SaveSet save = SaveSet::All;
  uint64_t deviceLimit =
      0; ///< Bytes for slot buffers on a device (two slots are resident: the
         ///< running one and the prefetched next); 0: none.
  bool rotate =
      true; ///< As SlotProblem::rotate will be: which slots meet on a device.
  Outcome check() const;
  Outcome solve(Plan &plan) const; ///< Fills stages, keep, save, reason.
  /// The objective: ns an iteration of these stages (steady state with
  /// staleness 1), by a coarse model of slots and micro-batches that knows
  /// nothing of pools. Needs stages, keep and save.
  double predict(const Plan &plan) const;
  Outcome verify(const Plan &plan) const;
};

/// Deals the slots of all rounds to devices, round robin with carry-over.
struct SlotProblem {
  const Model &model;
  uint32_t devices = 1;
  bool rotate = true; ///< False: the offset is reset each iteration.
  Outcome check(const Plan &plan) const;
  Outcome solve(Plan &plan) const; ///< Fills slots, rotation.
  Outcome verify(const Plan &plan) const;
};

/// Every transfer, launch and host step of one iteration on its lane, with
/// buffers taken from pools.
struct TransferProblem {
  const Model &model;
  const Machine &machine;
  const Plan &plan;
  Outcome check() const;
  Outcome solve(Schedule &schedule) const;
  Outcome verify(const Schedule &schedule)
      const; ///< Replays the iteration on symbolic values: every launch reads
             ///< what its layer needs.
};

/// Exactly the waits that lane order and other waits do not imply.
struct FenceProblem {
  Outcome check(const Schedule &schedule) const;
  Outcome solve(Schedule &schedule) const;
  /// Proves on physical devices over the unrolled cycle that every two
  /// conflicting accesses are ordered, and that no wait is redundant; names
  /// both operations otherwise. Uses byte ranges once offsets are known, else
  /// buffers.
  Outcome verify(const Schedule &schedule) const;
};

/// Offsets of every buffer in its arena.
struct MemoryProblem {
  uint64_t deviceLimit = 0; ///< 0: none.
  uint64_t hostLimit = 0;
  Outcome check(const Schedule &schedule) const;
  Outcome solve(Schedule &schedule) const;
  Outcome verify(const Schedule &schedule)
      const; ///< Bounds, alignment, and that every read finds its own buffer's
             ///< last value.
};

/// Predicted times of a fenced schedule.
struct Simulation {
  double iteration = 0; ///< ns in steady state (slope over the cycle).
  double first = 0;     ///< ns, the first iteration alone.
  double bubble = 0;    ///< 1 - busy compute / (devices * iteration).
  std::vector<double>
      laneBusy; ///< ns an iteration by lane (device lanes first).
  uint64_t uploaded = 0, downloaded = 0; ///< Bytes an iteration, all devices.
};
Simulation
simulate(Schedule &schedule,
         uint32_t iterations); ///< Also fills each op's start (of iteration 0).

/// Duration of an op on a machine, ns (filled by TransferProblem).
double predictCopy(const Machine &machine, bool up, uint64_t bytes);

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_PROBLEMS_H
