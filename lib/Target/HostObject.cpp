//===- HostObject.cpp - Host code of kernels -----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Target/HostObject.h"

#include "AdamW.h"
#include "MachineCode.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;
using namespace rondo::target;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static void emitKernel(Operation &op, StringRef symbol, ModuleOp module) {
  if (auto fused = dyn_cast<FusedOp>(op))
    host::emitFused(fused, symbol, module);
  else if (auto gather = dyn_cast<GatherOp>(op))
    host::emitGather(gather, symbol, module);
  else if (auto scatter = dyn_cast<ScatterAddOp>(op))
    host::emitScatterAdd(scatter, symbol, module);
  else if (auto constant = dyn_cast<ConstantOp>(op))
    host::emitConstant(constant, symbol, module);
}

OwningOpRef<ModuleOp> target::emitHostKernels(Location loc,
                                              ArrayRef<FuncOp> functions) {
  OwningOpRef<ModuleOp> module = createKernelModule(loc);
  llvm::StringSet<> emitted;
  for (FuncOp function : functions)
    for (Operation &op : function.getBody().front()) {
      if (!isa<FusedOp, GatherOp, ScatterAddOp, ConstantOp>(op))
        continue;
      std::string symbol = getKernelSymbol(&op);
      if (emitted.insert(symbol).second)
        emitKernel(op, symbol, *module);
    }
  return module;
}

//===----------------------------------------------------------------------===//
// Machine code
//===----------------------------------------------------------------------===//

/// What the runtime asks the processor for: instructions, not tuning.
static constexpr StringLiteral kFeatures[] = {"sse3",
                                              "ssse3",
                                              "sse4.1",
                                              "sse4.2",
                                              "popcnt",
                                              "avx",
                                              "avx2",
                                              "fma",
                                              "f16c",
                                              "bmi",
                                              "bmi2",
                                              "lzcnt",
                                              "movbe",
                                              "avx512f",
                                              "avx512bw",
                                              "avx512cd",
                                              "avx512dq",
                                              "avx512vl",
                                              "avx512vbmi",
                                              "avx512vbmi2",
                                              "avx512vnni",
                                              "avx512bitalg",
                                              "avx512vpopcntdq",
                                              "avx512bf16",
                                              "avx512fp16",
                                              "avxvnni",
                                              "vaes",
                                              "vpclmulqdq",
                                              "gfni"};

/// Those of `kFeatures` that kernels use whatever the processor.
static constexpr StringLiteral kNeeded[] = {"avx2", "fma", "f16c"};

static const llvm::Target *findTarget(const llvm::Triple &triple,
                                      std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

static std::string getMissingFeatures(const llvm::MCSubtargetInfo &info,
                                      const llvm::Triple &triple) {
  std::string missing;
  for (StringRef needed : kNeeded)
    if (triple.isX86() && !info.checkFeatures(("+" + needed).str()))
      missing += (missing.empty() ? "" : ", ") + needed.str();
  return missing;
}

/// All that LLVM knows and kernels can run on, in its order.
static std::string listProcessors(const llvm::Target &target,
                                  const llvm::Triple &triple,
                                  const llvm::MCSubtargetInfo &any) {
  std::string names = "native";
  for (const llvm::SubtargetSubTypeKV &processor :
       any.getAllProcessorDescriptions()) {
    std::unique_ptr<llvm::MCSubtargetInfo> info(
        target.createMCSubtargetInfo(triple, processor.Key, ""));
    if (info && getMissingFeatures(*info, triple).empty())
      names += ", " + std::string(processor.Key);
  }
  return names;
}

llvm::Error target::checkHostCpu(StringRef cpu) {
  auto fail = [](const Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target = findTarget(triple, error);
  if (!target)
    return fail("no code can be generated for " + triple.str() + ": " + error);
  // Made for no processor: LLVM prints a line of its own for a wrong one.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!info)
    return fail("no code can be generated for " + triple.str());
  bool isNative = cpu == "native";
  std::string name = isNative ? llvm::sys::getHostCPUName().str() : cpu.str();
  if (!info->isCPUStringValid(name))
    return fail("processor '" + name + "' is not known; known: " +
                listProcessors(*target, triple, *info));
  std::string features;
  if (isNative)
    for (auto &[feature, has] : llvm::sys::getHostCPUFeatures())
      if (has)
        features += (features.empty() ? "+" : ",+") + feature.str();
  info.reset(target->createMCSubtargetInfo(triple, name, features));
  std::string missing = getMissingFeatures(*info, triple);
  if (!missing.empty())
    return fail("processor '" + name + "' lacks " + missing +
                ", and kernels need at least x86-64-v3; usable: " +
                listProcessors(*target, triple, *info));
  return llvm::Error::success();
}

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createTarget(Location loc, StringRef cpu, HostObject &object) {
  if (llvm::Error error = checkHostCpu(cpu)) {
    emitError(loc) << "host code: " << llvm::toString(std::move(error));
    return failure();
  }
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string error;
  const llvm::Target *target = findTarget(triple, error);
  bool isNative = cpu == "native";
  std::string name = isNative ? llvm::sys::getHostCPUName().str() : cpu.str();
  std::string features;
  // The name of a family says less than what the processor can do.
  if (isNative)
    for (auto &[feature, has] : llvm::sys::getHostCPUFeatures())
      features += (features.empty() ? "" : ",") + std::string(has ? "+" : "-") +
                  feature.str();
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, name, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Default));
  for (const llvm::SubtargetFeatureKV &feature :
       machine->getMCSubtargetInfo()->getEnabledProcessorFeatures())
    if (llvm::is_contained(kFeatures, StringRef(feature.Key)))
      object.cpuFeatures.push_back(feature.Key);
  llvm::sort(object.cpuFeatures);
  return machine;
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

static FailureOr<std::string> findLinker(Location loc) {
  for (StringRef name : {"ld.lld-22", "ld.lld"})
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
  for (StringRef path : {"/usr/lib/llvm-22/bin/ld.lld"})
    if (llvm::sys::fs::can_execute(path))
      return path.str();
  emitError(loc) << "host code cannot be linked: neither ld.lld-22 nor ld.lld "
                    "is on PATH; install lld-22";
  return failure();
}

static LogicalResult writeFile(Location loc, StringRef path, StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << bytes;
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return emitError(loc) << "cannot write " << path << ": " << error.message();
  return success();
}

static FailureOr<std::string> readFile(Location loc, StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(loc) << "cannot read " << path << ": "
                   << buffer.getError().message();
    return failure();
  }
  return (*buffer)->getBuffer().str();
}

