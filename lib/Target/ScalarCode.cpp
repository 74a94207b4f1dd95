//===- ScalarCode.cpp - Code of a kernel's scalar program ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One op of a fused kernel's region as code, the same on every target.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::kern;

bool host::hasGuardOn(AccessAttr access, int64_t axis) {
  for (size_t i = 0; i < access.getGuards().size(); i += 3)
    if (access.getGuards()[i] == axis)
      return true;
  return false;
}

/// x / y of integers that never traps: 0 where y is 0, and -x, which may wrap,
/// where y is -1.
static Value divideIntegers(CodeBuilder &b, Value x, Value y) {
  Type type = y.getType();
  Value isZero =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, y, b.integer(type, 0));
  Value isMinusOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, y,
                                           b.integer(type, -1));
  Value isEither = arith::OrIOp::create(b, isZero, isMinusOne);
  Value divisor = arith::SelectOp::create(b, isEither, b.integer(type, 1), y);
  Value quotient = arith::DivSIOp::create(b, x, divisor);
  Value negated = arith::SubIOp::create(b, b.integer(type, 0), x);
  quotient = arith::SelectOp::create(b, isMinusOne, negated, quotient);
  return arith::SelectOp::create(b, isZero, b.integer(type, 0), quotient);
}

/// Truncation that saturates; NaN gives 0.
static Value convertToInteger(CodeBuilder &b, Value x, Type type) {
  Type floatType = x.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  APInt highest = APInt::getSignedMaxValue(width),
        lowest = APInt::getSignedMinValue(width);
  Value limit = b.number(floatType, std::ldexp(1.0, width - 1));
  Value isNan = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
  Value isHigh = arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, x, limit);
  Value isLow =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x,
                            b.number(floatType, -std::ldexp(1.0, width - 1)));
  Value isOutside =
      arith::OrIOp::create(b, arith::OrIOp::create(b, isHigh, isLow), isNan);
  Value inside =
      arith::SelectOp::create(b, isOutside, b.number(floatType, 0), x);
  Value result = arith::FPToSIOp::create(b, type, inside);
  result = arith::SelectOp::create(
      b, isHigh, b.integer(type, highest.getSExtValue()), result);
  return arith::SelectOp::create(
      b, isLow, b.integer(type, lowest.getSExtValue()), result);
}

static Value evaluateMath(CodeBuilder &b, Operation &inner,
                          ArrayRef<Value> operands) {
  Value x = operands.front();
  bool isF32 = getElementTypeOrSelf(x.getType()).isF32();
  auto choose = [&](Value (CodeBuilder::*function)(Value), StringRef name) {
    return isF32 ? (b.*function)(x) : b.callLibm(name, operands);
  };
  if (auto exp = dyn_cast<math::ExpOp>(inner);
      exp && isF32 && b.isDevice() &&
      bitEnumContainsAny(exp.getFastmath(), arith::FastMathFlags::afn))
    return b.approximateExp(x);
  if (b.isDevice() && !isF32) {
    if (isa<math::ExpOp>(inner))
      return b.exp64(x);
    if (isa<math::LogOp>(inner))
      return b.log64(x);
  }
  return TypeSwitch<Operation *, Value>(&inner)
      .Case<math::ExpOp>([&](auto) { return choose(&CodeBuilder::exp, "exp"); })
      .Case<math::LogOp>([&](auto) { return choose(&CodeBuilder::log, "log"); })
      .Case<math::TanhOp>(
          [&](auto) { return choose(&CodeBuilder::tanh, "tanh"); })
      .Case<math::ErfOp>([&](auto) { return choose(&CodeBuilder::erf, "erf"); })
      .Case<math::SinOp>([&](auto) { return choose(&CodeBuilder::sin, "sin"); })
      .Case<math::CosOp>([&](auto) { return choose(&CodeBuilder::cos, "cos"); })
      .Case<math::PowFOp>([&](auto) {
        return b.isDevice() ? b.pow(x, operands.back())
                            : b.callLibm("pow", operands);
      })
      .Case<math::RsqrtOp>([&](auto) -> Value {
        Value root = math::SqrtOp::create(b, x);
        return arith::DivFOp::create(b, b.number(x.getType(), 1), root);
      })
      .Default([](auto) { return Value(); });
}

bool CodeBuilder::hasDeviceFunction(Operation &inner) {
  return getElementTypeOrSelf(inner.getResult(0)).isF32() ||
         !isa<math::TanhOp, math::ErfOp, math::SinOp, math::CosOp>(inner);
}

/// Whether `inner` is 1 / (1 + e^x) in f32.
static bool isLogistic(Operation &inner) {
  auto isOne = [](Value value) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    auto number =
        constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    return number && number.getValue().isExactlyValue(1);
  };
  if (!isa<arith::DivFOp>(inner) || !inner.getResult(0).getType().isF32() ||
      !isOne(inner.getOperand(0)))
    return false;
  auto sum = inner.getOperand(1).getDefiningOp<arith::AddFOp>();
  return sum &&
         ((isOne(sum.getLhs()) && sum.getRhs().getDefiningOp<math::ExpOp>()) ||
          (isOne(sum.getRhs()) && sum.getLhs().getDefiningOp<math::ExpOp>()));
}

Value host::evaluateOp(CodeBuilder &b, Operation &inner,
                       ArrayRef<Value> operands, Type like) {
  Type element = inner.getResult(0).getType();
  Type type = b.shapeLike(b.getValueType(element), like);
  if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
      return b.constant(type, number.getValue());
    return b.integer(
        type, cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue());
  }
  if (isa<arith::ExtFOp>(inner))
    return type == operands[0].getType()
               ? operands[0]
               : Value(arith::ExtFOp::create(b, type, operands[0]));
  if (isa<arith::TruncFOp>(inner)) {
    Value value = operands[0];
    if (value.getType() != type)
      value = arith::TruncFOp::create(b, type, value);
    return b.roundTo(element, value);
  }
  if (b.isDevice() && isLogistic(inner))
    return b.invertOnDevice(operands[1]);
  if (isa<arith::DivSIOp>(inner))
    return divideIntegers(b, operands[0], operands[1]);
  if (isa<arith::FPToSIOp>(inner))
    return convertToInteger(b, operands[0], type);
  if (isa<math::MathDialect>(inner.getDialect()))
    if (Value value = evaluateMath(b, inner, operands))
      return value;
  // The rest works on vectors as on scalars.
  OperationState state(inner.getLoc(), inner.getName(), operands, type,
                       inner.getAttrs());
  return b.create(state)->getResult(0);
}

Value host::getIdentity(CodeBuilder &b, ReduceOp reduce, Type type) {
  if (isa<FloatType>(reduce.getType()))
    return b.number(type, reduce.getCombiner() == Combiner::Sum
                              ? 0
                              : -std::numeric_limits<double>::infinity());
  unsigned width = reduce.getType().getIntOrFloatBitWidth();
  return b.integer(type, reduce.getCombiner() == Combiner::Sum
                             ? 0
                             : APInt::getSignedMinValue(width).getSExtValue());
}

Value host::combine(CodeBuilder &b, ReduceOp reduce, Value x, Value y) {
  bool isSum = reduce.getCombiner() == Combiner::Sum;
  if (isa<FloatType>(reduce.getType()))
    return isSum ? Value(arith::AddFOp::create(b, x, y))
                 : Value(arith::MaximumFOp::create(b, x, y));
  return isSum ? Value(arith::AddIOp::create(b, x, y))
               : Value(arith::MaxSIOp::create(b, x, y));
}
