//===- Run.cpp - Trains as the options say --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include "Interrupt.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
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
  struct Output {
    const char *option;
    std::string path;
  };
  std::vector<Output> outputs() const; ///< Those asked for.
  rondo_session_options sessionOptions() const;
  bool checkOutputs();
  bool open();
  bool countSteps();
  InputFile readInput(const std::string &text) const;
  bool bindInputs();
  bool start(uint64_t count);
  bool train();
  bool trainUntil(uint64_t end);
  void record(const rondo_step_info &step);
  void log(const rondo_step_info &step, double seconds);
  void finish();
  void writeRecords();

  const Options &options;
  int code = 0;
  std::unique_ptr<rondo_program, Closer> program;
  std::unique_ptr<rondo_session, Closer> session;
  uint64_t steps = 0, started = 0;
  uint64_t kept = 0; ///< The step whose gradients are kept, plus 1; 0: none.
  std::vector<double> losses;
  File logFile;
  bool logFailed = false;
  int64_t before = 0; ///< When the step before ended.
  uint64_t ahead = 1; ///< Steps that are started at once.
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

/// Before anything that takes time: each file can be written, and none is
/// something else's.
bool Runner::checkOutputs() {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::pair<std::string, std::string>> users = {
      {options.program, "the program"}};
  // Which way to read them only the program says.
  for (const std::string &text : options.inputs)
    for (const auto &[name, path] : splitInput(text))
      users.emplace_back(path, "input '" + name + "'");
  for (const auto &[option, path] : outputs()) {
    std::string flag = std::string("--") + option;
    bool isFile = fs::status(path, error).type() <= fs::file_type::regular;
    for (const auto &[file, user] : users)
      if (isFile && rondo_same_file(file.c_str(), path.c_str()))
        return fail(flag + "=" + path + ": is also the file of " + user,
                    RONDO_BAD_OPTION);
    users.emplace_back(path, flag);
    // A log is written line by line, so a pipe will do.
    fs::file_type type = fs::status(path, error).type();
    if (option == std::string("log") &&
        (type == fs::file_type::fifo || type == fs::file_type::character)) {
      if (::access(path.c_str(), W_OK) != 0)
        return fail(path + ": cannot be written: " + std::strerror(errno));
      continue;
    }
    if (!check(rondo_check_output_file(path.c_str())))
      return false;
  }
  return true;
}

std::vector<Runner::Output> Runner::outputs() const {
  std::vector<Output> all = {{"save", options.save},
                             {"save-grads", options.saveGradients},
                             {"losses", options.losses},
                             {"trace", options.trace},
                             {"log", options.log}};
  std::erase_if(all, [](const Output &output) { return output.path.empty(); });
  return all;
}

rondo_session_options Runner::sessionOptions() const {
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
  given.tune = text(options.tune);
  given.retune = options.retune;
  return given;
}

bool Runner::open() {
  rondo_program *loaded = nullptr;
  if (!check(rondo_program_load(options.program.c_str(), &loaded)))
    return false;
  program.reset(loaded);
  rondo_session_options given = sessionOptions();
  for (const auto &[option, path] : outputs())
    if (!check(rondo_program_check_output(program.get(), given.weights,
                                          path.c_str(),
                                          option == std::string("save"))))
      return false;
  rondo_session *opened = nullptr;
  if (!check(rondo_session_open(program.get(), &given, &opened)))
    return false;
  session.reset(opened);
  return true;
}

/// As many as were asked for, or as the inputs hold samples for.
bool Runner::countSteps() {
  uint64_t available = 0;
  if (!check(rondo_session_get_steps(session.get(), &available, nullptr)) ||
      !check(rondo_session_get_report(session.get(), &shape)))
    return false;
  if (available == UINT64_MAX && options.steps < 0)
    return fail(
        "the program stages no inputs, so --steps must say how long to train");
  steps = options.steps > 0 ? (uint64_t)options.steps
                            : std::max<uint64_t>(available, 1);
  if (steps > available)
    return fail(
        std::to_string(steps) + (steps == 1 ? " step of " : " steps of ") +
        std::to_string(shape.samples_per_step) +
        " samples need more than the inputs hold: they are enough for " +
        std::to_string(available) +
        "; give fewer --steps, more samples, or --epochs to visit them "
        "again");
  return true;
}

