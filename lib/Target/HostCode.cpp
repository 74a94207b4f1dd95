//===- HostCode.cpp - Building blocks of host code -----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using kern::kLanes;

//===----------------------------------------------------------------------===//
// Types and constants
//===----------------------------------------------------------------------===//

VectorType CodeBuilder::vectorOf(Type scalar) {
  return VectorType::get({kLanes}, scalar);
}

Type CodeBuilder::shapeLike(Type scalar, Type like) {
  return isa<VectorType>(like) ? vectorOf(scalar) : scalar;
}

Type CodeBuilder::getValueType(Type element) {
  return element.isBF16() || element.isF16() ? Type(getF32Type()) : element;
}

Type CodeBuilder::getStorageType(Type element) {
  if (element.isBF16())
    return getI16Type();
  return element.isInteger(1) ? Type(getI8Type()) : element;
}

Value CodeBuilder::constant(Type type, APFloat value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  bool losesInfo;
  value.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  TypedAttr attr = FloatAttr::get(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, value);
  return arith::ConstantOp::create(*this, attr);
}

Value CodeBuilder::number(Type type, double value) {
  return constant(type, APFloat(value));
}

Value CodeBuilder::integer(Type type, int64_t value) {
  TypedAttr attr = IntegerAttr::get(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Value CodeBuilder::lanes(Type element) {
  SmallVector<Attribute> values;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    values.push_back(IntegerAttr::get(element, lane));
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(vectorOf(element), values));
}

Value CodeBuilder::broadcast(Value scalar) {
  VectorType type = vectorOf(scalar.getType());
  Value undefined = LLVM::PoisonOp::create(*this, type);
  Value first = LLVM::InsertElementOp::create(*this, undefined, scalar,
                                              integer(getI32Type(), 0));
  SmallVector<int32_t> zeros(kLanes, 0);
  return LLVM::ShuffleVectorOp::create(*this, first, undefined, zeros);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value CodeBuilder::offset(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getStorageType(element),
                             pointer, ValueRange{index});
}

Value CodeBuilder::roundTo(Type element, Value value) {
  Type type = value.getType();
  if (element.isF16()) {
    Value narrow =
        arith::TruncFOp::create(*this, shapeLike(element, type), value);
    return arith::ExtFOp::create(*this, type, narrow);
  }
  if (!element.isBF16())
    return value;
  if (device)
    return roundOnDevice(value);
  // Nearest even on the bits: add just under half of the last kept place, and
  // one more if that place is odd. A NaN must not carry over to infinity.
  Type bitsType = shapeLike(getI32Type(), type);
  Value bits = arith::BitcastOp::create(*this, bitsType, value);
  Value odd = arith::AndIOp::create(
      *this, arith::ShRUIOp::create(*this, bits, integer(bitsType, 16)),
      integer(bitsType, 1));
  Value bias = arith::AddIOp::create(*this, odd, integer(bitsType, 0x7fff));
  Value rounded = arith::AddIOp::create(*this, bits, bias);
  Value quiet = arith::OrIOp::create(*this, bits, integer(bitsType, 0x400000));
  Value isNan =
      arith::CmpFOp::create(*this, arith::CmpFPredicate::UNO, value, value);
  Value chosen = arith::SelectOp::create(*this, isNan, quiet, rounded);
  Value kept = arith::AndIOp::create(*this, chosen,
                                     integer(bitsType, int32_t(0xffff0000)));
  return arith::BitcastOp::create(*this, type, kept);
}

Value CodeBuilder::fromStorage(Type element, Value stored) {
  Type type = stored.getType();
  if (element.isBF16()) {
    Type bitsType = shapeLike(getI32Type(), type);
    Value wide = arith::ExtUIOp::create(*this, bitsType, stored);
    Value bits = arith::ShLIOp::create(*this, wide, integer(bitsType, 16));
    return arith::BitcastOp::create(*this, shapeLike(getF32Type(), type), bits);
  }
  if (element.isF16())
    return arith::ExtFOp::create(*this, shapeLike(getF32Type(), type), stored);
  if (element.isInteger(1))
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::ne, stored,
                                 integer(type, 0));
  return stored;
}

