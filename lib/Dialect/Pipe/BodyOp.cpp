//===- BodyOp.cpp - Verification of pipe.body -----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every entry alone (name, roles, order), then all of them against `forward`
// and the entries of one save set against each other.
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Pipe/Entries.h"
#include "rondo/Dialect/Pipe/Pipe.h"

#include "llvm/ADT/SmallVector.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace {
/// An entry with its arguments and results taken apart.
struct Entry {
  func::FuncOp function;
  EntryId id;
  SmallVector<EntryValue> arguments, results;

  InFlightDiagnostic emitError() const {
    return func::FuncOp(function).emitOpError();
  }
  SmallVector<Type> getTypes(ArrayRef<EntryValue> values, Role role) const {
    SmallVector<Type> types;
    for (const EntryValue &value : values)
      if (value.role == role)
        types.push_back(value.type);
    return types;
  }
};
} // namespace

static bool mayBeArgument(EntryKind kind, Role role) {
  switch (role) {
  case Role::Boundary:
  case Role::Parameter:
    return kind != EntryKind::Count;
  case Role::Side:
    return true;
  case Role::Saved:
  case Role::Cotangent:
    return kind == EntryKind::Backward;
  case Role::Seed:
    return kind == EntryKind::ForwardBackward;
  default:
    return false;
  }
}

static bool mayBeResult(EntryId id, Role role) {
  switch (role) {
  case Role::Output:
    return id.kind == EntryKind::Forward || id.kind == EntryKind::ForwardSave;
  case Role::Loss:
    return id.kind == EntryKind::Forward ||
           id.kind == EntryKind::ForwardBackward;
  case Role::Saved:
    return id.kind == EntryKind::ForwardSave || id.kind == EntryKind::Rebuild;
  case Role::Cotangent:
    return (id.kind == EntryKind::Backward && id.dx) ||
           id.kind == EntryKind::ForwardBackward;
  case Role::Gradient:
    return id.kind == EntryKind::Backward ||
           id.kind == EntryKind::ForwardBackward;
  case Role::Count:
    return id.kind == EntryKind::Count;
  default:
    return false;
  }
}

/// Reads and checks one entry by itself.
static LogicalResult readEntry(func::FuncOp function, Entry &entry) {
  std::optional<EntryId> id = getEntryId(function);
  if (!id)
    return function.emitOpError()
           << "is in a pipe.body and needs " << kEntry << ", and " << kSaveSet
           << " exactly where the entry concerns a save set";
  if (hasSaveSet(id->kind) && id->saveSet == SaveSet::Input)
    return function.emitOpError()
           << "has the save set 'input', which needs no entry of its own";
  if (!id->dx && id->kind != EntryKind::Backward)
    return function.emitOpError()
           << "has " << kNoDx << ", which only backward entries have";
  if (function.getSymName() != getEntryName(*id))
    return function.emitOpError()
           << "has the attributes of the entry '" << getEntryName(*id) << "'";
  if (!function.getBody().hasOneBlock())
    return function.emitOpError() << "needs a body of one block";

  entry.function = function;
  entry.id = *id;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::optional<EntryValue> value = getArgument(function, i);
    if (!value)
      return function.emitOpError()
             << "argument " << i << " needs " << kRole << " and " << kIndex;
    if (!mayBeArgument(id->kind, value->role))
      return function.emitOpError()
             << "argument " << i << " has the role '"
             << stringifyRole(value->role) << "', which no argument of '"
             << getEntryName(*id) << "' has";
    if (i && !isOrderedArgument(entry.arguments.back(), *value))
      return function.emitOpError()
             << "argument " << i
             << " is out of order: arguments are sorted by role (boundary, "
                "saved, cotangent, side, parameter, seed), then index, and "
                "none comes twice";
    entry.arguments.push_back(*value);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    std::optional<EntryValue> value = getResult(function, i);
    if (!value)
      return function.emitOpError()
             << "result " << i << " needs " << kRole << " and " << kIndex;
    if (!mayBeResult(*id, value->role))
      return function.emitOpError()
             << "result " << i << " has the role '"
             << stringifyRole(value->role) << "', which no result of '"
             << getEntryName(*id) << "' has";
    if (i && !isOrderedResult(entry.results.back(), *value))
      return function.emitOpError()
             << "result " << i
             << " is out of order: results are sorted by role (output or "
                "loss, saved, cotangent, gradient), then index, and none "
                "comes twice";
    entry.results.push_back(*value);
  }
  return success();
}

