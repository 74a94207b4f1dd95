//===- FenceTest.cpp - Exactly the waits that order needs -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include <gtest/gtest.h>
#include <set>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

namespace {

/// A device program of two devices: copies and launches on buffers by name.
struct Builder {
  Schedule schedule;

  explicit Builder(uint32_t devices = 1, uint32_t rotation = 0) {
    schedule.devices = devices;
    schedule.rotation = rotation;
  }
  uint32_t buffer(const std::string &name, Space space, uint64_t bytes = 256,
                  bool computeOnly = false) {
    Buffer buffer;
    buffer.name = name;
    buffer.space = space;
    buffer.bytes = bytes;
    buffer.computeOnly = computeOnly;
    if (computeOnly)
      buffer.slot = 0;
    schedule.buffers.push_back(buffer);
    return (uint32_t)schedule.buffers.size() - 1;
  }
  Op &op(OpKind kind, LaneKind lane, const std::string &name,
         std::vector<Operand> operands, int32_t device = 0) {
    Op op;
    op.kind = kind;
    op.lane = lane;
    op.name = name;
    op.device = isHostLane(lane) ? -1 : device;
    op.operands = std::move(operands);
    schedule.ops.push_back(op);
    return schedule.ops.back();
  }
  Op &upload(const std::string &name, uint32_t from, uint32_t to,
             int32_t device = 0) {
    return op(
        OpKind::Upload, LaneKind::ActivationUp, name,
        {{{from}, 0, 0, 256, Access::Read}, {{to}, 0, 0, 256, Access::Write}},
        device);
  }
  Op &download(const std::string &name, uint32_t from, uint32_t to,
               int32_t device = 0) {
    return op(
        OpKind::Download, LaneKind::ActivationDown, name,
        {{{from}, 0, 0, 256, Access::Read}, {{to}, 0, 0, 256, Access::Write}},
        device);
  }
  Op &launch(const std::string &name, uint32_t from, uint32_t to,
             int32_t device = 0) {
    return op(
        OpKind::Launch, LaneKind::Compute, name,
        {{{from}, 0, 0, 256, Access::Read}, {{to}, 0, 0, 256, Access::Write}},
        device);
  }
  Outcome solve() {
    schedule.period = 1;
    for (const Op &op : schedule.ops)
      for (const Operand &operand : op.operands)
        schedule.period =
            std::max(schedule.period, (uint32_t)operand.buffers.size());
    if (schedule.rotation)
      schedule.period = std::max(schedule.period, schedule.devices);
    return FenceProblem().solve(schedule);
  }
};

std::string waitsOf(const Schedule &schedule, size_t op) {
  std::string text;
  for (const Wait &wait : schedule.ops[op].waits)
    text +=
        schedule.ops[wait.op].name + "@" + std::to_string(wait.distance) + " ";
  return text;
}

/// Two rounds on three devices with staleness 1, as small as it gets while
/// having every kind of op and of stage.
ChainResult smallProgram() {
  Model model = chainModel(3, 2, 2, 1, true);
  model.clip = true;
  model.countLabels = true;
  model.countEntry = "labels::count";
  model.countInputs = {1};
  ChainOptions options;
  options.devices = 3;
  ChainResult result;
  result.plan.keep.assign(3, SaveSet::Input);
  result.plan.save.assign(3, SaveSet::All);
  Machine machine = testMachine(3);
  for (auto [kind, begin, end] : {std::tuple(StageKind::Forward, 0u, 1u),
                                  std::tuple(StageKind::Forward, 1u, 2u),
                                  std::tuple(StageKind::Fused, 2u, 3u),
                                  std::tuple(StageKind::Backward, 0u, 2u)}) {
    Stage stage;
    stage.kind = kind;
    stage.begin = begin;
    stage.end = end;
    result.plan.stages.push_back(stage);
  }
  runFromStages(model, options, result);
  return result;
}

} // namespace

