//===- ChainTest.cpp - All problems one after the other -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random models, machines and options go from stages to a simulated, verified
// schedule.
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include "TestModels.h"
#include <gtest/gtest.h>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

TEST(Chain, RandomModelsPassEveryVerifier) {
  uint32_t infeasible = 0, plans = 0;
  for (uint32_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    ChainOptions options;
    Model model = randomModel(random);
    options.devices = 1 + random() % 4;
    options.keep = (SaveSet)(random() % 3);
    options.save = options.keep == SaveSet::Input ? (SaveSet)(1 + random() % 2)
                                                  : options.keep;
    options.rotate = random() % 4 > 0;
    // Some limits bind, a few are hopeless.
    options.deviceLimit = random() % 2 ? 0 : 8192 + random() % 60000;
    ChainResult result = runChain(model, options);
    if (result.outcome.infeasible) {
      ++infeasible;
      ASSERT_NE(options.deviceLimit, 0u) << join(result.outcome);
      ASSERT_EQ(result.failedAt, "partition") << join(result.outcome);
      continue;
    }
    ASSERT_TRUE(result.outcome)
        << result.failedAt << ": " << join(result.outcome);
    ++plans;
    EXPECT_GT(result.simulation.iteration, 0);
    EXPECT_LE(result.simulation.bubble, 1);
    EXPECT_GE(result.simulation.bubble, -1e-9);
    if (options.deviceLimit) {
      EXPECT_LE(result.schedule.arenaBytes[0], options.deviceLimit);
    }
  }
  EXPECT_GT(plans, 400u);
  EXPECT_GT(infeasible, 5u);
}

TEST(Chain, EveryWayToSaveMemoryPassesEveryVerifier) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    ChainOptions options;
    Model model = randomModel(random);
    if (seed % 2)
      shareTable(model, 256);
    options.devices = 1 + random() % 3;
    options.keep = (SaveSet)(random() % 3);
    options.save = options.keep == SaveSet::Input ? (SaveSet)(1 + random() % 2)
                                                  : options.keep;
    options.rotate = random() % 4 > 0;
    ChainResult most = runChain(model, options), least = most;
    ASSERT_TRUE(most.outcome) << most.failedAt << join(most.outcome);
    least.plan.buffers = {1, 1};
    for (Stage &stage : least.plan.stages)
      if (stage.kind == StageKind::Fused) {
        uint32_t trains = 0;
        while (std::none_of(model.layers[trains].parameters.begin(),
                            model.layers[trains].parameters.end(),
                            [](auto &p) { return p.gradientOffset >= 0; }))
          ++trains;
        uint32_t first = std::max(stage.begin, trains);
        if (first + 1 < stage.end)
          stage.rebuilt = random() % (stage.end - first);
      }
    runFromStages(model, options, least);
    ASSERT_TRUE(least.outcome) << least.failedAt << join(least.outcome);
    // Without rebuilding, fewer buffers are never more memory.
    bool rebuilds =
        std::any_of(least.plan.stages.begin(), least.plan.stages.end(),
                    [](const Stage &stage) { return stage.rebuilt > 0; });
    if (!rebuilds) {
      EXPECT_LE(least.schedule.arenaBytes[0], most.schedule.arenaBytes[0]);
    }
  }
}

TEST(Chain, OneSlotsBuffersCostLittleOnOneDevice) {
  // Copies take about half of the time of the launches, and hide.
  Model model = chainModel(20, 4, 2, 1);
  ChainResult results[2];
  for (uint32_t i = 0; i < 2; ++i) {
    ChainResult &result = results[i];
    ChainOptions options;
    options.keep = options.save = SaveSet::Products;
    result = runChain(model, options);
    ASSERT_TRUE(result.outcome) << join(result.outcome);
    ASSERT_EQ(result.plan.stages.size(), 1u);
    result.plan.buffers = {i + 1, i + 1};
    runFromStages(model, options, result);
    ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
  }
  EXPECT_LT(results[0].schedule.arenaBytes[0],
            0.6 * results[1].schedule.arenaBytes[0]);
  EXPECT_LT(results[0].simulation.iteration,
            1.01 * results[1].simulation.iteration);
}

namespace {

/// Layers whose parameters take longer to upload than to use forward.
Model busyChain(uint32_t layers, uint32_t rounds) {
  ModelMaker maker;
  maker.model.name = "busy";
  maker.model.microBatches = 8;
  maker.model.rounds = rounds;
  maker.model.staleness = 1;
  maker.model.momentsPerElement = 0;
  for (uint32_t l = 0; l < layers; ++l) {
    LayerSpec spec;
    spec.forwardTime = 8;
    spec.outputs = {64};
    spec.products = {64};
    maker.layer(spec);
  }
  Model model = maker.make();
  shareTable(model, 256);
  return model;
}

void addStage(Plan &plan, StageKind kind, uint32_t begin, uint32_t end) {
  Stage stage;
  stage.kind = kind;
  stage.begin = begin;
  stage.end = end;
  plan.stages.push_back(stage);
}

} // namespace

TEST(Chain, NothingWaitsWhereOneStepTurnsToTheNext) {
  // Either the place is another one, or it is free before.
  for (SlotBuffers buffers : {SlotBuffers{2, 2}, {2, 1}, {1, 1}})
    for (uint32_t rounds : {1u, 2u, 3u}) {
      SCOPED_TRACE(std::to_string(buffers.parameters) + " " +
                   std::to_string(buffers.gradients) + ", " +
                   std::to_string(rounds) + " rounds");
      Model model = busyChain(20, rounds);
      ChainOptions options;
      ChainResult result;
      addStage(result.plan, StageKind::Fused, 0, 20);
      result.plan.keep.assign(20, SaveSet::Products);
      result.plan.save = result.plan.keep;
      result.plan.buffers = buffers;
      runFromStages(model, options, result);
      ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
      EXPECT_LT(result.simulation.bubble, 0.005);
    }
}

TEST(Chain, OneSlotsBuffersCostLittleWhereStagesFollowEachOther) {
  Model model = busyChain(24, 1);
  for (uint32_t devices : {1u, 2u, 3u}) {
    SCOPED_TRACE(std::to_string(devices) + " devices");
    ChainResult results[2];
    for (uint32_t i = 0; i < 2; ++i) {
      ChainResult &result = results[i];
      ChainOptions options;
      options.devices = devices;
      addStage(result.plan, StageKind::Forward, 0, 8);
      addStage(result.plan, StageKind::Forward, 8, 16);
      addStage(result.plan, StageKind::Fused, 16, 24);
      addStage(result.plan, StageKind::Backward, 8, 16);
      addStage(result.plan, StageKind::Backward, 0, 8);
      result.plan.keep.assign(24, SaveSet::Products);
      result.plan.save = result.plan.keep;
      result.plan.buffers = {i + 1, i + 1};
      runFromStages(model, options, result);
      ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
    }
    EXPECT_LT(results[0].simulation.iteration,
              1.05 * results[1].simulation.iteration);
  }
}
