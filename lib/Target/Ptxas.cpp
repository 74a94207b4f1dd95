//===- Ptxas.cpp - Machine code of GPU kernels ----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Target/Ptxas.h"
#include "GpuCode.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include <cstdlib>

using namespace mlir;
using namespace rondo;
using namespace rondo::target;

//===----------------------------------------------------------------------===//
// Where it is
//===----------------------------------------------------------------------===//

/// Adds the folders where packages of the Pythons under `prefix` keep it.
static void addPackageFolders(StringRef prefix,
                              std::vector<std::string> &folders) {
  std::vector<std::string> found;
  for (StringRef libraries : {"lib", "local/lib"}) {
    SmallString<128> path(prefix);
    llvm::sys::path::append(path, libraries);
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(path, error), end;
         entry != end && !error; entry.increment(error)) {
      if (!llvm::sys::path::filename(entry->path()).starts_with("python3"))
        continue;
      for (StringRef packages : {"site-packages", "dist-packages"})
        for (StringRef part : {"nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"}) {
          SmallString<128> folder(entry->path());
          llvm::sys::path::append(folder, packages, part);
          found.push_back(folder.str().str());
        }
    }
  }
  // Folders come in the file system's order.
  llvm::sort(found);
  llvm::append_range(folders, found);
}

llvm::Expected<std::string> target::findPtxas() {
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return StringRef(value ? value : "");
  };
  StringRef home = variable("CUDA_HOME");
  std::string toolkit =
      ((home.empty() ? "/usr/local/cuda" : home) + "/bin").str();
  std::vector<std::string> folders{toolkit};
  if (llvm::ErrorOr<std::string> python =
          llvm::sys::findProgramByName("python3"))
    addPackageFolders(
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(*python)),
        folders);
  if (StringRef environment = variable("VIRTUAL_ENV"); !environment.empty())
    addPackageFolders(environment, folders);
  if (StringRef user = variable("HOME"); !user.empty())
    addPackageFolders((user + "/.local").str(), folders);
  SmallVector<StringRef> paths(folders.begin(), folders.end());
  if (llvm::ErrorOr<std::string> path =
          llvm::sys::findProgramByName("ptxas", paths))
    return *path;
  return llvm::createStringError(
      "NVIDIA's assembler 'ptxas' is neither on PATH nor in " + toolkit +
      " nor in a package of Python's; install the CUDA toolkit, set CUDA_HOME, "
      "or pip install nvidia-cuda-nvcc; without the flag the driver compiles "
      "the program's PTX when a run begins");
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// ptxas -v says of every kernel how many bytes of registers it keeps in memory
/// for want of room.
static void warnOfSpills(StringRef log, StringRef arch,
                         const llvm::StringMap<Operation *> &kernels) {
  static const llvm::Regex properties("Function properties for ([^ ]+)"),
      spills("([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  Operation *kernel = nullptr;
  SmallVector<StringRef> lines, matches;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    if (properties.match(line, &matches))
      kernel = kernels.lookup(matches[1]);
    uint64_t stores = 0, loads = 0;
    if (!kernel || !spills.match(line, &matches) ||
        matches[1].getAsInteger(10, stores) ||
        matches[2].getAsInteger(10, loads) || stores + loads == 0)
      continue;
    kernel->emitWarning() << "its kernel needs more registers than " << arch
                          << " has for a thread: it spills, storing " << stores
                          << " bytes and loading " << loads
                          << "; it is right, but slower than it could be";
  }
}

static FailureOr<std::string>
assemble(Location loc, StringRef ptxas, StringRef ptxFile, StringRef arch,
         const llvm::StringMap<Operation *> &kernels) {
  SmallString<128> output, log;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("rondo", "cubin", output))
    return emitError(loc) << "a temporary file: " << error.message();
  llvm::FileRemover removeOutput(output);
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("rondo", "log", log))
    return emitError(loc) << "a temporary file: " << error.message();
  llvm::FileRemover removeLog(log);
  std::string option = ("-arch=" + arch).str(), problem;
  StringRef arguments[] = {ptxas, "-v", option, ptxFile, "-o", output};
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  int status = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt,
                                         redirects, 0, 0, &problem);
  std::string said = readFile(log), code = readFile(output);
  if (status == 0 && !code.empty()) {
    warnOfSpills(said, arch, kernels);
    return code;
  }
  return emitError(loc) << "--cuda-arch=" << arch << ": " << ptxas
                        << (status == 0 ? " wrote nothing" : " failed")
                        << (problem.empty() ? "" : ": ") << problem
                        << (said.empty() ? "" : ":\n")
                        << StringRef(said).rtrim().take_back(4096);
}

FailureOr<std::vector<Cubin>>
target::assembleGpuCode(Location loc, ArrayRef<kern::FuncOp> functions,
                        StringRef ptx, ArrayRef<std::string> archs) {
  std::vector<Cubin> cubins;
  if (archs.empty())
    return cubins;
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return emitError(loc) << "--cuda-arch: "
                          << llvm::toString(ptxas.takeError());
  llvm::StringMap<Operation *> kernels;
  for (kern::FuncOp function : functions)
    for (Operation &op : function.getBody().front())
      if (std::string symbol = gpu::getSymbol(op); !symbol.empty())
        kernels.try_emplace(symbol, &op);
  SmallString<128> path;
  int file = -1;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("rondo", "ptx", file, path))
    return emitError(loc) << "a temporary file: " << error.message();
  llvm::FileRemover remove(path);
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
  stream << ptx;
  stream.close();
  if (std::error_code error = stream.error()) {
    stream.clear_error();
    return emitError(loc) << path << ": " << error.message();
  }
  for (const std::string &arch : archs) {
    FailureOr<std::string> code = assemble(loc, *ptxas, path, arch, kernels);
    if (failed(code))
      return failure();
    cubins.push_back({arch, std::move(*code)});
  }
  return cubins;
}
