//===- GpuOptimizer.cpp - The optimizer's kernels on GPUs ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdamW.h"
#include "GpuCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;
using namespace rondo::target;

/// Elements of a thread: 16 bytes of f32.
constexpr int64_t kWidth = 4;

int64_t gpu::getAdamWBlocks(int64_t elements) {
  return llvm::divideCeil(elements, kWidth * kAdamWThreads);
}

namespace {

class AdamWEmitter {
public:
  AdamWEmitter(Location loc, StringRef name, ModuleOp module,
               const AdamWKernel &kernel)
      : kernel(kernel),
        b(loc, module, name, kernel.copyType ? 7 : 6, {kAdamWThreads, 1, 1}),
        table(b.getParameter(kernel.copyType ? 6 : 5)),
        gradientType(kernel.gradientType ? kernel.gradientType
                                         : Type(b.getF32Type())) {}

  void emit(int64_t elements) {
    Value position = b.multiply(b.linear(kAdamWThreads, elements), kWidth);
    int64_t whole = elements / kWidth * kWidth;
    auto run = [&](bool skips) {
      b.runIf(b.isLess(position, b.i64(whole)),
              [&] { update(position, kWidth, skips); });
      // The elements at the end, by the thread that comes to them.
      if (whole == elements)
        return;
      Value atEnd = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, position,
                                          b.i64(whole));
      b.runIf(atEnd, [&] {
        for (int64_t i = whole; i < elements; ++i)
          update(b.i64(i), 1, skips);
      });
    };
    if (kernel.maySkip) {
      auto branch =
          scf::IfOp::create(b, isSkipped(b, table), /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      if (kernel.copyType)
        run(/*skips=*/true);
      b.setInsertionPointToStart(branch.elseBlock());
      run(/*skips=*/false);
    } else {
      run(/*skips=*/false);
    }
    b.finish();
  }

private:
  Value at(unsigned parameter, Type element, Value position) {
    return b.offset(b.getParameter(parameter), element, position);
  }

  void update(Value position, int64_t count, bool skips) {
    Type f32 = b.getF32Type();
    SmallVector<Value> weights = b.loadWide(f32, at(1, f32, position), count);
    if (!skips) {
      AdamWScalars scalars =
          loadAdamWScalars(b, table, kernel.beta1, kernel.beta2,
                           [](Value value) { return value; });
      SmallVector<Value> gradients =
                             b.loadWide(gradientType,
                                        at(0, gradientType, position), count),
                         first = b.loadWide(f32, at(3, f32, position), count),
                         second = b.loadWide(f32, at(4, f32, position), count);
      for (int64_t i = 0; i < count; ++i) {
        AdamWState state = updateAdamW(
            b, scalars,
            {[&] { return gradients[i]; }, [&] { return weights[i]; },
             [&] { return first[i]; }, [&] { return second[i]; }});
        weights[i] = state.weight, first[i] = state.first,
        second[i] = state.second;
      }
      b.storeWide(f32, weights, at(2, f32, position));
      b.storeWide(f32, first, at(3, f32, position));
      b.storeWide(f32, second, at(4, f32, position));
    }
    if (!kernel.copyType)
      return;
    for (Value &weight : weights)
      weight = b.roundTo(kernel.copyType, weight);
    b.storeWide(kernel.copyType, weights, at(5, kernel.copyType, position));
  }

  AdamWKernel kernel;
  GpuBuilder b;
  Value table;
  Type gradientType;
};

} // namespace

void gpu::emitAdamW(Location loc, StringRef name, ModuleOp module,
                    const AdamWKernel &kernel, int64_t elements) {
  AdamWEmitter(loc, name, module, kernel).emit(elements);
}
