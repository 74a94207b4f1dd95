//===- Packing.cpp - Addresses by lifetime --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "Support.h"
#include <algorithm>
#include <map>
#include <numeric>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

uint64_t detail::packLifetimes(const std::vector<Lifetime> &lifetimes,
                               std::vector<uint64_t> &offsets) {
  // Longest-lived first, then largest: what lives long makes the floor, and the
  // short-lived stack up over it.
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const Lifetime &x = lifetimes[a], &y = lifetimes[b];
    if (x.last - x.first != y.last - y.first)
      return x.last - x.first > y.last - y.first;
    return x.bytes != y.bytes ? x.bytes > y.bytes : a < b;
  });
  offsets.assign(lifetimes.size(), 0);
  std::vector<uint32_t> placed; // in order of offset
  uint64_t used = 0;
  for (uint32_t next : order) {
    const Lifetime &lifetime = lifetimes[next];
    uint64_t bytes = alignUp(lifetime.bytes);
    // The smallest gap that fits, or the end of what is in the way.
    uint64_t end = 0, best = 0, bestGap = UINT64_MAX;
    for (uint32_t other : placed) {
      const Lifetime &that = lifetimes[other];
      if (that.last < lifetime.first || lifetime.last < that.first)
        continue;
      uint64_t offset = offsets[other];
      if (offset >= end + bytes && offset - end < bestGap) {
        bestGap = offset - end;
        best = end;
      }
      end = std::max(end, offset + alignUp(that.bytes));
    }
    offsets[next] = bestGap == UINT64_MAX ? end : best;
    used = std::max(used, offsets[next] + bytes);
    auto position =
        std::upper_bound(placed.begin(), placed.end(), offsets[next],
                         [&](uint64_t offset, uint32_t other) {
                           return offset < offsets[other];
                         });
    placed.insert(position, next);
  }
  return used;
}

uint64_t detail::liveBytes(const std::vector<Lifetime> &lifetimes) {
  std::map<uint32_t, int64_t> changes;
  for (const Lifetime &lifetime : lifetimes) {
    changes[lifetime.first] += (int64_t)alignUp(lifetime.bytes);
    changes[lifetime.last + 1] -= (int64_t)alignUp(lifetime.bytes);
  }
  int64_t live = 0, most = 0;
  for (auto [time, change] : changes)
    most = std::max(most, live += change);
  return (uint64_t)most;
}
