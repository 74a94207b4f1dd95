//===- Pools.cpp - Device buffers that transfers share in turn ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pools.h"
#include "Support.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace rondo::scheduling;
using namespace rondo::scheduling::detail;

PoolClass detail::poolClass(const StageValue &value,
                            const SlotBuffers &buffers) {
  switch (value.key.kind) {
  case ValueKind::Parameters:
    return value.shared && buffers.parameters == 1 ? PoolClass::SharedParameters
                                                   : PoolClass::Parameters;
  case ValueKind::Gradient:
    return PoolClass::Gradients;
  default:
    return value.uploaded ? PoolClass::ActivationsUp
                          : PoolClass::ActivationsDown;
  }
}

uint32_t PoolPlan::find(const StageValue &value) const {
  PoolClass cls = poolClass(value, buffers);
  uint64_t bytes = alignUp(value.bytes);
  // Pools of a class are in order of size.
  for (uint32_t p = 0; p < pools.size(); ++p)
    if (pools[p].cls == cls && pools[p].bytes >= bytes)
      return p;
  return (uint32_t)pools.size();
}

uint64_t PoolPlan::totalBytes() const {
  uint64_t total = 0;
  for (const Pool &pool : pools)
    total += pool.bytes * pool.count;
  return total;
}

std::vector<bool> detail::findResident(const SlotSequence &slots) {
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> last(slots.devices, none);
  std::vector<bool> resident;
  for (size_t i = 0; i < slots.stage.size(); ++i) {
    uint32_t &before = last[slots.device[i]];
    resident.push_back(before == slots.stage[i]);
    before = slots.stage[i];
  }
  return resident;
}

static bool isParameters(PoolClass cls) {
  return cls == PoolClass::Parameters || cls == PoolClass::SharedParameters;
}

/// Two frames (slots, or micro-batches of slots) that follow one another on a
/// device.
using StagePair = std::pair<uint32_t, uint32_t>;

static std::set<StagePair> collectPairs(const SlotSequence &slots,
                                        PoolClass cls) {
  std::set<StagePair> pairs;
  if ((cls == PoolClass::Parameters && slots.buffers.parameters == 1) ||
      (cls == PoolClass::Gradients && slots.buffers.gradients == 1))
    return pairs;
  std::vector<bool> resident = findResident(slots);
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> first(slots.devices, none), last(slots.devices, none);
  bool perMicroBatch =
      cls == PoolClass::ActivationsUp || cls == PoolClass::ActivationsDown;
  for (size_t i = 0; i < slots.stage.size(); ++i) {
    uint32_t device = slots.device[i];
    if (isParameters(cls) && resident[i])
      continue;
    if (first[device] == none)
      first[device] = slots.stage[i];
    else
      pairs.insert({last[device], slots.stage[i]});
    last[device] = slots.stage[i];
    if (perMicroBatch && slots.microBatches[i] > 1)
      pairs.insert({slots.stage[i], slots.stage[i]});
  }
  if (slots.wraps)
    for (uint32_t d = 0; d < slots.devices; ++d) {
      // The device that plays d now plays `next` in the iteration to come.
      uint32_t next =
          (d + slots.devices - slots.rotation % slots.devices) % slots.devices;
      if (last[d] != none && first[next] != none)
        pairs.insert({last[d], first[next]});
    }
  return pairs;
}

/// Merges the closest sizes until there are few: planning stays near-linear,
/// and hardly a byte is lost.
static std::map<uint64_t, uint64_t> coarsen(const std::set<uint64_t> &sizes) {
  constexpr size_t kMostSizes = 24;
  std::vector<uint64_t> kept(sizes.begin(), sizes.end());
  while (kept.size() > kMostSizes) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < kept.size(); ++i)
      if ((double)kept[i + 1] / (double)kept[i] <
          (double)kept[best + 1] / (double)kept[best])
        best = i;
    kept.erase(kept.begin() + (ptrdiff_t)best);
  }
  std::map<uint64_t, uint64_t> result;
  for (uint64_t size : sizes)
    result[size] = *std::lower_bound(kept.begin(), kept.end(), size);
  return result;
}

