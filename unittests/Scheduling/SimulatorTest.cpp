//===- SimulatorTest.cpp - Times worked out by hand -----------------------===//
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

Op op(OpKind kind, LaneKind lane, double duration,
      std::vector<Wait> waits = {}) {
  Op result;
  result.kind = kind;
  result.lane = lane;
  result.device = isHostLane(lane) ? -1 : 0;
  result.duration = duration;
  result.waits = std::move(waits);
  if (kind == OpKind::Upload || kind == OpKind::Download)
    result.operands = {{{0}, 0, 0, 64, Access::Read},
                       {{1}, 0, 0, 64, Access::Write}};
  return result;
}

} // namespace

TEST(Simulator, OverlapsLanes) {
  // Upload 10, run 30, download 5; double buffered: the launch lane is always
  // busy.
  Schedule schedule;
  schedule.ops = {op(OpKind::Upload, LaneKind::ActivationUp, 10, {{1, 2}}),
                  op(OpKind::Launch, LaneKind::Compute, 30, {{0, 0}, {2, 2}}),
                  op(OpKind::Download, LaneKind::ActivationDown, 5, {{1, 0}})};
  Simulation result = simulate(schedule, 12);
  EXPECT_DOUBLE_EQ(result.first, 45);
  EXPECT_DOUBLE_EQ(result.iteration, 30);
  EXPECT_DOUBLE_EQ(result.bubble, 0);
  EXPECT_EQ(result.uploaded, 64u);
  EXPECT_EQ(result.downloaded, 64u);
  EXPECT_DOUBLE_EQ(schedule.ops[1].start, 10);
  EXPECT_DOUBLE_EQ(schedule.ops[2].start, 40);
  EXPECT_DOUBLE_EQ(result.laneBusy[(size_t)LaneKind::Compute], 30);
  EXPECT_DOUBLE_EQ(result.laneBusy[(size_t)LaneKind::ActivationUp], 10);
}

TEST(Simulator, ExposesWhatWaits) {
  // One buffer: the next upload waits for the launch.
  Schedule schedule;
  schedule.ops = {op(OpKind::Upload, LaneKind::ActivationUp, 10, {{1, 1}}),
                  op(OpKind::Launch, LaneKind::Compute, 30, {{0, 0}})};
  Simulation result = simulate(schedule, 12);
  EXPECT_DOUBLE_EQ(result.iteration, 40);
  EXPECT_DOUBLE_EQ(result.bubble, 0.25);
}

TEST(Simulator, RotatesDevices) {
  // Each iteration on the other device: two iterations in the time of one.
  Schedule schedule;
  schedule.devices = 2;
  schedule.rotation = 1;
  schedule.period = 2;
  schedule.ops = {op(OpKind::Launch, LaneKind::Compute, 30)};
  Simulation result = simulate(schedule, 12);
  EXPECT_DOUBLE_EQ(result.iteration, 15);
  EXPECT_DOUBLE_EQ(result.bubble, 0);
  EXPECT_DOUBLE_EQ(result.laneBusy[0], 15);
  EXPECT_DOUBLE_EQ(result.laneBusy[kDeviceLanes], 15);
}

TEST(Simulator, HidesTransfersOfALongChain) {
  // Four devices, eight micro-batches a round, staleness 1: nearly no bubble.
  ChainOptions options;
  options.devices = 4;
  ChainResult result = runChain(chainModel(16, 8, 1, 1), options);
  ASSERT_TRUE(result.outcome) << join(result.outcome);
  EXPECT_LT(result.simulation.bubble, 0.03);
  // Without overlap of iterations the pipeline fills and drains.
  ChainResult late = runChain(chainModel(16, 8, 1, 0), options);
  ASSERT_TRUE(late.outcome);
  EXPECT_GT(late.simulation.bubble, 0.05);
  EXPECT_LT(late.simulation.bubble, 0.3);
}

TEST(Simulator, AgreesWithThePlannersObjective) {
  double sum = 0;
  uint32_t count = 0;
  for (uint32_t staleness : {0u, 1u})
    for (uint32_t devices : {1u, 2u, 3u, 4u})
      for (uint32_t rounds : {1u, 2u}) {
        Model model = chainModel(12, 6, rounds, staleness);
        ChainOptions options;
        options.devices = devices;
        ChainResult result = runChain(model, options);
        ASSERT_TRUE(result.outcome) << join(result.outcome);
        Machine machine = testMachine(devices);
        double predicted =
            PartitionProblem{model, machine}.predict(result.plan);
        double ratio = result.simulation.iteration / predicted;
        EXPECT_GT(ratio, 0.85) << devices << " devices, " << rounds
                               << " rounds, staleness " << staleness;
        EXPECT_LT(ratio, 1.15) << devices << " devices, " << rounds
                               << " rounds, staleness " << staleness;
        sum += ratio;
        ++count;
      }
  EXPECT_NEAR(sum / count, 1, 0.05);
}
