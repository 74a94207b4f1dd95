//===- HostAttentionTest.cpp - Attention that is left to a library --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether calls of attention say what nn.attention means: sizes, addresses and
// strides; a plain evaluation of the calls is compared with the interpreter.
//
//===----------------------------------------------------------------------===//

#include "HostHarness.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace rondo;
using namespace rondo::test;
using target::Call;

namespace {
/// A matrix of every head, as doubles.
struct Matrices {
  const Call &call;
  void *memory;
  unsigned number; ///< Of its strides.

  uint8_t *at(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    const int64_t *strides = &call.strides[3 * number];
    return (uint8_t *)memory + 2 * (batch * strides[0] + head * strides[1] +
                                    row * strides[2] + column);
  }
  double get(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    uint16_t bits;
    std::memcpy(&bits, at(batch, head, row, column), 2);
    return decode(bits, cast<FloatType>(call.element));
  }
  void set(int64_t batch, int64_t head, int64_t row, int64_t column,
           double value) const {
    auto bits = (uint16_t)encode(value, cast<FloatType>(call.element));
    std::memcpy(at(batch, head, row, column), &bits, 2);
  }
};

/// Of one row of one head.
struct Row {
  int64_t batch, head, keyHead, row, begin, end;
  std::vector<double> weights; ///< Of keys [begin, end).
  double statistic = 0;
};
} // namespace

static Row makeRow(const Call &call, const Matrices &query, const Matrices &key,
                   int64_t batch, int64_t head, int64_t number) {
  const runtime::AttentionSizes &sizes = call.sizes;
  Row row{batch,  head, head / (sizes.heads / sizes.keyHeads),
          number, 0,    sizes.keys,
          {},     0};
  if (call.causal)
    row.end = number + 1 + sizes.keys - sizes.rows;
  if (call.window)
    row.begin = std::max<int64_t>(0, row.end - call.window);
  double most = -HUGE_VAL, sum = 0;
  for (int64_t j = row.begin; j < row.end; ++j) {
    double score = 0;
    for (int64_t c = 0; c < sizes.depth; ++c)
      score +=
          query.get(batch, head, number, c) * key.get(batch, row.keyHead, j, c);
    row.weights.push_back(score * call.scale);
    most = std::max(most, row.weights.back());
  }
  for (double &weight : row.weights)
    sum += std::exp(weight - most);
  row.statistic = most + std::log(sum);
  for (double &weight : row.weights)
    weight = std::exp(weight - row.statistic);
  return row;
}

void test::attend(const Call &call, ArrayRef<void *> pointers) {
  bool isGradient = call.kind == Call::Kind::AttentionGrad;
  const runtime::AttentionSizes &sizes = call.sizes;
  auto get = [&](unsigned number) {
    return Matrices{call, pointers[number < 4 ? number : number + 1], number};
  };
  Matrices q = get(0), k = get(1), v = get(2), o = get(3);
  auto *statistics = (float *)pointers[4];
  std::memset(pointers.back(), 0xee, call.workspaceBytes);
  std::vector<double> dk(sizes.batch * sizes.keyHeads * sizes.keys *
                         sizes.depth),
      dv(sizes.batch * sizes.keyHeads * sizes.keys * sizes.valueDepth);
  auto forEachRow = [&](auto visit) {
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t h = 0; h < sizes.heads; ++h)
        for (int64_t i = 0; i < sizes.rows; ++i)
          visit(makeRow(call, q, k, b, h, i),
                statistics[(b * sizes.heads + h) * sizes.rows + i]);
  };
  if (!isGradient)
    return forEachRow([&](const Row &row, float &statistic) {
      statistic = float(row.statistic);
      for (int64_t c = 0; c < sizes.valueDepth; ++c) {
        double sum = 0;
        for (int64_t j = row.begin; j < row.end; ++j)
          sum +=
              row.weights[j - row.begin] * v.get(row.batch, row.keyHead, j, c);
        o.set(row.batch, row.head, row.row, c, sum);
      }
    });
  EXPECT_EQ(sizes.batch % call.attentionBlock.batch, 0);
  EXPECT_EQ(sizes.heads % call.attentionBlock.heads, 0);
  EXPECT_LE(call.libraryBytes, call.workspaceBytes);
  Matrices cotangent = get(4), dq = get(5);
  forEachRow([&](const Row &row, float &statistic) {
    // The forward's statistics are to be used.
    EXPECT_NEAR(statistic, row.statistic, 1e-4);
    double mean = 0;
    for (int64_t c = 0; c < sizes.valueDepth; ++c)
      mean += cotangent.get(row.batch, row.head, row.row, c) *
              o.get(row.batch, row.head, row.row, c);
    std::vector<double> sums(sizes.depth);
    for (int64_t j = row.begin; j < row.end; ++j) {
      double weight = row.weights[j - row.begin], change = -mean;
      int64_t line =
          (row.batch * sizes.keyHeads + row.keyHead) * sizes.keys + j;
      for (int64_t c = 0; c < sizes.valueDepth; ++c) {
        double down = cotangent.get(row.batch, row.head, row.row, c);
        change += down * v.get(row.batch, row.keyHead, j, c);
        dv[line * sizes.valueDepth + c] += weight * down;
      }
      change *= weight * call.scale;
      for (int64_t c = 0; c < sizes.depth; ++c) {
        sums[c] += change * k.get(row.batch, row.keyHead, j, c);
        dk[line * sizes.depth + c] +=
            change * q.get(row.batch, row.head, row.row, c);
      }
    }
    for (int64_t c = 0; c < sizes.depth; ++c)
      dq.set(row.batch, row.head, row.row, c, sums[c]);
  });
  auto store = [&](const Matrices &to, const std::vector<double> &from,
                   int64_t columns) {
    for (size_t i = 0; i < from.size(); ++i) {
      int64_t column = i % columns, line = i / columns;
      to.set(line / sizes.keys / sizes.keyHeads,
             line / sizes.keys % sizes.keyHeads, line % sizes.keys, column,
             from[i]);
    }
  };
  store(get(6), dk, sizes.depth);
  store(get(7), dv, sizes.valueDepth);
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

