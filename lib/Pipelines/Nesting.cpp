//===- Nesting.cpp - How deep IR nests ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/Nesting.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace rondo;

/// Where a string, whose quote is at `at`, ends.
static size_t skipString(StringRef text, size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"' || text[at] == '\n')
      break;
  }
  return at;
}

/// Whether what follows belongs to a name: of a symbol, a value, an attribute.
static bool isNamePart(char c) {
  return llvm::isAlnum(c) || StringRef("_$.@%#!").contains(c);
}

std::string rondo::findDeepText(StringRef text, bool isSplit) {
  if (isBytecode(llvm::MemoryBufferRef(text, "")))
    return "1: this is MLIR's bytecode, not its text";
  constexpr StringRef opening = "([{<", closing = ")]}>";
  // One for each kind: a closing bracket without an opening one ends parsing,
  // and must not make up for one of another kind here.
  unsigned open[4] = {}, levels = 0;
  size_t line = 1;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == '"')
      at = skipString(text, at);
    else if (c == '/' && next == '/') {
      if (isSplit && text.substr(at).starts_with("// -----"))
        std::fill_n(open, 4, 0), levels = 0;
      at = text.find('\n', at);
    }
    if (at >= text.size())
      break;
    c = text[at];
    if (c == '\n')
      ++line;
    // Their expressions nest without brackets, and no op of Rondo's has any.
    StringRef word = text.substr(at, 10);
    if ((word == "affine_map" || word == "affine_set") &&
        !isNamePart(at == 0 ? ' ' : text[at - 1]) &&
        !isNamePart(at + 10 < text.size() ? text[at + 10] : ' '))
      return std::to_string(line) + ": " + word.str() +
             ": no IR of Rondo's has maps or sets of the affine dialect";
    // "->", "<=" and ">=" are no brackets.
    if (next == (c == '-' ? '>' : '=') && (c == '-' || c == '<' || c == '>')) {
      ++at;
      continue;
    }
    if (size_t kind = opening.find(c); kind != StringRef::npos) {
      ++open[kind];
      if (++levels > kMostLevels)
        return std::to_string(line) + ": brackets are nested more than " +
               std::to_string(kMostLevels) + " deep";
    } else if (kind = closing.find(c); kind != StringRef::npos && open[kind]) {
      --open[kind], --levels;
    }
  }
  return "";
}

namespace {
/// An attribute or a type.
struct Element {
  const void *key;
  Attribute attribute;
  Type type;

  Element(Attribute attribute)
      : key(attribute.getAsOpaquePointer()), attribute(attribute) {}
  Element(Type type) : key(type.getAsOpaquePointer()), type(type) {}

  SmallVector<Element, 0> getElements() const {
    SmallVector<Element, 0> list;
    auto addAttribute = [&](Attribute inner) {
      if (inner)
        list.push_back(inner);
    };
    auto addType = [&](Type inner) {
      if (inner)
        list.push_back(inner);
    };
    if (attribute)
      attribute.walkImmediateSubElements(addAttribute, addType);
    else
      type.walkImmediateSubElements(addAttribute, addType);
    return list;
  }
};

/// Levels of attributes and types, each looked at once.
class Levels {
public:
  /// Whether `root` and what it holds have no more than kMostLevels.
  bool areFew(Element root) {
    // Depth first, on a stack of its own. Elements are immutable, so that none
    // holds itself; deeper than the limit nothing is looked at.
    struct Frame {
      Element element;
      SmallVector<Element, 0> inner;
      unsigned levels = 0;
    };
    if (known.contains(root.key))
      return true;
    std::vector<Frame> stack;
    stack.push_back({root, root.getElements(), 0});
    while (!stack.empty()) {
      Frame &frame = stack.back();
      if (frame.inner.empty()) {
        unsigned levels = frame.levels + 1;
        known[frame.element.key] = levels;
        stack.pop_back();
        if (levels > kMostLevels)
          return false;
        if (!stack.empty())
          stack.back().levels = std::max(stack.back().levels, levels);
        continue;
      }
      Element inner = frame.inner.pop_back_val();
      if (auto found = known.find(inner.key); found != known.end())
        frame.levels = std::max(frame.levels, found->second);
      else if (stack.size() > kMostLevels)
        return false;
      else
        stack.push_back({inner, inner.getElements(), 0});
    }
    return true;
  }

private:
  llvm::DenseMap<const void *, unsigned> known;
};
} // namespace

LogicalResult rondo::checkNesting(ModuleOp module) {
  Levels levels;
  WalkResult result = module->walk([&](Operation *op) {
    bool good = levels.areFew(Attribute(op->getLoc())) &&
                levels.areFew(op->getAttrDictionary());
    for (Type type : op->getResultTypes())
      good = good && levels.areFew(type);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          good = good && levels.areFew(argument.getType()) &&
                 levels.areFew(Attribute(argument.getLoc()));
    return good ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (!result.wasInterrupted())
    return success();
  return emitError(UnknownLoc::get(module.getContext()))
         << "attributes, types or locations are nested more than "
         << kMostLevels << " deep";
}
