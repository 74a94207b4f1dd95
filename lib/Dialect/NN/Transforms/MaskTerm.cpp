//===- MaskTerm.cpp - Functions of a query and a key ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskTerm.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace mlir;

namespace rondo::nn {

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

MaskTerm MaskTerm::sum(std::vector<double> rows, std::vector<double> columns) {
  auto collapse = [](std::vector<double> &part) {
    if (part.size() > 1 && llvm::all_equal(part))
      part.resize(1);
  };
  collapse(rows);
  collapse(columns);
  // A constant part is a row part; 0 beside another part is none.
  if (columns.size() == 1 && rows.empty())
    std::swap(rows, columns);
  if (columns.size() == 1 && columns[0] == 0)
    columns.clear();
  if (rows.size() == 1 && rows[0] == 0 && !columns.empty())
    rows.clear();
  MaskTerm term;
  term.rows = std::move(rows);
  term.columns = std::move(columns);
  return term;
}

MaskTerm MaskTerm::choice(KeyIntervals intervals, double inside,
                          double outside) {
  if (inside == outside)
    return scalar(inside);
  MaskTerm term;
  term.intervals = std::move(intervals);
  term.inside = inside;
  term.outside = outside;
  return term;
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

OptionalTerm mapTerm(const MaskTerm &term,
                     llvm::function_ref<double(double)> function) {
  if (term.isChoice())
    return MaskTerm::choice(term.intervals, function(term.inside),
                            function(term.outside));
  if (term.isMixedSum())
    return std::nullopt;
  auto mapPart = [&](std::vector<double> part) {
    for (double &value : part)
      value = function(value);
    return part;
  };
  return MaskTerm::sum(mapPart(term.rows), mapPart(term.columns));
}

OptionalTerm zipTerms(const MaskTerm &a, const MaskTerm &b,
                      llvm::function_ref<double(double, double)> function) {
  if (b.isScalar())
    return mapTerm(a, [&](double value) { return function(value, b.rows[0]); });
  if (a.isScalar())
    return mapTerm(b, [&](double value) { return function(a.rows[0], value); });
  if (a.isChoice() || b.isChoice() || a.isMixedSum() || b.isMixedSum())
    return std::nullopt;
  auto zipParts = [&](const std::vector<double> &x,
                      const std::vector<double> &y) {
    std::vector<double> result(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      result[i] = function(x[i], y[i]);
    return result;
  };
  if (a.rows.size() == b.rows.size() && a.columns.size() == b.columns.size())
    return MaskTerm::sum(zipParts(a.rows, b.rows),
                         zipParts(a.columns, b.columns));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static bool isExactInteger(double value) {
  return std::abs(value) <= 0x1p52 && value == std::nearbyint(value);
}

static bool isNan(double value) { return std::isnan(value); }

/// x + sign * y of parts; nothing where rounding could make a difference.
static std::optional<std::vector<double>> addParts(const std::vector<double> &x,
                                                   const std::vector<double> &y,
                                                   double sign) {
  if (y.empty())
    return x;
  std::vector<double> result(std::max(x.size(), y.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    double right = sign * y[y.size() == 1 ? 0 : i];
    if (x.empty()) {
      result[i] = right;
      continue;
    }
    double left = x[x.size() == 1 ? 0 : i];
    if (!isExactInteger(left) || !isExactInteger(right))
      return std::nullopt;
    result[i] = left + right;
  }
  return result;
}

OptionalTerm addIntegers(const MaskTerm &a, const MaskTerm &b, bool subtract) {
  if (a.isChoice() || b.isChoice())
    return std::nullopt;
  double sign = subtract ? -1 : 1;
  auto rows = addParts(a.rows, b.rows, sign),
       columns = addParts(a.columns, b.columns, sign);
  if (!rows || !columns || !llvm::all_of(*rows, isExactInteger) ||
      !llvm::all_of(*columns, isExactInteger))
    return std::nullopt;
  return MaskTerm::sum(std::move(*rows), std::move(*columns));
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static bool compare(ComparePredicate predicate, double x, double y) {
  switch (predicate) {
  case ComparePredicate::EQ:
    return x == y;
  case ComparePredicate::NE:
    return x != y;
  case ComparePredicate::LT:
    return x < y;
  case ComparePredicate::LE:
    return x <= y;
  case ComparePredicate::GT:
    return x > y;
  case ComparePredicate::GE:
    return x >= y;
  }
  return false;
}

static ComparePredicate swapSides(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::LT:
    return ComparePredicate::GT;
  case ComparePredicate::LE:
    return ComparePredicate::GE;
  case ComparePredicate::GT:
    return ComparePredicate::LT;
  case ComparePredicate::GE:
    return ComparePredicate::LE;
  case ComparePredicate::EQ:
  case ComparePredicate::NE:
    return predicate;
  }
  return predicate;
}

/// The indices j with columns[j] `predicate` row, where columns ascend.
static KeyInterval getInterval(ComparePredicate predicate,
                               const std::vector<double> &columns, double row) {
  int64_t count = columns.size();
  int64_t lower =
      std::lower_bound(columns.begin(), columns.end(), row) - columns.begin();
  int64_t upper =
      std::upper_bound(columns.begin(), columns.end(), row) - columns.begin();
  switch (predicate) {
  case ComparePredicate::LT:
    return {0, lower};
  case ComparePredicate::LE:
    return {0, upper};
  case ComparePredicate::GT:
    return {upper, count};
  case ComparePredicate::GE:
    return {lower, count};
  case ComparePredicate::EQ:
  case ComparePredicate::NE: // the caller takes the rest
    return {lower, upper};
  }
  return {};
}

OptionalTerm compareTerms(ComparePredicate predicate, const MaskTerm &a,
                          const MaskTerm &b, MaskSpace space) {
  if (OptionalTerm direct = zipTerms(a, b, [&](double x, double y) {
        return static_cast<double>(compare(predicate, x, y));
      }))
    return direct;
  if (a.isChoice() || b.isChoice())
    return std::nullopt;
  // ra + ca ? rb + cb is ca - cb ? rb - ra.
  auto rows = addParts(b.rows, a.rows, -1),
       columns = addParts(a.columns, b.columns, -1);
  if (!rows || !columns || llvm::any_of(*rows, isNan) ||
      llvm::any_of(*columns, isNan))
    return std::nullopt;
  if (rows->empty())
    rows->push_back(0);
  if (columns->size() != static_cast<size_t>(space.keys))
    return std::nullopt;
  if (llvm::is_sorted(*columns, std::greater<>())) {
    for (double &value : *rows)
      value = -value;
    for (double &value : *columns)
      value = -value;
    predicate = swapSides(predicate);
  } else if (!llvm::is_sorted(*columns)) {
    return std::nullopt;
  }
  KeyIntervals intervals(space.queries);
  for (int64_t i = 0; i < space.queries; ++i)
    intervals[i] =
        getInterval(predicate, *columns, (*rows)[rows->size() == 1 ? 0 : i]);
  bool isExcluded = predicate == ComparePredicate::NE;
  return MaskTerm::choice(std::move(intervals), isExcluded ? 0 : 1,
                          isExcluded ? 1 : 0);
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

KeyIntervals intersect(const KeyIntervals &a, const KeyIntervals &b) {
  KeyIntervals result(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    result[i] = {std::max(a[i].begin, b[i].begin),
                 std::min(a[i].end, b[i].end)};
  return result;
}

/// The keys in `a` or `b`, if they are an interval for each query.
static std::optional<KeyIntervals> unite(const KeyIntervals &a,
                                         const KeyIntervals &b) {
  KeyIntervals result(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].isEmpty() || b[i].isEmpty()) {
      result[i] = a[i].isEmpty() ? b[i] : a[i];
      continue;
    }
    if (a[i].end < b[i].begin || b[i].end < a[i].begin)
      return std::nullopt;
    result[i] = {std::min(a[i].begin, b[i].begin),
                 std::max(a[i].end, b[i].end)};
  }
  return result;
}

/// The keys in `a` that are not in `b`, if they are an interval for each query.
static std::optional<KeyIntervals> subtract(const KeyIntervals &a,
                                            const KeyIntervals &b) {
  KeyIntervals result = a;
  for (size_t i = 0; i < a.size(); ++i) {
    KeyInterval common = {std::max(a[i].begin, b[i].begin),
                          std::min(a[i].end, b[i].end)};
    if (common.isEmpty())
      continue;
    if (common.begin == a[i].begin)
      result[i].begin = common.end;
    else if (common.end == a[i].end)
      result[i].end = common.begin;
    else
      return std::nullopt;
  }
  return result;
}

static KeyIntervals allKeys(MaskSpace space) {
  return KeyIntervals(space.queries, KeyInterval{0, space.keys});
}

/// The columns at which `predicate` holds, if they are an interval.
static std::optional<KeyInterval>
getRun(const std::vector<double> &columns,
       llvm::function_ref<bool(double)> predicate) {
  auto begin = std::find_if(columns.begin(), columns.end(), predicate);
  auto end = std::find_if_not(begin, columns.end(), predicate);
  if (std::find_if(end, columns.end(), predicate) != columns.end())
    return std::nullopt;
  return KeyInterval{begin - columns.begin(), end - columns.begin()};
}

std::optional<KeyIntervals>
getIntervals(const MaskTerm &term, MaskSpace space,
             llvm::function_ref<bool(double)> predicate) {
  if (term.isChoice()) {
    bool isInside = predicate(term.inside), isOutside = predicate(term.outside);
    if (isInside && isOutside)
      return allKeys(space);
    if (isInside)
      return term.intervals;
    if (isOutside)
      return subtract(allKeys(space), term.intervals);
    return KeyIntervals(space.queries);
  }
  if (term.isMixedSum())
    return std::nullopt;
  if (!term.columns.empty()) {
    std::optional<KeyInterval> run = getRun(term.columns, predicate);
    if (!run)
      return std::nullopt;
    return KeyIntervals(space.queries, *run);
  }
  KeyIntervals result(space.queries);
  for (int64_t i = 0; i < space.queries; ++i) {
    double value =
        term.rows.empty() ? 0 : term.rows[term.rows.size() == 1 ? 0 : i];
    if (predicate(value))
      result[i] = {0, space.keys};
  }
  return result;
}

bool allValues(const MaskTerm &term,
               llvm::function_ref<bool(double)> predicate) {
  if (term.isChoice())
    return predicate(term.inside) && predicate(term.outside);
  if (term.isMixedSum())
    return false;
  if (term.rows.empty() && term.columns.empty())
    return predicate(0);
  return llvm::all_of(term.rows, predicate) &&
         llvm::all_of(term.columns, predicate);
}

//===----------------------------------------------------------------------===//
// Logic
//===----------------------------------------------------------------------===//

static bool isTrue(double value) { return value != 0; }
static bool isFalse(double value) { return value == 0; }

OptionalTerm notTerm(const MaskTerm &term) {
  return mapTerm(term, [](double value) { return value == 0 ? 1.0 : 0.0; });
}

OptionalTerm andTerms(const MaskTerm &a, const MaskTerm &b, MaskSpace space) {
  if (OptionalTerm direct = zipTerms(a, b, [](double x, double y) {
        return x != 0 && y != 0 ? 1.0 : 0.0;
      }))
    return direct;
  auto seenA = getIntervals(a, space, isTrue),
       seenB = getIntervals(b, space, isTrue);
  if (seenA && seenB)
    return MaskTerm::choice(intersect(*seenA, *seenB), 1, 0);
  auto hiddenA = getIntervals(a, space, isFalse),
       hiddenB = getIntervals(b, space, isFalse);
  std::optional<KeyIntervals> seen;
  if (seenA && hiddenB)
    seen = subtract(*seenA, *hiddenB);
  else if (seenB && hiddenA)
    seen = subtract(*seenB, *hiddenA);
  if (seen)
    return MaskTerm::choice(std::move(*seen), 1, 0);
  if (hiddenA && hiddenB)
    if (std::optional<KeyIntervals> hidden = unite(*hiddenA, *hiddenB))
      return MaskTerm::choice(std::move(*hidden), 0, 1);
  return std::nullopt;
}

OptionalTerm orTerms(const MaskTerm &a, const MaskTerm &b, MaskSpace space) {
  OptionalTerm notA = notTerm(a), notB = notTerm(b);
  OptionalTerm neither =
      notA && notB ? andTerms(*notA, *notB, space) : std::nullopt;
  return neither ? notTerm(*neither) : std::nullopt;
}

} // namespace rondo::nn
