//===- Interpreter.cpp - Evaluation of blocks and functions ---------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace rondo::nn {

namespace {
/// The values of a block that are still needed.
class Environment {
public:
  explicit Environment(Block &block) {
    for (Operation &op : block)
      for (Value operand : op.getOperands())
        ++uses[operand];
  }
  void define(Value value, HostTensor tensor) {
    if (uses.contains(value))
      values.insert({value, std::move(tensor)});
  }
  /// The operand's value, moved out at its last use.
  std::optional<HostTensor> use(Value value) {
    auto found = values.find(value);
    if (found == values.end())
      return std::nullopt;
    if (--uses[value] > 0)
      return found->second;
    HostTensor tensor = std::move(found->second);
    values.erase(found);
    return tensor;
  }

private:
  DenseMap<Value, int64_t> uses;
  DenseMap<Value, HostTensor> values;
};
} // namespace

static FailureOr<SmallVector<HostTensor>>
useOperands(Operation &op, Environment &environment) {
  SmallVector<HostTensor> operands;
  for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
    std::optional<HostTensor> value = environment.use(operand);
    if (!value) {
      op.emitOpError()
          << "operand " << index
          << " has no value: it is defined outside of the evaluated block";
      return failure();
    }
    operands.push_back(std::move(*value));
  }
  return operands;
}

/// The values of the op's results.
static LogicalResult evaluateOp(Operation &op, ArrayRef<HostTensor> operands,
                                const EvaluationContext &context,
                                ParameterLookup lookup,
                                SmallVectorImpl<HostTensor> &results) {
  if (auto read = dyn_cast<ReadOp>(op); read && lookup) {
    auto type = cast<RankedTensorType>(read.getType());
    if (std::optional<HostTensor> value = lookup(read.getParameter(), type)) {
      if (value->getType() != type)
        return read.emitOpError()
               << "was given a value of type " << value->getType()
               << " for parameter '" << read.getParameter() << "' of type "
               << type;
      results.push_back(std::move(*value));
      return success();
    }
  }
  auto evaluable = dyn_cast<EvaluableOp>(op);
  if (!evaluable)
    return op.emitOpError() << "cannot be evaluated";
  return evaluable.evaluate(context, operands, results);
}

FailureOr<SmallVector<HostTensor>>
evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
              const EvaluationContext &context, ParameterLookup lookup) {
  if (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>()) {
    if (Operation *parent = block.getParentOp())
      parent->emitOpError()
          << "has a block without terminator, so without results to evaluate";
    return failure();
  }
  Operation &terminator = block.back();
  if (arguments.size() != block.getNumArguments()) {
    emitError(terminator.getLoc())
        << "got " << arguments.size() << " values for "
        << block.getNumArguments() << " arguments";
    return failure();
  }
  Environment environment(block);
  for (auto [index, argument, value] :
       llvm::enumerate(block.getArguments(), arguments)) {
    if (value.getType() != argument.getType()) {
      emitError(argument.getLoc())
          << "argument " << index << " of type " << argument.getType()
          << " got a value of type " << value.getType();
      return failure();
    }
    environment.define(argument, value);
  }

  for (Operation &op : block.without_terminator()) {
    FailureOr<SmallVector<HostTensor>> operands = useOperands(op, environment);
    SmallVector<HostTensor> results;
    if (failed(operands) ||
        failed(evaluateOp(op, *operands, context, lookup, results)))
      return failure();
    for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
      environment.define(result, std::move(value));
  }
  return useOperands(terminator, environment);
}

FailureOr<SmallVector<HostTensor>>
evaluateFunction(func::FuncOp function, ArrayRef<HostTensor> inputs,
                 const EvaluationContext &context, ParameterLookup lookup) {
  if (!function.getBody().hasOneBlock()) {
    function.emitOpError() << "must have one block to be evaluated, but has "
                           << function.getBody().getBlocks().size();
    return failure();
  }
  return evaluateBlock(function.getBody().front(), inputs, context, lookup);
}

} // namespace rondo::nn
