//===- VerifyScratch.cpp - What is read was written ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"
#include "Coverage.h"

#include "rondo/Dialect/Kern/Passes.h"
#include "rondo/Dialect/Pipe/Entries.h"

namespace rondo::kern {
#define GEN_PASS_DEF_KERNVERIFYSCRATCH
#include "rondo/Dialect/Kern/Passes.h.inc"
} // namespace rondo::kern

using namespace mlir;
using namespace rondo::kern;

namespace {
/// What is known of one memory: an argument or scratch.
struct State {
  Coverage written;
  bool wasRead = false;     ///< Since its life began.
  bool wasModified = false; ///< In place, since its life began.
};

struct VerifyScratch : rondo::kern::impl::KernVerifyScratchBase<VerifyScratch> {
  void runOnOperation() override;
  void createStates();
  bool isGradient(BlockArgument argument);
  LogicalResult checkRead(const Touch &touch);
  LogicalResult checkWrite(const Touch &touch, bool isInPlace);
  LogicalResult checkSharing(Operation &op, ArrayRef<Touch> touched);
  LogicalResult check(Operation &op);
  LogicalResult checkResults();

  Arena arena;
  llvm::DenseMap<Value, State> states;
  llvm::DenseMap<Operation *, SmallVector<Touch, 4>> touches;
};
} // namespace

void VerifyScratch::createStates() {
  Block &block = getOperation().getBody().front();
  // What will be written decides how a memory is seen.
  llvm::DenseMap<Value, SmallVector<Box, 2>> boxes;
  for (Operation &op : block)
    for (const Touch &touch : touches[&op] = getTouches(&op))
      if (touch.isWritten && touch.box)
        boxes[touch.operand->get()].push_back(*touch.box);
  auto create = [&](Value value) {
    states[value].written =
        Coverage(cast<MemRefType>(value.getType()).getNumElements(),
                 boxes.lookup(value));
  };
  for (BlockArgument argument : block.getArguments())
    create(argument);
  for (ScratchOp scratch : block.getOps<ScratchOp>())
    create(scratch);
}

bool VerifyScratch::isGradient(BlockArgument argument) {
  auto role = getOperation().getArgAttrOfType<rondo::pipe::RoleAttr>(
      argument.getArgNumber(), rondo::pipe::kRole);
  return role && role.getValue() == rondo::pipe::Role::Gradient;
}

LogicalResult VerifyScratch::checkRead(const Touch &touch) {
  Operation &op = *touch.operand->getOwner();
  Value memory = touch.operand->get();
  auto argument = dyn_cast<BlockArgument>(memory);
  if (argument && argument.getArgNumber() < getOperation().getInputs())
    return success();
  // A gradient that is added to holds what it held before.
  if (argument && touch.isWritten && isGradient(argument))
    return success();
  auto scratch = memory.getDefiningOp<ScratchOp>();
  if (scratch)
    if (ScratchOp other = arena.findOther(scratch)) {
      InFlightDiagnostic diagnostic = op.emitOpError("operand ")
                                      << touch.operand->getOperandNumber();
      if (other == scratch)
        return diagnostic << " is scratch that nothing has written";
      diagnostic << " is scratch whose bytes another value has taken";
      diagnostic.attachNote(other.getLoc())
          << "the other value, at byte " << *other.getOffset();
      return diagnostic;
    }
  std::optional<ElementRange> missing =
      states[memory].written.findMissing(*touch.box);
  if (!missing)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError(touch.isWritten ? "adds to " : "reads ");
  print(diagnostic, *missing, memory);
  if (argument)
    return diagnostic << " of argument " << argument.getArgNumber()
                      << ", a result, before anything has written there";
  diagnostic << " of operand " << touch.operand->getOperandNumber()
             << ", scratch, but nothing has written there since its life "
                "began; an operation before this one is missing or writes too "
                "little";
  diagnostic.attachNote(scratch.getLoc())
      << "the value, at byte " << *scratch.getOffset();
  return diagnostic;
}

