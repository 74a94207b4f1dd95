//===- HostLossHeadTest.cpp - Loss heads as launch lists ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostHarness.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace rondo;
using namespace rondo::test;

namespace {
struct HeadCase {
  std::string name;
  int64_t rows = 11, extent = 12, classes = 50, chunk = 4;
  std::string element = "f32", logits = "f32";
  bool isTransposed = false, hasBias = false;
  std::string ignored = "2"; ///< Empty: every row counts.
  std::string label = "i64";

  std::string getOptions() const {
    return llvm::formatv(
        "{0}{1}{2}chunk {3} logits {4}", hasBias ? "bias %b " : "",
        isTransposed ? "transpose_weight " : "",
        ignored.empty() ? "" : "ignore " + ignored + " ", chunk, logits);
  }
  std::string getHidden() const {
    return llvm::formatv("tensor<{0}x{1}x{2}>", rows, extent, element);
  }
  std::string getWeight(const std::string &type) const {
    return llvm::formatv("tensor<{0}x{1}x{2}>", isTransposed ? classes : extent,
                         isTransposed ? extent : classes, type);
  }
  std::string getBias(const std::string &type) const {
    return llvm::formatv("tensor<{0}x{1}>", classes, type);
  }
  std::string getLabels() const {
    return llvm::formatv("tensor<{0}x{1}>", rows, label);
  }
  std::string getArguments() const {
    return llvm::formatv("%x: {0} {{nn.low = -1.0 : f64, nn.high = 1.0 : f64}, "
                         "%w: {1}, %l: {2} {{nn.high = {3}.0 : f64}{4}",
                         getHidden(), getWeight(element), getLabels(),
                         std::min<int64_t>(classes, 7),
                         hasBias ? ", %b: " + getBias(element) : "");
  }
  std::string getTypes(const std::string &seed) const {
    return llvm::formatv("{0}, {1}, {2}{3}{4}", getHidden(), getWeight(element),
                         getLabels(), seed,
                         hasBias ? ", " + getBias(element) : "");
  }

  std::string makeForward() const {
    return llvm::formatv("func.func @{0}_forward({1}) -> tensor<f32> {{\n"
                         "  %r = nn.linear_cross_entropy %x, %w, %l {2} : {3}\n"
                         "  return %r : tensor<f32>\n}\n",
                         name, getArguments(), getOptions(), getTypes(""));
  }
  /// `role` of the parameters' gradients.
  std::string makeGrad(const std::string &role = "") const {
    std::string bias = hasBias ? ", " + getBias("f32") : "",
                biasResult = hasBias ? bias + " " + role : "",
                result = hasBias ? ", %r#3" : "";
    return llvm::formatv(
        "func.func @{0}_grad({1}, %s: tensor<f32>) -> (tensor<f32>, {4}, {5} "
        "{6}{7}) attributes {{nn.tolerance = {9} : f64} {{\n"
        "  %r:{10} = nn.linear_cross_entropy_grad %x, %w, %l, %s {2} : {3} -> "
        "tensor<f32>, {4}, {5}{8}\n"
        "  return %r#0, %r#1, %r#2{11} : tensor<f32>, {4}, {5}{8}\n}\n",
        name, getArguments(), getOptions(), getTypes(", tensor<f32>"),
        getHidden(), getWeight("f32"), role, biasResult, bias,
        element == "f32" ? "5.0e-6" : "0.008", hasBias ? 4 : 3, result);
  }
};
} // namespace

TEST(HostLossHead, EqualsTheReference) {
  std::vector<HeadCase> cases;
  auto add = [&](const std::string &name, auto change) {
    HeadCase &added = cases.emplace_back();
    added.name = name;
    change(added);
  };
  add("plain", [](HeadCase &) {});
  add("transposed", [](HeadCase &c) { c.isTransposed = true; });
  add("bias", [](HeadCase &c) { c.hasBias = true; });
  add("all_count", [](HeadCase &c) {
    c.ignored.clear();
    c.hasBias = c.isTransposed = true;
  });
  add("one_chunk", [](HeadCase &c) { c.chunk = 1024; });
  add("whole_chunks", [](HeadCase &c) { c.rows = 12; });
  add("single_rows", [](HeadCase &c) { c.chunk = 1; });
  add("one_row", [](HeadCase &c) {
    c.rows = 1;
    c.ignored.clear();
  });
  add("long_rows", [](HeadCase &c) { c.classes = 2500; });
  // More than a GPU's block keeps in registers.
  add("vocabulary", [](HeadCase &c) {
    c.rows = 3;
    c.extent = 4;
    c.classes = 60000;
    c.chunk = 2;
  });
  add("bf16", [](HeadCase &c) {
    c.element = c.logits = "bf16";
    c.label = "i32";
    c.isTransposed = true;
  });
  add("bf16_wide", [](HeadCase &c) {
    c.element = "bf16";
    c.hasBias = true;
  });
  add("f16", [](HeadCase &c) { c.element = c.logits = "f16"; });
  std::string text;
  for (const HeadCase &head : cases)
    text += head.makeForward() + head.makeGrad();
  checkAll(text);
}

