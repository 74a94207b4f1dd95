//===- LossHead.cpp - Linear and cross entropy in chunks of rows ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// For each chunk of rows: logits by a product, the logit at the label looked up
// (a label that is no class stops the run), one fused kernel for the rows' loss
// and the logits' cotangent, which takes the logits' place where it has their
// type; then hidden's cotangent by a product and the weight's by one that adds.
// All whole chunks are the same calls at other addresses.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::lowering;
using kern::FusedKind;

namespace {
/// An operand of a kernel.
struct Operand {
  Value memory;
  int64_t offset = 0;
  SmallVector<int64_t> strides; ///< One per axis of the kernel's domain.
  bool accumulate = false;      ///< Outputs alone.
};

/// What a chunk leaves behind.
struct HeadResults {
  Value loss;                                ///< Null: not wanted.
  Value dHidden, dWeight, dBias;             ///< Null: not wanted.
  bool addsWeight = false, addsBias = false; ///< To what is there.
};
} // namespace

namespace rondo::lowering {

class LossHeadEmitter {
public:
  template <typename HeadOp>
  LossHeadEmitter(Emitter &emitter, HeadOp op)
      : emitter(emitter), b(emitter.builder), loc(op.getLoc()),
        hidden(getMatrixView(op.getHidden(), /*leadingRows=*/true)),
        weight(getMatrixView(op.getWeight(), /*leadingRows=*/false)),
        labels(emitter.getMemory(stripReshapes(op.getLabels()))),
        isTransposed(op.getTransposeWeight()), ignored(op.getIgnoreIndex()),
        logitsType(op.getLogits()),
        operandType(getElementTypeOrSelf(op.getHidden().getType())),
        labelType(getElementTypeOrSelf(op.getLabels().getType())),
        rows(op.getRows()), classes(op.getClasses()),
        extent(cast<RankedTensorType>(op.getHidden().getType()).getDimSize(1)),
        chunk(std::min<int64_t>(op.getChunk(), rows)) {
    hiddenMemory = emitter.getMemory(hidden.base);
    weightMemory = emitter.getMemory(weight.base);
    if (op.getBias())
      bias = emitter.getMemory(stripReshapes(op.getBias()));
  }

  void emit(const HeadResults &results, Value seed);

private:
  using Body =
      llvm::function_ref<SmallVector<Value>(MutableArrayRef<BlockArgument>)>;

  void emitKernel(FusedKind kind, ArrayRef<int64_t> domain,
                  ArrayRef<Operand> inputs, ArrayRef<Operand> outputs,
                  Body body);
  void emitTotals(Value seed);
  void emitChunk(int64_t first, int64_t count, const HeadResults &results);
  Value emitLabelled(int64_t first, int64_t count, Value logits);
  void emitRows(int64_t first, int64_t count, Value logits, Value labelled,
                Value changes);
  void emitLogits(int64_t first, int64_t count, Value logits);
  void emitCotangents(int64_t first, int64_t count, Value changes,
                      const HeadResults &results);
  void emitLoss(Value loss);

  void setHidden(int64_t count, bool &transpose, int64_t &ld) {
    setOperand(count, extent, hidden.rowStride, hidden.columnStride, transpose,
               ld);
  }
  void setWeight(bool &transpose, int64_t &ld) {
    setOperand(isTransposed ? classes : extent, isTransposed ? extent : classes,
               weight.rowStride, weight.columnStride, transpose, ld);
  }
  int64_t getHiddenOffset(int64_t first) const {
    return hidden.offset + first * hidden.rowStride;
  }
  Operand perRow(Value memory, int64_t first) {
    return {memory, first, {1, 0}};
  }

  Value number(double value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value label(int64_t value) {
    return arith::ConstantOp::create(b, loc,
                                     b.getIntegerAttr(labelType, value));
  }
  Value widen(Value value) {
    return value.getType().isF32()
               ? value
               : Value(arith::ExtFOp::create(b, loc, b.getF32Type(), value));
  }
  Value reduce(kern::Combiner combiner, Value value) {
    return kern::ReduceOp::create(b, loc, value.getType(), combiner, value);
  }
  /// Null where every row counts.
  Value isValid(Value value) {
    if (!ignored)
      return {};
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                 label(*ignored));
  }
  /// `value` where `condition` holds, else an exact 0.
  Value keepWhere(Value condition, Value value) {
    return condition
               ? arith::SelectOp::create(b, loc, condition, value, number(0))
               : value;
  }

