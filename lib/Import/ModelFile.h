//===- ModelFile.h - An ONNX file and its weights' places -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_MODELFILE_H
#define RONDO_LIB_IMPORT_MODELFILE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "schema/onnx.pb.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace rondo {

/// One initializer of the graph. Its bytes stay in the (mapped) file.
struct Initializer {
  std::string name;
  /// Without raw_data.
  const onnx::TensorProto *proto = nullptr;
  /// Null if the element type is not one of nn's.
  mlir::RankedTensorType type;
  /// The file that holds the elements as raw little-endian bytes: relative to
  /// the model, "" is the model itself; nothing: typed data in `proto`.
  std::optional<std::string> location;
  /// Bytes, in that file.
  int64_t offset = 0;
  int64_t length = 0;
  /// Whether the bytes are there now: compiling goes on without them.
  bool present = true;
};

class ModelFile {
public:
  /// Reads and checks everything that can be checked without looking at nodes:
  /// wire format, versions, initializers. Reports all errors.
  /// `external`, if not null, gets the names of files of external data.
  static std::unique_ptr<ModelFile> open(llvm::StringRef path,
                                         mlir::MLIRContext *context,
                                         std::vector<std::string> *external);

  const onnx::ModelProto &getModel() const { return model; }
  const onnx::GraphProto &getGraph() const { return model.graph(); }
  llvm::StringRef getPath() const { return path; }
  /// File name without directories; "-" for standard input.
  llvm::StringRef getFileName() const;
  mlir::Location getLoc() const { return loc; }
  /// Version of the standard operator set.
  int64_t getOpset() const { return opset; }
  /// The version imported for `domain`, or nothing.
  std::optional<int64_t> getOpset(llvm::StringRef domain) const;

  const std::vector<Initializer> &getInitializers() const {
    return initializers;
  }
  /// Index of the initializer called `name`, or -1.
  int findInitializer(llvm::StringRef name) const;
  /// The raw bytes of an initializer that has a location; empty if absent.
  llvm::StringRef getBytes(const Initializer &initializer);

private:
  ModelFile(llvm::StringRef path, mlir::Location loc) : path(path), loc(loc) {}

  mlir::LogicalResult read();
  mlir::LogicalResult parse(llvm::StringRef bytes);
  mlir::LogicalResult checkVersions();
  mlir::LogicalResult collectInitializers();
  mlir::LogicalResult locateExternal(Initializer &initializer);
  /// The mapped external file, or null if absent.
  llvm::MemoryBuffer *getExternalFile(llvm::StringRef location);

  std::string path;
  mlir::Location loc;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  onnx::ModelProto model;
  int64_t opset = 0;
  std::vector<Initializer> initializers;
  /// Of each initializer's raw bytes in the model file (raw_data, or packed
  /// float_data or double_data), in the graph's order.
  std::vector<std::optional<llvm::StringRef>> embedded;
  llvm::StringMap<int> initializerIndex;
  std::map<std::string, std::unique_ptr<llvm::MemoryBuffer>> externalFiles;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_MODELFILE_H