static bool isScalarFloat(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 &&
         (tensor.getElementType().isF32() || tensor.getElementType().isF64());
}

/// Checks that `value` is what `forward` has under that number. `expected` is
/// null where it may have any type.
static LogicalResult checkValue(const Entry &entry, StringRef kind, size_t i,
                                const EntryValue &value,
                                ArrayRef<Type> expected) {
  if (value.index >= static_cast<int64_t>(expected.size()))
    return entry.emitError()
           << kind << " " << i << " is " << stringifyRole(value.role) << " "
           << value.index << ", but there are only " << expected.size();
  Type type = expected[value.index];
  if (!type)
    return entry.emitError()
           << kind << " " << i << " is " << stringifyRole(value.role) << " "
           << value.index << ", which has no derivative";
  if (type != value.type)
    return entry.emitError()
           << kind << " " << i << " is " << stringifyRole(value.role) << " "
           << value.index << " of type " << value.type << ", expected " << type;
  return success();
}

namespace {
class BodyVerifier {
public:
  explicit BodyVerifier(BodyOp body) : body(body) {}
  LogicalResult verify();

private:
  const Entry *find(EntryId id) const {
    for (const Entry &entry : entries)
      if (getEntryName(entry.id) == getEntryName(id))
        return &entry;
    return nullptr;
  }
  LogicalResult verifyCount(const Entry &entry);
  LogicalResult verifyForward(const Entry &entry);
  LogicalResult verifyAgainstForward(const Entry &entry);
  LogicalResult verifySaveSet(SaveSet set);

  BodyOp body;
  SmallVector<Entry> entries;
  ForwardSignature signature;
};
} // namespace

LogicalResult BodyVerifier::verifyCount(const Entry &entry) {
  if (entries.size() != 1)
    return entry.emitError() << "must be the only entry of its body";
  if (entry.results.size() != 1 || entry.results[0].index != 0 ||
      !isScalarFloat(entry.results[0].type))
    return entry.emitError() << "must give one scalar f32";
  for (auto [i, value] : llvm::enumerate(entry.arguments))
    if (value.index != static_cast<int64_t>(i))
      return entry.emitError()
             << "sides must be numbered 0, 1, ..., but argument " << i
             << " has " << value.index;
  return success();
}

LogicalResult BodyVerifier::verifyForward(const Entry &entry) {
  std::optional<ForwardSignature> found = getForwardSignature(body);
  if (!found)
    return entry.emitError()
           << "must number the arguments of each role 0, 1, ... without gaps, "
              "and give one loss or at least one output, numbered likewise";
  signature = std::move(*found);
  if (signature.isLoss && !isScalarFloat(signature.outputs.front()))
    return entry.emitError()
           << "has a loss of type " << signature.outputs.front()
           << ", expected a scalar f32";
  return success();
}

