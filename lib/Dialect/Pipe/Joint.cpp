//===- Joint.cpp - Forward and reverse of a layer in one list -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reverse-mode differentiation of straight-line code.
//
//===----------------------------------------------------------------------===//

#include "Joint.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

DenseSet<Value> pipe::findActiveValues(func::FuncOp forward,
                                       ArrayRef<bool> trainable,
                                       ArrayRef<bool> wantedBoundary) {
  DenseSet<Value> active;
  for (BlockArgument argument : forward.getArguments()) {
    std::optional<EntryValue> value =
        getArgument(forward, argument.getArgNumber());
    if (!value || !isFloat(argument))
      continue;
    if ((value->role == Role::Parameter && trainable[value->index]) ||
        (value->role == Role::Boundary && wantedBoundary[value->index]))
      active.insert(argument);
  }
  auto isActive = [&](Value value) { return active.contains(value); };
  for (Operation &op : forward.getBody().front().without_terminator()) {
    if (!llvm::any_of(op.getOperands(), isActive))
      continue;
    for (Value result : op.getResults())
      if (isFloat(result))
        active.insert(result);
  }
  return active;
}

SmallVector<bool> pipe::findActiveOutputs(func::FuncOp forward,
                                          ArrayRef<bool> trainable,
                                          ArrayRef<bool> wantedBoundary) {
  DenseSet<Value> active = findActiveValues(forward, trainable, wantedBoundary);
  SmallVector<bool> outputs;
  for (Value output : forward.getBody().front().getTerminator()->getOperands())
    outputs.push_back(active.contains(output));
  return outputs;
}

namespace {
/// Compares operations by everything but their location.
struct SameOperation : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *lhs, const Operation *rhs) {
    if (lhs == rhs)
      return true;
    for (const Operation *op : {lhs, rhs})
      if (op == getEmptyKey() || op == getTombstoneKey())
        return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(lhs), const_cast<Operation *>(rhs),
        OperationEquivalence::IgnoreLocations);
  }
};

class Differentiator {
public:
  Differentiator(Joint &joint, DenseSet<Value> active)
      : joint(joint), active(std::move(active)),
        builder(joint.function->getContext()) {}

  /// Adds the cotangents' arguments and the reverse part.
  LogicalResult run();

private:
  LogicalResult reverse(Operation *op);
  void accumulate(Value value, Value cotangent, Location loc);
  void collectResults();
  void mergeEqualOperations();

  Joint &joint;
  DenseSet<Value> active;
  OpBuilder builder;
  DenseMap<Value, Value> cotangents;
};
} // namespace

/// A parameter's gradient is f32 (f64 for f64): what a product gave before its
/// last rounding.
static Value widenGradient(OpBuilder &builder, Value cotangent,
                           RankedTensorType type, Location loc) {
  if (cotangent.getType() == type)
    return cotangent;
  if (auto rounding = cotangent.getDefiningOp<nn::CastOp>())
    if (rounding.getOperand().getType() == type)
      return rounding.getOperand();
  return nn::CastOp::create(builder, loc, type, cotangent);
}

/// Adds to the cotangent of `value`: later uses come first, as their part is
/// built first.
void Differentiator::accumulate(Value value, Value cotangent, Location loc) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (joint.getArgument(argument).role == Role::Parameter)
      cotangent = widenGradient(builder, cotangent,
                                getGradientType(value.getType()), loc);
  Value &sum = cotangents[value];
  sum =
      sum ? nn::AddOp::create(builder, loc, cotangent.getType(), sum, cotangent)
                .getResult()
          : cotangent;
}

