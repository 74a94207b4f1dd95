//===- Scalars.cpp - Elementwise nn ops as scalar arithmetic -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every op computes in f32 (f64 for f64) and rounds its result to the element
// type.
//
//===----------------------------------------------------------------------===//

#include "FusedBuilder.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

namespace {
class ScalarLowering {
public:
  ScalarLowering(OpBuilder &builder, Operation *op, ArrayRef<Value> operands)
      : b(builder), op(op), loc(op->getLoc()), operands(operands),
        element(cast<RankedTensorType>(op->getResult(0).getType())
                    .getElementType()) {}
  Value lower();

private:
  Value widen(Value value) {
    Type type = value.getType();
    return type.isBF16() || type.isF16()
               ? Value(arith::ExtFOp::create(b, loc, b.getF32Type(), value))
               : value;
  }
  Value round(Value value) {
    return value.getType() == element
               ? value
               : Value(arith::TruncFOp::create(b, loc, element, value));
  }
  Value number(Type type, double value) {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  }
  Value zero(Type type) {
    return arith::ConstantOp::create(b, loc,
                                     cast<TypedAttr>(b.getZeroAttr(type)));
  }
  bool isFloat() { return isa<FloatType>(operands.front().getType()); }

  template <typename OpTy>
  Value unary() {
    return round(OpTy::create(b, loc, widen(operands[0])));
  }
  template <typename FloatOp, typename IntOp>
  Value binary() {
    if (!isFloat())
      return IntOp::create(b, loc, operands[0], operands[1]);
    Value x = widen(operands[0]), y = widen(operands[1]);
    return round(FloatOp::create(b, loc, x, y));
  }
  Value lowerCompare(nn::CompareOp compare);
  Value lowerCast();
  Value lowerPow(nn::PowOp pow);

  OpBuilder &b;
  Operation *op;
  Location loc;
  ArrayRef<Value> operands;
  Type element;
};
} // namespace

Value ScalarLowering::lowerCompare(nn::CompareOp compare) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  static constexpr I integers[] = {I::eq,  I::ne,  I::slt,
                                   I::sle, I::sgt, I::sge};
  static constexpr I booleans[] = {I::eq,  I::ne,  I::ult,
                                   I::ule, I::ugt, I::uge};
  auto predicate = unsigned(compare.getPredicate());
  if (isFloat()) {
    Value x = widen(operands[0]), y = widen(operands[1]);
    return arith::CmpFOp::create(b, loc, floats[predicate], x, y);
  }
  bool isBool = operands[0].getType().isInteger(1);
  return arith::CmpIOp::create(
      b, loc, isBool ? booleans[predicate] : integers[predicate], operands[0],
      operands[1]);
}

Value ScalarLowering::lowerCast() {
  Value value = operands.front();
  Type from = value.getType();
  if (from == element)
    return value;
  if (element.isInteger(1)) {
    if (!isFloat())
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                   zero(from));
    Value wide = widen(value);
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, wide,
                                 zero(wide.getType()));
  }
  if (isa<FloatType>(from)) {
    Value wide = widen(value);
    if (isa<IntegerType>(element))
      return arith::FPToSIOp::create(b, loc, element, wide);
    if (element.getIntOrFloatBitWidth() >
        wide.getType().getIntOrFloatBitWidth())
      return arith::ExtFOp::create(b, loc, element, wide);
    return round(wide);
  }
  bool isBool = from.isInteger(1);
  if (isa<FloatType>(element)) {
    Type wide = element.isF64() ? element : Type(b.getF32Type());
    return round(isBool ? Value(arith::UIToFPOp::create(b, loc, wide, value))
                        : Value(arith::SIToFPOp::create(b, loc, wide, value)));
  }
  if (isBool)
    return arith::ExtUIOp::create(b, loc, element, value);
  if (element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, element, value);
  return arith::TruncIOp::create(b, loc, element, value);
}

/// Common constant exponents are products and roots; the rest is a library's
/// pow. Integers: pow in f64; a quotient of 1 by a power of 0, which is
/// infinite, counts as 0, as in what is folded.
Value ScalarLowering::lowerPow(nn::PowOp pow) {
  if (!isFloat()) {
    Type f64 = b.getF64Type();
    Value x = arith::SIToFPOp::create(b, loc, f64, operands[0]);
    Value y = arith::SIToFPOp::create(b, loc, f64, operands[1]);
    Value power = math::PowFOp::create(b, loc, x, y);
    Value zero = number(f64, 0);
    Value isZero =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, zero);
    Value isNegative =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, y, zero);
    Value isInfinite = arith::AndIOp::create(b, loc, isZero, isNegative);
    power = arith::SelectOp::create(b, loc, isInfinite, zero, power);
    return arith::FPToSIOp::create(b, loc, element, power);
  }
  Value x = widen(operands[0]);
  Type type = x.getType();
  std::optional<double> exponent = nn::getSplatConstant(pow.getRhs());
  if (exponent == 1.0)
    return round(x);
  if (exponent == 2.0)
    return round(arith::MulFOp::create(b, loc, x, x));
  if (exponent == 3.0) {
    Value square = arith::MulFOp::create(b, loc, x, x);
    return round(arith::MulFOp::create(b, loc, square, x));
  }
  if (exponent == -1.0) {
    Value one = number(type, 1);
    return round(arith::DivFOp::create(b, loc, one, x));
  }
  if (exponent == -2.0) {
    Value square = arith::MulFOp::create(b, loc, x, x);
    Value one = number(type, 1);
    return round(arith::DivFOp::create(b, loc, one, square));
  }
  if (exponent == 0.5 || exponent == -0.5) {
    Value root = math::SqrtOp::create(b, loc, x);
    if (exponent == 0.5)
      return round(root);
    Value one = number(type, 1);
    return round(arith::DivFOp::create(b, loc, one, root));
  }
  return round(math::PowFOp::create(b, loc, x, widen(operands[1])));
}

