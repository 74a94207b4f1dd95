//===- Models.cpp - Small models to cut and differentiate -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "llvm/Support/FormatVariadic.h"

using namespace rondo::pipe::test;

/// Equal layers of product, bias and tanh, then a product and a mean
/// square. Which of the layers train is said by letter: t trains, f is frozen.
static std::string makePerceptron(llvm::StringRef layers,
                                  llvm::StringRef type) {
  std::string module, body;
  llvm::raw_string_ostream head(module), ops(body);
  auto format = [&](const char *text, auto... values) {
    return llvm::formatv(text, values...).str();
  };
  std::string value = "%x";
  for (auto [i, letter] : llvm::enumerate(layers)) {
    const char *trainable = letter == 't' ? "trainable" : "";
    head << format("nn.parameter @m.{0}.weight {1} : tensor<3x3x{2}>\n"
                   "nn.parameter @m.{0}.bias {1} : tensor<3x{2}>\n",
                   i, trainable, type);
    ops << format(
        "%w{0} = nn.read @m.{0}.weight : tensor<3x3x{2}>\n"
        "%b{0} = nn.read @m.{0}.bias : tensor<3x{2}>\n"
        "%r{0} = nn.broadcast %b{0} : tensor<3x{2}> -> tensor<2x3x{2}>\n"
        "%p{0} = nn.matmul {1}, %w{0} transpose_rhs : tensor<2x3x{2}>, "
        "tensor<3x3x{2}> -> tensor<2x3x{2}>\n"
        "%s{0} = nn.add %p{0}, %r{0} : tensor<2x3x{2}>\n"
        "%t{0} = nn.tanh %s{0} : tensor<2x3x{2}>\n",
        i, value, type);
    value = format("%t{0}", i);
  }
  head << format("nn.parameter @m.head.weight {1} : tensor<3x2x{0}>\n"
                 "func.func @loss(%x: tensor<2x3x{0}>, %target: "
                 "tensor<2x2x{0}>) -> tensor<{0}> attributes {{nn.loss} {{\n",
                 type, layers.contains('t') ? "trainable" : "");
  ops << format("%wh = nn.read @m.head.weight : tensor<3x2x{0}>\n"
                "%y = nn.matmul {1}, %wh : tensor<2x3x{0}>, tensor<3x2x{0}> -> "
                "tensor<2x2x{0}>\n"
                "%d = nn.sub %y, %target : tensor<2x2x{0}>\n"
                "%q = nn.mul %d, %d : tensor<2x2x{0}>\n"
                "%l = nn.reduce mean %q [0, 1] : tensor<2x2x{0}>\n"
                "return %l : tensor<{0}>\n}\n",
                type, value);
  return module + body;
}

