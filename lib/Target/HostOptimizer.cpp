//===- HostOptimizer.cpp - The optimizer's kernels -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AdamW.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::target;
using kern::kLanes;

namespace {
/// The pointers, in the order of schema/program.fbs.
struct Pointers {
  Value gradient, masterIn, masterOut, first, second, copy;
};

} // namespace

/// How far ahead memory is asked for, bytes. Measured on 16 cores of a Xeon of
/// the Emerald Rapids kind: 3 to 10 % faster than without, as is anything from
/// 512 to 4096.
static constexpr int64_t kPrefetch = 1024;

/// kLanes elements. `streamed`: the master goes past the caches.
static void updateBlock(CodeBuilder &b, const Pointers &p,
                        const AdamWScalars &s, Type gradientType, Type copyType,
                        Value position, Value mask, bool streamed = false) {
  Type f32 = b.getF32Type();
  auto load = [&](Value pointer) {
    return b.loadVector(f32, b.offset(pointer, f32, position), 1, mask);
  };
  auto save = [&](Value value, Value pointer) {
    b.storeVector(f32, value, b.offset(pointer, f32, position), 1, mask);
  };
  if (!mask)
    for (Value pointer : {p.gradient, p.masterIn, p.first, p.second}) {
      Value ahead = arith::AddIOp::create(b, position, b.i64(kPrefetch / 4));
      // To be read, into all caches.
      LLVM::Prefetch::create(b, b.offset(pointer, f32, ahead), 0, 3, 1);
    }
  AdamWState state = updateAdamW(
      b, s,
      {[&] {
         return b.loadVector(gradientType,
                             b.offset(p.gradient, gradientType, position), 1,
                             mask);
       },
       [&] { return load(p.masterIn); }, [&] { return load(p.first); },
       [&] { return load(p.second); }});
  Value weight = state.weight;
  if (streamed)
    LLVM::StoreOp::create(b, weight, b.offset(p.masterOut, f32, position),
                          kLanes * 4, /*isVolatile=*/false,
                          /*isNonTemporal=*/true);
  else
    save(weight, p.masterOut);
  save(state.first, p.first);
  save(state.second, p.second);
  if (copyType)
    b.storeVector(copyType, b.roundTo(copyType, weight),
                  b.offset(p.copy, copyType, position), 1, mask);
}

/// Whether new masters may, and should, go past the caches: they lie apart from
/// the old ones, so that otherwise their lines would be fetched to be
/// overwritten whole. (Measured as above, 20 % faster so. What is written in
/// place is better left to the caches, and the copy makes no difference.)
static Value canStream(CodeBuilder &b, const Pointers &p, Value begin) {
  auto address = [&](Value pointer) -> Value {
    return LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
  };
  Value first = b.offset(p.masterOut, b.getF32Type(), begin);
  Value low = arith::AndIOp::create(b, address(first), b.i64(kLanes * 4 - 1));
  Value aligned =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, low, b.i64(0));
  Value apart = arith::CmpIOp::create(
      b, arith::CmpIPredicate::ne, address(p.masterIn), address(p.masterOut));
  return arith::AndIOp::create(b, aligned, apart);
}

/// The copies of masters that stay as they are.
static void copyMasters(CodeBuilder &b, const Pointers &p, Type copyType,
                        Value begin, Value end) {
  auto loop = scf::ForOp::create(b, begin, end, b.i64(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value position = loop.getInductionVar();
  Type f32 = b.getF32Type();
  Value weight = b.loadScalar(f32, b.offset(p.masterIn, f32, position));
  b.storeScalar(copyType, b.roundTo(copyType, weight),
                b.offset(p.copy, copyType, position));
}

/// Elements [begin, end).
static void updateRange(CodeBuilder &b, const Pointers &pointers,
                        const AdamWScalars &scalars, Type gradientType,
                        Type copyType, Value begin, Value end) {
  Value width = b.i64(kLanes);
  Value extent = arith::SubIOp::create(b, end, begin);
  Value vectors = arith::DivUIOp::create(b, extent, width);
  Value middle =
      arith::AddIOp::create(b, begin, arith::MulIOp::create(b, vectors, width));
  auto emitLoop = [&](bool streamed) {
    auto loop = scf::ForOp::create(b, begin, middle, width);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    updateBlock(b, pointers, scalars, gradientType, copyType,
                loop.getInductionVar(), {}, streamed);
  };
  // With a copy, masters are updated in place.
  if (copyType) {
    emitLoop(/*streamed=*/false);
  } else {
    auto loops = scf::IfOp::create(b, canStream(b, pointers, begin),
                                   /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loops.elseBlock());
    emitLoop(/*streamed=*/false);
    b.setInsertionPointToStart(loops.thenBlock());
    emitLoop(/*streamed=*/true);
    // Such stores are not ordered with what follows.
    LLVM::CallIntrinsicOp::create(b, b.getStringAttr("llvm.x86.sse.sfence"),
                                  ValueRange{});
  }
  Value rest = arith::SubIOp::create(b, end, middle);
  Value hasRest =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, b.i64(0));
  auto branch = scf::IfOp::create(b, hasRest, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value mask = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt, b.lanes(b.getI64Type()), b.broadcast(rest));
  updateBlock(b, pointers, scalars, gradientType, copyType, middle, mask);
}

void host::emitAdamW(Location loc, StringRef name, ModuleOp module,
                     const AdamWKernel &kernel) {
  CodeBuilder b(loc, module.getContext());
  func::FuncOp function = beginKernel(b, module, name);
  Type copyType = kernel.copyType, gradientType = kernel.gradientType;
  if (!gradientType)
    gradientType = b.getF32Type();
  Pointers pointers{getPointer(b, function, 0), getPointer(b, function, 1),
                    getPointer(b, function, 2), getPointer(b, function, 3),
                    getPointer(b, function, 4), {}};
  if (copyType)
    pointers.copy = getPointer(b, function, 5);
  Value table = getPointer(b, function, copyType ? 6 : 5);
  Value begin = function.getArgument(1), end = function.getArgument(2);
  auto update = [&] {
    AdamWScalars scalars =
        loadAdamWScalars(b, table, kernel.beta1, kernel.beta2,
                         [&](Value value) { return b.broadcast(value); });
    updateRange(b, pointers, scalars, gradientType, copyType, begin, end);
  };
  if (!kernel.maySkip) {
    update();
    return endKernel(b);
  }
  auto branch =
      scf::IfOp::create(b, isSkipped(b, table), /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (copyType)
      copyMasters(b, pointers, copyType, begin, end);
    b.setInsertionPointToStart(branch.elseBlock());
    update();
  }
  endKernel(b);
}
