//===- Math64.cpp - Elementary functions in f64 --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For devices, which have no libm. Plain series: the reduced arguments are
// small enough for them, and these functions are rare.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;

static Value compare(CodeBuilder &b, arith::CmpFPredicate predicate, Value x,
                     double y) {
  return arith::CmpFOp::create(b, predicate, x, b.number(x.getType(), y));
}

static Value choose(CodeBuilder &b, Value condition, Value yes, Value no) {
  return arith::SelectOp::create(b, condition, yes, no);
}

/// 2^n for -1022 <= n <= 1023.
static Value buildPowerOfTwo(CodeBuilder &b, Value n) {
  Value biased = arith::AddIOp::create(b, n, b.i64(1023));
  return arith::BitcastOp::create(b, b.getF64Type(),
                                  arith::ShLIOp::create(b, biased, b.i64(52)));
}

/// As exp: e^r with |r| <= ln 2 / 2 by its series to r^13, of which the rest is
/// below 5e-18.
Value CodeBuilder::exp64(Value x) {
  Type type = getF64Type();
  Value isNan = compare(*this, arith::CmpFPredicate::UNO, x, 0);
  Value bounded =
      choose(*this, compare(*this, arith::CmpFPredicate::OGT, x, 710),
             number(type, 710), x);
  bounded = choose(*this, compare(*this, arith::CmpFPredicate::OLT, x, -746),
                   number(type, -746), bounded);
  bounded = choose(*this, isNan, number(type, 0), bounded);
  Value n = math::RoundEvenOp::create(
      *this,
      arith::MulFOp::create(*this, bounded, number(type, 1.4426950408889634)));
  Value minusN = arith::NegFOp::create(*this, n);
  Value r = fma(minusN, number(type, 0x1.62e42fefa39efp-1), bounded);
  r = fma(minusN, number(type, 0x1.abc9e3b39803fp-56), r);
  double coefficient = 1;
  for (int i = 2; i <= 13; ++i)
    coefficient /= i;
  Value sum = number(type, coefficient);
  for (int i = 13; i >= 1; --i)
    sum = fma(sum, r, number(type, coefficient *= i));

  Value exponent = arith::FPToSIOp::create(*this, getI64Type(), n);
  Value half = arith::ShRSIOp::create(*this, exponent, i64(1));
  Value otherHalf = arith::SubIOp::create(*this, exponent, half);
  Value result =
      arith::MulFOp::create(*this, sum, buildPowerOfTwo(*this, half));
  result =
      arith::MulFOp::create(*this, result, buildPowerOfTwo(*this, otherHalf));
  return choose(*this, isNan, x, result);
}

/// log x = e ln 2 + 2 artanh s with s = (m - 1) / (m + 1), |s| <= 0.172, by the
/// series to s^23, of which the rest is below 1e-19.
Value CodeBuilder::log64(Value x) {
  Type type = getF64Type();
  Value isSmall = compare(*this, arith::CmpFPredicate::OLT, x, 0x1p-1022);
  Value normal = choose(
      *this, isSmall, arith::MulFOp::create(*this, x, number(type, 0x1p54)), x);
  Value bits = arith::BitcastOp::create(*this, getI64Type(), normal);
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd; // the bits of sqrt(1/2)
  Value exponent = arith::ShRSIOp::create(
      *this, arith::SubIOp::create(*this, bits, i64(kRootHalf)), i64(52));
  Value mantissaBits = arith::SubIOp::create(
      *this, bits, arith::ShLIOp::create(*this, exponent, i64(52)));
  Value mantissa = arith::BitcastOp::create(*this, type, mantissaBits);
  Value e = arith::SIToFPOp::create(*this, type, exponent);
  e = arith::AddFOp::create(
      *this, e, choose(*this, isSmall, number(type, -54), number(type, 0)));

  Value one = number(type, 1);
  Value s =
      arith::DivFOp::create(*this, arith::SubFOp::create(*this, mantissa, one),
                            arith::AddFOp::create(*this, mantissa, one));
  Value square = arith::MulFOp::create(*this, s, s);
  Value sum = number(type, 2.0 / 23);
  for (int i = 21; i >= 3; i -= 2)
    sum = fma(sum, square, number(type, 2.0 / i));
  Value low = fma(e, number(type, 0x1.abc9e3b39803fp-56),
                  arith::MulFOp::create(
                      *this, arith::MulFOp::create(*this, square, s), sum));
  Value high = fma(s, number(type, 2), low);
  Value result = fma(e, number(type, 0x1.62e42fefa39efp-1), high);

  double infinity = std::numeric_limits<double>::infinity();
  result = choose(*this, compare(*this, arith::CmpFPredicate::OEQ, x, infinity),
                  x, result);
  result = choose(*this, compare(*this, arith::CmpFPredicate::OEQ, x, 0),
                  number(type, -infinity), result);
  return choose(*this, compare(*this, arith::CmpFPredicate::ULT, x, 0),
                number(type, std::numeric_limits<double>::quiet_NaN()), result);
}