LogicalResult BodyVerifier::verifyAgainstForward(const Entry &entry) {
  bool needsLoss = entry.id.kind == EntryKind::ForwardBackward;
  if (entry.id.kind != EntryKind::Forward && needsLoss != signature.isLoss)
    return entry.emitError()
           << (needsLoss ? "is only for the loss layer, but 'forward' gives no "
                           "loss"
                         : "is not for the loss layer, which has "
                           "'forward_backward' alone");
  SmallVector<Type> gradients, cotangents;
  for (Type type : signature.parameters)
    gradients.push_back(getGradientType(type));
  for (Type type : signature.boundary)
    cotangents.push_back(isa<FloatType>(getElementTypeOrSelf(type)) ? type
                                                                    : Type());
  for (auto [i, value] : llvm::enumerate(entry.arguments)) {
    SmallVector<Type> expected;
    switch (value.role) {
    case Role::Boundary:
      expected = signature.boundary;
      break;
    case Role::Side:
      expected = signature.sides;
      break;
    case Role::Parameter:
      expected = signature.parameters;
      break;
    case Role::Cotangent:
    case Role::Seed:
      expected = signature.outputs;
      break;
    default:
      continue; // saved: verifySaveSet
    }
    if (failed(checkValue(entry, "argument", i, value, expected)))
      return failure();
  }
  for (auto [i, value] : llvm::enumerate(entry.results)) {
    SmallVector<Type> expected;
    switch (value.role) {
    case Role::Output:
    case Role::Loss:
      expected = signature.outputs;
      break;
    case Role::Cotangent:
      expected = cotangents;
      break;
    case Role::Gradient:
      expected = gradients;
      break;
    default:
      continue;
    }
    if (failed(checkValue(entry, "result", i, value, expected)))
      return failure();
  }
  Role result = signature.isLoss ? Role::Loss : Role::Output;
  bool givesOutput = entry.id.kind == EntryKind::ForwardSave ||
                     entry.id.kind == EntryKind::ForwardBackward;
  size_t outputs = entry.getTypes(entry.results, result).size();
  if (givesOutput && outputs != signature.outputs.size())
    return entry.emitError()
           << "gives " << outputs << " outputs, but 'forward' gives "
           << signature.outputs.size();
  return success();
}

LogicalResult BodyVerifier::verifySaveSet(SaveSet set) {
  const Entry *forward = find({EntryKind::ForwardSave, set});
  const Entry *rebuild = find({EntryKind::Rebuild, set});
  const Entry *backward[] = {find({EntryKind::Backward, set, true}),
                             find({EntryKind::Backward, set, false})};
  int present = (forward != nullptr) + (rebuild != nullptr) +
                (backward[0] || backward[1]);
  if (present == 0)
    return success();
  if (present != 3)
    return body.emitOpError()
           << "has some entries of the save set '" << stringifySaveSet(set)
           << "' but not all: 'forward_', 'rebuild_' and 'backward_' (or its "
              "'_nodx') go together";
  SmallVector<Type> saved = forward->getTypes(forward->results, Role::Saved);
  for (const Entry *writer : {forward, rebuild}) {
    SmallVector<Type> types = writer->getTypes(writer->results, Role::Saved);
    if (types.size() != saved.size())
      return writer->emitError()
             << "gives " << types.size() << " saved values, but '"
             << getEntryName(forward->id) << "' gives " << saved.size();
    for (auto [i, value] : llvm::enumerate(writer->results)) {
      if (value.role != Role::Saved)
        continue;
      if (failed(checkValue(*writer, "result", i, value, saved)))
        return failure();
    }
  }
  for (const Entry *reader : backward) {
    if (!reader)
      continue;
    for (auto [i, value] : llvm::enumerate(reader->arguments))
      if (value.role == Role::Saved &&
          failed(checkValue(*reader, "argument", i, value, saved)))
        return failure();
  }
  return success();
}

LogicalResult BodyVerifier::verify() {
  for (Operation &op : body.getEntries().front()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function) {
      // After `kernels` entries are kern.func, which their own dialect checks.
      if (!isa<FunctionOpInterface>(op))
        return op.emitOpError() << "is in a pipe.body, which holds entries "
                                   "only";
      continue;
    }
    if (failed(readEntry(function, entries.emplace_back())))
      return failure();
  }
  // A mixture would be half converted; kern.func alone is the next phase.
  if (entries.empty())
    return success();
  if (const Entry *count = find({EntryKind::Count}))
    return verifyCount(*count);
  const Entry *forward = find({EntryKind::Forward});
  if (!forward)
    return body.emitOpError() << "has no entry 'forward'";
  if (failed(verifyForward(*forward)))
    return failure();
  for (const Entry &entry : entries)
    if (failed(verifyAgainstForward(entry)))
      return failure();
  for (SaveSet set : {SaveSet::Products, SaveSet::All})
    if (failed(verifySaveSet(set)))
      return failure();
  return success();
}

LogicalResult BodyOp::verifyRegions() { return BodyVerifier(*this).verify(); }
