//===- VerifyGradients.cpp - Contract of the phase grad -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Written from the contract alone: nothing here is shared with the pass that
// establishes it.
//
//===----------------------------------------------------------------------===//

#include "VerifyGradients.h"
#include "rondo/Dialect/Pipe/Entries.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// Numbers of the values of one role among an entry's arguments or results.
static SmallVector<int64_t> getNumbers(func::FuncOp entry, Role role,
                                       bool results) {
  SmallVector<int64_t> numbers;
  unsigned count = results ? entry.getNumResults() : entry.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    std::optional<EntryValue> value =
        results ? getResult(entry, i) : getArgument(entry, i);
    if (value && value->role == role)
      numbers.push_back(value->index);
  }
  return numbers;
}

static std::string toString(ArrayRef<int64_t> numbers) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  llvm::interleaveComma(numbers, stream);
  stream << "]";
  return text;
}

namespace {
/// Which values of a layer depend on something that trains.
class Dependence {
public:
  Dependence(func::FuncOp forward, ArrayRef<bool> parameters,
             ArrayRef<bool> boundary) {
    for (BlockArgument argument : forward.getArguments()) {
      std::optional<EntryValue> value =
          getArgument(forward, argument.getArgNumber());
      if (!value)
        continue;
      if (value->role == Role::Parameter && parameters[value->index])
        mark(argument);
      if (value->role == Role::Boundary && boundary[value->index])
        mark(argument);
    }
    for (Operation &op : forward.getBody().front()) {
      bool depends = false;
      for (Value operand : op.getOperands())
        depends |= values.contains(operand);
      if (depends)
        for (Value result : op.getResults())
          mark(result);
    }
    for (Value output :
         forward.getBody().front().getTerminator()->getOperands())
      outputs.push_back(values.contains(output));
  }

  SmallVector<bool> outputs;

private:
  void mark(Value value) {
    if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
      values.insert(value);
  }
  DenseSet<Value> values;
};
} // namespace

/// An entry holds no operation that its results do not need.
static LogicalResult verifyNothingIsDead(func::FuncOp entry) {
  for (Operation &op : entry.getBody().front().without_terminator())
    if (op.use_empty())
      return op.emitOpError()
             << "is dead in the entry '" << entry.getSymName() << "' of @"
             << cast<BodyOp>(entry->getParentOp()).getSymName();
  return success();
}

/// `forward_products` and `forward_all` compute the outputs by the operations
/// of `forward`, in its order.
static LogicalResult verifySameArithmetic(func::FuncOp forward,
                                          func::FuncOp saving) {
  Block &expected = forward.getBody().front();
  Block &found = saving.getBody().front();
  auto same = [&](Operation &lhs, Operation &rhs) {
    return lhs.getName() == rhs.getName() &&
           lhs.getResultTypes() == rhs.getResultTypes() &&
           lhs.getAttrDictionary() == rhs.getAttrDictionary();
  };
  auto next = found.begin(), end = found.end();
  for (Operation &op : expected.without_terminator()) {
    while (next != end && !same(op, *next))
      ++next;
    if (next == end)
      return saving.emitOpError()
             << "does not compute the output as 'forward' does: it lacks '"
             << op.getName() << "' or has it elsewhere";
    ++next;
  }
  return success();
}

