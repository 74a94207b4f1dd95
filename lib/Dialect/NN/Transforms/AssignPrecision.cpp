//===- AssignPrecision.cpp - Element types of a step ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrecisionAnalysis.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/NN/Utils.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringSwitch.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNASSIGNPRECISION
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}
static Type elementOf(Value value) { return tensorOf(value).getElementType(); }
static bool isFloat(Value value) { return isa<FloatType>(elementOf(value)); }

/// Whether nothing but a scalar or a row stands behind `value`.
static bool isStretched(Value value) {
  while (isa_and_nonnull<ReshapeOp, TransposeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<BroadcastOp>() != nullptr;
}

/// Functions that magnify errors of their operands, and sums of many: in f32,
/// with a result in f32 for whoever comes next.
static bool keepsDigits(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getKind() != ReduceKind::Max;
  return isa<ExpOp, LogOp, SqrtOp, RsqrtOp, ReciprocalOp, ErfOp, SinOp, CosOp,
             PowOp, CumsumOp>(op) ||
         (isa<DivOp>(op) && !getSplatConstant(op->getOperand(1)));
}

namespace {

class Assigner {
public:
  Assigner(func::FuncOp function, const SymbolTable &symbols, Type narrow)
      : block(function.getBody().front()), analysis(function, symbols),
        builder(function.getContext()), narrow(narrow),
        wide(builder.getF32Type()) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<func::ReturnOp>(op))
        castOperands(op, [&](Value value) {
          return analysis.isActivation(value) ? wide : Type();
        });
      else
        assign(op);
    }
  }

private:
  bool isActivation(Value value) const {
    return analysis.isActivation(value) || rounded.contains(value);
  }
  bool isWide(Value value) const { return elementOf(value) == wide; }
  void assign(Operation &op);
  Type getComputeType(Operation &op) const;
  Type getResultType(Operation &op, Type computed) const;
  bool isResidual(Operation &op) const;
  void convertPadding(PadOp pad, Type element);

  /// Casts those operands for which `want` names another type.
  void castOperands(Operation &op, llvm::function_ref<Type(Value)> want) {
    builder.setInsertionPoint(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      Type type = isFloat(value) ? want(value) : Type();
      if (type && type != elementOf(value))
        operand.set(CastOp::create(builder, op.getLoc(),
                                   tensorOf(value).clone(type), value));
    }
  }

  Block &block;
  PrecisionAnalysis analysis;
  OpBuilder builder;
  Type narrow, wide;
  DenseSet<Value> rounded; ///< Results of the casts behind operations.
};

/// Whether every element of a constant is exact in `type`.
static bool isExact(Value value, Type type) {
  std::optional<double> number = getSplatConstant(value);
  return number && (roundTo(*number, type) == *number || std::isnan(*number));
}

} // namespace

/// x + f(x) of two whole activations.
bool Assigner::isResidual(Operation &op) const {
  return isa<AddOp>(op) && llvm::all_of(op.getOperands(), [&](Value value) {
           return isActivation(value) && !isStretched(value);
         });
}

/// The element type of the operation's floating operands and results.
Type Assigner::getComputeType(Operation &op) const {
  if (isa<MatmulOp, AttentionOp>(op)) {
    bool isExplicit =
        llvm::all_of(op.getOperands().take_front(2), [&](Value operand) {
          return analysis.isExplicitlyWide(operand);
        });
    return isExplicit ? wide : narrow;
  }
  if (keepsDigits(&op))
    return wide;
  if (isa<RmsNormOp, CrossEntropyOp>(op))
    return elementOf(op.getOperand(0));
  for (Value operand : op.getOperands()) {
    if (!isFloat(operand))
      continue;
    // Whatever is not exact in the narrow type enters unrounded.
    if (isActivation(operand)
            ? isWide(operand)
            : elementOf(operand) != narrow && !isExact(operand, narrow))
      return wide;
  }
  return narrow;
}

