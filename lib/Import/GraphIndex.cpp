//===- GraphIndex.cpp - Who makes and who reads each value ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphIndex.h"

#include "TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace rondo {

LogicalResult GraphIndex::build(StringRef requestedLoss) {
  if (failed(indexNodes()) || failed(chooseLoss(requestedLoss)) ||
      failed(markLive()))
    return failure();
  for (int node = 0; node < file.getGraph().node_size(); ++node) {
    if (!live[node])
      continue;
    const onnx::NodeProto &proto = file.getGraph().node(node);
    for (int operand = 0; operand < proto.input_size(); ++operand)
      if (!proto.input(operand).empty())
        uses[proto.input(operand)].push_back({node, operand});
  }
  return success();
}

int GraphIndex::getProducer(StringRef value) const {
  auto found = producers.find(value);
  return found == producers.end() ? -1 : found->second;
}

ArrayRef<GraphIndex::Use> GraphIndex::getUses(StringRef value) const {
  auto found = uses.find(value);
  return found == uses.end() ? ArrayRef<Use>() : ArrayRef<Use>(found->second);
}

Location GraphIndex::getNodeLoc(int node) const {
  const onnx::NodeProto &proto = file.getGraph().node(node);
  std::string name = proto.name();
  if (name.empty() && proto.output_size() != 0)
    name = proto.output(0);
  StringRef domain = proto.domain();
  if (domain == "ai.onnx")
    domain = "";
  return nn::getNodeLoc(file.getLoc().getContext(), name, proto.op_type(),
                        domain);
}

LogicalResult GraphIndex::indexNodes() {
  const onnx::GraphProto &graph = file.getGraph();
  bool good = true;
  llvm::StringSet<> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!inputs.insert(input.name()).second) {
      good = false;
      emitError(file.getLoc())
          << "two inputs are called '" << input.name() << "'";
    }
  for (int node = 0; node < graph.node_size(); ++node) {
    for (const std::string &output : graph.node(node).output()) {
      if (output.empty())
        continue;
      if (producers.try_emplace(output, node).second &&
          !inputs.contains(output) && file.findInitializer(output) < 0)
        continue;
      good = false;
      emitError(getNodeLoc(node))
          << "makes '" << output << "', which something else makes too";
    }
  }
  return success(good);
}

/// Whether the output may be a loss: float, and one element as far as known.
static bool isScalarFloat(const onnx::ValueInfoProto &output,
                          MLIRContext *context) {
  if (!output.type().has_tensor_type())
    return false;
  const onnx::TypeProto::Tensor &tensor = output.type().tensor_type();
  if (!isa_and_nonnull<FloatType>(getElementType(context, tensor.elem_type())))
    return false;
  // A declared shape is a hint; one that is missing rules nothing out.
  for (const auto &dimension : tensor.shape().dim())
    if (!dimension.has_dim_value() || dimension.dim_value() != 1)
      return false;
  return true;
}

LogicalResult GraphIndex::chooseLoss(StringRef name) {
  const onnx::GraphProto &graph = file.getGraph();
  MLIRContext *context = file.getLoc().getContext();
  std::string all;
  SmallVector<StringRef> candidates;
  bool found = false;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    all += (all.empty() ? "'" : ", '") + output.name() + "'";
    found |= output.name() == name;
    if (isScalarFloat(output, context))
      candidates.push_back(output.name());
  }
  if (!name.empty()) {
    if (!found)
      return emitError(file.getLoc())
             << "--loss=" << name << ": the model has no such output; "
             << (all.empty() ? "it has none" : "its outputs are " + all);
    lossName = name.str();
    return success();
  }
  if (candidates.size() != 1)
    return emitError(file.getLoc())
           << "has " << candidates.size()
           << " scalar floating-point outputs, so the loss is not clear: name "
              "it with --loss=NAME; the outputs are "
           << (all.empty() ? "none" : all);
  lossName = candidates.front().str();
  return success();
}

LogicalResult GraphIndex::markLive() {
  const onnx::GraphProto &graph = file.getGraph();
  live.assign(graph.node_size(), false);
  llvm::StringSet<> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    inputs.insert(input.name());

  int lossNode = getProducer(lossName);
  if (lossNode < 0)
    return emitError(file.getLoc())
           << "no node makes the loss '" << lossName << "'";
  live[lossNode] = true;
  bool good = true;
  // Nodes are in topological order, so one pass backwards reaches all; an
  // operand that is made later breaks that order.
  for (int node = graph.node_size() - 1; node >= 0; --node) {
    if (!live[node])
      continue;
    for (const std::string &operand : graph.node(node).input()) {
      if (operand.empty() || inputs.contains(operand) ||
          file.findInitializer(operand) >= 0)
        continue;
      int producer = getProducer(operand);
      if (producer >= 0 && producer < node) {
        live[producer] = true;
        continue;
      }
      good = false;
      InFlightDiagnostic error = emitError(getNodeLoc(node));
      error << "reads '" << operand << "', ";
      if (producer < 0)
        error << "which nothing makes: no input, no initializer, no node";
      else
        error << "which is made only later, by node '"
              << graph.node(producer).name()
              << "': nodes are not in topological order, or form a cycle";
    }
  }
  return success(good);
}

} // namespace rondo
