//===- FenceVerifier.cpp - Proves that a schedule has no race -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shares no code with the solver. Two periods are unrolled on physical devices.
// Conflicting accesses come from the bytes that operands cover: in their arenas
// once offsets are known, else in their buffers. Whether one op completes
// before another starts is answered by a sweep backwards through the issue
// order, which carries for each op the earliest position on every lane that
// starts after it.
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

namespace {

using Node = uint32_t; ///< iteration * ops + op.
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

struct Extent {
  uint64_t begin = 0, end = 0;
  bool overlaps(const Extent &other) const {
    return begin < other.end && other.begin < end;
  }
};

class FenceVerifier {
public:
  explicit FenceVerifier(const Schedule &schedule)
      : schedule(schedule), ops((uint32_t)schedule.ops.size()),
        iterations(2 * schedule.period),
        lanes(schedule.devices * kDeviceLanes + kHostLanes) {}
  Outcome run();

private:
  enum class Question : uint8_t { Race, Redundant };
  struct Query {
    Node earlier, later;
    uint32_t
        subject; ///< Race: the buffer. Redundant: the wait in its iteration.
    Question question;
  };

  void layOut();
  void number();
  void collectConflicts();
  void collectWaitQueries();
  void sweep();
  void answer(const Query &query, bool ordered);
  bool conflict(Node a, Node b) const;

  /// Where an arena's bytes lie among all: spaces and devices one after the
  /// other.
  uint64_t arenaBase(Space space, const Op &op, uint64_t iteration) const {
    if (space == Space::Device)
      return (2 + (uint64_t)schedule.physicalDevice(op.device, iteration)) *
             arenaStride;
    return space == Space::Pinned ? 0 : arenaStride;
  }
  Extent extent(const Op &op, const Operand &operand, uint64_t iteration,
                uint32_t &buffer) const {
    buffer =
        operand.buffers[(iteration + operand.phase) % operand.buffers.size()];
    uint64_t begin = arenaBase(schedule.buffers[buffer].space, op, iteration) +
                     address[buffer] + operand.offset;
    return {begin, begin + operand.bytes};
  }
  uint32_t laneOf(Node node) const {
    const Op &op = schedule.ops[node % ops];
    if (op.device < 0)
      return schedule.devices * kDeviceLanes +
             (op.lane == LaneKind::Staging ? 1 : 0);
    return schedule.physicalDevice(op.device, node / ops) * kDeviceLanes +
           laneIndex(op.lane);
  }
  std::string describe(Node node) const;

  const Schedule &schedule;
  uint32_t ops;
  uint32_t iterations;
  uint32_t lanes;
  uint64_t arenaStride = 0;
  std::vector<uint64_t> address; ///< Of each buffer in its arena.
  std::vector<bool> tracked; ///< Buffers whose accesses the compute lane does
                             ///< not order anyway.
  std::vector<uint32_t> position; ///< Of each node on its lane.
  std::vector<Node> before;       ///< On its lane, or kNever.
  std::vector<Query> queries;
  std::vector<uint32_t> firstWait; ///< Running number of each op's first wait.
  std::vector<bool>
      implied; ///< By wait, iteration of the second period: do others imply it?
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> reported;
  std::vector<std::string> messages;
};

} // namespace

std::string FenceVerifier::describe(Node node) const {
  const Op &op = schedule.ops[node % ops];
  std::string text = "'" + op.name + "' (" + laneName(op.lane);
  if (op.device >= 0)
    text += ", device " + std::to_string(op.device);
  return text + ")";
}

void FenceVerifier::layOut() {
  size_t count = schedule.buffers.size();
  bool placed = true;
  for (const Buffer &buffer : schedule.buffers)
    placed &= buffer.offset >= 0;
  address.resize(count);
  uint64_t end = 1;
  for (size_t b = 0; b < count; ++b) {
    address[b] = placed ? (uint64_t)schedule.buffers[b].offset : end;
    end = std::max(end, address[b] + schedule.buffers[b].bytes);
  }
  arenaStride = end;
  tracked.resize(count);
  std::vector<Extent> others;
  for (size_t b = 0; b < count; ++b) {
    tracked[b] = !schedule.buffers[b].computeOnly;
    if (tracked[b] && schedule.buffers[b].space == Space::Device)
      others.push_back({address[b], address[b] + schedule.buffers[b].bytes});
  }
  // Compute-only bytes need a look only where something else uses them too.
  std::sort(others.begin(), others.end(),
            [](const Extent &a, const Extent &b) { return a.begin < b.begin; });
  std::vector<uint64_t> reach; // the furthest end so far
  for (const Extent &other : others)
    reach.push_back(std::max(reach.empty() ? 0 : reach.back(), other.end));
  for (size_t b = 0; b < count; ++b) {
    if (tracked[b])
      continue;
    Extent own{address[b], address[b] + schedule.buffers[b].bytes};
    auto after = std::lower_bound(
        others.begin(), others.end(), own.end,
        [](const Extent &other, uint64_t at) { return other.begin < at; });
    tracked[b] = after != others.begin() &&
                 reach[(size_t)(after - others.begin()) - 1] > own.begin;
  }
}

