//===- HostMath.cpp - Elementary functions in f32 ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Range reduction by exact steps, then a polynomial whose coefficients were
// fitted for the least relative error (weighted least squares at Chebyshev
// points until the error is level). Products and sums that may be one rounding
// are written as fma.
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;

Value CodeBuilder::fma(Value a, Value b, Value c) {
  return math::FmaOp::create(*this, a, b, c);
}

Value CodeBuilder::polynomial(Value x, ArrayRef<float> coefficients) {
  Value sum = number(x.getType(), coefficients.front());
  for (float coefficient : coefficients.drop_front())
    sum = fma(sum, x, number(x.getType(), coefficient));
  return sum;
}

/// 2^n for -126 <= n <= 127.
static Value buildPowerOfTwo(CodeBuilder &b, Value n, Type type) {
  Value biased = arith::AddIOp::create(b, n, b.integer(n.getType(), 127));
  Value bits = arith::ShLIOp::create(b, biased, b.integer(n.getType(), 23));
  return arith::BitcastOp::create(b, type, bits);
}

/// e^x = 2^n e^r with |r| <= ln 2 / 2. 2^n in two factors, so that results
/// overflow to infinity and underflow gradually.
Value CodeBuilder::exp(Value x) {
  Type type = x.getType();
  Type intType = shapeLike(getI32Type(), type);
  Value high = number(type, 89), low = number(type, -104);
  Value bounded, n, exponent;
  auto scale = [&](Value value) -> Value {
    return arith::MulFOp::create(*this, value,
                                 number(type, 1.44269504088896341));
  };
  if (isDevice()) {
    // The same numbers from what a GPU does fast: a sum with 1.5 2^23 has the
    // nearest integer in its last places. Of a NaN all is NaN but the exponent.
    bounded = arith::MinimumFOp::create(
        *this, arith::MaximumFOp::create(*this, x, low), high);
    Value shift = number(type, 0x1.8p23);
    Value shifted = arith::AddFOp::create(*this, scale(bounded), shift);
    n = arith::SubFOp::create(*this, shifted, shift);
    exponent = arith::SubIOp::create(
        *this, arith::BitcastOp::create(*this, intType, shifted),
        integer(intType, 0x4b400000)); // the bits of 1.5 2^23
  } else {
    auto is = [&](arith::CmpFPredicate predicate, double bound) -> Value {
      return arith::CmpFOp::create(*this, predicate, x, number(type, bound));
    };
    bounded = arith::SelectOp::create(*this, is(arith::CmpFPredicate::OGT, 89),
                                      high, x);
    bounded = arith::SelectOp::create(
        *this, is(arith::CmpFPredicate::OLT, -104), low, bounded);
    // A NaN has no integer part; it comes back through r.
    Value isNan = is(arith::CmpFPredicate::UNO, 0);
    Value finite =
        arith::SelectOp::create(*this, isNan, number(type, 0), bounded);
    n = math::RoundEvenOp::create(*this, scale(finite));
    exponent = arith::FPToSIOp::create(*this, intType, n);
  }
  Value minusN = arith::NegFOp::create(*this, n);
  Value r = fma(minusN, number(type, 0.693359375), bounded);
  r = fma(minusN, number(type, -2.12194440e-4), r);
  Value tail =
      polynomial(r, {1.979031804e-04f, 1.394468942e-03f, 8.333497681e-03f,
                     4.166629538e-02f, 1.666666567e-01f, 5.0e-01f});
  Value square = arith::MulFOp::create(*this, r, r);
  Value rest = fma(square, tail, r);
  Value power = arith::AddFOp::create(*this, rest, number(type, 1));

  Value half = arith::ShRSIOp::create(*this, exponent, integer(intType, 1));
  Value otherHalf = arith::SubIOp::create(*this, exponent, half);
  if (isDevice()) {
    // The power, near 1, takes one factor in its exponent. A GPU's NaN is
    // 0x7fffffff: then that adds 0.
    Value bits = arith::AddIOp::create(
        *this, arith::BitcastOp::create(*this, intType, power),
        arith::ShLIOp::create(*this, otherHalf, integer(intType, 23)));
    return arith::MulFOp::create(*this,
                                 arith::BitcastOp::create(*this, type, bits),
                                 buildPowerOfTwo(*this, half, type));
  }
  Value result =
      arith::MulFOp::create(*this, power, buildPowerOfTwo(*this, half, type));
  return arith::MulFOp::create(*this, result,
                               buildPowerOfTwo(*this, otherHalf, type));
}

