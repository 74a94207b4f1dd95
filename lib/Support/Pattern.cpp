//===- Pattern.cpp - Regular expressions of users -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// llvm::Regex is Spencer's engine. It simulates an automaton, which is linear,
// unless there are back-references: then it searches, recursing without bound.
// It writes counted repetitions out, x{2,3} as xxx, and nested ones multiply.
//
//===----------------------------------------------------------------------===//

#include "rondo/Support/Pattern.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

constexpr size_t kMostGroups = 64;    ///< Within each other.
constexpr uint64_t kMostSize = 10000; ///< With repetitions written out.

namespace {
/// Sizes, in characters, of a group as far as it was read.
struct Group {
  uint64_t size = 0;
  uint64_t last = 0; ///< Of what a repetition would apply to.
  bool isLastCounted = false;
  bool isCounted = false; ///< There is a counted repetition in it.

  void add(uint64_t more, bool counted) {
    size += more;
    last = more;
    isLastCounted = counted;
    isCounted |= counted;
  }
};
} // namespace

/// The length of "[^]a[:digit:]]" at the beginning of `text`.
static size_t getBracketLength(StringRef text) {
  size_t at = 1;
  at += text.substr(at).starts_with("^");
  at += text.substr(at).starts_with("]");
  while (at < text.size() && text[at] != ']') {
    char kind = text[at] == '[' && at + 1 < text.size() ? text[at + 1] : '\0';
    if (kind == '.' || kind == ':' || kind == '=') {
      size_t end = text.find(std::string{kind, ']'}, at + 2);
      at = end == StringRef::npos ? text.size() : end + 2;
    } else {
      ++at;
    }
  }
  return std::min(at + 1, text.size());
}

/// "{2,3" at the beginning of `text`: its length, and what is written out.
static size_t readCount(StringRef text, uint64_t &count) {
  StringRef rest = text.drop_front();
  auto read = [&](uint64_t otherwise) {
    StringRef digits = rest.take_while(isDigit);
    rest = rest.drop_front(digits.size());
    uint64_t number = otherwise;
    if (!digits.empty() && digits.getAsInteger(10, number))
      number = kMostSize;
    return std::min(number, kMostSize);
  };
  count = read(0);
  if (rest.consume_front(","))
    count = std::max(count, read(count + 1));
  return text.size() - rest.size();
}

/// Everything but whether it is a regular expression, which llvm::Regex says
/// once it is known to be small.
static std::string findExcess(StringRef pattern) {
  SmallVector<Group> groups(1);
  for (size_t at = 0; at < pattern.size();) {
    StringRef rest = pattern.drop_front(at);
    char c = rest[0], next = rest.size() > 1 ? rest[1] : '\0';
    Group &group = groups.back();
    size_t length = 1;
    if (c == '\\') {
      if (next >= '1' && next <= '9')
        return std::string("refers back to a group, with \\") + next +
               ", which can take for ever to match; write the names out, with "
               "'|' between them";
      length = 2;
      group.add(1, false);
    } else if (c == '[') {
      length = getBracketLength(rest);
      group.add(1, false);
    } else if (c == '(') {
      groups.emplace_back();
      if (groups.size() > kMostGroups + 1)
        return "has more than " + std::to_string(kMostGroups) +
               " groups within each other";
    } else if (c == ')' && groups.size() > 1) {
      Group inner = groups.pop_back_val();
      groups.back().add(inner.size + 2, inner.isCounted);
    } else if (c == '{' && isDigit(next)) {
      if (group.isLastCounted)
        return "repeats a counted number of times, {N}, what has such a "
               "repetition in it; '*' and '+' may be nested";
      uint64_t count = 0;
      length = readCount(rest, count);
      group.size += count * (group.last + 2);
      group.isLastCounted = group.isCounted = true;
    } else if (c == '*' || c == '+' || c == '?') {
      group.size += 2;
      group.last += 2;
    } else {
      group.add(1, false);
    }
    if (groups.back().size > kMostSize)
      return "is more than " + std::to_string(kMostSize) +
             " characters long, with counted repetitions written out";
    at += length;
  }
  return "";
}

std::string rondo::findPatternFault(StringRef pattern) {
  std::string fault = findExcess(pattern);
  if (!fault.empty())
    return fault;
  std::string reason;
  return Regex(pattern).isValid(reason)
             ? ""
             : "is not a regular expression: " + reason;
}
