//===- ElementwiseOps.cpp - Import of elementwise ops ---------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "TensorData.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace rondo {

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

/// What an nn op takes.
enum class Operands { Float, Number, Bool };

static LogicalResult checkElements(NodeImport &n, Operands wanted) {
  for (int i = 0; i < n.getNumOperands(); ++i) {
    if (!n.operand(i))
      continue;
    bool isBool = n.element(i).isInteger(1);
    bool fits = wanted == Operands::Bool
                    ? isBool
                    : n.isFloat(i) || (wanted == Operands::Number && !isBool);
    if (fits)
      continue;
    std::string text;
    llvm::raw_string_ostream(text) << "operands of type " << n.element(i);
    return n.unsupported(text);
  }
  return success();
}

template <typename OpTy, Operands wanted = Operands::Float>
static LogicalResult importUnary(NodeImport &n) {
  if (failed(checkElements(n, wanted)))
    return failure();
  return n.setResult(
      n.e.create<OpTy>(n.operand(0).getType(), n.operand(0)).getResult());
}

static LogicalResult importIsNaN(NodeImport &n) {
  if (failed(checkElements(n, Operands::Float)))
    return failure();
  return n.setResult(n.e.create<nn::IsNanOp>(n.operand(0)).getResult());
}

static LogicalResult importIdentity(NodeImport &n) {
  return n.setResult(n.operand(0));
}

static LogicalResult importDropout(NodeImport &n) {
  if (n.operand(2)) {
    std::optional<double> training = n.e.getSplat(n.operand(2));
    if (!training || *training != 0) {
      std::optional<double> ratio =
          n.operand(1) ? n.e.getSplat(n.operand(1)) : 0.5;
      if (!ratio || *ratio != 0)
        return n.unsupported("training mode; export with dropout 0");
    }
  }
  if (n.hasOutput(1)) {
    Type boolean = IntegerType::get(n.e.getLoc().getContext(), 1);
    Value mask = n.e.splat(n.e.typeOf(n.operand(0)).clone(boolean), 1);
    (void)n.setResult(1, mask);
  }
  return n.setResult(n.operand(0));
}

static LogicalResult importGelu(NodeImport &n) {
  if (failed(checkElements(n, Operands::Float)))
    return failure();
  std::string kind = n.getString("approximate", "none");
  if (kind != "none" && kind != "tanh")
    return n.error() << "unknown approximation '" << kind << "'";
  return n.setResult(n.e.create<nn::GeluOp>(n.operand(0).getType(),
                                            n.operand(0), kind == "tanh")
                         .getResult());
}

/// Swish-24: x * sigmoid(alpha * x).
static LogicalResult importSwish(NodeImport &n) {
  if (failed(checkElements(n, Operands::Float)))
    return failure();
  Value x = n.operand(0);
  double alpha = n.getFloat("alpha", 1);
  if (alpha == 1)
    return n.setResult(n.e.create<nn::SiluOp>(x.getType(), x).getResult());
  Value scaled = n.e.create<nn::MulOp>(x, n.e.splatLike(x, alpha));
  Value gate = n.e.create<nn::SigmoidOp>(x.getType(), scaled);
  return n.setResult(n.e.create<nn::MulOp>(x, gate).getResult());
}

static LogicalResult importCast(NodeImport &n) {
  int64_t to = n.getInt("to", 0);
  Type element = getElementType(n.e.getLoc().getContext(), to);
  if (!element)
    return n.unsupported("cast to " + getDataTypeName(to));
  return n.setResult(n.e.cast(n.operand(0), element));
}

static LogicalResult importCastLike(NodeImport &n) {
  return n.setResult(n.e.cast(n.operand(0), n.element(1)));
}

//===----------------------------------------------------------------------===//
// Binary and more
//===----------------------------------------------------------------------===//

