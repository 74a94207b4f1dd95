//===- LayerBuilder.cpp - Makes bodies of cut operations ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayerBuilder.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// The module-level parameter behind `op`'s result: nn.read's, or one made of a
/// large constant; null for other operations.
FlatSymbolRefAttr LayerBuilder::getParameter(Operation *op) {
  if (auto read = dyn_cast<nn::ReadOp>(op))
    return read.getParameterAttr();
  auto constant = dyn_cast<nn::ConstantOp>(op);
  if (!constant)
    return nullptr;
  ElementsAttr value = constant.getValue();
  if (value.isSplat() || value.getNumElements() < tableElements)
    return nullptr;
  FlatSymbolRefAttr &table = tables[value];
  if (!table) {
    OpBuilder builder(loss.getContext());
    auto parameter = nn::ParameterOp::create(
        builder, op->getLoc(),
        builder.getStringAttr(llvm::formatv("table_{0}", tables.size() - 1)),
        TypeAttr::get(constant.getType()), /*trainable=*/nullptr,
        /*stored=*/nullptr, value, /*source=*/nullptr, /*transposed=*/nullptr,
        /*copies=*/nullptr, /*copies_transposed=*/nullptr,
        /*stored_type=*/nullptr);
    // Behind the other parameters, in front of the bodies.
    Operation *next = bodies.empty() ? loss.getOperation() : bodies.front();
    table = FlatSymbolRefAttr::get(
        symbols.insert(parameter, Block::iterator(next)));
  }
  return table;
}

void LayerBuilder::visit(Operation *op, LayerParts &parts,
                         DenseSet<Operation *> &visited) {
  if (!visited.insert(op).second)
    return;
  if (FlatSymbolRefAttr name = getParameter(op)) {
    parts.parameters.push_back(op->getResult(0));
    parts.parameterNames.push_back(name);
    return;
  }
  for (Value operand : op->getOperands()) {
    if (parts.boundary.contains(operand))
      continue;
    if (Operation *definition = operand.getDefiningOp())
      visit(definition, parts, visited);
    else
      parts.sides.insert(operand);
  }
  parts.ops.push_back(op);
}

LayerParts LayerBuilder::collect(ArrayRef<Operation *> roots,
                                 ArrayRef<Value> boundary) {
  LayerParts parts;
  parts.boundary.insert_range(boundary);
  DenseSet<Operation *> visited;
  for (Operation *root : roots)
    visit(root, parts, visited);
  return parts;
}

BodyOp LayerBuilder::build(StringRef name, EntryKind kind,
                           const LayerParts &parts, ArrayRef<Value> results,
                           Role role) {
  MLIRContext *context = loss.getContext();
  OpBuilder builder(context);
  Location loc =
      parts.ops.empty() ? loss.getLoc() : parts.ops.front()->getLoc();
  auto body = BodyOp::create(builder, loc, name);
  Block &entries = body.getEntries().emplaceBlock();
  builder.setInsertionPointToEnd(&entries);

  IRMapping map;
  SmallVector<Type> types, resultTypes;
  SmallVector<DictionaryAttr> attributes, resultAttributes;
  auto addArguments = [&](ArrayRef<Value> values, Role argumentRole) {
    for (auto [index, value] : llvm::enumerate(values)) {
      types.push_back(value.getType());
      attributes.push_back(getRoleDictionary(context, argumentRole, index));
    }
  };
  addArguments(parts.boundary.getArrayRef(), Role::Boundary);
  addArguments(parts.sides.getArrayRef(), Role::Side);
  addArguments(parts.parameters, Role::Parameter);
  for (auto [index, value] : llvm::enumerate(results)) {
    resultTypes.push_back(value.getType());
    resultAttributes.push_back(getRoleDictionary(context, role, index));
  }
  auto function = func::FuncOp::create(
      builder, loc, getEntryName({kind}),
      builder.getFunctionType(types, resultTypes),
      builder.getNamedAttr(kEntry, EntryKindAttr::get(context, kind)),
      attributes);
  function.setAllResultAttrs(resultAttributes);

  Block *block = function.addEntryBlock();
  map.map(llvm::to_vector(llvm::concat<const Value>(
              parts.boundary.getArrayRef(), parts.sides.getArrayRef(),
              ArrayRef<Value>(parts.parameters))),
          block->getArguments());
  builder.setInsertionPointToEnd(block);
  for (Operation *op : parts.ops)
    builder.clone(*op, map);
  SmallVector<Value> returned;
  for (Value result : results)
    returned.push_back(map.lookup(result));
  func::ReturnOp::create(
      builder, loss.getBody().front().getTerminator()->getLoc(), returned);
  return body;
}

BodyOp LayerBuilder::share(BodyOp body) {
  func::FuncOp forward = findEntry(body, {EntryKind::Forward});
  for (BodyOp other : bodies) {
    // Layers that give the loss are never shared with others: the roles of
    // their results differ.
    func::FuncOp otherForward = findEntry(other, {EntryKind::Forward});
    if (!OperationEquivalence::isEquivalentTo(
            forward, otherForward, OperationEquivalence::IgnoreLocations))
      continue;
    body.erase();
    return other;
  }
  symbols.insert(body, Block::iterator(loss));
  bodies.push_back(body);
  return body;
}
