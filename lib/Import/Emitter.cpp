//===- Emitter.cpp - Builds nn ops and folds what is known ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace rondo {

/// Small enough to be evaluated at once. Masks (booleans) of some size are not:
/// they are recognised by how they are made.
static bool isSmall(RankedTensorType type) {
  constexpr int64_t anyLimit = 1 << 16, integerLimit = 1 << 20;
  int64_t elements = type.getNumElements();
  if (elements <= anyLimit)
    return true;
  if (elements > integerLimit)
    return false;
  Type element = type.getElementType();
  bool isNumber = element.isInteger(64) || element.isInteger(32);
  bool isLine =
      llvm::count_if(type.getShape(), [](int64_t e) { return e != 1; }) <= 1;
  return isNumber || isLine;
}

static nn::HostTensor makeScalar(Type element, double value) {
  nn::HostTensor scalar(RankedTensorType::get({}, element));
  if (scalar.isFloat())
    scalar.floats()[0] = value;
  else
    scalar.integers()[0] = static_cast<int64_t>(value);
  scalar.round();
  return scalar;
}

nn::HostTensor KnownValue::toDense() const {
  if (!isSplat)
    return values;
  nn::HostTensor dense(type);
  if (dense.isFloat())
    std::fill(dense.floats().begin(), dense.floats().end(), values.floats()[0]);
  else
    std::fill(dense.integers().begin(), dense.integers().end(),
              values.integers()[0]);
  return dense;
}

Emitter::Emitter(MLIRContext *context, Block *block)
    : builder(context), loc(UnknownLoc::get(context)) {
  builder.setInsertionPointToEnd(block);
}

//===----------------------------------------------------------------------===//
// Known values
//===----------------------------------------------------------------------===//

const KnownValue *Emitter::getKnown(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? nullptr : found->second.get();
}

std::optional<SmallVector<int64_t>> Emitter::getIntegers(Value value,
                                                         int64_t limit) const {
  const KnownValue *found = getKnown(value);
  if (!found || found->values.isFloat() || found->type.getNumElements() > limit)
    return std::nullopt;
  nn::HostTensor dense = found->toDense();
  return SmallVector<int64_t>(dense.integers().begin(), dense.integers().end());
}

std::optional<double> Emitter::getSplat(Value value) const {
  const KnownValue *found = getKnown(value);
  if (!found || !found->isSplat)
    return std::nullopt;
  return found->values.isFloat() ? found->values.floats()[0]
                                 : double(found->values.integers()[0]);
}

int Emitter::getInitializer(Value value) const {
  auto found = initializers.find(value);
  return found == initializers.end() ? -1 : found->second;
}

/// Whether all elements have the same bits.
static bool hasOneValue(const nn::HostTensor &tensor) {
  if (tensor.getNumElements() == 0)
    return false;
  if (!tensor.isFloat())
    return llvm::all_equal(tensor.integers());
  auto sameBits = [&](double value) {
    return llvm::bit_cast<uint64_t>(value) ==
           llvm::bit_cast<uint64_t>(tensor.floats()[0]);
  };
  return llvm::all_of(tensor.floats(), sameBits);
}

void Emitter::setKnown(Value value, nn::HostTensor values, bool isSplat) {
  auto entry = std::make_shared<KnownValue>();
  entry->type = typeOf(value);
  if (!isSplat && hasOneValue(values)) {
    nn::HostTensor scalar(
        RankedTensorType::get({}, values.getType().getElementType()));
    if (values.isFloat())
      scalar.floats()[0] = values.floats()[0];
    else
      scalar.integers()[0] = values.integers()[0];
    values = std::move(scalar);
    isSplat = true;
  }
  entry->values = std::move(values);
  entry->isSplat = isSplat;
  known[value] = std::move(entry);
  independent.insert(value);
}

/// An op that makes a value out of nothing, until it is materialized.
static Value makePlaceholder(OpBuilder &builder, Location loc,
                             RankedTensorType type) {
  return UnrealizedConversionCastOp::create(builder, loc, TypeRange(type),
                                            ValueRange())
      .getResult(0);
}

