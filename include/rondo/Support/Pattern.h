//===- Pattern.h - Regular expressions of users -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SUPPORT_PATTERN_H
#define RONDO_SUPPORT_PATTERN_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace rondo {

/// Why no llvm::Regex should be made of `pattern`, to follow its name: "is not
/// a regular expression: ..."; empty if one can be. What passes is matched in
/// time linear in the name, with memory in proportion to a bounded size.
std::string findPatternFault(llvm::StringRef pattern);

} // namespace rondo

#endif // RONDO_SUPPORT_PATTERN_H
