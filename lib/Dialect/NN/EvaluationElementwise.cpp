//===- EvaluationElementwise.cpp - Reference evaluation of elementwise ops ===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace rondo::nn;

using Results = SmallVectorImpl<HostTensor>;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename Function>
static LogicalResult mapFloats(Operation *op, const EvaluationContext &context,
                               ArrayRef<HostTensor> operands, Results &results,
                               Function function) {
  HostTensor result = makeResult(op);
  const std::vector<double> &x = operands[0].floats();
  std::transform(x.begin(), x.end(), result.floats().begin(), function);
  return finish(context, std::move(result), results);
}

template <typename Function>
static LogicalResult mapIntegers(Operation *op,
                                 const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results, Function function) {
  HostTensor result = makeResult(op);
  const std::vector<int64_t> &x = operands[0].integers();
  std::transform(x.begin(), x.end(), result.integers().begin(), function);
  return finish(context, std::move(result), results);
}

/// `onFloats` or `onIntegers` of each pair of elements.
template <typename OnFloats, typename OnIntegers>
static LogicalResult mapPairs(Operation *op, const EvaluationContext &context,
                              ArrayRef<HostTensor> operands, Results &results,
                              OnFloats onFloats, OnIntegers onIntegers) {
  HostTensor result = makeResult(op);
  if (result.isFloat())
    std::transform(operands[0].floats().begin(), operands[0].floats().end(),
                   operands[1].floats().begin(), result.floats().begin(),
                   onFloats);
  else
    std::transform(operands[0].integers().begin(), operands[0].integers().end(),
                   operands[1].integers().begin(), result.integers().begin(),
                   onIntegers);
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Integers wrap, which only unsigned arithmetic may.
static int64_t wrappingNegate(int64_t x) {
  return static_cast<int64_t>(-static_cast<uint64_t>(x));
}

#define EVALUATE_FLOAT_UNARY(OP, EXPRESSION)                                   \
  LogicalResult OP::evaluate(const EvaluationContext &context,                 \
                             ArrayRef<HostTensor> operands,                    \
                             Results &results) {                               \
    return mapFloats(*this, context, operands, results,                        \
                     [](double x) -> double { return EXPRESSION; });           \
  }
EVALUATE_FLOAT_UNARY(ExpOp, std::exp(x))
EVALUATE_FLOAT_UNARY(LogOp, std::log(x))
EVALUATE_FLOAT_UNARY(SqrtOp, std::sqrt(x))
EVALUATE_FLOAT_UNARY(RsqrtOp, 1 / std::sqrt(x))
EVALUATE_FLOAT_UNARY(ReciprocalOp, 1 / x)
EVALUATE_FLOAT_UNARY(TanhOp, std::tanh(x))
EVALUATE_FLOAT_UNARY(SigmoidOp, sigmoid(x))
EVALUATE_FLOAT_UNARY(ErfOp, std::erf(x))
EVALUATE_FLOAT_UNARY(SinOp, std::sin(x))
EVALUATE_FLOAT_UNARY(CosOp, std::cos(x))
EVALUATE_FLOAT_UNARY(ReluOp, x < 0 ? 0.0 : x)
EVALUATE_FLOAT_UNARY(SiluOp, x *sigmoid(x))
#undef EVALUATE_FLOAT_UNARY

LogicalResult NegOp::evaluate(const EvaluationContext &context,
                              ArrayRef<HostTensor> operands, Results &results) {
  if (operands[0].isFloat())
    return mapFloats(*this, context, operands, results,
                     [](double x) { return -x; });
  return mapIntegers(*this, context, operands, results, wrappingNegate);
}

LogicalResult AbsOp::evaluate(const EvaluationContext &context,
                              ArrayRef<HostTensor> operands, Results &results) {
  if (operands[0].isFloat())
    return mapFloats(*this, context, operands, results,
                     [](double x) { return std::fabs(x); });
  return mapIntegers(*this, context, operands, results,
                     [](int64_t x) { return x < 0 ? wrappingNegate(x) : x; });
}

LogicalResult NotOp::evaluate(const EvaluationContext &context,
                              ArrayRef<HostTensor> operands, Results &results) {
  return mapIntegers(*this, context, operands, results,
                     [](int64_t x) -> int64_t { return x == 0; });
}

LogicalResult GeluOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor> operands,
                               Results &results) {
  if (getTanh())
    return mapFloats(*this, context, operands, results, [](double x) {
      double inner = std::sqrt(2.0) * llvm::numbers::inv_sqrtpi *
                     (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    });
  return mapFloats(*this, context, operands, results, [](double x) {
    return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
  });
}

LogicalResult IsNanOp::evaluate(const EvaluationContext &context,
                                ArrayRef<HostTensor> operands,
                                Results &results) {
  HostTensor result = makeResult(*this);
  const std::vector<double> &x = operands[0].floats();
  std::transform(x.begin(), x.end(), result.integers().begin(),
                 [](double value) -> int64_t { return std::isnan(value); });
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

/// Truncates towards zero; `y` is not 0.
static int64_t divideIntegers(int64_t x, int64_t y) {
  return y == -1 ? wrappingNegate(x)
                 : x / y; // the smallest integer has no opposite
}

/// x to the power y, wrapping; a negative power truncates towards zero.
static int64_t powIntegers(int64_t x, int64_t y) {
  if (y < 0)
    return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = static_cast<uint64_t>(x);
  for (uint64_t rest = static_cast<uint64_t>(y); rest; rest >>= 1, base *= base)
    if (rest & 1)
      result *= base;
  return static_cast<int64_t>(result);
}

#define EVALUATE_BINARY(OP, FLOATS, INTEGERS)                                  \
  LogicalResult OP::evaluate(const EvaluationContext &context,                 \
                             ArrayRef<HostTensor> operands,                    \
                             Results &results) {                               \
    return mapPairs(                                                           \
        *this, context, operands, results,                                     \
        [](double x, double y) -> double { return FLOATS; },                   \
        [](int64_t x, int64_t y) -> int64_t { return INTEGERS; });             \
  }
EVALUATE_BINARY(AddOp, x + y,
                static_cast<int64_t>(static_cast<uint64_t>(x) +
                                     static_cast<uint64_t>(y)))
EVALUATE_BINARY(SubOp, x - y,
                static_cast<int64_t>(static_cast<uint64_t>(x) -
                                     static_cast<uint64_t>(y)))
EVALUATE_BINARY(MulOp, x *y,
                static_cast<int64_t>(static_cast<uint64_t>(x) *
                                     static_cast<uint64_t>(y)))
EVALUATE_BINARY(PowOp, std::pow(x, y), powIntegers(x, y))
EVALUATE_BINARY(MaximumOp, x > y || std::isnan(x) ? x : y, std::max(x, y))
EVALUATE_BINARY(MinimumOp, x < y || std::isnan(x) ? x : y, std::min(x, y))
EVALUATE_BINARY(AndOp, x *y, x &&y) // of booleans, which are never floats
EVALUATE_BINARY(OrOp, x + y, x || y)
#undef EVALUATE_BINARY

LogicalResult DivOp::evaluate(const EvaluationContext &context,
                              ArrayRef<HostTensor> operands, Results &results) {
  if (!operands[1].isFloat()) {
    const std::vector<int64_t> &divisors = operands[1].integers();
    auto zero = llvm::find(divisors, 0);
    if (zero != divisors.end())
      return fail(context, emitOpError()
                               << "integer division by zero at element "
                               << zero - divisors.begin());
  }
  return mapPairs(
      *this, context, operands, results,
      [](double x, double y) { return x / y; }, divideIntegers);
}

template <typename T>
static bool holds(ComparePredicate predicate, T x, T y) {
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
  llvm_unreachable("all predicates are covered");
}

LogicalResult CompareOp::evaluate(const EvaluationContext &context,
                                  ArrayRef<HostTensor> operands,
                                  Results &results) {
  HostTensor result = makeResult(*this);
  ComparePredicate predicate = getPredicate();
  std::vector<int64_t> &values = result.integers();
  if (operands[0].isFloat())
    for (size_t i = 0; i < values.size(); ++i)
      values[i] =
          holds(predicate, operands[0].floats()[i], operands[1].floats()[i]);
  else
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = holds(predicate, operands[0].integers()[i],
                        operands[1].integers()[i]);
  return finish(context, std::move(result), results);
}

LogicalResult SelectOp::evaluate(const EvaluationContext &context,
                                 ArrayRef<HostTensor> operands,
                                 Results &results) {
  HostTensor result = makeResult(*this);
  const std::vector<int64_t> &condition = operands[0].integers();
  auto choose = [&](const auto &onTrue, const auto &onFalse, auto &values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = condition[i] ? onTrue[i] : onFalse[i];
  };
  if (result.isFloat())
    choose(operands[1].floats(), operands[2].floats(), result.floats());
  else
    choose(operands[1].integers(), operands[2].integers(), result.integers());
  return finish(context, std::move(result), results);
}

//===----------------------------------------------------------------------===//
// Conversion
//===----------------------------------------------------------------------===//

/// Truncates; what does not fit takes the nearest integer that does, NaN 0.
static int64_t truncateToInteger(double value, unsigned width) {
  if (std::isnan(value))
    return 0;
  double limit = std::ldexp(1.0, width - 1);
  if (value >= limit)
    return llvm::maxIntN(width);
  if (value <= -limit)
    return llvm::minIntN(width);
  return static_cast<int64_t>(value);
}

LogicalResult CastOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor> operands,
                               Results &results) {
  HostTensor result = makeResult(*this);
  const HostTensor &operand = operands[0];
  Type element = result.getType().getElementType();
  bool toBool = element.isInteger(1);
  if (result.isFloat() && operand.isFloat()) {
    result.floats() = operand.floats();
  } else if (result.isFloat()) {
    llvm::copy(operand.integers(), result.floats().begin());
  } else if (!operand.isFloat()) {
    result.integers() =
        operand.integers(); // rounding wraps, and makes booleans 0 or 1
  } else {
    unsigned width = element.getIntOrFloatBitWidth();
    std::transform(operand.floats().begin(), operand.floats().end(),
                   result.integers().begin(), [&](double x) -> int64_t {
                     return toBool ? x != 0 : truncateToInteger(x, width);
                   });
  }
  return finish(context, std::move(result), results);
}
