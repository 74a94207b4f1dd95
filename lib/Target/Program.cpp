//===- Program.cpp - Writes the .rondo file -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Target/Program.h"
#include "ProgramTables.h"
#include "UpdateEntries.h"
#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/Pipe/Entries.h"
#include "rondo/Dialect/Sched/Translation.h"
#include "rondo/Runtime/ProgramFormat.h"
#include "rondo/Target/GpuObject.h"
#include "rondo/Target/Ptxas.h"
#include "llvm/Support/Path.h"
#include <map>
#include <set>

using namespace mlir;
using namespace rondo;
using namespace rondo::target;

namespace {

class ProgramWriter {
public:
  ProgramWriter(ModuleOp module, StringRef outputPath)
      : module(module), outputPath(outputPath), symbols(module) {}

  FailureOr<std::string> write() {
    FailureOr<Config> read = Config::read(module);
    FailureOr<sched::ProgramOp> op =
        planning::getOnly<sched::ProgramOp>(module, "memory");
    FailureOr<pipe::PlanOp> plan =
        planning::getOnly<pipe::PlanOp>(module, "slots");
    if (failed(read) || failed(op) || failed(plan))
      return failure();
    config = *read;
    FailureOr<planning::ModelInfo> info = planning::buildModel(module, config);
    FailureOr<scheduling::Schedule> schedule = sched::readSchedule(*op);
    if (failed(info) || failed(schedule))
      return failure();
    if (op->getArenaBytes().size() != 3)
      return op->emitError("has no memory plan; phase `memory` makes it");
    if (failed(compileEntries(*schedule, *info)))
      return failure();
    fillHeader(*info, *schedule, *plan);
    StringRef modelPath;
    if (auto source = module->getAttrOfType<StringAttr>("nn.source"))
      modelPath = source.getValue();
    FailureOr<WeightFiles> weightFiles = readWeightFiles(module);
    if (failed(weightFiles))
      return failure();
    fillTables(*info, *schedule, config, object, *weightFiles, modelPath,
               outputPath, blobs, program);
    fillBuffers(*schedule);
    fillOps(*schedule, *op);
    fillEntries();
    program.kernels = blobs.add(std::move(object.sharedObject));
    if (!ptx.empty())
      addDeviceCode();
    return finish();
  }

private:
  FailureOr<kern::FuncOp> findEntry(StringRef name, StringRef user) {
    auto [bodyName, entryName] = name.split("::");
    auto body = symbols.lookup<pipe::BodyOp>(bodyName);
    auto function = body ? SymbolTable(body).lookup<kern::FuncOp>(entryName)
                         : kern::FuncOp();
    if (function)
      return function;
    return module.emitError()
           << "operation '" << user << "' launches @" << bodyName << "::@"
           << entryName << ", which is no kern.func";
  }

  /// Compiles the entries that some operation launches, numbered by first use,
  /// and that which counts labels.
  LogicalResult compileEntries(const scheduling::Schedule &schedule,
                               const planning::ModelInfo &info) {
    SmallVector<kern::FuncOp> functions;
    for (const scheduling::Op &op : schedule.ops) {
      if (op.entry.empty() ||
          !entryNumbers.insert({op.entry, (int32_t)functions.size()}).second)
        continue;
      FailureOr<kern::FuncOp> function = findEntry(op.entry, op.name);
      if (failed(function))
        return failure();
      functions.push_back(*function);
    }
    // Counting labels tells why a loss is not finite, too.
    pipe::ChainOp chain = info.chain;
    if (auto labels = chain.getLabels()) {
      std::string entry =
          (Twine(*labels) + "::" + pipe::getEntryName({pipe::EntryKind::Count}))
              .str();
      auto [place, isNew] =
          entryNumbers.insert({entry, (int32_t)functions.size()});
      if (isNew) {
        FailureOr<kern::FuncOp> function = findEntry(entry, "count labels");
        if (failed(function))
          return failure();
        functions.push_back(*function);
      }
      program.label_entry = place->second;
      for (int64_t input : chain.getLabelInputs().value_or(ArrayRef<int64_t>()))
        program.label_inputs.push_back((uint32_t)input);
    }
    // The optimizer also writes an upload copy where parameters are narrower
    // than their masters.
    Type copyType;
    for (const planning::Placement &placement : info.placements) {
      Type element = placement.getType().getElementType();
      if (placement.gradientOffset >= 0 && !element.isF32())
        copyType = element;
    }
    bool forGpus = config.machine.name != "host";
    UpdateEntries updates(info, config.optimizer.beta1, config.optimizer.beta2,
                          forGpus);
    std::vector<CompiledEntry> updateEntries;
    for (const scheduling::Op &op : schedule.ops)
      if (op.kind == scheduling::OpKind::DeviceUpdate)
        updateEntries.push_back(updates.build(op));
    FailureOr<HostObject> compiled =
        emitHostObject(module.getLoc(), functions, copyType,
                       HostOptions{config.hostCpu, config.optimizer.beta1,
                                   config.optimizer.beta2},
                       updates.getHostKernels());
    if (failed(compiled))
      return failure();
    object = std::move(*compiled);
    firstUpdate = (int32_t)object.entries.size();
    llvm::move(updateEntries, std::back_inserter(object.entries));
    return forGpus
               ? compileForDevices(schedule, functions, updates.getGpuUpdates())
               : success();
  }