LogicalResult VerifyScratch::checkWrite(const Touch &touch, bool isInPlace) {
  Operation &op = *touch.operand->getOwner();
  Value memory = touch.operand->get();
  State &state = states[memory];
  if (auto argument = dyn_cast<BlockArgument>(memory)) {
    if (argument.getArgNumber() < getOperation().getInputs())
      return op.emitOpError("writes to argument ")
             << argument.getArgNumber() << ", an input";
    if (isGradient(argument) && !touch.isRead)
      return op.emitOpError("writes over argument ")
             << argument.getArgNumber()
             << ", a gradient, which is only added to";
  }
  if (auto scratch = memory.getDefiningOp<ScratchOp>()) {
    // Writing over what was read begins a life: nothing before it counts.
    bool isNew = arena.findOther(scratch) != ScratchOp();
    if (!touch.isRead && !isInPlace && state.wasRead && touch.box)
      isNew |= state.written.intersects(*touch.box);
    if (isNew) {
      state.written.clear();
      state.wasRead = state.wasModified = false;
    }
    if (isInPlace && state.wasModified && state.wasRead)
      return op.emitOpError("modifies scratch at byte ")
             << *scratch.getOffset()
             << " a second time, after it was read; an operation that writes "
                "it anew is missing before this one";
    state.wasModified |= isInPlace;
    arena.write(scratch);
  }
  if (touch.box)
    state.written.add(*touch.box);
  return success();
}

/// What one op writes must not lie in what it reads or writes otherwise.
LogicalResult VerifyScratch::checkSharing(Operation &op,
                                          ArrayRef<Touch> touched) {
  for (const Touch &touch : touched)
    if (auto scratch = touch.operand->get().getDefiningOp<ScratchOp>();
        scratch && touch.isWritten && arena.findOther(scratch))
      return op.emitOpError("writes two values that share bytes");
  auto isOver = [&](const Touch &touch, const Touch &other) {
    if (other.operand->get() != touch.operand->get() || !other.isWritten ||
        !other.box || !touch.box || touch.operand == other.operand ||
        isa<FusedOp>(op)) // Point by point; its verifier compares accesses.
      return false;
    Coverage written(
        cast<MemRefType>(touch.operand->get().getType()).getNumElements(),
        *other.box);
    written.add(*other.box);
    return written.intersects(*touch.box);
  };
  for (const Touch &touch : touched) {
    auto scratch = touch.operand->get().getDefiningOp<ScratchOp>();
    bool isTaken = scratch && touch.box && arena.findOther(scratch);
    if (isTaken || llvm::any_of(touched, [&](const Touch &other) {
          return isOver(touch, other);
        }))
      return op.emitOpError("writes over operand ")
             << touch.operand->getOperandNumber() << ", which it "
             << (touch.isRead ? "reads" : "writes too");
  }
  return success();
}

LogicalResult VerifyScratch::check(Operation &op) {
  ArrayRef<Touch> touched = touches[&op];
  for (const Touch &touch : touched)
    if (touch.isRead && touch.box && failed(checkRead(touch)))
      return failure();
  // A kernel whose output is the memory of an input.
  auto isInPlace = [&](const Touch &touch) {
    return isa<FusedOp>(op) && llvm::any_of(touched, [&](const Touch &other) {
             return other.operand->get() == touch.operand->get() &&
                    other.operand != touch.operand &&
                    (touch.isWritten || other.isWritten);
           });
  };
  for (const Touch &touch : touched)
    if (touch.isWritten && failed(checkWrite(touch, isInPlace(touch))))
      return failure();
  for (const Touch &touch : touched)
    if (touch.isRead && !touch.isWritten && touch.box && !isInPlace(touch))
      states[touch.operand->get()].wasRead = true;
  return checkSharing(op, touched);
}

/// Whoever calls the entry reads all of its results.
LogicalResult VerifyScratch::checkResults() {
  Block &block = getOperation().getBody().front();
  bool failedAny = false;
  for (BlockArgument argument :
       block.getArguments().drop_front(getOperation().getInputs())) {
    std::optional<Box> whole = getWhole(argument);
    std::optional<ElementRange> missing =
        whole ? states[argument].written.findMissing(*whole) : std::nullopt;
    if (!missing)
      continue;
    failedAny = true;
    InFlightDiagnostic diagnostic =
        block.getTerminator()->emitOpError("comes before anything has ")
        << (isGradient(argument) ? "added to " : "written ");
    print(diagnostic, *missing, argument);
    diagnostic << " of argument " << argument.getArgNumber()
               << ", a result; an operation of the entry is missing or writes "
                  "too little";
  }
  return failure(failedAny);
}

void VerifyScratch::runOnOperation() {
  arena = {};
  states.clear();
  touches.clear();
  Block &block = getOperation().getBody().front();
  bool failedAny = false;
  for (ScratchOp scratch : block.getOps<ScratchOp>())
    if (!scratch.getOffset()) {
      scratch.emitOpError("has no offset; run rondo-kern-plan-scratch");
      failedAny = true;
    }
  if (failedAny)
    return signalPassFailure();
  createStates();
  for (Operation &op : block)
    if (failed(check(op))) // What follows would only repeat it.
      return signalPassFailure();
  if (failed(checkResults()))
    signalPassFailure();
}
