//===- Fences.cpp - Exactly the waits that order needs --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops are replayed in issue order over enough iterations on physical devices,
// with a vector clock for each physical lane: how far every other lane is known
// to have come. An op's hazards are the last write of each byte it touches and,
// if it writes, the reads since. Taken from the latest to the earliest, a
// hazard becomes a wait only if the clock does not know it yet. Since what
// comes later in issue order can imply what comes earlier, and never the other
// way round, the waits left are the transitive reduction: each is necessary.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <algorithm>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

/// One op of one iteration, as hazards remember it.
struct Touch {
  uint64_t when = 0; ///< iteration * ops + op.
  uint32_t lane = 0;
  uint32_t position = 0; ///< On its lane.
  uint32_t clock = 0;    ///< What is known once it is complete.
};

struct Segment {
  bool written = false;
  Touch writer;
  std::vector<Touch> readers; ///< Since the write: the last of each lane.
};

/// Clocks of the ops that some segment still remembers.
class ClockPool {
public:
  explicit ClockPool(uint32_t lanes) : lanes(lanes) {}
  uint32_t create(const std::vector<uint32_t> &clock) {
    uint32_t id;
    if (free.empty()) {
      id = (uint32_t)counts.size();
      counts.push_back(0);
      storage.resize(storage.size() + lanes);
    } else {
      id = free.back();
      free.pop_back();
    }
    std::copy(clock.begin(), clock.end(),
              storage.begin() + (ptrdiff_t)((size_t)id * lanes));
    counts[id] = 1;
    return id;
  }
  void retain(uint32_t id) { ++counts[id]; }
  void release(uint32_t id) {
    if (--counts[id] == 0)
      free.push_back(id);
  }
  void join(uint32_t id, std::vector<uint32_t> &clock) const {
    const uint32_t *other = storage.data() + (size_t)id * lanes;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      clock[lane] = std::max(clock[lane], other[lane]);
  }

private:
  uint32_t lanes;
  std::vector<uint32_t> counts, storage, free;
};

class FenceSolver {
public:
  explicit FenceSolver(Schedule &schedule)
      : schedule(schedule), lanes(schedule.devices * kDeviceLanes + kHostLanes),
        pool(lanes) {}
  Outcome run();

private:
  /// An operand's bytes as a run of its buffer's segments.
  struct Range {
    uint32_t buffer, first, last;
    bool writes;
  };

  void cutSegments();
  void replay(uint64_t iteration, std::vector<std::vector<Wait>> &waits);
  uint32_t laneOf(const Op &op, uint64_t iteration) const {
    if (isHostLane(op.lane))
      return schedule.devices * kDeviceLanes + laneIndex(op.lane);
    return schedule.physicalDevice(op.device, iteration) * kDeviceLanes +
           laneIndex(op.lane);
  }

  Schedule &schedule;
  uint32_t lanes;
  ClockPool pool;
  std::vector<uint32_t>
      firstSegment; ///< Of each buffer, on each of its devices in turn.
  std::vector<uint32_t> segmentCount; ///< Of each buffer on one device.
  std::vector<std::vector<std::vector<Range>>>
      ranges; ///< By op, operand, turn.
  std::vector<Segment> segments;
  std::vector<std::vector<uint32_t>> laneClock;
  std::vector<uint32_t> lanePosition;
};

} // namespace

void FenceSolver::cutSegments() {
  // Where some operand begins or ends. What the compute lane alone touches has
  // no hazards: its lane orders it.
  std::vector<std::vector<uint64_t>> ends(schedule.buffers.size());
  for (const Op &op : schedule.ops)
    for (const Operand &operand : op.operands)
      for (uint32_t buffer : operand.buffers) {
        if (schedule.buffers[buffer].computeOnly)
          continue;
        std::vector<uint64_t> &list = ends[buffer];
        list.push_back(operand.offset);
        list.push_back(operand.offset + operand.bytes);
        if (list.size() > 4096) {
          std::sort(list.begin(), list.end());
          list.erase(std::unique(list.begin(), list.end()), list.end());
        }
      }
  firstSegment.assign(schedule.buffers.size(), 0);
  segmentCount.assign(schedule.buffers.size(), 0);
  uint32_t total = 0;
  for (size_t b = 0; b < schedule.buffers.size(); ++b) {
    std::sort(ends[b].begin(), ends[b].end());
    ends[b].erase(std::unique(ends[b].begin(), ends[b].end()), ends[b].end());
    firstSegment[b] = total;
    segmentCount[b] = ends[b].empty() ? 0 : (uint32_t)ends[b].size() - 1;
    total +=
        segmentCount[b] *
        (schedule.buffers[b].space == Space::Device ? schedule.devices : 1);
  }
  segments.assign(total, {});
  ranges.resize(schedule.ops.size());
  for (size_t i = 0; i < schedule.ops.size(); ++i)
    for (const Operand &operand : schedule.ops[i].operands) {
      std::vector<Range> turns;
      for (uint32_t buffer : operand.buffers) {
        const std::vector<uint64_t> &list = ends[buffer];
        if (list.empty())
          continue;
        auto index = [&](uint64_t offset) {
          return (uint32_t)(std::lower_bound(list.begin(), list.end(), offset) -
                            list.begin());
        };
        turns.push_back({buffer, index(operand.offset),
                         index(operand.offset + operand.bytes),
                         operand.access != Access::Read});
      }
      if (!turns.empty() && turns.size() == operand.buffers.size()) {
        std::rotate(turns.begin(),
                    turns.begin() + (ptrdiff_t)(operand.phase % turns.size()),
                    turns.end());
        ranges[i].push_back(std::move(turns));
      }
    }
}

