//===- Parameters.cpp - What is a parameter, and what trains --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include "rondo/Support/Pattern.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace rondo {

static bool isFloat(const Initializer &initializer) {
  return initializer.type && isa<FloatType>(initializer.type.getElementType());
}

/// Ops whose first operand's elements are the result's.
static bool isView(StringRef opType) {
  return llvm::StringSwitch<bool>(opType)
      .Cases({"Transpose", "Reshape", "Unsqueeze", "Squeeze", "Flatten"}, true)
      .Cases({"Identity", "Cast", "CastLike", "Expand", "Slice"}, true)
      .Cases({"Dropout", "Split"}, true)
      .Default(false);
}

/// The module path under which users know it, as opposed to "val_93".
static bool isDotted(StringRef name) {
  return name.contains('.') && !name.starts_with("/") && !name.contains("::");
}

Parameters::Parameters(ModelFile &file, const GraphIndex &index)
    : file(file), index(index), signature(getProgramSignature(file.getGraph())),
      infos(file.getInitializers().size()),
      roleConsumers(file.getInitializers().size()) {}

LogicalResult Parameters::analyze(const ImportOptions &options) {
  for (size_t i = 0; i < infos.size(); ++i) {
    infos[i].representative = i;
    infos[i].isLive = !index.getUses(file.getInitializers()[i].name).empty();
  }
  markActivations();
  assignRoles();
  for (size_t i = 0; i < infos.size(); ++i)
    nameSource(i);
  nameFromSignature();
  if (failed(chooseTrainable(options)))
    return failure();
  mergeEqual();
  dropAmbiguousSources();
  return success();
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

bool Parameters::isActivation(const onnx::NodeProto &node, int operand) const {
  return operand < node.input_size() &&
         activations.contains(node.input(operand));
}

/// Activations are what float inputs and embedding lookups flow into. A number
/// made from integers (a rotary angle, a mask) is none.
void Parameters::markActivations() {
  for (const onnx::ValueInfoProto &input : file.getGraph().input()) {
    if (file.findInitializer(input.name()) >= 0)
      continue;
    dependent.insert(input.name());
    if (isa_and_nonnull<FloatType>(
            getElementType(file.getLoc().getContext(),
                           input.type().tensor_type().elem_type())))
      activations.insert(input.name());
  }
  for (int i = 0; i < file.getGraph().node_size(); ++i) {
    const onnx::NodeProto &node = getNode(i);
    StringRef type = node.op_type();
    if (!index.isLive(i) || type == "Shape" || type == "Size")
      continue;
    bool depends = llvm::any_of(node.input(), [&](const std::string &name) {
      return dependent.contains(name);
    });
    bool active = false;
    bool isComparison =
        llvm::StringSwitch<bool>(type)
            .Cases({"Equal", "Less", "Greater", "LessOrEqual"}, true)
            .Cases({"GreaterOrEqual", "And", "Or", "Not", "Xor"}, true)
            .Cases({"IsNaN", "IsInf", "ArgMax", "ArgMin"}, true)
            .Default(false);
    if (type == "Gather") {
      int table = node.input_size() ? file.findInitializer(node.input(0)) : -1;
      active = isActivation(node, 0);
      if (table >= 0 && node.input_size() > 1)
        active |= isFloat(file.getInitializers()[table]) &&
                  file.getInitializers()[table].type.getRank() >= 2 &&
                  dependent.contains(node.input(1));
    } else if (isView(type)) {
      active = isActivation(node, 0);
    } else if (!isComparison) {
      for (int operand = 0; operand < node.input_size(); ++operand)
        active |= isActivation(node, operand);
    }
    for (const std::string &output : node.output()) {
      if (depends)
        dependent.insert(output);
      if (active)
        activations.insert(output);
    }
  }
}

SmallVector<Parameters::Consumer>
Parameters::findConsumers(int initializer) const {
  struct Reached {
    StringRef value;
    bool isTransposed, isGathered;
  };
  SmallVector<Reached> work{
      {file.getInitializers()[initializer].name, false, false}};
  SmallVector<Consumer> consumers;
  for (size_t i = 0; i < work.size(); ++i) {
    Reached reached = work[i];
    for (GraphIndex::Use use : index.getUses(reached.value)) {
      const onnx::NodeProto &node = getNode(use.node);
      StringRef type = node.op_type();
      bool gathers = type == "Gather" && node.input_size() > 1 &&
                     !dependent.contains(node.input(1));
      if (use.operand != 0 || (!isView(type) && !gathers)) {
        consumers.push_back(
            {use.node, use.operand, reached.isTransposed, reached.isGathered});
        continue;
      }
      for (const std::string &output : node.output())
        if (!output.empty())
          work.push_back({output, reached.isTransposed != (type == "Transpose"),
                          reached.isGathered || gathers});
    }
  }
  // In graph order: the first use names the source.
  llvm::sort(consumers, [](const Consumer &a, const Consumer &b) {
    return std::pair(a.node, a.operand) < std::pair(b.node, b.operand);
  });
  return consumers;
}

ParameterRole Parameters::getRole(int initializer,
                                  const Consumer &consumer) const {
  const onnx::NodeProto &node = getNode(consumer.node);
  const Initializer &tensor = file.getInitializers()[initializer];
  StringRef type = node.op_type();
  int operand = consumer.operand;
  bool dotted = isDotted(tensor.name);

  if (type == "MatMul" || type == "Gemm") {
    if (operand == 2)
      return isActivation(node, 0) || isActivation(node, 1)
                 ? ParameterRole::Bias
                 : ParameterRole::None;
    return isActivation(node, 1 - operand) ? ParameterRole::Weight
                                           : ParameterRole::None;
  }
  if (type == "Conv" || type == "ConvTranspose") {
    if (operand == 0 || !isActivation(node, 0))
      return ParameterRole::None;
    return operand == 1 ? ParameterRole::Weight : ParameterRole::Bias;
  }
  if (type.ends_with("Normalization")) {
    // Operands 3 and 4 of BatchNormalization are running statistics.
    if (!isActivation(node, 0))
      return ParameterRole::None;
    if (operand == 1)
      return ParameterRole::NormScale;
    return operand == 2 ? ParameterRole::NormBias : ParameterRole::None;
  }
  if (type == "Gather")
    return operand == 0 && tensor.type.getRank() >= 2 ? ParameterRole::Embedding
                                                      : ParameterRole::None;
  bool isSum = type == "Add" || type == "Sub";
  bool isProduct = type == "Mul" || type == "Div";
  if (isSum || isProduct) {
    if (!isActivation(node, 1 - operand))
      return ParameterRole::None;
    // A table looked up at fixed positions is learnt if it is added (position
    // embeddings); if it is multiplied it is a rotary table.
    if (dotted && (isSum || !consumer.isGathered)) {
      bool scales = isProduct && tensor.type.getRank() == 1 &&
                    getModuleScope(node).isNorm();
      return scales ? ParameterRole::NormScale : ParameterRole::Elementwise;
    }
    int producer = index.getProducer(node.input(1 - operand));
    if (isSum && tensor.type.getRank() == 1 && producer >= 0 &&
        (getNode(producer).op_type() == "MatMul" ||
         getNode(producer).op_type() == "Conv"))
      return ParameterRole::Bias;
    return ParameterRole::None;
  }
  // A class token, for instance.
  if (type == "Concat" && dotted)
    for (int other = 0; other < node.input_size(); ++other)
      if (isActivation(node, other))
        return ParameterRole::Elementwise;
  return ParameterRole::None;
}

void Parameters::assignRoles() {
  for (size_t i = 0; i < infos.size(); ++i) {
    const Initializer &tensor = file.getInitializers()[i];
    if (!infos[i].isLive || !isFloat(tensor) ||
        signature.buffers.contains(tensor.name))
      continue;
    for (const Consumer &consumer : findConsumers(i)) {
      infos[i].role = getRole(i, consumer);
      if (infos[i].role == ParameterRole::None)
        continue;
      roleConsumers[i] = consumer;
      infos[i].isParameter = true;
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// What trains
//===----------------------------------------------------------------------===//

static FailureOr<std::vector<llvm::Regex>>
compilePatterns(const std::vector<std::string> &patterns, StringRef flag,
                Location loc) {
  std::vector<llvm::Regex> compiled;
  for (const std::string &pattern : patterns) {
    if (std::string fault = findPatternFault(pattern); !fault.empty())
      return emitError(loc) << "--" << flag << "='" << pattern << "' " << fault;
    compiled.emplace_back(pattern);
  }
  return compiled;
}

LogicalResult Parameters::chooseTrainable(const ImportOptions &options) {
  Location loc = file.getLoc();
  auto train = compilePatterns(options.trainable, "trainable", loc);
  auto freeze = compilePatterns(options.freeze, "freeze", loc);
  if (failed(train) || failed(freeze))
    return failure();
  std::vector<bool> trainUsed(train->size()), freezeUsed(freeze->size());
  // Every pattern is tried on every name, so that useless ones are found.
  auto matches = [](std::vector<llvm::Regex> &patterns, std::vector<bool> &used,
                    ArrayRef<StringRef> names) {
    bool any = false;
    for (size_t i = 0; i < patterns.size(); ++i)
      for (StringRef name : names)
        if (!name.empty() && patterns[i].match(name))
          any = used[i] = true;
    return any;
  };
  for (size_t i = 0; i < infos.size(); ++i) {
    ParameterInfo &info = infos[i];
    const Initializer &tensor = file.getInitializers()[i];
    if (!info.isLive || !isFloat(tensor))
      continue;
    // Constants of the exporter (an epsilon, a folded table) train only when
    // they are named in full: ".*" does not mean them.
    bool isCandidate = info.isParameter || isDotted(tensor.name) ||
                       llvm::is_contained(options.trainable, tensor.name);
    if (!isCandidate)
      continue;
    SmallVector<StringRef> names{tensor.name, info.source};
    bool wanted = matches(*train, trainUsed, names);
    info.isFrozen = matches(*freeze, freezeUsed, names);
    info.isParameter |= wanted;
    info.isTrainable = info.isParameter && !info.isFrozen &&
                       (options.trainable.empty() || wanted);
  }
  bool good = true;
  auto reportUnused = [&](const std::vector<std::string> &patterns,
                          const std::vector<bool> &used, StringRef flag) {
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (used[i])
        continue;
      good = false;
      emitError(loc) << "--" << flag << "='" << patterns[i]
                     << "' matches no parameter";
    }
  };
  reportUnused(options.trainable, trainUsed, "trainable");
  reportUnused(options.freeze, freezeUsed, "freeze");
  return success(good);
}

//===----------------------------------------------------------------------===//
// Equal contents
//===----------------------------------------------------------------------===//

void Parameters::merge(int representative, int copy, bool transposed) {
  ParameterInfo &kept = infos[representative];
  infos[copy].representative = representative;
  infos[copy].isCopyTransposed = transposed;
  kept.copies.push_back(copy);
  // Freezing one name of a parameter freezes it.
  kept.isFrozen |= infos[copy].isFrozen;
  kept.isTrainable |= infos[copy].isTrainable;
  kept.isTrainable &= !kept.isFrozen;
  emitRemark(file.getLoc())
      << "'" << file.getInitializers()[copy].name << "' holds "
      << (transposed ? "the transpose of '" : "the same tensor as '")
      << file.getInitializers()[representative].name
      << "': they are one parameter (tied weights)";
}

void Parameters::mergeEqual() {
  // A name of the user's stands for one of the exporter's, whichever comes
  // first in the file.
  SmallVector<int> order;
  for (bool dotted : {true, false})
    for (size_t i = 0; i < infos.size(); ++i)
      if (infos[i].isParameter &&
          file.getInitializers()[i].type.getRank() > 1 &&
          isDotted(file.getInitializers()[i].name) == dotted)
        order.push_back(i);
  EqualContents contents(file);
  llvm::StringMap<int> byRange;
  int64_t absent = 0;
  for (int i : order) {
    const Initializer &tensor = file.getInitializers()[i];
    if (tensor.location && !tensor.location->empty()) {
      // Shared bytes are shared weights, present or not.
      std::string range;
      llvm::raw_string_ostream(range)
          << *tensor.location << '\0' << tensor.offset << ' ' << tensor.length
          << ' ' << tensor.type;
      auto [entry, isNew] = byRange.try_emplace(range, i);
      if (!isNew) {
        merge(entry->second, i, false);
        continue;
      }
    }
    if (!tensor.present) {
      ++absent;
      continue;
    }
    if (auto match = contents.add(i))
      merge(match->earlier, i, match->isTransposed);
  }
  if (absent > 1)
    emitRemark(file.getLoc())
        << absent
        << " parameters could not be compared, because their weights file is "
           "absent: tied weights that the exporter wrote twice stay apart";
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

void Parameters::reportSharedNorms() const {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].role != ParameterRole::NormScale)
      continue;
    std::vector<std::string> modules;
    for (const Consumer &consumer : findConsumers(i)) {
      if (getRole(i, consumer) != ParameterRole::NormScale)
        continue;
      const onnx::NodeProto &node = getNode(consumer.node);
      std::string module = getModuleScope(node).path;
      if (module.empty())
        module = node.name();
      if (!llvm::is_contained(modules, module))
        modules.push_back(module);
    }
    if (modules.size() < 2)
      continue;
    InFlightDiagnostic warning = emitWarning(file.getLoc());
    warning << "'" << file.getInitializers()[i].name << "' scales the "
            << modules.size() << " normalisations ";
    for (size_t m = 0; m < modules.size(); ++m)
      warning << (m ? ", '" : "'") << modules[m] << "'";
    warning << ": the exporter merged parameters of equal value, and they "
               "will train as one; export without its optimizer "
               "(optimize=False)";
  }
}

static std::string describe(const Initializer &tensor) {
  std::string text = "'" + tensor.name + "' (";
  llvm::raw_string_ostream stream(text);
  llvm::interleave(tensor.type.getShape(), stream, "x");
  stream << ")";
  return text;
}

void Parameters::report() const {
  constexpr size_t maxNames = 12;
  int64_t trainable = 0, trainableElements = 0, frozen = 0, frozenElements = 0;
  int64_t scalars = 0;
  std::vector<std::string> names;
  for (size_t i = 0; i < infos.size(); ++i) {
    const ParameterInfo &info = infos[i];
    const Initializer &tensor = file.getInitializers()[i];
    if (!info.isLive || !isFloat(tensor) || info.representative != int(i))
      continue;
    int64_t elements = tensor.type.getNumElements();
    if (info.isTrainable) {
      ++trainable;
      trainableElements += elements;
      continue;
    }
    if (elements <= 1 && !info.isParameter) {
      ++scalars;
      continue;
    }
    ++frozen;
    frozenElements += elements;
    names.push_back(describe(tensor));
  }
  auto count = [](int64_t number, StringRef noun) {
    return std::to_string(number) + " " + noun.str() + (number == 1 ? "" : "s");
  };
  InFlightDiagnostic remark = emitRemark(file.getLoc());
  remark << count(trainable, "parameter") << " with "
         << count(trainableElements, "element")
         << (trainable == 1 ? " trains; " : " train; ")
         << count(frozen, "float tensor") << " with "
         << count(frozenElements, "element") << " and "
         << count(scalars, "scalar") << " stay as they are";
  for (size_t i = 0; i < std::min(names.size(), maxNames); ++i)
    remark << (i ? ", " : ": ") << names[i];
  if (names.size() > maxNames)
    remark << " and " << names.size() - maxNames << " more";
  remark.report();
  reportSharedNorms();
  if (trainable == 0)
    emitWarning(file.getLoc()) << "nothing trains";
}

} // namespace rondo
