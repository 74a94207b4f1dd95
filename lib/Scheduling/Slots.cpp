//===- Slots.cpp - Deals slots to devices ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Scheduling/Problems.h"

using namespace rondo::scheduling;

Outcome SlotProblem::check(const Plan &plan) const {
  if (devices == 0)
    return Outcome::failure("slots need at least one device");
  if (plan.stages.empty())
    return Outcome::failure("the plan has no stages");
  if (model.rounds == 0 || model.microBatches == 0)
    return Outcome::failure(
        "a step needs at least one micro-batch and one round");
  return Outcome::success();
}

Outcome SlotProblem::solve(Plan &plan) const {
  if (Outcome outcome = check(plan); !outcome)
    return outcome;
  plan.slots.clear();
  for (uint32_t round = 0; round < model.rounds; ++round)
    for (uint32_t stage = 0; stage < plan.stages.size(); ++stage) {
      Slot slot;
      slot.stage = stage;
      slot.round = round;
      slot.device = (uint32_t)(plan.slots.size() % devices);
      for (uint32_t m = 0; m < model.microBatches; ++m)
        slot.microBatches.push_back(m);
      plan.slots.push_back(std::move(slot));
    }
  plan.rotation = rotate ? (uint32_t)(plan.slots.size() % devices) : 0;
  return Outcome::success();
}

Outcome SlotProblem::verify(const Plan &plan) const {
  Outcome outcome = check(plan);
  auto complain = [&](std::string message) {
    outcome.ok = false;
    outcome.messages.push_back(std::move(message));
  };
  if (!outcome)
    return outcome;
  size_t expected = plan.stages.size() * model.rounds;
  if (plan.slots.size() != expected) {
    complain("a step has " + std::to_string(plan.slots.size()) +
             " slots, but " + std::to_string(plan.stages.size()) +
             " stages in " + std::to_string(model.rounds) + " rounds make " +
             std::to_string(expected));
    return outcome;
  }
  uint32_t cursor = 0; // the device that is next in turn
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot &slot = plan.slots[i];
    std::string name = "slot " + std::to_string(i);
    if (slot.round * plan.stages.size() + slot.stage != i)
      complain(name + " is stage " + std::to_string(slot.stage) + " of round " +
               std::to_string(slot.round) +
               ": slots must go through the stages round by round");
    if (slot.device != cursor)
      complain(name + " is on device " + std::to_string(slot.device) +
               ", but the next in turn is " + std::to_string(cursor));
    cursor = cursor + 1 == devices ? 0 : cursor + 1;
    bool all = slot.microBatches.size() == model.microBatches;
    for (size_t m = 0; all && m < slot.microBatches.size(); ++m)
      all = slot.microBatches[m] == m;
    if (!all)
      complain(name + " does not run the round's " +
               std::to_string(model.microBatches) + " micro-batches in order");
  }
  uint32_t wanted = rotate ? cursor : 0;
  if (plan.rotation != wanted)
    complain("the offset moves by " + std::to_string(plan.rotation) +
             " devices an iteration, but should by " + std::to_string(wanted));
  return outcome;
}
