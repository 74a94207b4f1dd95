//===- Run.cpp - Trains as the options say --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <unistd.h>

using namespace rondo::run;

namespace {

struct Closer {
  void operator()(rondo_program *program) const { rondo_program_free(program); }
  void operator()(rondo_session *session) const {
    rondo_session_close(session);
  }
  void operator()(std::FILE *file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

/// One run. Functions return false once an error was printed.
class Runner {
public:
  explicit Runner(const Options &options) : options(options) {}
  int run();

private:
  bool check(rondo_error *error);
  bool fail(const std::string &message, rondo_code why = RONDO_USER_ERROR);
  bool open();
  bool openFile(const std::string &path, File &file);
  bool bindInputs();
  bool train();
  bool trainSteps(uint64_t count, bool keepGradients);
  void record(const rondo_step_info &step);
  bool finish();

  const Options &options;
  int code = 0;
  std::unique_ptr<rondo_program, Closer> program;
  std::unique_ptr<rondo_session, Closer> session;
  uint64_t steps = 0;
  std::vector<double> losses;
  File lossFile, logFile;
  int64_t before = 0; ///< When the step before ended.
  rondo_session_report shape = RONDO_INIT(rondo_session_report);
  bool terminal = isatty(STDERR_FILENO) != 0;
};

} // namespace

bool Runner::check(rondo_error *error) {
  if (!error)
    return true;
  if (terminal)
    std::fputs("\r\033[K", stderr);
  std::fprintf(stderr, "rondo-run: error: %s\n", rondo_error_message(error));
  code = (int)rondo_error_code(error);
  rondo_error_free(error);
  return false;
}

bool Runner::fail(const std::string &message, rondo_code why) {
  std::fprintf(stderr, "rondo-run: error: %s\n", message.c_str());
  code = why;
  return false;
}

bool Runner::open() {
  rondo_program *loaded = nullptr;
  if (!check(rondo_program_load(options.program.c_str(), &loaded)))
    return false;
  program.reset(loaded);
  rondo_session_options given = RONDO_INIT(rondo_session_options);
  auto text = [](const std::string &value) {
    return value.empty() ? nullptr : value.c_str();
  };
  given.device = text(options.device);
  given.host_threads = options.hostThreads;
  given.weights = text(options.weights);
  given.weights_prefix = text(options.weightsPrefix);
  given.trace = !options.trace.empty();
  given.watchdog_seconds = options.watchdog;
  given.delay_seed = options.delaySeed;
  given.delay_us = options.delayMicroseconds;
  rondo_session *opened = nullptr;
  if (!check(rondo_session_open(program.get(), &given, &opened)))
    return false;
  session.reset(opened);
  return true;
}

bool Runner::openFile(const std::string &path, File &file) {
  if (path.empty())
    return true;
  file.reset(std::fopen(path.c_str(), "w"));
  return file || fail(path + ": cannot be written");
}

bool Runner::bindInputs() {
  for (const auto &[name, path] : options.inputs)
    if (!check(rondo_session_set_input_file(session.get(), name.c_str(),
                                            path.c_str())))
      return false;
  if (!check(rondo_session_set_order(session.get(), options.shuffle,
                                     options.shuffleSeed, options.epochs)))
    return false;
  if (options.steps != 0) {
    uint64_t available = 0;
    if (!check(rondo_session_get_steps(session.get(), &available, nullptr)))
      return false;
    // Where there is not even one step, let the session say what is missing.
    steps = options.steps > 0 ? (uint64_t)options.steps
            : available == 0  ? 1
                              : available;
    if (available == UINT64_MAX && options.steps < 0)
      return fail("the program stages no inputs, so --steps must say how long "
                  "to train");
    if (available == 0)
      return true;
  }
  return options.reportAfter == 0 || options.reportAfter < steps ||
         fail("--report-after=" + std::to_string(options.reportAfter) +
                  " leaves none of " + std::to_string(steps) +
                  " steps to measure; give more --steps, or samples",
              RONDO_BAD_OPTION);
}

void Runner::record(const rondo_step_info &step) {
  losses.push_back(step.loss);
  double seconds = (double)(step.end_ns - before) / 1e9;
  before = step.end_ns;
  if (lossFile)
    std::fprintf(lossFile.get(), "%" PRIu64 ",%.17g\n", step.step, step.loss);
  if (logFile) {
    std::fprintf(logFile.get(),
                 "{\"step\":%" PRIu64 ",\"loss\":%.17g,\"gradient_norm\":",
                 step.step, step.loss);
    if (step.gradient_norm >= 0)
      std::fprintf(logFile.get(), "%.17g", step.gradient_norm);
    else
      std::fputs("null", logFile.get());
    bool tokens = shape.tokens_per_step != 0;
    std::fprintf(
        logFile.get(),
        ",\"learning_rate\":%.17g,\"seconds\":%.9g,\"%s\":%.6g}\n",
        step.learning_rate, seconds,
        tokens ? "tokens_per_second" : "samples_per_second",
        (double)(tokens ? shape.tokens_per_step : shape.samples_per_step) /
            seconds);
    std::fflush(logFile.get());
  }
  if (options.report == Options::Report::None)
    std::printf("step %" PRIu64 "  loss %.9g\n", step.step, step.loss);
  else if (terminal)
    std::fprintf(stderr, "\rstep %" PRIu64 " of %" PRIu64 "  loss %.6g\033[K",
                 step.step + 1, steps, step.loss);
}

bool Runner::trainSteps(uint64_t count, bool keepGradients) {
  if (!check(rondo_session_start(session.get(), count, keepGradients)))
    return false;
  for (uint64_t last = losses.size() + count; losses.size() < last;) {
    rondo_step_info info = RONDO_INIT(rondo_step_info);
    if (!check(rondo_session_wait_step(session.get(), losses.size(), &info)))
      return false;
    record(info);
  }
  if (terminal && options.report != Options::Report::None)
    std::fputs("\r\033[K", stderr);
  return true;
}

bool Runner::train() {
  if (!check(rondo_session_set_learning_rate(
          session.get(), options.learningRate.c_str(), steps)) ||
      !check(rondo_session_get_report(session.get(), &shape)))
    return false;
  if (!openFile(options.losses, lossFile) || !openFile(options.log, logFile))
    return false;
  if (lossFile)
    std::fputs("step,loss\n", lossFile.get());
  before = std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
               .count();
  bool keep = !options.saveGradients.empty();
  uint64_t first = options.reportAfter;
  return (first == 0 ||
          (trainSteps(first, false) &&
           check(rondo_session_begin_measuring(session.get())))) &&
         trainSteps(steps - first, keep);
}

bool Runner::finish() {
  rondo_names names =
      options.sourceNames ? RONDO_SOURCE_NAMES : RONDO_ONNX_NAMES;
  if (!options.save.empty() &&
      !check(rondo_session_save(session.get(), options.save.c_str(),
                                RONDO_VALUE, names)))
    return false;
  if (!options.saveGradients.empty() &&
      !check(rondo_session_save(session.get(), options.saveGradients.c_str(),
                                RONDO_GRADIENT, names)))
    return false;
  if (options.report != Options::Report::None &&
      !check(printReport(options, program.get(), session.get(), losses)))
    return false;
  for (auto &[file, path] : {std::pair(&lossFile, &options.losses),
                             std::pair(&logFile, &options.log)})
    if (*file &&
        (std::ferror(file->get()) || std::fclose(file->release()) != 0))
      return fail(*path + ": cannot be written");
  return true;
}

int Runner::run() {
  if (!open() || !bindInputs())
    return code;
  bool trained = train() && finish();
  // What ran before an error is what one wants to see then.
  if (!options.trace.empty() && losses.size() > 0 &&
      !check(rondo_session_write_trace(session.get(), options.trace.c_str())))
    return code;
  return trained ? 0 : code;
}

int rondo::run::run(const Options &options) { return Runner(options).run(); }
