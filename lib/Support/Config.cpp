//===- Config.cpp - Config in and out of a module ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Support/Config.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

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
