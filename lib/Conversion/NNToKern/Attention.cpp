//===- Attention.cpp - Attention by blocks of rows -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For each batch, group of heads and block of query rows: scores by products
// over the keys that some row of the block sees, one fused kernel over the
// scores, products again. Scores are f32 and in scratch that all blocks share;
// no block holds more than the given bytes, but at least 128 rows of one head.
// What goes into the second products is rounded to the operands' type, as fast
// products want both of theirs alike.
//
// Which keys a row sees is decided in the kernel by comparing indices, so that
// blocks share kernels: the block's number is the first axis of the kernel's
// domain, and the width of the score buffer is rounded up to one of eight.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;
using kern::FusedKind;

constexpr int64_t kLeastRows = 128;
constexpr int64_t kWidths = 8;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
static Type getElement(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

namespace {
/// An operand of a kernel over one block's scores.
struct BlockAccess {
  Value memory;
  int64_t offset = 0;
  SmallVector<int64_t, 4> strides; ///< Block, head, row, key.
};

/// One block of rows for some heads.
struct ScoreBlock {
  int64_t batch = 0, head = 0; ///< The first head.
  int64_t number = 0;          ///< Of the block, if it is a whole one.
  int64_t blocks = 1;          ///< Whole ones; 1 for a rest.
  int64_t row = 0, rows = 0;
  int64_t key = 0, keys = 0; ///< That some row sees.
  int64_t width = 0;         ///< Of the score buffer.
};
} // namespace

namespace rondo::lowering {

class AttentionEmitter {
public:
  AttentionEmitter(Emitter &emitter, Operation *op, Value query, Value key,
                   Value value, double scale, bool causal,
                   std::optional<int64_t> window, bool rowsFirst)
      : emitter(emitter), b(emitter.builder), loc(op->getLoc()),
        q(getHeadView(query)), k(getHeadView(key)), v(getHeadView(value)),
        element(getElement(query)), scale(scale), causal(causal),
        window(window), rowsFirst(rowsFirst), batches(getShape(query)[0]),
        heads(getShape(query)[1]), rows(getShape(query)[2]),
        depth(getShape(query)[3]), keyHeads(getShape(key)[1]),
        keys(getShape(key)[2]), valueDepth(getShape(value)[3]) {
    chooseBlocks();
  }

  void emitForward(nn::AttentionOp op);
  void emitBackward(nn::AttentionGradOp op);

private:
  using Body = llvm::function_ref<SmallVector<Value>(ValueRange arguments,
                                                     Value visible)>;

  void chooseBlocks();
  void forBlocks(llvm::function_ref<void(const ScoreBlock &)> body);
  Value createScores(Type element) {
    return emitter.createScratch({groupHeads * blockRows * widest}, element);
  }
  /// `scores` itself, or scratch of a narrower element type.
  Value createRounded(Value scores) {
    return element.isF32() ? scores : createScores(element);
  }
  int64_t getKeyHead(int64_t head) const { return head / (heads / keyHeads); }

  void multiply(
      const ScoreBlock &block, GemmShape shape, Value aMemory, Value bMemory,
      Value cMemory,
      llvm::function_ref<GemmOffsets(int64_t head, int64_t local)> getOffsets);
  void emitScores(const ScoreBlock &block, const HeadView &left,
                  const HeadView &right, int64_t inner, float alpha,
                  Value scores);
  void emitKernel(const ScoreBlock &block, FusedKind kind,
                  ArrayRef<BlockAccess> inputs, ArrayRef<BlockAccess> outputs,
                  Body body);
  Value buildVisible(const ScoreBlock &block);
  BlockAccess accessScores(const ScoreBlock &block, Value scores);
  BlockAccess accessRows(const ScoreBlock &block, Value memory);
  BlockAccess accessMask(const ScoreBlock &block, Value mask);
  Value emitRowProducts(const HeadView &cotangent, const HeadView &result);
  void emitRounding(Value from, Value to);

  Value number(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value index(int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
  }
  Value round(Value value) {
    return element.isF32()
               ? value
               : Value(arith::TruncFOp::create(b, loc, element, value));
  }
  Value widen(Value value) {
    return value.getType().isF32()
               ? value
               : Value(arith::ExtFOp::create(b, loc, b.getF32Type(), value));
  }

  Emitter &emitter;
  OpBuilder &b;
  Location loc;
  HeadView q, k, v;
  Type element;
  double scale;
  bool causal;
  std::optional<int64_t> window;
  bool rowsFirst;
  int64_t batches, heads, rows, depth, keyHeads, keys, valueDepth;
  int64_t groupHeads = 1, blockRows = 1, widest = 1;
};

} // namespace rondo::lowering

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void AttentionEmitter::chooseBlocks() {
  int64_t elements = std::max<int64_t>(emitter.options.scoreBytes / 4, 1);
  int64_t least = std::min(kLeastRows, rows);
  // All heads, or as many as leave enough rows: whole groups that share a key
  // head, or a part of one.
  groupHeads = heads;
  while (groupHeads > 1 && groupHeads * least * keys > elements) {
    int64_t next = groupHeads - 1;
    while (heads % next)
      --next;
    groupHeads = next;
  }
  blockRows = std::clamp<int64_t>(elements / (groupHeads * keys), least, rows);
  if (blockRows < rows) {
    blockRows = std::max<int64_t>(blockRows / 16 * 16, 1);
    // Equal blocks, if that makes them not much smaller.
    for (int64_t smaller = blockRows; smaller * 2 >= blockRows && smaller >= 16;
         smaller -= 16)
      if (rows % smaller == 0) {
        blockRows = smaller;
        break;
      }
  }
  widest = keys;
}

void AttentionEmitter::forBlocks(
    llvm::function_ref<void(const ScoreBlock &)> body) {
  int64_t shift = keys - rows;
  for (int64_t batch = 0; batch < batches; ++batch)
    for (int64_t head = 0; head < heads; head += groupHeads)
      for (int64_t row = 0; row < rows; row += blockRows) {
        ScoreBlock block;
        block.batch = batch;
        block.head = head;
        block.row = row;
        block.rows = std::min(blockRows, rows - row);
        bool isWhole = block.rows == blockRows;
        block.number = isWhole ? row / blockRows : 0;
        block.blocks = isWhole ? rows / blockRows : 1;
        int64_t end =
            causal ? std::clamp<int64_t>(row + block.rows + shift, 1, keys)
                   : keys;
        // At a multiple of the accumulators, so that a key keeps its own.
        if (window)
          block.key =
              std::clamp<int64_t>(row + shift - *window + 1, 0, end - 1) /
              kern::kLanes * kern::kLanes;
        block.keys = end - block.key;
        int64_t step =
            llvm::alignTo(llvm::divideCeil(keys, kWidths), kern::kLanes);
        block.width = std::min<int64_t>(llvm::alignTo(block.keys, step),
                                        keys - block.key);
        body(block);
      }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// One product for each head of the block. Heads with the same place in their
/// groups come together, as only those are evenly apart in the keys.
void AttentionEmitter::multiply(
    const ScoreBlock &block, GemmShape shape, Value aMemory, Value bMemory,
    Value cMemory,
    llvm::function_ref<GemmOffsets(int64_t, int64_t)> getOffsets) {
  int64_t shared = std::min(heads / keyHeads, groupHeads);
  SmallVector<GemmOffsets> products;
  for (int64_t place = 0; place < shared; ++place)
    for (int64_t local = place; local < groupHeads; local += shared)
      products.push_back(getOffsets(block.head + local, local));
  createGemms(b, loc, shape, aMemory, bMemory, cMemory, products);
}

/// scores = alpha * left right^T, over `inner` columns.
void AttentionEmitter::emitScores(const ScoreBlock &block, const HeadView &left,
                                  const HeadView &right, int64_t inner,
                                  float alpha, Value scores) {
  GemmShape shape;
  shape.m = block.rows;
  shape.n = block.keys;
  shape.k = inner;
  shape.transposeB = true;
  shape.alpha = alpha;
  shape.ldc = block.width;
  setOperand(block.rows, inner, left.rowStride, left.columnStride,
             shape.transposeA, shape.lda);
  setOperand(block.keys, inner, right.rowStride, right.columnStride,
             shape.transposeB, shape.ldb);
  multiply(
      block, shape, emitter.getMemory(left.base), emitter.getMemory(right.base),
      scores, [&](int64_t head, int64_t local) {
        return GemmOffsets{left.at(block.batch, head, block.row),
                           right.at(block.batch, getKeyHead(head), block.key),
                           local * block.rows * block.width};
      });
}

//===----------------------------------------------------------------------===//
// Kernels over scores
//===----------------------------------------------------------------------===//

BlockAccess AttentionEmitter::accessScores(const ScoreBlock &block,
                                           Value scores) {
  return {scores, 0, {0, block.rows * block.width, block.width, 1}};
}

/// Of f32 [batch, heads, rows].
BlockAccess AttentionEmitter::accessRows(const ScoreBlock &block,
                                         Value memory) {
  int64_t first = (block.batch * heads + block.head) * rows + block.row -
                  block.number * blockRows;
  return {memory, first, {blockRows, rows, 1, 0}};
}

BlockAccess AttentionEmitter::accessMask(const ScoreBlock &block, Value mask) {
  ArrayRef<int64_t> shape = getShape(mask);
  SmallVector<int64_t> own = nn::getRowMajorStrides(shape);
  SmallVector<int64_t, 4> strides(4, 0); // batch, head, row, key
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1)
      strides[axis + 4 - shape.size()] = own[axis];
  int64_t first = block.batch * strides[0] + block.head * strides[1] +
                  (block.row - block.number * blockRows) * strides[2] +
                  block.key * strides[3];
  return {emitter.getMemory(stripReshapes(mask)),
          first,
          {blockRows * strides[2], strides[1], strides[2], strides[3]}};
}

/// Whether the row sees the key: from their distance, which needs the number of
/// the block only where the keys begin at the same one for all blocks.
Value AttentionEmitter::buildVisible(const ScoreBlock &block) {
  if (!causal && !window)
    return {};
  bool fromStart = block.key == 0;
  int64_t blockStride = fromStart && block.blocks > 1 ? -blockRows : 0;
  int64_t first = block.key - block.row - block.number * blockStride;
  auto distance = kern::IndexOp::create(
      b, loc, b.getI64Type(),
      kern::AccessAttr::get(b.getContext(), first, {blockStride, 0, -1, 1}));
  int64_t shift = keys - rows;
  Value visible;
  if (causal)
    visible = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, distance,
                                    index(shift));
  if (window) {
    Value isNear = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                         distance, index(shift - *window));
    visible = visible ? Value(arith::AndIOp::create(b, loc, visible, isNear))
                      : isNear;
  }
  return visible;
}

