//===- SessionFailureTest.cpp - What goes wrong while training -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOps.h"
#include "Training.h"

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

// The state stays that of the steps before; whatever the staleness, and with
// delays that let lanes run ahead.
TEST(Session, ANonFiniteLossStopsBeforeTheUpdate) {
  for (uint32_t staleness : {0u, 1u})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      ToyOptions options = toy(2, 1, 2, staleness);
      options.deviceUpdates = seed % 2;
      SessionOptions sessionOptions;
      sessionOptions.delays = {seed, seed ? 200u : 0u};
      Running good(options, 6, sessionOptions);
      EXPECT_OK(good.session->start(2));
      Outcome before = outcomeOf(*good.session, 2);

      Running bad(options, 6, sessionOptions);
      // The first sample of step 2's second micro-batch.
      bad.data.x[(2 * 2 + 1) * TOY_ROWS * TOY_COLUMNS] = NAN;
      EXPECT_OK(bad.session->start(6));
      double loss = 0;
      EXPECT_OK(bad.session->waitLoss(1, loss));
      Status status = bad.session->waitLoss(2, loss);
      EXPECT_EQ(status.code(), Code::User);
      for (const char *part :
           {"step 2, micro-batch 1, layer 1", "the loss is nan", "node_loss",
            "step 1 left them"})
        EXPECT_NE(status.message().find(part), std::string::npos)
            << status.message();
      // Later steps have the same error, and nobody waits for ever.
      EXPECT_EQ(bad.session->waitLoss(5, loss).message(), status.message());
      EXPECT_EQ(bad.session->synchronize().message(), status.message());
      EXPECT_EQ(bad.session->start(1).message(), status.message());
      EXPECT_EQ(bad.session->completedSteps(), 2u);
      EXPECT_TRUE(outcomeOf(*bad.session, 2) == before);
    }
}

TEST(Session, ANonFiniteNormStopsBeforeTheUpdate) {
  ToyOptions options = toy(2, 1, 1, 0, false, false, 1.0);
  Running running(options, 2);
  // Finite activations whose gradient overflows f32.
  for (uint64_t i = 0; i < kToyWeight; ++i)
    running.data.x[i % running.data.x.size()] *= 1e18f;
  EXPECT_OK(running.session->start(1));
  StepResult result;
  Status status = running.session->waitStep(0, result);
  EXPECT_EQ(status.code(), Code::User);
  EXPECT_TRUE(status.message().find("the norm of the gradient is") !=
                  std::string::npos ||
              status.message().find("the loss is") != std::string::npos)
      << status.message();
  EXPECT_EQ(read(*running.session, "val_1", 0, kToyWeight),
            toyWeights(kToyWeight, 1));
}

// Kernels answer an index out of range with 1; here the loss kernel refuses
// labels of a thousand and more.
TEST(Session, AnIndexOutOfRangeNamesItsNode) {
  for (uint32_t staleness : {0u, 1u}) {
    TemporaryFolder folder;
    ToyOptions options = toy(2, 2, 1, staleness);
    Running running(options, 3);
    running.data.labels[(1 * 2 + 1) * TOY_ROWS + 3] = 1234;
    EXPECT_OK(running.session->start(3));
    StepResult result;
    EXPECT_OK(running.session->waitStep(0, result));
    Status status = running.session->waitStep(1, result);
    EXPECT_EQ(status.code(), Code::User);
    EXPECT_NE(
        status.message().find(format(
            "step 1, micro-batch 1: node 'node_square': index "
            "1234, at place 3 of %d, lies outside [-1000, 1000); look for "
            "ids or labels",
            TOY_ROWS)),
        std::string::npos)
        << status.message();
    // The state is that after step 0.
    Running good(options, 3);
    EXPECT_OK(good.session->start(1));
    EXPECT_EQ(read(*running.session, "val_1", 0, kToyWeight),
              read(*good.session, "val_1", 0, kToyWeight));
  }
}

TEST(Session, AStepWithoutLabelsIsAnError) {
  ToyOptions options = toy(2, 1, 2, 0, false, true);
  Running running(options, 3);
  for (uint64_t i = 2 * TOY_ROWS; i < 4 * TOY_ROWS; ++i)
    running.data.labels[i] = -1;
  EXPECT_OK(running.session->start(3));
  StepResult result;
  EXPECT_OK(running.session->waitStep(0, result));
  Status status = running.session->waitStep(1, result);
  EXPECT_NE(status.message().find(
                "step 1: none of its 2 micro-batches has a valid label"),
            std::string::npos)
      << status.message();
}