/// The longest name that the program has: names may hold "=@" as well.
InputFile Runner::readInput(const std::string &text) const {
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  rondo_error_free(rondo_program_get_info(program.get(), &info));
  std::vector<InputFile> ways = splitInput(text);
  InputFile result = ways.front();
  for (const InputFile &way : ways)
    for (uint32_t i = 0; i < info.inputs; ++i) {
      rondo_input_info input = RONDO_INIT(rondo_input_info);
      rondo_error_free(rondo_program_get_input(program.get(), i, &input));
      if (way.first == input.name)
        result = way;
    }
  return result;
}

bool Runner::bindInputs() {
  std::set<std::string> bound;
  for (const std::string &text : options.inputs) {
    auto [name, path] = readInput(text);
    if (!bound.insert(name).second)
      return fail("--input=" + text +
                      ": names an input that has a file already",
                  RONDO_BAD_OPTION);
    if (!check(rondo_session_set_input_file(session.get(), name.c_str(),
                                            path.c_str())))
      return false;
  }
  if (!check(rondo_session_set_order(session.get(), options.shuffle,
                                     options.shuffleSeed, options.epochs)))
    return false;
  if (options.steps != 0 && !countSteps())
    return false;
  return options.reportAfter == 0 || options.reportAfter < steps ||
         fail("--report-after=" + std::to_string(options.reportAfter) +
                  " leaves none of " + std::to_string(steps) +
                  " steps to measure; give more --steps, or samples",
              RONDO_BAD_OPTION);
}

void Runner::log(const rondo_step_info &step, double seconds) {
  if (options.log.empty() || logFailed)
    return;
  // Not before there is something to say: a run that fails leaves what there
  // was.
  if (!logFile)
    logFile.reset(std::fopen(options.log.c_str(), "w"));
  if (logFile) {
    std::fprintf(logFile.get(),
                 "{\"step\":%" PRIu64 ",\"loss\":%.17g,\"gradient_norm\":",
                 step.step, step.loss);
    if (step.gradient_norm >= 0 && std::isfinite(step.gradient_norm))
      std::fprintf(logFile.get(), "%.17g", step.gradient_norm);
    else
      std::fputs("null", logFile.get());
    if (step.loss_scale > 0)
      std::fprintf(logFile.get(), ",\"loss_scale\":%.17g,\"skipped\":%s",
                   step.loss_scale, step.skipped ? "true" : "false");
    bool tokens = shape.tokens_per_step != 0;
    std::fprintf(
        logFile.get(),
        ",\"learning_rate\":%.17g,\"seconds\":%.9g,\"%s\":%.6g}\n",
        step.learning_rate, seconds,
        tokens ? "tokens_per_second" : "samples_per_second",
        (double)(tokens ? shape.tokens_per_step : shape.samples_per_step) /
            seconds);
  }
  // Training goes on.
  if (!logFile || std::fflush(logFile.get()) != 0) {
    logFailed = true;
    fail(options.log + ": cannot be written: " + std::strerror(errno));
  }
}

void Runner::record(const rondo_step_info &step) {
  losses.push_back(step.loss);
  double seconds = (double)(step.end_ns - before) / 1e9;
  before = step.end_ns;
  log(step, seconds);
  // Signals are heeded between steps: as many are started ahead as last a
  // fifth of a second.
  ahead = seconds > 0 ? (uint64_t)std::clamp(0.2 / seconds, 1.0, 4096.0) : 4096;
  std::string note;
  if (step.skipped)
    note = "  skipped: gradients overflow with a loss scale of " +
           std::to_string((long long)step.loss_scale);
  if (options.report == Options::Report::None)
    std::printf("step %" PRIu64 "  loss %.9g%s\n", step.step, step.loss,
                note.c_str());
  else if (terminal)
    std::fprintf(stderr, "\rstep %" PRIu64 " of %" PRIu64 "  loss %.6g\033[K",
                 step.step + 1, steps, step.loss);
}