  Emitter &emitter;
  OpBuilder &b;
  Location loc;
  MatrixView hidden, weight;
  Value hiddenMemory, weightMemory, bias, labels;
  bool isTransposed;
  std::optional<int64_t> ignored;
  Type logitsType, operandType, labelType;
  int64_t rows, classes, extent, chunk;
  Value total;          ///< f32 [1]: rows that count; null: all do.
  Value scale, rowLoss; ///< f32: [1], [rows].
  /// By the number of rows in a chunk.
  std::map<int64_t, Value> logitsOf;
};

} // namespace rondo::lowering

void LossHeadEmitter::emitKernel(FusedKind kind, ArrayRef<int64_t> domain,
                                 ArrayRef<Operand> inputs,
                                 ArrayRef<Operand> outputs, Body body) {
  SmallVector<Value> inputMemory, outputMemory;
  SmallVector<Attribute> inputAccess, outputAccess;
  SmallVector<bool> accumulate;
  auto getAccess = [&](const Operand &operand) {
    return kern::AccessAttr::get(b.getContext(), operand.offset,
                                 operand.strides);
  };
  for (const Operand &input : inputs) {
    inputMemory.push_back(input.memory);
    inputAccess.push_back(getAccess(input));
  }
  for (const Operand &output : outputs) {
    outputMemory.push_back(output.memory);
    outputAccess.push_back(getAccess(output));
    accumulate.push_back(output.accumulate);
  }
  auto op = kern::FusedOp::create(
      b, loc, kind, domain, ArrayRef<int64_t>{0, domain.front()}, inputMemory,
      b.getArrayAttr(inputAccess), outputMemory, b.getArrayAttr(outputAccess),
      accumulate);
  OpBuilder::InsertionGuard guard(b);
  Block &region = op.getBody().emplaceBlock();
  for (Value memory : inputMemory)
    region.addArgument(cast<MemRefType>(memory.getType()).getElementType(),
                       loc);
  b.setInsertionPointToStart(&region);
  kern::YieldOp::create(b, loc, body(region.getArguments()));
}

/// How many rows count, and what one logit's cotangent is multiplied with.
void LossHeadEmitter::emitTotals(Value seed) {
  SmallVector<Operand> inputs, outputs;
  if (ignored) {
    total = emitter.createScratch({1}, b.getF32Type());
    inputs.push_back({labels, 0, {0, 1}});
    outputs.push_back({total, 0, {0, 0}});
  }
  if (seed) {
    scale = emitter.createScratch({1}, b.getF32Type());
    inputs.push_back({seed, 0, {0, 0}});
    outputs.push_back({scale, 0, {0, 0}});
  }
  if (outputs.empty())
    return;
  emitKernel(FusedKind::Row, {1, ignored ? rows : 1}, inputs, outputs,
             [&](MutableArrayRef<BlockArgument> arguments) {
               SmallVector<Value> results;
               Value counted = number(rows);
               if (ignored) {
                 Value one = arith::UIToFPOp::create(b, loc, b.getF32Type(),
                                                     isValid(arguments[0]));
                 counted = reduce(kern::Combiner::Sum, one);
                 results.push_back(counted);
               }
               if (seed)
                 results.push_back(
                     arith::DivFOp::create(b, loc, arguments.back(), counted));
               return results;
             });
}

void LossHeadEmitter::emitLogits(int64_t first, int64_t count, Value logits) {
  GemmShape shape;
  shape.bias = bias;
  shape.m = count;
  shape.n = shape.ldc = classes;
  shape.k = extent;
  shape.transposeB = isTransposed;
  setHidden(count, shape.transposeA, shape.lda);
  setWeight(shape.transposeB, shape.ldb);
  createGemms(b, loc, shape, hiddenMemory, weightMemory, logits,
              GemmOffsets{getHiddenOffset(first), weight.offset, 0});
}