/// Hidden rows that a view moves, and a weight that one transposes.
TEST(HostLossHead, ReadsViews) {
  checkAll(R"(
    func.func @views(%x: tensor<12x9xf32>, %w: tensor<12x20xf32>, %l: tensor<8xi64>, %s: tensor<f32>) -> (tensor<f32>, tensor<8x12xf32>, tensor<20x12xf32>) {
      %0 = nn.transpose %x [1, 0] : tensor<12x9xf32> -> tensor<9x12xf32>
      %1 = nn.slice %0 [1, 0] [1, 1] : tensor<9x12xf32> -> tensor<8x12xf32>
      %2 = nn.transpose %w [1, 0] : tensor<12x20xf32> -> tensor<20x12xf32>
      %r:3 = nn.linear_cross_entropy_grad %1, %2, %l, %s transpose_weight chunk 3 logits f32
        : tensor<8x12xf32>, tensor<20x12xf32>, tensor<8xi64>, tensor<f32> -> tensor<f32>, tensor<8x12xf32>, tensor<20x12xf32>
      return %r#0, %r#1, %r#2 : tensor<f32>, tensor<8x12xf32>, tensor<20x12xf32>
    }
    func.func @computed(%x: tensor<3x4x12xf32>, %w: tensor<12x20xf32>, %l: tensor<12xi64>) -> tensor<f32> {
      %0 = nn.tanh %x : tensor<3x4x12xf32>
      %1 = nn.reshape %0 : tensor<3x4x12xf32> -> tensor<12x12xf32>
      %2 = nn.neg %w : tensor<12x20xf32>
      %r = nn.linear_cross_entropy %1, %2, %l chunk 5 logits f32 : tensor<12x12xf32>, tensor<12x20xf32>, tensor<12xi64>
      return %r : tensor<f32>
    }
    func.func @only_hidden(%x: tensor<8x12xf32>, %w: tensor<12x20xf32>, %l: tensor<8xi64>, %s: tensor<f32>) -> tensor<8x12xf32> {
      %r:3 = nn.linear_cross_entropy_grad %x, %w, %l, %s chunk 3 logits f32
        : tensor<8x12xf32>, tensor<12x20xf32>, tensor<8xi64>, tensor<f32> -> tensor<f32>, tensor<8x12xf32>, tensor<12x20xf32>
      return %r#1 : tensor<8x12xf32>
    }
    func.func @only_weight(%x: tensor<8x12xf32>, %w: tensor<12x20xf32>, %l: tensor<8xi64>, %s: tensor<f32>) -> tensor<12x20xf32> {
      %r:3 = nn.linear_cross_entropy_grad %x, %w, %l, %s chunk 3 logits f32
        : tensor<8x12xf32>, tensor<12x20xf32>, tensor<8xi64>, tensor<f32> -> tensor<f32>, tensor<8x12xf32>, tensor<12x20xf32>
      return %r#2 : tensor<12x20xf32>
    })");
}

