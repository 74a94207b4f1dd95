//===- Config.cpp - Config in and out of a module ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Support/Config.h"
#include "mlir/IR/Builders.h"
#include "rondo/Support/Pattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace rondo;

static constexpr llvm::StringLiteral kConfig = "rondo.config";

namespace {

/// Visits every field under its name: one list for reading and writing.
template <typename Visitor>
void visitFields(Config &config, Visitor &&visit) {
  visit("devices", config.devices);
  visit("device_memory", config.deviceMemory);
  visit("host_memory", config.hostMemory);
  visit("micro_batches", config.microBatches);
  visit("rounds", config.rounds);
  visit("staleness", config.staleness);
  visit("rotate", config.rotate);
  visit("clip_grad_norm", config.clipGradNorm);
  visit("weigh_by_labels", config.weighByLabels);
  visit("allow_tf32", config.allowTf32);
  visit("round_gradients", config.roundGradients);
  visit("loss_scale", config.lossScale);
  visit("recompute", config.recompute);
  visit("head_chunk", config.headChunk);
  visit("attention", config.attention);
  visit("attention_memory", config.attentionMemory);
  visit("precision", config.precision);
  visit("optimizer", config.optimizer.kind);
  visit("optimizer_device", config.optimizerDevice);
  visit("optimizer_memory", config.optimizerMemory);
  visit("learning_rate", config.optimizer.learningRate);
  visit("beta1", config.optimizer.beta1);
  visit("beta2", config.optimizer.beta2);
  visit("epsilon", config.optimizer.epsilon);
  visit("weight_decay", config.optimizer.weightDecay);
  visit("groups", config.groups);
  visit("host_cpu", config.hostCpu);
  visit("cuda_archs", config.cudaArchs);
  scheduling::Machine &machine = config.machine;
  visit("machine", machine.name);
  visit("machine_device_bytes", machine.deviceBytes);
  visit("machine_host_bytes", machine.hostBytes);
  visit("machine_product_flops", machine.productFlops);
  visit("machine_product_flops_f32", machine.productFlopsF32);
  visit("machine_scalar_flops", machine.scalarFlops);
  visit("machine_device_bandwidth", machine.deviceBandwidth);
  visit("machine_upload_bandwidth", machine.uploadBandwidth);
  visit("machine_download_bandwidth", machine.downloadBandwidth);
  visit("machine_host_bandwidth", machine.hostBandwidth);
  visit("machine_launch_latency", machine.launchLatency);
  visit("machine_copy_latency", machine.copyLatency);
}

struct Writer {
  Builder builder;
  NamedAttrList list;
  void operator()(StringRef name, int64_t value) {
    list.set(name, builder.getI64IntegerAttr(value));
  }
  void operator()(StringRef name, uint64_t value) {
    list.set(name, builder.getI64IntegerAttr((int64_t)value));
  }
  void operator()(StringRef name, double value) {
    list.set(name, builder.getF64FloatAttr(value));
  }
  void operator()(StringRef name, bool value) {
    list.set(name, builder.getBoolAttr(value));
  }
  void operator()(StringRef name, const std::string &value) {
    list.set(name, builder.getStringAttr(value));
  }
  void operator()(StringRef name, const std::vector<std::string> &values) {
    SmallVector<StringRef> all(values.begin(), values.end());
    if (!all.empty())
      list.set(name, builder.getStrArrayAttr(all));
  }
  void operator()(StringRef name, Recompute value) {
    list.set(name, builder.getI64IntegerAttr((int64_t)value));
  }
  void operator()(StringRef name, Attention value) {
    list.set(name, builder.getI64IntegerAttr((int64_t)value));
  }
  void operator()(StringRef name, OptimizerDevice value) {
    list.set(name, builder.getI64IntegerAttr((int64_t)value));
  }
  void operator()(StringRef name, const std::vector<ParameterGroup> &groups) {
    SmallVector<Attribute> attrs;
    for (const ParameterGroup &group : groups) {
      NamedAttrList settings;
      settings.set("pattern", builder.getStringAttr(group.pattern));
      for (auto &[key, value] : group.settings)
        settings.set(key, builder.getF64FloatAttr(value));
      attrs.push_back(settings.getDictionary(builder.getContext()));
    }
    list.set(name, builder.getArrayAttr(attrs));
  }
};

struct Reader {
  DictionaryAttr dictionary;
  SmallVector<StringRef> known;
  SmallVector<std::string> wrong;

