//===- Import.cpp - From an ONNX file to nn -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Import/Import.h"

#include "Dimensions.h"
#include "GraphIndex.h"
#include "LateRefusals.h"
#include "Materializer.h"
#include "ModelFile.h"
#include "NodeImport.h"
#include "Parameters.h"
#include "TensorData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace rondo {

static const OpTable &getOpTable() {
  static const OpTable table = [] {
    OpTable ops;
    registerElementwiseOps(ops);
    registerConstantOps(ops);
    registerMovementOps(ops);
    registerIndexingOps(ops);
    registerReductionOps(ops);
    registerContractionOps(ops);
    registerNormalizationOps(ops);
    registerLossOps(ops);
    return ops;
  }();
  return table;
}

namespace {
/// Imports one model.
class Importer {
public:
  Importer(ModelFile &file, const ImportOptions &options, MLIRContext *context)
      : file(file), options(options), context(context), index(file),
        parameters(file, index) {}

  OwningOpRef<ModuleOp> run();

private:
  void createFunction(ArrayRef<RankedTensorType> inputTypes);
  const OpEntry *findEntry(const onnx::NodeProto &proto) const;
  void importNodes();
  LogicalResult importNode(int node);
  /// The value called `name`; null (after an error) if it cannot be had.
  Value lookUp(const std::string &name, int node);
  Value importInitializer(int initializer);
  Value readParameter(int initializer);
  void checkDeclared(const std::string &name, Value value);
  void findRefusedLater();
  void checkTrainable();
  void reportUnsupported();
  void reportContradictions();
  LogicalResult finish();

  ModelFile &file;
  const ImportOptions &options;
  MLIRContext *context;
  GraphIndex index;
  Parameters parameters;
  Dimensions dimensions;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  std::optional<Emitter> emitter;
  llvm::StringMap<Value> values;
  /// What a failed node would have made: its consumers are skipped silently.
  llvm::StringSet<> poisoned;
  llvm::StringMap<const onnx::TypeProto *> declared;
  llvm::StringSet<> symbols;
  bool good = true;

  struct Unsupported {
    int node;
    std::string reason;
  };
  std::vector<Unsupported> unsupported;
  SmallVector<Value> readByFailed; ///< Operands of nodes not imported.
  int contradictions = 0;
  std::string firstContradiction;
};
} // namespace

void Importer::createFunction(ArrayRef<RankedTensorType> inputTypes) {
  OpBuilder builder(context);
  module = ModuleOp::create(file.getLoc());
  (*module)->setAttr("nn.source", builder.getStringAttr(file.getFileName()));
  builder.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> types(inputTypes.begin(), inputTypes.end());
  Type loss = RankedTensorType::get({}, builder.getF32Type());
  function = func::FuncOp::create(builder, file.getLoc(), "loss",
                                  builder.getFunctionType(types, loss));
  symbols.insert("loss");
  function->setAttr("nn.loss", builder.getUnitAttr());
  function.setResultAttr(0, "nn.name",
                         builder.getStringAttr(index.getLossName()));
  Block *entry = function.addEntryBlock();
  emitter.emplace(context, entry);
  unsigned argument = 0;
  for (const onnx::ValueInfoProto &input : file.getGraph().input()) {
    if (file.findInitializer(input.name()) >= 0)
      continue;
    function.setArgAttr(argument, "nn.name",
                        builder.getStringAttr(input.name()));
    Value value = entry->getArgument(argument++);
    value.setLoc(NameLoc::get(
        builder.getStringAttr(input.name().empty() ? "?" : input.name())));
    values[input.name()] = value;
  }
}

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

static Location getTensorLoc(MLIRContext *context, StringRef name) {
  return NameLoc::get(StringAttr::get(context, name));
}

