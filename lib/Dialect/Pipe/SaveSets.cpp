//===- SaveSets.cpp - What is saved of a layer's forward ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"
#include "Joint.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {
class SaveSetFinder {
public:
  explicit SaveSetFinder(const Joint &joint) : joint(joint) { findFree(); }
  SmallVector<Value> find(SaveSet saveSet, ArrayRef<JointResult> results);

private:
  void findFree();
  void findReads(ArrayRef<JointResult> results);
  bool isGiven(Value value) const {
    return isa<BlockArgument>(value) || free.contains(value.getDefiningOp());
  }
  Value stripViews(Value value) const;
  void findAll();
  void findProducts(Value value);

  const Joint &joint;
  /// Operations that depend on sides, parameters and constants alone and are
  /// cheap: every entry computes them for itself.
  DenseSet<Operation *> free;
  SmallVector<Value> reads; ///< Forward values that the reverse part reads.
  llvm::SetVector<Value> saved;
  DenseSet<Value> visited;
};
} // namespace

/// Program order of results.
static bool isBefore(Value a, Value b) {
  auto lhs = cast<OpResult>(a), rhs = cast<OpResult>(b);
  if (lhs.getOwner() == rhs.getOwner())
    return lhs.getResultNumber() < rhs.getResultNumber();
  return lhs.getOwner()->isBeforeInBlock(rhs.getOwner());
}

void SaveSetFinder::findFree() {
  for (Operation &op : joint.getBlock().without_terminator()) {
    if (!joint.isForward(&op) || isProduct(&op) || isLookup(&op))
      continue;
    bool isFree = llvm::all_of(op.getOperands(), [&](Value operand) {
      if (isa<BlockArgument>(operand))
        return joint.getArgument(operand).role != Role::Boundary;
      return free.contains(operand.getDefiningOp());
    });
    if (isFree)
      free.insert(&op);
  }
}

void SaveSetFinder::findReads(ArrayRef<JointResult> results) {
  llvm::SetVector<Value> found;
  DenseSet<Operation *> seen;
  SmallVector<Value> work;
  for (const JointResult &result : results)
    work.push_back(result.value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      continue;
    if (joint.isForward(op))
      found.insert(value);
    else if (seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  reads = found.takeVector();
  llvm::sort(reads, isBefore);
}

/// Whether `op`'s result is its operand in another shape or a type that holds
/// all its values.
static bool isView(Operation *op) {
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp>(op))
    return true;
  auto cast = dyn_cast<nn::CastOp>(op);
  if (!cast)
    return false;
  Type from = getElementTypeOrSelf(cast.getOperand().getType());
  Type to = getElementTypeOrSelf(cast.getType());
  if (!isa<FloatType>(to))
    return false;
  return from.isInteger(1) ||
         (isa<FloatType>(from) &&
          from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth());
}

Value SaveSetFinder::stripViews(Value value) const {
  while (!isGiven(value) && isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

void SaveSetFinder::findAll() {
  SmallVector<Value> conditions;
  for (Value read : reads) {
    Value value = stripViews(read);
    if (isGiven(value))
      continue;
    if (getElementTypeOrSelf(value.getType()).isInteger(1))
      conditions.push_back(value);
    else
      saved.insert(value);
  }
  // A comparison of what is there anyhow is cheaper to repeat than to keep.
  for (Value condition : conditions) {
    bool isThere =
        llvm::all_of(condition.getDefiningOp()->getOperands(), [&](Value v) {
          Value value = stripViews(v);
          return isGiven(value) || saved.contains(value);
        });
    if (!isThere)
      saved.insert(condition);
  }
}

/// Saves the products from which `value` can be rebuilt.
void SaveSetFinder::findProducts(Value value) {
  if (isGiven(value) || !visited.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (isProduct(op) || isLookup(op)) {
    saved.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    findProducts(operand);
}

SmallVector<Value> SaveSetFinder::find(SaveSet saveSet,
                                       ArrayRef<JointResult> results) {
  findReads(results);
  if (saveSet == SaveSet::All)
    findAll();
  else if (saveSet == SaveSet::Products)
    for (Value read : reads)
      findProducts(read);
  SmallVector<Value> values = saved.takeVector();
  llvm::sort(values, isBefore);
  return values;
}

SmallVector<Value> pipe::findSavedValues(const Joint &joint, SaveSet saveSet,
                                         ArrayRef<JointResult> results) {
  return SaveSetFinder(joint).find(saveSet, results);
}
