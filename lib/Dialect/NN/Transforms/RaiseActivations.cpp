//===- RaiseActivations.cpp - Recognises SiLU and GELU --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

#include <cmath>

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISEACTIVATIONS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {
/// A product: equal elements multiplied together, and everything else.
struct Product {
  double factor = 1;
  SmallVector<Value> values;
};
} // namespace

/// Flattens a tree of products and divisions by constants of at most `depth`
/// levels, down to `stop`. `visited`: the inner nodes and leaves that are not
/// constant.
static void flatten(Value value, int depth, Value stop, Product &product,
                    SmallVectorImpl<Value> *visited = nullptr) {
  if (std::optional<double> splat = getSplatConstant(value)) {
    product.factor *= *splat;
    return;
  }
  if (visited)
    visited->push_back(value);
  if (depth > 0 && value != stop) {
    if (auto mul = value.getDefiningOp<MulOp>()) {
      flatten(mul.getLhs(), depth - 1, stop, product, visited);
      flatten(mul.getRhs(), depth - 1, stop, product, visited);
      return;
    }
    if (auto scaled = matchScaling(value)) {
      product.factor *= scaled->second;
      flatten(scaled->first, depth - 1, stop, product, visited);
      return;
    }
  }
  product.values.push_back(value);
}

/// Whether two factors are equal up to the rounding of a few of `like`'s type.
static bool isNear(double actual, double expected, Value like) {
  Type element = getTensor(like).getElementType();
  double tolerance = element.isBF16()  ? 0x1p-6
                     : element.isF16() ? 0x1p-9
                                       : 1e-5;
  return std::abs(actual - expected) <= tolerance * std::abs(expected);
}

/// y of 1 + y.
static Value matchOnePlus(Value value) {
  Value found;
  matchCommuted<AddOp>(value, [&](Value y, Value one) {
    if (isSplatConstant(one, 1))
      found = y;
    return found != nullptr;
  });
  return found;
}

//===----------------------------------------------------------------------===//
// SiLU
//===----------------------------------------------------------------------===//

static Value matchSilu(Operation *op) {
  if (auto mul = dyn_cast<MulOp>(op)) {
    Value x;
    matchCommuted<MulOp>(mul.getResult(), [&](Value gate, Value other) {
      auto sigmoid = gate.getDefiningOp<SigmoidOp>();
      if (sigmoid && sigmoid.getOperand() == other)
        x = other;
      return x != nullptr;
    });
    return x;
  }
  // x / (1 + exp(-x))
  auto div = dyn_cast<DivOp>(op);
  Value exponential = div ? matchOnePlus(div.getRhs()) : nullptr;
  auto exp = exponential ? exponential.getDefiningOp<ExpOp>() : nullptr;
  auto neg = exp ? exp.getOperand().getDefiningOp<NegOp>() : nullptr;
  return neg && neg.getOperand() == div.getLhs() ? div.getLhs() : nullptr;
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

/// Whether `value` is `factor` times x.
static bool isMultipleOf(Value value, Value x, double factor) {
  Product product;
  flatten(value, 3, x, product);
  return product.values.size() == 1 && product.values[0] == x &&
         isNear(product.factor, factor, x);
}

/// Whether `value` is 0.044715 x^3.
static bool isCubicTerm(Value value, Value x) {
  Product product;
  flatten(value, 4, x, product);
  if (!isNear(product.factor, 0.044715, x))
    return false;
  if (product.values.size() == 3)
    return llvm::all_of(product.values,
                        [&](Value factor) { return factor == x; });
  auto isPower = [&](Value factor, double exponent) {
    auto pow = factor.getDefiningOp<PowOp>();
    return pow && pow.getLhs() == x && isSplatConstant(pow.getRhs(), exponent);
  };
  if (product.values.size() == 1)
    return isPower(product.values[0], 3);
  return product.values.size() == 2 &&
         ((product.values[0] == x && isPower(product.values[1], 2)) ||
          (product.values[1] == x && isPower(product.values[0], 2)));
}

/// Whether `value` is sqrt(2 / pi) (x + 0.044715 x^3).
static bool isTanhArgument(Value value, Value x) {
  Product product;
  flatten(value, 3, x, product);
  if (!isNear(product.factor, std::sqrt(2 / llvm::numbers::pi), x))
    return false;
  if (product.values.size() == 1)
    return matchCommuted<AddOp>(product.values[0],
                                [&](Value linear, Value cubic) {
                                  return linear == x && isCubicTerm(cubic, x);
                                });
  // x (1 + 0.044715 x^2)
  if (product.values.size() != 2)
    return false;
  for (int side : {0, 1}) {
    Value quadratic = product.values[side] == x
                          ? matchOnePlus(product.values[1 - side])
                          : nullptr;
    if (!quadratic)
      continue;
    Product term;
    flatten(quadratic, 3, x, term);
    if (isNear(term.factor, 0.044715, x) && term.values.size() == 2 &&
        term.values[0] == x && term.values[1] == x)
      return true;
  }
  return false;
}

namespace {
enum class GeluForm { None, Erf, Tanh };
} // namespace

/// The form of GELU of which 1 + erf or 1 + tanh is the gate of x.
static GeluForm matchGate(Value gate, Value x) {
  Value bent = matchOnePlus(gate);
  if (!bent)
    return GeluForm::None;
  if (auto erf = bent.getDefiningOp<ErfOp>())
    return isMultipleOf(erf.getOperand(), x, std::sqrt(0.5)) ? GeluForm::Erf
                                                             : GeluForm::None;
  if (auto tanh = bent.getDefiningOp<TanhOp>())
    return isTanhArgument(tanh.getOperand(), x) ? GeluForm::Tanh
                                                : GeluForm::None;
  return GeluForm::None;
}

/// x of 0.5 x gate(x), and which gate.
static std::pair<Value, GeluForm> matchGelu(Operation *op) {
  Value root = op->getResult(0);
  Product all;
  SmallVector<Value> candidates;
  flatten(root, 3, nullptr, all, &candidates);
  // x may be a product itself: try every node of the tree.
  for (Value x : candidates) {
    Product product;
    flatten(root, 3, x, product);
    if (product.values.size() != 2 || !isNear(product.factor, 0.5, root))
      continue;
    for (int side : {0, 1}) {
      if (product.values[side] != x)
        continue;
      GeluForm form = matchGate(product.values[1 - side], x);
      if (form != GeluForm::None)
        return {x, form};
    }
  }
  return {nullptr, GeluForm::None};
}

static Value raise(Operation *op) {
  Type type = op->getResult(0).getType();
  if (!isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
    return nullptr;
  OpBuilder builder(op);
  if (Value x = matchSilu(op))
    return SiluOp::create(builder, op->getLoc(), type, x);
  auto [x, form] = matchGelu(op);
  if (form == GeluForm::None)
    return nullptr;
  UnitAttr tanh = form == GeluForm::Tanh ? builder.getUnitAttr() : nullptr;
  return GeluOp::create(builder, op->getLoc(), type, x, tanh);
}

namespace {
struct RaiseActivations
    : rondo::nn::impl::NNRaiseActivationsBase<RaiseActivations> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa<MulOp, DivOp>(op))
        return;
      if (Value raised = raise(op)) {
        op->replaceAllUsesWith(ValueRange{raised});
        op->erase();
        ++numRaised;
      }
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