/// Each row's logit at its label, of rows that do not count at class 0. A
/// negative label is moved out of range, where it would count from the end.
Value LossHeadEmitter::emitLabelled(int64_t first, int64_t count,
                                    Value logits) {
  Value indices = emitter.createScratch({count}, labelType),
        labelled = emitter.createScratch({count}, logitsType);
  emitKernel(
      FusedKind::Elementwise, {count}, {{labels, first, {1}}},
      {{indices, 0, {1}}}, [&](MutableArrayRef<BlockArgument> arguments) {
        Value own = arguments[0];
        Value isNegative = arith::CmpIOp::create(
            b, loc, arith::CmpIPredicate::slt, own, label(0));
        Value index =
            arith::SelectOp::create(b, loc, isNegative, label(classes), own);
        if (Value valid = isValid(own))
          index = arith::SelectOp::create(b, loc, valid, index, label(0));
        return SmallVector<Value>{index};
      });
  kern::GatherOp::create(b, loc, logits, indices, labelled, /*outer=*/count,
                         /*extents=*/classes, /*count=*/1, /*inner=*/1,
                         /*batched=*/count > 1);
  return labelled;
}

/// The rows' losses (`labelled` is not null) and the logits' cotangents
/// (`changes` is not null).
void LossHeadEmitter::emitRows(int64_t first, int64_t count, Value logits,
                               Value labelled, Value changes) {
  SmallVector<Operand> inputs{{logits, 0, {classes, 1}}, perRow(labels, first)},
      outputs;
  if (labelled) {
    inputs.push_back(perRow(labelled, 0));
    outputs.push_back(perRow(rowLoss, first));
  }
  if (changes) {
    inputs.push_back({scale, 0, {0, 0}});
    outputs.push_back({changes, 0, {classes, 1}});
  }
  emitKernel(
      FusedKind::Row, {count, classes}, inputs, outputs,
      [&](MutableArrayRef<BlockArgument> arguments) {
        SmallVector<Value> results;
        Value logit = widen(arguments[0]), own = arguments[1];
        Value most = reduce(kern::Combiner::Max, logit);
        Value shifted = arith::SubFOp::create(b, loc, logit, most);
        // GPUs may take their own exponential: there are two of each logit.
        Value power =
            math::ExpOp::create(b, loc, shifted, arith::FastMathFlags::afn);
        Value sum = reduce(kern::Combiner::Sum, power);
        Value valid = isValid(own);
        if (labelled) {
          Value logarithm = math::LogOp::create(b, loc, sum);
          Value at = arith::SubFOp::create(b, loc, widen(arguments[2]), most);
          Value loss = arith::SubFOp::create(b, loc, logarithm, at);
          results.push_back(keepWhere(valid, loss));
        }
        if (!changes)
          return results;
        Value inverse = arith::DivFOp::create(b, loc, number(1), sum);
        Value softmax = arith::MulFOp::create(b, loc, power, inverse);
        // Labels that count are classes, which 32 bits hold.
        Type i32 = b.getI32Type();
        Value place = kern::IndexOp::create(
            b, loc, b.getI64Type(),
            kern::AccessAttr::get(b.getContext(), 0, {0, 1}));
        place = arith::TruncIOp::create(b, loc, i32, place);
        if (labelType != i32)
          own = arith::TruncIOp::create(b, loc, i32, own);
        Value isLabel =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, own);
        Value target =
            arith::SelectOp::create(b, loc, isLabel, number(1), number(0));
        Value difference = arith::SubFOp::create(b, loc, softmax, target);
        Value change =
            arith::MulFOp::create(b, loc, difference, arguments.back());
        change = keepWhere(valid, change);
        if (!operandType.isF32())
          change = arith::TruncFOp::create(b, loc, operandType, change);
        results.push_back(change);
        return results;
      });
}

