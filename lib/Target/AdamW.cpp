//===- AdamW.cpp - The optimizer's arithmetic ----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdamW.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::target;
using host::CodeBuilder;

static Value loadScalar(CodeBuilder &b, Value table, int64_t index) {
  Type f32 = b.getF32Type();
  return b.loadScalar(f32, b.offset(table, f32, b.i64(index)));
}

AdamWScalars target::loadAdamWScalars(CodeBuilder &b, Value table, double beta1,
                                      double beta2,
                                      llvm::function_ref<Value(Value)> spread) {
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  auto widen = [&](Value value) -> Value {
    return arith::ExtFOp::create(b, f64, value);
  };
  auto narrow = [&](Value value) -> Value {
    return arith::TruncFOp::create(b, f32, value);
  };
  // As PyTorch does, these are computed in f64 and rounded once.
  Value rate = widen(loadScalar(b, table, 0)),
        decay = widen(loadScalar(b, table, 4)),
        correction = widen(loadScalar(b, table, 5));
  Value product = arith::MulFOp::create(b, rate, decay);
  Value keep = arith::SubFOp::create(b, b.number(f64, 1), product);
  Value step =
      arith::NegFOp::create(b, arith::DivFOp::create(b, rate, correction));
  AdamWScalars scalars;
  scalars.beta1 = beta1, scalars.beta2 = beta2;
  scalars.keep = spread(narrow(keep));
  scalars.epsilon = spread(loadScalar(b, table, 3));
  scalars.root = spread(loadScalar(b, table, 6));
  scalars.step = spread(narrow(step));
  scalars.coefficient = spread(loadScalar(b, table, 7));
  return scalars;
}

Value target::isSkipped(CodeBuilder &b, Value table) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                               loadScalar(b, table, 7),
                               b.number(b.getF32Type(), 0));
}

AdamWState target::updateAdamW(CodeBuilder &b, const AdamWScalars &s,
                               const AdamWLoads &loads) {
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  Value gradient = mul(loads.gradient(), s.coefficient);
  Type type = gradient.getType();
  Value weight = mul(loads.weight(), s.keep);
  Value first = loads.first();
  Value difference = arith::SubFOp::create(b, gradient, first);
  first = add(first, mul(b.number(type, 1 - s.beta1), difference));
  Value second = mul(loads.second(), b.number(type, s.beta2));
  second =
      add(second, mul(mul(b.number(type, 1 - s.beta2), gradient), gradient));
  Value root = math::SqrtOp::create(b, second);
  Value denominator = add(arith::DivFOp::create(b, root, s.root), s.epsilon);
  Value change = arith::DivFOp::create(b, mul(s.step, first), denominator);
  return {add(weight, change), first, second};
}

std::string target::getAdamWSymbol(const AdamWKernel &kernel) {
  std::string symbol = "adamw";
  if (kernel.copyType)
    symbol += kernel.copyType.isBF16() ? "_bf16" : "_f16";
  if (kernel.gradientType && kernel.gradientType.isBF16())
    symbol += "_of_bf16";
  return kernel.maySkip ? symbol + "_or_skip" : symbol;
}