Value CodeBuilder::toStorage(Type element, Value value) {
  Type type = value.getType();
  if (element.isBF16()) {
    Type bitsType = shapeLike(getI32Type(), type);
    Value bits = arith::BitcastOp::create(*this, bitsType, value);
    Value high = arith::ShRUIOp::create(*this, bits, integer(bitsType, 16));
    return arith::TruncIOp::create(*this, shapeLike(getI16Type(), type), high);
  }
  if (element.isF16())
    return arith::TruncFOp::create(*this, shapeLike(element, type), value);
  if (element.isInteger(1))
    return arith::ExtUIOp::create(*this, shapeLike(getI8Type(), type), value);
  return value;
}

Value CodeBuilder::loadScalar(Type element, Value pointer) {
  Type storage = getStorageType(element);
  Value stored = LLVM::LoadOp::create(*this, storage, pointer,
                                      kern::getElementBytes(element));
  return fromStorage(element, stored);
}

void CodeBuilder::storeScalar(Type element, Value value, Value pointer) {
  LLVM::StoreOp::create(*this, toStorage(element, value), pointer,
                        kern::getElementBytes(element));
}

Value CodeBuilder::lanePointers(Type element, Value pointer, int64_t stride) {
  Value steps = arith::MulIOp::create(*this, lanes(getI64Type()),
                                      integer(vectorOf(getI64Type()), stride));
  auto type = VectorType::get({kLanes}, pointer.getType());
  return LLVM::GEPOp::create(*this, type, getStorageType(element), pointer,
                             ValueRange{steps});
}

Value CodeBuilder::loadVector(Type element, Value pointer, int64_t stride,
                              Value mask) {
  Type storage = vectorOf(getStorageType(element));
  unsigned alignment = kern::getElementBytes(element);
  Value stored;
  if (stride == 1 && !mask) {
    stored = LLVM::LoadOp::create(*this, storage, pointer, alignment);
    return fromStorage(element, stored);
  }
  Value zero =
      arith::ConstantOp::create(*this, cast<TypedAttr>(getZeroAttr(storage)));
  if (stride == 1) {
    stored = LLVM::MaskedLoadOp::create(*this, storage, pointer, mask, zero,
                                        alignment);
    return fromStorage(element, stored);
  }
  if (!mask)
    mask = integer(vectorOf(getI1Type()), -1);
  Value pointers = lanePointers(element, pointer, stride);
  stored = LLVM::masked_gather::create(*this, storage, pointers, mask,
                                       ValueRange{zero}, alignment);
  return fromStorage(element, stored);
}

void CodeBuilder::storeVector(Type element, Value value, Value pointer,
                              int64_t stride, Value mask) {
  Value stored = toStorage(element, value);
  unsigned alignment = kern::getElementBytes(element);
  if (stride == 1 && !mask) {
    LLVM::StoreOp::create(*this, stored, pointer, alignment);
    return;
  }
  IntegerAttr alignmentAttr = getI32IntegerAttr(alignment);
  if (stride == 1) {
    LLVM::MaskedStoreOp::create(*this, stored, pointer, mask, alignmentAttr);
    return;
  }
  if (!mask)
    mask = integer(vectorOf(getI1Type()), -1);
  LLVM::masked_scatter::create(*this, stored,
                               lanePointers(element, pointer, stride), mask,
                               alignmentAttr);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

func::FuncOp host::beginKernel(CodeBuilder &b, ModuleOp module,
                               StringRef name) {
  b.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto type = b.getFunctionType({pointer, b.getI64Type(), b.getI64Type()},
                                b.getI32Type());
  auto function = func::FuncOp::create(b, name, type);
  b.setInsertionPointToStart(function.addEntryBlock());
  return function;
}

void host::endKernel(CodeBuilder &b) {
  Value status = b.integer(b.getI32Type(), 0);
  func::ReturnOp::create(b, ValueRange{status});
}

Value host::getPointer(CodeBuilder &b, func::FuncOp function, unsigned index) {
  Value table = function.getArgument(0);
  Value slot = LLVM::GEPOp::create(b, table.getType(), table.getType(), table,
                                   ArrayRef<LLVM::GEPArg>{int32_t(index)});
  return LLVM::LoadOp::create(b, table.getType(), slot);
}
