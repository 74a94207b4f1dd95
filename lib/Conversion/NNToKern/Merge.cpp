//===- Merge.cpp - Kernels that are better one ---------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;
using kern::FusedKind;

/// Pointers of one kernel, so that addresses stay in registers.
constexpr size_t kMostOutputs = 8;
constexpr size_t kMostInputs = 24;

static int64_t getElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// The space of both, if there is one: elementwise kernels fit into rows, with
/// an element per point or per row.
static std::optional<Space> join(const Space &a, const Space &b) {
  auto fits = [](const Space &row, const Space &other) {
    return row.kind == FusedKind::Row && other.kind == FusedKind::Elementwise &&
           (other.getPoints() == row.getPoints() ||
            other.getPoints() == row.outer * row.inner);
  };
  if (a == b || fits(a, b))
    return a;
  if (fits(b, a))
    return b;
  return std::nullopt;
}

/// The stored values that a step reads, or computes, at the point it is at.
llvm::SetVector<Value> Plan::getAligned(const Step &step) {
  llvm::SetVector<Value> aligned;
  SmallVector<Value> stack;
  llvm::DenseSet<Value> seen;
  for (const Output &output : step.outputs)
    stack.push_back(output.value);
  while (!stack.empty()) {
    Value value = stripReshapes(stack.pop_back_val());
    if (!seen.insert(value).second)
      continue;
    if (stored.contains(value) || !step.inlined.contains(value))
      aligned.insert(value);
    if (step.inlined.contains(value) &&
        !isa<nn::BroadcastOp, nn::TransposeOp, nn::SliceOp, nn::PadOp,
             nn::ConcatOp>(value.getDefiningOp()))
      llvm::append_range(stack, value.getDefiningOp()->getOperands());
  }
  return aligned;
}

/// Whether what `from` stores is needed for `to`; `skipDirect`: through a step
/// in between.
bool Plan::reaches(unsigned from, unsigned to, bool skipDirect) {
  auto reads = [&](unsigned reader, unsigned writer) {
    const Step &step = steps[writer];
    return llvm::any_of(steps[reader].inputs, [&](Value input) {
      if (step.op)
        return input.getDefiningOp() == step.op;
      return llvm::any_of(step.outputs, [&](const Output &output) {
        return !output.accumulate && output.value == input;
      });
    });
  };
  SmallVector<unsigned> stack{from};
  SmallVector<bool> seen(steps.size(), false);
  while (!stack.empty()) {
    unsigned at = stack.pop_back_val();
    for (unsigned next = 0; next < steps.size(); ++next) {
      if (seen[next] || next == from || !reads(next, at))
        continue;
      if (next == to) {
        if (skipDirect && at == from)
          continue;
        return true;
      }
      seen[next] = true;
      stack.push_back(next);
    }
  }
  return false;
}

/// Outputs of step `number` that are needed besides in steps `a` and `b`.
size_t Plan::countRead(unsigned number, unsigned a, unsigned b) {
  return llvm::count_if(steps[number].outputs, [&](const Output &output) {
    if (output.accumulate || resultOf.contains(output.value))
      return true;
    for (auto &[value, result] : copies)
      if (value == output.value)
        return true;
    for (auto [other, step] : llvm::enumerate(steps))
      if (other != a && other != b &&
          llvm::is_contained(step.inputs, output.value))
        return true;
    return false;
  });
}

/// Puts the outputs of step `from` into step `into`, if that saves traffic and
/// works.
bool Plan::tryMerge(unsigned into, unsigned from) {
  Step &a = steps[into], &b = steps[from];
  std::optional<Space> space = join(a.space, b.space);
  if (!space ||
      countRead(into, into, from) + countRead(from, into, from) > kMostOutputs)
    return false;
  llvm::SetVector<Value> alignedA = getAligned(a), alignedB = getAligned(b);
  bool isShared = llvm::any_of(alignedA, [&](Value value) {
    return alignedB.contains(value) &&
           2 * getElements(value) >= space->outer * space->inner;
  });
  if (!isShared || reaches(into, from, /*skipDirect=*/true) ||
      reaches(from, into, /*skipDirect=*/true))
    return false;
  Step merged;
  merged.space = *space;
  merged.outputs = a.outputs;
  merged.outputs.append(b.outputs);
  merged.position = std::max(a.position, b.position);
  collect(merged);
  if (merged.inputs.size() > kMostInputs)
    return false;
  FusedBuilder builder(a.outputs.front().value.getLoc(), *space, merged.outputs,
                       [&](Value v) { return isStored(v); });
  if (!builder.build())
    return false;
  a = std::move(merged);
  return true;
}

void Plan::merge() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned into = 0; into < steps.size(); ++into)
      for (unsigned from = into + 1; from < steps.size(); ++from) {
        if (steps[into].op || steps[from].op || !tryMerge(into, from))
          continue;
        steps.erase(steps.begin() + from);
        --from;
        changed = true;
      }
  }
}
