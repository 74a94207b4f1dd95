//===- JsonDepth.h - How deep JSON text nests -------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers of JSON, and what copies or prints their values, call themselves once
// a level. Text from a user is looked at before they get it.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_JSONDEPTH_H
#define RONDO_RUNTIME_JSONDEPTH_H

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo {

/// Levels that JSON may have; what Rondo reads has at most three.
constexpr size_t kMostJsonLevels = 64;

/// Empty, or which byte of `text` opens a level too many. Brackets within
/// strings do not count.
inline std::string findDeepJson(std::string_view text) {
  size_t levels = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++levels > kMostJsonLevels)
      return "its JSON is nested more than " + std::to_string(kMostJsonLevels) +
             " levels deep, at byte " + std::to_string(i);
    else if (!inString && (c == ']' || c == '}') && levels > 0)
      --levels;
  }
  return "";
}

} // namespace rondo

#endif // RONDO_RUNTIME_JSONDEPTH_H