  /// Adds what GPUs need, beside the host's code: entries that count labels run
  /// there on any device.
  LogicalResult compileForDevices(const scheduling::Schedule &schedule,
                                  ArrayRef<kern::FuncOp> functions,
                                  ArrayRef<GpuUpdate> updates) {
    std::set<int32_t> numbers;
    for (const scheduling::Op &op : schedule.ops)
      if (op.kind == scheduling::OpKind::Launch)
        numbers.insert(entryNumbers[op.entry]);
    SmallVector<kern::FuncOp> launched;
    for (int32_t number : numbers) {
      launched.push_back(functions[number]);
      addLaunches(functions[number], object.entries[number].calls);
    }
    FailureOr<std::string> text =
        emitGpuCode(module.getLoc(), launched, gpuOptions, updates);
    if (failed(text))
      return failure();
    ptx = std::move(*text);
    FailureOr<std::vector<Cubin>> assembled =
        assembleGpuCode(module.getLoc(), launched, ptx, config.cudaArchs);
    if (failed(assembled))
      return failure();
    cubins = std::move(*assembled);
    return success();
  }

  void addDeviceCode() {
    auto code = std::make_unique<program::DeviceCodeT>();
    code->arch = gpuOptions.arch;
    code->ptx = blobs.add(ptx + '\0');
    for (Cubin &cubin : cubins) {
      auto table = std::make_unique<program::CubinT>();
      table->arch = cubin.arch;
      table->code = blobs.add(std::move(cubin.code));
      code->cubins.push_back(std::move(table));
    }
    program.device_code.push_back(std::move(code));
  }

  void fillHeader(const planning::ModelInfo &info,
                  scheduling::Schedule &schedule, pipe::PlanOp plan) {
    program.name = info.model.name;
    if (auto source = module->getAttrOfType<StringAttr>("nn.source"))
      program.source = llvm::sys::path::filename(source.getValue()).str();
    program.producer = "rondo-compile 0.1";
    program.target = config.machine.name;
    program.devices = schedule.devices;
    program.rotation = schedule.rotation;
    program.period = schedule.period;
    program.rounds = config.rounds;
    program.micro_batches = config.microBatches;
    program.staleness = config.staleness;
    program.weigh_by_labels = info.model.countLabels;
    if (info.model.roundGradients)
      program.gradient_transfer = program::ElementType::BF16;
    program.device_bytes = schedule.arenaBytes[0];
    program.pinned_bytes = schedule.arenaBytes[1];
    program.host_bytes = schedule.arenaBytes[2];
    program.cpu_features = object.cpuFeatures;
    program.plan = plan.getReason().str();
    program.arithmetic = describeArithmetic(module, config);
    scheduling::Simulation simulation =
        scheduling::simulate(schedule, 4 + 2 * schedule.devices);
    program.prediction = std::make_unique<program::PredictionT>();
    program.prediction->iteration_ns = simulation.iteration;
    program.prediction->first_ns = simulation.first;
    program.prediction->bubble = simulation.bubble;
    program.prediction->uploaded = simulation.uploaded;
    program.prediction->downloaded = simulation.downloaded;
  }

