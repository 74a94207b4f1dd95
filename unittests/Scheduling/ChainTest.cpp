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
    if (options.deviceLimit)
      EXPECT_LE(result.schedule.arenaBytes[0], options.deviceLimit);
  }
  EXPECT_GT(plans, 400u);
  EXPECT_GT(infeasible, 5u);
}
