//===- Plan.cpp - What is kept in memory and which kernels fill it -------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/Pipe/Pipe.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;
using kern::FusedKind;

static int64_t getElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

static Space getElementwise(Value value) {
  return Space{FusedKind::Elementwise, getElements(value), 1, 1};
}

/// The space of a kernel whose root is the canonical reduction `op`.
static Space getSpace(nn::ReduceOp op) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getOperand().getType()).getShape();
  if (shape.size() == 2)
    return Space{FusedKind::Row, shape[0], 1, shape[1]};
  return Space{FusedKind::Column, shape[0], shape[2], shape[1]};
}

bool lowering::isGradient(func::FuncOp function, unsigned index) {
  auto role = function.getResultAttrOfType<pipe::RoleAttr>(index, "pipe.role");
  return role && role.getValue() == pipe::Role::Gradient;
}

//===----------------------------------------------------------------------===//
// Where results lie
//===----------------------------------------------------------------------===//

/// Of composites, what they are made of is checked.
LogicalResult Plan::checkProducts() {
  bool failedAny = false;
  for (Operation &op : function.getBody().front()) {
    if (!isa<nn::MatmulOp, nn::AttentionOp, nn::AttentionGradOp,
             nn::LinearCrossEntropyOp, nn::LinearCrossEntropyGradOp>(op) ||
        !getElementTypeOrSelf(op.getOperand(0)).isF64())
      continue;
    op.emitError("'") << op.getName()
                      << "' has operands in f64; products are computed in "
                         "f32, bf16 or f16";
    failedAny = true;
  }
  return failure(failedAny);
}

/// Whether what computes `value` can add it to what is there.
static bool addsToGradient(Value value) {
  if (auto head = value.getDefiningOp<nn::LinearCrossEntropyGradOp>())
    return value == head.getDWeight() || value == head.getDBias();
  return isa<nn::MatmulOp, nn::ScatterAddOp>(value.getDefiningOp());
}

/// Products and scatters that only a gradient uses add to it themselves; other
/// gradients are added by the kernel that computes them.
void Plan::placeGradient(Value value, int64_t result) {
  Value base = stripReshapes(value);
  Operation *producer = base.getDefiningOp();
  bool isOnlyUse = true;
  for (Value at = value;; at = at.getDefiningOp()->getOperand(0)) {
    isOnlyUse &= at.hasOneUse();
    if (at == base)
      break;
  }
  bool isF32 = cast<RankedTensorType>(base.getType()).getElementType().isF32();
  if (producer && addsToGradient(base) && isOnlyUse && isF32) {
    resultOf[base] = result;
    accumulated.insert(base);
    return;
  }
  // A sum over columns starts from the gradient; what is computed from such a
  // sum cannot.
  if (producer && isFusible(producer) && !isa<nn::ReduceOp>(producer)) {
    SmallVector<Value> stack(producer->getOperands());
    llvm::DenseSet<Value> seen;
    while (!stack.empty()) {
      Value next = stack.pop_back_val();
      Operation *op = next.getDefiningOp();
      if (!op || !isFusible(op) || !seen.insert(next).second)
        continue;
      if (auto reduce = dyn_cast<nn::ReduceOp>(op);
          reduce && getSpace(reduce).kind == FusedKind::Column) {
        stored.insert(base);
        break;
      }
      llvm::append_range(stack, op->getOperands());
    }
  }
  gradients.push_back({base, /*accumulate=*/true, result});
}