/// Checks the entries of one layer. `trainable` by parameter, `boundary` by
/// value that enters: whether something before trains and reaches it.
static LogicalResult verifyLayerEntries(LayerOp layer, BodyOp body,
                                        ArrayRef<bool> trainable,
                                        ArrayRef<bool> boundary,
                                        ArrayRef<bool> outputs) {
  bool isLoss = isa<YieldOp>(layer->getNextNode());
  bool needsDx = llvm::is_contained(boundary, true);
  bool needsBackward = llvm::is_contained(outputs, true);
  SmallVector<EntryId> needed;
  if (needsBackward && isLoss) {
    needed.push_back({EntryKind::ForwardBackward});
  } else if (needsBackward) {
    for (SaveSet set : {SaveSet::Products, SaveSet::All})
      needed.append({{EntryKind::ForwardSave, set},
                     {EntryKind::Rebuild, set},
                     {EntryKind::Backward, set, needsDx}});
  }
  func::FuncOp forward = findEntry(body, {EntryKind::Forward});
  for (EntryId id : needed) {
    func::FuncOp entry = findEntry(body, id);
    if (!entry)
      return layer.emitOpError() << "needs the entry '" << getEntryName(id)
                                 << "', which @" << layer.getBody() << " lacks";
    if (id.kind == EntryKind::ForwardSave &&
        failed(verifySameArithmetic(forward, entry)))
      return failure();
    if (id.kind != EntryKind::Backward && id.kind != EntryKind::ForwardBackward)
      continue;
    SmallVector<int64_t> wanted;
    for (auto [i, isWanted] : llvm::enumerate(boundary))
      if (isWanted)
        wanted.push_back(i);
    SmallVector<int64_t> found = getNumbers(entry, Role::Cotangent, true);
    if (found != wanted)
      return layer.emitOpError()
             << "needs the cotangents " << toString(wanted)
             << " of what enters, but '" << getEntryName(id) << "' of @"
             << layer.getBody() << " gives " << toString(found);
    SmallVector<int64_t> gradients = getNumbers(entry, Role::Gradient, true);
    for (auto [number, trains] : llvm::enumerate(trainable)) {
      if (!trains || llvm::is_contained(gradients, number))
        continue;
      SmallVector<bool> alone(trainable.size(), false);
      alone[number] = true;
      SmallVector<bool> none(boundary.size(), false);
      if (llvm::is_contained(Dependence(forward, alone, none).outputs, true))
        return layer.emitOpError()
               << "has the trainable parameter "
               << layer.getParameters()[number]
               << ", which reaches the loss, but '" << getEntryName(id)
               << "' of @" << layer.getBody()
               << " computes no gradient of it; freeze it";
    }
    for (int64_t number : gradients)
      if (!trainable[number])
        return layer.emitOpError()
               << "has the frozen parameter " << layer.getParameters()[number]
               << ", but '" << getEntryName(id) << "' of @" << layer.getBody()
               << " computes its gradient";
  }
  if (!needsBackward)
    for (auto entry : body.getEntries().getOps<func::FuncOp>())
      if (entry != forward)
        return layer.emitOpError()
               << "trains nothing, at it or before it, but @" << layer.getBody()
               << " has the entry '" << entry.getSymName() << "'";
  return success();
}

LogicalResult pipe::verifyGradients(ChainOp chain) {
  SymbolTableCollection symbols;
  SmallVector<bool> entering;
  llvm::StringSet<> checked;
  for (auto layer : chain.getBody().getOps<LayerOp>()) {
    auto body =
        symbols.lookupNearestSymbolFrom<BodyOp>(layer, layer.getBodyAttr());
    SmallVector<bool> trainable;
    ArrayAttr parameters = layer.getParameters();
    for (auto name : parameters.getAsRange<FlatSymbolRefAttr>())
      trainable.push_back(
          symbols.lookupNearestSymbolFrom<nn::ParameterOp>(layer, name)
              .getTrainable());
    func::FuncOp forward = findEntry(body, {EntryKind::Forward});
    if (!forward)
      return body.emitOpError()
             << "has no func.func 'forward', which phase 'grad' needs";
    Dependence dependence(forward, trainable, entering);
    if (failed(verifyLayerEntries(layer, body, trainable, entering,
                                  dependence.outputs)))
      return failure();
    entering = dependence.outputs;
    if (!checked.insert(layer.getBody()).second)
      continue;
    for (auto entry : body.getEntries().getOps<func::FuncOp>())
      if (failed(verifyNothingIsDead(entry)))
        return failure();
  }
  return success();
}
