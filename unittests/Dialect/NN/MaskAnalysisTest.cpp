//===- MaskAnalysisTest.cpp - Masks against their evaluation --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect/NN/Transforms/MaskAnalysis.h"
#include "EvaluationHelpers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

/// Writes random masks as nn text. All values have the full shape.
class MaskWriter {
public:
  MaskWriter(unsigned seed, MaskSpace space) : generator(seed), space(space) {}

  /// A function @f() that returns the mask.
  std::string write() {
    std::string mask = pick(3) ? boolean(3) : additive(1);
    return "func.func @f() -> " + typeOf(mask) + " {\n" + text + "return " +
           mask + " : " + typeOf(mask) + "\n}\n";
  }

private:
  int pick(int count) {
    return std::uniform_int_distribution<int>(0, count - 1)(generator);
  }

  std::string shape(std::string element) const {
    return "tensor<" + std::to_string(space.queries) + "x" +
           std::to_string(space.keys) + "x" + element + ">";
  }
  std::string define(std::string expression, std::string element) {
    std::string name = "%v" + std::to_string(elements.size());
    text += name + " = " + expression + "\n";
    elements[name] = element;
    return name;
  }
  std::string typeOf(const std::string &name) { return shape(elements[name]); }

  std::string list(int64_t count, bool isBoolean) {
    std::string result;
    int direction = pick(4);
    int64_t value = pick(5) - 2;
    for (int64_t i = 0; i < count; ++i) {
      if (isBoolean) {
        // Often a run, seldom noise.
        result += (direction ? (i + direction) % 4 < 2 : pick(2) != 0)
                      ? "true"
                      : "false";
      } else {
        value = direction == 0   ? pick(5) - 2
                : direction == 1 ? value - pick(2)
                                 : value + pick(2);
        result += std::to_string(value);
      }
      result += i + 1 < count ? ", " : "";
    }
    return result;
  }
  /// A vector along queries or keys, stretched.
  std::string vector(std::string element) {
    bool isRow = pick(2);
    int64_t count = isRow ? space.queries : space.keys;
    std::string line = "tensor<" + std::to_string(count) + "x" + element + ">";
    std::string value = define(
        "nn.constant dense<[" + list(count, element == "i1") + "]> : " + line,
        element);
    std::string from = line;
    if (isRow) {
      from = "tensor<" + std::to_string(count) + "x1x" + element + ">";
      value =
          define("nn.reshape " + value + " : " + line + " -> " + from, element);
    }
    return define("nn.broadcast " + value + " : " + from + " -> " +
                      shape(element),
                  element);
  }
  std::string number(int depth) {
    switch (pick(depth > 0 ? 6 : 4)) {
    case 0:
    case 1:
      return define("nn.iota " + std::to_string(pick(2)) +
                        " {start = " + std::to_string(pick(5) - 2) +
                        " : i64, step = " + std::to_string(pick(4) - 1) +
                        " : i64} : " + shape("i64"),
                    "i64");
    case 2:
      return vector("i64");
    case 3:
      return define("nn.constant dense<" + std::to_string(pick(5) - 2) +
                        "> : " + shape("i64"),
                    "i64");
    case 4: {
      std::string x = number(depth - 1), y = number(depth - 1);
      return define((pick(2) ? "nn.add " : "nn.sub ") + x + ", " + y + " : " +
                        shape("i64"),
                    "i64");
    }
    default: {
      std::string x = number(depth - 1);
      return define("nn.neg " + x + " : " + shape("i64"), "i64");
    }
    }
  }
  std::string boolean(int depth) {
    static const char *const predicates[] = {"eq", "ne", "lt",
                                             "le", "gt", "ge"};
    switch (pick(depth > 0 ? 9 : 4)) {
    case 0:
    case 1:
    case 2: {
      std::string x = number(2), y = number(2);
      return define(std::string("nn.compare ") + predicates[pick(6)] + " " + x +
                        ", " + y + " : " + shape("i64"),
                    "i1");
    }
    case 3:
      return vector("i1");
    case 4:
    case 5: {
      std::string x = boolean(depth - 1), y = boolean(depth - 1);
      return define("nn.and " + x + ", " + y + " : " + shape("i1"), "i1");
    }
    case 6: {
      std::string x = boolean(depth - 1), y = boolean(depth - 1);
      return define("nn.or " + x + ", " + y + " : " + shape("i1"), "i1");
    }
    case 7: {
      std::string x = boolean(depth - 1);
      return define("nn.not " + x + " : " + shape("i1"), "i1");
    }
    default: {
      std::string c = boolean(depth - 1), x = boolean(depth - 1),
                  y = boolean(depth - 1);
      return define("nn.select " + c + ", " + x + ", " + y + " : " +
                        shape("i1") + ", " + shape("i1"),
                    "i1");
    }
    }
  }
  std::string splat(std::string value) {
    return define("nn.constant dense<" + value + "> : " + shape("f32"), "f32");
  }
  std::string additive(int depth) {
    std::string low = pick(2) ? "0xFF800000" : "-3.0e38";
    switch (pick(depth > 0 ? 4 : 3)) {
    case 0:
    case 1: {
      std::string seen = boolean(2), zero = splat("0.0"), hidden = splat(low);
      bool isInverted = pick(2);
      return define("nn.select " + seen + ", " + (isInverted ? hidden : zero) +
                        ", " + (isInverted ? zero : hidden) + " : " +
                        shape("i1") + ", " + shape("f32"),
                    "f32");
    }
    case 2: {
      std::string seen = boolean(2), one = splat("1.0"),
                  hidden = splat("-3.0e38");
      std::string value = define("nn.cast " + seen + " : " + shape("i1") +
                                     " to " + shape("f32"),
                                 "f32");
      std::string inverse =
          define("nn.sub " + one + ", " + value + " : " + shape("f32"), "f32");
      return define("nn.mul " + inverse + ", " + hidden + " : " + shape("f32"),
                    "f32");
    }
    default: {
      std::string x = additive(depth - 1), y = additive(depth - 1);
      return define("nn.add " + x + ", " + y + " : " + shape("f32"), "f32");
    }
    }
  }

