//===- MovementOps.cpp - Import of ops that move elements -----------------===//
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

static LogicalResult importReshape(NodeImport &n) {
  FailureOr<SmallVector<int64_t>> shape = n.requiredIntegers(1, "shape");
  if (failed(shape))
    return failure();
  bool allowZero = n.getInt("allowzero", 0);
  SmallVector<int64_t> requested = *shape;
  int wildcard = -1;
  for (int i = 0; i < int(shape->size()); ++i) {
    int64_t &extent = (*shape)[i];
    if (extent == 0 && !allowZero) {
      if (i >= n.rank(0))
        return n.error() << "shape " << nn::shapeToString(requested)
                         << " copies axis " << i << " of an operand of rank "
                         << n.rank(0);
      extent = n.shape(0)[i];
    } else if (extent == -1) {
      if (wildcard >= 0)
        return n.error() << "shape " << nn::shapeToString(requested)
                         << " has two -1";
      wildcard = i;
      extent = 1;
    }
  }
  int64_t count = n.e.typeOf(n.operand(0)).getNumElements();
  int64_t others = countElements(*shape);
  if (wildcard >= 0 && others > 0 && count % others == 0)
    (*shape)[wildcard] = count / others;
  if (countElements(*shape) != count)
    return n.error() << "operand of shape " << nn::shapeToString(n.shape(0))
                     << " cannot be reshaped to "
                     << nn::shapeToString(requested);
  return n.setResult(n.e.reshape(n.operand(0), *shape));
}

static LogicalResult importFlatten(NodeImport &n) {
  int64_t axis = n.getInt("axis", 1);
  if (axis < -n.rank(0) || axis > n.rank(0))
    return n.error() << "axis " << axis << " is out of range for rank "
                     << n.rank(0);
  if (axis < 0)
    axis += n.rank(0);
  int64_t rows = countElements(n.shape(0).take_front(axis));
  int64_t columns = countElements(n.shape(0).drop_front(axis));
  return n.setResult(n.e.reshape(n.operand(0), {rows, columns}));
}

static LogicalResult importUnsqueeze(NodeImport &n) {
  auto given = n.getAxes(1);
  if (failed(given))
    return failure();
  if (!*given)
    return n.error() << "has no axes";
  int64_t rank = n.rank(0) + (*given)->size();
  auto axes = n.normalizeAxes(**given, rank);
  if (failed(axes))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  for (int64_t axis : *axes)
    shape.insert(shape.begin() + axis, 1);
  return n.setResult(n.e.reshape(n.operand(0), shape));
}

static LogicalResult importSqueeze(NodeImport &n) {
  auto given = n.getAxes(1);
  if (failed(given))
    return failure();
  SmallVector<int64_t> axes;
  if (*given) {
    auto normalized = n.normalizeAxes(**given, n.rank(0));
    if (failed(normalized))
      return failure();
    axes = *normalized;
  } else {
    for (int64_t axis = 0; axis < n.rank(0); ++axis)
      if (n.shape(0)[axis] == 1)
        axes.push_back(axis);
  }
  SmallVector<int64_t> shape;
  for (int64_t axis = 0; axis < n.rank(0); ++axis) {
    if (!llvm::is_contained(axes, axis))
      shape.push_back(n.shape(0)[axis]);
    else if (n.shape(0)[axis] != 1)
      return n.error() << "axis " << axis << " of "
                       << nn::shapeToString(n.shape(0)) << " is not 1";
  }
  return n.setResult(n.e.reshape(n.operand(0), shape));
}

static LogicalResult importTranspose(NodeImport &n) {
  SmallVector<int64_t> permutation;
  if (auto given = n.getInts("perm")) {
    permutation = *given;
    auto sorted = n.normalizeAxes(permutation, n.rank(0));
    if (failed(sorted))
      return failure();
    if (int64_t(sorted->size()) != n.rank(0) ||
        llvm::any_of(permutation, [](int64_t axis) { return axis < 0; }))
      return n.error() << "perm " << nn::shapeToString(permutation)
                       << " is no permutation of " << n.rank(0) << " axes";
  } else {
    for (int64_t axis = n.rank(0) - 1; axis >= 0; --axis)
      permutation.push_back(axis);
  }
  return n.setResult(n.e.transpose(n.operand(0), permutation));
}