/// Creates the `nn.parameter` and its read.
Value Importer::readParameter(int initializer) {
  const Initializer &tensor = file.getInitializers()[initializer];
  const ParameterInfo &info = parameters.get(initializer);
  Location loc = getTensorLoc(context, tensor.name);
  if (!tensor.location) {
    emitError(loc) << "is a parameter of type " << tensor.type
                   << " stored as typed data in several pieces or in "
                      "int32_data, which cannot be read in place: store it "
                      "as raw_data or external data";
    good = false;
    return nullptr;
  }
  OpBuilder builder(function);
  SmallVector<Attribute> copies;
  SmallVector<bool> transposedCopies;
  for (int copy : info.copies) {
    copies.push_back(builder.getStringAttr(file.getInitializers()[copy].name));
    transposedCopies.push_back(parameters.get(copy).isCopyTransposed);
  }
  auto unit = [&](bool set) {
    return set ? builder.getUnitAttr() : UnitAttr();
  };
  if (!symbols.insert(tensor.name).second) {
    emitError(loc) << "has the name of the function that Rondo makes: rename "
                      "the initializer";
    good = false;
    return nullptr;
  }
  nn::ParameterOp::create(
      builder, loc, builder.getStringAttr(tensor.name),
      TypeAttr::get(tensor.type), unit(info.isTrainable),
      nn::StoredAttr::get(context, *tensor.location, tensor.offset,
                          tensor.length),
      ElementsAttr(),
      info.source.empty() ? StringAttr() : builder.getStringAttr(info.source),
      unit(info.isSourceTransposed),
      copies.empty() ? ArrayAttr() : builder.getArrayAttr(copies),
      copies.empty() ? DenseBoolArrayAttr()
                     : builder.getDenseBoolArrayAttr(transposedCopies),
      TypeAttr());
  emitter->setLoc(loc);
  return emitter->create<nn::ReadOp>(tensor.type, tensor.name);
}