void Plan::placeResults() {
  Block &block = function.getBody().front();
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    if (isGradient(function, index)) {
      placeGradient(value, index);
      continue;
    }
    Value base = stripReshapes(value);
    if (isa<BlockArgument>(base) || resultOf.contains(base)) {
      copies.push_back({base, int64_t(index)});
      continue;
    }
    resultOf[base] = index;
    stored.insert(base);
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Fills what a fused step computes on the way and what it reads.
void Plan::collect(Step &step) {
  step.inlined.clear();
  step.inputs.clear();
  llvm::SetVector<Value> reads;
  SmallVector<Value> stack;
  auto isOutput = [&](Value value) {
    return llvm::any_of(step.outputs, [&](const Output &output) {
      return output.value == value;
    });
  };
  for (const Output &output : llvm::reverse(step.outputs))
    stack.push_back(output.value);
  while (!stack.empty()) {
    Value value = stripReshapes(stack.pop_back_val());
    Operation *op = value.getDefiningOp();
    bool isComputed = op && isFusible(op);
    if (isComputed && stored.contains(value)) {
      // An output that only adds a stored value reads it.
      isComputed = llvm::any_of(step.outputs, [&](const Output &output) {
        return output.value == value && !output.accumulate;
      });
    } else if (isComputed && isOutput(value)) {
      isComputed = true;
    }
    if (!isComputed) {
      reads.insert(value);
      continue;
    }
    if (step.inlined.insert(value))
      llvm::append_range(stack, llvm::reverse(op->getOperands()));
  }
  step.inputs = SmallVector<Value>(reads.getArrayRef());
}

/// The space of a step with one output; `blocker`: a reduction that does not
/// fit into it.
static Space chooseSpace(const Step &step, Value &blocker) {
  Value root = step.outputs.front().value;
  SmallVector<nn::ReduceOp> reduces;
  for (Value value : step.inlined)
    if (auto reduce = value.getDefiningOp<nn::ReduceOp>())
      reduces.push_back(reduce);
  if (reduces.empty())
    return getElementwise(root);
  auto fits = [&](const Space &space) {
    int64_t outer = space.outer * space.inner;
    return getElements(root) == outer ||
           (space.kind == FusedKind::Row &&
            getElements(root) == outer * space.width);
  };
  std::optional<Space> chosen;
  if (auto reduce = root.getDefiningOp<nn::ReduceOp>();
      reduce && step.inlined.contains(root))
    chosen = getSpace(reduce);
  for (FusedKind kind : {FusedKind::Row, FusedKind::Column})
    for (nn::ReduceOp reduce : reduces)
      if (!chosen && getSpace(reduce).kind == kind && fits(getSpace(reduce)))
        chosen = getSpace(reduce);
  for (nn::ReduceOp reduce : reduces)
    if (!chosen || getSpace(reduce) != *chosen) {
      blocker = reduce.getResult();
      break;
    }
  return chosen ? *chosen : getElementwise(root);
}

/// What is computed from a reduction's result alone, as far as it has one value
/// for each of it: the inverse root rather than the sum, so that it is computed
/// once.
static Value followResult(Value value, const Step &step) {
  for (Value at = value; at.hasOneUse();) {
    Operation *user = *at.user_begin();
    if (!isFusible(user) || isa<nn::ReduceOp>(user) ||
        getElements(user->getResult(0)) != getElements(value))
      break;
    at = user->getResult(0);
    if (step.inlined.contains(at))
      value = at;
    else if (!isa<nn::ReshapeOp>(user))
      break;
  }
  return value;
}

/// What to store so that a kernel becomes simpler: not its root.
static Value chooseBlocker(const Step &step, Value wanted) {
  Value root = step.outputs.front().value;
  auto canBeStored = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return value != root && op && isFusible(op) && !isa<nn::ConstantOp>(op);
  };
  if (wanted && canBeStored(wanted)) {
    Value last = followResult(wanted, step);
    return canBeStored(last) ? last : wanted;
  }
  for (Value value : step.inlined)
    if (value.getDefiningOp<nn::ReduceOp>() && canBeStored(value))
      return value;
  for (Value operand : root.getDefiningOp()->getOperands())
    if (canBeStored(stripReshapes(operand)) &&
        step.inlined.contains(stripReshapes(operand)))
      return stripReshapes(operand);
  return {};
}

LogicalResult Plan::makeFused(const Output &output, bool &changed) {
  Step step;
  step.outputs.push_back(output);
  step.position = output.value.getDefiningOp()
                      ? positions.lookup(output.value.getDefiningOp())
                      : 0;
  collect(step);
  Value blocker;
  step.space = chooseSpace(step, blocker);
  if (!blocker) {
    FusedBuilder builder(output.value.getLoc(), step.space, step.outputs,
                         [&](Value v) { return isStored(v); });
    if (builder.build()) {
      steps.push_back(std::move(step));
      return success();
    }
    blocker = builder.getBlocker();
  }
  blocker =
      output.value.getDefiningOp() ? chooseBlocker(step, blocker) : Value();
  if (!blocker)
    return mlir::emitError(output.value.getLoc(),
                           "internal error: no kernel could be formed for a "
                           "value of type ")
           << output.value.getType();
  stored.insert(blocker);
  changed = true;
  return success();
}

