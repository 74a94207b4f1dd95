//===- ModuleScope.cpp - What exporters tell of the source model ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleScope.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rondo {

bool ModuleScope::isLinear() const {
  return StringRef(operation).starts_with("aten.linear") ||
         StringRef(className).ends_with(".Linear");
}

bool ModuleScope::isNorm() const {
  return StringRef(className).rsplit('.').second.contains("Norm");
}

static StringRef findMetadata(const onnx::NodeProto &node, StringRef key) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props())
    if (entry.key() == key)
      return entry.value();
  return {};
}

/// ": Top/m: a.B/m.fc: torch.nn.modules.linear.Linear/linear: aten.linear"
static ModuleScope parseNamespace(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, '/');
  ModuleScope scope;
  scope.operation = parts.back().split(':').second.trim().str();
  if (parts.size() >= 2) {
    auto [path, className] = parts[parts.size() - 2].split(':');
    scope.path = path.trim().str();
    scope.className = className.trim().str();
  }
  return scope;
}

/// "['', 'm', 'm.fc', 'linear']"
static ModuleScope parseNameScopes(StringRef text) {
  text.consume_front("[");
  text.consume_back("]");
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  ModuleScope scope;
  if (parts.size() >= 2)
    scope.path = parts[parts.size() - 2].trim().trim("'\"").str();
  return scope;
}

ModuleScope getModuleScope(const onnx::NodeProto &node) {
  if (StringRef text = findMetadata(node, "namespace"); !text.empty())
    return parseNamespace(text);
  if (StringRef text = findMetadata(node, "pkg.torch.onnx.name_scopes");
      !text.empty())
    return parseNameScopes(text);
  ModuleScope scope;
  StringRef name = node.name();
  if (!name.consume_front("/"))
    return scope;
  SmallVector<StringRef> parts;
  name.split(parts, '/');
  parts.pop_back();
  scope.path = join(parts, ".");
  return scope;
}

ProgramSignature getProgramSignature(const onnx::GraphProto &graph) {
  ProgramSignature signature;
  for (const onnx::StringStringEntryProto &entry : graph.metadata_props()) {
    if (entry.key() != "pkg.torch.export.ExportedProgram.graph_signature")
      continue;
    SmallVector<StringRef> lines;
    StringRef(entry.value()).split(lines, '\n');
    for (StringRef line : lines) {
      // p_m_fc_weight: PARAMETER target='m.fc.weight'
      auto [kind, rest] = line.split(": ").second.split(" target='");
      std::string target = rest.split('\'').first.str();
      if (target.empty())
        continue;
      if (kind == "BUFFER")
        signature.buffers.insert(target);
      else if (kind == "PARAMETER" &&
               signature.parameterSet.insert(target).second)
        signature.parameters.push_back(target);
    }
  }
  return signature;
}

} // namespace rondo