Value Importer::importInitializer(int initializer) {
  const Initializer &tensor = file.getInitializers()[initializer];
  const ParameterInfo &info = parameters.get(initializer);
  Location loc = getTensorLoc(context, tensor.name);
  if (!tensor.type) {
    emitError(loc) << "has element type "
                   << getDataTypeName(tensor.proto->data_type())
                   << ", which is not supported";
    good = false;
    return nullptr;
  }
  if (info.representative != initializer) {
    const std::string &name = file.getInitializers()[info.representative].name;
    if (!values.contains(name)) {
      Value made = importInitializer(info.representative);
      values[name] = made;
    }
    Value kept = values.lookup(name);
    emitter->setLoc(loc);
    return kept && info.isCopyTransposed ? emitter->transpose(kept, {1, 0})
                                         : kept;
  }
  // What is not there cannot be folded.
  if (info.isParameter || !tensor.present)
    return readParameter(initializer);
  constexpr int64_t maxKnownFloats = 1 << 16, maxKnownIntegers = 1 << 20;
  int64_t elements = tensor.type.getNumElements();
  bool isFloat = isa<FloatType>(tensor.type.getElementType());
  std::optional<nn::HostTensor> known;
  if (!tensor.location) {
    FailureOr<nn::HostTensor> decoded = decodeTensor(*tensor.proto, loc);
    if (failed(decoded)) {
      good = false;
      return nullptr;
    }
    known = std::move(*decoded);
  } else if (elements <= (isFloat ? maxKnownFloats : maxKnownIntegers)) {
    known = decodeRaw(tensor.type, file.getBytes(tensor));
  }
  emitter->setLoc(loc);
  if (!tensor.location)
    return emitter->constant(std::move(*known));
  return emitter->table(initializer, tensor.type, std::move(known));
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

const OpEntry *Importer::findEntry(const onnx::NodeProto &proto) const {
  if (!proto.domain().empty() && proto.domain() != "ai.onnx")
    return nullptr;
  auto found = getOpTable().find(proto.op_type());
  if (found == getOpTable().end() || found->second.since > file.getOpset())
    return nullptr;
  return &found->second;
}

Value Importer::lookUp(const std::string &name, int node) {
  auto found = values.find(name);
  if (found != values.end())
    return found->second;
  if (int initializer = file.findInitializer(name); initializer >= 0) {
    Value value = importInitializer(initializer);
    return values[name] = value;
  }
  // Its node was imported, or this one would not be: an output of it that
  // Rondo does not make.
  if (!poisoned.contains(name)) {
    int producer = index.getProducer(name);
    unsupported.push_back({producer, "output '" + name + "'"});
    poisoned.insert(name);
  }
  return nullptr;
}

static bool hasReferences(const onnx::NodeProto &proto) {
  return llvm::any_of(proto.attribute(), [](const auto &attribute) {
    return !attribute.ref_attr_name().empty();
  });
}

LogicalResult Importer::importNode(int node) {
  const onnx::NodeProto &proto = file.getGraph().node(node);
  const OpEntry *entry = findEntry(proto);
  if (!entry) {
    unsupported.push_back({node, ""});
    return failure();
  }
  if (hasReferences(proto)) {
    unsupported.push_back({node, "attribute references outside a function"});
    return failure();
  }
  Location loc = index.getNodeLoc(node);
  int given = proto.input_size();
  while (given > 0 && proto.input(given - 1).empty())
    --given;
  if (given < entry->minOperands ||
      (entry->maxOperands >= 0 && given > entry->maxOperands)) {
    good = false;
    return emitError(loc) << "has " << given << " operands, which does not fit "
                          << proto.op_type();
  }
  SmallVector<Value> operands;
  bool usable = true;
  for (int i = 0; i < given; ++i) {
    const std::string &name = proto.input(i);
    if (name.empty() && i < entry->minOperands) {
      good = false;
      return emitError(loc) << "operand " << i << " is omitted";
    }
    operands.push_back(name.empty() ? Value() : lookUp(name, node));
    usable &= name.empty() || operands.back();
  }
  if (!usable)
    return failure();
  emitter->setLoc(loc);
  NodeImport import(*emitter, proto, file.getOpset(), std::move(operands));
  LogicalResult result = entry->import(import);
  if (emitter->takeFailure())
    result = failure();
  if (failed(result)) {
    if (import.isUnsupported())
      unsupported.push_back({node, import.getUnsupportedReason().str()});
    else
      good = false; // was reported
    return failure();
  }
  for (auto [name, value] : llvm::zip(proto.output(), import.getResults())) {
    if (name.empty() || !value)
      continue;
    values[name] = value;
    checkDeclared(name, value);
  }
  return success();
}

void Importer::importNodes() {
  for (int node = 0; node < file.getGraph().node_size(); ++node) {
    if (!index.isLive(node) || succeeded(importNode(node)))
      continue;
    for (const std::string &output : file.getGraph().node(node).output())
      poisoned.insert(output);
    for (const std::string &input : file.getGraph().node(node).input())
      if (Value value = values.lookup(input))
        readByFailed.push_back(value);
  }
}

/// Nodes that import knows, but later phases would refuse.
void Importer::findRefusedLater() {
  SmallVector<Value> ends(readByFailed);
  if (Value loss = values.lookup(index.getLossName()))
    ends.push_back(loss);
  SmallVector<LateRefusal> refusals =
      findLateRefusals(*module, *emitter, function.getBody().front(), ends);
  if (refusals.empty())
    return;
  DenseMap<Location, int> nodes;
  for (int node = 0; node < file.getGraph().node_size(); ++node)
    if (index.isLive(node))
      nodes[index.getNodeLoc(node)] = node;
  for (LateRefusal &refusal : refusals)
    if (auto node = nodes.find(refusal.op->getLoc()); node != nodes.end())
      unsupported.push_back({node->second, std::move(refusal.reason)});
}

/// Gradients and masters are f32.
void Importer::checkTrainable() {
  SmallVector<StringRef> names;
  for (auto parameter : module->getOps<nn::ParameterOp>())
    if (parameter.getTrainable() &&
        getElementTypeOrSelf(parameter.getType()).isF64())
      names.push_back(parameter.getSymName());
  if (names.empty())
    return;
  good = false;
  constexpr size_t maxNames = 4;
  InFlightDiagnostic error = emitError(file.getLoc());
  error << names.size()
        << (names.size() == 1 ? " parameter trains, but is f64:"
                              : " parameters train, but are f64:");
  for (StringRef name : ArrayRef(names).take_front(maxNames))
    error << " '" << name << "'";
  if (names.size() > maxNames)
    error << " and " << names.size() - maxNames << " more";
  error << "; parameters that train can be f32, bf16 or f16: freeze them with "
           "--freeze=REGEX, or export the model in f32";
}

/// One error for all nodes that cannot be imported, by op and reason.
void Importer::reportUnsupported() {
  if (unsupported.empty())
    return;
  good = false;
  llvm::StringSet<> functions;
  for (const onnx::FunctionProto &f : file.getModel().functions())
    functions.insert(f.domain() + "::" + f.name());
  llvm::MapVector<StringRef, SmallVector<std::string>,
                  llvm::StringMap<unsigned>>
      groups;
  llvm::StringMap<unsigned> ids;
  for (const Unsupported &entry : unsupported) {
    const onnx::NodeProto &proto = file.getGraph().node(entry.node);
    std::string domain = proto.domain().empty() ? "ai.onnx" : proto.domain();
    std::string kind = proto.op_type() + " (domain " + domain;
    if (auto version = file.getOpset(proto.domain()))
      kind += ", opset " + std::to_string(*version);
    kind += ")";
    if (functions.contains(proto.domain() + "::" + proto.op_type()))
      kind += ", a function of the model";
    if (!entry.reason.empty())
      kind += ", " + entry.reason;
    StringRef key = ids.try_emplace(kind, 0).first->first();
    groups[key].push_back(nn::getNodeName(index.getNodeLoc(entry.node)));
  }
  InFlightDiagnostic error = emitError(file.getLoc());
  error << unsupported.size()
        << (unsupported.size() == 1 ? " node is" : " nodes are")
        << " not supported:";
  for (auto &[kind, nodes] : groups) {
    error << "\n  " << kind << ": " << nodes.size()
          << (nodes.size() == 1 ? " node, '" : " nodes, '") << nodes.front()
          << "'";
    constexpr size_t maxNames = 4;
    for (size_t i = 1; i < std::min(nodes.size(), maxNames); ++i)
      error << ", '" << nodes[i] << "'";
    if (nodes.size() > maxNames)
      error << " and " << nodes.size() - maxNames << " more";
  }
}

//===----------------------------------------------------------------------===//
// Declared shapes
//===----------------------------------------------------------------------===//

void Importer::checkDeclared(const std::string &name, Value value) {
  auto found = declared.find(name);
  if (found == declared.end() || !found->second->has_tensor_type())
    return;
  const onnx::TypeProto::Tensor &type = found->second->tensor_type();
  RankedTensorType inferred = Emitter::typeOf(value);
  Type element = getElementType(context, type.elem_type());
  bool fits = !element || element == inferred.getElementType();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "[";
  if (type.has_shape()) {
    fits &= type.shape().dim_size() == inferred.getRank();
    for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
      const auto &dimension = type.shape().dim(axis);
      std::optional<int64_t> extent;
      if (dimension.has_dim_value())
        extent = dimension.dim_value();
      else if (!dimension.dim_param().empty())
        extent = dimensions.evaluate(dimension.dim_param());
      stream << (axis ? ", " : "");
      if (extent)
        stream << *extent;
      else
        stream << "?";
      if (fits && extent)
        fits = *extent == inferred.getDimSize(axis);
    }
  }
  stream << "]";
  if (fits)
    return;
  if (contradictions++ > 0)
    return;
  llvm::raw_string_ostream(firstContradiction)
      << "'" << name << "' is declared as " << getDataTypeName(type.elem_type())
      << text << ", but is " << inferred;
}

