//===- ConstantOps.cpp - Import of constants and ranges -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "TensorData.h"
#include "rondo/Dialect/NN/Utils.h"
#include <cmath>

using namespace mlir;

namespace rondo {

static LogicalResult importConstant(NodeImport &n) {
  Builder builder(n.e.getLoc().getContext());
  if (n.proto.attribute_size() != 1)
    return n.error() << "has " << n.proto.attribute_size()
                     << " attributes; a constant has one";
  const onnx::AttributeProto &attribute = n.proto.attribute(0);
  StringRef name = attribute.name();
  auto setFloats = [&](ArrayRef<int64_t> shape, ArrayRef<float> values) {
    nn::HostTensor tensor(RankedTensorType::get(shape, builder.getF32Type()));
    llvm::copy(values, tensor.floats().begin());
    return n.setResult(n.e.constant(std::move(tensor)));
  };
  auto setIntegers = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> values) {
    nn::HostTensor tensor(RankedTensorType::get(shape, builder.getI64Type()));
    llvm::copy(values, tensor.integers().begin());
    return n.setResult(n.e.constant(std::move(tensor)));
  };
  if (name == "value") {
    if (!getElementType(builder.getContext(), attribute.t().data_type()))
      return n.unsupported("constant of type " +
                           getDataTypeName(attribute.t().data_type()));
    FailureOr<nn::HostTensor> tensor =
        decodeTensor(attribute.t(), n.e.getLoc());
    if (failed(tensor))
      return failure();
    return n.setResult(n.e.constant(std::move(*tensor)));
  }
  if (name == "value_float")
    return setFloats({}, attribute.f());
  if (name == "value_floats")
    return setFloats(
        {attribute.floats_size()},
        ArrayRef<float>(attribute.floats().data(), attribute.floats_size()));
  if (name == "value_int")
    return setIntegers({}, {attribute.i()});
  if (name == "value_ints")
    return setIntegers(
        {attribute.ints_size()},
        SmallVector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
  if (name == "value_string" || name == "value_strings" ||
      name == "sparse_value")
    return n.unsupported("attribute " + name);
  return n.error() << "unknown attribute '" << name << "'";
}

static LogicalResult importConstantOfShape(NodeImport &n) {
  FailureOr<SmallVector<int64_t>> shape = n.requiredIntegers(0, "input");
  if (failed(shape) || failed(n.checkShape(*shape)))
    return failure();
  nn::HostTensor scalar(RankedTensorType::get(
      {}, Builder(n.e.getLoc().getContext()).getF32Type()));
  if (const onnx::AttributeProto *attribute = n.findAttribute("value")) {
    FailureOr<nn::HostTensor> tensor =
        decodeTensor(attribute->t(), n.e.getLoc());
    if (failed(tensor))
      return failure();
    if (tensor->getNumElements() != 1)
      return n.error() << "attribute 'value' has " << tensor->getNumElements()
                       << " elements; it must have one";
    scalar = std::move(*tensor);
  }
  auto type = RankedTensorType::get(*shape, scalar.getType().getElementType());
  return n.setResult(n.e.splat(type, std::move(scalar)));
}

static LogicalResult importShape(NodeImport &n) {
  int64_t rank = n.rank(0);
  auto clamp = [&](int64_t index) {
    return std::clamp<int64_t>(index < 0 ? index + rank : index, 0, rank);
  };
  int64_t start = clamp(n.getInt("start", 0));
  int64_t end = clamp(n.getInt("end", rank));
  return n.setResult(
      n.e.integers(n.shape(0).slice(start, std::max<int64_t>(0, end - start))));
}

static LogicalResult importSize(NodeImport &n) {
  nn::HostTensor tensor(RankedTensorType::get(
      {}, Builder(n.e.getLoc().getContext()).getI64Type()));
  tensor.integers()[0] = n.e.typeOf(n.operand(0)).getNumElements();
  return n.setResult(n.e.constant(std::move(tensor)));
}

static LogicalResult importFloatRange(NodeImport &n) {
  double bounds[3];
  for (int i = 0; i < 3; ++i) {
    std::optional<double> value = n.e.getSplat(n.operand(i));
    if (!value)
      return n.error() << "bounds must be known at compile time";
    bounds[i] = *value;
  }
  double count = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  // Also refuses NaN.
  if (!(std::abs(count) <= double(1 << 20)))
    return n.unsupported("a range of floats longer than 2^20");
  int64_t extent = std::max(0.0, count);
  nn::HostTensor tensor(RankedTensorType::get({extent}, n.element(0)));
  for (int64_t i = 0; i < extent; ++i)
    tensor.floats()[i] = bounds[0] + double(i) * bounds[2];
  tensor.round();
  return n.setResult(n.e.constant(std::move(tensor)));
}

static LogicalResult importRange(NodeImport &n) {
  if (failed(n.checkSameElements()))
    return failure();
  for (int i = 0; i < 3; ++i)
    if (n.e.typeOf(n.operand(i)).getNumElements() != 1)
      return n.error() << "bounds must be scalars";
  if (n.isFloat(0))
    return importFloatRange(n);
  int64_t bounds[3];
  for (int i = 0; i < 3; ++i) {
    constexpr StringLiteral names[] = {"start", "limit", "delta"};
    FailureOr<SmallVector<int64_t>> value = n.requiredIntegers(i, names[i]);
    if (failed(value))
      return failure();
    bounds[i] = value->front();
  }
  auto [start, limit, delta] = bounds;
  if (delta == 0)
    return n.error() << "steps by 0";
  // In double: the difference of two int64 may overflow, and what is too long
  // for a double to count is too long anyway.
  double count = std::ceil((double(limit) - double(start)) / double(delta));
  if (count > double(maxElements))
    return n.error() << "would have " << count << " elements";
  int64_t extent = count <= 0 ? 0 : int64_t(count);
  return n.setResult(
      n.e.iota(RankedTensorType::get({extent}, n.element(0)), 0, start, delta));
}

/// Trilu: keeps one triangle. The mask is made of iotas, so that it can be
/// recognised.
static LogicalResult importTrilu(NodeImport &n) {
  if (n.rank(0) < 2)
    return n.error() << "operand has rank " << n.rank(0)
                     << "; it must be at least 2";
  FailureOr<std::optional<SmallVector<int64_t>>> k = n.knownIntegers(1, "k");
  if (failed(k))
    return failure();
  if (*k && (*k)->size() != 1)
    return n.error() << "operand 'k' must be a scalar";
  int64_t diagonal = *k ? (**k)[0] : 0;
  int64_t rows = n.shape(0)[n.rank(0) - 2], columns = n.shape(0).back();
  diagonal = std::clamp(diagonal, -rows, columns);
  Type i64 = Builder(n.e.getLoc().getContext()).getI64Type();
  // Row i sees columns from i + k (upper) or up to i + k (lower).
  Value row = n.e.iota(RankedTensorType::get({rows, 1}, i64), 0, diagonal);
  Value column = n.e.iota(RankedTensorType::get({1, columns}, i64), 1);
  auto both = n.broadcastTogether({column, row});
  if (failed(both))
    return failure();
  auto predicate = n.getInt("upper", 1) ? nn::ComparePredicate::GE
                                        : nn::ComparePredicate::LE;
  Value keep = n.e.create<nn::CompareOp>(predicate, (*both)[0], (*both)[1]);
  keep = n.e.broadcast(keep, n.shape(0));
  Value zero = n.e.splatLike(n.operand(0), 0);
  return n.setResult(
      n.e.create<nn::SelectOp>(keep, n.operand(0), zero).getResult());
}

void registerConstantOps(OpTable &table) {
  table["Constant"] = {1, 0, 0, importConstant};
  table["ConstantOfShape"] = {9, 1, 1, importConstantOfShape};
  table["Shape"] = {1, 1, 1, importShape};
  table["Size"] = {1, 1, 1, importSize};
  table["Range"] = {11, 3, 3, importRange};
  table["Trilu"] = {14, 1, 2, importTrilu};
}

} // namespace rondo
