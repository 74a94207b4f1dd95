//===- Materializer.cpp - Turns known values into constants ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Materializer.h"

#include "TensorData.h"
#include "mlir/IR/IRMapping.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace rondo {

/// Floats beyond this are stored once, beside the program's weights.
static constexpr int64_t maxConstantElements = 1 << 12;
/// Tables (rotary cosines) up to this are evaluated.
static constexpr int64_t maxTableElements = int64_t(1) << 26;
/// Booleans beyond this are masks.
static constexpr int64_t maxMaskElements = 1 << 16;
/// Counting integers from this on are an iota.
static constexpr int64_t minIotaElements = 8;

/// Whether a large mask goes into an independent value: then it is one too,
/// or made of one, and is never evaluated.
bool Materializer::isMadeOfMasks(Value value) {
  // Chains of ops may be long: no recursion.
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value current = work.back();
    if (masks.contains(current)) {
      work.pop_back();
      continue;
    }
    auto type = Emitter::typeOf(current);
    bool isMask = type.getElementType().isInteger(1) &&
                  type.getNumElements() > maxMaskElements;
    bool ready = true;
    Operation *op = current.getDefiningOp();
    if (op && !isMask && !emitter.getKnown(current)) {
      for (Value operand : op->getOperands()) {
        auto found = masks.find(operand);
        if (found == masks.end()) {
          work.push_back(operand);
          ready = false;
        } else {
          isMask |= found->second;
        }
      }
    }
    if (!ready)
      continue;
    masks[current] = isMask;
    work.pop_back();
  }
  return masks[value];
}

Materializer::Form Materializer::getForm(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !emitter.isIndependent(value))
    return Form::Keep;
  auto type = Emitter::typeOf(value);
  bool isFloat = isa<FloatType>(type.getElementType());
  if (emitter.getInitializer(value) >= 0) {
    bool isLarge = isFloat && type.getNumElements() > maxConstantElements;
    return isLarge || !emitter.getKnown(value) ? Form::Initializer
                                               : Form::Constant;
  }
  if (const KnownValue *known = emitter.getKnown(value)) {
    // A smaller constant, stretched, says more than a large one.
    return isa<nn::BroadcastOp>(op) && !known->isSplat ? Form::Keep
                                                       : Form::Constant;
  }
  if (!isFloat || isa<nn::BroadcastOp, nn::ReshapeOp>(op) ||
      type.getNumElements() > maxTableElements || isMadeOfMasks(value))
    return Form::Keep;
  return Form::Table;
}

std::string Materializer::makeSymbol(StringRef name) {
  std::string symbol = name.str();
  for (int i = 1; !symbols.insert(symbol).second; ++i)
    symbol = (name + "_" + Twine(i)).str();
  return symbol;
}

/// If the integers count along one axis and are equal along all others: that
/// axis and the step.
static std::optional<std::pair<int64_t, int64_t>>
findCount(const nn::HostTensor &tensor) {
  if (tensor.isFloat() || tensor.getNumElements() < minIotaElements ||
      tensor.getType().getElementType().isInteger(1))
    return std::nullopt;
  const std::vector<int64_t> &values = tensor.integers();
  ArrayRef<int64_t> shape = tensor.getShape();
  SmallVector<int64_t> strides = nn::getRowMajorStrides(shape);
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis) {
    if (shape[axis] < 2)
      continue;
    // Differences of hostile values overflow; wrapping ones are compared.
    uint64_t step = uint64_t(values[strides[axis]]) - uint64_t(values[0]);
    if (step == 0)
      continue;
    for (int64_t i = 0; i < int64_t(values.size()); ++i) {
      uint64_t index = i / strides[axis] % shape[axis];
      if (uint64_t(values[i]) != uint64_t(values[0]) + step * index)
        return std::nullopt;
    }
    return std::pair(axis, int64_t(step));
  }
  return std::nullopt;
}

Value Materializer::createConstant(Value value, OpBuilder &builder) {
  const KnownValue *known = emitter.getKnown(value);
  Location loc = value.getLoc();
  if (known->isSplat)
    return nn::ConstantOp::create(
        builder, loc,
        cast<ElementsAttr>(
            known->values.toAttribute().resizeSplat(known->type)));
  if (auto count = findCount(known->values))
    return nn::IotaOp::create(builder, loc, known->type, count->first,
                              known->values.integers()[0], count->second);
  DenseElementsAttr values = known->values.toAttribute();
  bool isFloat = isa<FloatType>(known->type.getElementType());
  if (isFloat && known->type.getNumElements() > maxConstantElements)
    return readTable(loc, values, builder);
  return nn::ConstantOp::create(builder, loc, cast<ElementsAttr>(values));
}