TEST(Fences, OrdersReadAfterWriteAndWriteAfterRead) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device),
           out = b.buffer("out", Space::Pinned);
  b.upload("up", in, x);
  b.launch("run", x, y);
  b.download("down", y, out);
  ASSERT_TRUE(b.solve());
  // The upload overwrites what the last iteration's launch read; the launch
  // what its download read. That it overwrites what the last upload wrote,
  // lanes imply.
  EXPECT_EQ(waitsOf(b.schedule, 0), "run@1 ");
  EXPECT_EQ(waitsOf(b.schedule, 1), "up@0 down@1 ");
  EXPECT_EQ(waitsOf(b.schedule, 2), "run@0 ");
  EXPECT_TRUE(FenceProblem().verify(b.schedule));
}

TEST(Fences, LeavesOutWhatOtherWaitsImply) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device),
           out = b.buffer("out", Space::Pinned),
           z = b.buffer("z", Space::Device),
           copy = b.buffer("copy", Space::Pinned);
  b.upload("up", in, x);
  b.launch("one", x, y);
  b.launch("two", x, z);
  b.download("down y", y, out);
  b.download("down z", z, copy);
  ASSERT_TRUE(b.solve());
  EXPECT_EQ(waitsOf(b.schedule, 0),
            "two@1 "); // not "one": it is before "two" on their lane
  EXPECT_EQ(waitsOf(b.schedule, 2),
            "down z@1 "); // not "up": "one" waited for it
  EXPECT_TRUE(FenceProblem().verify(b.schedule));
}

TEST(Fences, TurnsReachAsFarAsTheyHaveBuffers) {
  Builder b;
  uint32_t even = b.buffer("even", Space::Pinned),
           odd = b.buffer("odd", Space::Pinned),
           x = b.buffer("x", Space::Device), y = b.buffer("y", Space::Device);
  b.op(OpKind::StageInput, LaneKind::Staging, "stage",
       {{{even, odd}, 0, 0, 256, Access::Write}});
  b.op(OpKind::Upload, LaneKind::ActivationUp, "up",
       {{{even, odd}, 0, 0, 256, Access::Read},
        {{x}, 0, 0, 256, Access::Write}});
  b.launch("run", x, y);
  ASSERT_TRUE(b.solve());
  EXPECT_EQ(waitsOf(b.schedule, 0), "up@2 ");
  EXPECT_EQ(waitsOf(b.schedule, 1), "stage@0 run@1 ");
  EXPECT_TRUE(FenceProblem().verify(b.schedule));
}

TEST(Fences, FollowsRotatingDevices) {
  // Logical device 1 does in iteration t what logical device 0 did in t + 1's
  // place: their buffers meet.
  Builder b(2, 1);
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device),
           out = b.buffer("out", Space::Pinned);
  b.upload("up", in, x, 0);
  b.launch("run", x, y, 0);
  b.download("down", y, out, 0);
  ASSERT_TRUE(b.solve());
  EXPECT_EQ(waitsOf(b.schedule, 0), "run@2 ");
  EXPECT_EQ(
      waitsOf(b.schedule, 2),
      "run@0 down@1 "); // `out` is the host's: written from device to device
  EXPECT_TRUE(FenceProblem().verify(b.schedule));
}

TEST(Fences, SeesBytesNotBuffers) {
  // Two halves of one buffer have nothing to do with each other.
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned, 512),
           x = b.buffer("x", Space::Device, 512),
           y = b.buffer("y", Space::Device);
  b.op(OpKind::Upload, LaneKind::ActivationUp, "low",
       {{{in}, 0, 0, 256, Access::Read}, {{x}, 0, 0, 256, Access::Write}});
  b.op(OpKind::Upload, LaneKind::ParameterUp, "high",
       {{{in}, 0, 256, 256, Access::Read}, {{x}, 0, 256, 256, Access::Write}});
  b.op(OpKind::Launch, LaneKind::Compute, "reads high",
       {{{x}, 0, 256, 256, Access::Read}, {{y}, 0, 0, 256, Access::Write}});
  ASSERT_TRUE(b.solve());
  EXPECT_EQ(waitsOf(b.schedule, 0), "");
  EXPECT_EQ(waitsOf(b.schedule, 1), "reads high@1 ");
  EXPECT_EQ(waitsOf(b.schedule, 2), "high@0 ");
  EXPECT_TRUE(FenceProblem().verify(b.schedule));
}

