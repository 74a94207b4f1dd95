//===- Options.cpp - Options of rondo-run ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Options.h"
#include <charconv>
#include <cmath>
#include <functional>
#include <set>

using namespace rondo::run;

namespace {

struct Option {
  const char *name;
  const char *value; ///< What its value is called; null: it has none.
  const char *help;
  /// Empty, or why the value is wrong.
  std::function<std::string(Options &, const std::string &)> set;
};

} // namespace

template <typename T>
static std::string parseNumber(const std::string &text, T &number) {
  auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && stop == text.data() + text.size())
    return "";
  return std::is_floating_point_v<T> ? "is not a number"
                                     : "is not a whole number in range";
}

static std::string setInput(Options &options, const std::string &value) {
  if (splitInput(value).empty())
    return "is not of the form NAME=@FILE.npy";
  options.inputs.push_back(value);
  return "";
}

std::vector<InputFile> rondo::run::splitInput(const std::string &text) {
  std::vector<InputFile> ways;
  for (size_t at = text.find("=@", 1); at != std::string::npos;
       at = text.find("=@", at + 1))
    if (at + 2 < text.size())
      ways.emplace_back(text.substr(0, at), text.substr(at + 2));
  return ways;
}

static std::string refuse(Options &, const std::string &) {
  return "is not supported yet: this version saves weights (--save), not "
         "checkpoints to resume from";
}

static auto text(std::string Options::*member) {
  return [member](Options &options, const std::string &value) -> std::string {
    options.*member = value;
    return value.empty() ? "is empty" : "";
  };
}

static auto flag(bool Options::*member) {
  return [member](Options &options, const std::string &) -> std::string {
    options.*member = true;
    return "";
  };
}

static const std::vector<Option> &allOptions() {
  static const std::vector<Option> options = {
      {"device", "host:N|cuda:N",
       "the pool of devices to train on; default: as many as the program was "
       "compiled for, of that kind",
       text(&Options::device)},
      {"input", "NAME=@FILE.npy",
       "samples of a model input along axis 0, consumed in order; one for each "
       "input",
       setInput},
      {"steps", "N",
       "steps to train; default: as many as the inputs hold samples for",
       [](Options &options, const std::string &value) {
         std::string error = parseNumber(value, options.steps);
         return error.empty() && options.steps < 0
                    ? "is not a whole number in range"
                    : error;
       }},
      {"epochs", "N", "how often the samples are visited; default: 1",
       [](Options &options, const std::string &value) {
         std::string error = parseNumber(value, options.epochs);
         return error.empty() && options.epochs == 0
                    ? "leaves nothing to train on"
                    : error;
       }},
      {"shuffle", "SEED",
       "visit the samples in random order, another one in each epoch",
       [](Options &options, const std::string &value) {
         options.shuffle = true;
         return parseNumber(value, options.shuffleSeed);
       }},
      {"lr-schedule", "SHAPE[,warmup=N][,min=RATE]",
       "constant, linear or cosine, from the program's learning rate to min",
       text(&Options::learningRate)},
      {"weights", "FILE|DIR|random:SEED",
       "initial weights: .safetensors, an index (.json), a folder of them; "
       "default: what the model came with",
       text(&Options::weights)},
      {"weights-prefix", "PREFIX",
       "before every parameter's name in those files",
       text(&Options::weightsPrefix)},
      {"save", "FILE.safetensors", "write the trained weights",
       text(&Options::save)},
      {"save-grads", "FILE.safetensors",
       "write the last step's gradients, before clipping",
       text(&Options::saveGradients)},
      {"names", "onnx|source",
       "names and layout of what is written: the ONNX initializers' (default) "
       "or the model's own",
       [](Options &options, const std::string &value) -> std::string {
         options.sourceNames = value == "source";
         return value == "onnx" || value == "source"
                    ? ""
                    : "is neither onnx nor source";
       }},
      {"losses", "FILE.csv", "write step,loss with all digits",
       text(&Options::losses)},
      {"log", "FILE.jsonl",
       "write loss, gradient norm, learning rate and speed of each step, as "
       "it ends",
       text(&Options::log)},
      {"trace", "FILE.json",
       "write when each operation ran, for chrome://tracing or ui.perfetto.dev",
       text(&Options::trace)},
      {"report", "text|json",
       "print what happened: losses, speed, bytes moved, busy lanes, memory",
       [](Options &options, const std::string &value) -> std::string {
         options.report =
             value == "json" ? Options::Report::Json : Options::Report::Text;
         return value == "text" || value == "json" ? ""
                                                   : "is neither text nor json";
       }},
      {"report-after", "N",
       "measure the steps after the first N, from all done to all done",
       [](Options &options, const std::string &value) {
         std::string error = parseNumber(value, options.reportAfter);
         return error.empty() && options.reportAfter == 0 ? "leaves out none"
                                                          : error;
       }},
      {"tune", "FILE.json",
       "GPUs: time algorithms for products that the file does not hold yet, "
       "add "
       "the fastest, and use what it holds",
       text(&Options::tune)},
      {"retune", nullptr, "time what the file of --tune holds again",
       flag(&Options::retune)},
      {"host-threads", "N",
       "threads that share the optimizer's work; default: one a processor, "
       "less those that devices need",
       [](Options &options, const std::string &value) {
         std::string error = parseNumber(value, options.hostThreads);
         return error.empty() && options.hostThreads == 0
                    ? "is not between 1 and 1024"
                    : error;
       }},
      {"list-devices", nullptr, "print what devices this machine has, and end",
       flag(&Options::listDevices)},
      {"checkpoint", "DIR", "not supported yet", refuse},
      {"every", "N", "not supported yet", refuse},
      {"resume", "DIR", "not supported yet", refuse},
      {"watchdog", "SECONDS",
       "fail when no operation ends for so long, and say who waits for what; "
       "0: never; default: 300, or 10 predicted steps if they are longer",
       [](Options &options, const std::string &value) -> std::string {
         std::string error = parseNumber(value, options.watchdog);
         if (error.empty() &&
             !(options.watchdog >= 0 && std::isfinite(options.watchdog)))
           return "is not a time";
         if (options.watchdog == 0)
           options.watchdog = -1;
         return error;
       }},
      {"delay-us", "N",
       "debugging: random pauses of up to N microseconds before operations",
       [](Options &options, const std::string &value) {
         std::string error = parseNumber(value, options.delayMicroseconds);
         return error.empty() && options.delayMicroseconds == 0 ? "is no pause"
                                                                : error;
       }},
      {"delay-seed", "SEED", "debugging: which pauses",
       [](Options &options, const std::string &value) {
         return parseNumber(value, options.delaySeed);
       }},
      {"help", nullptr, "print this, and end", flag(&Options::help)},
      {"version", nullptr, "print the version, and end",
       flag(&Options::version)},
  };
  return options;
}