void Importer::reportContradictions() {
  if (contradictions == 0)
    return;
  emitRemark(file.getLoc())
      << contradictions
      << (contradictions == 1 ? " declared type contradicts"
                              : " declared types contradict")
      << " what the nodes make; ignored, the first being that "
      << firstContradiction;
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

LogicalResult Importer::finish() {
  Value loss = values.lookup(index.getLossName());
  if (!loss)
    return failure();
  Location loc = index.getNodeLoc(index.getProducer(index.getLossName()));
  RankedTensorType type = Emitter::typeOf(loss);
  if (!isa<FloatType>(type.getElementType()) || type.getNumElements() != 1)
    return emitError(loc) << "makes the loss '" << index.getLossName()
                          << "' of type " << type
                          << "; it must be one floating-point number";
  if (emitter->isIndependent(loss))
    return emitError(loc) << "makes the loss '" << index.getLossName()
                          << "', which depends on neither inputs nor "
                             "parameters";
  emitter->setLoc(loc);
  loss = emitter->reshape(loss, {});
  loss = emitter->cast(loss, Builder(context).getF32Type());
  func::ReturnOp::create(emitter->getBuilder(), loc, loss);
  Materializer materializer(*emitter, file, *module, symbols);
  if (failed(materializer.run(function)))
    return failure();
  // Only user input can be wrong up to here; this is Rondo's own duty.
  if (failed(verify(*module)))
    return emitError(file.getLoc()) << "internal error: import made invalid IR";
  return success();
}

OwningOpRef<ModuleOp> Importer::run() {
  auto inputTypes = dimensions.bindInputs(file, options.dimensions);
  if (failed(inputTypes) || failed(index.build(options.loss)) ||
      failed(parameters.analyze(options)))
    return nullptr;
  for (const onnx::ValueInfoProto &info : file.getGraph().value_info())
    declared[info.name()] = &info.type();
  for (const onnx::ValueInfoProto &info : file.getGraph().output())
    declared[info.name()] = &info.type();
  createFunction(*inputTypes);
  importNodes();
  findRefusedLater();
  checkTrainable();
  reportUnsupported();
  if (!good || failed(finish()))
    return nullptr;
  reportContradictions();
  parameters.report();
  return std::move(module);
}

OwningOpRef<ModuleOp> importModel(const ImportOptions &options,
                                  MLIRContext *context) {
  context->loadDialect<nn::NNDialect, func::FuncDialect>();
  std::unique_ptr<ModelFile> file =
      ModelFile::open(options.path, context, options.externalFiles);
  if (!file)
    return nullptr;
  return Importer(*file, options, context).run();
}

} // namespace rondo
