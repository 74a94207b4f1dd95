//===- Dimensions.h - Symbolic dimensions -----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_DIMENSIONS_H
#define RONDO_LIB_IMPORT_DIMENSIONS_H

#include "ModelFile.h"
#include "rondo/Import/Import.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace rondo {

/// Gives the model's symbolic dimensions the sizes of `--dim`.
class Dimensions {
public:
  /// Evaluates a dimension: a name, or an expression over names and numbers
  /// with + - * / // % and parentheses. Nothing if a name is unknown or the
  /// text is no such expression.
  std::optional<int64_t> evaluate(llvm::StringRef expression) const;

  /// The shapes of the graph's inputs (those that are no initializers), in
  /// order; one error names all symbolic dimensions without a size.
  mlir::FailureOr<std::vector<mlir::RankedTensorType>>
  bindInputs(const ModelFile &file,
             const std::vector<std::pair<std::string, int64_t>> &sizes);

private:
  /// The extent of one axis; unknown names are added to `missing`.
  int64_t resolve(const onnx::TensorShapeProto::Dimension &dimension,
                  const std::string &fallbackName);

  llvm::StringMap<int64_t> sizes;
  /// Names given or asked for.
  std::vector<std::string> known;
  std::vector<std::string> missing;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_DIMENSIONS_H