/// log x = e ln 2 + log(1 + f) with sqrt(1/2) <= 1 + f < sqrt 2.
Value CodeBuilder::log(Value x) {
  Type type = x.getType();
  Type intType = shapeLike(getI32Type(), type);
  auto is = [&](arith::CmpFPredicate predicate, double bound) -> Value {
    return arith::CmpFOp::create(*this, predicate, x, number(type, bound));
  };
  // Subnormal numbers are scaled by 2^23 first.
  Value isSmall = is(arith::CmpFPredicate::OLT, 0x1p-126);
  Value scaled = arith::MulFOp::create(*this, x, number(type, 0x1p23));
  Value normal = arith::SelectOp::create(*this, isSmall, scaled, x);
  Value correction = arith::SelectOp::create(*this, isSmall, number(type, -23),
                                             number(type, 0));

  Value bits = arith::BitcastOp::create(*this, intType, normal);
  constexpr int64_t kRootHalf = 0x3f3504f3; // the bits of sqrt(1/2)
  Value shifted =
      arith::SubIOp::create(*this, bits, integer(intType, kRootHalf));
  Value exponent = arith::ShRSIOp::create(*this, shifted, integer(intType, 23));
  Value mantissaBits = arith::SubIOp::create(
      *this, bits,
      arith::ShLIOp::create(*this, exponent, integer(intType, 23)));
  Value mantissa = arith::BitcastOp::create(*this, type, mantissaBits);
  Value e = arith::SIToFPOp::create(*this, type, exponent);
  e = arith::AddFOp::create(*this, e, correction);
  Value f = arith::SubFOp::create(*this, mantissa, number(type, 1));

  Value square = arith::MulFOp::create(*this, f, f);
  Value cube = arith::MulFOp::create(*this, square, f);
  Value tail =
      polynomial(f, {6.748308241e-02f, -1.167787686e-01f, 1.188864559e-01f,
                     -1.240527928e-01f, 1.421945095e-01f, -1.666800827e-01f,
                     2.000212371e-01f, -2.500000894e-01f, 3.333331347e-01f});
  Value low = fma(e, number(type, -2.12194440e-4),
                  arith::MulFOp::create(*this, cube, tail));
  low = fma(square, number(type, -0.5), low);
  Value sum = arith::AddFOp::create(*this, f, low);
  Value result = fma(e, number(type, 0.693359375), sum);

  double infinity = std::numeric_limits<double>::infinity();
  double nan = std::numeric_limits<double>::quiet_NaN();
  result = arith::SelectOp::create(
      *this, is(arith::CmpFPredicate::OEQ, infinity), x, result);
  result = arith::SelectOp::create(*this, is(arith::CmpFPredicate::OEQ, 0),
                                   number(type, -infinity), result);
  // Negative or NaN.
  return arith::SelectOp::create(*this, is(arith::CmpFPredicate::ULT, 0),
                                 number(type, nan), result);
}

/// Near 0 an odd polynomial, else 1 - 2 / (e^2|x| + 1) with x's sign.
Value CodeBuilder::tanh(Value x) {
  Type type = x.getType();
  Value magnitude = math::AbsFOp::create(*this, x);
  Value square = arith::MulFOp::create(*this, x, x);
  Value tail = polynomial(square, {-5.708781537e-03f, 2.064234391e-02f,
                                   -5.374066532e-02f, 1.333145350e-01f,
                                   -3.333328366e-01f});
  Value cube = arith::MulFOp::create(*this, square, x);
  Value near = fma(cube, tail, x);

  Value power = exp(arith::AddFOp::create(*this, magnitude, magnitude));
  Value one = number(type, 1);
  Value quotient = arith::DivFOp::create(
      *this, number(type, 2), arith::AddFOp::create(*this, power, one));
  Value far = arith::SubFOp::create(*this, one, quotient);
  far = math::CopySignOp::create(*this, far, x);
  Value isNear = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT,
                                       magnitude, number(type, 0.625));
  return arith::SelectOp::create(*this, isNear, near, far);
}

