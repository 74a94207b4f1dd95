//===- NodeImport.h - One ONNX node being imported --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_NODEIMPORT_H
#define RONDO_LIB_IMPORT_NODEIMPORT_H

#include "Emitter.h"
#include "schema/onnx.pb.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>

namespace rondo {

/// What a node's importer works with: operands, attributes, results, and ways
/// to say no.
class NodeImport {
public:
  NodeImport(Emitter &emitter, const onnx::NodeProto &proto, int64_t opset,
             llvm::SmallVector<mlir::Value> operands)
      : e(emitter), proto(proto), opset(opset), operands(std::move(operands)),
        results(proto.output_size()) {}

  Emitter &e;
  const onnx::NodeProto &proto;
  int64_t opset;

  //===--------------------------------------------------------------------===//
  // Operands and results
  //===--------------------------------------------------------------------===//

  int getNumOperands() const { return operands.size(); }
  /// Null if omitted.
  mlir::Value operand(int i) const {
    return i < getNumOperands() ? operands[i] : mlir::Value();
  }
  llvm::ArrayRef<int64_t> shape(int i) const {
    return Emitter::shapeOf(operands[i]);
  }
  int64_t rank(int i) const { return shape(i).size(); }
  mlir::Type element(int i) const { return Emitter::elementOf(operands[i]); }
  bool isFloat(int i) const { return mlir::isa<mlir::FloatType>(element(i)); }

  /// Whether the node names output `i`.
  bool hasOutput(int i) const {
    return i < proto.output_size() && !proto.output(i).empty();
  }
  mlir::LogicalResult setResult(int i, mlir::Value value) {
    if (i < int(results.size()))
      results[i] = value;
    return mlir::success();
  }
  mlir::LogicalResult setResult(mlir::Value value) {
    return setResult(0, value);
  }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

  /// Integers of operand `i`, which must be known now; omitted: nothing. An
  /// error says otherwise.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>>
  knownIntegers(int i, llvm::StringRef what);
  /// The same for a required operand.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  requiredIntegers(int i, llvm::StringRef what);

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  const onnx::AttributeProto *findAttribute(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t fallback) const;
  double getFloat(llvm::StringRef name, double fallback) const;
  std::string getString(llvm::StringRef name, llvm::StringRef fallback) const;
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name) const;
  /// Axes from operand `i` (newer opsets) or the attribute `axes`, as written.
  mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>> getAxes(int i);

  //===--------------------------------------------------------------------===//
  // Checks
  //===--------------------------------------------------------------------===//

  /// An invalid node: reported at once.
  mlir::InFlightDiagnostic error() const;
  /// A valid node in a form that is not supported: reported with all others.
  mlir::LogicalResult unsupported(const llvm::Twine &reason);
  bool isUnsupported() const { return !unsupportedReason.empty(); }
  llvm::StringRef getUnsupportedReason() const { return unsupportedReason; }

  /// A non-negative axis below `rank`, or an error.
  mlir::FailureOr<int64_t> normalizeAxis(int64_t axis, int64_t rank) const;
  /// Sorted, or an error if one is out of range or repeated.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  /// Fails with an error if `shape` is absurdly large.
  mlir::LogicalResult checkShape(llvm::ArrayRef<int64_t> shape) const;
  /// Operands `from`.. have one element type, or an error.
  mlir::LogicalResult checkSameElements(int from = 0) const;

  /// Stretches values to one shape, or an error.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  broadcastTogether(llvm::ArrayRef<mlir::Value> values);
  /// Stretches one value to `shape`, or an error.
  mlir::FailureOr<mlir::Value> broadcastTo(mlir::Value value,
                                           llvm::ArrayRef<int64_t> shape);

private:
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Value> results;
  std::string unsupportedReason;
};

using NodeImporter = mlir::LogicalResult (*)(NodeImport &);

/// How a standard op is imported: the opset since which it exists, its
/// operands, and the function.
struct OpEntry {
  int64_t since;
  int minOperands;
  /// -1: any number.
  int maxOperands;
  NodeImporter import;
};
using OpTable = llvm::StringMap<OpEntry>;

void registerElementwiseOps(OpTable &table);
void registerConstantOps(OpTable &table);
void registerMovementOps(OpTable &table);
void registerIndexingOps(OpTable &table);
void registerReductionOps(OpTable &table);
void registerContractionOps(OpTable &table);
void registerNormalizationOps(OpTable &table);
void registerLossOps(OpTable &table);

} // namespace rondo

#endif // RONDO_LIB_IMPORT_NODEIMPORT_H