LogicalResult Plan::makeSteps(bool &changed) {
  steps.clear();
  // What ops read must be there before kernels are formed.
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (isFusible(&op) || op.use_empty())
      continue;
    for (Value operand : getOperandsInMemory(&op))
      if (Operation *producer = operand.getDefiningOp();
          producer && isFusible(producer))
        stored.insert(operand);
  }
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.use_empty())
      continue;
    if (!isFusible(&op)) {
      Step step;
      step.op = &op;
      step.inputs = getOperandsInMemory(&op);
      step.position = positions.lookup(&op);
      steps.push_back(std::move(step));
      continue;
    }
    if (stored.contains(op.getResult(0)) &&
        failed(makeFused({op.getResult(0)}, changed)))
      return failure();
  }
  for (const Output &gradient : gradients)
    if (failed(makeFused(gradient, changed)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Sharing
//===----------------------------------------------------------------------===//

/// Ops that are cheaper to repeat on reading than to store the result of.
static bool isMovement(Operation *op) {
  if (auto cast = dyn_cast<nn::CastOp>(op))
    return getElementTypeOrSelf(cast.getResult().getType())
               .getIntOrFloatBitWidth() >=
           getElementTypeOrSelf(cast.getOperand().getType())
               .getIntOrFloatBitWidth();
  return isa<nn::BroadcastOp, nn::TransposeOp, nn::SliceOp, nn::ReshapeOp,
             nn::PadOp, nn::ConcatOp, nn::ConstantOp, nn::IotaOp>(op);
}

/// Whether computing `value` again costs more than reading it: it takes a
/// reduction, a function or a quotient of as many elements, or reads two values
/// as large as it is.
bool Plan::isExpensive(Value value) {
  SmallVector<Value> stack{value};
  llvm::DenseSet<Value> seen;
  int64_t large = 0;
  while (!stack.empty()) {
    Value next = stripReshapes(stack.pop_back_val());
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    bool isLarge = 4 * getElements(next) >= getElements(value);
    if (!op || !isFusible(op) || (stored.contains(next) && next != value)) {
      large += isLarge;
      if (large >= 2)
        return true;
      continue;
    }
    if (isa<nn::ReduceOp>(op))
      return true;
    if (isLarge && isa<nn::ExpOp, nn::LogOp, nn::TanhOp, nn::SigmoidOp,
                       nn::ErfOp, nn::SinOp, nn::CosOp, nn::PowOp, nn::DivOp,
                       nn::SqrtOp, nn::RsqrtOp, nn::ReciprocalOp>(op))
      return true;
    llvm::append_range(stack, op->getOperands());
  }
  return false;
}

/// `value`, or what takes fewer bytes and makes it cheap to compute in each of
/// the kernels that it is in: the rounded sum of which a norm is taken, not the
/// norm.
Value Plan::findNarrower(Value value, const StepsOf &stepsOf) {
  Value best = value;
  SmallVector<unsigned> mine = stepsOf.lookup(value);
  SmallVector<Value> stack{value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value next = stripReshapes(stack.pop_back_val());
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second || !op || !isFusible(op) ||
        stored.contains(next))
      continue;
    llvm::append_range(stack, op->getOperands());
    SmallVector<unsigned> its = stepsOf.lookup(next);
    if (isMovement(op) ||
        nn::getTensorBytes(next) >= nn::getTensorBytes(best) ||
        !std::includes(its.begin(), its.end(), mine.begin(), mine.end()))
      continue;
    stored.insert(next);
    if (!isExpensive(value))
      best = next;
    stored.remove(next);
  }
  return best;
}

/// The values that have far fewer elements than what they are computed from, as
/// far as that is not stored: the results of reductions and what follows from
/// them.
llvm::DenseSet<Value> Plan::findSmall() {
  llvm::DenseSet<Value> small;
  // The most elements of what a reader of a value would compute it from.
  llvm::DenseMap<Value, int64_t> most;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isFusible(&op))
      continue;
    Value value = op.getResult(0);
    int64_t own = getElements(value), largest = own;
    for (Value operand : op.getOperands()) {
      Value source = stripReshapes(operand);
      auto found = most.find(source);
      largest = std::max(largest, found == most.end() ? getElements(source)
                                                      : found->second);
    }
    if (largest >= 4 * own)
      small.insert(value);
    most[value] = stored.contains(value) ? own : largest;
  }
  return small;
}