/// Up to 1 an odd polynomial, else 1 - e^p(|x|) with x's sign, where p is the
/// logarithm of 1 - erf; from 4 on that is below half an ulp of 1.
Value CodeBuilder::erf(Value x) {
  Type type = x.getType();
  Value magnitude = math::AbsFOp::create(*this, x);
  Value square = arith::MulFOp::create(*this, x, x);
  Value tail =
      polynomial(square, {7.853857824e-05f, -8.010192541e-04f, 5.188327748e-03f,
                          -2.685381100e-02f, 1.128358543e-01f,
                          -3.761262596e-01f, 1.283791657e-01f});
  Value near = fma(tail, x, x);

  Value isBeyond = arith::CmpFOp::create(*this, arith::CmpFPredicate::OGT,
                                         magnitude, number(type, 4));
  Value bounded =
      arith::SelectOp::create(*this, isBeyond, number(type, 4), magnitude);
  Value logarithm = polynomial(bounded, {1.863800862e-04f, -2.947666915e-03f,
                                         2.183809690e-02f, -1.031068191e-01f,
                                         -6.381447315e-01f, -1.127089262e+00f,
                                         -3.415125830e-04f});
  Value far = arith::SubFOp::create(*this, number(type, 1), exp(logarithm));
  far = math::CopySignOp::create(*this, far, x);
  Value isNear = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT,
                                       magnitude, number(type, 1));
  return arith::SelectOp::create(*this, isNear, near, far);
}

/// x = n pi/2 + r with |r| <= pi/4, in f64: good to 2 ulp up to 2^30 and more.
/// Then sine or cosine of r by n mod 4; a cosine is the sine one quarter on.
Value CodeBuilder::sinCos(Value x, int64_t quarter) {
  Type type = x.getType();
  Type wideType = shapeLike(getF64Type(), type);
  Type intType = shapeLike(getI32Type(), type);
  Value wide = arith::ExtFOp::create(*this, wideType, x);
  Value n = math::RoundEvenOp::create(
      *this, arith::MulFOp::create(*this, wide,
                                   number(wideType, 0.63661977236758134308)));
  Value minusN = arith::NegFOp::create(*this, n);
  Value rest = fma(minusN, number(wideType, 0x1.921fb54442d18p+0), wide);
  rest = fma(minusN, number(wideType, 0x1.1a62633145c07p-54), rest);
  Value r = arith::TruncFOp::create(*this, type, rest);
  // n mod 4, in floating point because n may exceed an integer.
  Value fourths = math::FloorOp::create(
      *this, arith::MulFOp::create(*this, n, number(wideType, 0.25)));
  Value modulo = fma(fourths, number(wideType, -4), n);
  // Infinities and NaN have no quadrant; they come back through r.
  Value isFinite =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::ORD, modulo, modulo);
  modulo =
      arith::SelectOp::create(*this, isFinite, modulo, number(wideType, 0));
  Value quadrant = arith::FPToSIOp::create(*this, intType, modulo);
  quadrant = arith::AddIOp::create(*this, quadrant, integer(intType, quarter));

  Value square = arith::MulFOp::create(*this, r, r);
  Value sineTail = polynomial(square, {2.718118594e-06f, -1.983931143e-04f,
                                       8.333329111e-03f, -1.666666716e-01f});
  Value sine = fma(arith::MulFOp::create(*this, square, r), sineTail, r);
  Value cosineTail = polynomial(square, {-2.720572638e-07f, 2.479945942e-05f,
                                         -1.388888340e-03f, 4.166666791e-02f});
  Value fourth = arith::MulFOp::create(*this, square, square);
  Value cosine = fma(square, number(type, -0.5), number(type, 1));
  cosine = fma(fourth, cosineTail, cosine);

  auto hasBit = [&](int64_t bit) -> Value {
    Value masked =
        arith::AndIOp::create(*this, quadrant, integer(intType, bit));
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, masked,
                                 integer(intType, 0));
  };
  Value value = arith::SelectOp::create(*this, hasBit(1), cosine, sine);
  Value negated = arith::NegFOp::create(*this, value);
  return arith::SelectOp::create(*this, hasBit(2), negated, value);
}

Value CodeBuilder::callLibm(StringRef name, ValueRange arguments) {
  Type type = arguments.front().getType();
  Type element = getElementTypeOrSelf(type);
  std::string symbol = name.str() + (element.isF32() ? "f" : "");
  auto module = getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(symbol)) {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    SmallVector<Type> types(arguments.size(), element);
    auto function =
        func::FuncOp::create(*this, symbol, getFunctionType(types, element));
    function.setPrivate();
  }
  if (!isa<VectorType>(type))
    return func::CallOp::create(*this, symbol, element, arguments).getResult(0);
  Value result = LLVM::PoisonOp::create(*this, type);
  for (int64_t lane = 0; lane < kern::kLanes; ++lane) {
    Value position = integer(getI32Type(), lane);
    SmallVector<Value> scalars;
    for (Value argument : arguments)
      scalars.push_back(
          LLVM::ExtractElementOp::create(*this, argument, position));
    Value one =
        func::CallOp::create(*this, symbol, element, scalars).getResult(0);
    result = LLVM::InsertElementOp::create(*this, result, one, position);
  }
  return result;
}
