//===- HostOptimizer.cpp - The optimizer's kernels -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostOptimizer.h"

#include "HostCode.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using kern::kLanes;

namespace {
/// The pointers, in the order of schema/program.fbs.
struct Pointers {
  Value gradient, masterIn, masterOut, first, second, copy;
};

/// What is the same for all elements, as vectors.
struct Scalars {
  Value keep;        ///< 1 - learning rate * weight decay
  Value firstWeight; ///< 1 - beta1
  Value beta2;
  Value secondWeight; ///< 1 - beta2
  Value root;         ///< sqrt(1 - beta2^t)
  Value epsilon;
  Value step; ///< -learning rate / (1 - beta1^t)
  Value coefficient;
};
} // namespace

static Scalars loadScalars(CodeBuilder &b, Value table, double beta1,
                           double beta2) {
  Type f32 = b.getF32Type(), f64 = b.getF64Type();
  auto get = [&](int64_t index) {
    return b.loadScalar(f32, b.offset(table, f32, b.i64(index)));
  };
  auto widen = [&](Value value) -> Value {
    return arith::ExtFOp::create(b, f64, value);
  };
  auto narrow = [&](Value value) -> Value {
    return arith::TruncFOp::create(b, f32, value);
  };
  // As PyTorch does, these are computed in f64 and rounded once.
  Value rate = widen(get(0)), decay = widen(get(4)), correction = widen(get(5));
  Value product = arith::MulFOp::create(b, rate, decay);
  Value keep = arith::SubFOp::create(b, b.number(f64, 1), product);
  Value step =
      arith::NegFOp::create(b, arith::DivFOp::create(b, rate, correction));
  VectorType type = b.vectorOf(f32);
  Scalars scalars;
  scalars.keep = b.broadcast(narrow(keep));
  scalars.firstWeight = b.number(type, 1 - beta1);
  scalars.beta2 = b.number(type, beta2);
  scalars.secondWeight = b.number(type, 1 - beta2);
  scalars.epsilon = b.broadcast(get(3));
  scalars.root = b.broadcast(get(6));
  scalars.step = b.broadcast(narrow(step));
  scalars.coefficient = b.broadcast(get(7));
  return scalars;
}

/// How far ahead memory is asked for, bytes. Measured on 16 cores of a Xeon of
/// the Emerald Rapids kind: 3 to 10 % faster than without, as is anything from
/// 512 to 4096.
static constexpr int64_t kPrefetch = 1024;

/// kLanes elements of AdamW in PyTorch's order of operations. `streamed`: the
/// master goes past the caches.
static void updateBlock(CodeBuilder &b, const Pointers &p, const Scalars &s,
                        Type copyType, Value position, Value mask,
                        bool streamed = false) {
  Type f32 = b.getF32Type();
  auto load = [&](Value pointer) {
    return b.loadVector(f32, b.offset(pointer, f32, position), 1, mask);
  };
  auto save = [&](Value value, Value pointer) {
    b.storeVector(f32, value, b.offset(pointer, f32, position), 1, mask);
  };
  auto mul = [&](Value x, Value y) -> Value {
    return arith::MulFOp::create(b, x, y);
  };
  auto add = [&](Value x, Value y) -> Value {
    return arith::AddFOp::create(b, x, y);
  };

  if (!mask)
    for (Value pointer : {p.gradient, p.masterIn, p.first, p.second}) {
      Value ahead = arith::AddIOp::create(b, position, b.i64(kPrefetch / 4));
      // To be read, into all caches.
      LLVM::Prefetch::create(b, b.offset(pointer, f32, ahead), 0, 3, 1);
    }
  Value gradient = mul(load(p.gradient), s.coefficient);
  Value weight = mul(load(p.masterIn), s.keep);
  Value first = load(p.first);
  Value difference = arith::SubFOp::create(b, gradient, first);
  first = add(first, mul(s.firstWeight, difference));
  Value second = mul(load(p.second), s.beta2);
  second = add(second, mul(mul(s.secondWeight, gradient), gradient));
  Value root = math::SqrtOp::create(b, second);
  Value denominator = add(arith::DivFOp::create(b, root, s.root), s.epsilon);
  Value change = arith::DivFOp::create(b, mul(s.step, first), denominator);
  weight = add(weight, change);
  if (streamed)
    LLVM::StoreOp::create(b, weight, b.offset(p.masterOut, f32, position),
                          kLanes * 4, /*isVolatile=*/false,
                          /*isNonTemporal=*/true);
  else
    save(weight, p.masterOut);
  save(first, p.first);
  save(second, p.second);
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

void host::emitAdamW(Location loc, StringRef name, ModuleOp module,
                     double beta1, double beta2, Type copyType) {
  CodeBuilder b(loc, module.getContext());
  func::FuncOp function = beginKernel(b, module, name);
  Pointers pointers{getPointer(b, function, 0), getPointer(b, function, 1),
                    getPointer(b, function, 2), getPointer(b, function, 3),
                    getPointer(b, function, 4), {}};
  if (copyType)
    pointers.copy = getPointer(b, function, 5);
  Scalars scalars =
      loadScalars(b, getPointer(b, function, copyType ? 6 : 5), beta1, beta2);

  Value begin = function.getArgument(1), end = function.getArgument(2);
  Value width = b.i64(kLanes);
  Value extent = arith::SubIOp::create(b, end, begin);
  Value vectors = arith::DivUIOp::create(b, extent, width);
  Value middle =
      arith::AddIOp::create(b, begin, arith::MulIOp::create(b, vectors, width));
  auto emitLoop = [&](bool streamed) {
    auto loop = scf::ForOp::create(b, begin, middle, width);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    updateBlock(b, pointers, scalars, copyType, loop.getInductionVar(), {},
                streamed);
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
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value mask =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                              b.lanes(b.getI64Type()), b.broadcast(rest));
    updateBlock(b, pointers, scalars, copyType, middle, mask);
  }
  endKernel(b);
}
