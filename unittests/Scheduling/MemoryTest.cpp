//===- MemoryTest.cpp - Offsets, and values that survive ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../lib/Scheduling/Packing.h"
#include "TestChain.h"
#include <gtest/gtest.h>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

namespace {

/// Launches one after the other on compute-only buffers: (read, written) by
/// number, -1 for none.
Schedule launches(std::vector<uint64_t> bytes,
                  std::vector<std::pair<int, int>> steps) {
  Schedule schedule;
  for (size_t b = 0; b < bytes.size(); ++b) {
    Buffer buffer;
    buffer.name = "b" + std::to_string(b);
    buffer.bytes = bytes[b];
    buffer.computeOnly = true;
    buffer.slot = 0;
    schedule.buffers.push_back(buffer);
  }
  for (auto [from, to] : steps) {
    Op op;
    op.name = "launch " + std::to_string(schedule.ops.size());
    op.device = 0;
    op.slot = op.round = op.microBatch = 0;
    if (from >= 0)
      op.operands.push_back(
          {{(uint32_t)from}, 0, 0, bytes[(size_t)from], Access::Read});
    if (to >= 0)
      op.operands.push_back(
          {{(uint32_t)to}, 0, 0, bytes[(size_t)to], Access::Write});
    schedule.ops.push_back(op);
  }
  return schedule;
}

ChainResult placed(uint64_t deviceLimit = 0) {
  ChainOptions options;
  options.devices = 2;
  options.deviceLimit = deviceLimit;
  ChainResult result = runChain(chainModel(4, 2), options);
  EXPECT_TRUE(result.outcome) << join(result.outcome);
  return result;
}

} // namespace

TEST(Memory, SharesBytesOfValuesThatDoNotMeet) {
  // A chain: only neighbours are alive together.
  Schedule schedule = launches({1000, 500, 900, 100},
                               {{-1, 0}, {0, 1}, {1, 2}, {2, 3}, {3, -1}});
  ASSERT_TRUE(MemoryProblem().solve(schedule));
  EXPECT_TRUE(MemoryProblem().verify(schedule));
  EXPECT_EQ(schedule.arenaBytes[0], 1024u + 512u);
  for (const Buffer &buffer : schedule.buffers)
    EXPECT_EQ(buffer.offset % 256, 0);
}

TEST(Memory, KeepsApartWhatMeets) {
  Schedule schedule =
      launches({256, 256, 256}, {{-1, 0}, {-1, 1}, {0, 2}, {1, -1}, {2, -1}});
  ASSERT_TRUE(MemoryProblem().solve(schedule));
  EXPECT_TRUE(MemoryProblem().verify(schedule));
  EXPECT_EQ(schedule.arenaBytes[0], 768u);
}

TEST(Memory, RefusesReadsOfWhatWasNotWritten) {
  Schedule schedule = launches({256, 256}, {{0, 1}});
  EXPECT_EQ(join(MemoryProblem().solve(schedule)),
            "'launch 0' reads 'b0', which nothing in its slot's micro-batch "
            "wrote before\n");
}

TEST(Memory, VerifierFindsOverwrittenValues) {
  Schedule schedule =
      launches({256, 256, 256}, {{-1, 0}, {-1, 1}, {0, 2}, {1, -1}, {2, -1}});
  ASSERT_TRUE(MemoryProblem().solve(schedule));
  schedule.buffers[1].offset = schedule.buffers[0].offset;
  EXPECT_EQ(
      join(MemoryProblem().verify(schedule)),
      "'launch 2' reads 'b0' in iteration 0, but 'b1' was written over it\n");
}

TEST(Memory, VerifierFindsOperandsWrittenByTheirOwnOp) {
  // Launch 1 writes b1 while it reads b0; nothing reads b0 later.
  Schedule schedule = launches({256, 256}, {{-1, 0}, {0, 1}, {1, -1}});
  ASSERT_TRUE(MemoryProblem().solve(schedule));
  EXPECT_EQ(join(MemoryProblem().verify(schedule)), "");
  schedule.buffers[1].offset = schedule.buffers[0].offset;
  EXPECT_EQ(join(MemoryProblem().verify(schedule)),
            "'launch 1' writes 'b1' over its own operand 'b0' in iteration "
            "0\n");
  schedule.arenaBytes[0] = UINT64_MAX;
  EXPECT_EQ(join(MemoryProblem().verify(schedule)),
            "an arena of 18446744073709551615 bytes is larger than any "
            "memory\n");
}

