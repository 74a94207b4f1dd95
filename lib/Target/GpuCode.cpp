//===- GpuCode.cpp - Building blocks of GPU code -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::gpu;

/// LLVM's numbers of NVPTX address spaces.
constexpr unsigned kSharedSpace = 3;
constexpr int64_t kPiece = 16;

GpuBuilder::GpuBuilder(Location loc, ModuleOp module, StringRef name,
                       unsigned parameters, ArrayRef<uint32_t> block)
    : CodeBuilder(loc, loc.getContext()), module(module) {
  setDevice();
  setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(parameters, getGlobalPointer());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(getContext()), types);
  function = LLVM::LLVMFuncOp::create(*this, name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), getUnitAttr());
  SmallVector<int32_t> bounds(block.begin(), block.end());
  // So that registers are counted for blocks of this size.
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    getDenseI32ArrayAttr(bounds));
  setInsertionPointToStart(function.addEntryBlock(*this));
}

void GpuBuilder::finish() { LLVM::ReturnOp::create(*this, ValueRange()); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value GpuBuilder::widen(Value number) {
  return arith::ExtUIOp::create(*this, getI64Type(), number);
}
Value GpuBuilder::threadX() {
  return widen(NVVM::ThreadIdXOp::create(*this, getI32Type()));
}
Value GpuBuilder::threadY() {
  return widen(NVVM::ThreadIdYOp::create(*this, getI32Type()));
}
Value GpuBuilder::blockX() {
  return widen(NVVM::BlockIdXOp::create(*this, getI32Type()));
}
Value GpuBuilder::blockY() {
  return widen(NVVM::BlockIdYOp::create(*this, getI32Type()));
}

Value GpuBuilder::linear(int64_t threads, int64_t total) {
  if (total > std::numeric_limits<int32_t>::max())
    return add(multiply(blockX(), threads), threadX());
  Value block = NVVM::BlockIdXOp::create(*this, getI32Type());
  Value thread = NVVM::ThreadIdXOp::create(*this, getI32Type());
  Value first =
      arith::MulIOp::create(*this, block, integer(getI32Type(), threads));
  return widen(arith::AddIOp::create(*this, first, thread));
}

Value GpuBuilder::add(Value x, Value y) {
  return arith::AddIOp::create(*this, x, y);
}
Value GpuBuilder::multiply(Value x, int64_t factor) {
  return arith::MulIOp::create(*this, x, i64(factor));
}
Value GpuBuilder::divide(Value x, int64_t divisor) {
  return arith::DivUIOp::create(*this, x, i64(divisor));
}
Value GpuBuilder::remainder(Value x, int64_t divisor) {
  return arith::RemUIOp::create(*this, x, i64(divisor));
}

Value GpuBuilder::isLess(Value x, Value y) {
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, x, y);
}

Value GpuBuilder::clamp(Value x, int64_t low, int64_t high) {
  x = arith::MaxSIOp::create(*this, x, i64(low));
  return arith::MinSIOp::create(*this, x, i64(high));
}

void GpuBuilder::runIf(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(*this, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(branch.thenBlock());
  body();
}

//===----------------------------------------------------------------------===//
// A GPU's own functions
//===----------------------------------------------------------------------===//

static Value callIntrinsic(OpBuilder &b, Location loc, StringRef name,
                           Type type, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(b, loc, type, b.getStringAttr(name),
                                       arguments)
      .getResult(0);
}

Value host::CodeBuilder::approximateExp(Value x) {
  Value scaled =
      arith::MulFOp::create(*this, x, number(x.getType(), 1.44269504088896341));
  return callIntrinsic(*this, getLoc(), "llvm.nvvm.ex2.approx.ftz.f32",
                       x.getType(), scaled);
}

Value host::CodeBuilder::roundOnDevice(Value value) {
  // Two numbers are rounded into one word, whose upper half is an f32's.
  auto pair = VectorType::get({2}, getBF16Type());
  Value rounded = callIntrinsic(*this, getLoc(), "llvm.nvvm.ff2bf16x2.rn", pair,
                                {value, number(value.getType(), 0)});
  return LLVM::BitcastOp::create(*this, value.getType(), rounded);
}

Value host::CodeBuilder::invertOnDevice(Value x) {
  // A quarter has a normal inverse, which is off by 1 ulp at most; one step of
  // Newton's rounds it. No branches, unlike a division.
  Type type = x.getType();
  Value quarter = arith::MulFOp::create(*this, x, number(type, 0.25));
  Value first = callIntrinsic(*this, getLoc(), "llvm.nvvm.rcp.approx.ftz.f",
                              type, quarter);
  Value rest =
      fma(arith::NegFOp::create(*this, quarter), first, number(type, 1));
  Value inverse =
      arith::MulFOp::create(*this, fma(first, rest, first), number(type, 0.25));
  double infinity = std::numeric_limits<double>::infinity();
  Value isInfinite = arith::CmpFOp::create(*this, arith::CmpFPredicate::OEQ, x,
                                           number(type, infinity));
  return arith::SelectOp::create(*this, isInfinite, number(type, 0), inverse);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SmallVector<Value> GpuBuilder::loadWide(Type element, Value pointer,
                                        int64_t count) {
  int64_t bytes = kern::getElementBytes(element),
          most = std::min(count, kPiece / bytes);
  SmallVector<Value> values;
  for (int64_t first = 0; first < count; first += most) {
    Value at = first == 0 ? pointer : offset(pointer, element, i64(first));
    auto load = [&](Type part, int64_t parts) {
      auto type = VectorType::get({parts}, part);
      Value stored = LLVM::LoadOp::create(*this, type, at, most * bytes);
      SmallVector<Value> all;
      for (int64_t i = 0; i < parts; ++i)
        all.push_back(LLVM::ExtractElementOp::create(*this, stored,
                                                     integer(getI32Type(), i)));
      return all;
    };
    if (!element.isBF16() || most % 2 != 0) {
      for (Value one : load(getStorageType(element), most))
        values.push_back(fromStorage(element, one));
      continue;
    }
    // Two in a word: each is an f32 after one operation.
    for (Value word : load(getI32Type(), most / 2)) {
      Value low = arith::ShLIOp::create(*this, word, integer(getI32Type(), 16));
      Value high = arith::AndIOp::create(
          *this, word, integer(getI32Type(), int32_t(0xffff0000)));
      for (Value bits : {low, high})
        values.push_back(arith::BitcastOp::create(*this, getF32Type(), bits));
    }
  }
  return values;
}

void GpuBuilder::storeWide(Type element, ValueRange values, Value pointer) {
  int64_t bytes = kern::getElementBytes(element), count = values.size(),
          most = std::min(count, kPiece / bytes);
  for (int64_t first = 0; first < count; first += most) {
    Value at = first == 0 ? pointer : offset(pointer, element, i64(first));
    auto type = VectorType::get({most}, getStorageType(element));
    Value stored = LLVM::PoisonOp::create(*this, type);
    for (int64_t lane = 0; lane < most; ++lane)
      stored = LLVM::InsertElementOp::create(
          *this, stored, toStorage(element, values[first + lane]),
          integer(getI32Type(), lane));
    LLVM::StoreOp::create(*this, stored, at, most * bytes);
  }
}

Value GpuBuilder::allocateShared(StringRef name, int64_t bytes) {
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(getI8Type(), bytes);
    LLVM::GlobalOp::create(*this, type, /*isConstant=*/false,
                           LLVM::Linkage::Internal, name, Attribute(),
                           /*alignment=*/16, kSharedSpace);
  }
  return LLVM::AddressOfOp::create(
      *this, LLVM::LLVMPointerType::get(getContext(), kSharedSpace), name);
}

Value GpuBuilder::allocateGlobal(StringRef name, int64_t bytes) {
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(getI8Type(), bytes);
    auto global = LLVM::GlobalOp::create(
        *this, type, /*isConstant=*/false, LLVM::Linkage::Internal, name,
        Attribute(),
        /*alignment=*/16, getGlobalPointer().getAddressSpace());
    createBlock(&global.getInitializerRegion());
    LLVM::ReturnOp::create(
        *this, ValueRange{Value(LLVM::ZeroOp::create(*this, type))});
  }
  return LLVM::AddressOfOp::create(*this, getGlobalPointer(), name);
}

