//===- SlotTest.cpp - Slots are dealt round robin -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include <gtest/gtest.h>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

namespace {

Plan planOf(uint32_t stages) {
  Plan plan;
  plan.stages.resize(stages);
  return plan;
}

std::vector<uint32_t> devicesOf(const Plan &plan) {
  std::vector<uint32_t> devices;
  for (const Slot &slot : plan.slots)
    devices.push_back(slot.device);
  return devices;
}

} // namespace

TEST(Slots, CarriesTheOffsetOverRoundsAndIterations) {
  Model model = chainModel(3, 2, 2);
  Plan plan = planOf(5);
  SlotProblem problem{model, 3};
  ASSERT_TRUE(problem.solve(plan));
  EXPECT_EQ(devicesOf(plan),
            (std::vector<uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(plan.rotation, 1u);
  EXPECT_EQ(plan.slots[7].round, 1u);
  EXPECT_EQ(plan.slots[7].stage, 2u);
  EXPECT_EQ(plan.slots[7].microBatches, (std::vector<uint32_t>{0, 1}));
  EXPECT_TRUE(problem.verify(plan));
}

TEST(Slots, ResetsTheOffsetOnWish) {
  Model model = chainModel(3, 2, 2);
  Plan plan = planOf(5);
  SlotProblem problem{model, 3, false};
  ASSERT_TRUE(problem.solve(plan));
  // It still advances over rounds.
  EXPECT_EQ(plan.slots[5].device, 2u);
  EXPECT_EQ(plan.rotation, 0u);
  EXPECT_TRUE(problem.verify(plan));
}

TEST(Slots, OneSlotARoundWhenAllIsFused) {
  Model model = chainModel(3, 2, 3);
  Plan plan = planOf(1);
  SlotProblem problem{model, 2};
  ASSERT_TRUE(problem.solve(plan));
  EXPECT_EQ(devicesOf(plan), (std::vector<uint32_t>{0, 1, 0}));
  EXPECT_EQ(plan.rotation, 1u);
}

TEST(Slots, VerifierNamesWhatIsWrong) {
  Model model = chainModel(3, 2, 2);
  Plan good = planOf(3);
  SlotProblem problem{model, 2};
  ASSERT_TRUE(problem.solve(good));
  Plan plan = good;
  plan.slots[3].device = 0;
  EXPECT_EQ(join(problem.verify(plan)),
            "slot 3 is on device 0, but the next in turn is 1\n");
  plan = good;
  plan.slots[1].microBatches = {1, 0};
  EXPECT_EQ(join(problem.verify(plan)),
            "slot 1 does not run the round's 2 micro-batches in order\n");
  plan = good;
  std::swap(plan.slots[1].stage, plan.slots[2].stage);
  EXPECT_EQ(join(problem.verify(plan)),
            "slot 1 is stage 2 of round 0: slots must go through the stages "
            "round by round\n"
            "slot 2 is stage 1 of round 0: slots must go through the stages "
            "round by round\n");
  plan = good;
  plan.slots.pop_back();
  EXPECT_EQ(join(problem.verify(plan)),
            "a step has 5 slots, but 3 stages in 2 rounds make 6\n");
  plan = good;
  plan.rotation = 1;
  EXPECT_EQ(join(problem.verify(plan)),
            "the offset moves by 1 devices an iteration, but should by 0\n");
}

TEST(Slots, ChecksItsInput) {
  Model model = chainModel(3);
  Plan plan;
  EXPECT_EQ(join(SlotProblem{model, 2}.solve(plan)),
            "the plan has no stages\n");
  EXPECT_EQ(join(SlotProblem{model, 0}.solve(plan)),
            "slots need at least one device\n");
}