template <typename OpTy>
static LogicalResult importBinary(NodeImport &n) {
  if (failed(checkElements(n, Operands::Number)) ||
      failed(n.checkSameElements()))
    return failure();
  auto both = n.broadcastTogether({n.operand(0), n.operand(1)});
  if (failed(both))
    return failure();
  return n.setResult(n.e.create<OpTy>((*both)[0], (*both)[1]).getResult());
}

/// Max, Min, Sum: any number of operands, joined from the left.
template <typename OpTy>
static FailureOr<Value> joinAll(NodeImport &n) {
  if (failed(checkElements(n, Operands::Number)) ||
      failed(n.checkSameElements()))
    return failure();
  SmallVector<Value> operands;
  for (int i = 0; i < n.getNumOperands(); ++i) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is omitted";
    operands.push_back(n.operand(i));
  }
  auto all = n.broadcastTogether(operands);
  if (failed(all))
    return failure();
  Value result = all->front();
  for (Value next : ArrayRef<Value>(*all).drop_front())
    result = n.e.create<OpTy>(result, next);
  return result;
}

template <typename OpTy>
static LogicalResult importVariadic(NodeImport &n) {
  FailureOr<Value> result = joinAll<OpTy>(n);
  if (failed(result))
    return failure();
  return n.setResult(*result);
}

static LogicalResult importMean(NodeImport &n) {
  FailureOr<Value> sum = joinAll<nn::AddOp>(n);
  if (failed(sum))
    return failure();
  Value count = n.e.splatLike(*sum, n.getNumOperands());
  return n.setResult(n.e.create<nn::DivOp>(*sum, count).getResult());
}

static LogicalResult importPow(NodeImport &n) {
  if (failed(checkElements(n, Operands::Number)))
    return failure();
  Value exponent = n.operand(1);
  if (n.element(0) != n.element(1)) {
    // The result has the base's type. A fractional exponent of an integer
    // base would be rounded by a cast.
    std::optional<double> value = n.e.getSplat(exponent);
    bool isWhole = value && *value == std::trunc(*value);
    if (!n.isFloat(0) && n.isFloat(1) && !isWhole)
      return n.unsupported("integer base with fractional exponent");
    exponent = n.e.cast(exponent, n.element(0));
  }
  auto both = n.broadcastTogether({n.operand(0), exponent});
  if (failed(both))
    return failure();
  return n.setResult(n.e.create<nn::PowOp>((*both)[0], (*both)[1]).getResult());
}

template <nn::ComparePredicate predicate>
static LogicalResult importCompare(NodeImport &n) {
  if (failed(n.checkSameElements()))
    return failure();
  auto both = n.broadcastTogether({n.operand(0), n.operand(1)});
  if (failed(both))
    return failure();
  return n.setResult(
      n.e.create<nn::CompareOp>(predicate, (*both)[0], (*both)[1]).getResult());
}

/// And, Or. `neutral` leaves the other operand as it is.
template <typename OpTy, int neutral>
static LogicalResult importLogical(NodeImport &n) {
  if (failed(checkElements(n, Operands::Bool)))
    return failure();
  auto both = n.broadcastTogether({n.operand(0), n.operand(1)});
  if (failed(both))
    return failure();
  for (int i : {0, 1})
    if (n.e.getSplat((*both)[i]) == double(neutral))
      return n.setResult((*both)[1 - i]);
  return n.setResult(n.e.create<OpTy>((*both)[0], (*both)[1]).getResult());
}

static LogicalResult importXor(NodeImport &n) {
  if (failed(checkElements(n, Operands::Bool)))
    return failure();
  return importCompare<nn::ComparePredicate::NE>(n);
}

static LogicalResult importWhere(NodeImport &n) {
  if (!n.element(0).isInteger(1))
    return n.error() << "condition has element type " << n.element(0);
  if (failed(n.checkSameElements(1)))
    return failure();
  auto all = n.broadcastTogether({n.operand(0), n.operand(1), n.operand(2)});
  if (failed(all))
    return failure();
  return n.setResult(
      n.e.create<nn::SelectOp>((*all)[0], (*all)[1], (*all)[2]).getResult());
}

