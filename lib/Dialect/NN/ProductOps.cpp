//===- ProductOps.cpp - Verifiers of products and composites --------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/TypeUtilities.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo::nn;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = tensorOf(getLhs()), rhs = tensorOf(getRhs()),
                   result = tensorOf(getResult());
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "operands differ in element type: "
                         << lhs.getElementType() << " and "
                         << rhs.getElementType();
  if (lhs.getElementType() != result.getElementType() &&
      lhs.getElementTypeBitWidth() >= result.getElementTypeBitWidth())
    return emitOpError() << "result of element type " << result.getElementType()
                         << " must have the operands' element type or a wider "
                            "one; the operands have "
                         << lhs.getElementType();
  std::optional<SmallVector<int64_t>> expected = getMatmulShape(
      lhs.getShape(), rhs.getShape(), getTransposeLhs(), getTransposeRhs());
  if (!expected)
    return emitOpError() << shapeToString(lhs.getShape())
                         << (getTransposeLhs() ? " (transposed)" : "")
                         << " and " << shapeToString(rhs.getShape())
                         << (getTransposeRhs() ? " (transposed)" : "")
                         << " cannot be multiplied";
  if (result.getShape() != ArrayRef(*expected))
    return emitOpError() << "result has shape "
                         << shapeToString(result.getShape()) << ", expected "
                         << shapeToString(*expected);
  if (!getBias())
    return success();
  if (rhs.getRank() != 2)
    return emitOpError() << "has a bias, but rhs is of rank " << rhs.getRank()
                         << "; one matrix must serve all rows";
  auto expectedBias = rhs.clone(ArrayRef<int64_t>{expected->back()});
  if (getBias().getType() != expectedBias)
    return emitOpError() << "bias has type " << getBias().getType()
                         << ", expected " << expectedBias;
  return success();
}

/// [b, h, s, d] as [b, s, h, d] where rows come first.
static SmallVector<int64_t> orderRows(ArrayRef<int64_t> shape, bool rowsFirst) {
  SmallVector<int64_t> ordered(shape);
  if (rowsFirst)
    std::swap(ordered[1], ordered[2]);
  return ordered;
}

/// What nn.attention and its derivative share.
static LogicalResult verifyAttention(Operation *op, Value query, Value key,
                                     Value value, Value result,
                                     Value statistics,
                                     std::optional<int64_t> window,
                                     bool rowsFirst) {
  RankedTensorType q = tensorOf(query), k = tensorOf(key), v = tensorOf(value),
                   r = tensorOf(result);
  struct {
    StringRef name;
    RankedTensorType type;
  } tensors[] = {{"query", q}, {"key", k}, {"value", v}, {"result", r}};
  for (auto [name, type] : tensors) {
    if (type.getRank() != 4)
      return op->emitOpError() << name << " has rank " << type.getRank()
                               << ", expected 4: [batch, heads, length, size]";
    if (type.getElementType() != q.getElementType())
      return op->emitOpError()
             << name << " has element type " << type.getElementType()
             << ", but query has " << q.getElementType();
  }
  int64_t batch = q.getDimSize(0), heads = q.getDimSize(1),
          length = q.getDimSize(2);
  if (k.getDimSize(0) != batch || v.getDimSize(0) != batch)
    return op->emitOpError()
           << "batch extents differ: query " << batch << ", key "
           << k.getDimSize(0) << ", value " << v.getDimSize(0);
  int64_t keyHeads = k.getDimSize(1);
  if (v.getDimSize(1) != keyHeads)
    return op->emitOpError() << "key has " << keyHeads
                             << " heads, but value has " << v.getDimSize(1);
  if (keyHeads == 0 || heads % keyHeads != 0)
    return op->emitOpError() << heads << " query heads are not a multiple of "
                             << keyHeads << " key heads";
  if (k.getDimSize(2) != v.getDimSize(2))
    return op->emitOpError() << "key has length " << k.getDimSize(2)
                             << ", but value has " << v.getDimSize(2);
  if (k.getDimSize(3) != q.getDimSize(3))
    return op->emitOpError() << "query has head size " << q.getDimSize(3)
                             << ", but key has " << k.getDimSize(3);
  SmallVector<int64_t> expected =
      orderRows({batch, heads, length, v.getDimSize(3)}, rowsFirst);
  if (r.getShape() != ArrayRef(expected))
    return op->emitOpError()
           << "result has shape " << shapeToString(r.getShape())
           << ", expected " << shapeToString(expected);
  RankedTensorType s = tensorOf(statistics);
  expected = {batch, heads, length};
  if (s.getShape() != ArrayRef(expected))
    return op->emitOpError()
           << "statistics have shape " << shapeToString(s.getShape())
           << ", expected " << shapeToString(expected);
  if (s.getElementType().isF64() != q.getElementType().isF64())
    return op->emitOpError()
           << "statistics are f64 exactly where query is, but have element "
              "type "
           << s.getElementType() << " for " << q.getElementType();
  if (window && *window < 1)
    return op->emitOpError() << "window " << *window << " must be positive";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyAttention(*this, getQuery(), getKey(), getValue(),
                             getResult(), getStatistics(), getWindow(),
                             getRowsFirst())))
    return failure();
  if (!getMask()) {
    if (getFill() || getUnguarded())
      return emitOpError() << (getFill() ? "fill" : "unguarded")
                           << " says what a mask does, but there is no mask";
    return success();
  }
  RankedTensorType mask = tensorOf(getMask()), q = tensorOf(getQuery());
  if (!mask.getElementType().isInteger(1) &&
      !isa<FloatType>(mask.getElementType()))
    return emitOpError()
           << "mask must be additive (float) or boolean, but has element type "
           << mask.getElementType();
  if (std::optional<APFloat> fill = getFill()) {
    if (!mask.getElementType().isInteger(1))
      return emitOpError() << "fill is the score of keys that a boolean mask "
                              "hides, but the mask is additive";
    if (!fill->isFinite())
      return emitOpError() << "fill must be finite";
  }
  SmallVector<int64_t> scores = {q.getDimSize(0), q.getDimSize(1),
                                 q.getDimSize(2),
                                 tensorOf(getKey()).getDimSize(2)};
  if (!isBroadcastableTo(mask.getShape(), scores))
    return emitOpError() << "mask of shape " << shapeToString(mask.getShape())
                         << " does not broadcast to the scores' "
                         << shapeToString(scores);
  return success();
}