/// What a result is rounded to that was computed in `computed`.
Type Assigner::getResultType(Operation &op, Type computed) const {
  Value result = op.getResult(0);
  if (computed == narrow || analysis.wantsWide(result))
    return computed;
  if (isa<MatmulOp, AttentionOp>(op))
    return wide; // the model's own wish
  if (analysis.feedsProduct(result) || isResidual(op))
    return narrow;
  if (keepsDigits(&op))
    return wide;
  bool hasWide = llvm::any_of(op.getOperands(), [&](Value operand) {
    return isFloat(operand) && isActivation(operand) && isWide(operand);
  });
  return hasWide ? wide : narrow;
}

void Assigner::convertPadding(PadOp pad, Type element) {
  auto value = dyn_cast<FloatAttr>(pad.getValue());
  if (value)
    pad.setValueAttr(builder.getFloatAttr(element, value.getValueAsDouble()));
}

void Assigner::assign(Operation &op) {
  if (!llvm::any_of(op.getOperands(),
                    [&](Value value) { return isActivation(value); }) &&
      !(isa<ReadOp>(op) && isActivation(op.getResult(0))))
    return;
  auto setType = [](Value value, Type element) {
    if (isFloat(value))
      value.setType(tensorOf(value).clone(element));
  };
  if (isa<ReadOp>(op))
    return setType(op.getResult(0), narrow);
  if (auto cast = dyn_cast<CastOp>(op))
    return setType(cast.getResult(),
                   elementOf(cast.getResult()).getIntOrFloatBitWidth() > 16
                       ? wide
                       : narrow);
  Type computed = getComputeType(op), target = computed;
  if (op.getNumResults() > 0 && isFloat(op.getResult(0)))
    target = getResultType(op, computed);
  bool isMasked = isa<AttentionOp>(op);
  unsigned number = 0;
  castOperands(
      op, [&](Value) { return isMasked && number++ >= 3 ? Type() : computed; });
  if (auto pad = dyn_cast<PadOp>(op))
    convertPadding(pad, computed);
  if (isa<CrossEntropyOp>(op))
    return setType(op.getResult(0), wide);
  for (Value result : op.getResults())
    setType(result, computed);
  if (isa<AttentionOp>(op))
    setType(op.getResult(1), wide);
  // A product's sums are in f32: nothing is rounded where that is wanted.
  if (isa<MatmulOp>(op) && analysis.wantsWide(op.getResult(0)))
    return setType(op.getResult(0), wide);
  if (target == computed)
    return;
  builder.setInsertionPointAfter(&op);
  Value result = op.getResult(0);
  auto rounding = CastOp::create(builder, op.getLoc(),
                                 tensorOf(result).clone(target), result);
  rounded.insert(rounding.getResult());
  result.replaceAllUsesExcept(rounding.getResult(), rounding);
}

namespace {
struct AssignPrecision
    : rondo::nn::impl::NNAssignPrecisionBase<AssignPrecision> {
  using NNAssignPrecisionBase::NNAssignPrecisionBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MLIRContext *context = &getContext();
    Type type = llvm::StringSwitch<Type>(precision)
                    .Case("fp32", Float32Type::get(context))
                    .Case("bf16", BFloat16Type::get(context))
                    .Case("fp16", Float16Type::get(context))
                    .Default(Type());
    if (!type) {
      module.emitError() << "precision '" << precision
                         << "' is not known; known: fp32, bf16, fp16";
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        Assigner(function, symbols, type).run();
    for (auto parameter : module.getOps<ParameterOp>()) {
      auto old = cast<RankedTensorType>(parameter.getType());
      if (!isWeight(parameter) || old.getElementType() == type)
        continue;
      if (!parameter.getStoredType())
        parameter.setStoredType(old.getElementType());
      parameter.setType(old.clone(type));
      ++numConverted;
    }
  }
};
} // namespace