void AttentionEmitter::emitKernel(const ScoreBlock &block, FusedKind kind,
                                  ArrayRef<BlockAccess> inputs,
                                  ArrayRef<BlockAccess> outputs, Body body) {
  SmallVector<Value> inputMemory, outputMemory;
  SmallVector<Attribute> inputAccess, outputAccess;
  auto add = [&](ArrayRef<BlockAccess> accesses, SmallVector<Value> &memory,
                 SmallVector<Attribute> &attributes) {
    for (const BlockAccess &access : accesses) {
      memory.push_back(access.memory);
      SmallVector<int64_t, 4> strides = access.strides;
      if (block.blocks == 1)
        strides[0] = 0;
      attributes.push_back(
          kern::AccessAttr::get(b.getContext(), access.offset, strides));
    }
  };
  add(inputs, inputMemory, inputAccess);
  add(outputs, outputMemory, outputAccess);
  auto op = kern::FusedOp::create(
      b, loc, kind,
      ArrayRef<int64_t>{block.blocks, groupHeads, block.rows, block.width},
      ArrayRef<int64_t>{block.number, block.number + 1}, inputMemory,
      b.getArrayAttr(inputAccess), outputMemory, b.getArrayAttr(outputAccess),
      SmallVector<bool>(outputs.size(), false));
  OpBuilder::InsertionGuard guard(b);
  Block &region = op.getBody().emplaceBlock();
  for (Value memory : inputMemory)
    region.addArgument(cast<MemRefType>(memory.getType()).getElementType(),
                       loc);
  b.setInsertionPointToStart(&region);
  Value visible = buildVisible(block);
  kern::YieldOp::create(b, loc, body(region.getArguments(), visible));
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitForward(nn::AttentionOp op) {
  Value scores = createScores(b.getF32Type()), weights = createRounded(scores);
  Value statistics = emitter.getMemory(op.getStatistics()),
        result = emitter.getMemory(op.getResult());
  Value mask = op.getMask();
  forBlocks([&](const ScoreBlock &block) {
    emitScores(block, q, k, depth, scale, scores);
    BlockAccess access = accessScores(block, scores);
    SmallVector<BlockAccess> inputs{access};
    if (mask)
      inputs.push_back(accessMask(block, mask));
    emitKernel(
        block, FusedKind::Row, inputs,
        {accessScores(block, weights), accessRows(block, statistics)},
        [&](ValueRange arguments, Value visible) -> SmallVector<Value> {
          Value score = arguments[0];
          Value lowest = number(-std::numeric_limits<double>::infinity());
          if (op.getFill())
            score = arith::SelectOp::create(
                b, loc, arguments[1], score,
                number(op.getFill()->convertToDouble()));
          else if (mask && getElement(mask).isInteger(1))
            visible = visible ? Value(arith::AndIOp::create(b, loc, visible,
                                                            arguments[1]))
                              : arguments[1];
          else if (mask)
            score = arith::AddFOp::create(b, loc, score, widen(arguments[1]));
          if (visible)
            score = arith::SelectOp::create(b, loc, visible, score, lowest);
          Value most = kern::ReduceOp::create(b, loc, score.getType(),
                                              kern::Combiner::Max, score);
          // A row that sees nothing: weights of 0, not of 0 / 0, unless that is
          // wanted.
          Value isBlind = arith::CmpFOp::create(
              b, loc, arith::CmpFPredicate::OEQ, most, lowest);
          Value shift =
              arith::SelectOp::create(b, loc, isBlind, number(0), most);
          Value centred = arith::SubFOp::create(b, loc, score, shift);
          Value power = math::ExpOp::create(b, loc, centred);
          Value sum = kern::ReduceOp::create(b, loc, power.getType(),
                                             kern::Combiner::Sum, power);
          Value divisor = sum;
          if (!op.getUnguarded())
            divisor = arith::SelectOp::create(b, loc, isBlind, number(1), sum);
          Value weight = arith::DivFOp::create(b, loc, power, divisor);
          Value logarithm = math::LogOp::create(b, loc, sum);
          Value statistic = arith::AddFOp::create(b, loc, logarithm, shift);
          return {round(weight), statistic};
        });

    GemmShape shape;
    shape.m = block.rows;
    shape.n = valueDepth;
    shape.k = block.keys;
    shape.lda = block.width;
    HeadView to = getOwnHeadView(op.getResult(), rowsFirst);
    shape.ldc = to.rowStride;
    setOperand(block.keys, valueDepth, v.rowStride, v.columnStride,
               shape.transposeB, shape.ldb);
    multiply(block, shape, weights, emitter.getMemory(v.base), result,
             [&](int64_t head, int64_t local) {
               return GemmOffsets{
                   local * block.rows * block.width,
                   v.at(block.batch, getKeyHead(head), block.key),
                   to.at(block.batch, head, block.row)};
             });
  });
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

/// The sum over each row of cotangent * result, [batch, heads, rows].
Value AttentionEmitter::emitRowProducts(const HeadView &cotangent,
                                        const HeadView &result) {
  Value sums = emitter.createScratch({batches, heads, rows}, b.getF32Type());
  Value memory[] = {emitter.getMemory(cotangent.base),
                    emitter.getMemory(result.base)};
  auto getAccess = [&](int64_t offset, ArrayRef<int64_t> strides) -> Attribute {
    return kern::AccessAttr::get(b.getContext(), offset, strides);
  };
  SmallVector<Attribute> inputs;
  for (const HeadView *view : {&cotangent, &result})
    inputs.push_back(
        getAccess(view->offset, {view->batchStride, view->headStride,
                                 view->rowStride, view->columnStride}));
  SmallVector<Attribute> outputs{getAccess(0, {heads * rows, rows, 1, 0})};
  auto op = kern::FusedOp::create(
      b, loc, FusedKind::Row,
      ArrayRef<int64_t>{batches, heads, rows, valueDepth},
      ArrayRef<int64_t>{0, batches}, memory, b.getArrayAttr(inputs), sums,
      b.getArrayAttr(outputs), ArrayRef<bool>{false});
  OpBuilder::InsertionGuard guard(b);
  Block &region = op.getBody().emplaceBlock();
  for (Value operand : memory)
    region.addArgument(cast<MemRefType>(operand.getType()).getElementType(),
                       loc);
  b.setInsertionPointToStart(&region);
  Value x = widen(region.getArgument(0)), y = widen(region.getArgument(1));
  Value product = arith::MulFOp::create(b, loc, x, y);
  Value sum = kern::ReduceOp::create(b, loc, product.getType(),
                                     kern::Combiner::Sum, product);
  kern::YieldOp::create(b, loc, sum);
  return sums;
}

/// Copies f32 to a narrower type.
void AttentionEmitter::emitRounding(Value from, Value to) {
  auto type = cast<MemRefType>(to.getType());
  Attribute access =
      kern::AccessAttr::get(b.getContext(), 0, ArrayRef<int64_t>{1});
  auto op = kern::FusedOp::create(
      b, loc, FusedKind::Elementwise, ArrayRef<int64_t>{type.getNumElements()},
      ArrayRef<int64_t>{0, type.getNumElements()}, from, b.getArrayAttr(access),
      to, b.getArrayAttr(access), ArrayRef<bool>{false});
  OpBuilder::InsertionGuard guard(b);
  Block &region = op.getBody().emplaceBlock();
  Value wide = region.addArgument(b.getF32Type(), loc);
  b.setInsertionPointToStart(&region);
  Value narrow = arith::TruncFOp::create(b, loc, type.getElementType(), wide);
  kern::YieldOp::create(b, loc, narrow);
}

void AttentionEmitter::emitBackward(nn::AttentionGradOp op) {
  HeadView cotangent = getHeadView(op.getCotangent(), rowsFirst);
  Value statistics = emitter.getMemory(stripReshapes(op.getStatistics()));
  Value sums =
      emitRowProducts(cotangent, getHeadView(op.getResultValue(), rowsFirst));
  Value scores = createScores(b.getF32Type()),
        changes = createScores(b.getF32Type());
  Value weights = createRounded(scores), rounded = createRounded(changes);
  // Sums over blocks are f32 and rounded once.
  auto createSum = [&](Value result) {
    if (result.use_empty())
      return Value();
    Value memory =
        getElement(result).isF32()
            ? emitter.getMemory(result)
            : emitter.createScratch(getShape(result), b.getF32Type());
    kern::ZeroOp::create(b, loc, memory);
    return memory;
  };
  Value keySum = createSum(op.getDKey()), valueSum = createSum(op.getDValue());

  forBlocks([&](const ScoreBlock &block) {
    emitScores(block, q, k, depth, scale, scores);
    emitScores(block, cotangent, v, valueDepth, 1, changes);
    BlockAccess scoreAccess = accessScores(block, scores),
                changeAccess = accessScores(block, changes);
    emitKernel(
        block, FusedKind::Elementwise,
        {scoreAccess, changeAccess, accessRows(block, statistics),
         accessRows(block, sums)},
        {accessScores(block, weights), accessScores(block, rounded)},
        [&](ValueRange arguments, Value visible) -> SmallVector<Value> {
          Value centred =
              arith::SubFOp::create(b, loc, arguments[0], arguments[2]);
          Value weight = math::ExpOp::create(b, loc, centred);
          Value difference =
              arith::SubFOp::create(b, loc, arguments[1], arguments[3]);
          Value product = arith::MulFOp::create(b, loc, weight, difference);
          Value change = arith::MulFOp::create(b, loc, product, number(scale));
          if (!visible)
            return {round(weight), round(change)};
          // What was never computed may hold anything.
          Value zero = number(0);
          weight = arith::SelectOp::create(b, loc, visible, weight, zero);
          change = arith::SelectOp::create(b, loc, visible, change, zero);
          return {round(weight), round(change)};
        });

    if (!op.getDQuery().use_empty()) {
      GemmShape shape;
      shape.m = block.rows;
      shape.n = depth;
      shape.k = block.keys;
      shape.lda = block.width;
      HeadView to = getOwnHeadView(op.getDQuery(), rowsFirst);
      shape.ldc = to.rowStride;
      setOperand(block.keys, depth, k.rowStride, k.columnStride,
                 shape.transposeB, shape.ldb);
      multiply(
          block, shape, rounded, emitter.getMemory(k.base),
          emitter.getMemory(op.getDQuery()), [&](int64_t head, int64_t local) {
            return GemmOffsets{local * block.rows * block.width,
                               k.at(block.batch, getKeyHead(head), block.key),
                               to.at(block.batch, head, block.row)};
          });
    }
    auto addTransposed = [&](Value left, const HeadView &right, int64_t columns,
                             Value result, Value sum) {
      if (!sum)
        return;
      HeadView to = getOwnHeadView(result, rowsFirst);
      GemmShape shape;
      shape.m = block.keys;
      shape.n = columns;
      shape.k = block.rows;
      shape.transposeA = true;
      shape.lda = block.width;
      shape.ldc = to.rowStride;
      shape.accumulate = true;
      setOperand(block.rows, columns, right.rowStride, right.columnStride,
                 shape.transposeB, shape.ldb);
      multiply(block, shape, left, emitter.getMemory(right.base), sum,
               [&](int64_t head, int64_t local) {
                 return GemmOffsets{
                     local * block.rows * block.width,
                     right.at(block.batch, head, block.row),
                     to.at(block.batch, getKeyHead(head), block.key)};
               });
    };
    addTransposed(weights, cotangent, valueDepth, op.getDValue(), valueSum);
    addTransposed(rounded, q, depth, op.getDKey(), keySum);
  });

  for (auto [sum, result] : {std::pair<Value, Value>(keySum, op.getDKey()),
                             {valueSum, op.getDValue()}})
    if (sum && !getElement(result).isF32())
      emitRounding(sum, emitter.getMemory(result));
}

void lowering::emitAttention(Emitter &emitter, nn::AttentionOp op) {
  AttentionEmitter(emitter, op, op.getQuery(), op.getKey(), op.getValue(),
                   op.getScale().convertToDouble(), op.getCausal(),
                   op.getWindow(), op.getRowsFirst())
      .emitForward(op);
}

void lowering::emitAttentionGrad(Emitter &emitter, nn::AttentionGradOp op) {
  AttentionEmitter(emitter, op, op.getQuery(), op.getKey(), op.getValue(),
                   op.getScale().convertToDouble(), op.getCausal(),
                   op.getWindow(), op.getRowsFirst())
      .emitBackward(op);
}