Value ScalarLowering::lower() {
  return TypeSwitch<Operation *, Value>(op)
      .Case<nn::NegOp>([&](auto) -> Value {
        if (isFloat())
          return unary<arith::NegFOp>();
        Value none = zero(element);
        return arith::SubIOp::create(b, loc, none, operands[0]);
      })
      .Case<nn::AbsOp>([&](auto) -> Value {
        return isFloat() ? unary<math::AbsFOp>()
                         : Value(math::AbsIOp::create(b, loc, operands[0]));
      })
      .Case<nn::ExpOp>([&](auto) { return unary<math::ExpOp>(); })
      .Case<nn::LogOp>([&](auto) { return unary<math::LogOp>(); })
      .Case<nn::SqrtOp>([&](auto) { return unary<math::SqrtOp>(); })
      .Case<nn::RsqrtOp>([&](auto) { return unary<math::RsqrtOp>(); })
      .Case<nn::TanhOp>([&](auto) { return unary<math::TanhOp>(); })
      .Case<nn::ErfOp>([&](auto) { return unary<math::ErfOp>(); })
      .Case<nn::SinOp>([&](auto) { return unary<math::SinOp>(); })
      .Case<nn::CosOp>([&](auto) { return unary<math::CosOp>(); })
      .Case<nn::ReciprocalOp>([&](auto) {
        Value x = widen(operands[0]);
        Value one = number(x.getType(), 1);
        return round(arith::DivFOp::create(b, loc, one, x));
      })
      .Case<nn::SigmoidOp>([&](auto) {
        Value x = widen(operands[0]);
        Value negated = arith::NegFOp::create(b, loc, x);
        Value power = math::ExpOp::create(b, loc, negated);
        Value one = number(x.getType(), 1);
        Value sum = arith::AddFOp::create(b, loc, one, power);
        return round(arith::DivFOp::create(b, loc, one, sum));
      })
      .Case<nn::ReluOp>([&](auto) {
        Value x = widen(operands[0]);
        return round(arith::MaximumFOp::create(b, loc, x, zero(x.getType())));
      })
      .Case<nn::NotOp>([&](auto) {
        Value one = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
        return arith::XOrIOp::create(b, loc, operands[0], one);
      })
      .Case<nn::IsNanOp>([&](auto) {
        Value x = widen(operands[0]);
        return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
      })
      .Case<nn::AddOp>(
          [&](auto) { return binary<arith::AddFOp, arith::AddIOp>(); })
      .Case<nn::SubOp>(
          [&](auto) { return binary<arith::SubFOp, arith::SubIOp>(); })
      .Case<nn::MulOp>(
          [&](auto) { return binary<arith::MulFOp, arith::MulIOp>(); })
      .Case<nn::DivOp>(
          [&](auto) { return binary<arith::DivFOp, arith::DivSIOp>(); })
      .Case<nn::MaximumOp>(
          [&](auto) { return binary<arith::MaximumFOp, arith::MaxSIOp>(); })
      .Case<nn::MinimumOp>(
          [&](auto) { return binary<arith::MinimumFOp, arith::MinSIOp>(); })
      .Case<nn::PowOp>([&](nn::PowOp pow) { return lowerPow(pow); })
      .Case<nn::AndOp>([&](auto) {
        return arith::AndIOp::create(b, loc, operands[0], operands[1]);
      })
      .Case<nn::OrOp>([&](auto) {
        return arith::OrIOp::create(b, loc, operands[0], operands[1]);
      })
      .Case<nn::CompareOp>(
          [&](nn::CompareOp compare) { return lowerCompare(compare); })
      .Case<nn::SelectOp>([&](auto) {
        return arith::SelectOp::create(b, loc, operands[0], operands[1],
                                       operands[2]);
      })
      .Case<nn::CastOp>([&](auto) { return lowerCast(); })
      .Default([](Operation *) { return Value(); });
}

Value lowering::lowerScalar(OpBuilder &builder, Operation *op,
                            ArrayRef<Value> operands) {
  return ScalarLowering(builder, op, operands).lower();
}

std::optional<Attribute> lowering::getSplat(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<Attribute>();
}

bool lowering::isFusible(Operation *op) {
  if (isa<nn::ConstantOp>(op))
    return getSplat(op->getResult(0)).has_value();
  return isa<nn::NNDialect>(op->getDialect()) &&
         !isa<nn::MatmulOp, nn::AttentionOp, nn::AttentionGradOp,
              nn::LinearCrossEntropyOp, nn::LinearCrossEntropyGradOp,
              nn::GatherOp, nn::GatherNDOp, nn::ScatterAddOp, nn::CumsumOp,
              nn::ReadOp>(op);
}

Value lowering::stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}