LogicalResult AttentionGradOp::verify() {
  if (failed(verifyAttention(*this, getQuery(), getKey(), getValue(),
                             getResultValue(), getStatistics(), getWindow(),
                             getRowsFirst())))
    return failure();
  if (getCotangent().getType() != getResultValue().getType())
    return emitOpError() << "cotangent has type " << getCotangent().getType()
                         << ", but the result has type "
                         << getResultValue().getType();
  struct {
    StringRef name;
    Value cotangent, operand;
  } pairs[] = {{"d_query", getDQuery(), getQuery()},
               {"d_key", getDKey(), getKey()},
               {"d_value", getDValue(), getValue()}};
  for (auto [name, cotangent, operand] : pairs) {
    RankedTensorType type = tensorOf(operand);
    type = type.clone(orderRows(type.getShape(), getRowsFirst()));
    if (cotangent.getType() != type)
      return emitOpError() << name << " has type " << cotangent.getType()
                           << ", expected " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  RankedTensorType operand = tensorOf(getOperand()),
                   weight = tensorOf(getWeight());
  if (operand.getRank() == 0)
    return emitOpError() << "needs a last axis, but the operand is a scalar";
  if (weight.getRank() != 1 ||
      weight.getDimSize(0) != operand.getShape().back())
    return emitOpError() << "weight has shape "
                         << shapeToString(weight.getShape()) << ", expected ["
                         << operand.getShape().back()
                         << "], the operand's last extent";
  if (weight.getElementType() != operand.getElementType())
    return emitOpError() << "weight has element type "
                         << weight.getElementType() << ", but the operand has "
                         << operand.getElementType();
  if (!(getEpsilon().convertToDouble() >= 0))
    return emitOpError() << "epsilon " << getEpsilon().convertToDouble()
                         << " must not be negative";
  return success();
}

LogicalResult RopeOp::verify() {
  RankedTensorType operand = tensorOf(getOperand());
  if (operand.getRank() == 0 || operand.getShape().back() % 2 != 0)
    return emitOpError()
           << "needs a last axis of even extent, but the operand has shape "
           << shapeToString(operand.getShape());
  struct {
    StringRef name;
    RankedTensorType type;
  } tables[] = {{"cosine", tensorOf(getCosine())},
                {"sine", tensorOf(getSine())}};
  for (auto [name, type] : tables) {
    if (type.getElementType() != operand.getElementType())
      return emitOpError() << name << " has element type "
                           << type.getElementType() << ", but the operand has "
                           << operand.getElementType();
    if (!isBroadcastableTo(type.getShape(), operand.getShape()))
      return emitOpError() << name << " of shape "
                           << shapeToString(type.getShape())
                           << " does not broadcast to "
                           << shapeToString(operand.getShape());
  }
  return success();
}

LogicalResult CrossEntropyOp::inferReturnTypes(MLIRContext *context,
                                               std::optional<Location> loc,
                                               Adaptor adaptor,
                                               SmallVectorImpl<Type> &types) {
  auto logits = dyn_cast<RankedTensorType>(adaptor.getLogits().getType());
  auto labels = dyn_cast<RankedTensorType>(adaptor.getLabels().getType());
  if (!logits || !labels || logits.getRank() != 2 || labels.getRank() != 1 ||
      logits.getDimSize(0) != labels.getDimSize(0))
    return emitOptionalError(
        loc, "needs logits [n, classes] and labels [n], but has ",
        adaptor.getLogits().getType(), " and ", adaptor.getLabels().getType());
  Type element = logits.getElementType().isF64() ? logits.getElementType()
                                                 : Float32Type::get(context);
  types.push_back(RankedTensorType::get({}, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Loss heads
//===----------------------------------------------------------------------===//

/// What nn.linear_cross_entropy and its derivative share.
template <typename HeadOp>
static LogicalResult verifyLossHead(HeadOp op) {
  RankedTensorType hidden = tensorOf(op.getHidden()),
                   weight = tensorOf(op.getWeight()),
                   labels = tensorOf(op.getLabels());
  if (hidden.getRank() != 2 || weight.getRank() != 2 || labels.getRank() != 1 ||
      hidden.getDimSize(0) != labels.getDimSize(0) ||
      hidden.getDimSize(1) !=
          weight.getDimSize(op.getTransposeWeight() ? 1 : 0))
    return op.emitOpError()
           << "needs hidden [n, k], weight "
           << (op.getTransposeWeight() ? "[classes, k]" : "[k, classes]")
           << " and labels [n], but has " << shapeToString(hidden.getShape())
           << ", " << shapeToString(weight.getShape()) << " and "
           << shapeToString(labels.getShape());
  Type element = hidden.getElementType();
  if (weight.getElementType() != element)
    return op.emitOpError()
           << "weight has element type " << weight.getElementType()
           << ", but hidden has " << element;
  if (op.getBias()) {
    RankedTensorType bias = tensorOf(op.getBias());
    if (bias != weight.clone(ArrayRef<int64_t>{op.getClasses()}))
      return op.emitOpError()
             << "bias has type " << bias << ", expected one " << element
             << " for each of " << op.getClasses() << " classes";
  }
  Type logits = op.getLogits();
  if (logits != element && !(logits.isF32() && !element.isF64()))
    return op.emitOpError()
           << "logits of type " << logits << " must have hidden's element type "
           << element << (element.isF64() ? "" : " or f32");
  if (op.getChunk() < 1)
    return op.emitOpError()
           << "chunk of " << op.getChunk() << " rows must be positive";
  return success();
}

LogicalResult LinearCrossEntropyOp::verify() { return verifyLossHead(*this); }

LogicalResult LinearCrossEntropyOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> loc, Adaptor adaptor,
    SmallVectorImpl<Type> &types) {
  Type element = getElementTypeOrSelf(adaptor.getHidden().getType());
  types.push_back(RankedTensorType::get(
      {}, element.isF64() ? element : Type(Float32Type::get(context))));
  return success();
}

LogicalResult LinearCrossEntropyGradOp::verify() {
  if (failed(verifyLossHead(*this)))
    return failure();
  RankedTensorType weight = tensorOf(getWeight());
  Type wide = weight.getElementType().isF64()
                  ? weight.getElementType()
                  : Type(Float32Type::get(getContext()));
  auto scalar = RankedTensorType::get({}, wide);
  if (bool(getBias()) != bool(getDBias()))
    return emitOpError() << "has d_bias exactly where it has a bias";
  struct {
    StringRef name;
    Value value;
    Type expected;
  } values[] = {
      {"seed", getSeed(), scalar},
      {"loss", getLoss(), scalar},
      {"d_hidden", getDHidden(), getHidden().getType()},
      {"d_weight", getDWeight(), weight.clone(wide)},
      {"d_bias", getDBias(), RankedTensorType::get({getClasses()}, wide)},
  };
  for (auto [name, value, expected] : values)
    if (value && value.getType() != expected)
      return emitOpError() << name << " has type " << value.getType()
                           << ", expected " << expected;
  return success();
}
