//===- CudaUpdateTest.cpp - Updates on GPUs -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs GPUs: RONDO_TEST_CUDA=N says how many may be used. The libraries that
// play CUDA's on the host also play what a driver may do worst: see
// RONDO_FAKE_DEPTH in FakeGpu/FakeDriver.cpp.
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include <cstdlib>

using namespace rondo::runtime;
using namespace rondo::runtime::testing;

#define NEEDS_GPUS(COUNT)                                                      \
  if (testGpus() < (COUNT))                                                    \
  GTEST_SKIP() << "needs " << (COUNT) << " GPUs: set RONDO_TEST_CUDA"

namespace {

/// Streams that take few commands ahead, while it lives.
struct ShortStreams {
  ShortStreams(const char *counted, const char *taken) {
    ::setenv("RONDO_TEST_STREAM", counted, 1);
    ::setenv("RONDO_FAKE_DEPTH", taken, 1);
  }
  ~ShortStreams() {
    ::unsetenv("RONDO_TEST_STREAM");
    ::unsetenv("RONDO_FAKE_DEPTH");
  }
};

ToyOptions updating(ToyOptions options) {
  options.gpu = options.deviceUpdates = true;
  return options;
}

/// Soon over if it hangs.
SessionOptions watched(uint64_t seed = 0, uint32_t microseconds = 0) {
  SessionOptions options;
  options.watchdogSeconds = 60;
  options.delays = {seed, microseconds};
  return options;
}

/// Kinds of steps, on `devices`.
std::vector<ToyOptions> kinds(uint32_t devices) {
  return {toy(devices, 2, 2, 0, false, true, 0.5), toy(devices, 1, 1, 0, true),
          toy(devices, 1, 2, 1), toy(devices, 3, 1, 1, true, true, 0.5)};
}

} // namespace

TEST(CudaUpdates, ChangeNoBit) {
  NEEDS_GPUS(1);
  for (uint32_t devices = 1; devices <= testGpus(); ++devices)
    for (ToyOptions options : kinds(devices)) {
      options.gpu = true;
      Outcome host = train(options, 4, watched());
      EXPECT_TRUE(train(updating(options), 4, watched()) == host);
      EXPECT_TRUE(train(updating(options), 4, watched(devices, 200)) == host);
    }
}

// Whoever issues must not be blocked by one stream while another one lacks what
// that waits for; nor may a kernel be loaded then.
TEST(CudaUpdates, FullStreamsHoldNobody) {
  NEEDS_GPUS(1);
  for (uint32_t devices = 1; devices <= testGpus(); ++devices)
    for (ToyOptions options : kinds(devices)) {
      options.gpu = true;
      Outcome host = train(options, 4, watched());
      ShortStreams streams(options.staleness ? "1" : "24", "32");
      EXPECT_TRUE(train(updating(options), 4, watched()) == host);
      EXPECT_TRUE(train(updating(options), 4, watched(3, 200)) == host);
    }
}

TEST(CudaUpdates, ManySteps) {
  NEEDS_GPUS(1);
  ToyOptions options = toy(testGpus(), 1, 1, 1);
  options.gpu = true;
  EXPECT_TRUE(train(updating(options), 50, watched()) ==
              train(options, 50, watched()));
}

// The scale overflows at first.
TEST(CudaUpdates, SkippedOnesKeepTheState) {
  NEEDS_GPUS(1);
  for (uint32_t staleness : {0u, 1u})
    for (bool bf16 : {false, true}) {
      ToyOptions options = toy(1, 1, 2, staleness, bf16);
      options.lossScale = 0x1p+24;
      Outcome outcomes[2];
      uint64_t skipped[2] = {0, 0};
      for (int i = 0; i < 2; ++i) {
        options.gpu = true;
        options.deviceUpdates = i == 1;
        Running running(options, 12, watched());
        // Gradients near the end of f32's range.
        for (float &x : running.data.x)
          x *= 5e15f;
        for (uint64_t step = 0; step < 12; ++step)
          EXPECT_OK(running.session->start(1));
        outcomes[i] = outcomeOf(*running.session, 12);
        SessionReport report;
        EXPECT_OK(running.session->report(report));
        skipped[i] = report.skippedSteps;
      }
      EXPECT_GT(skipped[0], 0u);
      EXPECT_LT(skipped[0], 12u);
      EXPECT_EQ(skipped[0], skipped[1]);
      // Norms that overflowed are no numbers.
      for (Outcome &outcome : outcomes)
        outcome.norms.clear();
      EXPECT_TRUE(outcomes[0] == outcomes[1]);
    }
}

// Streams hold the updates of the failed step when the host learns of it.
TEST(CudaUpdates, AFailedStepKeepsTheState) {
  NEEDS_GPUS(1);
  for (uint32_t staleness : {0u, 1u})
    for (uint64_t seed = 0; seed < 2; ++seed) {
      ToyOptions options = updating(toy(testGpus(), 1, 2, staleness));
      SessionOptions session = watched(seed, seed ? 200 : 0);
      Running good(options, 6, session), bad(options, 6, session);
      EXPECT_OK(good.session->start(2));
      Outcome before = outcomeOf(*good.session, 2);
      // The first sample of step 2's second micro-batch.
      bad.data.x[(2 * 2 + 1) * TOY_ROWS * TOY_COLUMNS] = NAN;
      EXPECT_OK(bad.session->start(6));
      Status status = bad.session->synchronize();
      EXPECT_EQ(status.code(), Code::User);
      EXPECT_NE(status.message().find("the loss is nan"), std::string::npos)
          << status.message();
      EXPECT_EQ(bad.session->completedSteps(), 2u);
      EXPECT_TRUE(outcomeOf(*bad.session, 2) == before);
    }
}

TEST(CudaUpdates, NeedPinnedMemory) {
  NEEDS_GPUS(1);
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  ASSERT_TRUE(
      Program::load(writeToy(folder, updating(toy(1, 1, 1))), program).ok());
  ::setenv("RONDO_TEST_PINNING", "0", 1);
  std::unique_ptr<Session> session;
  Status status = Session::open(*program, {}, session);
  ::unsetenv("RONDO_TEST_PINNING");
  EXPECT_EQ(status.code(), Code::Device);
  for (const char *part : {"more than RONDO_TEST_PINNING allows",
                           "updates on GPUs need all of it pinned",
                           "--optimizer-device=host", "ulimit -l"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
}
