//===- PrintPtx.cpp - Prints the GPU code of all launch lists ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Target/GpuObject.h"
#include "rondo/Target/Passes.h"

namespace rondo::target {
#define GEN_PASS_DEF_PRINTPTX
#include "rondo/Target/Passes.h.inc"
} // namespace rondo::target

using namespace mlir;
using namespace rondo;

namespace {

struct PrintPtx : target::impl::PrintPtxBase<PrintPtx> {
  using PrintPtxBase::PrintPtxBase;

  // As the module's own dialects, so that they are there before any thread
  // runs.
  void getDependentDialects(DialectRegistry &registry) const override {
    target::registerCodeDialects(registry);
  }

  void runOnOperation() override {
    SmallVector<kern::FuncOp> functions;
    getOperation()->walk(
        [&](kern::FuncOp function) { functions.push_back(function); });
    FailureOr<std::string> ptx = target::emitGpuCode(
        getOperation()->getLoc(), functions, target::GpuOptions{arch});
    if (failed(ptx))
      return signalPassFailure();
    for (kern::FuncOp function : functions) {
      std::vector<target::Call> calls = target::translateEntry(function);
      target::addLaunches(function, calls);
      for (const target::Call &call : calls)
        if (!call.gpuSymbol.empty())
          llvm::outs() << "// @" << function.getSymName() << ' '
                       << call.gpuSymbol << " grid " << call.grid[0] << 'x'
                       << call.grid[1] << 'x' << call.grid[2] << " block "
                       << call.block[0] << 'x' << call.block[1] << 'x'
                       << call.block[2] << '\n';
    }
    llvm::outs() << *ptx;
  }
};

} // namespace
