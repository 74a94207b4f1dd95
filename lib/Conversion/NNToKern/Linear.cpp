//===- Linear.cpp - Element numbers over a domain ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linear.h"

#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

void Linear::add(const Linear &other, int64_t factor) {
  constant += factor * other.constant;
  for (auto [mine, its] : llvm::zip_equal(coefficients, other.coefficients))
    mine += factor * its;
}

Interval lowering::getValues(const Linear &linear, const Bounds &bounds) {
  Interval values{linear.constant, linear.constant + 1};
  for (auto [coefficient, interval] :
       llvm::zip_equal(linear.coefficients, bounds)) {
    int64_t first = coefficient * interval.begin,
            last = coefficient * (interval.end - 1);
    values.begin += std::min(first, last);
    values.end += std::max(first, last);
  }
  return values;
}

Linear lowering::linearize(ArrayRef<Linear> indices, ArrayRef<int64_t> shape,
                           size_t axes) {
  Linear flat(axes);
  SmallVector<int64_t> strides = nn::getRowMajorStrides(shape);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    flat.add(index, stride);
  return flat;
}

namespace {
/// An axis of the shape that has more than one index, with its stride.
struct ShapeAxis {
  size_t number;
  int64_t extent;
  int64_t stride;
};
} // namespace

std::optional<SmallVector<Linear>>
lowering::delinearize(const Linear &flat, ArrayRef<int64_t> shape,
                      const Bounds &bounds, std::optional<Split> &split) {
  size_t axes = bounds.size();
  SmallVector<Linear> indices(shape.size(), Linear(axes));
  SmallVector<ShapeAxis> targets; // outermost first
  SmallVector<int64_t> strides = nn::getRowMajorStrides(shape);
  for (auto [number, extent] : llvm::enumerate(shape))
    if (extent > 1)
      targets.push_back({number, extent, strides[number]});
  if (targets.empty())
    return indices;

  // Each term goes to the outermost axis whose stride divides it.
  for (size_t axis = 0; axis < axes; ++axis) {
    int64_t coefficient = flat.coefficients[axis];
    if (coefficient == 0)
      continue;
    const ShapeAxis *target =
        llvm::find_if(targets, [&](const ShapeAxis &candidate) {
          return std::abs(coefficient) % candidate.stride == 0;
        });
    int64_t factor = coefficient / target->stride;
    indices[target->number].coefficients[axis] = factor;
    int64_t span = std::abs(factor) * (bounds[axis].size() - 1);
    if (span < target->extent || target == targets.begin())
      continue;
    // It reaches over several indices of the next axis out.
    int64_t inner = target->extent / std::abs(factor);
    if (target->extent % std::abs(factor) == 0 && inner > 1)
      split = Split{axis, inner};
    return std::nullopt;
  }

  // The constant goes where it brings each index into its range, from the
  // innermost axis outwards.
  int64_t rest = flat.constant;
  for (const ShapeAxis &target : llvm::reverse(targets)) {
    Linear &index = indices[target.number];
    if (rest % target.stride)
      return std::nullopt;
    Interval values = getValues(index, bounds);
    int64_t constant = rest / target.stride;
    if (&target != targets.begin()) {
      constant = (constant % target.extent + target.extent) % target.extent;
      if (values.end + constant > target.extent)
        constant -= target.extent;
    }
    if (values.begin + constant < 0 || values.end + constant > target.extent)
      return std::nullopt;
    index.constant = constant;
    rest -= constant * target.stride;
  }
  return indices;
}

std::optional<AxisInterval> lowering::solve(const Linear &linear, int64_t begin,
                                            int64_t end, const Bounds &bounds) {
  // The axis with the largest step decides, if the others stay below one step.
  size_t axis = 0;
  for (size_t i = 0; i < linear.coefficients.size(); ++i)
    if (std::abs(linear.coefficients[i]) > std::abs(linear.coefficients[axis]))
      axis = i;
  int64_t step = linear.coefficients[axis];
  if (step <= 0)
    return std::nullopt;
  Linear others = linear;
  others.coefficients[axis] = 0;
  Interval rest = getValues(others, bounds);
  // step * d + rest >= bound  <=>  d >= first, for every value of the rest.
  auto getFirst = [&](int64_t bound) -> std::optional<int64_t> {
    int64_t first = llvm::divideCeilSigned(bound - rest.begin, step);
    if (llvm::divideCeilSigned(bound - (rest.end - 1), step) != first)
      return std::nullopt;
    return first;
  };
  std::optional<int64_t> first = getFirst(begin), last = getFirst(end);
  if (!first || !last)
    return std::nullopt;
  return AxisInterval{axis, {*first, *last}};
}
