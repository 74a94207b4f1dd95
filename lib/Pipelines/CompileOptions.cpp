//===- CompileOptions.cpp - Flags of rondo-compile ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/CompileOptions.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "rondo/Pipelines/Phases.h"
#include "rondo/Target/HostObject.h"
#include "rondo/Target/Ptxas.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace rondo;
namespace cl = llvm::cl;

namespace {

llvm::Error fail(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// The flags of docs/command-line.md. A struct, so that they exist only while a
/// command line is parsed.
struct Flags {
  cl::OptionCategory category{"Rondo options"};

  cl::opt<std::string> input{
      cl::Positional,
      cl::desc("MODEL.onnx, or IR with --from (-: standard input)"),
      cl::Required, cl::cat(category)};
  cl::opt<std::string> output{
      "o",
      cl::desc("Output file (-: standard output); default: the model's name "
               "with .rondo, or - for IR"),
      cl::value_desc("FILE"), cl::cat(category)};

  // The graph.
  cl::opt<std::string> loss{
      "loss",
      cl::desc("The graph output that is the loss (default: the only scalar "
               "floating-point output)"),
      cl::value_desc("NAME"), cl::cat(category)};
  cl::list<std::string> dimensions{
      "dim", cl::desc("Extent of a symbolic dimension of the inputs"),
      cl::value_desc("NAME=SIZE"), cl::cat(category)};
  cl::list<std::string> trainable{
      "trainable",
      cl::desc("Train only parameters whose ONNX or source name matches"),
      cl::value_desc("REGEX"), cl::cat(category)};
  cl::list<std::string> freeze{
      "freeze", cl::desc("Never train parameters whose name matches"),
      cl::value_desc("REGEX"), cl::cat(category)};
  cl::opt<std::string> precision{
      "precision",
      cl::desc("Element type of weights and activations (default: the "
               "graph's own)"),
      cl::value_desc("fp32|bf16|fp16"), cl::cat(category)};

  // The step.
  cl::opt<int64_t> microBatches{"micro-batches",
                                cl::desc("Micro-batches of one round"),
                                cl::init(1), cl::cat(category)};
  cl::opt<int64_t> rounds{"rounds", cl::desc("Rounds of a step"), cl::init(1),
                          cl::cat(category)};
  cl::opt<int64_t> staleness{
      "staleness",
      cl::desc("0: synchronous; 1: the optimizer overlaps the next step"),
      cl::value_desc("0|1"), cl::init(0), cl::cat(category)};
  cl::opt<std::string> optimizer{
      "optimizer", cl::desc("adamw with lr, beta1, beta2, eps, weight-decay"),
      cl::value_desc("NAME,KEY=VALUE,..."), cl::init("adamw"),
      cl::cat(category)};
  cl::list<std::string> groups{"param-group",
                               cl::desc("Settings of parameters whose whole "
                                        "name matches; the first group counts"),
                               cl::value_desc("REGEX,weight-decay=W|lr=L"),
                               cl::cat(category)};
  cl::opt<std::string> clip{"clip-grad-norm",
                            cl::desc("Clip the gradient's 2-norm to this"),
                            cl::value_desc("MAX"), cl::cat(category)};
  cl::opt<std::string> reduction{
      "loss-reduction",
      cl::desc("micro-batch: micro-batches weigh equally; step: by their valid "
               "labels"),
      cl::value_desc("micro-batch|step"), cl::init("micro-batch"),
      cl::cat(category)};
  cl::opt<bool> allowTf32{
      "allow-tf32",
      cl::desc("Let GPUs round operands of f32 products to TF32's 10 bits"),
      cl::init(false), cl::cat(category)};
  cl::opt<std::string> gradientTransfer{
      "grad-transfer", cl::desc("Element type in which gradients travel"),
      cl::value_desc("fp32|bf16"), cl::init("fp32"), cl::cat(category)};
  cl::opt<double> lossScale{
      "loss-scale",
      cl::desc("First scale of the loss where weights are f16: a power of two"),
      cl::init(65536), cl::cat(category)};
  cl::opt<std::string> recompute{
      "recompute", cl::desc("What backward recomputes (default: auto)"),
      cl::value_desc("auto|full|elementwise|none"), cl::init("auto"),
      cl::cat(category)};
  cl::opt<std::string> attention{
      "attention",
      cl::desc("library: the GPU library's, for bf16 and f16; decomposed: "
               "products and generated kernels (auto: library on GPUs)"),
      cl::value_desc("auto|library|decomposed"), cl::init("auto"),
      cl::cat(category)};
  cl::opt<std::string> optimizerDevice{
      "optimizer-device",
      cl::desc("Where parameters are updated; gpu: on the devices, through "
               "which their state is streamed (default: host)"),
      cl::value_desc("host|gpu|auto"), cl::init("host"), cl::cat(category)};
  cl::opt<std::string> optimizerMemory{
      "optimizer-memory",
      cl::desc("What state on its way to be updated may take of each device"),
      cl::value_desc("SIZE"), cl::init("256MiB"), cl::cat(category)};
  cl::opt<int64_t> headChunk{
      "head-chunk",
      cl::desc(
          "Tokens whose logits exist at once, if they only serve the loss"),
      cl::value_desc("N"), cl::init(2048), cl::cat(category)};
  cl::opt<std::string> attentionMemory{
      "attention-memory",
      cl::desc("What a GPU library's gradient of attention may use at once"),
      cl::value_desc("SIZE"), cl::init("1GiB"), cl::cat(category)};

  // The machine.
  cl::opt<int64_t> devices{"devices", cl::desc("Devices in the pool"),
                           cl::init(1), cl::cat(category)};
  cl::opt<std::string> deviceMemory{
      "device-memory",
      cl::desc("Memory to use on each device (default: the target's)"),
      cl::value_desc("SIZE"), cl::cat(category)};
  cl::opt<std::string> hostMemory{
      "host-memory",
      cl::desc("Memory to use on the host (default: the target's)"),
      cl::value_desc("SIZE"), cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("Machine that runs the program: host, rtx4090, a800, h200, or "
               "a JSON file"),
      cl::value_desc("NAME|FILE.json"), cl::init("host"), cl::cat(category)};
  cl::opt<std::string> hostCpu{
      "host-cpu", cl::desc("Processor that host code is for"),
      cl::value_desc("NAME"), cl::init("x86-64-v3"), cl::cat(category)};
  cl::opt<std::string> cudaArch{
      "cuda-arch",
      cl::desc("GPUs to assemble the kernels for, beside their PTX (needs "
               "ptxas)"),
      cl::value_desc("sm_90[,sm_89...]"), cl::cat(category)};
  cl::opt<bool> rotate{
      "rotate",
      cl::desc("Carry the round robin over from one iteration to the next"),
      cl::init(true), cl::cat(category)};

  // What comes out.
  cl::opt<std::string> compileTo{
      "compile-to", cl::desc("Stop after a phase and print its IR"),
      cl::value_desc("PHASE"), cl::init("program"), cl::cat(category)};
  cl::opt<std::string> from{"from",
                            cl::desc("The input is IR as this phase left it; "
                                     "what was asked for then still holds"),
                            cl::value_desc("PHASE"), cl::init("import"),
                            cl::cat(category)};
  cl::opt<std::string> emit{
      "emit",
      cl::desc(
          "What to write (default: program after the last phase, else mlir)"),
      cl::value_desc("mlir|program"), cl::cat(category)};
  /// What one cannot mean: an empty value, two values of a flag that has one.
  llvm::Error checkOccurrences() {
    for (auto &[name, option] : cl::getRegisteredOptions()) {
      if (!llvm::is_contained(option->Categories, &category) ||
          option->getNumOccurrencesFlag() == cl::ZeroOrMore)
        continue;
      if (option->getNumOccurrences() > 1)
        return fail(option->ArgStr.size() == 1
                        ? "-" + option->ArgStr + " is given twice"
                        : "--" + option->ArgStr + " is given twice");
    }
    cl::opt<std::string> *texts[] = {&output,
                                     &loss,
                                     &precision,
                                     &optimizer,
                                     &clip,
                                     &reduction,
                                     &recompute,
                                     &attention,
                                     &attentionMemory,
                                     &deviceMemory,
                                     &hostMemory,
                                     &target,
                                     &hostCpu,
                                     &compileTo,
                                     &from,
                                     &emit,
                                     &report,
                                     &cudaArch,
                                     &optimizerDevice,
                                     &optimizerMemory};
    for (cl::opt<std::string> *option : texts)
      if (option->getNumOccurrences() > 0 && option->empty())
        return fail((option->ArgStr.size() == 1 ? "-" : "--") + option->ArgStr +
                    " is empty");
    return llvm::Error::success();
  }

  /// Those given that only an imported model heeds: " --devices --rounds".
  std::string getPlanningFlags() const {
    // std::addressof: a list's own operator& gives its values.
    const cl::Option *all[] = {std::addressof(loss),
                               std::addressof(dimensions),
                               std::addressof(trainable),
                               std::addressof(freeze),
                               std::addressof(precision),
                               std::addressof(microBatches),
                               std::addressof(rounds),
                               std::addressof(staleness),
                               std::addressof(optimizer),
                               std::addressof(groups),
                               std::addressof(clip),
                               std::addressof(reduction),
                               std::addressof(recompute),
                               std::addressof(attention),
                               std::addressof(attentionMemory),
                               std::addressof(optimizerDevice),
                               std::addressof(optimizerMemory),
                               std::addressof(headChunk),
                               std::addressof(lossScale),
                               std::addressof(gradientTransfer),
                               std::addressof(allowTf32),
                               std::addressof(devices),
                               std::addressof(deviceMemory),
                               std::addressof(hostMemory),
                               std::addressof(target),
                               std::addressof(hostCpu),
                               std::addressof(cudaArch),
                               std::addressof(rotate)};
    std::string given;
    for (const cl::Option *option : all)
      if (option->getNumOccurrences() > 0)
        given += (" --" + option->ArgStr).str();
    return given;
  }

  cl::opt<std::string> report{"report", cl::desc("Print the plan in words"),
                              cl::value_desc("text|json"), cl::cat(category)};
};

/// Takes an Expected apart: the value into `target`, the error prefixed by the
/// flag.
template <typename T, typename U>
llvm::Error take(llvm::StringRef flag, llvm::Expected<T> value, U &target) {
  if (!value)
    return fail("--" + flag + ": " + llvm::toString(value.takeError()));
  target = std::move(*value);
  return llvm::Error::success();
}

/// NAME=SIZE, where the name may itself be an expression with '='.
llvm::Error takeDimension(llvm::StringRef text, ImportOptions &options) {
  auto [name, size] = text.rsplit('=');
  int64_t extent = 0;
  if (name.empty() || size.getAsInteger(10, extent) || extent <= 0)
    return fail("--dim " + text + " is not NAME=SIZE with a positive size");
  options.dimensions.emplace_back(name.str(), extent);
  return llvm::Error::success();
}

llvm::Error takePositive(llvm::StringRef flag, int64_t value, int64_t most,
                         int64_t &target) {
  if (value < 1 || value > most)
    return fail("--" + flag + "=" + llvm::Twine(value) +
                " is not between 1 and " + llvm::Twine(most));
  target = value;
  return llvm::Error::success();
}

llvm::Error takeStep(const Flags &flags, Config &config) {
  if (auto error = takePositive("micro-batches", flags.microBatches, 1 << 16,
                                config.microBatches))
    return error;
  if (auto error = takePositive("rounds", flags.rounds, 1 << 16, config.rounds))
    return error;
  if (config.microBatches * config.rounds > 1 << 16)
    return fail("--micro-batches=" + llvm::Twine(config.microBatches) +
                " and --rounds=" + llvm::Twine(config.rounds) +
                " make a step of more than 65536 micro-batches");
  if (flags.staleness != 0 && flags.staleness != 1)
    return fail("--staleness=" + llvm::Twine(flags.staleness) +
                " is neither 0 nor 1");
  config.staleness = flags.staleness;
  if (auto error =
          take("optimizer", parseOptimizer(flags.optimizer), config.optimizer))
    return error;
  for (const std::string &text : flags.groups) {
    config.groups.emplace_back();
    if (auto error = take("param-group", parseParameterGroup(text),
                          config.groups.back()))
      return error;
    // Programs hold a group's rate as a multiple of the optimizer's.
    for (auto &[key, value] : config.groups.back().settings)
      if (double multiple = value / config.optimizer.learningRate;
          key == "lr" && !std::isfinite((float)multiple))
        return fail(
            "--param-group=" + text +
            ": its lr is no multiple of the optimizer's, which is " +
            llvm::formatv("{0:e}", config.optimizer.learningRate).str() +
            "; give --optimizer an lr nearer to it");
  }
  if (flags.clip.getNumOccurrences() > 0)
    if (auto error = take("clip-grad-norm", parseClipNorm(flags.clip),
                          config.clipGradNorm))
      return error;
  if (flags.reduction != "micro-batch" && flags.reduction != "step")
    return fail("--loss-reduction=" + flags.reduction +
                " is neither micro-batch nor step");
  config.weighByLabels = flags.reduction == "step";
  if (auto error =
          take("attention", parseAttention(flags.attention), config.attention))
    return error;
  if (auto error = take("attention-memory", parseBytes(flags.attentionMemory),
                        config.attentionMemory))
    return error;
  if (auto error =
          take("optimizer-device", parseOptimizerDevice(flags.optimizerDevice),
               config.optimizerDevice))
    return error;
  if (auto error = take("optimizer-memory", parseBytes(flags.optimizerMemory),
                        config.optimizerMemory))
    return error;
  if (flags.optimizerMemory.getNumOccurrences() > 0 &&
      config.optimizerDevice == OptimizerDevice::Host)
    return fail("--optimizer-memory is for updates on devices: it needs "
                "--optimizer-device=gpu or auto");
  config.precision = flags.precision;
  if (flags.precision.getNumOccurrences() > 0 && config.precision != "fp32" &&
      config.precision != "bf16" && config.precision != "fp16")
    return fail("--precision=" + flags.precision +
                " is not known; known: fp32, bf16, fp16");
  if (flags.gradientTransfer != "fp32" && flags.gradientTransfer != "bf16")
    return fail("--grad-transfer=" + flags.gradientTransfer +
                " is neither fp32 nor bf16");
  config.roundGradients = flags.gradientTransfer == "bf16";
  config.allowTf32 = flags.allowTf32;
  config.lossScale = flags.lossScale;
  // Then scaling changes exponents alone.
  int exponent = 0;
  if (!(config.lossScale >= 1 && config.lossScale <= 0x1p+24) ||
      std::frexp(config.lossScale, &exponent) != 0.5)
    return fail("--loss-scale must be a power of two from 1 to 16777216");
  if (auto error = takePositive("head-chunk", flags.headChunk, 1 << 24,
                                config.headChunk))
    return error;
  return take("recompute", parseRecompute(flags.recompute), config.recompute);
}

/// Before minutes are spent on code that cannot be assembled.
llvm::Error takeArchitectures(const Flags &flags, Config &config) {
  if (flags.cudaArch.empty())
    return llvm::Error::success();
  if (config.machine.name == "host")
    return fail("--cuda-arch=" + flags.cudaArch +
                ": programs for the host hold no GPU code; --target=h200 or "
                "another GPU makes some");
  if (auto error =
          take("cuda-arch", parseCudaArchs(flags.cudaArch), config.cudaArchs))
    return error;
  if (auto path = target::findPtxas(); !path)
    return fail("--cuda-arch=" + flags.cudaArch + ": " +
                llvm::toString(path.takeError()));
  return llvm::Error::success();
}

llvm::Error takeMachine(const Flags &flags, Config &config) {
  if (auto error = takePositive("devices", flags.devices, 1024, config.devices))
    return error;
  if (!flags.deviceMemory.empty())
    if (auto error = take("device-memory", parseBytes(flags.deviceMemory),
                          config.deviceMemory))
      return error;
  if (!flags.hostMemory.empty())
    if (auto error = take("host-memory", parseBytes(flags.hostMemory),
                          config.hostMemory))
      return error;
  if (auto error = target::checkHostCpu(flags.hostCpu))
    return fail("--host-cpu: " + llvm::toString(std::move(error)));
  config.hostCpu = flags.hostCpu;
  config.rotate = flags.rotate;
  if (auto error = take("target", findMachine(flags.target), config.machine))
    return error;
  return takeArchitectures(flags, config);
}

/// What the other flags leave nothing to do.
llvm::Error checkCombination(const Flags &flags, const Config &config,
                             CompileOptions &options) {
  if (flags.allowTf32 && config.machine.name == "host")
    return fail("--allow-tf32 would change nothing: hosts have no TF32; "
                "--target names a machine with GPUs");
  bool isMemoryGiven = flags.attentionMemory.getNumOccurrences() > 0;
  if (isMemoryGiven && !config.useLibraryAttention())
    return fail("--attention-memory would change nothing: attention is "
                "decomposed, as --attention=decomposed or, by default, "
                "--target=host asks; it is for --attention=library");
  auto note = [&](const cl::Option &option, bool acts = true) {
    if (option.getNumOccurrences() > 0 && acts)
      options.modelFlags.push_back(option.ArgStr.str());
  };
  note(flags.headChunk);
  note(flags.lossScale);
  note(flags.allowTf32, flags.allowTf32);
  note(flags.attention, config.attention == Attention::Library);
  note(flags.attentionMemory);
  return llvm::Error::success();
}

llvm::Error takePhases(const Flags &flags, CompileOptions &options) {
  options.first = findPhase(flags.from);
  options.last = findPhase(flags.compileTo);
  int program = (int)getPhases().size() - 1;
  if (options.first < 0)
    return fail("--from=" + flags.from + " is no phase; there are " +
                getPhaseNames());
  if (options.last < 0)
    return fail("--compile-to=" + flags.compileTo + " is no phase; there are " +
                getPhaseNames());
  options.isPhaseGiven = flags.from.getNumOccurrences() > 0;
  options.isIR =
      options.isPhaseGiven || llvm::StringRef(flags.input).ends_with(".mlir");
  if (options.isIR)
    if (std::string given = flags.getPlanningFlags(); !given.empty())
      return fail("--from continues what was asked for when the IR was made; "
                  "it does not go with" +
                  given);
  if (options.first >= program || options.last < options.first)
    return fail("--compile-to=" + flags.compileTo +
                " does not come after --from=" + flags.from);
  if (flags.emit.getNumOccurrences() > 0 && flags.emit != "mlir" &&
      flags.emit != "program")
    return fail("--emit=" + flags.emit + " is neither mlir nor program");
  options.emitProgram =
      flags.emit.empty() ? options.last == program : flags.emit == "program";
  if (options.emitProgram && options.last != program)
    return fail("--emit=program needs --compile-to=program");
  if (!flags.report.empty() && flags.report != "text" && flags.report != "json")
    return fail("--report=" + flags.report + " is neither text nor json");
  options.report = flags.report == "text"   ? ReportKind::Text
                   : flags.report == "json" ? ReportKind::Json
                                            : ReportKind::None;
  if (options.report != ReportKind::None && !options.emitProgram)
    return fail("--report describes a program: it needs --compile-to=program");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<CompileOptions> rondo::parseCompileOptions(int argc,
                                                          char **argv) {
  Flags flags;
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compiles an ONNX training graph\n", &llvm::errs()))
    return fail("");
  if (auto error = flags.checkOccurrences())
    return error;
  CompileOptions options;
  options.input = flags.input;
  options.import.path = flags.input;
  options.import.loss = flags.loss;
  options.import.trainable = flags.trainable;
  options.import.freeze = flags.freeze;
  for (const std::string &text : flags.dimensions)
    if (auto error = takeDimension(text, options.import))
      return error;
  if (auto error = takeStep(flags, options.config))
    return error;
  if (auto error = takeMachine(flags, options.config))
    return error;
  if (auto error = takePhases(flags, options))
    return error;
  if (auto error = checkCombination(flags, options.config, options))
    return error;
  options.output = flags.output;
  if (llvm::StringRef(flags.target).ends_with(".json"))
    options.machineFile = flags.target;
  if (options.output.empty()) {
    llvm::SmallString<128> name(llvm::sys::path::filename(options.input));
    llvm::sys::path::replace_extension(name, "rondo");
    options.output =
        options.emitProgram && options.input != "-" ? name.str().str() : "-";
  }
  return options;
}
