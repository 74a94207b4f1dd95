//===- Options.cpp - Values of the command line --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/JsonDepth.h"
#include "rondo/Support/Config.h"
#include "rondo/Support/Pattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace rondo;

/// Sizes stay below what a signed number of 64 bits holds.
static constexpr double kMostBytes = 9e18;

static Error fail(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

/// A step computes in f32: neither infinite there nor, unless it is, 0.
static bool fitsFloat(double number) {
  auto narrow = (float)number;
  return std::isfinite(narrow) && (narrow != 0 || number == 0);
}

/// Splits "key=value"; the value must be a finite number.
static Expected<std::pair<StringRef, double>> parseSetting(StringRef text) {
  auto [key, value] = text.split('=');
  double number;
  if (!text.contains('=') || value.getAsDouble(number) ||
      !std::isfinite(number))
    return fail("'" + text + "' is not KEY=NUMBER");
  return std::make_pair(key, number);
}

Expected<OptimizerConfig> rondo::parseOptimizer(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  OptimizerConfig optimizer;
  optimizer.kind = parts.front().str();
  if (optimizer.kind != "adamw")
    return fail("optimizer '" + parts.front() + "' is not known; known: adamw");
  StringSet<> given;
  for (StringRef part : drop_begin(parts)) {
    auto setting = parseSetting(part);
    if (!setting)
      return setting.takeError();
    auto [key, value] = *setting;
    double *field = StringSwitch<double *>(key)
                        .Case("lr", &optimizer.learningRate)
                        .Case("beta1", &optimizer.beta1)
                        .Case("beta2", &optimizer.beta2)
                        .Case("eps", &optimizer.epsilon)
                        .Case("weight-decay", &optimizer.weightDecay)
                        .Default(nullptr);
    if (!field)
      return fail("adamw has no setting '" + key +
                  "'; known: lr, beta1, beta2, eps, weight-decay");
    if (!given.insert(key).second)
      return fail("adamw: " + key + " is given twice");
    // 1 as an f32 is 1.
    bool ratio = key == "beta1" || key == "beta2";
    if (value < 0 || (ratio && (float)value >= 1))
      return fail("adamw: " + part +
                  (ratio ? " must be in [0, 1)" : " must not be negative"));
    if (!fitsFloat(value))
      return fail("adamw: " + part + " is beyond the range of f32");
    *field = value;
  }
  return optimizer;
}

Expected<ParameterGroup> rondo::parseParameterGroup(StringRef text) {
  // The pattern may hold commas: settings are taken from the right while they
  // are KEY=NUMBER.
  ParameterGroup group;
  SmallVector<std::pair<std::string, double>> settings;
  StringRef rest = text;
  while (true) {
    auto [head, tail] = rest.rsplit(',');
    if (tail.empty())
      break;
    auto setting = parseSetting(tail);
    if (!setting) {
      consumeError(setting.takeError());
      break;
    }
    if (setting->first != "weight-decay" && setting->first != "lr")
      return fail("a parameter group has no setting '" + setting->first +
                  "'; known: weight-decay, lr");
    for (const auto &[key, value] : settings)
      if (key == setting->first)
        return fail("parameter group '" + text + "': " + key +
                    " is given twice");
    if (setting->second < 0)
      return fail("parameter group: " + tail + " must not be negative");
    if (!fitsFloat(setting->second))
      return fail("parameter group: " + tail + " is beyond the range of f32");
    settings.push_back({setting->first.str(), setting->second});
    rest = head;
  }
  if (settings.empty())
    return fail(
        "parameter group '" + text +
        "' has no setting; write REGEX,weight-decay=NUMBER or REGEX,lr=NUMBER");
  if (std::string fault = findPatternFault(rest); !fault.empty())
    return fail("parameter group '" + rest + "' " + fault);
  group.pattern = rest.str();
  group.settings.assign(settings.rbegin(), settings.rend());
  return group;
}

bool ParameterGroup::matches(ArrayRef<std::string> names) const {
  Regex whole("^(" + pattern + ")$");
  return any_of(names, [&](const std::string &name) {
    return !name.empty() && whole.match(name);
  });
}

Expected<double> rondo::parseClipNorm(StringRef text) {
  double number;
  if (text.getAsDouble(number) || !(number > 0) || !fitsFloat(number))
    return fail("'" + text +
                "' is not a positive number in the range of f32; "
                "without the flag nothing is clipped");
  return number;
}

Expected<int64_t> rondo::parseBytes(StringRef text) {
  StringRef digits =
      text.take_while([](char c) { return isDigit(c) || c == '.'; });
  StringRef unit = text.drop_front(digits.size());
  double factor = StringSwitch<double>(unit)
                      .Cases({"", "B"}, 1)
                      .Case("KB", 1e3)
                      .Case("MB", 1e6)
                      .Case("GB", 1e9)
                      .Case("TB", 1e12)
                      .Case("KiB", 1024.)
                      .Case("MiB", 1048576.)
                      .Case("GiB", 1073741824.)
                      .Case("TiB", 1099511627776.)
                      .Default(0);
  double number;
  if (digits.empty() || digits.getAsDouble(number) || factor == 0 ||
      number * factor >= kMostBytes)
    return fail("'" + text +
                "' is not a size; write 24GiB, 800MB or a number of bytes");
  if (number * factor < 1)
    return fail("'" + text +
                "' is less than a byte; leave the flag out for the default");
  return (int64_t)(number * factor);
}

Expected<Recompute> rondo::parseRecompute(StringRef text) {
  int value = StringSwitch<int>(text)
                  .Case("auto", 0)
                  .Case("full", 1)
                  .Case("elementwise", 2)
                  .Case("none", 3)
                  .Default(-1);
  if (value < 0)
    return fail(
        "'" + text +
        "' is not a way to recompute; known: auto, full, elementwise, none");
  return (Recompute)value;
}

Expected<Attention> rondo::parseAttention(StringRef text) {
  int value = StringSwitch<int>(text)
                  .Case("auto", 0)
                  .Case("library", 1)
                  .Case("decomposed", 2)
                  .Default(-1);
  if (value < 0)
    return fail("'" + text +
                "' is not a way to compute attention; known: auto, library, "
                "decomposed");
  return (Attention)value;
}

Expected<OptimizerDevice> rondo::parseOptimizerDevice(StringRef text) {
  int value = StringSwitch<int>(text)
                  .Case("host", 0)
                  .Case("gpu", 1)
                  .Case("auto", 2)
                  .Default(-1);
  if (value < 0)
    return fail("'" + text +
                "' is not where updates can run; known: host, gpu, auto");
  return (OptimizerDevice)value;
}

Expected<std::vector<std::string>> rondo::parseCudaArchs(StringRef text) {
  // What kernels' PTX is for.
  constexpr unsigned kOldest = 80;
  std::vector<std::string> archs;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    StringRef digits = part;
    unsigned number = 0;
    bool isKnown = digits.consume_front("sm_");
    // Code for sm_90a runs on that architecture alone.
    (void)digits.consume_back("a");
    if (!isKnown || digits.getAsInteger(10, number))
      return fail("'" + part +
                  "' is no GPU architecture; write sm_90, or several: "
                  "sm_80,sm_90");
    if (number < kOldest)
      return fail("'" + part + "': kernels are for sm_80 and newer");
    if (is_contained(archs, part))
      return fail("'" + part + "' is given twice");
    archs.push_back(part.str());
  }
  return archs;
}