/// Stores values that several kernels would compute, where that is expensive:
/// the small ones first, as with them the others may be cheap.
bool Plan::storeShared() {
  StepsOf stepsOf;
  for (auto [number, step] : llvm::enumerate(steps))
    for (Value value : step.inlined)
      stepsOf[value].push_back(number);

  llvm::DenseSet<Value> small = findSmall();
  for (bool onlySmall : {true, false}) {
    // Whether one consumer takes `value` to all of the kernels that it is in.
    std::function<bool(Value, ArrayRef<unsigned>)> isCovered =
        [&](Value value, ArrayRef<unsigned> wanted) -> bool {
      for (Operation *user : value.getUsers()) {
        if (!isFusible(user))
          continue;
        Value result = user->getResult(0);
        if (isMovement(user)) {
          if (!stored.contains(result) && isCovered(result, wanted))
            return true;
        } else if (ArrayRef<unsigned>(stepsOf[result]) == wanted &&
                   (!onlySmall || small.contains(result))) {
          return true;
        }
      }
      return false;
    };
    SmallVector<Value> chosen;
    for (Operation &op :
         llvm::reverse(function.getBody().front().without_terminator())) {
      if (!isFusible(&op) || isMovement(&op))
        continue;
      Value value = op.getResult(0);
      SmallVector<unsigned> mine = stepsOf.lookup(value);
      if (mine.size() < 2 || stored.contains(value) ||
          (onlySmall && !small.contains(value)) || isCovered(value, mine) ||
          !isExpensive(value))
        continue;
      chosen.push_back(value);
    }
    for (Value value : chosen)
      stored.insert(onlySmall ? value : findNarrower(value, stepsOf));
    if (!chosen.empty())
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Removes outputs that only their own kernel reads.
void Plan::dropUnread() {
  llvm::DenseSet<Value> read;
  for (const Step &step : steps)
    read.insert(step.inputs.begin(), step.inputs.end());
  for (auto &[value, result] : copies)
    read.insert(value);
  for (Step &step : steps) {
    llvm::erase_if(step.outputs, [&](const Output &output) {
      if (output.accumulate || read.contains(output.value) ||
          resultOf.contains(output.value))
        return false;
      stored.remove(output.value);
      return true;
    });
    if (!step.op)
      collect(step);
  }
}

/// Producers before readers; otherwise in the order of the function's ops.
void Plan::sort() {
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, steps.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::pair(steps[a].position, a) < std::pair(steps[b].position, b);
  });
  DenseMap<Value, unsigned> producer;
  for (auto [number, step] : llvm::enumerate(steps)) {
    if (step.op)
      for (Value result : step.op->getResults())
        producer[result] = number;
    for (const Output &output : step.outputs)
      if (!output.accumulate)
        producer[output.value] = number;
  }
  std::vector<Step> ordered;
  SmallVector<bool> done(steps.size(), false);
  std::function<void(unsigned)> place = [&](unsigned number) {
    if (done[number])
      return;
    done[number] = true;
    for (Value input : steps[number].inputs)
      if (auto it = producer.find(input); it != producer.end())
        place(it->second);
    ordered.push_back(steps[number]);
  };
  for (unsigned number : order)
    place(number);
  steps = std::move(ordered);
}

LogicalResult Plan::compute() {
  if (failed(checkProducts()))
    return failure();
  for (auto [position, op] : llvm::enumerate(function.getBody().front()))
    positions[&op] = position;
  placeResults();
  bool changed = true;
  while (changed) {
    changed = false;
    if (failed(makeSteps(changed)))
      return failure();
    if (!changed)
      changed = storeShared();
  }
  merge();
  dropUnread();
  sort();
  return success();
}