static LogicalResult importExpand(NodeImport &n) {
  FailureOr<SmallVector<int64_t>> shape = n.requiredIntegers(1, "shape");
  if (failed(shape) || failed(n.checkShape(*shape)))
    return failure();
  auto joined = nn::getBroadcastShape(n.shape(0), *shape);
  if (!joined)
    return n.error() << "operand of shape " << nn::shapeToString(n.shape(0))
                     << " does not expand to " << nn::shapeToString(*shape);
  if (failed(n.checkShape(*joined)))
    return failure();
  return n.setResult(n.e.broadcast(n.operand(0), *joined));
}

static LogicalResult importConcat(NodeImport &n) {
  if (failed(n.checkSameElements()))
    return failure();
  auto axis = n.normalizeAxis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  SmallVector<Value> operands{n.operand(0)};
  for (int i = 1; i < n.getNumOperands(); ++i) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is omitted";
    bool fits = n.rank(i) == n.rank(0);
    for (int64_t a = 0; fits && a < n.rank(0); ++a)
      fits = a == *axis || n.shape(i)[a] == n.shape(0)[a];
    if (!fits)
      return n.error() << "shapes " << nn::shapeToString(n.shape(0)) << " and "
                       << nn::shapeToString(n.shape(i))
                       << " differ beside axis " << *axis;
    shape[*axis] += n.shape(i)[*axis];
    operands.push_back(n.operand(i));
  }
  if (failed(n.checkShape(shape)))
    return failure();
  if (operands.size() == 1)
    return n.setResult(operands.front());
  return n.setResult(n.e.create<nn::ConcatOp>(*axis, operands).getResult());
}

static LogicalResult importSplit(NodeImport &n) {
  auto axis = n.normalizeAxis(n.getInt("axis", 0), n.rank(0));
  if (failed(axis))
    return failure();
  int64_t extent = n.shape(0)[*axis];
  auto known = n.knownIntegers(1, "split");
  if (failed(known))
    return failure();
  SmallVector<int64_t> sizes;
  if (*known) {
    sizes = **known;
  } else {
    int64_t count = n.getInt("num_outputs", n.proto.output_size());
    if (count < 1 || count != n.proto.output_size())
      return n.error() << "splits into " << count << " parts, but has "
                       << n.proto.output_size() << " outputs";
    int64_t size = (extent + count - 1) / count;
    for (int64_t i = 0, rest = extent; i < count; ++i, rest -= sizes.back())
      sizes.push_back(std::clamp<int64_t>(size, 0, rest));
  }
  int64_t sum = 0;
  bool negative = false;
  for (int64_t size : sizes) {
    negative |= size < 0 || size > extent;
    sum += negative ? 0 : size;
  }
  if (negative || sum != extent || int(sizes.size()) != n.proto.output_size())
    return n.error() << "parts " << nn::shapeToString(sizes)
                     << " do not cover extent " << extent << " with "
                     << n.proto.output_size() << " outputs";
  SmallVector<int64_t> starts(n.rank(0), 0), steps(n.rank(0), 1);
  SmallVector<int64_t> extents(n.shape(0));
  for (auto [i, size] : llvm::enumerate(sizes)) {
    extents[*axis] = size;
    (void)n.setResult(i, n.e.slice(n.operand(0), starts, steps, extents));
    starts[*axis] += size;
  }
  return success();
}

static LogicalResult importSlice(NodeImport &n) {
  auto starts = n.requiredIntegers(1, "starts");
  auto ends = n.requiredIntegers(2, "ends");
  auto givenAxes = n.knownIntegers(3, "axes");
  auto givenSteps = n.knownIntegers(4, "steps");
  if (failed(starts) || failed(ends) || failed(givenAxes) || failed(givenSteps))
    return failure();
  size_t count = starts->size();
  if (ends->size() != count || (*givenAxes && (*givenAxes)->size() != count) ||
      (*givenSteps && (*givenSteps)->size() != count))
    return n.error() << "starts, ends, axes and steps differ in length";
  SmallVector<int64_t> allStarts(n.rank(0), 0), allSteps(n.rank(0), 1);
  SmallVector<int64_t> extents(n.shape(0));
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < count; ++i)
    axes.push_back(*givenAxes ? (**givenAxes)[i] : int64_t(i));
  if (failed(n.normalizeAxes(axes, n.rank(0))))
    return failure();
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + n.rank(0) : axes[i];
    int64_t step = *givenSteps ? (**givenSteps)[i] : 1;
    int64_t extent = n.shape(0)[axis];
    if (step == 0)
      return n.error() << "steps by 0 along axis " << axis;
    // What exceeds the axis is cut off; -1 as an end is then "before 0".
    auto clamp = [&](int64_t index, int64_t low, int64_t high) {
      return std::clamp(index < 0 ? index + extent : index, low, high);
    };
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    int64_t start = clamp((*starts)[i], 0, std::max<int64_t>(high, 0));
    int64_t end = clamp((*ends)[i], low, high);
    int64_t length = step > 0 ? end - start : start - end;
    // The step's size as unsigned: -2^63 has no positive twin.
    uint64_t size = step > 0 ? uint64_t(step) : -uint64_t(step);
    int64_t taken =
        length <= 0 ? 0 : int64_t((uint64_t(length) + size - 1) / size);
    extents[axis] = extent == 0 ? 0 : taken;
    allStarts[axis] = extents[axis] == 0 ? 0 : start;
    // The step between elements of which there is at most one does not matter.
    allSteps[axis] = extents[axis] <= 1 ? 1 : step;
  }
  return n.setResult(n.e.slice(n.operand(0), allStarts, allSteps, extents));
}

