//===- FoldConstants.cpp - Evaluates what is known at compile time ------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNFOLDCONSTANTS
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

static constexpr int64_t smallElements = 1 << 16;
static constexpr int64_t vectorElements = 1 << 20;
static constexpr int64_t tableElements = 1 << 26;

//===----------------------------------------------------------------------===//
// What is small
//===----------------------------------------------------------------------===//

/// Whether at most one axis is longer than 1.
static bool isLine(RankedTensorType type) {
  return llvm::count_if(type.getShape(),
                        [](int64_t extent) { return extent > 1; }) <= 1;
}

static bool isSmall(RankedTensorType type) {
  int64_t count = type.getNumElements();
  Type element = type.getElementType();
  bool isNumberOfInteger = isa<IntegerType>(element) && !element.isInteger(1);
  return count <= smallElements ||
         (count <= vectorElements && (isNumberOfInteger || isLine(type)));
}

static bool isTable(RankedTensorType type) {
  return isa<FloatType>(type.getElementType()) &&
         type.getNumElements() <= tableElements;
}

/// Whether a value may be held while a result is being computed: a large
/// comparison is a mask.
static bool isIntermediate(RankedTensorType type) {
  return isSmall(type) || (!type.getElementType().isInteger(1) &&
                           type.getNumElements() <= tableElements);
}

namespace {

struct FoldConstants : rondo::nn::impl::NNFoldConstantsBase<FoldConstants> {
  using NNFoldConstantsBase::NNFoldConstantsBase;

  void runOnOperation() override {
    for (Block &block : getOperation().getBody()) {
      simplify(block);
      foldBlock(block);
      simplify(block);
    }
  }

private:
  /// Folds identities, merges equal constants, removes dead code.
  void simplify(Block &block) {
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true).setRegionSimplificationLevel(
        GreedySimplifyRegionLevel::Disabled);
    // Whether a fixpoint was reached makes no difference to what is right.
    (void)applyPatternsGreedily(*block.getParent(), FrozenRewritePatternSet(),
                                config);
  }

  void foldBlock(Block &block);
  bool isKnown(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && known.contains(op);
  }
  bool mayFold(Value value, bool isMask) const;
  void fold(Value value, bool isMask);
  bool evaluate(Value value);

  /// Ops whose results depend on constants alone.
  SetVector<Operation *> known;
  /// Values that were looked at.
  DenseSet<Value> visited;
};

} // namespace

void FoldConstants::foldBlock(Block &block) {
  known.clear();
  visited.clear();
  for (Operation &op : block)
    if (isa<EvaluableOp>(op) && !isa<ReadOp>(op) && isPure(&op) &&
        llvm::all_of(op.getOperands(),
                     [&](Value operand) { return isKnown(operand); }))
      known.insert(&op);
  // Where known values meet others is where constants are wanted.
  SmallVector<std::pair<Value, bool>> frontier;
  for (Operation &op : block) {
    if (known.contains(&op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      auto attention = dyn_cast<AttentionOp>(op);
      bool isMask = attention && attention.getMask() &&
                    operand.get() == attention.getMask();
      if (isKnown(operand.get()))
        frontier.push_back({operand.get(), isMask});
    }
  }
  for (auto [value, isMask] : frontier)
    fold(value, isMask);
}

bool FoldConstants::mayFold(Value value, bool isMask) const {
  RankedTensorType type = getTensor(value);
  if (!isSmall(type) && (isMask || !tables || !isTable(type)))
    return false;
  // Everything that it is computed from must be affordable, too.
  SmallVector<Value> pending = {value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second || next.getDefiningOp<ConstantOp>())
      continue;
    if (!isIntermediate(getTensor(next)))
      return false;
    llvm::append_range(pending, next.getDefiningOp()->getOperands());
  }
  return true;
}

/// Folds `value`, else what it is made of.
void FoldConstants::fold(Value value, bool isMask) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!visited.insert(next).second || isa<ConstantOp>(op))
      continue;
    // These cost nothing, their results do.
    if (!isa<BroadcastOp, IotaOp>(op) && mayFold(next, isMask) &&
        evaluate(next)) {
      ++numFolded;
      continue;
    }
    // In reverse, so that they are taken in order.
    llvm::append_range(pending, llvm::reverse(op->getOperands()));
  }
}

/// Replaces `value` by a constant.
bool FoldConstants::evaluate(Value value) {
  // The ops in the order of the block, and the uses among them.
  Operation *root = value.getDefiningOp();
  SetVector<Operation *> cone;
  cone.insert(root);
  DenseMap<Value, int64_t> uses;
  for (size_t i = 0; i < cone.size(); ++i)
    for (Value operand : cone[i]->getOperands()) {
      ++uses[operand];
      cone.insert(operand.getDefiningOp());
    }
  SmallVector<Operation *> ops = cone.takeVector();
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });

  EvaluationContext context;
  context.quiet = true; // what cannot be evaluated is reported where it runs
  DenseMap<Value, HostTensor> values;
  for (Operation *op : ops) {
    SmallVector<HostTensor> operands, results;
    for (Value operand : op->getOperands()) {
      if (--uses[operand] > 0) {
        operands.push_back(values[operand]);
        continue;
      }
      operands.push_back(std::move(values[operand]));
      values.erase(operand);
    }
    if (failed(cast<EvaluableOp>(op).evaluate(context, operands, results)))
      return false;
    for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results))
      if (result == value || uses.lookup(result) > 0)
        values[result] = std::move(tensor);
  }
  OpBuilder builder(root);
  Value constant =
      ConstantOp::create(builder, root->getLoc(), values[value].toAttribute());
  known.insert(constant.getDefiningOp());
  value.replaceAllUsesWith(constant);
  return true;
}