void FenceVerifier::number() {
  std::vector<uint32_t> length(lanes, 0);
  std::vector<Node> last(lanes, kNever);
  size_t nodes = (size_t)iterations * ops;
  position.resize(nodes);
  before.resize(nodes);
  for (Node node = 0; node < nodes; ++node) {
    uint32_t lane = laneOf(node);
    position[node] = length[lane]++;
    before[node] = last[lane];
    last[lane] = node;
  }
  firstWait.resize(ops);
  uint32_t waits = 0;
  for (uint32_t i = 0; i < ops; ++i) {
    firstWait[i] = waits;
    waits += (uint32_t)schedule.ops[i].waits.size();
  }
  implied.assign((size_t)waits * schedule.period, false);
}

void FenceVerifier::collectConflicts() {
  // Atoms: bytes between two neighbouring ends of operands.
  std::vector<uint64_t> ends;
  uint32_t buffer;
  for (uint32_t t = 0; t < schedule.period; ++t) {
    for (const Op &op : schedule.ops)
      for (const Operand &operand : op.operands) {
        Extent bytes = extent(op, operand, t, buffer);
        if (!tracked[buffer])
          continue;
        ends.push_back(bytes.begin);
        ends.push_back(bytes.end);
      }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  auto atom = [&](uint64_t at) {
    return (size_t)(std::lower_bound(ends.begin(), ends.end(), at) -
                    ends.begin());
  };
  struct History {
    Node writer = kNever;
    std::vector<Node> readers;
  };
  std::vector<History> history(ends.size());
  std::vector<std::pair<Node, uint32_t>> earlier;
  for (Node node = 0; node < (size_t)iterations * ops; ++node) {
    const Op &op = schedule.ops[node % ops];
    uint64_t iteration = node / ops;
    uint32_t lane = laneOf(node);
    earlier.clear();
    // All of an op's reads come before its writes.
    for (bool writes : {false, true})
      for (const Operand &operand : op.operands) {
        if (((uint8_t)operand.access &
             (uint8_t)(writes ? Access::Write : Access::Read)) == 0)
          continue;
        Extent bytes = extent(op, operand, iteration, buffer);
        if (!tracked[buffer])
          continue;
        size_t last = atom(bytes.end);
        for (size_t a = atom(bytes.begin); a < last; ++a) {
          History &now = history[a];
          if (now.writer != kNever)
            earlier.emplace_back(now.writer, buffer);
          if (writes) {
            for (Node reader : now.readers)
              earlier.emplace_back(reader, buffer);
            now.readers.clear();
            now.writer = node;
            continue;
          }
          // A later read on a lane speaks for the earlier ones.
          auto same =
              std::find_if(now.readers.begin(), now.readers.end(),
                           [&](Node reader) { return laneOf(reader) == lane; });
          if (same == now.readers.end())
            now.readers.push_back(node);
          else
            *same = node;
        }
      }
    std::sort(earlier.begin(), earlier.end());
    for (size_t e = 0; e < earlier.size(); ++e) {
      Node other = earlier[e].first;
      if ((e > 0 && earlier[e - 1].first == other) || laneOf(other) == lane)
        continue;
      bool direct = false;
      for (const Wait &wait : op.waits)
        direct |= wait.distance <= iteration &&
                  (iteration - wait.distance) * ops + wait.op == other;
      if (!direct)
        queries.push_back({other, node, earlier[e].second, Question::Race});
    }
  }
}

bool FenceVerifier::conflict(Node a, Node b) const {
  const Op &x = schedule.ops[a % ops], &y = schedule.ops[b % ops];
  uint32_t buffer;
  for (const Operand &p : x.operands)
    for (const Operand &q : y.operands) {
      if (p.access == Access::Read && q.access == Access::Read)
        continue;
      if (extent(x, p, a / ops, buffer).overlaps(extent(y, q, b / ops, buffer)))
        return true;
    }
  return false;
}

void FenceVerifier::collectWaitQueries() {
  for (uint32_t i = 0; i < ops; ++i) {
    const Op &op = schedule.ops[i];
    for (size_t w = 0; w < op.waits.size(); ++w) {
      const Wait &wait = op.waits[w];
      bool useful = false;
      for (uint32_t t = schedule.period; t < iterations; ++t) {
        if (wait.distance > t)
          continue;
        Node node = t * ops + i, target = (t - wait.distance) * ops + wait.op;
        useful = useful || conflict(target, node);
        uint32_t subject = (firstWait[i] + (uint32_t)w) * schedule.period +
                           (t - schedule.period);
        auto ask = [&](Node other) {
          queries.push_back({target, other, subject, Question::Redundant});
        };
        if (before[node] != kNever)
          ask(before[node]);
        for (size_t v = 0; v < op.waits.size(); ++v)
          if (v != w && op.waits[v].distance <= t)
            ask((t - op.waits[v].distance) * ops + op.waits[v].op);
      }
      if (!useful)
        messages.push_back(describe(i) + " waits for " + describe(wait.op) +
                           ", " + std::to_string(wait.distance) +
                           " iterations before, but the two touch nothing in "
                           "common that one of them writes");
    }
  }
}

void FenceVerifier::answer(const Query &query, bool ordered) {
  if (query.question == Question::Redundant) {
    implied[query.subject] =
        implied[query.subject] || ordered || query.earlier == query.later;
    return;
  }
  uint32_t distance = query.later / ops - query.earlier / ops;
  if (ordered ||
      !reported.insert({query.later % ops, query.earlier % ops, distance})
           .second)
    return;
  messages.push_back(
      "nothing orders " + describe(query.later) + " after " +
      describe(query.earlier) +
      (distance ? ", " + std::to_string(distance) + " iterations before"
                : " of the same iteration") +
      ", yet both touch '" + schedule.buffers[query.subject].name +
      "' and one of them writes it");
}

void FenceVerifier::sweep() {
  std::sort(queries.begin(), queries.end(), [](const Query &a, const Query &b) {
    return std::tie(a.earlier, a.later, a.subject) >
           std::tie(b.earlier, b.later, b.subject);
  });
  // By op still to come in the sweep: the earliest position on each lane that
  // starts after it.
  size_t nodes = (size_t)iterations * ops;
  std::vector<uint32_t> row(nodes, kNever), freeRows, storage;
  auto rowOf = [&](Node node) {
    if (row[node] != kNever)
      return row[node];
    if (freeRows.empty()) {
      freeRows.push_back((uint32_t)(storage.size() / lanes));
      storage.resize(storage.size() + lanes);
    }
    row[node] = freeRows.back();
    freeRows.pop_back();
    std::fill_n(storage.begin() + (ptrdiff_t)row[node] * lanes, lanes, kNever);
    return row[node];
  };
  size_t next = 0;
  for (Node node = (Node)nodes; node-- > 0;) {
    const Op &op = schedule.ops[node % ops];
    uint32_t own = rowOf(node), lane = laneOf(node);
    for (; next < queries.size() && queries[next].earlier == node; ++next) {
      Node later = queries[next].later;
      answer(queries[next],
             storage[(size_t)own * lanes + laneOf(later)] <= position[later]);
    }
    auto push = [&](Node target) {
      uint32_t other = rowOf(target);
      uint32_t *to = storage.data() + (size_t)other * lanes;
      const uint32_t *from = storage.data() + (size_t)own * lanes;
      for (uint32_t l = 0; l < lanes; ++l)
        to[l] = std::min(to[l], from[l]);
      to[lane] = std::min(to[lane], position[node]);
    };
    if (before[node] != kNever)
      push(before[node]);
    for (const Wait &wait : op.waits)
      if (wait.distance <= node / ops)
        push((node / ops - wait.distance) * ops + wait.op);
    freeRows.push_back(own);
  }
}

Outcome FenceVerifier::run() {
  if (2 * (uint64_t)schedule.period * ops >= kNever)
    return Outcome::failure("a schedule of " + std::to_string(ops) +
                            " operations that repeats after " +
                            std::to_string(schedule.period) +
                            " iterations is too large to verify");
  layOut();
  number();
  collectConflicts();
  collectWaitQueries();
  sweep();
  for (uint32_t i = 0; i < ops; ++i)
    for (size_t w = 0; w < schedule.ops[i].waits.size(); ++w) {
      const Wait &wait = schedule.ops[i].waits[w];
      auto begin = implied.begin() +
                   (ptrdiff_t)((size_t)(firstWait[i] + w) * schedule.period);
      if (std::all_of(begin, begin + schedule.period,
                      [](bool needless) { return needless; }))
        messages.push_back(describe(i) + " waits for " + describe(wait.op) +
                           ", " + std::to_string(wait.distance) +
                           " iterations before, which its lane or its other "
                           "waits imply already");
    }
  Outcome outcome;
  outcome.ok = messages.empty();
  outcome.messages = std::move(messages);
  return outcome;
}

Outcome FenceProblem::verify(const Schedule &schedule) const {
  if (Outcome outcome = check(schedule); !outcome)
    return outcome;
  return FenceVerifier(schedule).run();
}
