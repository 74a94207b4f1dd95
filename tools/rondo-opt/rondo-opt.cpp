//===- rondo-opt.cpp - Runs Rondo's passes on IR --------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo-c/runtime.h"
#include "rondo/InitAll.h"
#include "rondo/Pipelines/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// MlirOptMain of files, but for a look at the input before it is parsed.
static LogicalResult optimize(int argc, char **argv,
                              DialectRegistry &registry) {
  auto [inputName, outputName] = registerAndParseCLIOptions(
      argc, argv, "Rondo's optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputName, outputName, registry);
  llvm::InitLLVM init(argc, argv);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &error);
  // Bytecode is for those who wrote it with this program.
  if (input && !isBytecode(*input))
    if (std::string deep = rondo::findDeepText(
            input->getBuffer(), !config.inputSplitMarker().empty());
        !deep.empty()) {
      llvm::errs() << inputName << ":" << deep << "\n";
      return failure();
    }
  std::unique_ptr<llvm::ToolOutputFile> output;
  if (input)
    output = openOutputFile(outputName, &error);
  if (!output) {
    llvm::errs() << error << "\n";
    return failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << "rondo-opt " << rondo_runtime_version() << "\nLLVM "
        << LLVM_VERSION_STRING << "\n";
  });
  DialectRegistry registry;
  rondo::registerAllRondoDialects(registry);
  rondo::registerAllRondoPasses();
  registerTransformsPasses();
  return asMainReturnCode(optimize(argc, argv, registry));
}