static std::string parseOption(Options &options, const std::string &name,
                               const std::string *value, bool &wantsValue) {
  wantsValue = false;
  for (const Option &option : allOptions()) {
    if (name != option.name)
      continue;
    if (option.value && !value) {
      wantsValue = true;
      return "";
    }
    if (!option.value && value)
      return "--" + name + " takes no value";
    std::string error = option.set(options, value ? *value : "");
    return error.empty()
               ? ""
               : "--" + name + (value ? "=" + *value : "") + ": " + error;
  }
  return "unknown option '--" + name + "'; see rondo-run --help";
}

/// What changes nothing without something else that is missing.
static std::string checkCombination(const Options &options,
                                    const std::set<std::string> &given) {
  auto has = [&](const char *name) { return given.count(name) != 0; };
  if (has("retune") && !has("tune"))
    return "--retune: there is no --tune=FILE whose products it could time "
           "again";
  if (has("names") && !has("save") && !has("save-grads"))
    return "--names: neither --save nor --save-grads writes any";
  if (has("report-after") && !has("report"))
    return "--report-after: without --report nothing is measured";
  if (has("delay-seed") && !has("delay-us"))
    return "--delay-seed: without --delay-us there are no pauses";
  if (options.steps != 0)
    return "";
  for (const char *name :
       {"input", "save-grads", "epochs", "shuffle", "lr-schedule"})
    if (has(name))
      return std::string("--") + name + ": no step is taken with --steps=0";
  return "";
}

std::string rondo::run::parseOptions(int argc, const char *const *argv,
                                     Options &options) {
  bool onlyNames = false;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--" && !onlyNames) {
      onlyNames = true;
      continue;
    }
    if (onlyNames || word.size() < 2 || word[0] != '-') {
      if (!options.program.empty())
        return "one program at a time, not '" + options.program + "' and '" +
               word + "'";
      options.program = word;
      continue;
    }
    word.erase(0, word[1] == '-' ? 2 : 1);
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals),
                value =
                    equals == std::string::npos ? "" : word.substr(equals + 1);
    bool wantsValue = false;
    std::string error =
        parseOption(options, name,
                    equals == std::string::npos ? nullptr : &value, wantsValue);
    // "--steps 4" as well as "--steps=4".
    if (wantsValue) {
      if (i + 1 == argc)
        return "--" + name + " needs a value";
      value = argv[++i];
      error = parseOption(options, name, &value, wantsValue);
    }
    if (!error.empty())
      return error;
    if (!given.insert(name).second && name != "input")
      return "--" + name + " is given twice";
  }
  if (std::string error = checkCombination(options, given); !error.empty())
    return error;
  if (options.program.empty() && !options.help && !options.version &&
      !options.listDevices)
    return "no program given; usage: rondo-run MODEL.rondo "
           "--input=NAME=@FILE.npy ... (see rondo-run --help)";
  return "";
}

std::string rondo::run::helpText() {
  std::string help = "Usage: rondo-run MODEL.rondo [options]\n\nTrains a "
                     "program made by rondo-compile.\n\n";
  for (const Option &option : allOptions()) {
    std::string line = std::string("  --") + option.name +
                       (option.value ? std::string("=") + option.value : "");
    help += line +
            (line.size() < 30 ? std::string(30 - line.size(), ' ')
                              : "\n" + std::string(30, ' ')) +
            option.help + "\n";
  }
  return help +
         "\nThe first SIGINT or SIGTERM ends training after the steps in "
         "flight; everything asked for is\nwritten. The second ends the "
         "process "
         "at once.\n\nExit status: 0 done, 1 an input or file cannot be used, "
         "2 "
         "bad options, 4 device error, 70 internal error,\n128 and the "
         "signal's "
         "number (130, 143) when training was cut short.\n";
}
