//===- Cuts.cpp - Where to cut a loss function into layers ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations are cut, and the segments between cuts at which little is
// live. If every value that reaches the loss goes through one value, any
// topological order has a cut there, so program order finds all of these.
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"
#include "Segments.h"
#include "rondo/Dialect/NN/NN.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

/// A segment with more products than this is cut where several values are
/// live: no usual layer has that many (attention has 6, written out).
static constexpr int64_t kManyProducts = 16;
/// More live values than this make no boundary.
static constexpr int64_t kMostLive = 8;

bool pipe::isProduct(Operation *op) {
  auto cost = dyn_cast<nn::CostOp>(op);
  return cost && cost.getCost().isProduct;
}

bool pipe::isLookup(Operation *op) {
  auto gather = dyn_cast<nn::GatherOp>(op);
  return gather && isa<FloatType>(getElementTypeOrSelf(gather.getType())) &&
         !gather.getOperand().getDefiningOp<nn::ConstantOp>();
}

/// Whether recomputing `op` in every layer that uses its result costs more
/// than keeping the result. Outer products (rotary angles) do not.
static bool isExpensive(Operation *op) {
  if (isLookup(op))
    return true;
  if (!isProduct(op))
    return false;
  int64_t elements = 0;
  for (Type type : op->getResultTypes())
    elements += cast<RankedTensorType>(type).getNumElements();
  return cast<nn::CostOp>(op).getCost().flops > 4 * elements;
}

MainOps pipe::findMainOps(func::FuncOp loss,
                          llvm::function_ref<bool(StringRef)> isTrainable) {
  Block &block = loss.getBody().front();
  Operation *last = block.getTerminator()->getOperand(0).getDefiningOp();
  // What each value depends on. Absent values depend on constants alone.
  struct Dependence {
    bool input = false, trainable = false, main = false;
  };
  DenseMap<Value, Dependence> dependences;
  for (BlockArgument argument : block.getArguments())
    dependences[argument].input = true;
  MainOps main;
  for (Operation &op : block.without_terminator()) {
    Dependence result;
    if (auto read = dyn_cast<nn::ReadOp>(op))
      result.trainable = isTrainable(read.getParameter());
    for (Value operand : op.getOperands()) {
      Dependence dependence = dependences.lookup(operand);
      result.input |= dependence.input;
      result.trainable |= dependence.trainable;
      result.main |= dependence.main;
    }
    result.main |= result.input && (result.trainable || isExpensive(&op));
    result.main |= &op == last;
    if (result.main) {
      main.position[&op] = main.ops.size();
      main.ops.push_back(&op);
    }
    for (Value value : op.getResults())
      dependences[value] = result;
  }
  return main;
}

/// The last position at which `value` is used; its own position if nowhere.
static int64_t getLastUse(const MainOps &main, Value value) {
  int64_t lastUse = main.position.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    auto found = main.position.find(user);
    // Only the function's return is not among the main operations.
    lastUse = std::max(lastUse, found == main.position.end()
                                    ? static_cast<int64_t>(main.ops.size())
                                    : found->second);
  }
  return lastUse;
}

SmallVector<Value> pipe::getLiveValues(const MainOps &main, int64_t cut) {
  SmallVector<Value> live;
  for (Operation *op : ArrayRef(main.ops).take_front(cut))
    for (Value value : op->getResults())
      if (getLastUse(main, value) >= cut)
        live.push_back(value);
  return live;
}

/// How many values are live at each cut 0..n.
static SmallVector<int64_t> countLive(const MainOps &main) {
  SmallVector<int64_t> change(main.ops.size() + 2, 0);
  for (auto [position, op] : llvm::enumerate(main.ops))
    for (Value value : op->getResults()) {
      ++change[position + 1];
      --change[getLastUse(main, value) + 1];
    }
  SmallVector<int64_t> live;
  int64_t sum = 0;
  for (int64_t delta : ArrayRef(change).drop_back())
    live.push_back(sum += delta);
  return live;
}

/// Splits [begin, end) wherever `width` values are live, and the parts that are
/// still large where more are. Appends the parts' ends.
static void splitSegments(const MainOps &main, ArrayRef<int64_t> live,
                          int64_t begin, int64_t end, int64_t width,
                          SmallVectorImpl<int64_t> &ends) {
  if (width > kMostLive) {
    ends.push_back(end);
    return;
  }
  for (int64_t cut = begin + 1, from = begin; cut <= end; ++cut) {
    if (cut != end && live[cut] != width)
      continue;
    int64_t products =
        llvm::count_if(ArrayRef(main.ops).slice(from, cut - from), isProduct);
    if (products > kManyProducts)
      splitSegments(main, live, from, cut, width + 1, ends);
    else
      ends.push_back(cut);
    from = cut;
  }
}

/// Operations and types of a segment, as text: two segments with one text are
/// alike. Attributes do not count, so that layers which differ in a window or a
/// table still have the same extent; whether they share a body is decided by
/// comparing everything.
static std::string describe(const MainOps &main, int64_t begin, int64_t end) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (int64_t i = begin; i < end; ++i) {
    Operation *op = main.ops[i];
    stream << op->getName();
    for (Value operand : op->getOperands()) {
      auto found = main.position.find(operand.getDefiningOp());
      if (found != main.position.end() && found->second >= begin)
        stream << " " << found->second - begin;
      else
        stream << " " << operand.getType();
    }
    for (Type type : op->getResultTypes())
      stream << " " << type;
    stream << ";";
  }
  return text;
}

SmallVector<int64_t> pipe::findLayerEnds(const MainOps &main) {
  SmallVector<int64_t> ends;
  splitSegments(main, countLive(main), 0, main.ops.size(), 1, ends);
  llvm::StringMap<int64_t> kinds;
  SmallVector<Segment> segments;
  int64_t begin = 0;
  for (int64_t end : ends) {
    Segment segment;
    for (Operation *op : ArrayRef(main.ops).slice(begin, end - begin)) {
      segment.products += isProduct(op);
      segment.lookups += isLookup(op);
    }
    segment.kind = kinds.try_emplace(describe(main, begin, end), kinds.size())
                       .first->second;
    segments.push_back(segment);
    begin = end;
  }
  SmallVector<int64_t> layerEnds;
  for (int64_t segmentEnd : groupSegments(segments))
    layerEnds.push_back(ends[segmentEnd - 1]);
  return layerEnds;
}