/// Sizes that never live together had better share a pool of the larger size:
/// the best grouping of neighbours in order of size.
static std::vector<Pool> groupSizes(PoolClass cls,
                                    const std::vector<StageShape> &shapes,
                                    const SlotSequence &slots) {
  std::set<uint64_t> sizes;
  for (const StageShape &shape : shapes)
    for (const StageValue &value : shape.values)
      if (!value.local() && poolClass(value, slots.buffers) == cls)
        sizes.insert(alignUp(value.bytes));
  if (sizes.empty())
    return {};
  std::map<uint64_t, uint64_t> rounded = coarsen(sizes);
  std::vector<uint64_t> distinct;
  for (auto [size, kept] : rounded)
    if (distinct.empty() || distinct.back() != kept)
      distinct.push_back(kept);
  size_t count = distinct.size();
  // Takes of each stage by size, as running sums.
  std::vector<std::vector<uint32_t>> sums(shapes.size(),
                                          std::vector<uint32_t>(count + 1, 0));
  for (size_t s = 0; s < shapes.size(); ++s) {
    for (const StageValue &value : shapes[s].values)
      if (!value.local() && poolClass(value, slots.buffers) == cls) {
        auto it = std::lower_bound(distinct.begin(), distinct.end(),
                                   rounded[alignUp(value.bytes)]);
        ++sums[s][(size_t)(it - distinct.begin()) + 1];
      }
    for (size_t i = 0; i < count; ++i)
      sums[s][i + 1] += sums[s][i];
  }
  std::set<StagePair> pairs = collectPairs(slots, cls);
  auto instances = [&](size_t from, size_t to) {
    uint32_t most = 0;
    for (auto [a, b] : pairs)
      most = std::max(most, sums[a][to] - sums[a][from] + sums[b][to] -
                                sums[b][from]);
    for (const auto &sum : sums) // a stage that follows no other
      most = std::max(most, sum[to] - sum[from]);
    return most;
  };
  std::vector<uint64_t> best(count + 1, 0);
  std::vector<size_t> cut(count + 1, 0);
  std::vector<uint32_t> taken(count + 1, 0);
  for (size_t to = 1; to <= count; ++to) {
    best[to] = std::numeric_limits<uint64_t>::max();
    for (size_t from = 0; from < to; ++from) {
      uint32_t number = instances(from, to);
      uint64_t cost = best[from] + number * distinct[to - 1];
      // On a tie the finer grouping: fewer values wait for each other.
      if (cost <= best[to]) {
        best[to] = cost;
        cut[to] = from;
        taken[to] = number;
      }
    }
  }
  std::vector<Pool> pools;
  for (size_t to = count; to > 0; to = cut[to])
    pools.push_back({cls, distinct[to - 1], taken[to]});
  std::reverse(pools.begin(), pools.end());
  return pools;
}

namespace {

/// Takes what an iteration does, without its operations.
class Walk {
public:
  Walk(const std::vector<StageShape> &shapes, const SlotSequence &slots,
       const PoolPlan &plan)
      : slots(slots), plan(plan), resident(findResident(slots)),
        ofStage(shapes.size(), std::vector<uint32_t>(plan.pools.size(), 0)) {
    for (size_t s = 0; s < shapes.size(); ++s)
      for (const StageValue &value : shapes[s].values)
        if (!value.local())
          ++ofStage[s][plan.find(value)];
  }

  /// Where an iteration of `device` that starts at `cursor` ends.
  Cursor run(Cursor cursor, uint32_t device, uint32_t p) const {
    const Pool &pool = plan.pools[p];
    bool parameters = isParameters(pool.cls);
    for (size_t i = 0; i < slots.stage.size(); ++i) {
      if (slots.device[i] != device || (parameters && resident[i]))
        continue;
      bool once = parameters || pool.cls == PoolClass::Gradients;
      uint32_t takes =
          ofStage[slots.stage[i]][p] * (once ? 1 : slots.microBatches[i]);
      for (uint32_t take = 0; take < takes; ++take)
        cursor.take(pool.count);
      if (plan.turns(p) && slots.stage[i] == slots.fused)
        cursor.down = !cursor.down;
    }
    return cursor;
  }

private:
  const SlotSequence &slots;
  const PoolPlan &plan;
  std::vector<bool> resident;
  std::vector<std::vector<uint32_t>> ofStage;
};

} // namespace

/// Where each device starts taking, so that where one iteration ends the next
/// goes on: around each cycle of devices that replace one another. If the cycle
/// does not close, all of its devices may start in two places in turn. If that
/// does not close either, the cycle's last boundary costs one wait.
static void chooseStarts(const std::vector<StageShape> &shapes,
                         const SlotSequence &slots, PoolPlan &plan) {
  size_t count = plan.pools.size();
  for (auto &starts : plan.starts)
    starts.assign(slots.devices, std::vector<Cursor>(count));
  Walk walk(shapes, slots, plan);
  std::vector<bool> done(slots.devices, false);
  for (uint32_t root = 0; root < slots.devices; ++root) {
    std::vector<uint32_t> cycle;
    for (uint32_t d = root; !done[d];) {
      done[d] = true;
      cycle.push_back(d);
      // Who plays d now plays this one in the iteration to come.
      d = (d + slots.devices - slots.rotation % slots.devices) % slots.devices;
    }
    for (size_t p = 0; p < count; ++p) {
      Cursor cursor;
      for (uint32_t d : cycle) {
        plan.starts[0][d][p] = plan.starts[1][d][p] = cursor;
        cursor = walk.run(cursor, d, (uint32_t)p);
      }
      if (cursor == Cursor() || !slots.wraps || cycle.empty())
        continue;
      Cursor half = walk.run(Cursor(), cycle.front(), (uint32_t)p);
      if (std::all_of(cycle.begin(), cycle.end(), [&](uint32_t d) {
            return walk.run(Cursor(), d, (uint32_t)p) == half &&
                   walk.run(half, d, (uint32_t)p) == Cursor();
          }))
        for (uint32_t d : cycle) {
          plan.starts[0][d][p] = Cursor();
          plan.starts[1][d][p] = half;
        }
    }
  }
}

PoolPlan detail::planPools(const std::vector<StageShape> &shapes,
                           const SlotSequence &slots) {
  PoolPlan plan;
  plan.buffers = slots.buffers;
  for (uint32_t cls = 0; cls < kPoolClasses; ++cls)
    for (const Pool &pool : groupSizes((PoolClass)cls, shapes, slots))
      plan.pools.push_back(pool);
  chooseStarts(shapes, slots, plan);
  return plan;
}
