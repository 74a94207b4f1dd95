//===- VerifyScratch.cpp - What is read was written ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Passes.h"

#include "llvm/ADT/DenseSet.h"
#include <map>

namespace rondo::kern {
#define GEN_PASS_DEF_KERNVERIFYSCRATCH
#include "rondo/Dialect/Kern/Passes.h.inc"
} // namespace rondo::kern

using namespace mlir;
using namespace rondo::kern;

namespace {
/// Which value holds each byte range of the arena: begin -> (end, value).
class Arena {
public:
  void write(ScratchOp op) {
    int64_t begin = *op.getOffset(), end = begin + getBytes(op.getResult());
    cut(begin);
    cut(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
    ranges[begin] = {end, op};
  }
  /// Null if every byte is `op`'s, else the value that is there instead (`op`
  /// itself if nothing is).
  ScratchOp findOther(ScratchOp op) {
    int64_t at = *op.getOffset(), end = at + getBytes(op.getResult());
    while (at < end) {
      auto it = ranges.upper_bound(at);
      if (it == ranges.begin())
        return op;
      --it;
      if (it->second.first <= at)
        return op;
      if (it->second.second != op)
        return it->second.second;
      at = it->second.first;
    }
    return {};
  }

private:
  /// Makes `at` a boundary of ranges.
  void cut(int64_t at) {
    auto it = ranges.upper_bound(at);
    if (it == ranges.begin())
      return;
    --it;
    if (it->first < at && it->second.first > at) {
      ranges[at] = it->second;
      it->second.first = at;
    }
  }
  std::map<int64_t, std::pair<int64_t, ScratchOp>> ranges;
};

struct VerifyScratch : rondo::kern::impl::KernVerifyScratchBase<VerifyScratch> {
  void runOnOperation() override;
  LogicalResult checkRead(Operation &op, OpOperand &operand);
  LogicalResult checkWrite(Operation &op, OpOperand &operand);

  Arena arena;
  llvm::DenseSet<Value> written; ///< Results.
};
} // namespace

/// Whether `op` reads `memory` only to add to it.
static bool isWrittenBy(Operation &op, Value memory) {
  Effects effects = getEffects(&op);
  auto isMemory = [&](OpOperand *operand) { return operand->get() == memory; };
  return llvm::all_of(llvm::make_filter_range(effects.reads, isMemory),
                      [&](OpOperand *read) {
                        return llvm::is_contained(effects.writes, read);
                      });
}

LogicalResult VerifyScratch::checkRead(Operation &op, OpOperand &operand) {
  if (auto argument = dyn_cast<BlockArgument>(operand.get())) {
    // A result that is added to holds what it held before.
    if (argument.getArgNumber() < getOperation().getInputs() ||
        written.contains(argument) || isWrittenBy(op, argument))
      return success();
    return op.emitOpError("reads argument ")
           << argument.getArgNumber() << ", a result that nothing has written";
  }
  auto scratch = operand.get().getDefiningOp<ScratchOp>();
  ScratchOp other = arena.findOther(scratch);
  if (!other)
    return success();
  InFlightDiagnostic diagnostic = op.emitOpError("operand ")
                                  << operand.getOperandNumber();
  if (other == scratch)
    return diagnostic << " is scratch that nothing has written";
  diagnostic << " is scratch whose bytes another value has taken";
  diagnostic.attachNote(other.getLoc())
      << "the other value, at byte " << *other.getOffset();
  return diagnostic;
}

LogicalResult VerifyScratch::checkWrite(Operation &op, OpOperand &operand) {
  if (auto argument = dyn_cast<BlockArgument>(operand.get())) {
    if (argument.getArgNumber() < getOperation().getInputs())
      return op.emitOpError("writes to argument ")
             << argument.getArgNumber() << ", an input";
    written.insert(argument);
    return success();
  }
  arena.write(operand.get().getDefiningOp<ScratchOp>());
  return success();
}

void VerifyScratch::runOnOperation() {
  arena = {};
  written.clear();
  Block &block = getOperation().getBody().front();
  bool failedAny = false;
  for (ScratchOp scratch : block.getOps<ScratchOp>())
    if (!scratch.getOffset()) {
      scratch.emitOpError("has no offset; run rondo-kern-plan-scratch");
      failedAny = true;
    }
  if (failedAny)
    return signalPassFailure();

  for (Operation &op : block) {
    Effects effects = getEffects(&op);
    SmallVector<OpOperand *> intact; // Scratch that `op` may read.
    for (OpOperand *operand : effects.reads) {
      bool isIntact = succeeded(checkRead(op, *operand));
      failedAny |= !isIntact;
      if (isIntact && operand->get().getDefiningOp<ScratchOp>())
        intact.push_back(operand);
    }
    for (OpOperand *operand : effects.writes)
      failedAny |= failed(checkWrite(op, *operand));
    // What one op writes must not lie in what it reads or writes otherwise.
    for (OpOperand *operand : effects.writes)
      if (auto scratch = operand->get().getDefiningOp<ScratchOp>();
          scratch && arena.findOther(scratch)) {
        op.emitOpError("writes two values that share bytes");
        failedAny = true;
      }
    for (OpOperand *operand : intact)
      if (arena.findOther(operand->get().getDefiningOp<ScratchOp>())) {
        op.emitOpError("writes over operand ")
            << operand->getOperandNumber() << ", which it reads";
        failedAny = true;
      }
  }
  if (failedAny)
    signalPassFailure();
}