/// Gradients are kept of the last step, and of the first ones so that the room
/// for them is taken at the beginning.
bool Runner::start(uint64_t count) {
  bool keep =
      !options.saveGradients.empty() &&
      (started == 0 || started + count == steps || Interrupt::getSignal() != 0);
  started += count;
  if (keep)
    kept = started;
  return check(rondo_session_start(session.get(), count, keep));
}

/// Trains up to step `end`, or ends as a signal asks.
bool Runner::trainUntil(uint64_t end) {
  while (true) {
    uint64_t step = losses.size();
    if (Interrupt::getSignal() == 0) {
      // Two steps are in flight; one more waits, so that nothing idles.
      while (started < end && started - step < ahead + 2)
        if (!start(std::min(ahead, end - started)))
          return false;
    } else if (started < steps && !options.saveGradients.empty() &&
               kept != started) {
      if (!start(1))
        return false;
    }
    if (step == started)
      break;
    rondo_step_info info = RONDO_INIT(rondo_step_info);
    if (!check(rondo_session_wait_step(session.get(), step, &info)))
      return false;
    record(info);
  }
  if (terminal && options.report != Options::Report::None)
    std::fputs("\r\033[K", stderr);
  return true;
}

bool Runner::train() {
  if (!check(rondo_session_set_learning_rate(
          session.get(), options.learningRate.c_str(), steps)))
    return false;
  before = std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
               .count();
  uint64_t first = options.reportAfter;
  if (first != 0) {
    if (!trainUntil(first))
      return false;
    if (Interrupt::getSignal() == 0 &&
        !check(rondo_session_begin_measuring(session.get())))
      return false;
  }
  return trainUntil(steps);
}

/// Everything that was asked for, whatever of it fails.
void Runner::finish() {
  rondo_names names =
      options.sourceNames ? RONDO_SOURCE_NAMES : RONDO_ONNX_NAMES;
  if (!options.save.empty())
    check(rondo_session_save(session.get(), options.save.c_str(), RONDO_VALUE,
                             names));
  if (!options.saveGradients.empty())
    check(rondo_session_save(session.get(), options.saveGradients.c_str(),
                             RONDO_GRADIENT, names));
  if (options.report != Options::Report::None)
    check(printReport(options, program.get(), session.get(), losses));
  writeRecords();
}

/// What one wants to see after an error, too.
void Runner::writeRecords() {
  if (!options.losses.empty()) {
    std::string text = "step,loss\n";
    char line[64];
    for (size_t step = 0; step < losses.size(); ++step) {
      std::snprintf(line, sizeof line, "%zu,%.17g\n", step, losses[step]);
      text += line;
    }
    check(rondo_write_file(options.losses.c_str(), text.data(), text.size()));
  }
  if (!options.trace.empty())
    check(rondo_session_write_trace(session.get(), options.trace.c_str()));
}

int Runner::run() {
  rondo_session_options given = sessionOptions();
  if (!check(rondo_check_session_options(&given)) || !checkOutputs() ||
      !open() || !bindInputs())
    return code;
  Interrupt interrupt;
  if (!train()) {
    if (!losses.empty())
      writeRecords();
    return code;
  }
  bool isCut = losses.size() < steps;
  if (isCut)
    std::fprintf(stderr,
                 "rondo-run: %s: stopped after %zu of %" PRIu64 " steps\n",
                 Interrupt::getSignal() == SIGINT ? "SIGINT" : "SIGTERM",
                 losses.size(), steps);
  finish();
  return code == 0 && isCut ? 128 + Interrupt::getSignal() : code;
}

int rondo::run::run(const Options &options) { return Runner(options).run(); }