void FenceSolver::replay(uint64_t iteration,
                         std::vector<std::vector<Wait>> &waits) {
  std::vector<Touch> hazards;
  std::vector<std::pair<uint32_t, bool>> touched;
  for (size_t i = 0; i < schedule.ops.size(); ++i) {
    const Op &op = schedule.ops[i];
    uint32_t lane = laneOf(op, iteration);
    std::vector<uint32_t> &clock = laneClock[lane];
    hazards.clear();
    touched.clear();
    for (const std::vector<Range> &turns : ranges[i]) {
      const Range &range = turns[iteration % turns.size()];
      uint32_t base = firstSegment[range.buffer];
      if (schedule.buffers[range.buffer].space == Space::Device)
        base += segmentCount[range.buffer] *
                schedule.physicalDevice(op.device, iteration);
      for (uint32_t s = range.first; s < range.last; ++s) {
        const Segment &segment = segments[base + s];
        touched.emplace_back(base + s, range.writes);
        if (segment.written && segment.writer.lane != lane)
          hazards.push_back(segment.writer);
        if (range.writes)
          for (const Touch &reader : segment.readers)
            if (reader.lane != lane)
              hazards.push_back(reader);
      }
    }
    std::sort(hazards.begin(), hazards.end(),
              [](const Touch &a, const Touch &b) { return a.when > b.when; });
    waits[i].clear();
    for (const Touch &hazard : hazards) {
      if (clock[hazard.lane] > hazard.position)
        continue;
      pool.join(hazard.clock, clock);
      waits[i].push_back(
          {(uint32_t)(hazard.when % schedule.ops.size()),
           (uint32_t)(iteration - hazard.when / schedule.ops.size())});
    }
    Touch self{iteration * schedule.ops.size() + i, lane, lanePosition[lane]++,
               0};
    clock[lane] = self.position + 1;
    if (touched.empty())
      continue;
    self.clock = pool.create(clock);
    for (auto [index, writes] : touched) {
      Segment &segment = segments[index];
      pool.retain(self.clock);
      if (writes) {
        if (segment.written)
          pool.release(segment.writer.clock);
        for (const Touch &reader : segment.readers)
          pool.release(reader.clock);
        segment.readers.clear();
        segment.written = true;
        segment.writer = self;
        continue;
      }
      auto it = std::find_if(
          segment.readers.begin(), segment.readers.end(),
          [&](const Touch &reader) { return reader.lane == lane; });
      if (it == segment.readers.end()) {
        segment.readers.push_back(self);
      } else {
        pool.release(it->clock);
        *it = self;
      }
    }
    pool.release(self.clock);
  }
}

Outcome FenceSolver::run() {
  cutSegments();
  laneClock.assign(lanes, std::vector<uint32_t>(lanes, 0));
  lanePosition.assign(lanes, 0);
  // Whatever touches a byte in iteration t touches it in t + period again:
  // after one period all hazards are there, and in the next they must all be
  // alike.
  uint64_t period = schedule.period;
  std::vector<std::vector<Wait>> waits(schedule.ops.size()), steady;
  for (uint64_t iteration = 0; iteration < 2 * period; ++iteration) {
    replay(iteration, waits);
    if (iteration == period)
      steady = waits;
    if (iteration <= period)
      continue;
    for (size_t i = 0; i < waits.size(); ++i)
      if (waits[i] != steady[i])
        return Outcome::failure(
            "'" + schedule.ops[i].name +
            "' waits for other operations in iteration " +
            std::to_string(iteration) + " than in iteration " +
            std::to_string(period) +
            ": the schedule has no single template of waits");
  }
  for (size_t i = 0; i < steady.size(); ++i)
    schedule.ops[i].waits = std::move(steady[i]);
  return Outcome::success();
}

Outcome FenceProblem::check(const Schedule &schedule) const {
  return checkSchedule(schedule);
}

Outcome FenceProblem::solve(Schedule &schedule) const {
  for (Op &op : schedule.ops)
    op.waits.clear();
  if (Outcome outcome = check(schedule); !outcome)
    return outcome;
  return FenceSolver(schedule).run();
}
