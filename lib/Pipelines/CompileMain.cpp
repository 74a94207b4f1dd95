//===- CompileMain.cpp - The compiler ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/CompileMain.h"
#include "CheckFlags.h"
#include "InputFiles.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "rondo-c/runtime.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dump/Dump.h"
#include "rondo/InitAll.h"
#include "rondo/Pipelines/CompileOptions.h"
#include "rondo/Pipelines/DiagnosticPrinter.h"
#include "rondo/Pipelines/Nesting.h"
#include "rondo/Pipelines/Phases.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Target/Program.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include <iostream>
#include <sstream>

using namespace mlir;

namespace rondo {

/// Every group must decide something: have a trained parameter that no group
/// before it has.
static LogicalResult checkGroups(ModuleOp module, const Config &config) {
  std::vector<bool> matches(config.groups.size()), decides(matches);
  for (auto parameter : module.getOps<nn::ParameterOp>()) {
    if (!parameter.getTrainable())
      continue;
    SmallVector<std::string> names{parameter.getSymName().str(),
                                   parameter.getSource().value_or("").str()};
    if (auto copies = parameter.getCopies())
      for (StringRef copy : copies->getAsValueRange<StringAttr>())
        names.push_back(copy.str());
    bool isTaken = false;
    for (auto [number, group] : llvm::enumerate(config.groups)) {
      if (!group.matches(names))
        continue;
      matches[number] = true;
      decides[number] = decides[number] || !isTaken;
      isTaken = true;
    }
  }
  for (auto [number, group] : llvm::enumerate(config.groups))
    if (!decides[number])
      module.emitError() << "--param-group='" << group.pattern << "' "
                         << (matches[number]
                                 ? "decides nothing: every parameter that it "
                                   "matches is in a group before it"
                                 : "matches the whole name of no parameter "
                                   "that trains");
  return success(!llvm::is_contained(decides, false));
}

/// The module to start from: an imported model with its configuration, or IR
/// that carries its own.
static OwningOpRef<ModuleOp>
loadModule(const CompileOptions &options, MLIRContext *context,
           std::vector<std::string> &externalFiles) {
  if (!options.isIR) {
    ImportOptions import = options.import;
    import.externalFiles = &externalFiles;
    OwningOpRef<ModuleOp> module = importModel(import, context);
    if (!module || failed(checkGroups(*module, options.config)))
      return nullptr;
    options.config.write(*module);
    // As given: the program names its weight files relative to itself.
    if (options.input != "-")
      (*module)->setAttr("nn.source", StringAttr::get(context, options.input));
    return module;
  }
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      openInputFile(options.input, &error);
  if (!buffer) {
    emitError(UnknownLoc::get(context)) << error;
    return nullptr;
  }
  if (std::string deep = findDeepText(buffer->getBuffer()); !deep.empty()) {
    emitError(UnknownLoc::get(context)) << options.input << ":" << deep;
    return nullptr;
  }
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  auto module = parseSourceFile<ModuleOp>(sources, context);
  if (module && failed(checkNesting(*module)))
    return nullptr;
  return module;
}

static LogicalResult printStatus(const runtime::Status &status) {
  if (status.ok())
    return success();
  llvm::errs() << "rondo-compile: " << status.message() << "\n";
  return failure();
}

/// Standard output, or what is there already and is no file: a pipe, /dev/null.
static bool isStream(StringRef path) {
  llvm::sys::fs::file_type type = llvm::sys::fs::get_file_type(path);
  return path == "-" || type == llvm::sys::fs::file_type::fifo_file ||
         type == llvm::sys::fs::file_type::character_file;
}

static LogicalResult writeOutput(const std::string &path, StringRef bytes) {
  if (!isStream(path))
    return printStatus(runtime::writeFile(path, [&](std::FILE *file) {
      std::fwrite(bytes.data(), 1, bytes.size(), file);
    }));
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << bytes;
    stream.flush();
    error = stream.error();
    stream.clear_error();
  }
  if (!error)
    return success();
  return printStatus(runtime::userError(
      (path == "-" ? "standard output" : path) + ": " + error.message()));
}