Value Materializer::readInitializer(Value value, OpBuilder &builder) {
  int index = emitter.getInitializer(value);
  const Initializer &tensor = file.getInitializers()[index];
  Location loc = value.getLoc();
  std::string &symbol = initializerSymbols[index];
  if (symbol.empty()) {
    symbol = makeSymbol(tensor.name);
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    top.setInsertionPoint(value.getDefiningOp()->getParentOp());
    nn::ParameterOp::create(top, loc, top.getStringAttr(symbol),
                            TypeAttr::get(tensor.type), UnitAttr(),
                            nn::StoredAttr::get(module.getContext(),
                                                *tensor.location, tensor.offset,
                                                tensor.length),
                            ElementsAttr(), StringAttr(), UnitAttr(),
                            ArrayAttr(), DenseBoolArrayAttr(), TypeAttr());
  }
  return nn::ReadOp::create(builder, loc, tensor.type, symbol);
}

Value Materializer::readTable(Location loc, DenseElementsAttr values,
                              OpBuilder &builder) {
  // Exporters repeat tables in every layer.
  std::string &symbol = tableSymbols[values];
  if (symbol.empty()) {
    symbol = makeSymbol(nn::getNodeName(loc));
    OpBuilder top = OpBuilder::atBlockEnd(module.getBody());
    top.setInsertionPoint(builder.getInsertionBlock()->getParentOp());
    nn::ParameterOp::create(
        top, loc, top.getStringAttr(symbol), TypeAttr::get(values.getType()),
        UnitAttr(), nn::StoredAttr(), cast<ElementsAttr>(values), StringAttr(),
        UnitAttr(), ArrayAttr(), DenseBoolArrayAttr(), TypeAttr());
  }
  return nn::ReadOp::create(builder, loc, values.getType(), symbol);
}

/// Evaluates the ops behind a value by nn's reference evaluation, in a block
/// of their own.
FailureOr<DenseElementsAttr> Materializer::evaluateTable(Value value) {
  llvm::SetVector<Operation *> slice;
  llvm::SetVector<Value> leaves;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value current = work.pop_back_val();
    if (emitter.getKnown(current) || emitter.getInitializer(current) >= 0) {
      leaves.insert(current);
      continue;
    }
    Operation *op = current.getDefiningOp();
    if (slice.insert(op))
      llvm::append_range(work, op->getOperands());
  }
  Block block;
  IRMapping mapping;
  SmallVector<nn::HostTensor> arguments;
  for (Value leaf : leaves) {
    mapping.map(leaf, block.addArgument(leaf.getType(), leaf.getLoc()));
    if (const KnownValue *known = emitter.getKnown(leaf)) {
      arguments.push_back(known->toDense());
      continue;
    }
    const Initializer &tensor =
        file.getInitializers()[emitter.getInitializer(leaf)];
    arguments.push_back(decodeRaw(tensor.type, file.getBytes(tensor)));
  }
  SmallVector<Operation *> ordered = slice.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  OpBuilder builder(value.getContext());
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : ordered)
    builder.clone(*op, mapping);
  func::ReturnOp::create(builder, value.getLoc(), mapping.lookup(value));
  auto results = nn::evaluateBlock(block, arguments);
  if (failed(results))
    return failure();
  return results->front().toAttribute();
}

FailureOr<Value> Materializer::replace(Value value, Form form,
                                       OpBuilder &builder) {
  switch (form) {
  case Form::Keep:
    return value;
  case Form::Constant:
    return createConstant(value, builder);
  case Form::Initializer:
    return readInitializer(value, builder);
  case Form::Table: {
    FailureOr<DenseElementsAttr> values = evaluateTable(value);
    if (failed(values))
      return failure();
    if (values->getNumElements() <= maxConstantElements)
      return Value(nn::ConstantOp::create(builder, value.getLoc(),
                                          cast<ElementsAttr>(*values)));
    return readTable(value.getLoc(), *values, builder);
  }
  }
  return failure();
}

LogicalResult Materializer::run(func::FuncOp function) {
  Block &body = function.front();
  // Backwards: what stays, seen from the loss.
  llvm::DenseSet<Operation *> kept{body.getTerminator()};
  for (Operation &op : llvm::reverse(body)) {
    if (!kept.contains(&op))
      continue;
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (getForm(operand) == Form::Keep)
          kept.insert(producer);
  }
  // Forwards: constants go before their first user.
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!kept.contains(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      Form form = getForm(operand.get());
      if (form == Form::Keep)
        continue;
      Value &replacement = replacements[operand.get()];
      if (!replacement) {
        OpBuilder builder(&op);
        FailureOr<Value> made = replace(operand.get(), form, builder);
        if (failed(made))
          return failure();
        replacement = *made;
      }
      operand.set(replacement);
    }
  }
  // New constants have uses; all else that has none goes.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!kept.contains(&op) && op.use_empty())
      op.erase();
  return success();
}

} // namespace rondo
