//===- Segments.cpp - Groups segments into layers -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Segments.h"
#include <tuple>

using namespace llvm;
using namespace rondo::pipe;

namespace {
/// `repeats` times `period` segments from `begin` on.
struct Run {
  int64_t begin = 0, period = 0, repeats = 0;
  int64_t products = 0; ///< In all of it.
  bool startsWithProduct = false;

  int64_t getEnd() const { return begin + period * repeats; }
  /// More products, then shorter units, then units that begin with a product
  /// (and so end with the elementwise operations behind it), then first.
  bool isBetterThan(const Run &other) const {
    return std::tuple(-products, period, !startsWithProduct, begin) <
           std::tuple(-other.products, other.period, !other.startsWithProduct,
                      other.begin);
  }
};

struct Group {
  int64_t end = 0; ///< Segments up to its end.
  bool inRun = false;
  bool hasWeight = false; ///< Products or look-ups.
  bool hasProduct = false;
};

class Grouping {
public:
  explicit Grouping(ArrayRef<Segment> segments) : segments(segments) {}

  void group(int64_t begin, int64_t end);
  void mergeLight();
  ArrayRef<Group> getGroups() const { return groups; }

private:
  Run findBestRun(int64_t begin, int64_t end) const;
  void groupRest(int64_t begin, int64_t end);

  ArrayRef<Segment> segments;
  SmallVector<Group> groups;
};
} // namespace

Run Grouping::findBestRun(int64_t begin, int64_t end) const {
  Run best;
  for (int64_t period = 1; 2 * period <= end - begin; ++period) {
    for (int64_t i = begin; i + period < end;) {
      if (segments[i].kind != segments[i + period].kind) {
        ++i;
        continue;
      }
      // [from, i + period) has this period.
      int64_t from = i;
      while (i + period < end && segments[i].kind == segments[i + period].kind)
        ++i;
      int64_t repeats = (i + period - from) / period;
      if (repeats < 2)
        continue;
      int64_t slack = i + period - from - repeats * period;
      for (int64_t shift = 0; shift <= slack; ++shift) {
        Run run{from + shift, period, repeats};
        for (int64_t j = run.begin; j < run.begin + period; ++j)
          run.products += segments[j].products * repeats;
        run.startsWithProduct = segments[run.begin].products != 0;
        if (run.products && (!best.repeats || run.isBetterThan(best)))
          best = run;
      }
    }
  }
  return best;
}

void Grouping::groupRest(int64_t begin, int64_t end) {
  Group current;
  for (int64_t i = begin; i < end; ++i) {
    const Segment &segment = segments[i];
    // Look-ups of several tables are one layer.
    if (current.hasWeight &&
        (segment.products || (segment.lookups && current.hasProduct))) {
      groups.push_back(current);
      current = Group();
    }
    current.end = i + 1;
    current.hasProduct |= segment.products != 0;
    current.hasWeight |= segment.products || segment.lookups;
  }
  if (begin < end)
    groups.push_back(current);
}

void Grouping::group(int64_t begin, int64_t end) {
  Run run = findBestRun(begin, end);
  if (!run.repeats) {
    groupRest(begin, end);
    return;
  }
  group(begin, run.begin);
  for (int64_t i = 1; i <= run.repeats; ++i)
    groups.push_back({run.begin + i * run.period, /*inRun=*/true,
                      /*hasWeight=*/true, /*hasProduct=*/true});
  group(run.getEnd(), end);
}

void Grouping::mergeLight() {
  SmallVector<Group> merged;
  bool joinsNext = false;
  for (auto [i, group] : llvm::enumerate(groups)) {
    if (joinsNext) {
      group.inRun = false;
      group.hasWeight = true;
    }
    joinsNext = false;
    if (group.hasWeight) {
      merged.push_back(group);
      continue;
    }
    bool isLast = i + 1 == groups.size();
    bool previousIsFree = !merged.empty() && !merged.back().inRun;
    bool nextIsFree = !isLast && !groups[i + 1].inRun;
    if (previousIsFree || (!merged.empty() && isLast)) {
      merged.back().end = group.end;
      merged.back().inRun = false;
    } else if (nextIsFree || merged.empty()) {
      joinsNext = !isLast;
      if (isLast)
        merged.push_back(group);
    } else {
      merged.push_back(group); // between two runs
    }
  }
  groups = std::move(merged);
}

SmallVector<int64_t> rondo::pipe::groupSegments(ArrayRef<Segment> segments) {
  Grouping grouping(segments);
  grouping.group(0, segments.size());
  grouping.mergeLight();
  SmallVector<int64_t> ends;
  for (const Group &group : grouping.getGroups())
    ends.push_back(group.end);
  return ends;
}
