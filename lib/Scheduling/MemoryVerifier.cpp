//===- MemoryVerifier.cpp - Every read finds its own buffer's value -------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays the schedule in issue order on maps from bytes to the buffer that
// wrote them last. That the real order agrees with issue order wherever two ops
// conflict is what the fence verifier proves.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <algorithm>
#include <map>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

/// Who wrote each byte of an arena last: runs of bytes by where they begin.
/// Bytes in no run still hold what they began with.
class ByteMap {
public:
  void write(uint64_t begin, uint64_t end, uint32_t owner) {
    splitAt(begin);
    splitAt(end);
    runs.erase(runs.lower_bound(begin), runs.lower_bound(end));
    runs[begin] = {end, owner};
  }
  /// An owner of some of the bytes other than `owner`, or `owner`.
  uint32_t intruder(uint64_t begin, uint64_t end, uint32_t owner) const {
    auto it = runs.upper_bound(begin);
    if (it != runs.begin() && std::prev(it)->second.end > begin)
      --it;
    for (; it != runs.end() && it->first < end; ++it)
      if (it->second.owner != owner)
        return it->second.owner;
    return owner;
  }

private:
  struct Run {
    uint64_t end;
    uint32_t owner;
  };
  void splitAt(uint64_t at) {
    auto it = runs.lower_bound(at);
    if (it == runs.begin())
      return;
    --it;
    if (it->second.end <= at)
      return;
    Run rest = it->second;
    it->second.end = at;
    runs[at] = rest;
  }
  std::map<uint64_t, Run> runs;
};

} // namespace

static Outcome checkPlaces(const Schedule &schedule) {
  constexpr uint64_t kMostBytes = uint64_t(1) << 60;
  Outcome outcome;
  for (Space space : {Space::Device, Space::Pinned, Space::Host})
    if (uint64_t bytes = schedule.arenaBytes[(size_t)space]; bytes > kMostBytes)
      return Outcome::failure("an arena of " + std::to_string(bytes) +
                              " bytes is larger than any memory");
  for (const Buffer &buffer : schedule.buffers) {
    std::string problem;
    if (buffer.offset < 0)
      problem = "has no offset";
    else if ((uint64_t)buffer.offset % kAlignment != 0)
      problem = "is at " + std::to_string(buffer.offset) +
                ", not a multiple of " + std::to_string(kAlignment);
    else if (buffer.bytes > kMostBytes || (uint64_t)buffer.offset > kMostBytes)
      problem = "is larger than any memory";
    else if ((uint64_t)buffer.offset + buffer.bytes >
             schedule.arenaBytes[(size_t)buffer.space])
      problem = "ends at " +
                std::to_string((uint64_t)buffer.offset + buffer.bytes) +
                ", beyond the " +
                std::to_string(schedule.arenaBytes[(size_t)buffer.space]) +
                " bytes of its arena";
    else
      continue;
    outcome.ok = false;
    outcome.messages.push_back("buffer '" + buffer.name + "' " + problem);
  }
  return outcome;
}

namespace {

/// Of an op's operands: all are read before any is written, and none is
/// written over by another.
enum class Visit { Read, Write, Keep };

} // namespace

/// Do any two buffers, at least one of them in reach of copies or the host,
/// share bytes?
static bool sharesBytes(const Schedule &schedule) {
  for (Space space : {Space::Device, Space::Pinned, Space::Host}) {
    std::vector<std::pair<uint64_t, const Buffer *>> order;
    for (const Buffer &buffer : schedule.buffers)
      if (buffer.space == space && buffer.bytes > 0)
        order.emplace_back((uint64_t)buffer.offset, &buffer);
    std::sort(order.begin(), order.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    uint64_t end = 0,
             endOfShared =
                 0; // of all, and of what others than the compute lane reach
    for (auto [begin, buffer] : order) {
      if (begin < (buffer->computeOnly ? endOfShared : end))
        return true;
      end = std::max(end, begin + buffer->bytes);
      if (!buffer->computeOnly)
        endOfShared = std::max(endOfShared, begin + buffer->bytes);
    }
  }
  return false;
}

Outcome MemoryProblem::verify(const Schedule &schedule) const {
  if (Outcome outcome = checkSchedule(schedule); !outcome)
    return outcome;
  Outcome outcome = checkPlaces(schedule);
  auto complain = [&](std::string message) {
    outcome.ok = false;
    if (outcome.messages.size() < 10)
      outcome.messages.push_back(std::move(message));
  };
  if (deviceLimit && schedule.arenaBytes[0] > deviceLimit)
    complain("a device's arena of " + std::to_string(schedule.arenaBytes[0]) +
             " bytes is over the limit of " + std::to_string(deviceLimit));
  if (hostLimit && schedule.arenaBytes[1] + schedule.arenaBytes[2] > hostLimit)
    complain("host arenas of " +
             std::to_string(schedule.arenaBytes[1] + schedule.arenaBytes[2]) +
             " bytes are over the limit of " + std::to_string(hostLimit));
  if (!outcome)
    return outcome;
  // Where only the compute lane shares bytes, and no value there outlives its
  // micro-batch, all iterations are alike. Else the whole cycle is replayed,
  // and its beginning once more.
  uint64_t iterations =
      sharesBytes(schedule) ? 2 * (uint64_t)schedule.period : 2;
  std::vector<ByteMap> arenas(2 + schedule.devices);
  for (uint64_t t = 0; t < iterations && outcome; ++t)
    for (const Op &op : schedule.ops)
      for (Visit visit : {Visit::Read, Visit::Write, Visit::Keep})
        for (const Operand &operand : op.operands) {
          if (visit != Visit::Keep &&
              !((uint8_t)operand.access &
                (uint8_t)(visit == Visit::Write ? Access::Write
                                                : Access::Read)))
            continue;
          if (operand.bytes == 0 || (visit == Visit::Keep && !outcome))
            continue;
          uint32_t index;
          const Buffer &buffer = bufferAt(schedule, operand, t, index);
          ByteMap &arena =
              buffer.space == Space::Device
                  ? arenas[2 + schedule.physicalDevice(op.device, t)]
              : buffer.space == Space::Pinned ? arenas[0]
                                              : arenas[1];
          uint64_t begin = (uint64_t)buffer.offset + operand.offset,
                   end = begin + operand.bytes;
          if (visit == Visit::Write) {
            arena.write(begin, end, index);
            continue;
          }
          uint32_t intruder = arena.intruder(begin, end, index);
          if (intruder == index)
            continue;
          if (visit == Visit::Keep)
            complain("'" + op.name + "' writes '" +
                     schedule.buffers[intruder].name +
                     "' over its own operand '" + buffer.name +
                     "' in iteration " + std::to_string(t));
          else
            complain("'" + op.name + "' reads '" + buffer.name +
                     "' in iteration " + std::to_string(t) + ", but '" +
                     schedule.buffers[intruder].name + "' was written over it");
        }
  return outcome;
}