TEST(Fences, RemovingAnyWaitIsRefusedAndNamesBothOps) {
  ChainResult result = smallProgram();
  ASSERT_TRUE(result.outcome)
      << result.failedAt << ": " << join(result.outcome);
  Schedule &schedule = result.schedule;
  FenceProblem problem;
  ASSERT_TRUE(problem.verify(schedule));
  size_t removed = 0;
  std::set<OpKind> kinds;
  for (bool placed : {true, false}) {
    if (!placed)
      for (Buffer &buffer : schedule.buffers)
        buffer.offset = -1;
    for (Op &op : schedule.ops)
      for (size_t w = 0; w < op.waits.size(); ++w) {
        std::vector<Wait> all = op.waits;
        Wait gone = all[w];
        op.waits.erase(op.waits.begin() + (ptrdiff_t)w);
        Outcome outcome = problem.verify(schedule);
        op.waits = all;
        ++removed;
        kinds.insert(op.kind);
        ASSERT_FALSE(outcome)
            << op.name << " without " << schedule.ops[gone.op].name;
        // One of the messages is about this very pair.
        bool named = false;
        for (const std::string &message : outcome.messages)
          named |= message.find("nothing orders '" + op.name + "'") == 0 &&
                   message.find("after '" + schedule.ops[gone.op].name + "'") !=
                       std::string::npos;
        EXPECT_TRUE(named) << op.name << " without "
                           << schedule.ops[gone.op].name << ":\n"
                           << join(outcome);
      }
  }
  EXPECT_GT(removed, 200u);
  for (OpKind kind : {OpKind::Upload, OpKind::Download, OpKind::Launch,
                      OpKind::Zero, OpKind::Loss, OpKind::Accumulate})
    EXPECT_TRUE(kinds.count(kind)) << (int)kind;
}

TEST(Fences, MessageOfARace) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device);
  b.upload("up", in, x);
  b.launch("run", x, y);
  ASSERT_TRUE(b.solve());
  b.schedule.ops[1].waits.clear();
  EXPECT_EQ(
      join(FenceProblem().verify(b.schedule)),
      "nothing orders 'run' (compute, device 0) after 'up' (activation_up, "
      "device 0) of the same iteration, yet both touch "
      "'x' and one of them writes it\n");
  ASSERT_TRUE(b.solve());
  b.schedule.ops[0].waits.clear();
  EXPECT_EQ(
      join(FenceProblem().verify(b.schedule)),
      "nothing orders 'up' (activation_up, device 0) after 'run' (compute, "
      "device 0), 1 iterations before, yet both touch "
      "'x' and one of them writes it\n");
}

