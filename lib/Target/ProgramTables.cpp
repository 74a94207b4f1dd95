//===- ProgramTables.cpp - Parameters, blocks, inputs, optimizer ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramTables.h"
#include "rondo/Runtime/ProgramFormat.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <filesystem>

using namespace mlir;
using namespace rondo;
using namespace rondo::target;

std::unique_ptr<program::BlobT> Blobs::add(std::string bytes) {
  auto blob = std::make_unique<program::BlobT>();
  blob->offset = end;
  blob->length = bytes.size();
  end = runtime::alignToBlob(end + bytes.size());
  parts.push_back(std::move(bytes));
  return blob;
}

program::ElementType target::getElementType(Type type) {
  if (type.isF32())
    return program::ElementType::F32;
  if (type.isBF16())
    return program::ElementType::BF16;
  if (type.isF16())
    return program::ElementType::F16;
  if (type.isF64())
    return program::ElementType::F64;
  if (type.isInteger(64))
    return program::ElementType::I64;
  if (type.isInteger(32))
    return program::ElementType::I32;
  return program::ElementType::Bool;
}

/// Elements as the file and devices hold them: little endian, booleans one a
/// byte.
static std::string getRawBytes(ElementsAttr value) {
  auto dense = cast<DenseElementsAttr>(value);
  if (value.getElementType().isInteger(1)) {
    std::string bytes;
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element ? 1 : 0);
    return bytes;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return std::string(raw.begin(), raw.end());
  std::string bytes;
  for (int64_t i = 0, e = value.getNumElements(); i != e; ++i)
    bytes.append(raw.begin(), raw.end());
  return bytes;
}

/// How --weights=random initialises: by rank and name, since the file holds no
/// layer types.
static StringRef getRole(nn::ParameterOp parameter) {
  if (cast<RankedTensorType>(parameter.getType()).getRank() >= 2)
    return "weight";
  StringRef name = parameter.getSource().value_or(parameter.getSymName());
  return name.ends_with("bias") ? "bias" : "scale";
}

/// `location` (relative to the model's folder; empty: the model file) relative
/// to the program's folder.
static std::string relocate(StringRef location, StringRef modelPath,
                            StringRef outputPath) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path model = fs::absolute(modelPath.str(), error),
           output = fs::absolute(outputPath.str(), error);
  fs::path file =
      location.empty() ? model : model.parent_path() / location.str();
  fs::path relative = file.lexically_normal().lexically_relative(
      output.lexically_normal().parent_path());
  return relative.empty() ? file.string() : relative.generic_string();
}

Attribute target::getWeightFileAttr(MLIRContext *context, StringRef location,
                                    const runtime::FileIdentity &identity) {
  Builder builder(context);
  std::string hash =
      llvm::utohexstr(identity.hashHigh, /*LowerCase=*/true, 16) +
      llvm::utohexstr(identity.hashLow, /*LowerCase=*/true, 16);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("file", builder.getStringAttr(location)),
       builder.getNamedAttr("hash", builder.getStringAttr(hash)),
       builder.getNamedAttr(
           "size", builder.getI64IntegerAttr((int64_t)identity.size))});
}

FailureOr<WeightFiles> target::readWeightFiles(ModuleOp module) {
  WeightFiles files;
  Attribute all = module->getAttr("nn.weights");
  if (!all)
    return files;
  auto list = dyn_cast<ArrayAttr>(all);
  for (Attribute element : list ? list.getValue() : ArrayRef<Attribute>(all)) {
    auto file = dyn_cast<DictionaryAttr>(element);
    auto name = file ? file.getAs<StringAttr>("file") : StringAttr();
    auto hash = file ? file.getAs<StringAttr>("hash") : StringAttr();
    auto size = file ? file.getAs<IntegerAttr>("size") : IntegerAttr();
    runtime::FileIdentity identity;
    if (!name || !hash || !size || !size.getType().isInteger(64) ||
        size.getInt() < 0 || hash.size() != 32 ||
        hash.getValue().take_front(16).getAsInteger(16, identity.hashHigh) ||
        hash.getValue().drop_front(16).getAsInteger(16, identity.hashLow))
      return module.emitError() << "attribute nn.weights has " << element
                                << ", which is not {file = \"NAME\", hash = "
                                   "\"32 hexadecimal digits\", size = N}";
    identity.size = (uint64_t)size.getInt();
    files[name.str()] = identity;
  }
  return files;
}