  template <typename Attr, typename Set>
  void take(StringRef name, Set &&set) {
    known.push_back(name);
    Attribute attr = dictionary.get(name);
    if (!attr)
      return;
    if (auto typed = dyn_cast<Attr>(attr))
      set(typed);
    else
      wrong.push_back(name.str());
  }
  void operator()(StringRef name, int64_t &value) {
    take<IntegerAttr>(name, [&](IntegerAttr a) { value = a.getInt(); });
  }
  void operator()(StringRef name, uint64_t &value) {
    take<IntegerAttr>(name,
                      [&](IntegerAttr a) { value = (uint64_t)a.getInt(); });
  }
  void operator()(StringRef name, double &value) {
    take<FloatAttr>(name, [&](FloatAttr a) { value = a.getValueAsDouble(); });
  }
  void operator()(StringRef name, bool &value) {
    take<BoolAttr>(name, [&](BoolAttr a) { value = a.getValue(); });
  }
  void operator()(StringRef name, std::string &value) {
    take<StringAttr>(name, [&](StringAttr a) { value = a.str(); });
  }
  /// Of an enumerator whose last value is `last`.
  template <typename Enum>
  void takeEnum(StringRef name, Enum last, Enum &value) {
    take<IntegerAttr>(name, [&](IntegerAttr a) {
      if (a.getInt() < 0 || a.getInt() > (int64_t)last)
        wrong.push_back(name.str());
      else
        value = (Enum)a.getInt();
    });
  }
  void operator()(StringRef name, std::vector<std::string> &values) {
    take<ArrayAttr>(name, [&](ArrayAttr array) {
      for (Attribute element : array) {
        if (auto text = dyn_cast<StringAttr>(element))
          values.push_back(text.str());
        else
          wrong.push_back(name.str());
      }
    });
  }
  void operator()(StringRef name, Recompute &value) {
    takeEnum(name, Recompute::None, value);
  }
  void operator()(StringRef name, Attention &value) {
    takeEnum(name, Attention::Decomposed, value);
  }
  void operator()(StringRef name, OptimizerDevice &value) {
    takeEnum(name, OptimizerDevice::Auto, value);
  }
  void operator()(StringRef name, std::vector<ParameterGroup> &groups) {
    take<ArrayAttr>(name, [&](ArrayAttr array) {
      for (Attribute element : array) {
        auto settings = dyn_cast<DictionaryAttr>(element);
        auto pattern =
            settings ? settings.getAs<StringAttr>("pattern") : StringAttr();
        if (!pattern) {
          wrong.push_back(name.str());
          continue;
        }
        ParameterGroup group{pattern.str(), {}};
        for (NamedAttribute named : settings)
          if (auto value = dyn_cast<FloatAttr>(named.getValue()))
            group.settings.push_back(
                {named.getName().str(), value.getValueAsDouble()});
        groups.push_back(std::move(group));
      }
    });
  }
};

} // namespace

static bool isSpeed(double value) { return value > 0 && std::isfinite(value); }

