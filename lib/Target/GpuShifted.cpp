//===- GpuShifted.cpp - Maximum and exponentials of a row in one pass ----===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A softmax needs a row's maximum, then the sum of exponentials below it: two
// passes over memory where the row is too long for registers. Here each thread
// sums exponentials below the largest element that it has seen so far, and
// scales its sum whenever that grows (Milakov and Gimelshein, Online normalizer
// calculation for softmax, arXiv 1805.02867).
//
//===----------------------------------------------------------------------===//

#include "GpuFused.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::kern;
using host::combine;
using host::getIdentity;

/// All reductions of the second level, if each is such a sum and the row is too
/// long to be kept.
SmallVector<FusedEmitter::ShiftedSum> FusedEmitter::findShiftedSums() {
  SmallVector<ShiftedSum> shifted;
  if (shape.isUnrolled)
    return shifted;
  for (ReduceOp reduce : op.getBlock().getOps<ReduceOp>()) {
    if (getLevel(reduce) != 2)
      continue;
    auto exponential = reduce.getOperand().getDefiningOp<math::ExpOp>();
    auto difference =
        exponential ? exponential.getOperand().getDefiningOp<arith::SubFOp>()
                    : arith::SubFOp();
    auto maximum =
        difference ? difference.getRhs().getDefiningOp<ReduceOp>() : ReduceOp();
    if (reduce.getCombiner() != Combiner::Sum || !maximum ||
        maximum.getCombiner() != Combiner::Max ||
        maximum.getOperand() != difference.getLhs())
      return {};
    shifted.push_back({maximum, reduce, exponential, difference.getLhs()});
  }
  return shifted;
}

/// One pass for the reductions of the first two levels.
void FusedEmitter::emitShiftedSums(MutableArrayRef<ShiftedSum> shifted,
                                   Value thread) {
  SmallVector<ReduceOp> first, sums;
  SmallVector<Value> carried;
  for (ReduceOp reduce : op.getBlock().getOps<ReduceOp>()) {
    if (getLevel(reduce) != 1)
      continue;
    first.push_back(reduce);
    carried.push_back(getIdentity(b, reduce, reduce.getType()));
    prepare(reduce.getOperand());
  }
  for (ShiftedSum &each : shifted) {
    sums.push_back(each.sum);
    carried.push_back(getIdentity(b, each.sum, each.sum.getType()));
  }
  auto exponentiate = [&](ShiftedSum &each, Value x, Value shift) {
    Value difference = arith::SubFOp::create(b, x, shift);
    return host::evaluateOp(b, *each.exponential, difference, b.getI1Type());
  };
  // Below nothing but minus infinity there is 0, not NaN.
  auto getShift = [&](ShiftedSum &each, Value maximum) -> Value {
    Value lowest = getIdentity(b, each.maximum, maximum.getType());
    Value isLowest =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, maximum, lowest);
    return arith::SelectOp::create(b, isLowest, b.number(maximum.getType(), 0),
                                   maximum);
  };
  auto getPlace = [&](ShiftedSum &each) {
    return std::distance(first.begin(), llvm::find(first, each.maximum));
  };

  forChunks(thread, carried, [&](Chunk &chunk, ValueRange old) {
    SmallVector<Value> next;
    for (auto [reduce, before] : llvm::zip(first, old)) {
      Value after = before;
      for (int64_t lane = 0; lane < shape.width; ++lane)
        after = combine(b, reduce, after,
                        evaluate(reduce.getOperand(), &chunk, lane));
      next.push_back(after);
    }
    for (auto [each, before] :
         llvm::zip_equal(shifted, old.drop_front(first.size()))) {
      Value shift = getShift(each, next[getPlace(each)]);
      Value sum;
      for (int64_t lane = 0; lane < shape.width; ++lane) {
        Value term = exponentiate(each, evaluate(each.x, &chunk, lane), shift);
        sum = sum ? Value(arith::AddFOp::create(b, sum, term)) : term;
      }
      Value scale = exponentiate(each, old[getPlace(each)], shift);
      Value scaled = arith::MulFOp::create(b, before, scale);
      next.push_back(arith::AddFOp::create(b, scaled, sum));
    }
    if (chunk.isActive)
      for (auto [after, before] : llvm::zip_equal(next, old))
        after = arith::SelectOp::create(b, chunk.isActive, after, before);
    return next;
  });

  ArrayRef<Value> own(carried);
  for (auto [reduce, value] : llvm::zip_equal(
           first, joinThreads(first, own.take_front(first.size()), thread)))
    uniform[reduce.getResult()] = value;
  SmallVector<Value> scaled;
  for (auto [each, sum] :
       llvm::zip_equal(shifted, own.drop_front(first.size()))) {
    Value shift = getShift(each, uniform[each.maximum.getResult()]);
    Value scale = exponentiate(each, own[getPlace(each)], shift);
    scaled.push_back(arith::MulFOp::create(b, sum, scale));
  }
  for (auto [reduce, value] :
       llvm::zip_equal(sums, joinThreads(sums, scaled, thread)))
    uniform[reduce.getResult()] = value;
}