static LogicalResult importPad(NodeImport &n) {
  std::string mode = n.getString("mode", "constant");
  if (mode != "constant")
    return n.unsupported("mode " + mode);
  auto pads = n.requiredIntegers(1, "pads");
  auto givenAxes = n.knownIntegers(3, "axes");
  if (failed(pads) || failed(givenAxes))
    return failure();
  SmallVector<int64_t> axes;
  if (*givenAxes)
    axes = **givenAxes;
  else
    for (int64_t axis = 0; axis < n.rank(0); ++axis)
      axes.push_back(axis);
  if (failed(n.normalizeAxes(axes, n.rank(0))))
    return failure();
  if (pads->size() != 2 * axes.size())
    return n.error() << "has " << pads->size() << " pads for " << axes.size()
                     << " axes";
  // Negative pads cut; they are a slice before the padding.
  SmallVector<int64_t> low(n.rank(0), 0), high(n.rank(0), 0);
  SmallVector<int64_t> starts(n.rank(0), 0), steps(n.rank(0), 1);
  SmallVector<int64_t> extents(n.shape(0));
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i] < 0 ? axes[i] + n.rank(0) : axes[i];
    int64_t before = (*pads)[i], after = (*pads)[i + axes.size()];
    // In this form, because -2^63 has no absolute value.
    if (std::min(before, after) < -maxElements ||
        std::max(before, after) > maxElements)
      return n.error() << "pads axis " << axis << " by " << before << " and "
                       << after;
    low[axis] = std::max<int64_t>(before, 0);
    high[axis] = std::max<int64_t>(after, 0);
    starts[axis] = std::max<int64_t>(-before, 0);
    extents[axis] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (extents[axis] < 0)
      return n.error() << "cuts more than axis " << axis << " has";
  }
  Value value = n.e.slice(n.operand(0), starts, steps, extents);
  SmallVector<int64_t> shape(extents);
  for (int64_t axis = 0; axis < n.rank(0); ++axis)
    shape[axis] += low[axis] + high[axis];
  if (failed(n.checkShape(shape)))
    return failure();
  if (shape == extents)
    return n.setResult(value);
  Builder builder(n.e.getLoc().getContext());
  TypedAttr attribute = builder.getZeroAttr(n.element(0));
  if (n.operand(2)) {
    const KnownValue *known = n.e.getKnown(n.operand(2));
    if (!known || !known->isSplat || n.element(2) != n.element(0))
      return n.error() << "the padding value must be a known scalar of the "
                          "operand's type";
    attribute = n.isFloat(0) ? TypedAttr(builder.getFloatAttr(
                                   n.element(0), known->values.floats()[0]))
                             : TypedAttr(builder.getIntegerAttr(
                                   n.element(0), known->values.integers()[0]));
  }
  auto padded =
      n.e.create<nn::PadOp>(RankedTensorType::get(shape, n.element(0)), value,
                            builder.getDenseI64ArrayAttr(low),
                            builder.getDenseI64ArrayAttr(high), attribute);
  return n.setResult(padded.getResult());
}

void registerMovementOps(OpTable &table) {
  table["Reshape"] = {5, 2, 2, importReshape};
  table["Flatten"] = {1, 1, 1, importFlatten};
  table["Unsqueeze"] = {1, 1, 2, importUnsqueeze};
  table["Squeeze"] = {1, 1, 2, importSqueeze};
  table["Transpose"] = {1, 1, 1, importTranspose};
  table["Expand"] = {8, 2, 2, importExpand};
  table["Concat"] = {4, 1, -1, importConcat};
  table["Split"] = {2, 1, 2, importSplit};
  table["Slice"] = {10, 3, 5, importSlice};
  table["Pad"] = {2, 2, 4, importPad};
}

} // namespace rondo
