//===- VJPElementwise.cpp - Derivatives of elementwise ops ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All of them compute in f32 (f64 for f64 operands) and round once.
//
//===----------------------------------------------------------------------===//

#include "Primitives.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;

using Cotangents = SmallVectorImpl<Value>;

namespace {
/// What a rule may use, each widened when first asked for, so that what a rule
/// does not need leaves no operation behind.
class Rule : public Primitives {
public:
  Rule(OpBuilder &builder, Operation *op, Value cotangent)
      : Primitives(builder, op->getLoc()), op(op), cotangent(cotangent) {}

  Value x() { return get(0, op->getOperand(0)); }
  Value y() { return get(1, op->getOperand(1)); }
  Value result() { return get(2, op->getResult(0)); }
  Value dy() { return get(3, cotangent); }

private:
  Value get(int slot, Value value) {
    if (!widened[slot])
      widened[slot] = widen(value);
    return widened[slot];
  }

  Operation *op;
  Value cotangent;
  Value widened[4];
};
} // namespace

using RuleFn = llvm::function_ref<Value(Rule &)>;

/// Appends one cotangent per rule; a null one for what is not wanted or has no
/// derivative.
static LogicalResult applyRules(Operation *op, OpBuilder &builder,
                                ArrayRef<Value> cotangents,
                                ArrayRef<bool> wanted, Cotangents &results,
                                ArrayRef<RuleFn> rules) {
  Value cotangent = cotangents.front();
  bool active = cotangent && isFloatTensor(op->getResult(0));
  std::optional<Rule> rule;
  if (active)
    rule.emplace(builder, op, cotangent);
  for (auto [index, function] : llvm::enumerate(rules)) {
    Value value;
    if (active && wanted[index]) {
      value = function(*rule);
      value = rule->castLike(value, op->getOperand(index));
    }
    results.push_back(value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

LogicalResult NegOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results,
                    {[](Rule &r) { return r.neg(r.dy()); }});
}

LogicalResult AbsOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value zero = r.splat(r.x(), 0);
    Value positive = r.compare(ComparePredicate::GT, r.x(), zero);
    Value negative = r.compare(ComparePredicate::LT, r.x(), zero);
    Value flipped = r.neg(r.dy());
    Value otherwise = r.keepWhere(negative, flipped);
    return r.select(positive, r.dy(), otherwise);
  }});
}

LogicalResult ExpOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value dy = r.dy();
    return r.mul(dy, r.result());
  }});
}

LogicalResult LogOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value dy = r.dy();
    return r.div(dy, r.x());
  }});
}

LogicalResult SqrtOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value half = r.scale(r.dy(), 0.5);
    return r.div(half, r.result());
  }});
}

LogicalResult RsqrtOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value square = r.mul(r.result(), r.result());
    Value cube = r.mul(square, r.result());
    Value half = r.scale(r.dy(), -0.5);
    return r.mul(half, cube);
  }});
}

LogicalResult ReciprocalOp::buildVJP(OpBuilder &builder,
                                     ArrayRef<Value> cotangents,
                                     ArrayRef<bool> wanted,
                                     Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value square = r.mul(r.result(), r.result());
    Value product = r.mul(r.dy(), square);
    return r.neg(product);
  }});
}

LogicalResult TanhOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value square = r.mul(r.result(), r.result());
    Value one = r.splat(square, 1);
    Value slope = r.sub(one, square);
    return r.mul(r.dy(), slope);
  }});
}

LogicalResult SigmoidOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value one = r.splat(r.result(), 1);
    Value rest = r.sub(one, r.result());
    Value slope = r.mul(r.result(), rest);
    return r.mul(r.dy(), slope);
  }});
}

LogicalResult ErfOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value square = r.mul(r.x(), r.x());
    Value bell = r.exp(r.neg(square));
    // 2 / sqrt(pi)
    Value slope = r.scale(bell, 2 * llvm::numbers::inv_sqrtpi);
    return r.mul(r.dy(), slope);
  }});
}