//===----------------------------------------------------------------------===//
// Other threads
//===----------------------------------------------------------------------===//

Value GpuBuilder::exchange(Value value, int64_t mask) {
  Type type = value.getType(), i32 = getI32Type();
  auto shuffle = [&](Value word) -> Value {
    return NVVM::ShflOp::create(*this, word.getType(), integer(i32, -1), word,
                                integer(i32, mask), integer(i32, kWarp - 1),
                                NVVM::ShflKind::bfly, UnitAttr());
  };
  if (type.getIntOrFloatBitWidth() == 32)
    return shuffle(value);
  // 64 bits go in two halves.
  Value bits = isa<FloatType>(type)
                   ? Value(arith::BitcastOp::create(*this, getI64Type(), value))
                   : value;
  Value low = arith::TruncIOp::create(*this, i32, bits);
  Value high = arith::TruncIOp::create(
      *this, i32, arith::ShRUIOp::create(*this, bits, i64(32)));
  Value highBits = arith::ShLIOp::create(*this, widen(shuffle(high)), i64(32));
  Value joined = arith::OrIOp::create(*this, widen(shuffle(low)), highBits);
  return isa<FloatType>(type)
             ? Value(arith::BitcastOp::create(*this, type, joined))
             : joined;
}

Value GpuBuilder::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(*this, getI32Type(),
                                  integer(getI32Type(), -1), condition,
                                  NVVM::VoteSyncKind::ballot);
}

void GpuBuilder::synchronizeBlock() { NVVM::BarrierOp::create(*this); }
void GpuBuilder::synchronizeWarp() {
  NVVM::SyncWarpOp::create(*this, integer(getI32Type(), -1));
}

Value GpuBuilder::arriveLast(Value counters, int64_t blocks, Value thread,
                             Value group, Value slot) {
  Type i32 = getI32Type();
  constexpr llvm::StringLiteral kDevice = "device";
  auto fence = [&] {
    LLVM::FenceOp::create(*this, LLVM::AtomicOrdering::acq_rel, kDevice);
  };
  // Each thread's own stores first, then the block's arrival.
  fence();
  synchronizeBlock();
  Value isOne = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                                      add(thread, group), i64(0));
  runIf(isOne, [&] {
    Value counter = offset(counters, i32, blockX());
    Value before = LLVM::AtomicRMWOp::create(
        *this, LLVM::AtomicBinOp::add, counter, integer(i32, 1),
        LLVM::AtomicOrdering::monotonic, kDevice);
    Value isLast = arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                                         before, integer(i32, blocks - 1));
    // For the next launch.
    runIf(isLast, [&] { storeScalar(i32, integer(i32, 0), counter); });
    storeScalar(i32, arith::ExtUIOp::create(*this, i32, isLast), slot);
  });
  synchronizeBlock();
  Value isLast = arith::CmpIOp::create(*this, arith::CmpIPredicate::ne,
                                       loadScalar(i32, slot), integer(i32, 0));
  fence();
  // The slot is free again.
  synchronizeBlock();
  return isLast;
}
