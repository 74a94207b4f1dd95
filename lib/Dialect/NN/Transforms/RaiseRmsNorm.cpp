//===- RaiseRmsNorm.cpp - Recognises RMS normalisation --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNRAISERMSNORM
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {
/// x / sqrt(mean(x^2) + epsilon)
struct Normalised {
  Value x;
  double epsilon;
};
} // namespace

//===----------------------------------------------------------------------===//
// One value for each row: shape [..., 1], or [...] behind a reshape
//===----------------------------------------------------------------------===//

/// Skips reshapes that add or drop the last axis of extent 1, and checks that
/// there is one value for each row of a tensor of shape `shape`.
static Value skipRowReshapes(Value value, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> rows = shape.drop_back();
  auto isPerRow = [&](Value value) {
    ArrayRef<int64_t> own = getTensor(value).getShape();
    return own == rows || (own.size() == shape.size() && own.back() == 1 &&
                           own.drop_back() == rows);
  };
  while (value && isPerRow(value)) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return value;
    value = reshape.getOperand();
  }
  return nullptr;
}

/// r of sqrt(r) or r^0.5.
static Value matchRoot(Value value) {
  if (auto sqrt = value.getDefiningOp<SqrtOp>())
    return sqrt.getOperand();
  if (auto pow = value.getDefiningOp<PowOp>();
      pow && isSplatConstant(pow.getRhs(), 0.5))
    return pow.getLhs();
  return nullptr;
}

/// r of 1 / sqrt(r), however written.
static Value matchInverseRoot(Value value) {
  if (auto rsqrt = value.getDefiningOp<RsqrtOp>())
    return rsqrt.getOperand();
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    return matchRoot(reciprocal.getOperand());
  if (auto div = value.getDefiningOp<DivOp>();
      div && isSplatConstant(div.getLhs(), 1))
    return matchRoot(div.getRhs());
  if (auto pow = value.getDefiningOp<PowOp>();
      pow && isSplatConstant(pow.getRhs(), -0.5))
    return pow.getLhs();
  return nullptr;
}

static bool isSquareOf(Value value, Value x) {
  if (auto pow = value.getDefiningOp<PowOp>())
    return pow.getLhs() == x && isSplatConstant(pow.getRhs(), 2);
  auto mul = value.getDefiningOp<MulOp>();
  return mul && mul.getLhs() == x && mul.getRhs() == x;
}

/// Whether `value` is the mean of x^2 over the last axis.
static bool isMeanSquareOf(Value value, Value x) {
  auto reduce = value.getDefiningOp<ReduceOp>();
  int64_t last = getTensor(x).getRank() - 1;
  return reduce && reduce.getKind() == ReduceKind::Mean &&
         reduce.getAxes() == ArrayRef<int64_t>{last} &&
         isSquareOf(reduce.getOperand(), x);
}

/// The epsilon of mean(x^2) + epsilon.
static std::optional<double> matchMeanSquare(Value value, Value x) {
  ArrayRef<int64_t> shape = getTensor(x).getShape();
  std::optional<double> epsilon;
  matchCommuted<AddOp>(value, [&](Value mean, Value offset) {
    Value source = skipRowReshapes(mean, shape);
    std::optional<double> splat = getSplatConstant(offset);
    if (source && splat && *splat >= 0 && isMeanSquareOf(source, x))
      epsilon = splat;
    return epsilon.has_value();
  });
  return epsilon;
}

//===----------------------------------------------------------------------===//
// The whole pattern
//===----------------------------------------------------------------------===//

/// Matches x * inverse root and x / root, without weight.
static std::optional<Normalised> matchNormalised(Value value) {
  auto matchRows = [](Value x, Value stretched,
                      auto matchStatistic) -> std::optional<Normalised> {
    auto broadcast = stretched.getDefiningOp<BroadcastOp>();
    ArrayRef<int64_t> shape = getTensor(x).getShape();
    if (!broadcast || shape.empty() ||
        getTensor(broadcast.getOperand()).getRank() != getTensor(x).getRank())
      return std::nullopt;
    Value statistic = skipRowReshapes(broadcast.getOperand(), shape);
    Value inside = statistic ? matchStatistic(statistic) : nullptr;
    inside = inside ? skipRowReshapes(inside, shape) : nullptr;
    std::optional<double> epsilon =
        inside ? matchMeanSquare(inside, x) : std::nullopt;
    if (!epsilon)
      return std::nullopt;
    return Normalised{x, *epsilon};
  };
  std::optional<Normalised> found;
  matchCommuted<MulOp>(value, [&](Value x, Value stretched) {
    found = matchRows(x, stretched, matchInverseRoot);
    return found.has_value();
  });
  if (auto div = value.getDefiningOp<DivOp>())
    found = matchRows(div.getLhs(), div.getRhs(), matchRoot);
  return found;
}

/// The vector along the last axis of `shape` of which `value` is a broadcast,
/// as a value with the extents [1, ..., n].
static Value matchWeight(Value value, ArrayRef<int64_t> shape) {
  Value vector = skipBroadcast(value);
  ArrayRef<int64_t> own = getTensor(vector).getShape();
  if (own.empty() || own.back() != shape.back() ||
      getTensor(vector).getNumElements() != own.back())
    return nullptr;
  return vector;
}

/// Matches weight * normalised at `mul` and replaces it.
static bool raise(MulOp mul) {
  auto type = cast<RankedTensorType>(mul.getType());
  if (!isa<FloatType>(type.getElementType()) || type.getRank() == 0)
    return false;
  std::optional<Normalised> found;
  Value weight;
  matchCommuted<MulOp>(mul.getResult(), [&](Value scale, Value inner) {
    weight = matchWeight(scale, type.getShape());
    found = weight ? matchNormalised(skipFloatCast(inner)) : std::nullopt;
    if (!found || getTensor(found->x) == type)
      return found.has_value();
    // Normalised in f32, rounded, then scaled: x itself is of the rounded type.
    bool isWider = getTensor(found->x).getElementTypeBitWidth() >
                   type.getElementTypeBitWidth();
    found->x = skipFloatCast(found->x);
    if (!isWider || getTensor(found->x) != type)
      found.reset();
    return found.has_value();
  });
  if (!found)
    return false;
  OpBuilder builder(mul);
  RankedTensorType vector =
      type.clone(ArrayRef<int64_t>{type.getShape().back()});
  if (weight.getType() != vector)
    weight = ReshapeOp::create(builder, mul.getLoc(), vector, weight);
  auto norm = RmsNormOp::create(builder, mul.getLoc(), type, found->x, weight,
                                builder.getF64FloatAttr(found->epsilon));
  mul.replaceAllUsesWith(norm.getResult());
  mul.erase();
  return true;
}

namespace {
struct RaiseRmsNorm : rondo::nn::impl::NNRaiseRmsNormBase<RaiseRmsNorm> {
  void runOnOperation() override {
    getOperation().walk([&](MulOp mul) {
      if (raise(mul))
        ++numRaised;
    });
    eraseDeadOps(getOperation());
  }
};
} // namespace