LogicalResult SinOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value slope = r.unary<CosOp>(r.x());
    return r.mul(r.dy(), slope);
  }});
}

LogicalResult CosOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value slope = r.neg(r.unary<SinOp>(r.x()));
    return r.mul(r.dy(), slope);
  }});
}

LogicalResult ReluOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value zero = r.splat(r.x(), 0);
    Value positive = r.compare(ComparePredicate::GT, r.x(), zero);
    return r.keepWhere(positive, r.dy());
  }});
}

LogicalResult SiluOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  // sigmoid(x) * (1 + x * (1 - sigmoid(x)))
  return applyRules(*this, builder, cotangents, wanted, results, {[](Rule &r) {
    Value gate = r.unary<SigmoidOp>(r.x());
    Value one = r.splat(gate, 1);
    Value rest = r.sub(one, gate);
    Value inner = r.offset(r.mul(r.x(), rest), 1);
    Value slope = r.mul(gate, inner);
    return r.mul(r.dy(), slope);
  }});
}

/// With u = sqrt(2 / pi) (x + c x^3) and t = tanh(u):
/// (1 + t) / 2 + x (1 - t^2) / 2 * sqrt(2 / pi) (1 + 3 c x^2).
static Value buildTanhGeluSlope(Rule &r) {
  const double root = std::sqrt(2.0) * llvm::numbers::inv_sqrtpi;
  const double cubic = 0.044715;
  Value square = r.mul(r.x(), r.x());
  Value stretch = r.offset(r.scale(square, cubic), 1);
  Value inner = r.scale(r.mul(r.x(), stretch), root);
  Value tanh = r.unary<TanhOp>(inner);
  Value left = r.scale(r.offset(tanh, 1), 0.5);
  Value tanhSquare = r.mul(tanh, tanh);
  Value one = r.splat(tanh, 1);
  Value tanhSlope = r.sub(one, tanhSquare);
  Value innerSlope = r.scale(r.offset(r.scale(square, 3 * cubic), 1), root);
  Value right = r.scale(r.mul(r.x(), r.mul(tanhSlope, innerSlope)), 0.5);
  return r.add(left, right);
}

/// Phi(x) + x phi(x), the normal distribution and its density.
static Value buildExactGeluSlope(Rule &r) {
  Value erf = r.unary<ErfOp>(r.scale(r.x(), std::sqrt(0.5)));
  Value distribution = r.scale(r.offset(erf, 1), 0.5);
  Value square = r.mul(r.x(), r.x());
  Value bell = r.exp(r.scale(square, -0.5));
  Value density = r.scale(bell, std::sqrt(0.5) * llvm::numbers::inv_sqrtpi);
  Value product = r.mul(r.x(), density);
  return r.add(distribution, product);
}

LogicalResult GeluOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  bool approximate = getTanh();
  return applyRules(*this, builder, cotangents, wanted, results,
                    {[approximate](Rule &r) {
                      Value slope = approximate ? buildTanhGeluSlope(r)
                                                : buildExactGeluSlope(r);
                      return r.mul(r.dy(), slope);
                    }});
}

//===----------------------------------------------------------------------===//
// Two operands
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  bool active = cotangents.front() && isFloatTensor(getResult());
  for (bool want : wanted)
    results.push_back(active && want ? cotangents.front() : Value());
  return success();
}

LogicalResult SubOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  Value cotangent = cotangents.front();
  bool active = cotangent && isFloatTensor(getResult());
  results.push_back(active && wanted[0] ? cotangent : Value());
  // The sign changes exactly in any type.
  results.push_back(active && wanted[1]
                        ? Primitives(builder, getLoc()).neg(cotangent)
                        : Value());
  return success();
}

LogicalResult MulOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results,
                    {[](Rule &r) {
                       Value dy = r.dy();
                       return r.mul(dy, r.y());
                     },
                     [](Rule &r) {
                       Value dy = r.dy();
                       return r.mul(dy, r.x());
                     }});
}