/// Attention and its gradient in one function, on [b, s, h * d] as projections
/// leave it: queries, keys and values are views, and so is the cotangent.
static std::string makeLayer(const std::string &name, int b, int h, int g,
                             int s, int t, int d, int e,
                             const std::string &element,
                             const std::string &options) {
  bool rowsFirst = options.find("rows_first") != std::string::npos;
  auto type = [&](std::initializer_list<int> shape) {
    std::string text = "tensor<";
    for (int extent : shape)
      text += std::to_string(extent) + "x";
    return text + element + ">";
  };
  // Of what attention and its gradient give.
  auto order = [&](int heads, int length, int columns) {
    return rowsFirst ? type({b, length, heads, columns})
                     : type({b, heads, length, columns});
  };
  std::string q = type({b, h, s, d}), k = type({b, g, t, d}),
              v = type({b, g, t, e}), r = order(h, s, e), dq = order(h, s, d),
              dk = order(g, t, d), dv = order(g, t, e),
              l = llvm::formatv("tensor<{0}x{1}x{2}xf32>", b, h, s);
  std::string text;
  auto add = [&](auto &&...arguments) {
    text += llvm::formatv(arguments...).str();
  };
  add("func.func @{0}(%q: {1}, %k: {2}, %v: {3}, %c: {4}) -> ({5}, {6}, {7}, "
      "{8}, {9}) attributes {{nn.tolerance = {10} : f64} {{\n",
      name, type({b, s, h * d}), type({b, t, g * d}), type({b, t, g * e}),
      type({b, s, h * e}), r, l, dq, dk, dv,
      element == "bf16"  ? "0.04"
      : element == "f16" ? "0.005"
                         : "2.0e-5");
  auto addView = [&](const char *from, int heads, int length, int columns) {
    add("  %{0}1 = nn.reshape %{0} : {1} -> {2}\n", from,
        type({b, length, heads * columns}), type({b, length, heads, columns}));
    add("  %{0}2 = nn.transpose %{0}1 [0, 2, 1, 3] : {1} -> {2}\n", from,
        type({b, length, heads, columns}), type({b, heads, length, columns}));
  };
  addView("q", h, s, d);
  addView("k", g, t, d);
  addView("v", g, t, e);
  addView("c", h, s, e);
  add("  %r, %l = nn.attention %q2, %k2, %v2 {0} scale 0.4 : {1}, {2}, {3} -> "
      "{4}, {5}\n",
      options, q, k, v, r, l);
  add("  %dq, %dk, %dv = nn.attention_grad %q2, %k2, %v2, %r, %l, %{0} {1} "
      "scale 0.4 : {2}, {3}, {4}, {5}, {6}, {5} -> ",
      rowsFirst ? "c1" : "c2", options, q, k, v, r, l);
  add("{0}, {1}, {2}\n  return %r, %l, %dq, %dk, %dv : {3}, {4}, {0}, {1}, "
      "{2}\n}\n",
      dq, dk, dv, r, l);
  return text;
}

static int countCalls(const std::string &text, Call::Kind kind,
                      const conversion::KernelOptions &options) {
  auto context = makeContext();
  CompiledModule module(*context, text, options);
  int count = 0;
  for (const std::string &function : module.getFunctions())
    for (const Call &call : module.getEntry(function).calls)
      count += call.kind == kind;
  return count;
}