  std::mt19937 generator;
  MaskSpace space;
  std::string text;
  std::map<std::string, std::string> elements;
};

class MaskAnalysis : public EvaluationTest {};

TEST_F(MaskAnalysis, EqualsEvaluation) {
  int recognised = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    MaskSpace space = {static_cast<int64_t>(1 + seed % 5),
                       static_cast<int64_t>(1 + seed / 5 % 6)};
    std::string text = MaskWriter(seed, space).write();
    OwningOpRef<ModuleOp> module = parseModule(text);
    ASSERT_TRUE(module) << text;
    auto function = *module->getOps<func::FuncOp>().begin();
    Value mask = function.getBody().front().getTerminator()->getOperand(0);
    std::optional<VisibleKeys> seen = analyzeMask(mask, space);
    if (!seen)
      continue;
    ++recognised;
    FailureOr<SmallVector<HostTensor>> results = evaluate(*module);
    ASSERT_TRUE(succeeded(results)) << text << diagnostics;
    const HostTensor &dense = results->front();
    ASSERT_EQ(static_cast<int64_t>(seen->intervals.size()), space.queries);
    for (int64_t i = 0; i < space.queries; ++i) {
      KeyInterval interval = seen->intervals[i];
      for (int64_t j = 0; j < space.keys; ++j) {
        int64_t index = i * space.keys + j;
        bool expected = dense.isFloat() ? dense.floats()[index] == 0
                                        : dense.integers()[index] != 0;
        ASSERT_EQ(j >= interval.begin && j < interval.end, expected)
            << "seed " << seed << ", query " << i << ", key " << j << "\n"
            << text;
        // Where nothing is seen, a finite mask would see everything.
        if (interval.isEmpty() && dense.isFloat()) {
          ASSERT_TRUE(std::isinf(dense.floats()[index]) ||
                      seen->hidesWithFinite)
              << "seed " << seed << "\n"
              << text;
        }
      }
    }
  }
  // Not all masks are intervals, but a good part of these are.
  EXPECT_GT(recognised, 1000);
}

TEST_F(MaskAnalysis, FormsAreClassifiedAsThemselves) {
  for (int64_t queries = 1; queries < 6; ++queries)
    for (int64_t keys = 1; keys < 6; ++keys)
      for (int64_t window = 0; window <= keys + 1; ++window)
        for (bool causal : {false, true}) {
          if (window && !causal)
            continue; // no form of nn.attention that exporters write
          MaskSpace space = {queries, keys};
          MaskForm form;
          form.causal = causal;
          if (window)
            form.window = window;
          KeyIntervals visible = getVisibleKeys(form, space);
          std::optional<MaskForm> found = classify(visible, space);
          ASSERT_TRUE(found)
              << queries << " " << keys << " " << window << " " << causal;
          KeyIntervals again = getVisibleKeys(*found, space);
          for (int64_t i = 0; i < queries; ++i) {
            ASSERT_EQ(visible[i].isEmpty(), again[i].isEmpty());
            if (!visible[i].isEmpty()) {
              ASSERT_EQ(visible[i].begin, again[i].begin);
              ASSERT_EQ(visible[i].end, again[i].end);
            }
          }
        }
}

TEST_F(MaskAnalysis, AnyOtherKeyIsNoForm) {
  MaskSpace space = {4, 4};
  KeyIntervals causal = getVisibleKeys({true, std::nullopt}, space);
  ASSERT_TRUE(classify(causal, space));
  for (int64_t i = 0; i < 3; ++i) {
    KeyIntervals longer = causal;
    ++longer[i].end;
    EXPECT_FALSE(classify(longer, space)) << i;
  }
  KeyIntervals hole = causal;
  hole[2].begin = 1;
  EXPECT_FALSE(classify(hole, space));
}

} // namespace
