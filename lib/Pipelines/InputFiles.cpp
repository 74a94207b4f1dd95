//===- InputFiles.cpp - The files that a compilation reads ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Runtime/WeightFile.h"
#include "rondo/Target/Program.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace mlir;

namespace rondo {

/// `location` as nn.stored has it: relative to the model, "" the model itself.
static std::string getPath(StringRef model, StringRef location) {
  if (location.empty())
    return model.str();
  SmallString<256> path = llvm::sys::path::parent_path(model);
  llvm::sys::path::append(path, location);
  return path.str().str();
}

static std::set<std::string> getLocations(ModuleOp module) {
  std::set<std::string> locations;
  for (auto parameter : module.getOps<nn::ParameterOp>())
    if (auto stored = parameter.getStored())
      locations.insert(stored->getLocation().str());
  return locations;
}

/// The model's path; nothing where it came from standard input.
static StringRef getModel(ModuleOp module) {
  auto source = module->getAttrOfType<StringAttr>("nn.source");
  return !source || source.getValue() == "-" ? "" : source.getValue();
}

static bool isWritten(const CompileOptions &options, const std::string &file) {
  return options.output != "-" && file != "-" &&
         runtime::sameFile(options.output, file) &&
         // Pipes and devices lose nothing.
         (llvm::sys::fs::is_regular_file(file) || !llvm::sys::fs::exists(file));
}

std::string findOverwritten(const CompileOptions &options) {
  if (isWritten(options, options.input))
    return options.isIR ? "is the IR itself" : "is the model itself";
  if (!options.machineFile.empty() && isWritten(options, options.machineFile))
    return "is the machine of --target";
  return "";
}

std::string findOverwrittenWeights(const CompileOptions &options,
                                   ModuleOp module,
                                   ArrayRef<std::string> external) {
  std::set<std::string> files;
  if (!options.isIR)
    for (const std::string &location : external)
      files.insert(
          getPath(options.input == "-" ? "" : options.input, location));
  if (module)
    for (const std::string &location : getLocations(module))
      files.insert(getPath(getModel(module), location));
  for (const std::string &file : files)
    if (isWritten(options, file))
      return "is " + file + ", which holds weights of the model";
  return "";
}

LogicalResult recordWeightFiles(ModuleOp module) {
  Builder builder(module.getContext());
  SmallVector<Attribute> files;
  for (const std::string &location : getLocations(module)) {
    std::string path = getPath(getModel(module), location);
    if (path.empty() || !llvm::sys::fs::exists(path))
      continue;
    runtime::FileIdentity identity;
    if (runtime::Status status = runtime::identifyFile(path, identity);
        !status.ok())
      return module.emitError() << status.message();
    files.push_back(
        target::getWeightFileAttr(module.getContext(), location, identity));
  }
  if (!files.empty())
    module->setAttr("nn.weights", builder.getArrayAttr(files));
  return success();
}

} // namespace rondo