LogicalResult Differentiator::reverse(Operation *op) {
  SmallVector<Value> resultCotangents;
  for (Value result : op->getResults())
    resultCotangents.push_back(cotangents.lookup(result));
  SmallVector<bool> wanted;
  for (Value operand : op->getOperands())
    wanted.push_back(active.contains(operand));
  if (!llvm::any_of(resultCotangents, [](Value value) { return !!value; }) ||
      !llvm::is_contained(wanted, true))
    return success();
  auto differentiable = dyn_cast<nn::DifferentiableOp>(op);
  if (!differentiable)
    return op->emitOpError()
           << "has no derivative, but the loss depends on trainable "
              "parameters through it; freeze them or write the operation in "
              "others";
  SmallVector<Value> parts;
  if (failed(differentiable.buildVJP(builder, resultCotangents, wanted, parts)))
    return failure();
  if (parts.size() != op->getNumOperands())
    return op->emitOpError()
           << "internal error: has a derivative of " << parts.size()
           << " parts for " << op->getNumOperands() << " operands";
  for (auto [operand, part, isWanted] :
       llvm::zip_equal(op->getOperands(), parts, wanted)) {
    if (!part || !isWanted)
      continue;
    if (part.getType() != operand.getType())
      return op->emitOpError()
             << "internal error: has a cotangent of type " << part.getType()
             << " for an operand of type " << operand.getType();
    accumulate(operand, part, op->getLoc());
  }
  return success();
}

void Differentiator::collectResults() {
  Location loc = joint.function->getLoc();
  for (BlockArgument argument : joint.getBlock().getArguments()) {
    const EntryValue &value = joint.getArgument(argument);
    if (!active.contains(argument))
      continue;
    Value cotangent = cotangents.lookup(argument);
    if (value.role == Role::Parameter) {
      // What does not reach the loss gets no gradient.
      if (cotangent)
        joint.gradients.push_back({cotangent, Role::Gradient, value.index});
      continue;
    }
    // The layer before takes a cotangent for all that depends on trainable
    // parameters, also where nothing flows back.
    if (!cotangent) {
      auto type = cast<RankedTensorType>(argument.getType());
      cotangent = nn::ConstantOp::create(
          builder, loc, cast<ElementsAttr>(builder.getZeroAttr(type)));
    }
    joint.cotangents.push_back({cotangent, Role::Cotangent, value.index});
  }
}

/// Removes operations of the reverse part that repeat others: derivatives
/// compute anew what the forward part has already.
void Differentiator::mergeEqualOperations() {
  DenseSet<Operation *, SameOperation> known;
  for (Operation &op :
       llvm::make_early_inc_range(joint.getBlock().without_terminator())) {
    auto [found, isNew] = known.insert(&op);
    if (isNew || joint.isForward(&op))
      continue;
    for (auto *list : {&joint.cotangents, &joint.gradients})
      for (JointResult &result : *list)
        if (result.value.getDefiningOp() == &op)
          result.value = (*found)->getResult(
              cast<OpResult>(result.value).getResultNumber());
    op.replaceAllUsesWith(*found);
    op.erase();
  }
}

LogicalResult Differentiator::run() {
  Block &block = joint.getBlock();
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    ops.push_back(&op);
    joint.forwardOps.insert(&op);
  }
  builder.setInsertionPoint(block.getTerminator());
  for (const JointResult &output : joint.outputs) {
    if (!active.contains(output.value))
      continue;
    Role role = output.role == Role::Loss ? Role::Seed : Role::Cotangent;
    joint.arguments.push_back({role, output.index, output.value.getType()});
    Value cotangent =
        block.addArgument(output.value.getType(), output.value.getLoc());
    accumulate(output.value, cotangent, output.value.getLoc());
  }
  // All operations without a derivative are reported, not the first alone.
  bool failed = false;
  for (Operation *op : llvm::reverse(ops))
    failed |= mlir::failed(reverse(op));
  if (failed)
    return failure();
  collectResults();
  mergeEqualOperations();
  return success();
}

FailureOr<Joint> pipe::buildJoint(func::FuncOp forward,
                                  ArrayRef<bool> trainable,
                                  ArrayRef<bool> wantedBoundary) {
  Joint joint;
  joint.function = forward.clone();
  func::FuncOp function = *joint.function;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    joint.arguments.push_back(*getArgument(function, i));
  for (auto [i, value] :
       llvm::enumerate(joint.getBlock().getTerminator()->getOperands())) {
    EntryValue output = *getResult(function, i);
    joint.outputs.push_back({value, output.role, output.index});
  }
  DenseSet<Value> active =
      findActiveValues(function, trainable, wantedBoundary);
  if (failed(Differentiator(joint, std::move(active)).run()))
    return failure();
  return joint;
}