void LossHeadEmitter::emitCotangents(int64_t first, int64_t count,
                                     Value changes,
                                     const HeadResults &results) {
  if (results.dHidden) {
    GemmShape shape;
    shape.m = count;
    shape.n = shape.ldc = extent;
    shape.k = shape.lda = classes;
    shape.transposeB = !isTransposed;
    setWeight(shape.transposeB, shape.ldb);
    createGemms(b, loc, shape, changes, weightMemory, results.dHidden,
                GemmOffsets{0, weight.offset, first * extent});
  }
  if (results.dWeight) {
    GemmShape shape;
    shape.k = count;
    shape.transposeA = true;
    shape.accumulate = results.addsWeight || first > 0;
    GemmOffsets offsets;
    if (isTransposed) {
      shape.m = shape.lda = classes;
      shape.n = shape.ldc = extent;
      setHidden(count, shape.transposeB, shape.ldb);
      offsets.b = getHiddenOffset(first);
      createGemms(b, loc, shape, changes, hiddenMemory, results.dWeight,
                  offsets);
    } else {
      shape.m = extent;
      shape.n = shape.ldb = shape.ldc = classes;
      setHidden(count, shape.transposeA, shape.lda);
      offsets.a = getHiddenOffset(first);
      createGemms(b, loc, shape, hiddenMemory, changes, results.dWeight,
                  offsets);
    }
  }
  if (results.dBias)
    emitKernel(FusedKind::Column, {classes, count},
               {{changes, 0, {1, classes}}},
               {{results.dBias, 0, {1, 0}, results.addsBias || first > 0}},
               [&](MutableArrayRef<BlockArgument> arguments) {
                 return SmallVector<Value>{
                     reduce(kern::Combiner::Sum, widen(arguments[0]))};
               });
}

void LossHeadEmitter::emitChunk(int64_t first, int64_t count,
                                const HeadResults &results) {
  Value &logits = logitsOf[count];
  if (!logits)
    logits = emitter.createScratch({count, classes}, logitsType);
  emitLogits(first, count, logits);
  Value labelled = results.loss ? emitLabelled(first, count, logits) : Value();
  Value changes;
  if (results.dHidden || results.dWeight || results.dBias)
    changes = logitsType == operandType
                  ? logits
                  : emitter.createScratch({count, classes}, operandType);
  if (labelled || changes)
    emitRows(first, count, logits, labelled, changes);
  if (changes)
    emitCotangents(first, count, changes, results);
}

/// The mean of the rows' losses.
void LossHeadEmitter::emitLoss(Value loss) {
  SmallVector<Operand> inputs{{rowLoss, 0, {0, 1}}};
  if (total)
    inputs.push_back({total, 0, {0, 0}});
  emitKernel(FusedKind::Row, {1, rows}, inputs, {{loss, 0, {0, 0}}},
             [&](MutableArrayRef<BlockArgument> arguments) {
               Value sum = reduce(kern::Combiner::Sum, arguments[0]);
               Value counted = total ? Value(arguments[1]) : number(rows);
               return SmallVector<Value>{
                   arith::DivFOp::create(b, loc, sum, counted)};
             });
}

void LossHeadEmitter::emit(const HeadResults &results, Value seed) {
  emitTotals(seed);
  if (bias)
    bias = emitter.convertVector(bias, logitsType, loc);
  if (results.loss)
    rowLoss = emitter.createScratch({rows}, b.getF32Type());
  for (int64_t first = 0; first < rows; first += chunk)
    emitChunk(first, std::min(chunk, rows - first), results);
  if (results.loss)
    emitLoss(results.loss);
}

void lowering::emitLossHead(Emitter &emitter, nn::LinearCrossEntropyOp op) {
  HeadResults results;
  results.loss = emitter.getMemory(op.getResult());
  LossHeadEmitter(emitter, op).emit(results, /*seed=*/{});
}

void lowering::emitLossHeadGrad(Emitter &emitter,
                                nn::LinearCrossEntropyGradOp op) {
  auto getWanted = [&](Value result) {
    return result && !result.use_empty() ? emitter.getMemory(result) : Value();
  };
  HeadResults results;
  results.loss = getWanted(op.getLoss());
  results.dHidden = getWanted(op.getDHidden());
  results.dWeight = getWanted(op.getDWeight());
  results.dBias = getWanted(op.getDBias());
  results.addsWeight = emitter.plan.isAccumulated(op.getDWeight());
  results.addsBias = results.dBias && emitter.plan.isAccumulated(op.getDBias());
  LossHeadEmitter(emitter, op)
      .emit(results, emitter.getMemory(stripReshapes(op.getSeed())));
}
