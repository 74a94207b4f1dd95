//===- Kern.h - The kern dialect -------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_KERN_H
#define RONDO_DIALECT_KERN_KERN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "rondo/Runtime/AttentionFormat.h"

#include "rondo/Dialect/Kern/KernDialect.h.inc"
#include "rondo/Dialect/Kern/KernEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Kern/KernAttrs.h.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/Kern/KernOps.h.inc"

namespace rondo::kern {

/// Accumulators of a row reduction, and so the length of the vectors that
/// generated code computes with.
constexpr int64_t kLanes = 16;
/// Scratch offsets are multiples of this many bytes.
constexpr int64_t kAlignment = 64;

/// Bytes of a memref of static shape; i1 takes one byte an element.
int64_t getBytes(mlir::Value memref);
/// Bytes of one element; i1 takes one.
int64_t getElementBytes(mlir::Type elementType);

/// Smallest and largest element number that an access touches within `domain`,
/// or an empty range (begin == end == 0) where its guards never hold.
struct ElementRange {
  int64_t begin = 0;
  int64_t end = 0;
};
ElementRange getRange(AccessAttr access, llvm::ArrayRef<int64_t> domain);

/// Whether a value of a fused kernel's region is the same for all points that
/// differ in the last coordinate alone. Reductions' results are.
bool isUniform(FusedOp op, mlir::Value value);

runtime::AttentionSizes getSizes(AttentionOp op);
runtime::AttentionSizes getSizes(AttentionGradOp op);
runtime::AttentionBlock getAttentionBlock(AttentionGradOp op);

/// What an op of a kern.func reads and writes: operands by number. An op that
/// accumulates does both.
struct Effects {
  llvm::SmallVector<mlir::OpOperand *, 4> reads;
  llvm::SmallVector<mlir::OpOperand *, 2> writes;
};
Effects getEffects(mlir::Operation *op);

/// The machine that predicted times are for. Rates per nanosecond.
struct KernTarget {
  double flopsPerNs = 50;  ///< Products, one core.
  double scalarPerNs = 10; ///< Generated code: operations on elements.
  double bytesPerNs = 10;
  double latencyNs = 500;   ///< Of one call.
  double f32FlopsPerNs = 0; ///< Products of f32 operands; 0: as the others.
};
/// What one op of a kern.func costs.
struct OpCost {
  double flops = 0;
  double bytes = 0;
  double timeNs = 0;
};
OpCost getCost(mlir::Operation *op, const KernTarget &target);

} // namespace rondo::kern

#endif // RONDO_DIALECT_KERN_KERN_H