Value Emitter::constant(nn::HostTensor values) {
  Value value = makePlaceholder(builder, loc, values.getType());
  setKnown(value, std::move(values), /*isSplat=*/false);
  return value;
}

Value Emitter::integers(ArrayRef<int64_t> values) {
  nn::HostTensor tensor(
      RankedTensorType::get({int64_t(values.size())}, builder.getI64Type()));
  llvm::copy(values, tensor.integers().begin());
  return constant(std::move(tensor));
}

Value Emitter::splat(RankedTensorType type, double value) {
  return splat(type, makeScalar(type.getElementType(), value));
}

Value Emitter::splat(RankedTensorType type, nn::HostTensor scalar) {
  Value result = makePlaceholder(builder, loc, type);
  setKnown(result, std::move(scalar), /*isSplat=*/true);
  return result;
}

Value Emitter::splatLike(Value like, double value) {
  return splat(typeOf(like), value);
}

Value Emitter::table(int initializer, RankedTensorType type,
                     std::optional<nn::HostTensor> values) {
  Value value = makePlaceholder(builder, loc, type);
  if (values)
    setKnown(value, std::move(*values), /*isSplat=*/false);
  independent.insert(value);
  initializers[value] = initializer;
  return value;
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

bool Emitter::evaluate(Operation *op, ArrayRef<nn::HostTensor> operands,
                       nn::HostTensor &result) {
  auto evaluable = dyn_cast<nn::EvaluableOp>(op);
  if (!evaluable)
    return false;
  SmallVector<nn::HostTensor> results;
  if (failed(evaluable.evaluate(nn::EvaluationContext(), operands, results)) ||
      results.size() != 1) {
    evaluationFailed = true;
    return false;
  }
  result = std::move(results.front());
  return true;
}

static bool isElementwise(Operation *op) {
  return isa<nn::NegOp, nn::AbsOp, nn::ExpOp, nn::LogOp, nn::SqrtOp,
             nn::RsqrtOp, nn::ReciprocalOp, nn::TanhOp, nn::SigmoidOp,
             nn::ErfOp, nn::SinOp, nn::CosOp, nn::ReluOp, nn::NotOp,
             nn::IsNanOp, nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp, nn::PowOp,
             nn::MaximumOp, nn::MinimumOp, nn::AndOp, nn::OrOp, nn::CompareOp,
             nn::SelectOp, nn::CastOp>(op);
}

/// Runs an elementwise op on scalars instead.
static Operation *makeScalarOp(Operation *op, Block &scratch) {
  auto toScalar = [](Type type) -> Type {
    return RankedTensorType::get({},
                                 cast<RankedTensorType>(type).getElementType());
  };
  OperationState state(op->getLoc(), op->getName());
  for (Value operand : op->getOperands())
    state.addOperands(
        scratch.addArgument(toScalar(operand.getType()), op->getLoc()));
  for (Type type : op->getResultTypes())
    state.addTypes(toScalar(type));
  state.addAttributes(op->getAttrs());
  Operation *scalar = Operation::create(state);
  scratch.push_back(scalar);
  return scalar;
}

/// Results of one repeated value, of any size, from such operands.
bool Emitter::foldSplat(Operation *op) {
  if (op->getNumOperands() == 0)
    return false;
  const KnownValue *first = getKnown(op->getOperand(0));
  if (!first || !first->isSplat)
    return false;
  Value result = op->getResult(0);
  bool isEmpty = typeOf(result).getNumElements() == 0;
  // What only moves the elements of its first operand.
  if (isa<nn::BroadcastOp, nn::ReshapeOp, nn::TransposeOp, nn::SliceOp,
          nn::GatherOp, nn::GatherNDOp>(op)) {
    if (isEmpty)
      return false;
    setKnown(result, first->values, /*isSplat=*/true);
    return true;
  }
  if (isa<nn::CumsumOp>(op) && getSplat(op->getOperand(0)) == 0.0) {
    setKnown(result, first->values, /*isSplat=*/true);
    return true;
  }
  SmallVector<nn::HostTensor> operands;
  for (Value operand : op->getOperands()) {
    const KnownValue *value = getKnown(operand);
    if (!value || !value->isSplat)
      return false;
    operands.push_back(value->values);
  }
  if (isa<nn::ConcatOp>(op)) {
    std::optional<double> value = getSplat(op->getOperand(0));
    for (Value operand : op->getOperands())
      if (getSplat(operand) != value) // NaN equals nothing: not folded
        return false;
    setKnown(result, first->values, /*isSplat=*/true);
    return true;
  }
  if (!isElementwise(op) || isEmpty)
    return false;
  Block scratch;
  Operation *scalar = makeScalarOp(op, scratch);
  nn::HostTensor value;
  if (!evaluate(scalar, operands, value))
    return false;
  setKnown(result, std::move(value), /*isSplat=*/true);
  return true;
}

void Emitter::fold(Operation *op) {
  if (op->getNumResults() != 1)
    return;
  if (!llvm::all_of(op->getOperands(),
                    [&](Value operand) { return isIndependent(operand); }))
    return;
  if (isa<nn::ReadOp>(op))
    return;
  Value result = op->getResult(0);
  independent.insert(result);
  // Gathers with indices out of range must not fold as splats.
  if (!isa<nn::GatherOp, nn::GatherNDOp>(op) || !isSmall(typeOf(result)))
    if (foldSplat(op))
      return;
  if (!isSmall(typeOf(result)))
    return;
  SmallVector<nn::HostTensor> operands;
  for (Value operand : op->getOperands()) {
    const KnownValue *value = getKnown(operand);
    // A splat may be too large to be spelt out.
    if (!value || !isSmall(value->type))
      return;
    operands.push_back(value->toDense());
  }
  nn::HostTensor value;
  if (evaluate(op, operands, value))
    setKnown(result, std::move(value), /*isSplat=*/false);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return create<nn::ReshapeOp>(RankedTensorType::get(shape, elementOf(value)),
                               value);
}

Value Emitter::broadcast(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return create<nn::BroadcastOp>(RankedTensorType::get(shape, elementOf(value)),
                                 value);
}

Value Emitter::transpose(Value value, ArrayRef<int64_t> permutation) {
  bool isIdentity = true;
  SmallVector<int64_t> shape;
  for (auto [to, from] : llvm::enumerate(permutation)) {
    isIdentity &= int64_t(to) == from;
    shape.push_back(shapeOf(value)[from]);
  }
  if (isIdentity)
    return value;
  return create<nn::TransposeOp>(RankedTensorType::get(shape, elementOf(value)),
                                 value,
                                 builder.getDenseI64ArrayAttr(permutation));
}

Value Emitter::cast(Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  return create<nn::CastOp>(typeOf(value).clone(element), value);
}

Value Emitter::slice(Value value, ArrayRef<int64_t> starts,
                     ArrayRef<int64_t> steps, ArrayRef<int64_t> extents) {
  if (shapeOf(value) == extents &&
      llvm::all_of(steps, [](int64_t step) { return step == 1; }))
    return value;
  return create<nn::SliceOp>(RankedTensorType::get(extents, elementOf(value)),
                             value, builder.getDenseI64ArrayAttr(starts),
                             builder.getDenseI64ArrayAttr(steps));
}

Value Emitter::reduce(nn::ReduceKind kind, Value value, ArrayRef<int64_t> axes,
                      bool keepdims) {
  if (axes.empty())
    return value;
  return create<nn::ReduceOp>(
      nn::ReduceKindAttr::get(builder.getContext(), kind), value,
      builder.getDenseI64ArrayAttr(axes),
      keepdims ? builder.getUnitAttr() : UnitAttr());
}

Value Emitter::iota(RankedTensorType type, int64_t axis, int64_t start,
                    int64_t step) {
  return create<nn::IotaOp>(type, axis, start, step);
}

} // namespace rondo
