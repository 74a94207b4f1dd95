//===- MaskTerm.h - Functions of a query and a key --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The algebra behind rondo-nn-raise-masks. A term is a function of query i and
// key j in one of two forms that take memory in proportion to the number of
// queries and keys, never to their product. An operation whose result has
// neither form yields nothing, and the mask stays what it was.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKTERM_H
#define RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKTERM_H

#include "rondo/Dialect/NN/NN.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <vector>

namespace rondo::nn {

/// The keys begin <= j < end; none if end <= begin.
struct KeyInterval {
  int64_t begin = 0;
  int64_t end = 0;
  bool isEmpty() const { return end <= begin; }
};

/// The keys of each query.
using KeyIntervals = std::vector<KeyInterval>;

/// The numbers of queries and keys.
struct MaskSpace {
  int64_t queries = 0;
  int64_t keys = 0;
};

/// A function of query and key. Booleans are 0 and 1. Integers beyond 2^53 and
/// NaN do not occur: the makers of terms refuse them.
class MaskTerm {
public:
  /// rows[i] + columns[j]. Each part is empty (0), one element (the same
  /// everywhere), or has an element for each query or key.
  static MaskTerm sum(std::vector<double> rows, std::vector<double> columns);
  static MaskTerm scalar(double value) { return sum({value}, {}); }
  /// `inside` where key j is in query i's interval, else `outside`.
  static MaskTerm choice(KeyIntervals intervals, double inside, double outside);

  bool isChoice() const { return !intervals.empty(); }
  bool isScalar() const {
    return !isChoice() && columns.empty() && rows.size() == 1;
  }
  /// Whether it depends on the query and the key as a sum.
  bool isMixedSum() const { return !rows.empty() && !columns.empty(); }

  std::vector<double> rows, columns;
  KeyIntervals intervals;
  double inside = 0, outside = 0;
};

using OptionalTerm = std::optional<MaskTerm>;

/// function(term). Not for mixed sums.
OptionalTerm mapTerm(const MaskTerm &term,
                     llvm::function_ref<double(double)> function);
/// function(a, b), where both depend on the same index or one is a scalar.
OptionalTerm zipTerms(const MaskTerm &a, const MaskTerm &b,
                      llvm::function_ref<double(double, double)> function);
/// a + b, or a - b, of integers, whatever they depend on.
OptionalTerm addIntegers(const MaskTerm &a, const MaskTerm &b, bool subtract);
OptionalTerm compareTerms(ComparePredicate predicate, const MaskTerm &a,
                          const MaskTerm &b, MaskSpace space);
OptionalTerm andTerms(const MaskTerm &a, const MaskTerm &b, MaskSpace space);
OptionalTerm notTerm(const MaskTerm &term);
OptionalTerm orTerms(const MaskTerm &a, const MaskTerm &b, MaskSpace space);

/// The keys at which `predicate` holds of the term, if these are an interval
/// for each query.
std::optional<KeyIntervals>
getIntervals(const MaskTerm &term, MaskSpace space,
             llvm::function_ref<bool(double)> predicate);
/// Whether `predicate` holds of every value that the term takes. Not for mixed
/// sums (false).
bool allValues(const MaskTerm &term,
               llvm::function_ref<bool(double)> predicate);

/// The keys in both.
KeyIntervals intersect(const KeyIntervals &a, const KeyIntervals &b);

} // namespace rondo::nn

#endif // RONDO_LIB_DIALECT_NN_TRANSFORMS_MASKTERM_H