  void fillBuffers(const scheduling::Schedule &schedule) {
    for (const scheduling::Buffer &buffer : schedule.buffers) {
      auto table = std::make_unique<program::BufferT>();
      table->name = buffer.name;
      table->space = (program::Space)buffer.space;
      table->bytes = buffer.bytes;
      table->offset = (uint64_t)buffer.offset;
      program.buffers.push_back(std::move(table));
    }
  }

  void fillOps(const scheduling::Schedule &schedule, sched::ProgramOp op) {
    SmallVector<std::string> nodes;
    for (Operation &inner : op.getBody().front())
      if (isa<sched::TimedOp>(inner))
        nodes.push_back(nn::getOnnxNode(inner.getLoc()));
    int32_t update = firstUpdate;
    for (auto [number, entry] : llvm::enumerate(schedule.ops)) {
      auto table = std::make_unique<program::OpT>();
      table->kind = (program::OpKind)entry.kind;
      table->lane = (program::Lane)entry.lane;
      table->device = entry.device;
      for (const scheduling::Operand &operand : entry.operands) {
        auto out = std::make_unique<program::OperandT>();
        out->buffers = operand.buffers;
        out->phase = operand.phase;
        out->offset = operand.offset;
        out->bytes = operand.bytes;
        out->access = (uint8_t)operand.access;
        table->operands.push_back(std::move(out));
      }
      for (const scheduling::Wait &wait : entry.waits)
        table->waits.push_back(program::Wait(wait.op, wait.distance));
      table->entry = entry.entry.empty() ? -1 : entryNumbers[entry.entry];
      if (entry.kind == scheduling::OpKind::DeviceUpdate)
        table->entry = update++;
      table->name = entry.name;
      table->node = nodes[number];
      table->layer = entry.layer, table->slot = entry.slot,
      table->round = entry.round;
      table->micro_batch = entry.microBatch, table->block = entry.block,
      table->input = entry.input;
      table->priority = entry.priority;
      table->first = entry.first;
      table->start = entry.start, table->duration = entry.duration;
      program.ops.push_back(std::move(table));
    }
  }

  void fillEntries() {
    for (const CompiledEntry &entry : object.entries) {
      auto table = std::make_unique<program::EntryT>();
      table->name = entry.name;
      table->arguments = entry.arguments;
      table->scratch_bytes = entry.scratchBytes;
      table->flops = entry.flops, table->bytes = entry.bytes,
      table->time = entry.time;
      for (const Call &call : entry.calls)
        table->calls.push_back(convert(call));
      program.entries.push_back(std::move(table));
    }
  }

  std::unique_ptr<program::CallT> convert(const Call &call) const {
    auto table = std::make_unique<program::CallT>();
    table->kind = (program::CallKind)call.kind;
    for (const Call::Address &address : call.addresses)
      table->addresses.push_back(
          program::Address(address.argument, address.offset));
    for (const Call::Reach &reach : call.reach)
      table->reach.push_back(program::Reach(reach.begin, reach.end,
                                            reach.beginStep, reach.endStep));
    table->symbol = call.symbol;
    table->begin = call.begin, table->extent = call.extent;
    table->bytes = call.bytes;
    table->node = call.node;
    if (!call.indexExtents.empty()) {
      table->index_extents = call.indexExtents;
      table->index_rows = call.indexRows;
      table->index_type = getElementType(call.indexType);
    }
    if (!call.gpuSymbol.empty()) {
      table->gpu_symbol = call.gpuSymbol;
      table->block.assign(call.block.begin(), call.block.end());
      table->grid.assign(call.grid.begin(), call.grid.end());
    }
    if (call.kind == Call::Kind::Attention ||
        call.kind == Call::Kind::AttentionGrad)
      table->attention = convertAttention(call);
    if (call.kind != Call::Kind::Gemm)
      return table;
    table->gemm = std::make_unique<program::GemmT>();
    program::GemmT &gemm = *table->gemm;
    gemm.m = call.m, gemm.n = call.n, gemm.k = call.k, gemm.batch = call.batch;
    gemm.transpose_a = call.transposeA, gemm.transpose_b = call.transposeB;
    gemm.lda = call.lda, gemm.ldb = call.ldb, gemm.ldc = call.ldc;
    gemm.stride_a = call.strideA, gemm.stride_b = call.strideB,
    gemm.stride_c = call.strideC;
    gemm.alpha = call.alpha, gemm.accumulate = call.accumulate;
    gemm.bias = call.bias;
    // Products have floating operands: kern.gemm's verifier.
    gemm.type_a = getElementType(call.typeA),
    gemm.type_b = getElementType(call.typeB),
    gemm.type_c = getElementType(call.typeC);
    gemm.tf32 = config.allowTf32 && (call.typeA.isF32() || call.typeB.isF32());
    return table;
  }

