//===- PipeOps.cpp - Verification of chains -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Pipe/Entries.h"
#include "rondo/Dialect/Pipe/Pipe.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

#define GET_OP_CLASSES
#include "rondo/Dialect/Pipe/PipeOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Layer
//===----------------------------------------------------------------------===//

LogicalResult LayerOp::verify() {
  if (!isa<ChainOp>((*this)->getParentOp()))
    return emitOpError() << "must be in a pipe.chain";
  for (auto [i, side] : llvm::enumerate(getSides()))
    if (!isa<BlockArgument>(side))
      return emitOpError() << "side " << i
                           << " must be one of the chain's inputs, but is a "
                              "result of another layer";
  return success();
}

/// Whether a value of the chain has the type of an entry's argument: equal, or
/// (after `kernels`) a memref of the same shape and elements.
static bool isSameShaped(Type value, Type argument) {
  auto lhs = dyn_cast<ShapedType>(value), rhs = dyn_cast<ShapedType>(argument);
  return lhs && rhs && rhs.hasStaticShape() &&
         lhs.getShape() == rhs.getShape() &&
         lhs.getElementType() == rhs.getElementType();
}

static LogicalResult checkTypes(Operation *op, StringRef what, TypeRange found,
                                ArrayRef<Type> expected, StringRef owner) {
  if (found.size() != expected.size())
    return op->emitOpError()
           << "has " << found.size() << " " << what << ", but @" << owner
           << " has " << expected.size();
  for (auto [i, type] : llvm::enumerate(found))
    if (!isSameShaped(type, expected[i]))
      return op->emitOpError() << what << " " << i << " has type " << type
                               << ", but @" << owner << " has " << expected[i];
  return success();
}

LogicalResult LayerOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto body = symbols.lookupNearestSymbolFrom<BodyOp>(*this, getBodyAttr());
  if (!body)
    return emitOpError() << "names @" << getBody() << ", which is no pipe.body";
  std::optional<ForwardSignature> signature = getForwardSignature(body);
  if (!signature)
    return emitOpError() << "names @" << getBody()
                         << ", which has no well-formed entry 'forward'";
  SmallVector<Type> parameters;
  ArrayAttr names = getParameters();
  for (auto name : names.getAsRange<FlatSymbolRefAttr>()) {
    auto parameter =
        symbols.lookupNearestSymbolFrom<nn::ParameterOp>(*this, name);
    if (!parameter)
      return emitOpError() << "names " << name << ", which is no nn.parameter";
    parameters.push_back(parameter.getType());
  }
  if (failed(checkTypes(*this, "boundary values", getBoundary().getTypes(),
                        signature->boundary, getBody())) ||
      failed(checkTypes(*this, "sides", getSides().getTypes(), signature->sides,
                        getBody())) ||
      failed(checkTypes(*this, "parameters", parameters, signature->parameters,
                        getBody())) ||
      failed(checkTypes(*this, "outputs", getOutputs().getTypes(),
                        signature->outputs, getBody())))
    return failure();
  bool isLast = isa<YieldOp>((*this)->getNextNode());
  if (isLast != signature->isLoss)
    return emitOpError() << "names @" << getBody() << ", which gives "
                         << (signature->isLoss ? "the loss" : "no loss")
                         << ", but this is " << (isLast ? "" : "not ")
                         << "the last layer";
  return success();
}

//===----------------------------------------------------------------------===//
// Chain
//===----------------------------------------------------------------------===//

/// What models may have as input and programs hold: as Pipe_Value.
static bool isValue(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return false;
  Type element = tensor.getElementType();
  return element.isF32() || element.isBF16() || element.isF16() ||
         element.isF64() || element.isInteger(64) || element.isInteger(32) ||
         element.isInteger(1);
}

LogicalResult ChainOp::verifyRegions() {
  Block &block = getBody().front();
  if (getInputNames().size() != block.getNumArguments())
    return emitOpError() << "names " << getInputNames().size()
                         << " inputs, but has " << block.getNumArguments();
  ArrayAttr inputNames = getInputNames();
  llvm::StringSet<> names;
  for (auto name : inputNames.getAsRange<StringAttr>())
    if (!names.insert(name.getValue()).second)
      return emitOpError() << "names two inputs " << name;
  for (BlockArgument argument : block.getArguments())
    if (!isValue(argument.getType()))
      return emitOpError() << "input " << inputNames[argument.getArgNumber()]
                           << " has type " << argument.getType()
                           << ", expected a tensor of static shape of f32, "
                              "bf16, f16, f64, i64, i32 or i1";

  LayerOp previous;
  for (Operation &op : block.without_terminator()) {
    auto layer = dyn_cast<LayerOp>(op);
    if (!layer)
      return op.emitOpError() << "is in a pipe.chain, which holds layers only";
    ValueRange entering;
    if (previous)
      entering = previous.getOutputs();
    if (!llvm::equal(layer.getBoundary(), entering))
      return layer.emitOpError()
             << "must take "
             << (previous ? "all results of the layer before, in order"
                          : "no boundary values: it is the first layer");
    previous = layer;
  }
  if (!previous)
    return emitOpError() << "has no layer";
  auto yield = cast<YieldOp>(block.getTerminator());
  if (!llvm::equal(yield.getOperands(), previous.getOutputs()) ||
      previous.getNumResults() != 1)
    return yield.emitOpError() << "must give the last layer's only result";
  auto loss = cast<RankedTensorType>(previous.getResult(0).getType());
  if (loss.getRank() != 0 ||
      !(loss.getElementType().isF32() || loss.getElementType().isF64()))
    return yield.emitOpError() << "must give a scalar f32, but gives " << loss;

  if (getLabels().has_value() != getLabelInputs().has_value())
    return emitOpError() << "needs both 'labels' and 'label_inputs', or none";
  if (std::optional<ArrayRef<int64_t>> inputs = getLabelInputs())
    for (int64_t input : *inputs)
      if (input < 0 || input >= block.getNumArguments())
        return emitOpError()
               << "'label_inputs' has " << input << ", but there are "
               << block.getNumArguments() << " inputs";
  return success();
}

LogicalResult ChainOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getLabels())
    return success();
  auto body = symbols.lookupNearestSymbolFrom<BodyOp>(*this, getLabelsAttr());
  if (!body)
    return emitOpError() << "names the labels @" << *getLabels()
                         << ", which is no pipe.body";
  func::FuncOp count = findEntry(body, {EntryKind::Count});
  if (!count) {
    // After `kernels` the entry is a kern.func.
    if (body.getEntries().getOps<func::FuncOp>().empty() &&
        !body.getEntries().front().empty())
      return success();
    return emitOpError() << "names the labels @" << *getLabels()
                         << ", which has no entry 'count'";
  }
  SmallVector<Type> types;
  std::optional<ArrayRef<int64_t>> inputs = getLabelInputs();
  for (int64_t input : *inputs)
    types.push_back(getBody().getArgument(input).getType());
  return checkTypes(*this, "label inputs", types,
                    SmallVector<Type>(count.getArgumentTypes()), *getLabels());
}