/// Two transformer layers over an embedding that is also the head: two query
/// heads over one key and value head, masked by hand or by nn.attention, a
/// gated MLP; labels shifted, one of them ignored.
static std::string makeTransformer(bool fusedAttention, llvm::StringRef type) {
  std::string module, body;
  llvm::raw_string_ostream head(module), ops(body);
  auto emit = [&](llvm::StringRef text, int layer) {
    for (char c : text)
      if (c == '$')
        ops << layer;
      else if (c == '!')
        ops << layer + 1;
      else if (c == '~')
        ops << type;
      else
        ops << c;
  };
  head << llvm::formatv(
      "nn.parameter @embed.weight trainable : tensor<5x4x{0}>\n"
      "nn.parameter @norm.weight trainable : tensor<4x{0}>\n",
      type);
  emit(R"mlir(
    %e = nn.read @embed.weight : tensor<5x4x~>
    %x0 = nn.gather %e, %ids axis 0 : tensor<5x4x~>, tensor<1x3xi64>
    %row = nn.iota 0 : tensor<3x3xi64>
    %column = nn.iota 1 : tensor<3x3xi64>
    %isSeen = nn.compare ge %row, %column : tensor<3x3xi64>
    %zero = nn.constant dense<0.0> : tensor<3x3x~>
    %minus = nn.constant dense<-1.0e4> : tensor<3x3x~>
    %bias = nn.select %isSeen, %zero, %minus : tensor<3x3xi1>, tensor<3x3x~>
    %mask = nn.broadcast %bias : tensor<3x3x~> -> tensor<1x2x3x3x~>
    %scale = nn.constant dense<0.5> : tensor<1x2x3x3x~>
  )mlir",
       0);
  for (int layer = 0; layer < 2; ++layer) {
    for (const char *name :
         {"norm1 : tensor<4x", "q : tensor<4x4x", "k : tensor<4x2x",
          "v : tensor<4x2x", "o : tensor<4x4x", "norm2 : tensor<4x",
          "gate : tensor<4x6x", "up : tensor<4x6x", "down : tensor<6x4x"}) {
      auto [id, shape] = llvm::StringRef(name).split(" : ");
      head << llvm::formatv(
          "nn.parameter @layers.{0}.{1} trainable : {2}{3}>\n", layer, id,
          shape, type);
      ops << llvm::formatv("%{1}{0} = nn.read @layers.{0}.{1} : {2}{3}>\n",
                           layer, id, shape, type);
    }
    emit(R"mlir(
      %n$ = nn.rms_norm %x$, %norm1$ epsilon 1.0e-5 : tensor<1x3x4x~>, tensor<4x~>
      %pq$ = nn.matmul %n$, %q$ : tensor<1x3x4x~>, tensor<4x4x~> -> tensor<1x3x4x~>
      %pk$ = nn.matmul %n$, %k$ : tensor<1x3x4x~>, tensor<4x2x~> -> tensor<1x3x2x~>
      %pv$ = nn.matmul %n$, %v$ : tensor<1x3x4x~>, tensor<4x2x~> -> tensor<1x3x2x~>
      %hq$ = nn.reshape %pq$ : tensor<1x3x4x~> -> tensor<1x3x2x2x~>
      %tq$ = nn.transpose %hq$ [0, 2, 1, 3] : tensor<1x3x2x2x~> -> tensor<1x2x3x2x~>
      %hk$ = nn.reshape %pk$ : tensor<1x3x2x~> -> tensor<1x3x1x2x~>
      %tk$ = nn.transpose %hk$ [0, 2, 1, 3] : tensor<1x3x1x2x~> -> tensor<1x1x3x2x~>
      %hv$ = nn.reshape %pv$ : tensor<1x3x2x~> -> tensor<1x3x1x2x~>
      %tv$ = nn.transpose %hv$ [0, 2, 1, 3] : tensor<1x3x1x2x~> -> tensor<1x1x3x2x~>
    )mlir",
         layer);
    emit(fusedAttention ? R"mlir(
      %c$, %st$ = nn.attention %tq$, %tk$, %tv$ causal scale 0.5 : tensor<1x2x3x2x~>, tensor<1x1x3x2x~>, tensor<1x1x3x2x~> -> tensor<1x2x3x2x~>, tensor<1x2x3xf32>
    )mlir"
                        : R"mlir(
      %rk$ = nn.broadcast %tk$ : tensor<1x1x3x2x~> -> tensor<1x2x3x2x~>
      %rv$ = nn.broadcast %tv$ : tensor<1x1x3x2x~> -> tensor<1x2x3x2x~>
      %raw$ = nn.matmul %tq$, %rk$ transpose_rhs : tensor<1x2x3x2x~>, tensor<1x2x3x2x~> -> tensor<1x2x3x3x~>
      %scaled$ = nn.mul %raw$, %scale : tensor<1x2x3x3x~>
      %masked$ = nn.add %scaled$, %mask : tensor<1x2x3x3x~>
      %soft$ = nn.softmax %masked$ : tensor<1x2x3x3x~>
      %nan$ = nn.is_nan %soft$ : tensor<1x2x3x3x~>
      %none$ = nn.constant dense<0.0> : tensor<1x2x3x3x~>
      %safe$ = nn.select %nan$, %none$, %soft$ : tensor<1x2x3x3xi1>, tensor<1x2x3x3x~>
      %c$ = nn.matmul %safe$, %rv$ : tensor<1x2x3x3x~>, tensor<1x2x3x2x~> -> tensor<1x2x3x2x~>
    )mlir",
         layer);
    emit(R"mlir(
      %tc$ = nn.transpose %c$ [0, 2, 1, 3] : tensor<1x2x3x2x~> -> tensor<1x3x2x2x~>
      %hc$ = nn.reshape %tc$ : tensor<1x3x2x2x~> -> tensor<1x3x4x~>
      %po$ = nn.matmul %hc$, %o$ : tensor<1x3x4x~>, tensor<4x4x~> -> tensor<1x3x4x~>
      %mid$ = nn.add %x$, %po$ : tensor<1x3x4x~>
      %nn$ = nn.rms_norm %mid$, %norm2$ epsilon 1.0e-5 : tensor<1x3x4x~>, tensor<4x~>
      %pg$ = nn.matmul %nn$, %gate$ : tensor<1x3x4x~>, tensor<4x6x~> -> tensor<1x3x6x~>
      %pu$ = nn.matmul %nn$, %up$ : tensor<1x3x4x~>, tensor<4x6x~> -> tensor<1x3x6x~>
      %act$ = nn.silu %pg$ : tensor<1x3x6x~>
      %gated$ = nn.mul %act$, %pu$ : tensor<1x3x6x~>
      %pd$ = nn.matmul %gated$, %down$ : tensor<1x3x6x~>, tensor<6x4x~> -> tensor<1x3x4x~>
      %x! = nn.add %mid$, %pd$ : tensor<1x3x4x~>
    )mlir",
         layer);
  }
  emit(R"mlir(
    %wn = nn.read @norm.weight : tensor<4x~>
    %nf = nn.rms_norm %x2, %wn epsilon 1.0e-5 : tensor<1x3x4x~>, tensor<4x~>
    %z = nn.matmul %nf, %e transpose_rhs : tensor<1x3x4x~>, tensor<5x4x~> -> tensor<1x3x5x~>
    %logits = nn.reshape %z : tensor<1x3x5x~> -> tensor<3x5x~>
    %flat = nn.reshape %labels : tensor<1x3xi64> -> tensor<3xi64>
    %cut = nn.slice %flat [1] [1] : tensor<3xi64> -> tensor<2xi64>
    %shifted = nn.pad %cut [0] [1] 4 : i64 : tensor<2xi64> -> tensor<3xi64>
    %l = nn.cross_entropy %logits, %shifted ignore 4 : tensor<3x5x~>, tensor<3xi64>
    return %l : tensor<f32>
    }
  )mlir",
       0);
  head << "func.func @loss(%ids: tensor<1x3xi64>, %labels: tensor<1x3xi64>) -> "
          "tensor<f32> attributes {nn.loss} {\n";
  return module + body;
}