static LogicalResult importClip(NodeImport &n) {
  if (failed(checkElements(n, Operands::Number)) ||
      failed(n.checkSameElements()))
    return failure();
  Value result = n.operand(0);
  for (int i : {1, 2}) {
    if (!n.operand(i))
      continue;
    FailureOr<Value> bound = n.broadcastTo(n.operand(i), n.shape(0));
    if (failed(bound))
      return failure();
    if (i == 1)
      result = n.e.create<nn::MaximumOp>(result, *bound);
    else
      result = n.e.create<nn::MinimumOp>(result, *bound);
  }
  return n.setResult(result);
}

void registerElementwiseOps(OpTable &table) {
  table["Neg"] = {1, 1, 1, importUnary<nn::NegOp, Operands::Number>};
  table["Abs"] = {1, 1, 1, importUnary<nn::AbsOp, Operands::Number>};
  table["Exp"] = {1, 1, 1, importUnary<nn::ExpOp>};
  table["Log"] = {1, 1, 1, importUnary<nn::LogOp>};
  table["Sqrt"] = {1, 1, 1, importUnary<nn::SqrtOp>};
  table["Reciprocal"] = {1, 1, 1, importUnary<nn::ReciprocalOp>};
  table["Tanh"] = {1, 1, 1, importUnary<nn::TanhOp>};
  table["Sigmoid"] = {1, 1, 1, importUnary<nn::SigmoidOp>};
  table["Erf"] = {1, 1, 1, importUnary<nn::ErfOp>};
  table["Sin"] = {1, 1, 1, importUnary<nn::SinOp>};
  table["Cos"] = {1, 1, 1, importUnary<nn::CosOp>};
  table["Relu"] = {1, 1, 1, importUnary<nn::ReluOp>};
  table["Not"] = {1, 1, 1, importUnary<nn::NotOp, Operands::Bool>};
  table["IsNaN"] = {1, 1, 1, importIsNaN};
  table["Identity"] = {1, 1, 1, importIdentity};
  table["Dropout"] = {1, 1, 3, importDropout};
  table["Gelu"] = {20, 1, 1, importGelu};
  table["Swish"] = {24, 1, 1, importSwish};
  table["Cast"] = {1, 1, 1, importCast};
  table["CastLike"] = {15, 2, 2, importCastLike};

  table["Add"] = {1, 2, 2, importBinary<nn::AddOp>};
  table["Sub"] = {1, 2, 2, importBinary<nn::SubOp>};
  table["Mul"] = {1, 2, 2, importBinary<nn::MulOp>};
  table["Div"] = {1, 2, 2, importBinary<nn::DivOp>};
  table["Pow"] = {1, 2, 2, importPow};
  table["Max"] = {1, 1, -1, importVariadic<nn::MaximumOp>};
  table["Min"] = {1, 1, -1, importVariadic<nn::MinimumOp>};
  table["Sum"] = {1, 1, -1, importVariadic<nn::AddOp>};
  table["Mean"] = {1, 1, -1, importMean};
  table["And"] = {1, 2, 2, importLogical<nn::AndOp, 1>};
  table["Or"] = {1, 2, 2, importLogical<nn::OrOp, 0>};
  table["Xor"] = {1, 2, 2, importXor};
  table["Equal"] = {1, 2, 2, importCompare<nn::ComparePredicate::EQ>};
  table["Less"] = {1, 2, 2, importCompare<nn::ComparePredicate::LT>};
  table["LessOrEqual"] = {12, 2, 2, importCompare<nn::ComparePredicate::LE>};
  table["Greater"] = {1, 2, 2, importCompare<nn::ComparePredicate::GT>};
  table["GreaterOrEqual"] = {12, 2, 2, importCompare<nn::ComparePredicate::GE>};
  table["Where"] = {9, 3, 3, importWhere};
  table["Clip"] = {1, 1, 3, importClip};
}

} // namespace rondo
