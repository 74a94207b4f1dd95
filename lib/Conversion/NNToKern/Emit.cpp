//===- Emit.cpp - Writes launch lists ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static int64_t getProduct(ArrayRef<int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents)
    product *= extent;
  return product;
}

static MemRefType getMemRefType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Emitter::createScratch(ArrayRef<int64_t> shape, Type element) {
  return kern::ScratchOp::create(builder, builder.getInsertionPoint()->getLoc(),
                                 MemRefType::get(shape, element),
                                 IntegerAttr());
}

/// The memory of a stored value.
Value Emitter::getMemory(Value value) {
  Value &place = memory[value];
  if (place)
    return place;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return place = target.getArgument(argument.getArgNumber());
  int64_t result = plan.getResult(value);
  if (result >= 0)
    return place = target.getArgument(source.getNumArguments() + result);
  MemRefType type = getMemRefType(value.getType());
  return place = kern::ScratchOp::create(builder, value.getLoc(), type,
                                         IntegerAttr());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Emitter::emitFused(const Step &step) {
  if (step.outputs.empty())
    return;
  SmallVector<Location> locations;
  FusedBuilder fused(step.outputs.front().value.getLoc(), step.space,
                     step.outputs,
                     [&](Value value) { return plan.isStored(value); });
  // It was built when it was planned.
  if (!fused.build())
    llvm::report_fatal_error("a planned kernel cannot be built");
  SmallVector<Value> outputMemory;
  for (const Output &output : step.outputs)
    outputMemory.push_back(output.result >= 0
                               ? Value(target.getArgument(
                                     source.getNumArguments() + output.result))
                               : getMemory(output.value));
  fused.create(
      builder, [&](Value value) { return getMemory(value); }, outputMemory);
}

void Emitter::emitGather(nn::GatherOp op) {
  ArrayRef<int64_t> shape = getShape(op.getOperand());
  int64_t axis = op.getAxis();
  Value from = getMemory(stripReshapes(op.getOperand())),
        indices = getMemory(stripReshapes(op.getIndices()));
  kern::GatherOp::create(
      builder, op.getLoc(), from, indices, getMemory(op.getResult()),
      getProduct(shape.take_front(axis)), shape[axis],
      getProduct(getShape(op.getIndices())),
      getProduct(shape.drop_front(axis + 1)), /*batched=*/false);
}

void Emitter::emitGatherND(nn::GatherNDOp op) {
  ArrayRef<int64_t> shape = getShape(op.getOperand()),
                    indexShape = getShape(op.getIndices());
  int64_t batches = op.getBatchDims(), tuple = indexShape.back();
  int64_t outer = getProduct(shape.take_front(batches));
  ArrayRef<int64_t> extents = shape.slice(batches, tuple);
  Value from = getMemory(stripReshapes(op.getOperand())),
        indices = getMemory(stripReshapes(op.getIndices()));
  kern::GatherOp::create(builder, op.getLoc(), from, indices,
                         getMemory(op.getResult()), outer, extents,
                         getProduct(indexShape.drop_back()) / outer,
                         getProduct(shape.drop_front(batches + tuple)),
                         /*batched=*/outer > 1);
}

void Emitter::emitScatterAdd(nn::ScatterAddOp op) {
  ArrayRef<int64_t> shape = getShape(op.getResult());
  int64_t axis = op.getAxis();
  Value to = getMemory(op.getResult());
  if (!plan.isAccumulated(op.getResult()))
    kern::ZeroOp::create(builder, op.getLoc(), to);
  Value updates = getMemory(stripReshapes(op.getUpdates())),
        indices = getMemory(stripReshapes(op.getIndices()));
  kern::ScatterAddOp::create(builder, op.getLoc(), updates, indices, to,
                             getProduct(shape.take_front(axis)), shape[axis],
                             getProduct(getShape(op.getIndices())),
                             getProduct(shape.drop_front(axis + 1)));
}

void Emitter::emitStep(const Step &step) {
  if (!step.op)
    return emitFused(step);
  if (isLibraryAttention(step.op))
    return emitLibraryAttention(*this, step.op);
  llvm::TypeSwitch<Operation *>(step.op)
      .Case<nn::MatmulOp>([&](nn::MatmulOp op) { emitMatmul(op); })
      .Case<nn::GatherOp>([&](nn::GatherOp op) { emitGather(op); })
      .Case<nn::GatherNDOp>([&](nn::GatherNDOp op) { emitGatherND(op); })
      .Case<nn::ScatterAddOp>([&](nn::ScatterAddOp op) { emitScatterAdd(op); })
      .Case<nn::AttentionOp>(
          [&](nn::AttentionOp op) { emitAttention(*this, op); })
      .Case<nn::AttentionGradOp>(
          [&](nn::AttentionGradOp op) { emitAttentionGrad(*this, op); })
      .Case<nn::ConstantOp>([&](nn::ConstantOp op) {
        kern::ConstantOp::create(builder, op.getLoc(), op.getValue(),
                                 getMemory(op.getResult()));
      });
}

kern::FuncOp Emitter::emit() {
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto add = [&](Type type, DictionaryAttr attrs) {
    types.push_back(getMemRefType(type));
    attributes.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
  };
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    add(source.getArgumentTypes()[i], source.getArgAttrDict(i));
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    add(source.getResultTypes()[i], source.getResultAttrDict(i));

  builder.setInsertionPoint(source);
  target = kern::FuncOp::create(builder, source.getLoc(), source.getSymName(),
                                builder.getFunctionType(types, {}),
                                source.getNumArguments());
  target.setArgAttrsAttr(builder.getArrayAttr(attributes));
  if (StringAttr visibility = source.getSymVisibilityAttr())
    target.setSymVisibilityAttr(visibility);
  for (NamedAttribute attr : source->getDiscardableAttrs())
    target->setDiscardableAttr(attr.getName(), attr.getValue());
  Block &block = target.getBody().emplaceBlock();
  for (Type type : types)
    block.addArgument(type, source.getLoc());
  builder.setInsertionPointToStart(&block);
  auto end = kern::ReturnOp::create(builder, source.getLoc());
  builder.setInsertionPoint(end);

  for (const Step &step : plan.getSteps())
    emitStep(step);
  for (auto [value, result] : plan.getCopies()) {
    Value to = target.getArgument(source.getNumArguments() + result);
    kern::CopyOp::create(builder, value.getLoc(), getMemory(value), to);
  }
  return target;
}