/// Runs the linker in a folder of its own.
static FailureOr<std::string> link(Location loc, StringRef object) {
  FailureOr<std::string> linker = findLinker(loc);
  if (failed(linker))
    return failure();
  SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("rondo", folder)) {
    emitError(loc) << "cannot create a temporary folder: " << error.message();
    return failure();
  }
  llvm::scope_exit cleanUp(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  auto getPath = [&](StringRef name) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  std::string input = getPath("kernels.o"), output = getPath("kernels.so"),
              log = getPath("log");
  if (failed(writeFile(loc, input, object)))
    return failure();
  SmallVector<StringRef> arguments{*linker,
                                   "-shared",
                                   "-z",
                                   "relro",
                                   "-z",
                                   "noexecstack",
                                   "--build-id=none",
                                   "--as-needed",
                                   "--strip-all",
                                   "-soname",
                                   "kernels.so",
                                   "-o",
                                   output,
                                   input};
  // By the names that programs load them by, which need no development files.
  for (StringRef directory :
       {"-L/lib/x86_64-linux-gnu", "-L/usr/lib/x86_64-linux-gnu", "-L/lib64",
        "-L/usr/lib64", "-l:libm.so.6", "-l:libc.so.6"})
    arguments.push_back(directory);
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int code = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  if (code != 0) {
    FailureOr<std::string> text = readFile(loc, log);
    emitError(loc) << "linking host code with " << *linker << " failed ("
                   << code << "): " << message
                   << (succeeded(text) ? *text : "");
    return failure();
  }
  return readFile(loc, output);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

static CompiledEntry translate(FuncOp function) {
  CompiledEntry entry;
  entry.name = function.getSymName().str();
  if (auto body = function->getParentOp()->getAttrOfType<StringAttr>(
          SymbolTable::getSymbolAttrName()))
    entry.name = (body.getValue() + "::" + function.getSymName()).str();
  entry.arguments = function.getNumArguments();
  entry.scratchBytes = function.getScratch();
  entry.calls = translateEntry(function);
  entry.flops = function.getFlops().convertToDouble();
  entry.bytes = function.getBytes().convertToDouble();
  entry.time = function.getTime().convertToDouble();
  return entry;
}

FailureOr<HostObject> target::emitHostObject(Location loc,
                                             ArrayRef<FuncOp> functions,
                                             Type copyType,
                                             const HostOptions &options,
                                             ArrayRef<AdamWKernel> updates) {
  HostObject object;
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createTarget(loc, options.cpu, object);
  if (failed(machine))
    return failure();
  for (FuncOp function : functions)
    object.entries.push_back(translate(function));

  OwningOpRef<ModuleOp> module = emitHostKernels(loc, functions);
  auto emitOptimizer = [&](const AdamWKernel &kernel) {
    std::string symbol = getAdamWSymbol(kernel);
    host::emitAdamW(loc, symbol, *module, kernel);
    return symbol;
  };
  AdamWKernel kernel{options.beta1, options.beta2, {}, {}};
  object.optimizer = emitOptimizer(kernel);
  if (kernel.copyType = copyType; copyType)
    object.optimizerWithCopy = emitOptimizer(kernel);
  for (const AdamWKernel &update : updates)
    emitOptimizer(update);
  FailureOr<std::string> code =
      compileModule(*module, **machine, llvm::CodeGenFileType::ObjectFile);
  if (failed(code))
    return failure();
  FailureOr<std::string> linked = link(loc, *code);
  if (failed(linked))
    return failure();
  object.sharedObject = std::move(*linked);
  return object;
}
