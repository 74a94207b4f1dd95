//===- Arena.h - Whose the bytes of scratch are ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_ARENA_H
#define RONDO_DIALECT_KERN_ARENA_H

#include "rondo/Dialect/Kern/Kern.h"

#include <map>

namespace rondo::kern {

/// Which value holds each byte range of the arena: begin -> (end, value).
class Arena {
public:
  void write(ScratchOp op) {
    int64_t begin = *op.getOffset(), end = begin + getBytes(op.getResult());
    cut(begin);
    cut(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
    ranges[begin] = {end, op};
  }
  /// Null if every byte is `op`'s, else the value that is there instead (`op`
  /// itself if nothing is).
  ScratchOp findOther(ScratchOp op) {
    int64_t at = *op.getOffset(), end = at + getBytes(op.getResult());
    while (at < end) {
      auto it = ranges.upper_bound(at);
      if (it == ranges.begin())
        return op;
      --it;
      if (it->second.first <= at)
        return op;
      if (it->second.second != op)
        return it->second.second;
      at = it->second.first;
    }
    return {};
  }

private:
  /// Makes `at` a boundary of ranges.
  void cut(int64_t at) {
    auto it = ranges.upper_bound(at);
    if (it == ranges.begin())
      return;
    --it;
    if (it->first < at && it->second.first > at) {
      ranges[at] = it->second;
      it->second.first = at;
    }
  }
  std::map<int64_t, std::pair<int64_t, ScratchOp>> ranges;
};

} // namespace rondo::kern

#endif // RONDO_DIALECT_KERN_ARENA_H