namespace {

class TableWriter {
public:
  TableWriter(const planning::ModelInfo &info,
              const scheduling::Schedule &schedule, const Config &config,
              const WeightFiles &weightFiles, StringRef modelPath,
              StringRef outputPath, Blobs &blobs, program::ProgramT &program)
      : info(info), schedule(schedule), config(config),
        weightFiles(weightFiles), modelPath(modelPath), outputPath(outputPath),
        blobs(blobs), program(program) {}

  void write() {
    pipe::ChainOp chain = info.chain;
    Block &body = chain.getBody().front();
    for (auto [input, argument] :
         llvm::zip(info.model.inputs, body.getArguments())) {
      auto table = std::make_unique<program::InputT>();
      auto type = cast<RankedTensorType>(argument.getType());
      table->name = input.name;
      table->shape.assign(type.getShape().begin(), type.getShape().end());
      table->type = getElementType(type.getElementType());
      program.inputs.push_back(std::move(table));
    }
    for (const planning::Placement &placement : info.placements)
      addParameter(placement);
    for (auto [number, block] : llvm::enumerate(info.model.blocks))
      addBlock(number, block);
  }

private:
  void addParameter(const planning::Placement &placement) {
    nn::ParameterOp parameter = placement.parameter;
    auto type = cast<RankedTensorType>(parameter.getType());
    auto table = std::make_unique<program::ParameterT>();
    table->name = parameter.getSymName().str();
    table->source = parameter.getSource().value_or("").str();
    table->transposed = parameter.getTransposed();
    if (parameter.getCopies())
      for (auto copy : parameter.getCopies()->getAsValueRange<StringAttr>())
        table->copies.push_back(copy.str());
    if (auto transposed = parameter.getCopiesTransposed())
      table->copies_transposed.assign(transposed->begin(), transposed->end());
    table->type = table->upload_type = getElementType(type.getElementType());
    // Floats by the verifier of nn.parameter.
    if (std::optional<Type> stored = parameter.getStoredType())
      table->type = getElementType(*stored);
    table->shape.assign(type.getShape().begin(), type.getShape().end());
    table->trainable = parameter.getTrainable();
    table->block = placement.block;
    table->member_offset = placement.uploadOffset;
    table->gradient_offset = table->state_offset = placement.gradientOffset;
    table->role = getRole(parameter).str();
    if (auto stored = parameter.getStored()) {
      table->location = relocate(stored->getLocation(), modelPath, outputPath);
      addWeightFile(stored->getLocation(), table->location);
      table->offset = stored->getOffset();
      table->length = stored->getLength();
    }
    if (auto value = parameter.getValue())
      table->value = blobs.add(getRawBytes(*value));
    setGroup(*table);
    program.parameters.push_back(std::move(table));
  }

  /// Once for each; `location` is relative to the model, `name` to the program.
  void addWeightFile(StringRef location, const std::string &name) {
    auto found = weightFiles.find(location.str());
    if (found == weightFiles.end() ||
        llvm::any_of(program.weight_files,
                     [&](auto &file) { return file->location == name; }))
      return;
    auto table = std::make_unique<program::WeightFileT>();
    table->location = name;
    table->size = found->second.size;
    table->hash_low = found->second.hashLow;
    table->hash_high = found->second.hashHigh;
    program.weight_files.push_back(std::move(table));
  }

  /// The first group that matches one of its names.
  void setGroup(program::ParameterT &table) {
    table.weight_decay = (float)config.optimizer.weightDecay;
    table.learning_rate_scale = 1;
    SmallVector<std::string> names{table.name, table.source};
    names.append(table.copies.begin(), table.copies.end());
    for (const ParameterGroup &group : config.groups) {
      if (!group.matches(names))
        continue;
      for (auto &[key, value] : group.settings) {
        if (key == "weight-decay")
          table.weight_decay = (float)value;
        else if (key == "lr" && config.optimizer.learningRate > 0)
          table.learning_rate_scale =
              (float)(value / config.optimizer.learningRate);
      }
      return;
    }
  }

