//===- Training.h - Training the tests' program -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_TRAINING_H
#define RONDO_UNITTESTS_RUNTIME_TRAINING_H

#include "ProgramBuilder.h"
#include "rondo/Runtime/Session.h"
#include <cmath>
#include <gtest/gtest.h>

namespace rondo::runtime::testing {

/// What a run leaves, to be compared to the bit.
struct Outcome {
  std::vector<double> losses, norms;
  std::vector<float> w0, b0, w1, m0, v0, g0, gb, g1;
  bool operator==(const Outcome &) const = default;
};

#define EXPECT_OK(expression)                                                  \
  do {                                                                         \
    Status status_ = (expression);                                             \
    EXPECT_TRUE(status_.ok()) << status_.message();                            \
  } while (false)

inline std::vector<float> read(Session &session, const std::string &name,
                               uint32_t quantity, uint64_t count) {
  std::vector<float> values(count);
  EXPECT_OK(session.readParameter(name, quantity, values));
  return values;
}

struct Running {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  ToyData data; // Outlives the session, which reads it until it is closed.
  std::unique_ptr<Session> session;

  Running(const ToyOptions &options, uint64_t steps,
          SessionOptions sessionOptions = {}) {
    data = toyData(options, steps);
    EXPECT_OK(Program::load(writeToy(folder, options), program));
    if (sessionOptions.hostThreads == 0)
      sessionOptions.hostThreads = 2;
    EXPECT_OK(Session::open(*program, sessionOptions, session));
    bind();
  }
  void bind() {
    auto samples = (int64_t)data.samples;
    EXPECT_OK(session->setInput("x", program::ElementType::F32,
                                std::vector<int64_t>{samples, TOY_COLUMNS},
                                data.x.data()));
    EXPECT_OK(session->setInput("labels", program::ElementType::I64,
                                std::vector<int64_t>{samples},
                                data.labels.data()));
  }
};

inline Outcome outcomeOf(Session &session, uint64_t steps) {
  Outcome outcome;
  for (uint64_t step = 0; step < steps; ++step) {
    StepResult result;
    EXPECT_OK(session.waitStep(step, result));
    EXPECT_EQ(result.step, step);
    outcome.losses.push_back(result.loss);
    outcome.norms.push_back(result.gradientNorm);
  }
  outcome.w0 = read(session, "val_1", 0, kToyWeight);
  outcome.b0 = read(session, "layer0.bias", 0, TOY_COLUMNS);
  outcome.w1 = read(session, "layer1.weight", 0, kToyWeight);
  outcome.m0 = read(session, "val_1", 2, kToyWeight);
  outcome.v0 = read(session, "val_1", 3, kToyWeight);
  return outcome;
}

inline Outcome train(const ToyOptions &options, uint64_t steps,
                     SessionOptions sessionOptions = {}) {
  Running running(options, steps, std::move(sessionOptions));
  EXPECT_OK(running.session->start(steps, /*captureGradients=*/true));
  Outcome outcome = outcomeOf(*running.session, steps);
  outcome.g0 = read(*running.session, "val_1", 1, kToyWeight);
  outcome.gb = read(*running.session, "layer0.bias", 1, TOY_COLUMNS);
  outcome.g1 = read(*running.session, "layer1.weight", 1, kToyWeight);
  return outcome;
}

/// |a - b| over |a - start|: how far two trainings lie apart, as a share of the
/// way they went.
inline double apart(const std::vector<float> &found,
                    const std::vector<double> &exact,
                    const std::vector<float> &start) {
  double difference = 0, way = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(found[i] - exact[i], 2);
    way += std::pow(exact[i] - (start.empty() ? 0.0 : start[i]), 2);
  }
  return std::sqrt(difference / way);
}

inline void expectLike(const Outcome &outcome, const ToyReference &reference,
                       bool clipped, double tolerance = 1e-4) {
  for (size_t step = 0; step < reference.losses.size(); ++step) {
    EXPECT_NEAR(outcome.losses[step], reference.losses[step],
                1e-5 * reference.losses[step] * tolerance / 1e-4)
        << step;
    if (clipped)
      EXPECT_NEAR(outcome.norms[step], reference.norms[step],
                  tolerance * reference.norms[step])
          << step;
    else
      EXPECT_EQ(outcome.norms[step], -1);
  }
  EXPECT_LT(apart(outcome.w0, reference.w0, toyWeights(kToyWeight, 1)),
            10 * tolerance);
  EXPECT_LT(apart(outcome.b0, reference.b0, toyWeights(TOY_COLUMNS, 2)),
            10 * tolerance);
  EXPECT_LT(apart(outcome.w1, reference.w1, toyWeights(kToyWeight, 3)),
            10 * tolerance);
  EXPECT_LT(apart(outcome.g0, reference.g0, {}), tolerance);
  EXPECT_LT(apart(outcome.gb, reference.gb, {}), tolerance);
  EXPECT_LT(apart(outcome.g1, reference.g1, {}), tolerance);
}

inline ToyOptions toy(uint32_t devices, uint32_t rounds, uint32_t microBatches,
                      uint32_t staleness = 0, bool bf16 = false,
                      bool weigh = false, double clip = 0) {
  ToyOptions options;
  options.devices = devices;
  options.rounds = rounds;
  options.microBatches = microBatches;
  options.staleness = staleness;
  options.bf16 = bf16;
  options.weighByLabels = weigh;
  options.clipNorm = clip;
  return options;
}

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_TRAINING_H
