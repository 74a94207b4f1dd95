//===- TensorData.cpp - ONNX tensors as nn types and values ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorData.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

using namespace mlir;

namespace rondo {

Type getElementType(MLIRContext *context, int32_t dataType) {
  Builder builder(context);
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return builder.getF32Type();
  case onnx::TensorProto::DOUBLE:
    return builder.getF64Type();
  case onnx::TensorProto::FLOAT16:
    return builder.getF16Type();
  case onnx::TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case onnx::TensorProto::INT64:
    return builder.getI64Type();
  case onnx::TensorProto::INT32:
    return builder.getI32Type();
  case onnx::TensorProto::BOOL:
    return builder.getI1Type();
  default:
    return nullptr;
  }
}

std::string getDataTypeName(int32_t dataType) {
  if (onnx::TensorProto::DataType_IsValid(dataType))
    return onnx::TensorProto::DataType_Name(
        static_cast<onnx::TensorProto::DataType>(dataType));
  return std::to_string(dataType);
}

int64_t countElements(ArrayRef<int64_t> shape) {
  // An extent of 0 makes any product 0, but the others must still be sane.
  int64_t count = 1;
  bool empty = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return -1;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (count > maxElements / extent)
      return -1;
    count *= extent;
  }
  return empty ? 0 : count;
}

FailureOr<RankedTensorType> getTensorType(const onnx::TensorProto &tensor,
                                          Location loc) {
  Type element = getElementType(loc.getContext(), tensor.data_type());
  if (!element)
    return emitError(loc) << "has element type "
                          << getDataTypeName(tensor.data_type())
                          << ", which is not supported";
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (countElements(shape) < 0)
    return emitError(loc) << "has impossible shape "
                          << nn::shapeToString(shape);
  return RankedTensorType::get(shape, element);
}

int64_t getRawBytes(RankedTensorType type) { return nn::getTensorBytes(type); }

template <typename T>
static T readLittle(const char *data) {
  return llvm::support::endian::read<T, llvm::endianness::little>(data);
}

/// The value of a 16-bit float from its bits.
static double decodeHalf(const llvm::fltSemantics &semantics, uint16_t bits) {
  llvm::APFloat value(semantics, llvm::APInt(16, bits));
  bool losesInfo = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
                &losesInfo);
  return value.convertToDouble();
}

nn::HostTensor decodeRaw(RankedTensorType type, StringRef bytes) {
  nn::HostTensor tensor(type);
  Type element = type.getElementType();
  const char *data = bytes.data();
  if (auto floatType = dyn_cast<FloatType>(element)) {
    std::vector<double> &values = tensor.floats();
    const llvm::fltSemantics &semantics = floatType.getFloatSemantics();
    for (size_t i = 0; i < values.size(); ++i) {
      if (element.isF32())
        values[i] = readLittle<float>(data + 4 * i);
      else if (element.isF64())
        values[i] = readLittle<double>(data + 8 * i);
      else
        values[i] = decodeHalf(semantics, readLittle<uint16_t>(data + 2 * i));
    }
    return tensor;
  }
  std::vector<int64_t> &values = tensor.integers();
  for (size_t i = 0; i < values.size(); ++i) {
    if (element.isInteger(64))
      values[i] = readLittle<int64_t>(data + 8 * i);
    else if (element.isInteger(32))
      values[i] = readLittle<int32_t>(data + 4 * i);
    else
      values[i] = data[i] != 0;
  }
  return tensor;
}

/// Copies typed data, which has one entry an element.
template <typename Field, typename Convert>
static FailureOr<nn::HostTensor>
decodeTyped(const Field &field, RankedTensorType type, StringRef fieldName,
            Location loc, Convert convert) {
  // Before anything of the claimed size is allocated.
  if (field.size() != type.getNumElements())
    return emitError(loc) << "has " << field.size() << " elements in "
                          << fieldName << "; its shape asks for "
                          << type.getNumElements();
  nn::HostTensor result(type);
  for (int i = 0; i < field.size(); ++i) {
    if (result.isFloat())
      result.floats()[i] = convert(field.Get(i));
    else
      result.integers()[i] = convert(field.Get(i));
  }
  return result;
}

FailureOr<nn::HostTensor> decodeTensor(const onnx::TensorProto &tensor,
                                       Location loc) {
  FailureOr<RankedTensorType> type = getTensorType(tensor, loc);
  if (failed(type))
    return failure();
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return emitError(loc) << "has external data, which only initializers may "
                             "have";
  if (tensor.has_raw_data()) {
    int64_t expected = getRawBytes(*type);
    if (int64_t(tensor.raw_data().size()) != expected)
      return emitError(loc)
             << "has " << tensor.raw_data().size()
             << " bytes of data; its type and shape ask for " << expected;
    return decodeRaw(*type, tensor.raw_data());
  }
  Type element = type->getElementType();
  auto keep = [](auto value) { return value; };
  if (element.isF32())
    return decodeTyped(tensor.float_data(), *type, "float_data", loc, keep);
  if (element.isF64())
    return decodeTyped(tensor.double_data(), *type, "double_data", loc, keep);
  if (auto half = dyn_cast<FloatType>(element))
    return decodeTyped(tensor.int32_data(), *type, "int32_data", loc,
                       [&](int32_t bits) {
                         return decodeHalf(half.getFloatSemantics(), bits);
                       });
  if (element.isInteger(64))
    return decodeTyped(tensor.int64_data(), *type, "int64_data", loc, keep);
  if (element.isInteger(32))
    return decodeTyped(tensor.int32_data(), *type, "int32_data", loc, keep);
  return decodeTyped(tensor.int32_data(), *type, "int32_data", loc,
                     [](int32_t value) { return value != 0; });
}

} // namespace rondo