/// Facts of known machines; sources: docs/cost-model.
static std::vector<scheduling::Machine> knownMachines() {
  constexpr uint64_t GiB = 1ull << 30;
  return {
      // name, devices, device bytes, host bytes, products, those in f32,
      // generated code, device memory, up, down, host memory, launch, copy
      {"host", 1, 24 * GiB, 1024 * GiB, 6e10, 6e10, 1e10, 1e10, 8e9, 8e9,
       1.5e10, 500, 2000},
      {"rtx4090", 1, 24 * GiB, 800 * GiB, 3.3e14, 8.2e13, 8.2e13, 1.0e12,
       2.5e10, 2.5e10, 2.5e11, 3000, 10000},
      {"a800", 1, 80 * GiB, 800 * GiB, 3.1e14, 1.9e13, 1.9e13, 2.0e12, 2.5e10,
       2.5e10, 2.5e11, 3000, 10000},
      {"h200", 1, 139 * GiB, 128 * GiB, 7.7e14, 6.2e13, 6.7e13, 4.2e12, 5.5e10,
       5.5e10, 1.2e11, 5000, 10000},
  };
}

Expected<scheduling::Machine> rondo::findMachine(StringRef nameOrFile) {
  std::string names;
  for (const scheduling::Machine &machine : knownMachines()) {
    if (nameOrFile == machine.name)
      return machine;
    names += (names.empty() ? "" : ", ") + machine.name;
  }
  if (!nameOrFile.ends_with(".json"))
    return fail("target '" + nameOrFile + "' is not known; known: " + names +
                ", or a FILE.json");
  auto buffer = MemoryBuffer::getFile(nameOrFile);
  if (!buffer)
    return fail("target '" + nameOrFile + "': " + buffer.getError().message());
  if (std::string deep = findDeepJson((*buffer)->getBuffer()); !deep.empty())
    return fail("target '" + nameOrFile + "': " + deep);
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return fail("target '" + nameOrFile + "': " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return fail("target '" + nameOrFile + "': not a JSON object");
  scheduling::Machine machine = knownMachines().front();
  machine.name = "custom";
  machine.productFlopsF32 = 0; // as the file's others, unless it says
  std::pair<StringRef, uint64_t *> sizes[] = {
      {"device_bytes", &machine.deviceBytes},
      {"host_bytes", &machine.hostBytes}};
  std::pair<StringRef, double *> speeds[] = {
      {"product_flops", &machine.productFlops},
      {"product_flops_f32", &machine.productFlopsF32},
      {"scalar_flops", &machine.scalarFlops},
      {"device_bandwidth", &machine.deviceBandwidth},
      {"upload_bandwidth", &machine.uploadBandwidth},
      {"download_bandwidth", &machine.downloadBandwidth},
      {"host_bandwidth", &machine.hostBandwidth},
      {"launch_latency", &machine.launchLatency},
      {"copy_latency", &machine.copyLatency}};
  for (auto &[objectKey, field] : *object) {
    StringRef key(objectKey);
    std::optional<double> number = field.getAsNumber();
    if (key == "name" && field.getAsString()) {
      machine.name = field.getAsString()->str();
      continue;
    }
    bool latency = key.ends_with("latency");
    if (!number || !std::isfinite(*number) ||
        (latency ? *number < 0 : *number <= 0))
      return fail(
          "target '" + nameOrFile + "': '" + key + "' must be a " +
          (latency ? "number that is not negative" : "positive number"));
    bool found = false;
    for (auto &[name, size] : sizes)
      if (key == name) {
        if (*number < 1 || *number >= kMostBytes ||
            *number != std::floor(*number))
          return fail("target '" + nameOrFile + "': '" + key +
                      "' must be a whole number of bytes");
        *size = (uint64_t)*number, found = true;
      }
    for (auto &[name, speed] : speeds)
      if (key == name)
        *speed = *number, found = true;
    if (!found)
      return fail("target '" + nameOrFile + "': unknown field '" + key + "'");
  }
  return machine;
}