TEST(Fences, NamesNeedlessWaits) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device),
           out = b.buffer("out", Space::Pinned),
           other = b.buffer("other", Space::Device);
  b.upload("up", in, x);
  b.launch("one", x, y);
  b.launch("two", x, y);
  b.download("down", y, out);
  b.op(OpKind::Zero, LaneKind::Compute, "zero",
       {{{other}, 0, 0, 256, Access::Write}});
  ASSERT_TRUE(b.solve());
  ASSERT_TRUE(FenceProblem().verify(b.schedule));
  // Implied: "two" waits for "up" through its lane.
  b.schedule.ops[2].waits.push_back({0, 0});
  EXPECT_EQ(
      join(FenceProblem().verify(b.schedule)),
      "'two' (compute, device 0) waits for 'up' (activation_up, device 0), 0 "
      "iterations before, which its lane or its other "
      "waits imply already\n");
  // Pointless: nothing in common.
  ASSERT_TRUE(b.solve());
  b.schedule.ops[4].waits.push_back({3, 0});
  EXPECT_EQ(
      join(FenceProblem().verify(b.schedule)),
      "'zero' (compute, device 0) waits for 'down' (activation_down, device "
      "0), "
      "0 iterations before, but the two touch "
      "nothing in common that one of them writes\n"
      // and with it, a wait that was needed no longer is
      "'one' (compute, device 0) waits for 'down' (activation_down, device 0), "
      "1 iterations before, which its lane or its "
      "other waits imply already\n");
}

TEST(Fences, RefusesWaitsForWhatIsIssuedLater) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned), x = b.buffer("x", Space::Device),
           y = b.buffer("y", Space::Device);
  b.upload("up", in, x);
  b.launch("run", x, y);
  ASSERT_TRUE(b.solve());
  b.schedule.ops[0].waits.push_back({1, 0});
  EXPECT_EQ(join(FenceProblem().verify(b.schedule)),
            "'up' waits for 'run', which is issued later\n");
  b.schedule.ops[0].waits = {{7, 1}};
  EXPECT_EQ(join(FenceProblem().verify(b.schedule)),
            "'up' waits for operation 7 of 2\n");
}

TEST(Fences, RefusesSchedulesWithoutATemplate) {
  // Iterations 0, 1, 2 of a turn of three find their buffers in another order
  // than those of a turn of two: no wait list fits all.
  Builder b;
  uint32_t p = b.buffer("p", Space::Pinned), q = b.buffer("q", Space::Pinned),
           x = b.buffer("x", Space::Device);
  b.op(OpKind::StageInput, LaneKind::Staging, "stage",
       {{{p, q, q}, 0, 0, 256, Access::Write}});
  b.op(OpKind::Upload, LaneKind::ActivationUp, "up",
       {{{p, p, q}, 0, 0, 256, Access::Read}, {{x}, 0, 0, 256, Access::Write}});
  Outcome outcome = b.solve();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(join(outcome), "'up' waits for other operations in iteration 4 "
                           "than in iteration 3: the schedule has no "
                           "single template of waits\n");
}

TEST(Fences, ChecksOperands) {
  Builder b;
  uint32_t in = b.buffer("in", Space::Pinned),
           x = b.buffer("x", Space::Device, 256, true);
  b.upload("up", in, x);
  EXPECT_EQ(join(b.solve()),
            "'up' operand 1 is 'x', which only the compute lane may touch\n");
  b.schedule.buffers[x].computeOnly = false;
  b.schedule.ops[0].operands[0].bytes = 300;
  EXPECT_EQ(
      join(b.solve()),
      "'up' is a copy: it needs a source and a destination of the same size\n");
  b.schedule.ops[0].operands[1].bytes = 300;
  EXPECT_EQ(join(b.solve()),
            "'up' operand 0 reaches over the end of 'in' (256 bytes)\n");
  b.schedule.ops[0].operands[0].bytes = b.schedule.ops[0].operands[1].bytes =
      256;
  b.schedule.ops[0].device = 4;
  EXPECT_EQ(join(b.solve()), "'up' is on device 4 of 1\n");
  b.schedule.ops[0].device = 0;
  std::swap(b.schedule.ops[0].operands[0].buffers,
            b.schedule.ops[0].operands[1].buffers);
  EXPECT_EQ(join(b.solve()),
            "'up' operand 0 is on the wrong side of the copy\n");
}