// Where micro-batches weigh equally it has no loss, and no learning rate helps.
TEST(Session, AMicroBatchWithoutLabelsIsSaidToBeOne) {
  for (uint32_t step : {0u, 2u}) {
    Running running(toy(2, 2, 1), 3);
    for (uint64_t i = 0; i < TOY_ROWS; ++i)
      running.data.labels[(2 * step + 1) * TOY_ROWS + i] = -1;
    EXPECT_OK(running.session->start(3));
    StepResult result;
    Status status = running.session->waitStep(step, result);
    EXPECT_EQ(status.code(), Code::User);
    std::string expected = format(
        "step %u, micro-batch 1, layer 1: the loss is undefined, because none "
        "of its labels is valid: stopped before the update, with the %s (",
        step, step ? "parameters as step 1 left them" : "initial parameters");
    EXPECT_EQ(status.message().rfind(expected, 0), 0u) << status.message();
    EXPECT_NE(status.message().find("compile with --loss-reduction=step"),
              std::string::npos);
    EXPECT_EQ(status.message().find("learning rate"), std::string::npos);
  }
}

// Under staleness 1, step 1 computes with initial weights, too.
TEST(Session, TheFirstStepsDoNotBlameTheLearningRate) {
  for (uint32_t staleness : {0u, 1u})
    for (uint32_t step : {0u, 1u, 2u}) {
      Running running(toy(2, 2, 1, staleness), 3);
      running.data.x[2 * step * TOY_ROWS * TOY_COLUMNS] = INFINITY;
      EXPECT_OK(running.session->start(3));
      StepResult result;
      Status status = running.session->waitStep(step, result);
      std::string left = step == 0 ? "initial parameters ("
                                   : format("parameters as step %u left them (",
                                            step - 1),
                  advice = step > staleness
                               ? "); lower the learning rate or look for"
                               : "); look for bad samples or weights";
      EXPECT_NE(status.message().find("before the update, with the " + left),
                std::string::npos)
          << status.message();
      EXPECT_NE(status.message().find(advice), std::string::npos)
          << status.message();
    }
}

// A micro-batch without labels has no loss of its own (0/0), which is no error
// when micro-batches weigh by labels.
TEST(Session, AMicroBatchWithoutLabelsWeighsNothing) {
  ToyOptions options = toy(2, 1, 2, 0, false, true);
  Running running(options, 1);
  for (uint64_t i = 0; i < TOY_ROWS; ++i)
    running.data.labels[i] = -1;
  EXPECT_OK(running.session->start(1));
  double loss = 0;
  EXPECT_OK(running.session->waitLoss(0, loss));
  EXPECT_NEAR(loss, trainReference(options, running.data, 1).losses[0],
              1e-5 * loss);
}