/// Reads back what was emitted: the reader's checks are the last verifier.
static LogicalResult printReport(StringRef bytes,
                                 const CompileOptions &options) {
  std::unique_ptr<runtime::Program> program;
  std::vector<std::byte> copy((const std::byte *)bytes.data(),
                              (const std::byte *)bytes.data() + bytes.size());
  if (runtime::Status status =
          runtime::Program::fromBytes(copy, options.output, program);
      !status.ok()) {
    // Of IR that was changed by hand not all is checked before: its kernels
    // are the user's.
    llvm::errs() << "rondo-compile: "
                 << (options.isIR ? options.input + ": error: "
                                  : std::string("internal error: "))
                 << "the program does not pass the reader's checks: "
                 << status.message() << "\n";
    return failure();
  }
  if (options.report == ReportKind::None)
    return success();
  std::ostringstream text;
  if (options.report == ReportKind::Text)
    dump::printPlan(*program, text);
  else
    dump::printPlanJson(*program, text);
  // Beside a program on standard output the report goes to the other stream.
  (options.output == "-" ? llvm::errs() : llvm::outs()) << text.str();
  return success();
}

int compileMain(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // So that -mlir-print-ir-after=PASS and the like know every pass.
  registerAllRondoPasses();
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << "rondo-compile " << rondo_runtime_version() << "\nLLVM "
        << LLVM_VERSION_STRING << "\n";
  });
  llvm::Expected<CompileOptions> options = parseCompileOptions(argc, argv);
  if (!options) {
    std::string message = llvm::toString(options.takeError());
    if (!message.empty())
      llvm::errs() << "rondo-compile: " << message << "\n";
    return int(ExitCode::BadFlags);
  }
  auto isLost = [&](const std::string &what) {
    if (!what.empty())
      llvm::errs() << "rondo-compile: -o " << options->output << " " << what
                   << "\n";
    return !what.empty();
  };
  if (isLost(findOverwritten(*options)))
    return int(ExitCode::BadFlags);
  // Before minutes are spent on what cannot be written.
  if (!isStream(options->output) &&
      failed(printStatus(runtime::checkOutputFile(options->output))))
    return int(ExitCode::UserError);
  // Every operation of a step is planned and checked by itself.
  constexpr int64_t manyMicroBatches = 4096;
  if (int64_t count = options->config.microBatches * options->config.rounds;
      count > manyMicroBatches && !options->isIR)
    llvm::errs() << "rondo-compile: warning: a step of " << count
                 << " micro-batches is planned operation by operation, which "
                    "takes minutes; fewer and larger micro-batches give the "
                    "same step\n";
  DialectRegistry registry;
  registerAllRondoDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  // Users are told the ONNX node, not shown Rondo's own IR.
  context.printOpOnDiagnostic(false);
  DiagnosticPrinter printer(&context, llvm::errs());
  auto failed_ = [&] {
    return int(printer.sawInfeasible() ? ExitCode::Infeasible
               : printer.sawBadFlag()  ? ExitCode::BadFlags
                                       : ExitCode::UserError);
  };

  std::vector<std::string> external;
  OwningOpRef<ModuleOp> module = loadModule(*options, &context, external);
  if (isLost(findOverwrittenWeights(*options, module ? *module : ModuleOp(),
                                    external)))
    return int(ExitCode::BadFlags);
  if (!module)
    return failed_();
  if (!options->isIR && failed(recordWeightFiles(*module)))
    return int(ExitCode::UserError);
  FailureOr<Config> config = Config::read(*module);
  if (failed(config))
    return int(ExitCode::UserError);
  PassManager passes(&context);
  if (failed(applyPassManagerCLOptions(passes)))
    return int(ExitCode::BadFlags);
  // What was printed may have been changed by hand.
  if (options->isIR)
    getPhases()[options->first].addVerifiers(passes, *config);
  for (const Phase &phase :
       getPhases().slice(options->first + 1, options->last - options->first)) {
    phase.addPasses(passes, *config);
    if (phase.name == "raise")
      passes.addPass(
          createCheckFlags(options->modelFlags, config->useLibraryAttention()));
  }
  if (failed(passes.run(*module))) {
    if (options->isIR && !options->isPhaseGiven)
      llvm::errs() << "rondo-compile: " << options->input
                   << " was taken for IR of phase import; --from=PHASE says "
                      "which phase left it\n";
    return failed_();
  }

  std::string bytes;
  if (options->emitProgram) {
    FailureOr<std::string> program =
        target::emitProgram(*module, options->output);
    if (failed(program))
      return failed_();
    bytes = std::move(*program);
    if (failed(printReport(bytes, *options)))
      return int(options->isIR ? ExitCode::UserError : ExitCode::Internal);
  } else {
    llvm::raw_string_ostream stream(bytes);
    // Locations hold the ONNX nodes: without them a later phase could not name
    // one.
    module->print(stream, OpPrintingFlags().enableDebugInfo(
                              /*enable=*/true, /*prettyForm=*/false));
    stream << "\n";
  }
  return int(failed(writeOutput(options->output, bytes)) ? ExitCode::UserError
                                                         : ExitCode::Done);
}

} // namespace rondo
