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

namespace {
struct ConvertNNToKern
    : rondo::conversion::impl::ConvertNNToKernBase<ConvertNNToKern> {
  using ConvertNNToKernBase::ConvertNNToKernBase;

  LogicalResult lower(func::FuncOp function) {
    if (function.isDeclaration() || !function.getBody().hasOneBlock())
      return function.emitError("entry @")
             << function.getSymName() << " is not one block of operations";
    if (failed(lowering::prepare(function)))
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
    for (func::FuncOp function : functions)
      failedAny |= failed(lower(function));
    if (failedAny)
      signalPassFailure();
  }
};
} // namespace
