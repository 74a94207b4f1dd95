//===- PlanScratch.cpp - Offsets of scratch values -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Passes.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

namespace rondo::kern {
#define GEN_PASS_DEF_KERNPLANSCRATCH
#include "rondo/Dialect/Kern/Passes.h.inc"
} // namespace rondo::kern

using namespace mlir;
using namespace rondo::kern;

namespace {
/// A value with its life, in op numbers, both inclusive.
struct Life {
  ScratchOp op;
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t offset = -1;
};

struct PlanScratch : rondo::kern::impl::KernPlanScratchBase<PlanScratch> {
  void runOnOperation() override;
};
} // namespace

static std::vector<Life> getLives(Block &block) {
  DenseMap<Operation *, int64_t> number;
  for (auto [index, op] : llvm::enumerate(block))
    number[&op] = index;
  std::vector<Life> lives;
  for (ScratchOp op : block.getOps<ScratchOp>()) {
    Life life{op, int64_t(llvm::alignTo(getBytes(op.getResult()), kAlignment)),
              INT64_MAX, -1};
    for (Operation *user : op->getUsers()) {
      life.first = std::min(life.first, number[user]);
      life.last = std::max(life.last, number[user]);
    }
    lives.push_back(life);
  }
  return lives;
}

/// The lowest offset at which nothing placed is alive during `life`.
static int64_t findOffset(const Life &life, ArrayRef<const Life *> placed) {
  int64_t offset = 0;
  for (const Life *other : placed) { // by offset
    if (other->last < life.first || life.last < other->first)
      continue;
    if (other->offset >= offset + life.bytes)
      break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

void PlanScratch::runOnOperation() {
  std::vector<Life> lives = getLives(getOperation().getBody().front());
  std::vector<Life *> order;
  for (Life &life : lives)
    order.push_back(&life);
  llvm::sort(order, [](Life *a, Life *b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes
                                : a < b; // by position in lives
  });

  int64_t total = 0;
  std::vector<const Life *> placed;
  for (Life *life : order) {
    life->offset = findOffset(*life, placed);
    total = std::max(total, life->offset + life->bytes);
    auto place =
        llvm::upper_bound(placed, life, [](const Life *a, const Life *b) {
          return a->offset < b->offset;
        });
    placed.insert(place, life);
  }
  getOperation().setScratch(total);
  for (Life &life : lives)
    life.op.setOffset(life.offset);
}