namespace {

/// Orders of all pairs of op instances over some iterations, by closing the
/// relation with Floyd and Warshall's algorithm.
class Closure {
public:
  Closure(const Schedule &schedule, uint32_t iterations,
          const std::vector<std::vector<Wait>> &waits)
      : schedule(schedule), n((uint32_t)schedule.ops.size()),
        size(n * iterations), before(size, std::vector<bool>(size)) {
    for (uint32_t b = 0; b < size; ++b) {
      for (uint32_t a = 0; a < b; ++a)
        if (lane(a) == lane(b))
          before[a][b] = true;
      for (const Wait &wait : waits[b % n])
        if (wait.distance <= b / n)
          before[(b / n - wait.distance) * n + wait.op][b] = true;
    }
    // Edges point forward: one pass from the front closes the relation.
    for (uint32_t k = 0; k < size; ++k)
      for (uint32_t a = 0; a < k; ++a)
        if (before[a][k])
          for (uint32_t b = k + 1; b < size; ++b)
            if (before[k][b])
              before[a][b] = true;
  }
  /// The first unordered conflicting pair, or -1.
  int64_t race() const {
    for (uint32_t b = 0; b < size; ++b)
      for (uint32_t a = 0; a < b; ++a)
        if (!before[a][b] && conflict(a, b))
          return b;
    return -1;
  }

private:
  std::pair<int64_t, int> lane(uint32_t node) const {
    const Op &op = schedule.ops[node % n];
    return {op.device < 0
                ? -1
                : (int64_t)schedule.physicalDevice(op.device, node / n),
            (int)op.lane};
  }
  bool conflict(uint32_t a, uint32_t b) const {
    const Op &x = schedule.ops[a % n], &y = schedule.ops[b % n];
    for (const Operand &p : x.operands)
      for (const Operand &q : y.operands) {
        uint32_t i = p.buffers[(a / n + p.phase) % p.buffers.size()],
                 j = q.buffers[(b / n + q.phase) % q.buffers.size()];
        if (i != j || (p.access == Access::Read && q.access == Access::Read) ||
            (schedule.buffers[i].space == Space::Device &&
             schedule.physicalDevice(x.device, a / n) !=
                 schedule.physicalDevice(y.device, b / n)))
          continue;
        if (p.offset < q.offset + q.bytes && q.offset < p.offset + p.bytes)
          return true;
      }
    return false;
  }
  const Schedule &schedule;
  uint32_t n, size;
  std::vector<std::vector<bool>> before;
};

} // namespace

TEST(Fences, BruteForceAgreesOnSmallPrograms) {
  uint32_t programs = 0;
  for (uint32_t seed = 0; programs < 12 && seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(1000 + seed);
    Model model = randomModel(random, 2);
    model.microBatches = std::min(model.microBatches, 2u);
    model.rounds = std::min(model.rounds, 2u);
    ChainOptions options;
    options.devices = 1 + random() % 2;
    ChainResult result = runChain(model, options);
    ASSERT_TRUE(result.outcome)
        << result.failedAt << ": " << join(result.outcome);
    Schedule &schedule = result.schedule;
    if (schedule.ops.size() > 60)
      continue;
    ++programs;
    uint32_t iterations = 2 * schedule.period + 1;
    std::vector<std::vector<Wait>> waits;
    for (const Op &op : schedule.ops)
      waits.push_back(op.waits);
    EXPECT_EQ(Closure(schedule, iterations, waits).race(), -1);
    // A few of the waits, each removed: the rest must not be enough.
    for (size_t i = 0; i < waits.size(); ++i)
      for (size_t w = 0; w < waits[i].size(); ++w) {
        if (random() % 8)
          continue;
        std::vector<std::vector<Wait>> fewer = waits;
        fewer[i].erase(fewer[i].begin() + (ptrdiff_t)w);
        EXPECT_NE(Closure(schedule, iterations, fewer).race(), -1)
            << schedule.ops[i].name << " need not wait for "
            << schedule.ops[waits[i][w].op].name;
      }
  }
  EXPECT_EQ(programs, 12u);
}
