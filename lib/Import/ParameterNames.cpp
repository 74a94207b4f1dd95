//===- ParameterNames.cpp - Names that exporters took away ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace rondo {

static bool isExporterName(StringRef name) {
  return !name.contains('.') || name.contains("::");
}

/// Names that PyTorch's exporter gives to a transposed parameter: "permute_3",
/// "t", "numpy_t_1".
static bool isNameOfTranspose(StringRef name) {
  name = name.rtrim("0123456789");
  name.consume_back("_");
  return name == "permute" || name == "transpose" || name == "t" ||
         name == "numpy_t";
}

/// The operand's index among those that hold the transpose of what the source
/// model multiplies with.
static bool isWeightTransposed(const onnx::NodeProto &node) {
  // MatMul computes x W, a linear layer x W^T. Gemm has a flag for it.
  if (node.op_type() != "Gemm")
    return true;
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "transB")
      return attribute.i() == 0;
  return true;
}

/// Finds the source name by what the initializer is to its module.
void Parameters::nameSource(int initializer) {
  ParameterInfo &info = infos[initializer];
  StringRef name = file.getInitializers()[initializer].name;
  // A tied embedding is known under the embedding's name in checkpoints, also
  // where the exporter kept that of the other use.
  if (!info.isParameter ||
      (!isExporterName(name) && info.role != ParameterRole::Embedding))
    return;
  const Consumer &consumer = roleConsumers[initializer];
  const onnx::NodeProto &node = getNode(consumer.node);
  ModuleScope scope = getModuleScope(node);
  if (scope.path.empty())
    return;
  std::string source;
  bool transposed = false;
  switch (info.role) {
  case ParameterRole::Weight: {
    // Without metadata a scope comes from the older exporter's node names,
    // whose folded weights are called "onnx::MatMul_12".
    bool isLinear = scope.isLinear() || name.starts_with("onnx::");
    if (consumer.operand == 1 && isLinear) {
      source = scope.path + ".weight";
      transposed = isWeightTransposed(node) != consumer.isTransposed;
    } else if (StringRef(scope.className).ends_with("Conv1D")) {
      source = scope.path + ".weight";
    }
    break;
  }
  case ParameterRole::NormScale:
  case ParameterRole::Embedding:
    source = scope.path + ".weight";
    break;
  case ParameterRole::Bias:
  case ParameterRole::NormBias:
    source = scope.path + ".bias";
    break;
  case ParameterRole::None:
  case ParameterRole::Elementwise:
    break;
  }
  if (source.empty() || source == name)
    return;
  // Where the exporter says what parameters there are, a guess must be one.
  if (!signature.parameters.empty() && !signature.parameterSet.contains(source))
    return;
  info.source = source;
  info.isSourceTransposed = transposed;
}

/// Parameters that a module multiplies with by hand (`x @ self.lora_A.T`) are
/// found in the program's signature: those of the module's own that no
/// initializer accounts for, in order, if there are as many.
void Parameters::nameFromSignature() {
  llvm::StringSet<> taken;
  for (const Initializer &tensor : file.getInitializers())
    taken.insert(tensor.name);
  for (const ParameterInfo &info : infos)
    if (!info.source.empty())
      taken.insert(info.source);
  llvm::MapVector<StringRef, SmallVector<int>> nameless;
  std::vector<std::string> paths(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!infos[i].isParameter || !infos[i].source.empty() ||
        !isExporterName(file.getInitializers()[i].name))
      continue;
    paths[i] = getModuleScope(getNode(roleConsumers[i].node)).path;
  }
  // By first use, not by place in the file.
  SmallVector<int> order;
  for (size_t i = 0; i < infos.size(); ++i)
    if (!paths[i].empty())
      order.push_back(i);
  llvm::sort(order, [&](int a, int b) {
    return std::pair(roleConsumers[a].node, a) <
           std::pair(roleConsumers[b].node, b);
  });
  for (int i : order)
    nameless[paths[i]].push_back(i);
  for (auto &[path, initializers] : nameless) {
    SmallVector<StringRef> candidates;
    for (StringRef parameter : signature.parameters) {
      StringRef rest = parameter;
      if (rest.consume_front(path) && rest.consume_front(".") &&
          !rest.contains('.') && !taken.contains(parameter))
        candidates.push_back(parameter);
    }
    if (candidates.size() != initializers.size())
      continue;
    for (auto [initializer, candidate] : llvm::zip(initializers, candidates)) {
      ParameterInfo &info = infos[initializer];
      info.source = candidate.str();
      info.isSourceTransposed =
          isNameOfTranspose(file.getInitializers()[initializer].name) !=
          roleConsumers[initializer].isTransposed;
    }
  }
}

/// Two parameters must not answer to one name: then neither guess stands.
void Parameters::dropAmbiguousSources() {
  llvm::StringMap<int> count;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].representative != int(i))
      continue;
    ++count[file.getInitializers()[i].name];
    if (!infos[i].source.empty())
      ++count[infos[i].source];
  }
  for (ParameterInfo &info : infos) {
    if (info.source.empty() || count[info.source] < 2)
      continue;
    info.source.clear();
    info.isSourceTransposed = false;
  }
}

} // namespace rondo
