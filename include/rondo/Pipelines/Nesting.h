//===- Nesting.h - How deep IR nests ----------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's parser and printer call themselves once a level, without bound. What
// a user hands over is looked at before it gets there.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PIPELINES_NESTING_H
#define RONDO_PIPELINES_NESTING_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace rondo {

/// Levels that IR may have; what Rondo prints has less than 20.
constexpr unsigned kMostLevels = 256;

/// Empty, or what of the text of IR is too deep or no text, with its line.
/// Brackets within strings and comments do not count. With `isSplit`, levels
/// begin anew after each line "// -----", as for -split-input-file.
std::string findDeepText(llvm::StringRef text, bool isSplit = false);

/// Fails where attributes, types or locations of `module` hold each other
/// deeper than that, which aliases make possible in flat text.
llvm::LogicalResult checkNesting(mlir::ModuleOp module);

} // namespace rondo

#endif // RONDO_PIPELINES_NESTING_H
