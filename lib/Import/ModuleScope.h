//===- ModuleScope.h - What exporters tell of the source model --*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_MODULESCOPE_H
#define RONDO_LIB_IMPORT_MODULESCOPE_H

#include "schema/onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace rondo {

/// Where in the source model a node comes from. Empty where nothing is known.
struct ModuleScope {
  /// Dotted path of the innermost module: "m.layers.0.self_attn.q_proj".
  std::string path;
  /// Its class: "torch.nn.modules.linear.Linear".
  std::string className;
  /// The framework's operation: "aten.linear.default".
  std::string operation;

  /// Whether the operation multiplies with the transpose of its weight.
  bool isLinear() const;
  bool isNorm() const;
};

/// Reads `namespace` or `pkg.torch.onnx.name_scopes` (PyTorch's newer
/// exporter), or a node name such as "/m/layers.0/query/MatMul" (the older).
ModuleScope getModuleScope(const onnx::NodeProto &node);

/// The exported program's signature, which the newer exporter keeps in the
/// graph's metadata; empty where there is none.
struct ProgramSignature {
  /// In order of registration.
  std::vector<std::string> parameters;
  llvm::StringSet<> parameterSet;
  llvm::StringSet<> buffers;
};
ProgramSignature getProgramSignature(const onnx::GraphProto &graph);

} // namespace rondo

#endif // RONDO_LIB_IMPORT_MODULESCOPE_H
