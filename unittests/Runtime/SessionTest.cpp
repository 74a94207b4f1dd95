//===- SessionTest.cpp - Training the tests' program ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

class TrainingTest : public ::testing::TestWithParam<ToyOptions> {};

} // namespace

// Every way to train against the same training written down plainly in doubles;
// five steps go twice around the rotation.
TEST_P(TrainingTest, FollowsTheReference) {
  constexpr uint64_t steps = 5;
  ToyOptions options = GetParam();
  ToyReference reference =
      trainReference(options, toyData(options, steps), steps);
  Outcome outcome = train(options, steps);
  // bf16 rounds weights by up to 0.4 %, at points that depend on the last
  // digits of f32.
  expectLike(outcome, reference, options.clipNorm > 0,
             options.bf16 ? 3e-3 : 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ways, TrainingTest,
                         ::testing::Values(toy(1, 1, 1), toy(2, 1, 4),
                                           toy(2, 2, 2), toy(4, 2, 2, 1),
                                           toy(3, 1, 2, 1, true),
                                           toy(2, 2, 1, 0, true),
                                           toy(2, 1, 2, 0, false, true),
                                           toy(2, 2, 2, 1, false, true, 0.5),
                                           toy(3, 1, 2, 0, true, false, 0.5)));

// On any number of devices, with any number of threads, the same bits.
TEST(Session, DevicesAndThreadsChangeNoBit) {
  for (uint32_t staleness : {0u, 1u}) {
    Outcome first = train(toy(1, 2, 2, staleness, true, true, 0.5), 4);
    for (uint32_t devices = 2; devices <= 4; ++devices) {
      SessionOptions sessionOptions;
      sessionOptions.hostThreads = devices - 1;
      EXPECT_TRUE(train(toy(devices, 2, 2, staleness, true, true, 0.5), 4,
                        sessionOptions) == first)
          << devices;
    }
  }
}

// The same kernels, and state that travels.
TEST(Session, UpdatesOnDevicesChangeNoBit) {
  for (uint32_t staleness : {0u, 1u})
    for (bool bf16 : {false, true})
      for (double clip : {0.0, 0.5}) {
        ToyOptions options = toy(2, 2, 2, staleness, bf16, true, clip);
        Outcome host = train(options, 5);
        options.deviceUpdates = true;
        EXPECT_TRUE(train(options, 5) == host) << staleness << bf16 << clip;
        SessionOptions delayed;
        delayed.delays = {7, 200};
        EXPECT_TRUE(train(options, 5, delayed) == host);
      }
}

// Losses that overflow at first: what is skipped on devices, too.
TEST(Session, SkippedUpdatesOnDevicesKeepTheState) {
  for (uint32_t staleness : {0u, 1u})
    for (bool bf16 : {false, true}) {
      ToyOptions options = toy(2, 1, 2, staleness, bf16);
      options.lossScale = 0x1p+24;
      // Gradients near the end of f32's range.
      Outcome outcomes[2];
      uint32_t skipped[2] = {0, 0};
      for (int i = 0; i < 2; ++i) {
        options.deviceUpdates = i == 1;
        Running running(options, 12);
        for (float &x : running.data.x)
          x *= 5e15f;
        for (uint64_t step = 0; step < 12; ++step)
          EXPECT_OK(running.session->start(1));
        outcomes[i] = outcomeOf(*running.session, 12);
        SessionReport report;
        EXPECT_OK(running.session->report(report));
        skipped[i] = (uint32_t)report.skippedSteps;
      }
      EXPECT_GT(skipped[0], 0u);
      EXPECT_LT(skipped[0], 12u);
      EXPECT_EQ(skipped[0], skipped[1]);
      EXPECT_EQ(outcomes[0].losses, outcomes[1].losses);
      EXPECT_EQ(outcomes[0].w0, outcomes[1].w0);
      EXPECT_EQ(outcomes[0].v0, outcomes[1].v0);
    }
}

// Growth after every second step; with staleness 1 a verdict comes one step
// later. A power of two changes nothing but exponents.
TEST(Session, LossScalesGrow) {
  constexpr uint64_t steps = 6;
  for (uint32_t staleness : {0u, 1u}) {
    ToyOptions options = toy(2, 1, 2, staleness);
    Outcome plain = train(options, steps);
    options.lossScale = 8;
    options.scaleGrowth = 2;
    ToyReference reference =
        trainReference(options, toyData(options, steps), steps);
    Running running(options, steps);
    EXPECT_OK(running.session->start(steps, /*captureGradients=*/true));
    std::vector<double> scales;
    for (uint64_t step = 0; step < steps; ++step) {
      StepResult result;
      EXPECT_OK(running.session->waitStep(step, result));
      EXPECT_FALSE(result.skipped);
      EXPECT_NEAR(result.gradientNorm, reference.norms[step],
                  1e-4 * reference.norms[step]);
      scales.push_back(result.lossScale);
    }
    EXPECT_EQ(scales, staleness ? (std::vector<double>{8, 8, 8, 16, 16, 32})
                                : (std::vector<double>{8, 8, 16, 16, 32, 32}));
    Outcome outcome = outcomeOf(*running.session, steps);
    EXPECT_EQ(outcome.losses, plain.losses);
    EXPECT_EQ(outcome.w0, plain.w0);
    EXPECT_EQ(read(*running.session, "val_1", 1, kToyWeight), plain.g0);
    SessionReport report;
    EXPECT_OK(running.session->report(report));
    EXPECT_EQ(report.lossScale, 32);
    EXPECT_EQ(report.skippedSteps, 0u);
  }
}

TEST(Session, DelaysChangeNoBit) {
  ToyOptions options = toy(3, 2, 1, 1, false, true, 0.5);
  Outcome first = train(options, 4);
  for (uint64_t seed = 0; seed < 25; ++seed) {
    SessionOptions sessionOptions;
    sessionOptions.delays = {seed, 300};
    EXPECT_TRUE(train(options, 4, sessionOptions) == first) << seed;
  }
}

// Staleness 1 is not staleness 0: the second step computes with the weights of
// the first.
TEST(Session, StalenessShows) {
  Outcome sync = train(toy(2, 1, 2, 0), 3), late = train(toy(2, 1, 2, 1), 3);
  EXPECT_EQ(sync.losses[0], late.losses[0]);
  EXPECT_NE(sync.losses[1], late.losses[1]);
}

// Steps one by one, with reads between them, give what steps in one go give.
TEST(Session, StepsMayBeStartedOneByOne) {
  ToyOptions options = toy(2, 1, 2, 1);
  Outcome whole = train(options, 4);
  Running running(options, 4);
  std::vector<double> losses(4);
  for (uint64_t step = 0; step < 4; ++step) {
    EXPECT_OK(running.session->start(1, step == 3));
    EXPECT_OK(running.session->waitLoss(step, losses[step]));
    if (step % 2)
      read(*running.session, "val_1", 0, kToyWeight);
  }
  EXPECT_EQ(losses, whole.losses);
  EXPECT_EQ(read(*running.session, "val_1", 0, kToyWeight), whole.w0);
  EXPECT_EQ(read(*running.session, "layer1.weight", 1, kToyWeight), whole.g1);
}

// Only the gradients of the step asked for are kept: asked for after step 2,
// they are those of step 2.
TEST(Session, GradientsAreOfTheStepAskedFor) {
  ToyOptions options = toy(2, 1, 2);
  Running running(options, 4);
  EXPECT_OK(running.session->start(1));
  std::vector<float> values(kToyWeight);
  Status status = running.session->readParameter("val_1", 1, values);
  EXPECT_NE(status.message().find("no gradients were kept"), std::string::npos)
      << status.message();
  EXPECT_OK(running.session->start(2, true));
  EXPECT_OK(running.session->start(1));
  ToyReference reference = trainReference(options, running.data, 3);
  EXPECT_LT(
      apart(read(*running.session, "val_1", 1, kToyWeight), reference.g0, {}),
      1e-4);
}

TEST(Session, FollowsALearningRateSchedule) {
  Running running(toy(1, 1, 2), 4);
  EXPECT_OK(running.session->setLearningRate("linear,warmup=2,min=0.002", 4));
  EXPECT_OK(running.session->start(4));
  double expected[] = {0.005, 0.01, 0.01, 0.006};
  for (uint64_t step = 0; step < 4; ++step) {
    StepResult result;
    EXPECT_OK(running.session->waitStep(step, result));
    EXPECT_DOUBLE_EQ(result.learningRate, expected[step]);
  }
  // A rate of 0 leaves the weights as they are.
  Running still(toy(1, 1, 2), 4);
  EXPECT_OK(still.session->setLearningRate("linear,min=0", 1));
  EXPECT_OK(still.session->start(1));
  std::vector<float> after = read(*still.session, "val_1", 0, kToyWeight);
  EXPECT_NE(after, toyWeights(kToyWeight, 1));
  EXPECT_OK(still.session->start(3));
  EXPECT_EQ(read(*still.session, "val_1", 0, kToyWeight), after);
}

TEST(Session, EpochsVisitTheSameSamplesAndShufflingOthers) {
  ToyOptions options = toy(1, 1, 1);
  auto losses = [&](bool shuffle, uint64_t seed) {
    Running running(options, 3);
    EXPECT_OK(running.session->setLearningRate("linear,min=0,warmup=0", 1));
    EXPECT_OK(running.session->setOrder(shuffle, seed, 3));
    EXPECT_OK(running.session->start(9));
    std::vector<double> result(9);
    for (uint64_t step = 0; step < 9; ++step)
      EXPECT_OK(running.session->waitLoss(step, result[step]));
    return result;
  };
  // From step 1 on the rate is 0: equal samples have equal losses.
  std::vector<double> ordered = losses(false, 0);
  EXPECT_EQ(ordered[4], ordered[7]);
  EXPECT_EQ(ordered[5], ordered[8]);
  std::vector<double> shuffled = losses(true, 1);
  EXPECT_EQ(shuffled, losses(true, 1));
  EXPECT_NE(shuffled, losses(true, 2));
  EXPECT_NE(shuffled[4], shuffled[7]);
}

TEST(Session, ClosesWithStepsInFlight) {
  for (int i = 0; i < 5; ++i) {
    Running running(toy(2, 1, 2, 1), 20);
    EXPECT_OK(running.session->start(20));
  }
}

TEST(Session, ReportsBytesAndLanes) {
  ToyOptions options = toy(2, 2, 2);
  Running running(options, 3);
  EXPECT_OK(running.session->start(3));
  SessionReport report;
  EXPECT_OK(running.session->report(report));
  uint64_t activation = 4 * TOY_ROWS * TOY_COLUMNS,
           gradients = 4 * (2 * kToyWeight + TOY_COLUMNS);
  uint64_t up = 2048 + gradients + 2 * (4 * activation + 8 * TOY_ROWS + 4),
           down = gradients + 2 * (2 * activation + 4);
  EXPECT_EQ(report.steps, 3u);
  EXPECT_EQ(report.uploadedBytes, 3 * 2 * up);
  EXPECT_EQ(report.downloadedBytes, 3 * 2 * down);
  EXPECT_EQ(report.samplesPerStep, 4u * TOY_ROWS);
  EXPECT_EQ(report.tokensPerStep, 0u);
  EXPECT_GT(report.stepSeconds, 0);
  ASSERT_EQ(report.lanes.size(), 12u);
  EXPECT_EQ(report.lanes[0].name, "device 0 Compute");
  uint64_t copied = 0;
  for (const LaneReport &lane : report.lanes)
    copied += lane.copiedBytes;
  EXPECT_EQ(copied, report.uploadedBytes + report.downloadedBytes);
  EXPECT_FALSE(running.session->writeTrace("/tmp/x").ok());
}

TEST(Session, MeasuresFromAStepOn) {
  Running running(toy(2, 2, 2, 1), 5);
  SessionReport whole, part;
  EXPECT_OK(running.session->start(2));
  EXPECT_OK(running.session->report(whole));
  EXPECT_OK(running.session->beginMeasuring());
  EXPECT_OK(running.session->report(part));
  EXPECT_EQ(part.steps, 0u);
  EXPECT_EQ(part.bubble, 0);
  EXPECT_EQ(part.lanes[1].copiedBytes, 0u);
  int64_t before = now();
  EXPECT_OK(running.session->start(3));
  EXPECT_OK(running.session->synchronize());
  double seconds = (double)(now() - before) / 1e9;
  EXPECT_OK(running.session->report(part));
  EXPECT_EQ(part.firstStep, 2u);
  EXPECT_EQ(part.steps, 3u);
  EXPECT_LE(part.seconds, seconds);
  EXPECT_DOUBLE_EQ(part.stepSeconds, part.seconds / 3);
  EXPECT_EQ(part.uploadedBytes * 2, whole.uploadedBytes * 3);
  ASSERT_EQ(part.lanes.size(), whole.lanes.size());
  for (size_t i = 0; i < part.lanes.size(); ++i) {
    EXPECT_EQ(part.lanes[i].copiedBytes * 2, whole.lanes[i].copiedBytes * 3);
    EXPECT_LE(part.lanes[i].busySeconds, part.seconds);
  }
  EXPECT_GT(part.issueSeconds, 0);
  // x W0 and its gradients' product, h W1 and two of its own.
  EXPECT_EQ(part.flopsPerStep,
            4.0 * 5 * 2 * TOY_ROWS * TOY_COLUMNS * TOY_COLUMNS);
}

TEST(Session, TracesWhatRanWhere) {
  SessionOptions sessionOptions;
  sessionOptions.trace = true;
  Running running(toy(2, 1, 1), 3, sessionOptions);
  EXPECT_OK(running.session->start(1));
  EXPECT_OK(running.session->start(2));
  EXPECT_OK(running.session->writeTrace(running.folder / "trace.json"));
  std::string trace = readBytes(running.folder / "trace.json");
  size_t spans = 0;
  for (size_t at = 0;
       (at = trace.find("\"ph\":\"X\"", at)) != std::string::npos; ++at)
    ++spans;
  EXPECT_EQ(spans, 3 * running.program->table().ops()->size());
  // The rotation is one: layer 0 runs on device 0 in step 0 and on device 1 in
  // step 1.
  for (const char *part :
       {"\"name\":\"forward layer 0 r0 "
        "mb0\",\"cat\":\"Launch\",\"pid\":0,\"tid\":0",
        "\"name\":\"forward layer 0 r0 "
        "mb0\",\"cat\":\"Launch\",\"pid\":1,\"tid\":0",
        "{\"name\":\"ActivationDown\"}", "\"args\":{\"name\":\"host\"}",
        "\"node\":\"node_loss\""})
    EXPECT_NE(trace.find(part), std::string::npos) << part;
}