TEST(Session, TooFewSamplesAreAnErrorBeforeTheFirstStep) {
  Running running(toy(2, 1, 2), 3);
  Status status = running.session->start(4);
  EXPECT_NE(status.message().find("4 steps of 8 samples need more than the "
                                  "inputs hold: they are enough for 3"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(running.session->startedSteps(), 0u);
  EXPECT_OK(running.session->start(2));
  status = running.session->start(2);
  EXPECT_NE(status.message().find("enough for 1 more"), std::string::npos)
      << status.message();
  // Visited again, there are enough.
  Running again(toy(2, 1, 2), 3);
  EXPECT_OK(again.session->setOrder(false, 0, 2));
  EXPECT_OK(again.session->start(6));
  uint64_t left = 1;
  EXPECT_OK(again.session->synchronize());
  EXPECT_OK(again.session->stepsAvailable(left));
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(again.session->setOrder(true, 0, 3).message(),
            "the order of samples is set before the first step");
}

TEST(Session, TheNumberOfStepsIsLimited) {
  Running running(toy(2, 1, 2), 3);
  EXPECT_OK(running.session->setOrder(false, 0, UINT32_MAX));
  EXPECT_EQ(running.session->start(1u << 30).message(),
            "a session runs at most 1073741823 steps");
}

TEST(Session, InputsHoldTheSameSamples) {
  Running running(toy(2, 1, 2), 3);
  auto bindLabels = [&](int64_t count) {
    EXPECT_OK(running.session->setInput("labels", program::ElementType::I64,
                                        std::vector<int64_t>{count},
                                        running.data.labels.data()));
  };
  // 24 samples of "x", but fewer labels; two of them are no micro-batch.
  for (bool shuffle : {false, true})
    for (int64_t count : {16, 22}) {
      bindLabels(count);
      EXPECT_OK(running.session->setOrder(shuffle, 1, 1));
      EXPECT_EQ(running.session->start(1).message(),
                format("inputs must hold the same samples: 'x' holds 24, "
                       "'labels' holds %d",
                       (int)count));
      uint64_t steps = 0;
      EXPECT_FALSE(running.session->stepsAvailable(steps).ok());
    }
  bindLabels(24);
  EXPECT_OK(running.session->setOrder(false, 1, 1));
  EXPECT_OK(running.session->start(1));
  // What is bound later has its own beginning.
  bindLabels(16);
  EXPECT_OK(running.session->start(1));
}

TEST(Session, InputsAreCheckedAgainstTheProgram) {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  EXPECT_OK(Program::load(writeToy(folder, {}), program));
  std::unique_ptr<Session> session;
  EXPECT_OK(Session::open(*program, {}, session));
  std::vector<float> x(8 * TOY_COLUMNS);
  auto expect = [&](Status status, const char *part) {
    EXPECT_EQ(status.code(), Code::User);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  };
  expect(session->start(1), "no data for input 'x', 'labels'");
  expect(session->setInput("y", program::ElementType::F32, {}, x.data()),
         "has no input 'y'; its inputs are 'x', 'labels'");
  expect(session->setInput("x", program::ElementType::I64,
                           std::vector<int64_t>{8, TOY_COLUMNS}, x.data()),
         "the array holds int64, the program wants float32; convert it with "
         "array.astype('float32')");
  expect(session->setInput("x", program::ElementType::F32,
                           std::vector<int64_t>{8, 5}, x.data()),
         "has shape [8, 5], the program wants [samples, 264] with 4 samples in "
         "each of 4 micro-batches");
  expect(session->setInput("x", program::ElementType::F32,
                           std::vector<int64_t>{0, TOY_COLUMNS}, x.data()),
         "holds no samples");
  writeBytes(folder / "x.npy",
             npyBytes("<f8", {2, TOY_COLUMNS}, x.data(), 2 * 8 * TOY_COLUMNS));
  expect(session->setInputFile("x", folder / "x.npy"),
         "holds float64, the program wants float32");
  writeBytes(folder / "x.npy", npyBytes("<c8", {2, 2}, x.data(), 32));
  expect(session->setInputFile("x", folder / "x.npy"),
         "holds '<c8', the program wants float32");
}

TEST(Session, DevicesMustBeWhatTheProgramWasMadeFor) {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  EXPECT_OK(Program::load(writeToy(folder, {}), program));
  std::unique_ptr<Session> session;
  auto open = [&](const char *device) {
    SessionOptions options;
    options.device = device;
    return Session::open(*program, options, session);
  };
  Status status = open("host:3");
  EXPECT_EQ(status.code(), Code::Flags);
  EXPECT_NE(status.message().find(
                "was compiled for 2 devices; run it with --device=host:2"),
            std::string::npos);
  for (const char *device : {"host:x", "host:0", "host:4097", "host:"}) {
    status = open(device);
    EXPECT_EQ(status.code(), Code::Flags);
    EXPECT_EQ(status.message(),
              std::string("--device=") + device +
                  ": the number of devices is not a number from 1 to 4096; "
                  "write --device=host:4");
  }
  status = open("tpu:2");
  EXPECT_EQ(status.code(), Code::Flags);
  EXPECT_EQ(status.message(), "--device=tpu:2: unknown kind of device 'tpu'; "
                              "this runtime has: host, cuda");
  EXPECT_EQ(open("cuda:2").code(), Code::Flags); // made for the host
  EXPECT_OK(open("host:2"));
}

TEST(Session, SaysWhichCpuFeaturesAndKernelsAreMissing) {
  TemporaryFolder folder;
  writeToy(folder, {});
  auto open = [&](program::ProgramT table) {
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    std::unique_ptr<Program> program;
    EXPECT_OK(Program::load(folder / "toy.rondo", program));
    std::unique_ptr<Session> session;
    return Session::open(*program, {}, session);
  };
  program::ProgramT table = toyProgram({});
  table.cpu_features = {"sse2", "teleportation"};
  Status status = open(std::move(table));
  EXPECT_EQ(status.code(), Code::Device);
  EXPECT_NE(status.message().find(
                "needs CPU features that this machine lacks: teleportation;"),
            std::string::npos)
      << status.message();
  table = toyProgram({});
  table.entries[0]->calls[1]->symbol = "no_bias";
  table.entries[1]->calls[1]->symbol = "no_loss";
  status = open(std::move(table));
  EXPECT_NE(status.message().find("'no_bias', 'no_loss'"), std::string::npos)
      << status.message();
  table = toyProgram({});
  table.target = "sm_90";
  status = open(std::move(table));
  EXPECT_EQ(status.code(), Code::Flags);
  EXPECT_NE(status.message().find("was compiled for 'sm_90'"),
            std::string::npos)
      << status.message();
}

// The first error is the one that is told, and what is consistent stays so only
// if that error is.
TEST(Failure, TheFirstErrorWins) {
  Failure failure;
  EXPECT_TRUE(failure.statusOf(1000).ok());
  failure.report(5, userError("first"));
  failure.report(3, userError("second"));
  EXPECT_EQ(failure.statusOf(3).message(), "first");
  EXPECT_TRUE(failure.statusOf(2).ok());
  EXPECT_TRUE(failure.consistent());
}

TEST(Failure, AnUpdateOfTheFailedStepSpoilsTheState) {
  Failure failure;
  EXPECT_TRUE(failure.beginUpdate(4));
  EXPECT_TRUE(failure.beginUpdate(3));
  failure.report(5, userError("x"));
  EXPECT_TRUE(failure.consistent());
  EXPECT_FALSE(failure.beginUpdate(5));
  EXPECT_TRUE(failure.consistent());
  Failure late;
  EXPECT_TRUE(late.beginUpdate(5));
  late.report(5, userError("x"));
  EXPECT_FALSE(late.consistent());
}
