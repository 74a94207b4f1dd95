//===- Session.h - A program in training ------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A session owns the memory, the lanes and the threads of one training run. It
// is used from one thread. Steps are numbered from 0.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_SESSION_H
#define RONDO_RUNTIME_SESSION_H

#include "rondo/Runtime/Device.h"
#include "rondo/Runtime/Program.h"
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace rondo::runtime {

constexpr double kWatchdogSeconds = 300;

struct SessionOptions {
  std::string device; ///< "host:4"; empty: as many as the program wants, of the
                      ///< kind it has code for.
  uint32_t hostThreads = 0;  ///< Threads that share the optimizer's work; 0:
                             ///< one a processor, less those of devices.
  std::string weights;       ///< FILE.safetensors, INDEX.json, a directory,
                             ///< random:SEED; empty: what the program names.
  std::string weightsPrefix; ///< Before every name in those files.
  std::string learningRate = "constant"; ///< See LearningRate::parse.
  uint64_t totalSteps = 0; ///< For the learning rate: steps of the whole run.
  double watchdogSeconds = 0; ///< When no operation ends for so long the
                              ///< session fails, saying who waits for what; 0:
                              ///< kWatchdogSeconds or 10 predicted steps,
                              ///< whichever is longer; negative: never.
  bool trace = false;         ///< Remember when each operation ran.
  /// GPUs time algorithms for products that this file (JSON) does not hold yet,
  /// write them there, and use what it holds; empty: the library's own choices.
  /// `retune`: what it holds is timed again.
  std::string tuneFile;
  bool retune = false;
  Delays delays;
  /// For tests: makes what stands in each device's place.
  std::function<std::unique_ptr<Device>(std::unique_ptr<Device>,
                                        const DeviceOptions &)>
      decorate;
};

/// What is known of a step once all of it is done.
struct StepResult {
  uint64_t step = 0;
  double loss = 0;
  double gradientNorm =
      -1; ///< Before clipping; -1 if the program computes none.
  double learningRate = 0;
  int64_t end = 0;      ///< runtime::now() when its last operation ended.
  double lossScale = 0; ///< That its gradients were computed with; 0: none.
  bool skipped = false; ///< They overflowed: there was no update.
};

/// What happened since the session was opened, or since beginMeasuring.
struct LaneReport {
  std::string name; ///< "device 0 Compute"
  double busySeconds = 0;
  uint64_t copiedBytes = 0;
};
struct SessionReport {
  uint64_t steps = 0;
  uint64_t firstStep = 0; ///< Steps before were not measured.
  double seconds = 0; ///< From the first step's begin to the last one's end.
  double stepSeconds = 0;  ///< After beginMeasuring, `seconds` over `steps`.
                           ///< Else between the ends of two steps, on average;
                           ///< of the only step, if there is one.
  double issueSeconds = 0; ///< The controller's thread spent on issuing.
  double bubble = 0;       ///< Share of `seconds` that compute lanes were idle.
  double flopsPerStep = 0; ///< Of matrix products, on all devices, those that
                           ///< are computed again counted again.
  uint64_t uploadedBytes = 0, downloadedBytes = 0, peerBytes = 0;
  uint64_t samplesPerStep = 0;
  uint64_t tokensPerStep =
      0; ///< Elements of the first integer input of rank 2; 0: there is none.
  uint64_t skippedSteps = 0; ///< For overflow of f16 gradients.
  double lossScale = 0;      ///< Of the last step; 0: losses are not scaled.
  std::vector<LaneReport> lanes;
  std::vector<DeviceReport> devices;
  /// Hashes of all that decides the bits of a step: with the devices' choices,
  /// and the program's alone. Equal on devices without any.
  std::string arithmetic, programArithmetic;
  std::string products; ///< As DeviceReport's.
};

class Session {
public:
  /// What can be said of options without a program; `open` does it, too.
  static Status checkOptions(const SessionOptions &options);
  /// `program` outlives the session.
  static Status open(const Program &program, const SessionOptions &options,
                     std::unique_ptr<Session> &session);
  /// Waits for the steps in flight. After the watchdog has struck there is
  /// nothing to wait for: threads and memory are left.
  ~Session();

  Status setInputFile(const std::string &name, const std::string &path);
  /// `data`: samples along axis 0; stays alive and unchanged until replaced or
  /// the session ends.
  Status setInput(const std::string &name, program::ElementType type,
                  std::span<const int64_t> shape, const void *data);
  /// How often, and in which order, samples are visited. Before the first step.
  Status setOrder(bool shuffle, uint64_t seed, uint32_t epochs);
  Status setLearningRate(const std::string &schedule, uint64_t totalSteps);
  /// Steps that the inputs still hold samples for.
  Status stepsAvailable(uint64_t &steps) const;
  uint64_t stepsPerEpoch() const;

  /// Lets `steps` more steps run; returns at once. With `captureGradients`,
  /// those of the last of them are kept.
  Status start(uint64_t steps, bool captureGradients = false);
  /// Waits until the step's loss is known; its update may still run.
  Status waitLoss(uint64_t step, double &loss);
  /// Waits until all of the step is done.
  Status waitStep(uint64_t step, StepResult &result);
  /// Waits for everything started.
  Status synchronize();
  uint64_t startedSteps() const;
  /// Steps whose updates are all applied: those started, or, after a failure,
  /// those before the step that failed.
  uint64_t completedSteps() const;

  /// Quantities as in Parameters.h: 0 value, 1 gradient (of the step captured),
  /// 2 and 3 moments. f32, in the initializer's layout; `values` holds exactly
  /// the parameter's elements. Waits for what was started.
  Status readParameter(const std::string &name, uint32_t quantity,
                       std::span<float> values);
  Status writeParameter(const std::string &name, uint32_t quantity,
                        std::span<const float> values);
  /// Whether a file may be written there: not where the session reads. See
  /// Program::checkNotRead; save and writeTrace do it, too.
  Status checkOutput(const std::string &path, bool isSave) const;
  /// Safetensors of every parameter's quantity; `sourceNames`: under source
  /// names and in their layout.
  Status save(const std::string &path, uint32_t quantity, bool sourceNames);
  /// Waits for what was started; report() is of later steps alone.
  Status beginMeasuring();
  /// Chrome's trace format.
  Status writeTrace(const std::string &path);
  Status report(SessionReport &report);

  struct Impl;

private:
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_SESSION_H