/// A value that is computed once and read by every layer: two values enter
/// each.
static std::string makeTwoStreams() {
  std::string module = R"mlir(
    nn.parameter @context.w trainable : tensor<2x2xf32>
    nn.parameter @block.w trainable : tensor<2x2xf32>
    func.func @loss(%x: tensor<2x2xf32>) -> tensor<f32> attributes {nn.loss} {
      %v = nn.read @context.w : tensor<2x2xf32>
      %w = nn.read @block.w : tensor<2x2xf32>
      %c = nn.matmul %x, %v : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
      %x0 = nn.neg %c : tensor<2x2xf32>
  )mlir";
  for (int i = 0; i < 17; ++i)
    module += llvm::formatv("%p{0} = nn.matmul %x{0}, %w : tensor<2x2xf32>, "
                            "tensor<2x2xf32> -> tensor<2x2xf32>\n"
                            "%x{1} = nn.add %p{0}, %c : tensor<2x2xf32>\n",
                            i, i + 1);
  return module + R"mlir(
      %l = nn.reduce mean %x17 [0, 1] : tensor<2x2xf32>
      return %l : tensor<f32>
    }
  )mlir";
}

/// A head whose loss goes on as `rest`, from %c to %l. A second, %d, has a
/// weight of its own.
static std::string makeHead(llvm::StringRef rest) {
  return R"mlir(
    nn.parameter @proj.w trainable : tensor<4x4xf32>
    nn.parameter @head.w trainable : tensor<4x3xf32>
    nn.parameter @other.w trainable : tensor<4x3xf32>
    func.func @loss(%x: tensor<5x4xf32>, %labels: tensor<5xi64>) -> tensor<f32> attributes {nn.loss} {
      %p = nn.read @proj.w : tensor<4x4xf32>
      %w = nn.read @head.w : tensor<4x3xf32>
      %v = nn.read @other.w : tensor<4x3xf32>
      %q = nn.matmul %x, %p : tensor<5x4xf32>, tensor<4x4xf32> -> tensor<5x4xf32>
      %h = nn.tanh %q : tensor<5x4xf32>
      %c = nn.linear_cross_entropy %h, %w, %labels chunk 2 logits f32 : tensor<5x4xf32>, tensor<4x3xf32>, tensor<5xi64>
      %d = nn.linear_cross_entropy %h, %v, %labels chunk 2 logits f32 : tensor<5x4xf32>, tensor<4x3xf32>, tensor<5xi64>
  )mlir" +
         rest.str() + "return %l : tensor<f32>\n}\n";
}