/// x^n for whole n from 0 to 63, exact where the result and what leads to it
/// are.
static Value raiseToWhole(CodeBuilder &b, Value x, Value n) {
  Value result = b.number(x.getType(), 1);
  for (int bit = 0; bit < 6; ++bit) {
    Value masked = arith::AndIOp::create(b, n, b.i64(1 << bit));
    Value isSet =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, masked, b.i64(0));
    result = choose(b, isSet, arith::MulFOp::create(b, result, x), result);
    if (bit < 5)
      x = arith::MulFOp::create(b, x, x);
  }
  return result;
}

/// |x|^y = e^(y log |x|) in f64, or products where y is whole and small; the
/// sign is x's where y is odd, and a negative x has no other powers than whole
/// ones.
Value CodeBuilder::pow(Value x, Value y) {
  Type type = x.getType(), f64 = getF64Type();
  auto widen = [&](Value value) {
    return type.isF64() ? value
                        : Value(arith::ExtFOp::create(*this, f64, value));
  };
  Value base = widen(x), power = widen(y);
  Value magnitude = math::AbsFOp::create(*this, base);
  Value result = exp64(arith::MulFOp::create(*this, power, log64(magnitude)));

  Value size = math::AbsFOp::create(*this, power);
  Value isSmall = compare(*this, arith::CmpFPredicate::OLT, size, 64);
  Value count = arith::FPToSIOp::create(
      *this, getI64Type(), choose(*this, isSmall, size, number(f64, 0)));
  Value product = raiseToWhole(*this, magnitude, count);
  Value isInverse = compare(*this, arith::CmpFPredicate::OLT, power, 0);
  product =
      choose(*this, isInverse,
             arith::DivFOp::create(*this, number(f64, 1), product), product);
  Value whole =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ,
                            math::FloorOp::create(*this, power), power);
  result = choose(*this, arith::AndIOp::create(*this, whole, isSmall), product,
                  result);
  Value half = arith::MulFOp::create(*this, power, number(f64, 0.5));
  Value isEven =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ,
                            math::FloorOp::create(*this, half), half);
  // -0 counts, so by the sign bit.
  Value sign = arith::BitcastOp::create(*this, getI64Type(), base);
  Value isNegative =
      arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, sign, i64(0));
  Value isOdd = arith::AndIOp::create(
      *this, whole,
      arith::XOrIOp::create(*this, isEven, integer(getI1Type(), 1)));
  Value flips = arith::AndIOp::create(*this, isNegative, isOdd);
  result = choose(*this, flips, arith::NegFOp::create(*this, result), result);
  Value isBelow = compare(*this, arith::CmpFPredicate::OLT, base, 0);
  Value isFinite = compare(*this, arith::CmpFPredicate::OGT, base,
                           -std::numeric_limits<double>::infinity());
  Value hasNone = arith::AndIOp::create(
      *this, arith::AndIOp::create(*this, isBelow, isFinite),
      arith::XOrIOp::create(*this, whole, integer(getI1Type(), 1)));
  Value isUnordered = compare(*this, arith::CmpFPredicate::UNO, power, 0);
  Value nan = number(f64, std::numeric_limits<double>::quiet_NaN());
  result = choose(*this, arith::OrIOp::create(*this, hasNone, isUnordered), nan,
                  result);
  // 1 to any power and anything to the power 0 are 1, NaN and infinities too.
  Value isOne = compare(*this, arith::CmpFPredicate::OEQ, base, 1);
  Value isZeroth = compare(*this, arith::CmpFPredicate::OEQ, power, 0);
  Value isUnit = arith::OrIOp::create(*this, isOne, isZeroth);
  Value isMinusOne = compare(*this, arith::CmpFPredicate::OEQ, base, -1);
  Value isEndless = compare(*this, arith::CmpFPredicate::OEQ,
                            math::AbsFOp::create(*this, power),
                            std::numeric_limits<double>::infinity());
  isUnit = arith::OrIOp::create(
      *this, isUnit, arith::AndIOp::create(*this, isMinusOne, isEndless));
  result = choose(*this, isUnit, number(f64, 1), result);
  return type.isF64() ? result
                      : Value(arith::TruncFOp::create(*this, type, result));
}
