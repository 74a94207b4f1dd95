//===- Dimensions.cpp - Symbolic dimensions -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dimensions.h"

#include "TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace rondo {

namespace {
/// Recursive descent over a dimension expression.
class ExpressionParser {
public:
  ExpressionParser(StringRef text, const llvm::StringMap<int64_t> &sizes)
      : text(text), sizes(sizes) {}

  std::optional<int64_t> parse() {
    std::optional<int64_t> value = parseSum();
    skipSpace();
    return text.empty() ? value : std::nullopt;
  }

private:
  void skipSpace() { text = text.ltrim(); }
  bool consume(StringRef token) {
    skipSpace();
    return text.consume_front(token);
  }

  std::optional<int64_t> parseSum() {
    std::optional<int64_t> left = parseProduct();
    while (left) {
      bool add = consume("+");
      if (!add && !consume("-"))
        return left;
      std::optional<int64_t> right = parseProduct();
      int64_t result = 0;
      if (!right || (add ? llvm::AddOverflow(*left, *right, result)
                         : llvm::SubOverflow(*left, *right, result)))
        return std::nullopt;
      left = result;
    }
    return left;
  }

  std::optional<int64_t> parseProduct() {
    std::optional<int64_t> left = parseFactor();
    while (left) {
      // Exporters write both for a division without rest or rounded down.
      bool divide = consume("//") || consume("/");
      bool remainder = !divide && consume("%");
      if (!divide && !remainder && !consume("*"))
        return left;
      std::optional<int64_t> right = parseFactor();
      if (!right)
        return std::nullopt;
      int64_t result = 0;
      if (divide || remainder) {
        if (*right <= 0 || *left < 0)
          return std::nullopt;
        result = divide ? *left / *right : *left % *right;
      } else if (llvm::MulOverflow(*left, *right, result)) {
        return std::nullopt;
      }
      left = result;
    }
    return left;
  }

  std::optional<int64_t> parseFactor() {
    skipSpace();
    if (consume("(")) {
      // No dimension nests deeply; a hostile one must not exhaust the stack.
      if (++depth > 64)
        return std::nullopt;
      std::optional<int64_t> inner = parseSum();
      return consume(")") ? inner : std::nullopt;
    }
    StringRef token = text.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    text = text.drop_front(token.size());
    int64_t number = 0;
    if (!token.empty() && !token.getAsInteger(10, number))
      return number;
    auto found = sizes.find(token);
    if (found == sizes.end())
      return std::nullopt;
    return found->second;
  }

  StringRef text;
  const llvm::StringMap<int64_t> &sizes;
  int depth = 0;
};
} // namespace

std::optional<int64_t> Dimensions::evaluate(StringRef expression) const {
  auto found = sizes.find(expression);
  if (found != sizes.end())
    return found->second;
  return ExpressionParser(expression, sizes).parse();
}

static void insertOnce(std::vector<std::string> &names,
                       const std::string &name) {
  if (!llvm::is_contained(names, name))
    names.push_back(name);
}

/// The names in a dimension expression; the whole text if it is none, or the
/// name made up for a dimension without one.
static std::vector<std::string> getNames(StringRef text, bool isName) {
  std::vector<std::string> names;
  constexpr StringLiteral operators = "+-*/%() ";
  StringRef rest = text;
  while (!isName && !rest.empty()) {
    rest = rest.ltrim(operators);
    StringRef token =
        rest.take_while([&](char c) { return !operators.contains(c); });
    rest = rest.drop_front(token.size());
    if (!token.empty() && !llvm::isDigit(token.front()))
      insertOnce(names, token.str());
  }
  if (names.empty())
    names.push_back(text.str());
  return names;
}

int64_t Dimensions::resolve(const onnx::TensorShapeProto::Dimension &dimension,
                            const std::string &fallbackName) {
  if (dimension.has_dim_value())
    return dimension.dim_value();
  // A dimension without a name is called after its input and axis.
  bool hasName = !dimension.dim_param().empty();
  const std::string &text = hasName ? dimension.dim_param() : fallbackName;
  std::vector<std::string> names = getNames(text, !hasName);
  for (const std::string &name : names)
    insertOnce(known, name);
  if (std::optional<int64_t> size = evaluate(text))
    return *size;
  for (const std::string &name : names)
    if (!sizes.contains(name))
      insertOnce(missing, name);
  // Names that all have sizes in a text that is no expression of them.
  if (llvm::all_of(names, [&](const std::string &name) {
        return sizes.contains(name);
      })) {
    insertOnce(known, text);
    insertOnce(missing, text);
  }
  return 0;
}

static std::string quoteAll(ArrayRef<std::string> names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

FailureOr<std::vector<RankedTensorType>> Dimensions::bindInputs(
    const ModelFile &file,
    const std::vector<std::pair<std::string, int64_t>> &given) {
  bool good = true;
  for (const auto &[name, size] : given) {
    auto [entry, isNew] = sizes.try_emplace(name, size);
    if (isNew || entry->second == size)
      continue;
    good = false;
    emitError(file.getLoc()) << "--dim: '" << name << "' is given as "
                             << entry->second << " and as " << size;
  }
  std::vector<RankedTensorType> types;
  for (const onnx::ValueInfoProto &input : file.getGraph().input()) {
    if (file.findInitializer(input.name()) >= 0)
      continue; // IR version 3 lists initializers as inputs
    Location at = NameLoc::get(StringAttr::get(
        file.getLoc().getContext(), input.name().empty() ? "?" : input.name()));
    if (!input.type().has_tensor_type()) {
      good = false;
      emitError(at) << "input is not a tensor, which is not supported";
      continue;
    }
    const onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
    Type element = getElementType(at.getContext(), tensor.elem_type());
    if (!element) {
      good = false;
      emitError(at) << "input has element type "
                    << getDataTypeName(tensor.elem_type())
                    << ", which is not supported";
      continue;
    }
    if (!tensor.has_shape()) {
      good = false;
      emitError(at) << "input has no declared shape; export the model with "
                       "the shapes of its inputs";
      continue;
    }
    SmallVector<int64_t> shape;
    for (int axis = 0; axis < tensor.shape().dim_size(); ++axis)
      shape.push_back(resolve(tensor.shape().dim(axis),
                              input.name() + "." + std::to_string(axis)));
    if (countElements(shape) < 0) {
      good = false;
      emitError(at) << "input has impossible shape "
                    << nn::shapeToString(shape);
      continue;
    }
    if (missing.empty() && countElements(shape) == 0) {
      good = false;
      emitError(at) << "input of shape " << nn::shapeToString(shape)
                    << " has no elements";
      continue;
    }
    types.push_back(RankedTensorType::get(shape, element));
  }
  if (!missing.empty()) {
    good = false;
    std::string flags;
    for (const std::string &name : missing)
      flags += " --dim '" + name + "=SIZE'";
    emitError(file.getLoc()) << "symbolic dimensions " << quoteAll(missing)
                             << " have no size: add" << flags;
  }
  // A misspelt name must not go unnoticed.
  for (const auto &[name, size] : given) {
    if (llvm::is_contained(known, name))
      continue;
    good = false;
    InFlightDiagnostic error = emitError(file.getLoc());
    error << "--dim: no input has a dimension called '" << name << "'";
    if (known.empty())
      error << ": all are fixed";
    else
      error << "; there are " << quoteAll(known);
  }
  if (!good)
    return failure();
  return types;
}

} // namespace rondo
