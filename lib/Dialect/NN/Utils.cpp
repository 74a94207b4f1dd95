//===- Utils.cpp - Helpers around the nn dialect --------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/NN/NN.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace mlir;

namespace rondo::nn {

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

Location getNodeLoc(MLIRContext *context, StringRef nodeName, StringRef opType,
                    StringRef domain) {
  // NameLoc refuses an empty name; ONNX allows nodes without one.
  std::string type = (domain + "::" + opType).str();
  Location child = NameLoc::get(StringAttr::get(context, type));
  return NameLoc::get(
      StringAttr::get(context, nodeName.empty() ? "(unnamed)" : nodeName),
      child);
}

/// The first location below `location` that can name a node.
static LocationAttr findNamed(LocationAttr location) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    LocationAttr fallback;
    for (Location part : fused.getLocations()) {
      LocationAttr found = findNamed(part);
      if (found && isa<NameLoc>(found))
        return found;
      if (!fallback)
        fallback = found;
    }
    return fallback;
  }
  if (auto callSite = dyn_cast<CallSiteLoc>(location)) {
    LocationAttr found = findNamed(callSite.getCallee());
    return found ? found : findNamed(callSite.getCaller());
  }
  if (auto opaque = dyn_cast<OpaqueLoc>(location))
    return findNamed(opaque.getFallbackLocation());
  if (isa<NameLoc, FileLineColRange>(location))
    return location;
  return nullptr;
}

std::string getNodeName(Location location) {
  LocationAttr found = findNamed(location);
  if (!found)
    return "";
  if (auto name = dyn_cast<NameLoc>(found))
    return name.getName().str();
  auto file = cast<FileLineColRange>(found);
  return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                       file.getStartLine(), file.getStartColumn())
      .str();
}

std::string getOnnxNode(Location location) {
  auto name = dyn_cast_or_null<NameLoc>(findNamed(location));
  return name ? name.getName().str() : "";
}

std::string getNodeOpType(Location location) {
  auto name = dyn_cast_or_null<NameLoc>(findNamed(location));
  if (!name)
    return "";
  auto child = dyn_cast<NameLoc>(name.getChildLoc());
  return child ? child.getName().str() : "";
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

std::string shapeToString(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::optional<SmallVector<int64_t>> getBroadcastShape(ArrayRef<int64_t> a,
                                                      ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<int64_t> result(a);
  size_t missing = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &extent = result[missing + i];
    if (extent == b[i] || b[i] == 1)
      continue;
    if (extent != 1)
      return std::nullopt;
    extent = b[i];
  }
  return result;
}

bool isBroadcastableTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from.size() > to.size())
    return false;
  ArrayRef<int64_t> aligned = to.take_back(from.size());
  for (auto [extent, wanted] : llvm::zip_equal(from, aligned))
    if (extent != wanted && extent != 1)
      return false;
  return true;
}

std::optional<SmallVector<int64_t>> getMatmulShape(ArrayRef<int64_t> lhs,
                                                   ArrayRef<int64_t> rhs,
                                                   bool transposeLhs,
                                                   bool transposeRhs) {
  if (lhs.size() < 2 || rhs.size() < 2)
    return std::nullopt;
  if (rhs.size() == 2 && lhs.size() != 2) {
    if (transposeLhs)
      return std::nullopt;
  } else if (lhs.drop_back(2) != rhs.drop_back(2)) {
    return std::nullopt;
  }
  ArrayRef<int64_t> left = lhs.take_back(2), right = rhs.take_back(2);
  if (left[transposeLhs ? 0 : 1] != right[transposeRhs ? 1 : 0])
    return std::nullopt;
  SmallVector<int64_t> result(lhs.drop_back(2));
  result.push_back(left[transposeLhs ? 1 : 0]);
  result.push_back(right[transposeRhs ? 0 : 1]);
  return result;
}

SmallVector<int64_t> getReducedShape(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> axes, bool keepdims) {
  SmallVector<int64_t> result;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(axis)))
      result.push_back(extent);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i)
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  return strides;
}

int64_t getElementBytes(Type elementType) {
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

int64_t getTensorBytes(Type tensorType) {
  auto type = cast<RankedTensorType>(tensorType);
  return type.getNumElements() * getElementBytes(type.getElementType());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// The value of a constant all of whose elements are equal.
static std::optional<double> getSplatOf(ElementsAttr elements) {
  auto dense = dyn_cast<DenseIntOrFPElementsAttr>(elements);
  if (!dense || dense.getNumElements() == 0)
    return std::nullopt;
  // A short list of equal values is a splat too: importers read it from files.
  if (!dense.isSplat() && dense.getNumElements() > 1024)
    return std::nullopt;
  DenseElementsAttr some = dense;
  if (dense.isSplat())
    some = dense.resizeSplat(RankedTensorType::get({}, dense.getElementType()));
  HostTensor tensor = HostTensor::fromAttribute(some);
  if (tensor.isFloat())
    return llvm::all_equal(tensor.floats())
               ? std::optional<double>(tensor.floats().front())
               : std::nullopt;
  if (!llvm::all_equal(tensor.integers()))
    return std::nullopt;
  return static_cast<double>(tensor.integers().front());
}

std::optional<double> getSplatConstant(Value value) {
  // Casts on the way round as they would at run time, innermost first.
  SmallVector<Type> casts;
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      std::optional<double> splat = getSplatOf(constant.getValue());
      if (!splat)
        return std::nullopt;
      for (Type type : llvm::reverse(casts)) {
        if (isa<FloatType>(type))
          splat = roundTo(*splat, type);
        else if (type.isInteger(1))
          splat = *splat != 0;
        else
          splat = std::trunc(*splat);
      }
      return splat;
    }
    if (!isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, CastOp>(op))
      return std::nullopt;
    if (auto cast = dyn_cast<CastOp>(op))
      casts.push_back(cast.getType().getElementType());
    value = op->getOperand(0);
  }
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> getConstantIntegers(Value value,
                                                        int64_t limit) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto type = cast<RankedTensorType>(constant.getType());
  if (isa<FloatType>(type.getElementType()) || type.getNumElements() > limit)
    return std::nullopt;
  HostTensor tensor = HostTensor::fromAttribute(constant.getValue());
  return llvm::to_vector(tensor.integers());
}

} // namespace rondo::nn
