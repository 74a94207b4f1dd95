//===- ConvertNNToKern.cpp - nn entries as launch lists ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "rondo/Conversion/Passes.h"

#include "mlir/IR/Verifier.h"
#include "rondo/Dialect/Pipe/Pipe.h"

namespace rondo::conversion {
#define GEN_PASS_DEF_CONVERTNNTOKERN
#include "rondo/Conversion/Passes.h.inc"
} // namespace rondo::conversion

using namespace mlir;
using namespace rondo;

/// Empty if memory of kernels can hold the values, else why not.
static StringRef getObstacle(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return "is no tensor of static shape";
  if (tensor.getNumElements() == 0)
    return "is empty, and there is no kernel for that";
  Type element = tensor.getElementType();
  if (element.isF32() || element.isBF16() || element.isF16() ||
      element.isF64() || element.isInteger(64) || element.isInteger(32) ||
      element.isInteger(1))
    return "";
  return "has an element type that kernels do not know";
}

/// Whether the function is one block of nn ops on what kernels can hold. All
/// that is wrong is reported.
static LogicalResult checkForm(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("entry @")
           << function.getSymName() << " is not one block of operations";
  bool failedAny = false;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (StringRef obstacle = getObstacle(type); !obstacle.empty()) {
      function.emitError("entry @")
          << function.getSymName() << ": argument " << index << " of type "
          << type << ' ' << obstacle;
      failedAny = true;
    }
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (!isa<nn::NNDialect>(op.getDialect()) ||
        isa<nn::CumsumOp, nn::ReadOp>(op)) {
      op.emitError("'") << op.getName()
                        << "' is not supported by the host's kernels";
      failedAny = true;
      continue;
    }
    for (Type type : op.getResultTypes())
      if (StringRef obstacle = getObstacle(type); !obstacle.empty()) {
        op.emitError("'") << op.getName() << "': a result of type " << type
                          << ' ' << obstacle;
        failedAny = true;
      }
  }
  return failure(failedAny);
}

namespace {
struct ConvertNNToKern
    : rondo::conversion::impl::ConvertNNToKernBase<ConvertNNToKern> {
  using ConvertNNToKernBase::ConvertNNToKernBase;

  LogicalResult lower(func::FuncOp function) {
    if (failed(checkForm(function)) || failed(lowering::prepare(function)))
      return failure();
    if (libraryAttention)
      lowering::markLibraryAttention(function);
    lowering::Plan plan(function);
    if (failed(plan.compute()))
      return failure();
    lowering::Emitter(function, plan, {scoreBytes, attentionBytes}).emit();
    function.erase();
    return success();
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    getOperation()->walk(
        [&](func::FuncOp function) { functions.push_back(function); });
    bool failedAny = false;
    // Gradients and masters are f32.
    for (auto parameter : getOperation().getOps<nn::ParameterOp>())
      if (parameter.getTrainable() &&
          getElementTypeOrSelf(parameter.getType()).isF64()) {
        parameter.emitOpError("trains, but is f64; parameters that train can "
                              "be f32, bf16 or f16: freeze it, or export the "
                              "model in f32");
        failedAny = true;
      }
    if (failedAny)
      return signalPassFailure();
    for (func::FuncOp function : functions)
      failedAny |= failed(lower(function));
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
