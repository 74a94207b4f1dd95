//===- Import.h - From an ONNX file to nn -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_IMPORT_IMPORT_H
#define RONDO_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rondo {

/// What the importer needs to know besides the model.
struct ImportOptions {
  /// The ONNX file; "-" reads standard input.
  std::string path;
  /// Name of the graph output that is the loss; empty: the only scalar
  /// floating-point output.
  std::string loss;
  /// Extents of symbolic input dimensions, by name ("batch") or, for
  /// dimensions without a name, by input and axis ("x.0").
  std::vector<std::pair<std::string, int64_t>> dimensions;
  /// Regular expressions over a parameter's ONNX or source name. If any
  /// `trainable` is given, only what one of them matches trains; what one of
  /// `freeze` matches never does.
  std::vector<std::string> trainable;
  std::vector<std::string> freeze;
  /// Filled with the files of external data that the model names, there or not,
  /// relative to its folder; also where the import fails later.
  std::vector<std::string> *externalFiles = nullptr;
};

/// Reads an ONNX training graph (opsets 13 to 24, IR versions up to 13) and
/// returns a module of `nn.parameter`s and one function `@loss` from the
/// inputs to the scalar loss: static shapes, every op at its ONNX node's
/// location, every value that depends on neither inputs nor parameters folded
/// unless it is large. Module attribute `nn.source`: the file's name.
///
/// Errors are reported through the context's diagnostics, all of one kind at
/// once (unsupported nodes in a single error); the result is then null.
/// Remarks say what trains, what stays frozen, which initializers were merged
/// and which declared shapes were wrong.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const ImportOptions &options,
                                              mlir::MLIRContext *context);

} // namespace rondo

#endif // RONDO_IMPORT_IMPORT_H
