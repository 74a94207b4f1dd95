//===- HostTensor.h - Tensors of the reference evaluator -------*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_HOSTTENSOR_H
#define RONDO_DIALECT_NN_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace rondo::nn {

/// Static cost of running one op alone. `isProduct`: a contraction or
/// attention, whose result is worth keeping; everything else is rebuilt from
/// products at the price of memory traffic.
struct Cost {
  int64_t flops = 0;
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
  bool isProduct = false;
};

/// How the reference evaluation rounds.
struct EvaluationContext {
  /// Keep double precision instead of rounding each result to its element type:
  /// for finite differences.
  bool exact = false;
  /// Fail without a diagnostic: for folding, which then leaves the op alone.
  bool quiet = false;
};

/// A dense row-major tensor of the reference evaluator: floating element types
/// are held as doubles, integers and booleans as int64.
class HostTensor {
public:
  HostTensor() = default;
  /// Zero-filled.
  explicit HostTensor(mlir::RankedTensorType type);
  /// From a constant; any ElementsAttr with iterable values.
  static HostTensor fromAttribute(mlir::ElementsAttr attribute);
  /// Rounds each value to the element type.
  mlir::DenseElementsAttr toAttribute() const;

  mlir::RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return type.getNumElements(); }
  bool isFloat() const {
    return mlir::isa<mlir::FloatType>(type.getElementType());
  }

  std::vector<double> &floats() { return floatValues; }
  const std::vector<double> &floats() const { return floatValues; }
  std::vector<int64_t> &integers() { return integerValues; }
  const std::vector<int64_t> &integers() const { return integerValues; }

  /// Rounds every value to the element type (bf16, f16, f32: to nearest even;
  /// integers wrap).
  void round();

private:
  mlir::RankedTensorType type;
  std::vector<double> floatValues;
  std::vector<int64_t> integerValues;
};

/// Rounds `value` to floating-point type `type` (nearest even).
double roundTo(double value, mlir::Type type);

} // namespace rondo::nn

#endif // RONDO_DIALECT_NN_HOSTTENSOR_H
