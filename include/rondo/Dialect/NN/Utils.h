//===- Utils.h - Helpers around the nn dialect -----------------*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_UTILS_H
#define RONDO_DIALECT_NN_UTILS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "rondo/Dialect/NN/HostTensor.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace rondo::nn {

//===----------------------------------------------------------------------===//
// Locations
//===----------------------------------------------------------------------===//

/// The location of everything that comes from one ONNX node:
/// loc("node name"("domain::OpType")). An empty domain is ONNX's own.
mlir::Location getNodeLoc(mlir::MLIRContext *context, llvm::StringRef nodeName,
                          llvm::StringRef opType, llvm::StringRef domain = "");
/// The ONNX node's name, found through fused and call-site locations; for IR
/// that was written by hand "file:line:column"; "" when nothing is known.
std::string getNodeName(mlir::Location location);
/// The ONNX node alone; empty where a location knows only a file. What a
/// program holds must not depend on where the model's file lies.
std::string getOnnxNode(mlir::Location location);
/// "domain::OpType" of the node ("::Gemm" in ONNX's own domain), or "".
std::string getNodeOpType(mlir::Location location);

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// "[2, 16, 32]", for diagnostics.
std::string shapeToString(llvm::ArrayRef<int64_t> shape);
/// The shape to which NumPy broadcasts `a` and `b`, or nothing.
std::optional<llvm::SmallVector<int64_t>>
getBroadcastShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
/// Whether NumPy broadcasting stretches `from` to exactly `to`.
bool isBroadcastableTo(llvm::ArrayRef<int64_t> from,
                       llvm::ArrayRef<int64_t> to);
/// The shape of nn.matmul, or nothing where the operands do not fit.
std::optional<llvm::SmallVector<int64_t>>
getMatmulShape(llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs,
               bool transposeLhs, bool transposeRhs);
/// The shape of nn.reduce: `axes` are sorted, distinct and in range.
llvm::SmallVector<int64_t> getReducedShape(llvm::ArrayRef<int64_t> shape,
                                           llvm::ArrayRef<int64_t> axes,
                                           bool keepdims);
/// Elements from one index of each axis to the next, row-major.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> shape);
/// Bytes of one element; i1 takes one.
int64_t getElementBytes(mlir::Type elementType);
/// Bytes of a tensor of static shape.
int64_t getTensorBytes(mlir::Type tensorType);
inline int64_t getTensorBytes(mlir::Value value) {
  return getTensorBytes(value.getType());
}

//===----------------------------------------------------------------------===//
// Constants and evaluation
//===----------------------------------------------------------------------===//

/// The single value that every element of `value` has, seen through
/// broadcasts, reshapes, transposes, slices and casts; integers and booleans
/// as doubles.
std::optional<double> getSplatConstant(mlir::Value value);
inline bool isSplatConstant(mlir::Value value, double expected) {
  return getSplatConstant(value) == expected;
}
/// The elements of an nn.constant of integer type (at most `limit` of them).
std::optional<llvm::SmallVector<int64_t>>
getConstantIntegers(mlir::Value value, int64_t limit = 1 << 16);

/// Gives the value of the parameter called `name`; null: not known.
using ParameterLookup = llvm::function_ref<std::optional<HostTensor>(
    llvm::StringRef name, mlir::RankedTensorType type)>;

/// Runs the ops of `block` (each an EvaluableOp), whose arguments have the
/// values `arguments`, and returns the operands of its terminator. Values are
/// freed after their last use. nn.read asks `lookup`, then the parameter's
/// folded value. Fails after a diagnostic at the op that failed.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateBlock(mlir::Block &block, llvm::ArrayRef<HostTensor> arguments,
              const EvaluationContext &context = {},
              ParameterLookup lookup = nullptr);
/// The same for a function of one block.
mlir::FailureOr<llvm::SmallVector<HostTensor>>
evaluateFunction(mlir::func::FuncOp function, llvm::ArrayRef<HostTensor> inputs,
                 const EvaluationContext &context = {},
                 ParameterLookup lookup = nullptr);

} // namespace rondo::nn

#endif // RONDO_DIALECT_NN_UTILS_H
