//===- Entries.cpp - Names and signatures of a body's entries -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Pipe/Entries.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

bool pipe::hasSaveSet(EntryKind kind) {
  return kind == EntryKind::ForwardSave || kind == EntryKind::Rebuild ||
         kind == EntryKind::Backward;
}

std::string pipe::getEntryName(EntryId id) {
  std::string set = stringifySaveSet(id.saveSet).str();
  switch (id.kind) {
  case EntryKind::Forward:
    return "forward";
  case EntryKind::ForwardSave:
    return "forward_" + set;
  case EntryKind::Rebuild:
    return "rebuild_" + set;
  case EntryKind::Backward:
    return "backward_" + set + (id.dx ? "" : "_nodx");
  case EntryKind::ForwardBackward:
    return "forward_backward";
  case EntryKind::Count:
    return "count";
  }
  return "";
}

std::optional<EntryId> pipe::getEntryId(Operation *function) {
  auto kind = function->getAttrOfType<EntryKindAttr>(kEntry);
  if (!kind)
    return std::nullopt;
  EntryId id;
  id.kind = kind.getValue();
  auto saveSet = function->getAttrOfType<SaveSetAttr>(kSaveSet);
  if (hasSaveSet(id.kind) != static_cast<bool>(saveSet))
    return std::nullopt;
  if (saveSet)
    id.saveSet = saveSet.getValue();
  id.dx = !function->hasAttr(kNoDx);
  return id;
}

func::FuncOp pipe::findEntry(BodyOp body, EntryId id) {
  // Not through the symbol table trait's look-up: verifiers call this while
  // symbols may still be wrong.
  std::string name = getEntryName(id);
  for (auto function : body.getEntries().getOps<func::FuncOp>())
    if (function.getSymName() == name)
      return function;
  return nullptr;
}

static int rankArgument(Role role) { return static_cast<int>(role); }

static int rankResult(Role role) {
  switch (role) {
  case Role::Output:
  case Role::Loss:
  case Role::Count:
    return 0;
  case Role::Saved:
    return 1;
  case Role::Cotangent:
    return 2;
  default:
    return 3;
  }
}

bool pipe::isOrderedArgument(const EntryValue &before,
                             const EntryValue &after) {
  return std::pair(rankArgument(before.role), before.index) <
         std::pair(rankArgument(after.role), after.index);
}

bool pipe::isOrderedResult(const EntryValue &before, const EntryValue &after) {
  return std::pair(rankResult(before.role), before.index) <
         std::pair(rankResult(after.role), after.index);
}

static std::optional<EntryValue> readValue(Attribute role, Attribute index,
                                           Type type) {
  auto roleAttr = dyn_cast_or_null<RoleAttr>(role);
  auto indexAttr = dyn_cast_or_null<IntegerAttr>(index);
  if (!roleAttr || !indexAttr || !indexAttr.getType().isInteger(64))
    return std::nullopt;
  return EntryValue{roleAttr.getValue(), indexAttr.getInt(), type};
}

std::optional<EntryValue> pipe::getArgument(FunctionOpInterface function,
                                            unsigned number) {
  return readValue(function.getArgAttr(number, kRole),
                   function.getArgAttr(number, kIndex),
                   function.getArgumentTypes()[number]);
}

std::optional<EntryValue> pipe::getResult(FunctionOpInterface function,
                                          unsigned number) {
  return readValue(function.getResultAttr(number, kRole),
                   function.getResultAttr(number, kIndex),
                   function.getResultTypes()[number]);
}

DictionaryAttr pipe::getRoleDictionary(MLIRContext *context, Role role,
                                       int64_t index) {
  Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(kRole, RoleAttr::get(context, role)),
       builder.getNamedAttr(kIndex, builder.getI64IntegerAttr(index))});
}

std::optional<ForwardSignature> pipe::getForwardSignature(BodyOp body) {
  FunctionOpInterface forward;
  for (auto function : body.getEntries().getOps<FunctionOpInterface>())
    if (function.getName() == getEntryName({EntryKind::Forward}))
      forward = function;
  if (!forward)
    return std::nullopt;

  SmallVector<std::optional<EntryValue>> values;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    values.push_back(getArgument(forward, i));
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    values.push_back(getResult(forward, i));

  ForwardSignature signature;
  for (const std::optional<EntryValue> &value : values) {
    if (!value)
      return std::nullopt;
    SmallVector<Type> *list = nullptr;
    switch (value->role) {
    case Role::Boundary:
      list = &signature.boundary;
      break;
    case Role::Side:
      list = &signature.sides;
      break;
    case Role::Parameter:
      list = &signature.parameters;
      break;
    case Role::Loss:
      signature.isLoss = true;
      [[fallthrough]];
    case Role::Output:
      list = &signature.outputs;
      break;
    default:
      return std::nullopt;
    }
    if (value->index != static_cast<int64_t>(list->size()))
      return std::nullopt;
    list->push_back(value->type);
  }
  if (signature.outputs.empty() ||
      (signature.isLoss && signature.outputs.size() != 1))
    return std::nullopt;
  return signature;
}

SmallVector<BackwardNeed> pipe::getBackwardNeeds(ChainOp chain) {
  SymbolTableCollection symbols;
  bool trainsBefore = false;
  SmallVector<BackwardNeed> needs;
  for (auto layer : chain.getBody().getOps<LayerOp>()) {
    bool all = false, gradients = false;
    if (auto body = symbols.lookupNearestSymbolFrom<BodyOp>(
            layer, layer.getBodyAttr())) {
      for (auto entry : body.getEntries().getOps<FunctionOpInterface>()) {
        all |= entry.getName() == "backward_all" ||
               entry.getName() == "forward_backward";
        gradients |= entry.getName() == "backward_all_nodx";
      }
    }
    bool both = all && gradients;
    needs.push_back((both ? trainsBefore : all) ? BackwardNeed::All
                    : gradients                 ? BackwardNeed::Gradients
                                                : BackwardNeed::None);
    ArrayAttr parameters = layer.getParameters();
    for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
      auto parameter =
          symbols.lookupNearestSymbolFrom<nn::ParameterOp>(layer, name);
      trainsBefore |= parameter && parameter.getTrainable();
    }
  }
  return needs;
}

RankedTensorType pipe::getGradientType(Type parameter) {
  auto type = dyn_cast<RankedTensorType>(parameter);
  if (!type || !isa<FloatType>(type.getElementType()))
    return nullptr;
  if (type.getElementType().isF64())
    return type;
  return type.clone(Float32Type::get(type.getContext()));
}
