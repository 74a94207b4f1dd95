//===- EmitEntry.cpp - An entry as a slice of forward and reverse ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Joint.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {
/// The operations that a list of results needs, and what they are given.
class Slice {
public:
  Slice(const Joint &joint, const DenseMap<Value, int64_t> &saved)
      : joint(joint), saved(saved) {}

  void add(Value value);
  void addReverseOps(ArrayRef<JointResult> results);
  void addInProgramOrder(ArrayRef<JointResult> results);

  SmallVector<Operation *> ops; ///< In the entry's order.
  SmallVector<std::pair<EntryValue, Value>> arguments;

private:
  DenseSet<Operation *> findNeeded(ArrayRef<JointResult> results);
  void addOp(Operation *op);

  const Joint &joint;
  const DenseMap<Value, int64_t> &saved;
  DenseSet<Operation *> added;
  DenseSet<Value> given;
};
} // namespace

/// Adds what gives `value`, if it is not there yet.
void Slice::add(Value value) {
  auto found = saved.find(value);
  Operation *op = value.getDefiningOp();
  if (found == saved.end() && op) {
    addOp(op);
    return;
  }
  if (!given.insert(value).second)
    return;
  if (found != saved.end())
    arguments.push_back({{Role::Saved, found->second, value.getType()}, value});
  else
    arguments.push_back({joint.getArgument(value), value});
}

void Slice::addOp(Operation *op) {
  if (!added.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    add(operand);
  ops.push_back(op);
}

DenseSet<Operation *> Slice::findNeeded(ArrayRef<JointResult> results) {
  DenseSet<Operation *> needed;
  SmallVector<Value> work;
  for (const JointResult &result : results)
    work.push_back(result.value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (op && !saved.contains(value) && needed.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return needed;
}

void Slice::addInProgramOrder(ArrayRef<JointResult> results) {
  DenseSet<Operation *> needed = findNeeded(results);
  for (Operation &op : joint.getBlock())
    if (needed.contains(&op))
      addOp(&op);
  for (const JointResult &result : results)
    add(result.value);
}

/// The reverse part in program order; what it reads of the forward part is
/// rebuilt right before its first use, so that little lives at a time.
void Slice::addReverseOps(ArrayRef<JointResult> results) {
  DenseSet<Operation *> needed = findNeeded(results);
  for (Operation &op : joint.getBlock())
    if (needed.contains(&op) && !joint.isForward(&op))
      addOp(&op);
  for (const JointResult &result : results)
    add(result.value);
}

func::FuncOp pipe::emitEntry(BodyOp body, EntryId id, const Joint &joint,
                             ArrayRef<JointResult> results,
                             const DenseMap<Value, int64_t> &saved) {
  Slice slice(joint, saved);
  if (id.kind == EntryKind::Backward)
    slice.addReverseOps(results);
  else
    slice.addInProgramOrder(results);
  llvm::sort(slice.arguments, [](const auto &a, const auto &b) {
    return isOrderedArgument(a.first, b.first);
  });

  MLIRContext *context = body.getContext();
  OpBuilder builder = OpBuilder::atBlockEnd(&body.getEntries().front());
  SmallVector<Type> types, resultTypes;
  SmallVector<DictionaryAttr> attributes, resultAttributes;
  for (auto &[argument, value] : slice.arguments) {
    types.push_back(argument.type);
    attributes.push_back(
        getRoleDictionary(context, argument.role, argument.index));
  }
  for (const JointResult &result : results) {
    resultTypes.push_back(result.value.getType());
    resultAttributes.push_back(
        getRoleDictionary(context, result.role, result.index));
  }
  SmallVector<NamedAttribute> entryAttributes{
      builder.getNamedAttr(kEntry, EntryKindAttr::get(context, id.kind))};
  if (hasSaveSet(id.kind))
    entryAttributes.push_back(
        builder.getNamedAttr(kSaveSet, SaveSetAttr::get(context, id.saveSet)));
  if (!id.dx)
    entryAttributes.push_back(
        builder.getNamedAttr(kNoDx, builder.getUnitAttr()));
  Location loc = func::FuncOp(*joint.function).getLoc();
  auto function = func::FuncOp::create(
      builder, loc, getEntryName(id),
      builder.getFunctionType(types, resultTypes), entryAttributes, attributes);
  function.setAllResultAttrs(resultAttributes);

  Block *block = function.addEntryBlock();
  IRMapping map;
  for (auto [argument, inner] :
       llvm::zip_equal(slice.arguments, block->getArguments()))
    map.map(argument.second, inner);
  builder.setInsertionPointToEnd(block);
  for (Operation *op : slice.ops) {
    // A saved result of an operation with several must stay the given one.
    SmallVector<Value> givenResults;
    for (Value result : op->getResults())
      givenResults.push_back(map.lookupOrNull(result));
    builder.clone(*op, map);
    for (auto [result, given] : llvm::zip_equal(op->getResults(), givenResults))
      if (given)
        map.map(result, given);
  }
  SmallVector<Value> returned;
  for (const JointResult &result : results)
    returned.push_back(map.lookup(result.value));
  func::ReturnOp::create(builder, loc, returned);
  return function;
}
