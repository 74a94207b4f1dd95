//===- ProgramTables.h - Parts of the program file --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_PROGRAMTABLES_H
#define RONDO_LIB_TARGET_PROGRAMTABLES_H

#include "rondo/Planning/Model.h"
#include "rondo/Target/HostObject.h"
#include "rondo/Target/Program.h"
#include "schema/program_generated.h"
#include <map>

namespace rondo::target {

/// Bytes laid out after the table.
class Blobs {
public:
  /// Keeps `bytes` and returns a blob whose offset is relative to the first
  /// blob until `place`.
  std::unique_ptr<program::BlobT> add(std::string bytes);
  /// Total size, each blob padded to the file's alignment.
  uint64_t size() const { return end; }
  llvm::ArrayRef<std::string> getParts() const { return parts; }

private:
  std::vector<std::string> parts;
  uint64_t end = 0;
};

/// Of the types that tensors may have: pipe.chain and nn.parameter verify that.
program::ElementType getElementType(mlir::Type type);

/// By location, relative to the model.
using WeightFiles = std::map<std::string, runtime::FileIdentity>;
/// Module attribute `nn.weights`; fails with a diagnostic.
mlir::FailureOr<WeightFiles> readWeightFiles(mlir::ModuleOp module);

/// Fills inputs, parameters, blocks and the optimizer.
void fillTables(const planning::ModelInfo &info,
                const scheduling::Schedule &schedule, const Config &config,
                const HostObject &object, const WeightFiles &weightFiles,
                llvm::StringRef modelPath, llvm::StringRef outputPath,
                Blobs &blobs, program::ProgramT &program);

} // namespace rondo::target

#endif // RONDO_LIB_TARGET_PROGRAMTABLES_H
