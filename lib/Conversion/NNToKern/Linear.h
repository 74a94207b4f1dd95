//===- Linear.h - Element numbers over a domain ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movements of tensors (reshape, transpose, slice, broadcast, concatenation)
// are turned into the row-major element number that a point of an iteration
// domain touches. It stays a linear form of the coordinates; where an operation
// would need a quotient or remainder, the domain's axis is split instead.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_CONVERSION_NNTOKERN_LINEAR_H
#define RONDO_LIB_CONVERSION_NNTOKERN_LINEAR_H

#include "rondo/Dialect/Kern/Kern.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace rondo::lowering {

/// constant + sum of coefficient * coordinate, one coefficient per axis of a
/// domain.
struct Linear {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 4> coefficients;

  Linear() = default;
  explicit Linear(size_t axes) : coefficients(axes, 0) {}
  bool operator==(const Linear &) const = default;
  bool operator<(const Linear &other) const {
    return constant != other.constant ? constant < other.constant
                                      : coefficients < other.coefficients;
  }
  /// this += factor * other.
  void add(const Linear &other, int64_t factor = 1);
};

/// Coordinates of an axis that are of interest: [begin, end). Within a part of
/// a concatenation fewer than the axis has.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Interval &) const = default;
  auto operator<=>(const Interval &) const = default;
  int64_t size() const { return end - begin; }
};
using Bounds = llvm::SmallVector<Interval, 4>;

/// Least and largest value (begin, end - 1) that `linear` takes.
Interval getValues(const Linear &linear, const Bounds &bounds);

/// "Split axis `axis` so that its inner part has `factor` coordinates."
struct Split {
  size_t axis = 0;
  int64_t factor = 0;
};

/// Takes a row-major element number apart into one index per axis of `shape`.
/// Empty if that cannot be done with linear forms; `split`, if set then, says
/// what would help.
std::optional<llvm::SmallVector<Linear>>
delinearize(const Linear &flat, llvm::ArrayRef<int64_t> shape,
            const Bounds &bounds, std::optional<Split> &split);

/// The row-major element number of `indices` in `shape`.
Linear linearize(llvm::ArrayRef<Linear> indices, llvm::ArrayRef<int64_t> shape,
                 size_t axes);

/// The coordinates of one axis for which begin <= linear < end, all others
/// being anything within `bounds`; empty if that is not a matter of one axis.
struct AxisInterval {
  size_t axis = 0;
  Interval interval;
};
std::optional<AxisInterval> solve(const Linear &linear, int64_t begin,
                                  int64_t end, const Bounds &bounds);

} // namespace rondo::lowering

#endif // RONDO_LIB_CONVERSION_NNTOKERN_LINEAR_H