std::vector<Model> rondo::pipe::test::getModels() {
  std::vector<std::string> transformer{
      "norm+embed/forward_backward", "layers.1/backward_products",
      "layers.0/backward_products", "embed/backward_products_nodx"};
  std::vector<std::string> streams{"block/forward_backward"};
  streams.insert(streams.end(), 16, "block/backward_products");
  streams.push_back("context/backward_products_nodx");
  return {
      {"Perceptron",
       makePerceptron("ttt", "f32"),
       0,
       4,
       3,
       {"m.head/forward_backward", "m.2/backward_products",
        "m.1/backward_products", "m.0/backward_products_nodx"}},
      // Nothing to do for the two layers in front of everything that trains;
      // the third gives no cotangent; the frozen one behind it only that.
      {"FrozenLayers",
       makePerceptron("fftft", "f32"),
       0,
       6,
       5,
       {"m.head/forward_backward", "m.4/backward_products",
        "m.3/backward_products", "m.2/backward_products_nodx"}},
      {"Attention", makeTransformer(/*fusedAttention=*/false, "f32"), 5, 4, 4,
       transformer},
      {"FusedAttention", makeTransformer(/*fusedAttention=*/true, "f32"), 5, 4,
       4, transformer},
      {"Bfloat16", makeTransformer(/*fusedAttention=*/true, "bf16"), 5, 4, 4,
       transformer},
      {"TwoStreams", makeTwoStreams(), 0, 18, 3, streams},
      // What comes after a head is not linear in its loss: the cotangent that
      // its gradient takes depends on the loss.
      {"SquaredHead",
       makeHead(R"mlir(
         %n = nn.neg %c : tensor<f32>
         %e = nn.exp %n : tensor<f32>
         %m = nn.mul %e, %c : tensor<f32>
         %l = nn.add %m, %d : tensor<f32>
       )mlir"),
       3,
       2,
       2,
       {"head+other/forward_backward", "proj/backward_products_nodx"}},
      // Each head's cotangent is the other's loss.
      {"ProductOfHeads",
       makeHead("%l = nn.mul %c, %d : tensor<f32>\n"),
       3,
       2,
       2,
       {"head+other/forward_backward", "proj/backward_products_nodx"}},
  };
}
