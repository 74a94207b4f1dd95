//===- EvaluationLossHead.cpp - Reference evaluation of loss heads --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluation.h"

#include <cmath>

using namespace mlir;
using namespace rondo::nn;

namespace {
/// The logits of one row after the other.
template <typename HeadOp>
class LossHead {
public:
  LossHead(HeadOp op, const EvaluationContext &context,
           const HostTensor &hidden, const HostTensor &weight,
           const HostTensor &labels, const HostTensor *bias)
      : op(op), context(context), hidden(hidden), weight(weight),
        labels(labels), bias(bias), extent(hidden.getShape()[1]),
        classes(op.getClasses()), ignored(op.getIgnoreIndex()),
        logits(classes) {
    for (int64_t label : labels.integers())
      valid += label != ignored;
  }

  /// Whether the row counts; then `logits`, `maximum` and `sum` (of e to the
  /// power of logit - maximum) are its own.
  FailureOr<bool> enter(int64_t row) {
    label = labels.integers()[row];
    if (label == ignored)
      return false;
    if (label < 0 || label >= classes) {
      (void)fail(context, op.emitOpError()
                              << "label " << label << " of row " << row
                              << " is out of range: there are " << classes
                              << " classes");
      return failure();
    }
    for (int64_t j = 0; j < classes; ++j) {
      double logit = bias ? bias->floats()[j] : 0;
      for (int64_t p = 0; p < extent; ++p)
        logit += hidden.floats()[row * extent + p] *
                 weight.floats()[getWeightIndex(p, j)];
      logits[j] = roundUnlessExact(context, logit, op.getLogits());
    }
    maximum = *std::max_element(logits.begin(), logits.end());
    sum = 0;
    for (double logit : logits)
      sum += std::exp(logit - maximum);
    return true;
  }
  double getLoss() const { return std::log(sum) + maximum - logits[label]; }
  int64_t getWeightIndex(int64_t p, int64_t j) {
    return op.getTransposeWeight() ? j * extent + p : p * classes + j;
  }

  HeadOp op;
  const EvaluationContext &context;
  const HostTensor &hidden, &weight, &labels;
  const HostTensor *bias;
  int64_t extent, classes;
  std::optional<int64_t> ignored;
  int64_t valid = 0; ///< Rows that count.
  std::vector<double> logits;
  int64_t label = 0;
  double maximum = 0, sum = 0;
};
} // namespace

LogicalResult
LinearCrossEntropyOp::evaluate(const EvaluationContext &context,
                               ArrayRef<HostTensor> operands,
                               SmallVectorImpl<HostTensor> &results) {
  LossHead head(*this, context, operands[0], operands[1], operands[2],
                getBias() ? &operands[3] : nullptr);
  HostTensor result = makeResult(*this);
  double sum = 0;
  for (int64_t row = 0; row < getRows(); ++row) {
    FailureOr<bool> counts = head.enter(row);
    if (failed(counts))
      return failure();
    sum += *counts ? head.getLoss() : 0;
  }
  result.floats()[0] = sum / head.valid; // 0 / 0 is the NaN that PyTorch gives
  return finish(context, std::move(result), results);
}

/// With G the logits' cotangent: dH = G W^T, dW = H^T G, db = column sums of G.
LogicalResult
LinearCrossEntropyGradOp::evaluate(const EvaluationContext &context,
                                   ArrayRef<HostTensor> operands,
                                   SmallVectorImpl<HostTensor> &results) {
  const HostTensor &hidden = operands[0], &weight = operands[1];
  LossHead head(*this, context, hidden, weight, operands[2],
                getBias() ? &operands[4] : nullptr);
  HostTensor loss = makeResult(*this, 0), dHidden = makeResult(*this, 1),
             dWeight = makeResult(*this, 2);
  std::vector<double> dBias(head.classes);
  double scale = operands[3].floats()[0] / head.valid, sum = 0;
  Type element = hidden.getType().getElementType();
  for (int64_t row = 0; row < getRows(); ++row) {
    FailureOr<bool> counts = head.enter(row);
    if (failed(counts))
      return failure();
    if (!*counts)
      continue;
    sum += head.getLoss();
    for (int64_t j = 0; j < head.classes; ++j) {
      double softmax = std::exp(head.logits[j] - head.maximum) / head.sum;
      double change = roundUnlessExact(
          context, (softmax - (j == head.label)) * scale, element);
      dBias[j] += change;
      for (int64_t p = 0; p < head.extent; ++p) {
        int64_t at = head.getWeightIndex(p, j), place = row * head.extent + p;
        dHidden.floats()[place] += change * weight.floats()[at];
        dWeight.floats()[at] += change * hidden.floats()[place];
      }
    }
  }
  loss.floats()[0] = sum / head.valid;
  if (failed(finish(context, std::move(loss), results)) ||
      failed(finish(context, std::move(dHidden), results)) ||
      failed(finish(context, std::move(dWeight), results)))
    return failure();
  if (!getDBias())
    return success();
  HostTensor biasResult = makeResult(*this, 3);
  biasResult.floats() = dBias;
  return finish(context, std::move(biasResult), results);
}
