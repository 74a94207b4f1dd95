//===- TestChain.h - Runs the planner's problems in order -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_SCHEDULING_TESTCHAIN_H
#define RONDO_UNITTESTS_SCHEDULING_TESTCHAIN_H

#include "TestModels.h"

namespace rondo::scheduling::testing {

struct ChainOptions {
  uint32_t devices = 1;
  SaveSet keep = SaveSet::Input, save = SaveSet::All;
  uint64_t deviceLimit = 0;
  bool rotate = true;
};

struct ChainResult {
  Outcome outcome;
  std::string failedAt;
  Plan plan;
  Schedule schedule;
  Simulation simulation;
};

inline std::string join(const Outcome &outcome) {
  std::string text;
  for (const std::string &message : outcome.messages)
    text += message + "\n";
  return text;
}

/// Everything after the stages: with `result.plan.stages`, keep and save given.
inline void runFromStages(const Model &model, const ChainOptions &options,
                          ChainResult &result) {
  Machine machine = testMachine(options.devices);
  auto step = [&](const char *name, Outcome outcome) {
    if (result.outcome && !outcome) {
      result.outcome = std::move(outcome);
      result.failedAt = name;
    }
    return (bool)result.outcome;
  };
  SlotProblem slots{model, options.devices, options.rotate};
  if (!step("slots", slots.solve(result.plan)) ||
      !step("slots verify", slots.verify(result.plan)))
    return;
  TransferProblem transfers{model, machine, result.plan};
  if (!step("transfers", transfers.solve(result.schedule)) ||
      !step("transfers verify", transfers.verify(result.schedule)))
    return;
  FenceProblem fences;
  if (!step("fences", fences.solve(result.schedule)) ||
      !step("fences verify", fences.verify(result.schedule)))
    return;
  MemoryProblem memory{options.deviceLimit, 0};
  if (!step("memory", memory.solve(result.schedule)) ||
      !step("memory verify", memory.verify(result.schedule)))
    return;
  if (!step("fences verify on bytes", fences.verify(result.schedule)))
    return;
  result.simulation = simulate(result.schedule, 4 * result.schedule.period + 4);
}

inline ChainResult runChain(const Model &model, const ChainOptions &options) {
  ChainResult result;
  Machine machine = testMachine(options.devices);
  PartitionProblem partition{
      model,         machine, options.keep, options.save, options.deviceLimit,
      options.rotate};
  result.outcome = partition.solve(result.plan);
  result.failedAt = "partition";
  if (!result.outcome)
    return result;
  result.outcome = partition.verify(result.plan);
  result.failedAt = "partition verify";
  if (!result.outcome)
    return result;
  result.failedAt.clear();
  runFromStages(model, options, result);
  return result;
}

} // namespace rondo::scheduling::testing

#endif // RONDO_UNITTESTS_SCHEDULING_TESTCHAIN_H