LogicalResult DivOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  return applyRules(*this, builder, cotangents, wanted, results,
                    {[](Rule &r) {
                       Value dy = r.dy();
                       return r.div(dy, r.y());
                     },
                     [](Rule &r) {
                       Value dy = r.dy();
                       Value part = r.div(dy, r.y());
                       Value quotient = r.div(r.x(), r.y());
                       return r.neg(r.mul(part, quotient));
                     }});
}

/// y x^(y - 1); a constant exponent of 2 or 3, as in norms and GELU, needs no
/// general power.
static Value buildPowSlope(Rule &r, std::optional<double> exponent) {
  if (exponent == 2.0)
    return r.scale(r.x(), 2);
  if (exponent == 3.0)
    return r.scale(r.mul(r.x(), r.x()), 3);
  Value lower = r.offset(r.y(), -1);
  Value power = r.binary<PowOp>(r.x(), lower);
  // x^0 is constant, also where x^-1 is infinite.
  return r.mulUnlessZero(r.y(), power);
}

LogicalResult PowOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                              ArrayRef<bool> wanted, Cotangents &results) {
  std::optional<double> exponent = getSplatConstant(getRhs());
  return applyRules(*this, builder, cotangents, wanted, results,
                    {[exponent](Rule &r) {
                       Value slope = buildPowSlope(r, exponent);
                       return r.mul(r.dy(), slope);
                     },
                     [](Rule &r) {
                       Value log = r.unary<LogOp>(r.x());
                       Value power = r.binary<PowOp>(r.x(), r.y());
                       Value slope = r.mul(power, log);
                       Value product = r.mul(r.dy(), slope);
                       Value zero = r.splat(r.x(), 0);
                       Value positive =
                           r.compare(ComparePredicate::GT, r.x(), zero);
                       return r.keepWhere(positive, product);
                     }});
}

static LogicalResult buildExtremum(Operation *op, OpBuilder &builder,
                                   ArrayRef<Value> cotangents,
                                   ArrayRef<bool> wanted, Cotangents &results,
                                   ComparePredicate lhsWins) {
  return applyRules(op, builder, cotangents, wanted, results,
                    {[lhsWins](Rule &r) {
                       Value x = r.x();
                       Value wins = r.compare(lhsWins, x, r.y());
                       return r.keepWhere(wins, r.dy());
                     },
                     [lhsWins](Rule &r) {
                       Value x = r.x();
                       Value wins = r.compare(lhsWins, x, r.y());
                       return r.dropWhere(wins, r.dy());
                     }});
}

LogicalResult MaximumOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted, Cotangents &results) {
  return buildExtremum(*this, builder, cotangents, wanted, results,
                       ComparePredicate::GE);
}

LogicalResult MinimumOp::buildVJP(OpBuilder &builder,
                                  ArrayRef<Value> cotangents,
                                  ArrayRef<bool> wanted, Cotangents &results) {
  return buildExtremum(*this, builder, cotangents, wanted, results,
                       ComparePredicate::LE);
}

LogicalResult SelectOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                                 ArrayRef<bool> wanted, Cotangents &results) {
  Value cotangent = cotangents.front();
  bool active = cotangent && isFloatTensor(getResult());
  Primitives p(builder, getLoc());
  results.push_back(Value());
  results.push_back(active && wanted[1] ? p.keepWhere(getCondition(), cotangent)
                                        : Value());
  results.push_back(active && wanted[2] ? p.dropWhere(getCondition(), cotangent)
                                        : Value());
  return success();
}

LogicalResult CastOp::buildVJP(OpBuilder &builder, ArrayRef<Value> cotangents,
                               ArrayRef<bool> wanted, Cotangents &results) {
  Value cotangent = cotangents.front();
  if (!cotangent || !wanted[0] || !isFloatTensor(getOperand()) ||
      !isFloatTensor(getResult())) {
    results.push_back(Value());
    return success();
  }
  Primitives p(builder, getLoc());
  Value value = unroundedForParameter(cotangent, getOperand());
  results.push_back(p.castLike(value, getOperand()));
  return success();
}
