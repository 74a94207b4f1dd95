//===- HostCode.h - Building blocks of host code ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of generated code are scalars or vectors of kLanes of them; every
// helper works on both, with the same operations on each lane, so that a value
// has the same bits whichever it is computed in. bf16 and f16 values are held
// as f32 that such a type represents exactly; i1 in memory is a byte.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_HOSTCODE_H
#define RONDO_LIB_TARGET_HOSTCODE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "rondo/Dialect/Kern/Kern.h"

namespace rondo::host {

class CodeBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  //===--------------------------------------------------------------------===//
  // Types and constants
  //===--------------------------------------------------------------------===//
  mlir::VectorType vectorOf(mlir::Type scalar);
  /// `scalar`, or a vector of it where `like` is one.
  mlir::Type shapeLike(mlir::Type scalar, mlir::Type like);
  /// What values of `element` are held in.
  mlir::Type getValueType(mlir::Type element);
  /// What memory of `element` holds.
  mlir::Type getStorageType(mlir::Type element);

  mlir::Value constant(mlir::Type type, mlir::APFloat value);
  mlir::Value number(mlir::Type type, double value);
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value i64(int64_t value) { return integer(getI64Type(), value); }
  /// 0, 1, ..., kLanes - 1.
  mlir::Value lanes(mlir::Type element);
  mlir::Value broadcast(mlir::Value scalar);

  //===--------------------------------------------------------------------===//
  // Memory. Addresses are base pointers plus elements.
  //===--------------------------------------------------------------------===//
  mlir::Value offset(mlir::Value pointer, mlir::Type element,
                     mlir::Value index);
  mlir::Value loadScalar(mlir::Type element, mlir::Value pointer);
  /// kLanes elements `stride` apart; `mask`: lanes to touch, null for all.
  mlir::Value loadVector(mlir::Type element, mlir::Value pointer,
                         int64_t stride, mlir::Value mask);
  void storeScalar(mlir::Type element, mlir::Value value, mlir::Value pointer);
  void storeVector(mlir::Type element, mlir::Value value, mlir::Value pointer,
                   int64_t stride, mlir::Value mask);
  /// Between memory's form and values' form.
  mlir::Value fromStorage(mlir::Type element, mlir::Value stored);
  mlir::Value toStorage(mlir::Type element, mlir::Value value);
  /// Rounds f32 to what `element` (bf16, f16, f32) represents.
  mlir::Value roundTo(mlir::Type element, mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Functions of f32 (HostMath.cpp). At most 2 ulp where nothing else is said.
  //===--------------------------------------------------------------------===//
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value erf(mlir::Value x);
  mlir::Value sin(mlir::Value x) { return sinCos(x, 0); }
  mlir::Value cos(mlir::Value x) { return sinCos(x, 1); }
  /// On devices alone: f32 to bf16's numbers.
  mlir::Value roundOnDevice(mlir::Value value);
  /// On devices alone: 1 / x for x >= 1 or NaN, rounded as a division's result
  /// where that is a normal number.
  mlir::Value invertOnDevice(mlir::Value x);
  /// On devices alone: e^x by way of the device's own 2^x. A relative error of
  /// about 2^-22 + |x| 2^-24; subnormal results are 0.
  mlir::Value approximateExp(mlir::Value x);
  /// f64, scalars: at most 4 ulp (Math64.cpp).
  mlir::Value exp64(mlir::Value x);
  mlir::Value log64(mlir::Value x);
  /// Scalars of f32, or of f64 to about 1e-13. The host has libm's.
  mlir::Value pow(mlir::Value x, mlir::Value y);
  /// A function of libm, lane by lane. `name` is f64's; f32's has an f behind.
  mlir::Value callLibm(llvm::StringRef name, mlir::ValueRange arguments);

  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c);
  /// c[0] x^n + ... + c[n].
  mlir::Value polynomial(mlir::Value x, llvm::ArrayRef<float> coefficients);

  /// On devices there is no libm.
  bool isDevice() const { return device; }
  /// Whether a function of f64 (f32's are all there) can be computed on a
  /// device.
  static bool hasDeviceFunction(mlir::Operation &inner);

protected:
  void setDevice() { device = true; }

private:
  bool device = false;
  mlir::Value sinCos(mlir::Value x, int64_t quarter);
  mlir::Value lanePointers(mlir::Type element, mlir::Value pointer,
                           int64_t stride);
};

/// Whether an access has a guard on the axis.
bool hasGuardOn(kern::AccessAttr access, int64_t axis);
/// The result of an op of a fused kernel's region, neither reduce nor index;
/// vectors where `like` is one.
mlir::Value evaluateOp(CodeBuilder &builder, mlir::Operation &inner,
                       llvm::ArrayRef<mlir::Value> operands, mlir::Type like);
/// What a reduction starts at, and one step of it.
mlir::Value getIdentity(CodeBuilder &builder, kern::ReduceOp reduce,
                        mlir::Type type);
mlir::Value combine(CodeBuilder &builder, kern::ReduceOp reduce, mlir::Value x,
                    mlir::Value y);

/// The index at `pointer`, counted from the front, and whether it is in range.
std::pair<mlir::Value, mlir::Value> loadIndex(CodeBuilder &builder,
                                              mlir::Type element,
                                              mlir::Value pointer,
                                              int64_t extent);
/// The constant's elements, as memory holds them, as a global variable.
void emitTable(CodeBuilder &builder, kern::ConstantOp op, llvm::StringRef name,
               mlir::ModuleOp module, unsigned addressSpace = 0);

/// Starts the function `name` of a kernel at the end of `module`, and puts the
/// builder into its body. `end` returns 0 from it.
mlir::func::FuncOp beginKernel(CodeBuilder &builder, mlir::ModuleOp module,
                               llvm::StringRef name);
void endKernel(CodeBuilder &builder);
/// The `index`th of the pointers that the kernel was given.
mlir::Value getPointer(CodeBuilder &builder, mlir::func::FuncOp function,
                       unsigned index);

void emitFused(kern::FusedOp op, llvm::StringRef name, mlir::ModuleOp module);
void emitGather(kern::GatherOp op, llvm::StringRef name, mlir::ModuleOp module);
void emitScatterAdd(kern::ScatterAddOp op, llvm::StringRef name,
                    mlir::ModuleOp module);
void emitConstant(kern::ConstantOp op, llvm::StringRef name,
                  mlir::ModuleOp module);

} // namespace rondo::host

#endif // RONDO_LIB_TARGET_HOSTCODE_H