  /// A block's buffers are those that its operations name.
  void addBlock(uint32_t number, const scheduling::ParameterBlock &block) {
    auto table = std::make_unique<program::BlockT>();
    table->name = block.name;
    table->upload_bytes = block.uploadBytes;
    table->gradient_bytes = block.gradientBytes;
    llvm::SetVector<uint32_t> upload, gradients, master, moments;
    for (auto [place, op] : llvm::enumerate(schedule.ops)) {
      if (op.block != (int32_t)number)
        continue;
      if (op.kind == scheduling::OpKind::Upload &&
          op.lane == scheduling::LaneKind::ParameterUp)
        upload.insert(op.operands[0].buffers.begin(),
                      op.operands[0].buffers.end());
      if (op.kind == scheduling::OpKind::Download &&
          op.lane == scheduling::LaneKind::GradientDown)
        gradients.insert(op.operands[1].buffers.begin(),
                         op.operands[1].buffers.end());
      if (op.kind == scheduling::OpKind::DeviceUpdate) {
        // Around it are the copies of the state, as Schedule.h orders them.
        uint32_t count = info.model.momentsPerElement;
        auto there = [&](size_t at, size_t operand) -> auto & {
          return schedule.ops[at].operands[operand].buffers;
        };
        for (auto &buffers : {there(place - count - 2, 0), there(place + 1, 1)})
          master.insert(buffers.begin(), buffers.end());
        for (uint32_t i = 0; i < count; ++i)
          moments.insert(there(place + 2 + i, 1).begin(),
                         there(place + 2 + i, 1).end());
      }
      if (op.kind == scheduling::OpKind::Optimizer) {
        size_t at = info.model.clip ? 2 : 1;
        master.insert(op.operands[at].buffers.begin(),
                      op.operands[at].buffers.end());
        for (uint32_t i = 0; i < info.model.momentsPerElement; ++i)
          moments.insert(op.operands[at + 2 + i].buffers.begin(),
                         op.operands[at + 2 + i].buffers.end());
      }
    }
    auto sorted = [](llvm::SetVector<uint32_t> &set) {
      std::vector<uint32_t> list(set.begin(), set.end());
      llvm::sort(list);
      return list;
    };
    table->upload = sorted(upload), table->gradients = sorted(gradients),
    table->master = sorted(master), table->moments = sorted(moments);
    program.blocks.push_back(std::move(table));
  }

  const planning::ModelInfo &info;
  const scheduling::Schedule &schedule;
  const Config &config;
  const WeightFiles &weightFiles;
  StringRef modelPath, outputPath;
  Blobs &blobs;
  program::ProgramT &program;
};

} // namespace

void target::fillTables(const planning::ModelInfo &info,
                        const scheduling::Schedule &schedule,
                        const Config &config, const HostObject &object,
                        const WeightFiles &weightFiles, StringRef modelPath,
                        StringRef outputPath, Blobs &blobs,
                        program::ProgramT &program) {
  program.optimizer = std::make_unique<program::OptimizerT>();
  program.optimizer->learning_rate = config.optimizer.learningRate;
  program.optimizer->beta1 = config.optimizer.beta1;
  program.optimizer->beta2 = config.optimizer.beta2;
  program.optimizer->epsilon = config.optimizer.epsilon;
  program.optimizer->weight_decay = config.optimizer.weightDecay;
  program.optimizer->clip_norm = config.clipGradNorm;
  program.optimizer->loss_scale = info.model.scaleLoss ? config.lossScale : 0;
  program.optimizer->symbol = object.optimizer;
  program.optimizer->symbol_with_copy = object.optimizerWithCopy;
  TableWriter(info, schedule, config, weightFiles, modelPath, outputPath, blobs,
              program)
      .write();
}
