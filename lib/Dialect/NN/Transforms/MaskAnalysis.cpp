//===- MaskAnalysis.cpp - Which keys a mask shows ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskAnalysis.h"
#include "Matching.h"
#include "rondo/Dialect/NN/Utils.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace rondo::nn {

/// Constants above this many elements are not read.
static constexpr int64_t readConstantElements = int64_t(1) << 24;
/// Masks are shallow; this bounds the recursion.
static constexpr int maximumDepth = 200;

namespace {

/// Which axes of a value run over queries and keys; -1: none does.
struct MaskAxes {
  int row = -1;
  int column = -1;
};

class MaskAnalyzer {
public:
  explicit MaskAnalyzer(MaskSpace space) : space(space) {}

  /// `value` as a function of query and key, equal along all other axes.
  OptionalTerm analyze(Value value, MaskAxes axes);

private:
  OptionalTerm analyzeOp(Operation *op, MaskAxes axes);
  OptionalTerm analyzeConstant(ConstantOp constant, MaskAxes axes);
  OptionalTerm analyzeIota(IotaOp iota, MaskAxes axes);
  OptionalTerm analyzeBroadcast(BroadcastOp broadcast, MaskAxes axes);
  OptionalTerm analyzeReshape(ReshapeOp reshape, MaskAxes axes);
  OptionalTerm analyzeCast(CastOp cast, MaskAxes axes);
  OptionalTerm analyzeArithmetic(Operation *op, MaskAxes axes);
  OptionalTerm analyzeSelect(SelectOp select, MaskAxes axes);
  OptionalTerm getTwoValued(const std::vector<double> &matrix);