TEST(HostAttention, Library) {
  conversion::KernelOptions options;
  options.libraryAttention = true;
  std::string text;
  text += makeLayer("plain", 2, 3, 3, 5, 7, 8, 16, "bf16", "");
  text += makeLayer("causal", 2, 4, 2, 33, 33, 8, 8, "f16", "causal");
  text += makeLayer("longer_keys", 1, 4, 1, 9, 30, 16, 8, "bf16", "causal");
  text += makeLayer("window", 1, 2, 1, 70, 70, 8, 8, "f16", "causal window 9");
  text += makeLayer("rows_first", 2, 4, 2, 33, 33, 8, 16, "bf16",
                    "causal rows_first");
  checkAll(text, options);
  EXPECT_EQ(countCalls(text, Call::Kind::Attention, options), 5);
  EXPECT_EQ(countCalls(text, Call::Kind::AttentionGrad, options), 5);
  // Views need no copies.
  EXPECT_EQ(countCalls(text, Call::Kind::Kernel, options), 0);
  EXPECT_EQ(countCalls(text, Call::Kind::Gemm, options), 0);
  // Where the workspace takes a part of the heads, or of their rows.
  for (int64_t bytes : {1, 3 * 2 * 256 * 256}) {
    options.attentionBytes = bytes;
    checkAll(makeLayer("blocks", 2, 4, 2, 200, 200, 8, 8, "bf16", "causal"),
             options);
  }
}

/// What the library does not do is decomposed.
TEST(HostAttention, Decomposed) {
  conversion::KernelOptions options;
  options.libraryAttention = true;
  std::string text;
  text += makeLayer("f32", 1, 2, 1, 9, 9, 8, 8, "f32", "causal");
  text += makeLayer("odd", 1, 2, 1, 9, 9, 4, 8, "bf16", "causal");
  text += makeLayer("shorter_keys", 1, 2, 2, 9, 5, 8, 8, "bf16", "causal");
  text += makeLayer("window", 1, 2, 2, 9, 9, 8, 8, "bf16", "window 3");
  text += makeLayer("one", 1, 2, 2, 1, 9, 8, 8, "bf16", "");
  text += makeLayer("rows_first", 2, 4, 2, 33, 33, 8, 12, "f32",
                    "causal rows_first");
  checkAll(text, options);
  EXPECT_EQ(countCalls(text, Call::Kind::Attention, options), 0);
  EXPECT_EQ(countCalls(text, Call::Kind::AttentionGrad, options), 0);
  // Nor is anything where it is not asked for.
  text = makeLayer("host", 1, 2, 1, 9, 9, 8, 8, "bf16", "causal");
  EXPECT_EQ(countCalls(text, Call::Kind::Attention, {}), 0);
}

/// Results by rows, and blocks of one head.
TEST(HostAttention, RowsFirst) {
  conversion::KernelOptions options;
  options.scoreBytes = 1;
  std::string text;
  text +=
      makeLayer("blocks", 2, 4, 2, 300, 300, 8, 12, "f32", "causal rows_first");
  text += makeLayer("rounded", 1, 2, 1, 140, 200, 8, 8, "bf16",
                    "causal window 50 rows_first");
  checkAll(text, options);
}

/// Whole batches, whole heads, then rows; as few parts as fit.
TEST(HostAttention, Blocks) {
  using runtime::AttentionBlock;
  constexpr int64_t MiB = 1 << 20;
  runtime::AttentionSizes sizes{2, 16, 8, 4096, 4096, 128, 128};
  auto choose = [&](int64_t limit, bool hasWindow = false) {
    return runtime::chooseAttentionBlock(sizes, hasWindow, limit);
  };
  EXPECT_EQ(choose(1024 * MiB), (AttentionBlock{2, 16, 4096, 4096}));
  EXPECT_EQ(choose(1023 * MiB), (AttentionBlock{1, 16, 4096, 4096}));
  EXPECT_EQ(choose(256 * MiB), (AttentionBlock{1, 8, 4096, 4096}));
  EXPECT_EQ(choose(200 * MiB), (AttentionBlock{1, 4, 4096, 4096}));
  EXPECT_EQ(choose(64 * MiB), (AttentionBlock{1, 2, 4096, 4096}));
  EXPECT_EQ(choose(63 * MiB), (AttentionBlock{1, 2, 2048, 2048}));
  EXPECT_EQ(choose(63 * MiB, true), (AttentionBlock{1, 2, 2048, 4096}));
  EXPECT_EQ(choose(0), (AttentionBlock{1, 2, 128, 128}));
  EXPECT_EQ(choose(0, true), (AttentionBlock{1, 2, 128, 4096}));
  // Few rows meet many keys at once.
  sizes = {1, 2, 1, 128, 1 << 20, 128, 128};
  EXPECT_EQ(choose(128 * MiB), (AttentionBlock{1, 2, 128, 1 << 18}));
  sizes = {1, 16, 8, 74752, 74752, 128, 128};
  AttentionBlock block = choose(1024 * MiB);
  EXPECT_EQ(block, (AttentionBlock{1, 2, 14976, 14976}));
  uint64_t library = runtime::attentionGradBytes(sizes, block);
  EXPECT_LT(library, 1024u * MiB);
  runtime::AttentionWorkspace workspace =
      runtime::layOutAttention(sizes, block, library);
  // One key head's sums, and what a block gives: statistics, a part and the sum
  // of dQ, parts of dK and dV.
  uint64_t rest = 74752u * 256 * 4 + 14976u * (8 + 2 * 128 * 6 + 256 * 2);
  EXPECT_GE(workspace.bytes, library + rest);
  EXPECT_LT(workspace.bytes, library + rest + 7 * 256);
}
