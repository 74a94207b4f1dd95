//===- NodeImport.cpp - One ONNX node being imported ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "TensorData.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;

namespace rondo {

FailureOr<std::optional<SmallVector<int64_t>>>
NodeImport::knownIntegers(int i, StringRef what) {
  Value value = operand(i);
  if (!value)
    return std::optional<SmallVector<int64_t>>();
  if (isFloat(i))
    return error() << "operand '" << what << "' must be of integers, but is "
                   << value.getType();
  std::optional<SmallVector<int64_t>> integers = e.getIntegers(value);
  if (!integers)
    return error() << "operand '" << what << "' (" << proto.input(i)
                   << ") must be known at compile time, but depends on the "
                      "model's inputs or parameters";
  return integers;
}

FailureOr<SmallVector<int64_t>> NodeImport::requiredIntegers(int i,
                                                             StringRef what) {
  FailureOr<std::optional<SmallVector<int64_t>>> integers =
      knownIntegers(i, what);
  if (failed(integers))
    return failure();
  return **integers;
}

const onnx::AttributeProto *NodeImport::findAttribute(StringRef name) const {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t NodeImport::getInt(StringRef name, int64_t fallback) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? attribute->i() : fallback;
}

double NodeImport::getFloat(StringRef name, double fallback) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? double(attribute->f()) : fallback;
}

std::string NodeImport::getString(StringRef name, StringRef fallback) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  return attribute ? attribute->s() : fallback.str();
}

std::optional<SmallVector<int64_t>> NodeImport::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = findAttribute(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

FailureOr<std::optional<SmallVector<int64_t>>> NodeImport::getAxes(int i) {
  if (operand(i))
    return knownIntegers(i, "axes");
  return getInts("axes");
}

InFlightDiagnostic NodeImport::error() const { return emitError(e.getLoc()); }

LogicalResult NodeImport::unsupported(const Twine &reason) {
  unsupportedReason = reason.str();
  return failure();
}

FailureOr<int64_t> NodeImport::normalizeAxis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank)
    return error() << "axis " << axis << " is out of range for rank " << rank;
  return axis < 0 ? axis + rank : axis;
}

FailureOr<SmallVector<int64_t>>
NodeImport::normalizeAxes(ArrayRef<int64_t> axes, int64_t rank) const {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    FailureOr<int64_t> normalized = normalizeAxis(axis, rank);
    if (failed(normalized))
      return failure();
    result.push_back(*normalized);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return error() << "axes " << nn::shapeToString(axes) << " repeat one";
  return result;
}

LogicalResult NodeImport::checkShape(ArrayRef<int64_t> shape) const {
  if (countElements(shape) >= 0)
    return success();
  return error() << "result has impossible shape " << nn::shapeToString(shape);
}

LogicalResult NodeImport::checkSameElements(int from) const {
  Type first;
  for (int i = from; i < getNumOperands(); ++i) {
    if (!operand(i))
      continue;
    if (first && element(i) != first)
      return error() << "operands have different element types: " << first
                     << " and " << element(i) << " (" << proto.input(i) << ")";
    first = element(i);
  }
  return success();
}

FailureOr<SmallVector<Value>>
NodeImport::broadcastTogether(ArrayRef<Value> values) {
  SmallVector<int64_t> shape(Emitter::shapeOf(values.front()));
  for (Value value : values.drop_front()) {
    auto joined = nn::getBroadcastShape(shape, Emitter::shapeOf(value));
    if (!joined)
      return error() << "shapes " << nn::shapeToString(shape) << " and "
                     << nn::shapeToString(Emitter::shapeOf(value))
                     << " do not broadcast";
    shape = *joined;
  }
  if (failed(checkShape(shape)))
    return failure();
  SmallVector<Value> result;
  for (Value value : values)
    result.push_back(e.broadcast(value, shape));
  return result;
}

FailureOr<Value> NodeImport::broadcastTo(Value value, ArrayRef<int64_t> shape) {
  if (failed(checkShape(shape)))
    return failure();
  if (!nn::isBroadcastableTo(Emitter::shapeOf(value), shape))
    return error() << "shape " << nn::shapeToString(Emitter::shapeOf(value))
                   << " does not broadcast to " << nn::shapeToString(shape);
  return e.broadcast(value, shape);
}

} // namespace rondo
