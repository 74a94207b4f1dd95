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
                                      double beta2) {
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
  return {narrow(keep), loadScalar(b, table, 6), loadScalar(b, table, 3),
          narrow(step), loadScalar(b, table, 7), beta1,
          beta2};
}

Value target::isSkipped(CodeBuilder &b, Value table) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                               loadScalar(b, table, 7),
                               b.number(b.getF32Type(), 0));
}

AdamWState target::updateAdamW(CodeBuilder &b, const AdamWScalars &s,
                               Value gradient, const AdamWState &state) {
  Type type = gradient.getType();
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };
  gradient = mul(gradient, s.coefficient);
  Value weight = mul(state.weight, s.keep);
  Value difference = arith::SubFOp::create(b, gradient, state.first);
  Value first = add(state.first, mul(b.number(type, 1 - s.beta1), difference));
  Value second = mul(state.second, b.number(type, s.beta2));
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
