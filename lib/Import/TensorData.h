//===- TensorData.h - ONNX tensors as nn types and values -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_TENSORDATA_H
#define RONDO_LIB_IMPORT_TENSORDATA_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "rondo/Dialect/NN/HostTensor.h"
#include "schema/onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace rondo {

/// The most elements a tensor may have: what is larger is taken for a mistake
/// before sizes overflow.
inline constexpr int64_t maxElements = int64_t(1) << 42;

/// nn's element type for an ONNX TensorProto.DataType; null if nn has none.
mlir::Type getElementType(mlir::MLIRContext *context, int32_t dataType);
/// "FLOAT", "INT4", or the number of an unknown type.
std::string getDataTypeName(int32_t dataType);
/// The product of `shape`, or -1 if an extent is negative or the product
/// exceeds `maxElements`.
int64_t countElements(llvm::ArrayRef<int64_t> shape);

/// The type of a tensor; an error at `loc` names what is wrong with it.
mlir::FailureOr<mlir::RankedTensorType>
getTensorType(const onnx::TensorProto &tensor, mlir::Location loc);
/// Bytes of a tensor's raw data.
int64_t getRawBytes(mlir::RankedTensorType type);
/// Decodes raw little-endian bytes, whose number fits `type`.
nn::HostTensor decodeRaw(mlir::RankedTensorType type, llvm::StringRef bytes);
/// Decodes a tensor that is in the message itself, as raw or typed data.
mlir::FailureOr<nn::HostTensor> decodeTensor(const onnx::TensorProto &tensor,
                                             mlir::Location loc);

} // namespace rondo

#endif // RONDO_LIB_IMPORT_TENSORDATA_H