TEST(Memory, VerifierChecksPlaces) {
  ChainResult result = placed();
  MemoryProblem problem;
  Schedule schedule = result.schedule;
  schedule.buffers[0].offset = 128;
  EXPECT_EQ(join(problem.verify(schedule)),
            "buffer '" + schedule.buffers[0].name +
                "' is at 128, not a multiple of 256\n");
  schedule.buffers[0].offset = -1;
  EXPECT_EQ(join(problem.verify(schedule)),
            "buffer '" + schedule.buffers[0].name + "' has no offset\n");
  schedule = result.schedule;
  schedule.arenaBytes[2] -= 256;
  EXPECT_NE(join(problem.verify(schedule)).find("bytes of its arena"),
            std::string::npos);
  uint64_t device = result.schedule.arenaBytes[0],
           host = result.schedule.arenaBytes[1] + result.schedule.arenaBytes[2];
  EXPECT_EQ(join(MemoryProblem{device - 1, host - 2}.verify(result.schedule)),
            "a device's arena of " + std::to_string(device) +
                " bytes is over the limit of " + std::to_string(device - 1) +
                "\nhost arenas of " + std::to_string(host) +
                " bytes are over the limit of " + std::to_string(host - 2) +
                "\n");
}

TEST(Memory, PoolsMovedOverEachOtherAreRefused) {
  ChainResult result = placed();
  // Each pair of buffers that one kind of transfer touches, one moved onto the
  // other: either values are lost or accesses race. (Kinds may well share
  // bytes: some are used at different times.)
  size_t refused = 0, tried = 0;
  const std::vector<Buffer> &buffers = result.schedule.buffers;
  auto kind = [&](uint32_t b) {
    return buffers[b].name.substr(0, buffers[b].name.find(" of "));
  };
  std::vector<uint32_t> pools;
  for (uint32_t b = 0; b < buffers.size(); ++b)
    if (buffers[b].space == Space::Device && !buffers[b].computeOnly)
      pools.push_back(b);
  for (uint32_t a : pools)
    for (uint32_t b : pools) {
      if (a == b || kind(a) != kind(b) || buffers[a].bytes > buffers[b].bytes)
        continue;
      Schedule schedule = result.schedule;
      schedule.buffers[a].offset = schedule.buffers[b].offset;
      ++tried;
      refused +=
          !MemoryProblem().verify(schedule) || !FenceProblem().verify(schedule);
    }
  EXPECT_GT(tried, 50u);
  EXPECT_EQ(refused, tried);
}

TEST(Memory, SaysWhatDoesNotFit) {
  Schedule schedule = placed().schedule;
  Outcome outcome = MemoryProblem{4096, 0}.solve(schedule);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.infeasible);
  std::string need = std::to_string(schedule.arenaBytes[0]) + " bytes";
  EXPECT_EQ(outcome.messages.size(), 1u);
  EXPECT_EQ(outcome.messages[0].find("the schedule needs " + need), 0u)
      << outcome.messages[0];
  EXPECT_NE(outcome.messages[0].find("over the limit of 4096 bytes"),
            std::string::npos)
      << outcome.messages[0];
  for (const char *part :
       {" for transfers and ", " for the launches of slot ",
        "; the largest buffers are ",
        ". Give more device memory, or make micro-batches smaller"})
    EXPECT_NE(outcome.messages[0].find(part), std::string::npos)
        << outcome.messages[0];
  outcome = MemoryProblem{0, 10000}.solve(schedule);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.infeasible);
  EXPECT_NE(outcome.messages[0].find("of host memory"), std::string::npos)
      << outcome.messages[0];
  for (const char *part :
       {"pinned and", " of optimizer state; the largest buffers are ",
        ". Give more host memory, or use staleness 0 or fewer micro-batches a "
        "round"})
    EXPECT_NE(outcome.messages[0].find(part), std::string::npos)
        << outcome.messages[0];
  EXPECT_NE(outcome.messages[0].find("over the limit of 10000 bytes"),
            std::string::npos)
      << outcome.messages[0];
}

TEST(Packing, NeverOverlapsAndStaysCloseToTheBound) {
  double waste = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<detail::Lifetime> lifetimes;
    for (uint32_t i = random() % 40 + 1; i > 0; --i) {
      uint32_t first = random() % 30;
      lifetimes.push_back(
          {1 + random() % 5000, first, first + (uint32_t)random() % 12});
    }
    std::vector<uint64_t> offsets;
    uint64_t used = detail::packLifetimes(lifetimes, offsets);
    ASSERT_EQ(offsets.size(), lifetimes.size());
    for (size_t a = 0; a < lifetimes.size(); ++a) {
      EXPECT_EQ(offsets[a] % 256, 0u);
      EXPECT_LE(offsets[a] + lifetimes[a].bytes, used);
      for (size_t b = 0; b < a; ++b)
        if (lifetimes[a].first <= lifetimes[b].last &&
            lifetimes[b].first <= lifetimes[a].last)
          EXPECT_TRUE(offsets[a] + lifetimes[a].bytes <= offsets[b] ||
                      offsets[b] + lifetimes[b].bytes <= offsets[a]);
    }
    uint64_t bound = detail::liveBytes(lifetimes);
    ASSERT_GE(used, bound);
    waste += (double)used / (double)bound - 1;
  }
  EXPECT_LT(waste / 200, 0.12);
}