  MaskSpace space;
  DenseMap<std::pair<Value, std::pair<int, int>>, OptionalTerm> known;
  int depth = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

static std::vector<double> getValues(const HostTensor &tensor) {
  if (tensor.isFloat())
    return tensor.floats();
  return std::vector<double>(tensor.integers().begin(),
                             tensor.integers().end());
}

/// A queries x keys matrix of two values, one of which fills an interval of
/// each row.
OptionalTerm MaskAnalyzer::getTwoValued(const std::vector<double> &matrix) {
  double first = matrix.front();
  auto other = std::find_if(matrix.begin(), matrix.end(),
                            [&](double value) { return value != first; });
  if (other == matrix.end())
    return MaskTerm::scalar(first);
  double second = *other;
  if (llvm::any_of(matrix, [&](double value) {
        return value != first && value != second;
      }))
    return std::nullopt;
  auto fill = [&](double inside) -> std::optional<KeyIntervals> {
    KeyIntervals intervals(space.queries);
    for (int64_t i = 0; i < space.queries; ++i) {
      auto begin = matrix.begin() + i * space.keys, end = begin + space.keys;
      auto from = std::find(begin, end, inside);
      auto to = std::find_if(from, end,
                             [&](double value) { return value != inside; });
      if (std::find(to, end, inside) != end)
        return std::nullopt;
      intervals[i] = {from - begin, to - begin};
    }
    return intervals;
  };
  if (auto intervals = fill(first))
    return MaskTerm::choice(std::move(*intervals), first, second);
  if (auto intervals = fill(second))
    return MaskTerm::choice(std::move(*intervals), second, first);
  return std::nullopt;
}

OptionalTerm MaskAnalyzer::analyzeConstant(ConstantOp constant, MaskAxes axes) {
  if (std::optional<double> splat = getSplatConstant(constant.getResult()))
    return std::isnan(*splat) ? OptionalTerm() : MaskTerm::scalar(*splat);
  RankedTensorType type = getTensor(constant.getResult());
  if (type.getNumElements() > readConstantElements ||
      type.getNumElements() == 0)
    return std::nullopt;
  HostTensor tensor = HostTensor::fromAttribute(constant.getValue());
  std::vector<double> values = getValues(tensor);
  // Integers that a double cannot hold are no mask's business.
  if (llvm::any_of(values, [](double value) { return std::isnan(value); }) ||
      (!tensor.isFloat() && llvm::any_of(values, [](double value) {
        return std::abs(value) > 0x1p52;
      })))
    return std::nullopt;

  int64_t rows = axes.row < 0 ? 1 : space.queries,
          columns = axes.column < 0 ? 1 : space.keys;
  SmallVector<int64_t> strides = getRowMajorStrides(type.getShape());
  int64_t rowStride = axes.row < 0 ? 0 : strides[axes.row];
  int64_t columnStride = axes.column < 0 ? 0 : strides[axes.column];
  std::vector<double> matrix(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      matrix[i * columns + j] = values[i * rowStride + j * columnStride];
  // Every batch and head must show the same.
  for (int64_t index = 0; index < type.getNumElements(); ++index) {
    auto coordinate = [&](int axis) {
      return axis < 0 ? 0 : index / strides[axis] % type.getDimSize(axis);
    };
    if (values[index] !=
        matrix[coordinate(axes.row) * columns + coordinate(axes.column)])
      return std::nullopt;
  }
  if (columns == 1)
    return MaskTerm::sum(std::move(matrix), {});
  if (rows == 1)
    return MaskTerm::sum({}, std::move(matrix));
  return getTwoValued(matrix);
}

OptionalTerm MaskAnalyzer::analyzeIota(IotaOp iota, MaskAxes axes) {
  int axis = iota.getAxis();
  RankedTensorType type = getTensor(iota.getResult());
  int64_t extent = type.getDimSize(axis), start = iota.getStart(),
          step = iota.getStep();
  int64_t last;
  if (llvm::MulOverflow(extent, step, last) ||
      llvm::AddOverflow(last, start, last) ||
      std::abs(static_cast<double>(last)) > 0x1p52 ||
      std::abs(static_cast<double>(start)) > 0x1p52)
    return std::nullopt;
  std::vector<double> values(extent);
  for (int64_t i = 0; i < extent; ++i) {
    values[i] = start + i * step;
    if (isa<FloatType>(type.getElementType()))
      values[i] = roundTo(values[i], type.getElementType());
  }
  if (axis == axes.row || extent == 1)
    return MaskTerm::sum(std::move(values), {});
  if (axis == axes.column)
    return MaskTerm::sum({}, std::move(values));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Movement: other axes
//===----------------------------------------------------------------------===//

OptionalTerm MaskAnalyzer::analyzeBroadcast(BroadcastOp broadcast,
                                            MaskAxes axes) {
  RankedTensorType from = getTensor(broadcast.getOperand()),
                   to = getTensor(broadcast.getResult());
  int missing = to.getRank() - from.getRank();
  auto map = [&](int axis) {
    int source = axis - missing;
    return axis < 0 || source < 0 ||
                   from.getDimSize(source) != to.getDimSize(axis)
               ? -1
               : source;
  };
  return analyze(broadcast.getOperand(), {map(axes.row), map(axes.column)});
}

OptionalTerm MaskAnalyzer::analyzeReshape(ReshapeOp reshape, MaskAxes axes) {
  // Only reshapes that add and drop axes of extent 1 keep axes apart.
  auto getLongAxes = [](RankedTensorType type) {
    SmallVector<int> result;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      if (type.getDimSize(axis) != 1)
        result.push_back(axis);
    return result;
  };
  RankedTensorType from = getTensor(reshape.getOperand()),
                   to = getTensor(reshape.getResult());
  SmallVector<int> fromAxes = getLongAxes(from), toAxes = getLongAxes(to);
  if (fromAxes.size() != toAxes.size())
    return std::nullopt;
  MaskAxes sources;
  for (auto [source, target] : llvm::zip_equal(fromAxes, toAxes)) {
    if (from.getDimSize(source) != to.getDimSize(target))
      return std::nullopt;
    if (target == axes.row)
      sources.row = source;
    if (target == axes.column)
      sources.column = source;
  }
  return analyze(reshape.getOperand(), sources);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Integers beyond this wrap, or a double does not hold them: both are left to
/// the evaluation.
static double getIntegerLimit(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return width >= 64 ? 0x1p52 : std::ldexp(1.0, width - 1) - 1;
}

/// A bound of the absolute value of a sum.
static double getMagnitude(const MaskTerm &term) {
  double bound = 0;
  for (const std::vector<double> *part : {&term.rows, &term.columns}) {
    double largest = 0;
    for (double value : *part)
      largest = std::max(largest, std::abs(value));
    bound += largest;
  }
  return bound;
}

OptionalTerm MaskAnalyzer::analyzeCast(CastOp cast, MaskAxes axes) {
  OptionalTerm term = analyze(cast.getOperand(), axes);
  if (!term)
    return std::nullopt;
  Type from = getTensor(cast.getOperand()).getElementType(),
       to = getTensor(cast.getResult()).getElementType();
  if (to.isInteger(1))
    return compareTerms(ComparePredicate::NE, *term, MaskTerm::scalar(0),
                        space);
  if (from.isInteger(1) || to == from)
    return term;
  if (isa<IntegerType>(to)) {
    double limit = getIntegerLimit(to);
    if (!allValues(*term,
                   [&](double value) { return std::abs(value) <= limit; }))
      return std::nullopt;
    return mapTerm(*term, [](double value) { return std::trunc(value); });
  }
  return mapTerm(*term, [&](double value) { return roundTo(value, to); });
}

/// A term that is 0 in an interval and out of reach of any score elsewhere.
static std::optional<KeyIntervals> getSeenKeys(const MaskTerm &term,
                                               MaskSpace space, double masked) {
  if (!allValues(term,
                 [&](double value) { return value == 0 || value <= masked; }))
    return std::nullopt;
  return getIntervals(term, space, [](double value) { return value == 0; });
}

double getHidingBound(Type element) { return element.isF16() ? -65504 : -1e30; }

/// The largest value with which an additive mask hides a key.
static double getHidingValue(const MaskTerm &term) {
  if (term.isChoice())
    return std::min(term.inside, term.outside);
  double value = 0;
  for (double candidate : llvm::concat<const double>(term.rows, term.columns))
    if (candidate != 0 && (value == 0 || candidate > value))
      value = candidate;
  return value;
}

OptionalTerm MaskAnalyzer::analyzeArithmetic(Operation *op, MaskAxes axes) {
  OptionalTerm a = analyze(op->getOperand(0), axes);
  OptionalTerm b = a ? analyze(op->getOperand(1), axes) : std::nullopt;
  if (!b)
    return std::nullopt;
  Type element = getTensor(op->getResult(0)).getElementType();
  bool isFloat = isa<FloatType>(element);
  double limit = getIntegerLimit(element);
  if (isa<AddOp, SubOp>(op) && !isFloat) {
    OptionalTerm sum = addIntegers(*a, *b, isa<SubOp>(op));
    return sum && getMagnitude(*sum) <= limit ? sum : std::nullopt;
  }
  bool isInvalid = false;
  OptionalTerm result = zipTerms(*a, *b, [&](double x, double y) {
    double value = TypeSwitch<Operation *, double>(op)
                       .Case<AddOp>([&](auto) { return x + y; })
                       .Case<SubOp>([&](auto) { return x - y; })
                       .Case<MulOp>([&](auto) { return x * y; })
                       .Case<MaximumOp>([&](auto) { return std::max(x, y); })
                       .Case<MinimumOp>([&](auto) { return std::min(x, y); });
    if (isFloat)
      value = roundTo(value, element);
    isInvalid |= std::isnan(value) || (!isFloat && std::abs(value) > limit);
    return value;
  });
  if (result)
    return isInvalid ? OptionalTerm() : result;
  // Two additive masks together hide what either hides.
  if (!isFloat || !isa<AddOp>(op))
    return std::nullopt;
  double masked = getHidingBound(element);
  auto seenA = getSeenKeys(*a, space, masked),
       seenB = getSeenKeys(*b, space, masked);
  if (!seenA || !seenB)
    return std::nullopt;
  return MaskTerm::choice(intersect(*seenA, *seenB), 0,
                          std::max(getHidingValue(*a), getHidingValue(*b)));
}

OptionalTerm MaskAnalyzer::analyzeSelect(SelectOp select, MaskAxes axes) {
  OptionalTerm condition = analyze(select.getCondition(), axes);
  OptionalTerm onTrue =
      condition ? analyze(select.getOnTrue(), axes) : std::nullopt;
  OptionalTerm onFalse =
      onTrue ? analyze(select.getOnFalse(), axes) : std::nullopt;
  if (!onFalse)
    return std::nullopt;
  auto isTrue = [](double value) { return value != 0; };
  if (condition->isScalar())
    return condition->rows[0] != 0 ? onTrue : onFalse;
  if (onTrue->isScalar() && onFalse->isScalar()) {
    double yes = onTrue->rows[0], no = onFalse->rows[0];
    return mapTerm(*condition,
                   [&](double value) { return value != 0 ? yes : no; });
  }
  if (getTensor(select.getResult()).getElementType().isInteger(1)) {
    OptionalTerm inverse = notTerm(*condition);
    OptionalTerm left = andTerms(*condition, *onTrue, space);
    OptionalTerm right =
        inverse ? andTerms(*inverse, *onFalse, space) : std::nullopt;
    return left && right ? orTerms(*left, *right, space) : std::nullopt;
  }
  // A choice, but its own `outside` where the condition does not hold.
  auto narrow = [&](const MaskTerm &choice, const MaskTerm &other,
                    bool wanted) -> OptionalTerm {
    if (!choice.isChoice() || !other.isScalar() ||
        other.rows[0] != choice.outside)
      return std::nullopt;
    auto kept = getIntervals(*condition, space, [&](double value) {
      return isTrue(value) == wanted;
    });
    if (!kept)
      return std::nullopt;
    return MaskTerm::choice(intersect(*kept, choice.intervals), choice.inside,
                            choice.outside);
  };
  if (OptionalTerm result = narrow(*onTrue, *onFalse, true))
    return result;
  return narrow(*onFalse, *onTrue, false);
}

//===----------------------------------------------------------------------===//
// Everything
//===----------------------------------------------------------------------===//

OptionalTerm MaskAnalyzer::analyzeOp(Operation *op, MaskAxes axes) {
  auto binary = [&](auto combine) -> OptionalTerm {
    OptionalTerm a = analyze(op->getOperand(0), axes);
    OptionalTerm b = a ? analyze(op->getOperand(1), axes) : std::nullopt;
    return b ? combine(*a, *b) : std::nullopt;
  };
  auto unary = [&](auto function) -> OptionalTerm {
    OptionalTerm a = analyze(op->getOperand(0), axes);
    return a ? function(*a) : std::nullopt;
  };
  return TypeSwitch<Operation *, OptionalTerm>(op)
      .Case<ConstantOp>([&](auto op) { return analyzeConstant(op, axes); })
      .Case<IotaOp>([&](auto op) { return analyzeIota(op, axes); })
      .Case<BroadcastOp>([&](auto op) { return analyzeBroadcast(op, axes); })
      .Case<ReshapeOp>([&](auto op) { return analyzeReshape(op, axes); })
      .Case<TransposeOp>([&](TransposeOp op) {
        auto map = [&](int axis) {
          return axis < 0 ? -1 : static_cast<int>(op.getPermutation()[axis]);
        };
        return analyze(op.getOperand(), {map(axes.row), map(axes.column)});
      })
      .Case<CastOp>([&](auto op) { return analyzeCast(op, axes); })
      .Case<SelectOp>([&](auto op) { return analyzeSelect(op, axes); })
      .Case<CompareOp>([&](CompareOp op) {
        return binary([&](auto &a, auto &b) {
          return compareTerms(op.getPredicate(), a, b, space);
        });
      })
      .Case<AndOp>([&](auto) {
        return binary([&](auto &a, auto &b) { return andTerms(a, b, space); });
      })
      .Case<OrOp>([&](auto) {
        return binary([&](auto &a, auto &b) { return orTerms(a, b, space); });
      })
      .Case<NotOp>([&](auto) { return unary(notTerm); })
      .Case<NegOp>([&](auto) {
        return unary([](auto &a) {
          OptionalTerm term = mapTerm(a, [](double value) { return -value; });
          return term ? term
                      : addIntegers(MaskTerm::scalar(0), a, /*subtract=*/true);
        });
      })
      .Case<AddOp, SubOp, MulOp, MaximumOp, MinimumOp>(
          [&](auto op) { return analyzeArithmetic(op, axes); })
      .Default([](Operation *) { return OptionalTerm(); });
}

OptionalTerm MaskAnalyzer::analyze(Value value, MaskAxes axes) {
  Operation *op = value.getDefiningOp();
  if (!op || depth >= maximumDepth)
    return std::nullopt;
  std::pair<Value, std::pair<int, int>> key = {value, {axes.row, axes.column}};
  if (auto found = known.find(key); found != known.end())
    return found->second;
  ++depth;
  OptionalTerm term = analyzeOp(op, axes);
  --depth;
  known[key] = term;
  return term;
}

std::optional<VisibleKeys> analyzeMask(Value mask, MaskSpace space) {
  RankedTensorType type = getTensor(mask);
  int rank = type.getRank();
  MaskAxes axes;
  if (rank >= 2 && type.getDimSize(rank - 2) == space.queries)
    axes.row = rank - 2;
  if (rank >= 1 && type.getDimSize(rank - 1) == space.keys)
    axes.column = rank - 1;
  OptionalTerm term = MaskAnalyzer(space).analyze(mask, axes);
  if (!term)
    return std::nullopt;
  VisibleKeys keys;
  std::optional<KeyIntervals> seen;
  if (type.getElementType().isInteger(1)) {
    seen = getIntervals(*term, space, [](double value) { return value != 0; });
  } else {
    seen = getSeenKeys(*term, space, getHidingBound(type.getElementType()));
    keys.hidesWithFinite = !allValues(
        *term, [](double value) { return value == 0 || std::isinf(value); });
  }
  if (!seen)
    return std::nullopt;
  keys.intervals = std::move(*seen);
  return keys;
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

KeyIntervals getVisibleKeys(const MaskForm &form, MaskSpace space) {
  KeyIntervals visible(space.queries);
  for (int64_t i = 0; i < space.queries; ++i) {
    int64_t own = i + space.keys - space.queries;
    int64_t begin =
        form.window ? std::max<int64_t>(0, own - *form.window + 1) : 0;
    int64_t end =
        form.causal ? std::clamp<int64_t>(own + 1, 0, space.keys) : space.keys;
    visible[i] = {begin, end};
  }
  return visible;
}

std::optional<MaskForm> classify(const KeyIntervals &visible, MaskSpace space) {
  auto isForm = [&](const MaskForm &form) {
    for (auto [actual, expected] :
         llvm::zip_equal(visible, getVisibleKeys(form, space))) {
      if (actual.isEmpty() && expected.isEmpty())
        continue;
      if (actual.begin != expected.begin || actual.end != expected.end)
        return false;
    }
    return true;
  };
  if (visible.empty())
    return MaskForm();
  // The last query's first key tells the window.
  int64_t window = space.keys - visible.back().begin;
  for (bool causal : {false, true}) {
    MaskForm form;
    form.causal = causal;
    if (isForm(form))
      return form;
    form.window = window;
    if (causal && window >= 1 && isForm(form))
      return form;
  }
  return std::nullopt;
}

} // namespace rondo::nn