  static std::unique_ptr<program::AttentionT>
  convertAttention(const Call &call) {
    auto table = std::make_unique<program::AttentionT>();
    const runtime::AttentionSizes &sizes = call.sizes;
    table->batch = sizes.batch, table->heads = sizes.heads,
    table->key_heads = sizes.keyHeads, table->rows = sizes.rows,
    table->keys = sizes.keys, table->depth = sizes.depth,
    table->value_depth = sizes.valueDepth;
    table->scale = call.scale, table->causal = call.causal,
    table->window = call.window;
    table->type = getElementType(call.element);
    table->strides = call.strides;
    table->workspace_bytes = call.workspaceBytes;
    table->library_bytes = call.libraryBytes;
    table->block_batch = call.attentionBlock.batch;
    table->block_heads = call.attentionBlock.heads;
    table->block_rows = call.attentionBlock.rows;
    table->block_keys = call.attentionBlock.keys;
    return table;
  }

  /// Packs the table twice: the blobs come after it, so their offsets depend on
  /// its size, which their values do not change.
  FailureOr<std::string> finish() {
    uint64_t tableBytes = pack().size(),
             first = runtime::alignToBlob(runtime::kProgramTableOffset +
                                          tableBytes);
    forEachBlob([&](program::BlobT &blob) { blob.offset += first; });
    std::string table = pack();
    if (table.size() != tableBytes)
      return module.emitError()
             << "internal error: the program's table changed size from "
             << tableBytes << " to " << table.size() << " bytes";
    std::string file(runtime::kProgramTableOffset, '\0');
    file += table;
    for (const std::string &part : blobs.getParts()) {
      file.resize(runtime::alignToBlob(file.size()), '\0');
      file += part;
    }
    runtime::sealProgram(file, tableBytes);
    return file;
  }

  void forEachBlob(llvm::function_ref<void(program::BlobT &)> visit) {
    visit(*program.kernels);
    for (auto &code : program.device_code) {
      visit(*code->ptx);
      for (auto &cubin : code->cubins)
        visit(*cubin->code);
    }
    for (auto &parameter : program.parameters)
      if (parameter->value)
        visit(*parameter->value);
  }

  std::string pack() {
    flatbuffers::FlatBufferBuilder builder;
    // Zeros too: an offset's value must not change the table's size.
    builder.ForceDefaults(true);
    program::FinishProgramBuffer(builder,
                                 program::Program::Pack(builder, &program));
    return std::string((const char *)builder.GetBufferPointer(),
                       builder.GetSize());
  }

  ModuleOp module;
  StringRef outputPath;
  SymbolTable symbols;
  Config config;
  HostObject object;
  GpuOptions gpuOptions;
  std::string ptx; ///< Empty: for the host alone.
  std::vector<Cubin> cubins;
  Blobs blobs;
  program::ProgramT program;
  std::map<std::string, int32_t> entryNumbers;
  int32_t firstUpdate = 0; ///< Entries of updates on devices, in op order.
};

} // namespace

FailureOr<std::string> target::emitProgram(ModuleOp module,
                                           StringRef outputPath) {
  return ProgramWriter(module, outputPath).write();
}