/// The values that no flag would have let through.
static SmallVector<std::string> findOutOfRange(const Config &config) {
  auto fits = [](double value) {
    return value >= 0 && std::isfinite((float)value);
  };
  auto isCount = [](int64_t value, int64_t most) {
    return value >= 1 && value <= most;
  };
  constexpr int64_t steps = 1 << 16, bytes = 9'000'000'000'000'000'000;
  const OptimizerConfig &optimizer = config.optimizer;
  const scheduling::Machine &machine = config.machine;
  int exponent = 0;
  SmallVector<std::string> wrong;
  std::pair<const char *, bool> checks[] = {
      {"devices", isCount(config.devices, 1024)},
      {"device_memory",
       config.deviceMemory == 0 || isCount(config.deviceMemory, bytes)},
      {"host_memory",
       config.hostMemory == 0 || isCount(config.hostMemory, bytes)},
      {"micro_batches", isCount(config.microBatches, steps)},
      {"rounds", isCount(config.rounds, steps)},
      {"micro_batches and rounds",
       !isCount(config.microBatches, steps) || !isCount(config.rounds, steps) ||
           config.microBatches * config.rounds <= steps},
      {"staleness", config.staleness == 0 || config.staleness == 1},
      {"clip_grad_norm", fits(config.clipGradNorm)},
      {"loss_scale", config.lossScale >= 1 && config.lossScale <= 0x1p+24 &&
                         std::frexp(config.lossScale, &exponent) == 0.5},
      {"head_chunk", isCount(config.headChunk, 1 << 24)},
      {"attention_memory", isCount(config.attentionMemory, bytes)},
      {"optimizer_memory", isCount(config.optimizerMemory, bytes)},
      {"precision", config.precision.empty() || config.precision == "fp32" ||
                        config.precision == "bf16" ||
                        config.precision == "fp16"},
      {"optimizer", optimizer.kind == "adamw"},
      {"learning_rate", fits(optimizer.learningRate)},
      {"beta1", fits(optimizer.beta1) && optimizer.beta1 < 1},
      {"beta2", fits(optimizer.beta2) && optimizer.beta2 < 1},
      {"epsilon", fits(optimizer.epsilon)},
      {"weight_decay", fits(optimizer.weightDecay)},
      {"machine_device_bytes", machine.deviceBytes <= (uint64_t)bytes},
      {"machine_host_bytes", machine.hostBytes <= (uint64_t)bytes},
      {"machine_product_flops", isSpeed(machine.productFlops)},
      {"machine_product_flops_f32",
       machine.productFlopsF32 == 0 || isSpeed(machine.productFlopsF32)},
      {"machine_scalar_flops", isSpeed(machine.scalarFlops)},
      {"machine_device_bandwidth", isSpeed(machine.deviceBandwidth)},
      {"machine_upload_bandwidth", isSpeed(machine.uploadBandwidth)},
      {"machine_download_bandwidth", isSpeed(machine.downloadBandwidth)},
      {"machine_host_bandwidth", isSpeed(machine.hostBandwidth)},
      {"machine_launch_latency", fits(machine.launchLatency)},
      {"machine_copy_latency", fits(machine.copyLatency)},
  };
  for (auto [name, isRight] : checks)
    if (!isRight)
      wrong.push_back(name);
  for (const ParameterGroup &group : config.groups) {
    if (std::string fault = findPatternFault(group.pattern); !fault.empty())
      wrong.push_back("groups: '" + group.pattern + "' " + fault);
    for (auto &[key, value] : group.settings)
      if ((key != "weight-decay" && key != "lr") || !fits(value) ||
          (key == "lr" &&
           !std::isfinite((float)(value / optimizer.learningRate))))
        wrong.push_back("groups: " + key + " of '" + group.pattern + "'");
  }
  return wrong;
}

FailureOr<Config> Config::read(ModuleOp module) {
  Config config;
  config.machine = llvm::cantFail(findMachine("host"));
  auto dictionary = module->getAttrOfType<DictionaryAttr>(kConfig);
  if (!dictionary)
    return config;
  Reader reader{dictionary, {}, {}};
  visitFields(config, reader);
  for (NamedAttribute named : dictionary)
    if (!llvm::is_contained(reader.known, named.getName().getValue()))
      reader.wrong.push_back(named.getName().str());
  if (!reader.wrong.empty()) {
    module.emitError() << kConfig << " has unknown or ill-typed entries: "
                       << llvm::join(reader.wrong, ", ");
    return failure();
  }
  if (auto wrong = findOutOfRange(config); !wrong.empty()) {
    module.emitError() << kConfig << " has entries out of range: "
                       << llvm::join(wrong, ", ");
    return failure();
  }
  return config;
}

void Config::write(ModuleOp module) const {
  Writer writer{Builder(module.getContext()), {}};
  Config copy = *this;
  visitFields(copy, writer);
  module->setAttr(kConfig, writer.list.getDictionary(module.getContext()));
}

scheduling::Machine Config::getMachine() const {
  scheduling::Machine result = machine;
  result.devices = (uint32_t)devices;
  if (deviceMemory)
    result.deviceBytes = (uint64_t)deviceMemory;
  if (hostMemory)
    result.hostBytes = (uint64_t)hostMemory;
  return result;
}