/// How many rows are taken at a time shows in no loss and no row's cotangent,
/// and the loss is that of the product and the cross entropy by themselves.
TEST(HostLossHead, ChunksDoNotShow) {
  std::string text;
  HeadCase head;
  head.classes = 100;
  for (int64_t chunk : {1, 4, 11}) {
    head.name = "chunk_" + std::to_string(chunk);
    head.chunk = chunk;
    text += head.makeForward() + head.makeGrad();
  }
  text += llvm::formatv(
      "func.func @apart({0}) -> tensor<f32> {{\n"
      "  %z = nn.matmul %x, %w : {1}, {2} -> tensor<11x100xf32>\n"
      "  %r = nn.cross_entropy %z, %l ignore 2 : tensor<11x100xf32>, {3}\n"
      "  return %r : tensor<f32>\n}\n",
      head.getArguments(), head.getHidden(), head.getWeight("f32"),
      head.getLabels());
  auto context = makeContext();
  CompiledModule module(*context, text);
  ASSERT_TRUE(module.isValid());
  std::vector<Bytes> arguments;
  for (const nn::HostTensor &argument : module.makeArguments("chunk_1_grad", 3))
    arguments.push_back(toBytes(argument));
  std::vector<Bytes> first = module.run("chunk_1_grad", arguments);
  std::vector<Bytes> withoutSeed(arguments.begin(), arguments.end() - 1);
  EXPECT_EQ(module.run("apart", withoutSeed).front(), first[0]);
  for (const char *name : {"chunk_1", "chunk_4", "chunk_11"}) {
    std::string own = name;
    EXPECT_EQ(module.run(own + "_forward", withoutSeed).front(), first[0])
        << name;
    std::vector<Bytes> results = module.run(own + "_grad", arguments);
    EXPECT_EQ(results[0], first[0]) << name;
    EXPECT_EQ(results[1], first[1]) << name;
  }
}

/// Gradients are added to what the results held, over all chunks.
TEST(HostLossHead, GradientsAccumulate) {
  HeadCase head;
  head.name = "head";
  head.hasBias = true;
  auto context = makeContext();
  CompiledModule module(*context,
                        head.makeGrad("{pipe.role = #pipe.role<gradient>, "
                                      "pipe.index = 0 : i64}"));
  ASSERT_TRUE(module.isValid());
  std::vector<nn::HostTensor> arguments = module.makeArguments("head_grad", 5);
  std::vector<Bytes> bytes, initial;
  for (const nn::HostTensor &argument : arguments)
    bytes.push_back(toBytes(argument));
  std::vector<nn::HostTensor> expected =
      module.evaluate("head_grad", arguments);
  for (const nn::HostTensor &result : expected) {
    nn::HostTensor before = result;
    for (size_t i = 0; i < before.floats().size(); ++i)
      before.floats()[i] = double(i) + 0.5;
    initial.push_back(toBytes(before));
  }
  std::vector<Bytes> results = module.run("head_grad", bytes, nullptr, initial);
  ASSERT_EQ(results.size(), 4u);
  for (size_t result : {2, 3}) {
    std::vector<float> actual(expected[result].floats().size());
    ASSERT_EQ(results[result].size(), 4 * actual.size());
    std::memcpy(actual.data(), results[result].data(), 4 * actual.size());
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], double(i) + 0.5 + expected[result].floats()[i],
                  1e-4)
          << "result " << result << " element " << i;
  }
}

/// A label that is no class stops the run, in every chunk.
TEST(HostLossHead, LabelOutOfRangeIsReported) {
  HeadCase head;
  head.name = "head";
  auto context = makeContext();
  CompiledModule module(*context, head.makeForward() + head.makeGrad());
  ASSERT_TRUE(module.isValid());
  for (const char *name : {"head_forward", "head_grad"})
    for (auto [label, isBad] : {std::pair(int64_t(49), false),
                                {2, false},
                                {50, true},
                                {-1, true},
                                {INT64_MAX, true},
                                {INT64_MIN, true}})
      for (int64_t row : {0, 5, 10}) {
        std::vector<Bytes> bytes;
        for (nn::HostTensor &argument : module.makeArguments(name, 1)) {
          if (!argument.isFloat())
            argument.integers()[row] = label;
          bytes.push_back(toBytes(argument));
        }
        int status = 0;
        module.run(name, bytes, &status);
        EXPECT_EQ(status != 0, isBad)
            << name << " with label " << label << " at " << row;
      }
}

/// With as many classes as a real vocabulary has, scratch is one chunk's
/// logits: here 4 of 64 rows.
TEST(HostLossHead, LogitsAreNeverWhole) {
  HeadCase head;
  head.name = "head";
  head.rows = 64;
  head.classes = 4000;
  auto context = makeContext();
  CompiledModule module(*context, head.makeForward() + head.makeGrad());
  ASSERT_TRUE(module.isValid());
  int64_t chunk = head.chunk * head.classes * 4, small = 4096;
  for (const char *name : {"head_forward", "head_grad"}) {
    int64_t scratch = module.getEntry(name).scratchBytes;
    EXPECT_GE(scratch, chunk) << name;
    EXPECT_LE(scratch, chunk + small) << name;
  }
}
