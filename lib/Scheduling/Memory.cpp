//===- Memory.cpp - Offsets of every buffer -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device's arena holds its pools one after the other, then one region that
// its slots share: only the compute lane works there, so slots and
// micro-batches use the same bytes in turn without a wait. Within a slot's
// micro-batch, values are packed by the launches between which they live.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "Support.h"
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

/// Of a compute-only buffer: the launches of a micro-batch (counted within the
/// slot) that touch it first and last.
struct Life {
  bool used = false;
  uint32_t first = 0;
  uint32_t last = 0;
};

/// A launch's place among those of its slot's micro-batch.
class LaunchCounter {
public:
  uint32_t next(const Op &op) {
    return counts[{op.slot, op.round, op.microBatch}]++;
  }

private:
  std::map<std::tuple<int32_t, int32_t, int32_t>, uint32_t> counts;
};

} // namespace

static std::vector<Life> findLives(const Schedule &schedule) {
  std::vector<Life> lives(schedule.buffers.size());
  LaunchCounter counter;
  for (const Op &op : schedule.ops) {
    if (op.lane != LaneKind::Compute)
      continue;
    uint32_t place = counter.next(op);
    for (const Operand &operand : op.operands)
      for (uint32_t buffer : operand.buffers) {
        if (!schedule.buffers[buffer].computeOnly)
          continue;
        Life &life = lives[buffer];
        life.first = life.used ? std::min(life.first, place) : place;
        life.last = std::max(life.last, place);
        life.used = true;
      }
  }
  return lives;
}

/// The largest consumers of a space, in words.
static std::string largestBuffers(const Schedule &schedule, bool device) {
  std::vector<uint32_t> order;
  for (uint32_t b = 0; b < schedule.buffers.size(); ++b)
    if ((schedule.buffers[b].space == Space::Device) == device)
      order.push_back(b);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    uint64_t x = schedule.buffers[a].bytes, y = schedule.buffers[b].bytes;
    return x != y ? x > y : a < b;
  });
  std::string text;
  for (size_t i = 0; i < order.size() && i < 3; ++i) {
    const Buffer &buffer = schedule.buffers[order[i]];
    text +=
        (i ? ", '" : "'") + buffer.name + "' with " + formatBytes(buffer.bytes);
  }
  return text;
}

Outcome MemoryProblem::check(const Schedule &schedule) const {
  Outcome outcome = checkSchedule(schedule);
  if (!outcome)
    return outcome;
  // Values in the shared region do not outlive the micro-batch that made them.
  std::vector<std::tuple<int32_t, int32_t, int32_t>> writtenIn(
      schedule.buffers.size(), {-2, -2, -2});
  std::vector<bool> complained(schedule.buffers.size(), false);
  for (const Op &op : schedule.ops)
    for (const Operand &operand : op.operands)
      for (uint32_t buffer : operand.buffers) {
        if (!schedule.buffers[buffer].computeOnly || complained[buffer])
          continue;
        std::tuple<int32_t, int32_t, int32_t> now{op.slot, op.round,
                                                  op.microBatch};
        if (operand.access == Access::Write) {
          writtenIn[buffer] = now;
        } else if (writtenIn[buffer] != now) {
          complained[buffer] = true;
          outcome.ok = false;
          outcome.messages.push_back(
              "'" + op.name + "' reads '" + schedule.buffers[buffer].name +
              "', which nothing in its slot's micro-batch wrote before");
        }
      }
  return outcome;
}

Outcome MemoryProblem::solve(Schedule &schedule) const {
  if (Outcome outcome = check(schedule); !outcome)
    return outcome;
  uint64_t ends[3] = {0, 0, 0};
  for (Buffer &buffer : schedule.buffers) {
    if (buffer.computeOnly)
      continue;
    uint64_t &end = ends[(size_t)buffer.space];
    buffer.offset = (int64_t)end;
    end += alignUp(buffer.bytes);
  }
  std::vector<Life> lives = findLives(schedule);
  std::map<int32_t, std::vector<uint32_t>> bySlot;
  for (uint32_t b = 0; b < schedule.buffers.size(); ++b)
    if (schedule.buffers[b].computeOnly)
      bySlot[schedule.buffers[b].slot].push_back(b);
  uint64_t pools = ends[0], region = 0;
  int32_t largest = -1;
  for (auto &[slot, buffers] : bySlot) {
    std::vector<Lifetime> lifetimes;
    for (uint32_t b : buffers)
      lifetimes.push_back(
          {schedule.buffers[b].bytes, lives[b].first, lives[b].last});
    std::vector<uint64_t> offsets;
    uint64_t used = packLifetimes(lifetimes, offsets);
    if (used > region) {
      region = used;
      largest = slot;
    }
    for (size_t i = 0; i < buffers.size(); ++i)
      schedule.buffers[buffers[i]].offset = (int64_t)(pools + offsets[i]);
  }
  ends[0] += region;
  std::copy(std::begin(ends), std::end(ends), std::begin(schedule.arenaBytes));

  Outcome outcome;
  auto refuse = [&](std::string message) {
    outcome.ok = false;
    outcome.infeasible = true;
    outcome.messages.push_back(std::move(message));
  };
  if (deviceLimit && ends[0] > deviceLimit)
    refuse("the schedule needs " + formatBytes(ends[0]) + " on each device, " +
           formatBytes(ends[0] - deviceLimit) + " over the limit of " +
           formatBytes(deviceLimit) + ": " + formatBytes(pools) +
           " for transfers and " + formatBytes(region) +
           " for the launches of slot " + std::to_string(largest) +
           "; the largest buffers are " + largestBuffers(schedule, true) +
           ". Give more device memory, or make micro-batches smaller");
  uint64_t host = ends[1] + ends[2];
  if (hostLimit && host > hostLimit)
    refuse("the schedule needs " + formatBytes(host) + " of host memory, " +
           formatBytes(host - hostLimit) + " over the limit of " +
           formatBytes(hostLimit) + ": " + formatBytes(ends[1]) +
           " pinned and " + formatBytes(ends[2]) +
           " of optimizer state; the largest buffers are " +
           largestBuffers(schedule, false) +
           ". Give more host memory, or use staleness 0 or fewer micro-batches "
           "a round");
  return outcome;
}
