//===- Passes.td - nn passes -------------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The `raise` phase. A raising pass replaces the op that yields a pattern's
// result and leaves everything else to dead code removal, so a value in the
// middle of a pattern that is used elsewhere too stays as it is. What does not
// match is left alone and stays right.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_PASSES_TD
#define RONDO_DIALECT_NN_PASSES_TD

include "mlir/Pass/PassBase.td"

def NNFoldConstants : Pass<"rondo-nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Evaluates what depends on no input and no stored parameter";
  let description = [{
    Folds identities, removes dead code, and replaces values by constants where
    they are known and meet a value that is not: those of at most 65,536
    elements, integers or vectors of at most 2^20 elements, and, with `tables`,
    floating tables (rotary cosines) of at most 2^26 elements. A large
    comparison is a mask and is never evaluated; nor is a large value that
    serves as mask of `nn.attention`. Where a value stays, the values that it is
    made of are folded instead. A broadcast stays a broadcast.

    ```mlir
    %i = nn.iota 0 : tensor<8xi64>
    %f = nn.cast %i : tensor<8xi64> to tensor<8xf32>
    %c = nn.cos %f : tensor<8xf32>
    // becomes a constant of 8 elements
    ```
  }];
  let options = [Option<"tables", "tables", "bool", "false",
                        "Also fold large floating-point tables">];
  let statistics = [Statistic<"numFolded", "values-folded",
                              "Number of values replaced by constants">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseRmsNorm : Pass<"rondo-nn-raise-rms-norm", "::mlir::func::FuncOp"> {
  let summary = "Recognises root mean square normalisation";
  let description = [{
    `weight * (x * rsqrt(mean(x^2) + epsilon))` over the last axis: the square
    as `pow` or `mul`, the root as `rsqrt`, `reciprocal(sqrt)`, `1 / sqrt`,
    `pow` or a division by `sqrt`; weight on either side. Where x is bf16 or
    f16, normalised in f32 and rounded before the weight, as Transformers does.

    ```mlir
    %s = nn.mul %x, %x : tensor<4x8xf32>
    %m = nn.reduce mean %s [1] keepdims : tensor<4x8xf32>
    %v = nn.add %m, %eps : tensor<4x1xf32>
    %r = nn.rsqrt %v : tensor<4x1xf32>
    %b = nn.broadcast %r : tensor<4x1xf32> -> tensor<4x8xf32>
    %n = nn.mul %x, %b : tensor<4x8xf32>
    %g = nn.broadcast %weight : tensor<8xf32> -> tensor<4x8xf32>
    %y = nn.mul %n, %g : tensor<4x8xf32>
    // becomes
    %y = nn.rms_norm %x, %weight epsilon 1.0e-06 : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of patterns recognised">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseActivations : Pass<"rondo-nn-raise-activations", "::mlir::func::FuncOp"> {
  let summary = "Recognises SiLU and GELU";
  let description = [{
    `x * sigmoid(x)` and `x / (1 + exp(-x))` become `nn.silu`;
    `0.5 x (1 + erf(x / sqrt 2))` and
    `0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))` become `nn.gelu`,
    whatever the order of the factors. Factors may be as far off as the
    element type rounds.

    ```mlir
    %g = nn.sigmoid %x : tensor<4xf32>
    %y = nn.mul %x, %g : tensor<4xf32>
    // becomes
    %y = nn.silu %x : tensor<4xf32>
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of patterns recognised">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseRope : Pass<"rondo-nn-raise-rope", "::mlir::func::FuncOp"> {
  let summary = "Recognises rotary position embeddings";
  let description = [{
    `x * cos + concat(-x[n/2:], x[:n/2]) * sin` over the last axis. The tables
    lose their broadcast. They must not depend on a trainable parameter, because
    `nn.rope` has a derivative in x alone.

    ```mlir
    %lo = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
    %hi = nn.slice %x [0, 4] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
    %neg = nn.neg %hi : tensor<4x4xf32>
    %rot = nn.concat 1, %neg, %lo : tensor<4x4xf32>, tensor<4x4xf32>
    %a = nn.mul %x, %cos : tensor<4x8xf32>
    %b = nn.mul %rot, %sin : tensor<4x8xf32>
    %y = nn.add %a, %b : tensor<4x8xf32>
    // becomes
    %y = nn.rope %x, %cos, %sin : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of patterns recognised">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseAttention : Pass<"rondo-nn-raise-attention", "::mlir::func::FuncOp"> {
  let summary = "Recognises scaled dot-product attention";
  let description = [{
    `softmax(scale * q k^T + mask) v`: factors on query, key and scores are
    multiplied together; the key's transpose may go through reshapes; the mask
    is added or selects; casts around the softmax and the guard
    `select(is_nan(p), 0, p)` disappear (a row that sees nothing gives 0). The
    mask stays an operand; `rondo-nn-raise-masks` looks into it. Beside it stays
    what decides the result and the derivative of a row that is hidden as a
    whole: the finite score that a selection gives (`fill`), and that there was
    no guard (`unguarded`: NaN).

    ```mlir
    %s = nn.matmul %q, %k transpose_rhs : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
    %p = nn.softmax %s : tensor<1x2x4x4xf32>
    %y = nn.matmul %p, %v : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
    // becomes
    %y, %statistics = nn.attention %q, %k, %v scale 1.0 : ...
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of patterns recognised">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseGroupedHeads : Pass<"rondo-nn-raise-grouped-heads", "::mlir::func::FuncOp"> {
  let summary = "Takes keys and values of grouped heads from before their repetition";
  let description = [{
    Exporters repeat each head of keys and values for its group of query heads
    (reshape, broadcast over a fifth axis, reshape). `nn.attention` does that by
    itself, whether it was recognised or an op of the model.

    ```mlir
    %0 = nn.reshape %k : tensor<1x2x6x8xf32> -> tensor<1x2x1x6x8xf32>
    %1 = nn.broadcast %0 : tensor<1x2x1x6x8xf32> -> tensor<1x2x2x6x8xf32>
    %2 = nn.reshape %1 : tensor<1x2x2x6x8xf32> -> tensor<1x4x6x8xf32>
    %y, %statistics = nn.attention %q, %2, %2 scale 1.0 : ...
    // becomes
    %y, %statistics = nn.attention %q, %k, %k scale 1.0 : ...
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of attentions with grouped heads">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNFoldAttentionRows : Pass<"rondo-nn-fold-attention-rows", "::mlir::func::FuncOp"> {
  let summary = "Has attention write its result as the product behind it reads it";
  let description = [{
    Models put the heads of a row side by side before they project it. What is kept of the forward is then what the projection and its
    derivative read, and nobody copies it.

    ```mlir
    %y, %statistics = nn.attention %q, %k, %v causal scale 1.0 : ... -> tensor<1x4x6x8xf32>, tensor<1x4x6xf32>
    %0 = nn.transpose %y [0, 2, 1, 3] : tensor<1x4x6x8xf32> -> tensor<1x6x4x8xf32>
    // becomes
    %0, %statistics = nn.attention %q, %k, %v causal rows_first scale 1.0 : ... -> tensor<1x6x4x8xf32>, tensor<1x4x6xf32>
    ```
  }];
  let statistics = [Statistic<"numFolded", "folded", "Number of transposes that became attention's">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseMasks : Pass<"rondo-nn-raise-masks", "::mlir::func::FuncOp"> {
  let summary = "Recognises causal, sliding-window and empty attention masks";
  let description = [{
    A mask that depends on no input is taken as a function of query i and key j:
    each comparison of a row vector with a column vector gives, for every
    query, an interval of keys; `and`, `or`, `not` and `select` combine
    intervals. Only vectors are evaluated, never the mask, so a mask of billions
    of elements takes a moment. Constant masks are read. What is left is
    compared with causal (j <= i + t - s), causal with a window, and all true;
    any other mask stays an operand. So does one that hides a whole row, where
    that does not give 0 (`fill`, `unguarded`, finite additive masks).

    ```mlir
    %seen = nn.compare le %column, %row : tensor<4x4xi64>
    %y, %st = nn.attention %q, %k, %v mask %seen scale 1.0 : ...
    // becomes
    %y, %st = nn.attention %q, %k, %v causal scale 1.0 : ...
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of masks recognised">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseLinearCrossEntropy : Pass<"rondo-nn-raise-linear-cross-entropy", "::mlir::func::FuncOp"> {
  let summary = "Recognises a loss head: a product whose rows go into a cross entropy alone";
  let description = [{
    Between the product and `nn.cross_entropy` there may be a bias, reshapes of
    the rows, slices of rows and a cast to f32; what type the logits are rounded to
    stays. Rows that a slice leaves out are taken along with a label that does
    not count, so that the product is of all rows as they lie in memory; where
    no label is ignored, or half of the rows and more are left out, the slice is
    taken of the hidden rows. With a bias the sum of both is rounded once. A product in
    f64, or one that is used elsewhere too, stays.

    ```mlir
    %z = nn.matmul %x, %w transpose_rhs : tensor<2x4x8xf32>, tensor<16x8xf32> -> tensor<2x4x16xf32>
    %s = nn.slice %z [0, 0, 0] [1, 1, 1] : tensor<2x4x16xf32> -> tensor<2x3x16xf32>
    %r = nn.reshape %s : tensor<2x3x16xf32> -> tensor<6x16xf32>
    %loss = nn.cross_entropy %r, %labels ignore -100 : tensor<6x16xf32>, tensor<6xi64>
    // becomes
    %h = nn.reshape %x : tensor<2x4x8xf32> -> tensor<8x8xf32>
    %0 = nn.reshape %labels : tensor<6xi64> -> tensor<2x3xi64>
    %1 = nn.pad %0 [0, 0] [0, 1] -100 : i64 : tensor<2x3xi64> -> tensor<2x4xi64>
    %l = nn.reshape %1 : tensor<2x4xi64> -> tensor<8xi64>
    %loss = nn.linear_cross_entropy %h, %w, %l transpose_weight ignore -100 chunk 2048 logits f32 : ...
    ```
  }];
  let options = [Option<"chunk", "chunk", "int64_t", "2048", "Rows whose logits exist at once">];
  let statistics = [Statistic<"numRaised", "raised", "Number of loss heads">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNRaiseBias : Pass<"rondo-nn-raise-bias", "::mlir::func::FuncOp"> {
  let summary = "Adds a linear layer's bias in its product";
  let description = [{
    A vector along the last axis that is added to a product with one matrix and
    to nothing else. The sum is then rounded once, as frameworks do it.

    ```mlir
    %y = nn.matmul %x, %w : tensor<2x4x8xbf16>, tensor<8x16xbf16> -> tensor<2x4x16xbf16>
    %s = nn.broadcast %b : tensor<16xbf16> -> tensor<2x4x16xbf16>
    %z = nn.add %y, %s : tensor<2x4x16xbf16>
    // becomes
    %z = nn.matmul %x, %w bias %b : tensor<2x4x8xbf16>, tensor<8x16xbf16>, tensor<16xbf16> -> tensor<2x4x16xbf16>
    ```
  }];
  let statistics = [Statistic<"numRaised", "raised", "Number of products with a bias">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNAssignPrecision : Pass<"rondo-nn-assign-precision", "::mlir::ModuleOp"> {
  let summary = "Gives weights and activations the element type that was asked for";
  let description = [{
    Weights (what trains, and frozen matrices) are read in that type; their
    masters stay f32. Products take operands of it and accumulate in f32.
    Elementwise operations and movement follow their operands; constants and
    tables that are not exact in the type enter in f32, and the result is
    rounded once, so rotary embeddings and scales lose nothing. Sums, powers,
    roots, exponentials and quotients give f32, until a product reads what came
    of them or it is added to the residual stream. What leads to a softmax or to
    the loss without another product is not rounded at all, except the logits of
    `nn.cross_entropy`, which computes in f32 whatever they are. What depends on
    no weight (positions, masks) stays as it is, and so do products whose
    operands the model itself has widened.

    ```mlir
    nn.parameter @w trainable : tensor<4x4xf32>
    %w = nn.read @w : tensor<4x4xf32>
    %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    // becomes, with precision=bf16
    nn.parameter @w trainable : tensor<4x4xbf16> {stored_type = f32}
    %w = nn.read @w : tensor<4x4xbf16>
    %0 = nn.cast %x : tensor<2x4xf32> to tensor<2x4xbf16>
    %y = nn.matmul %0, %w : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", "\"bf16\"",
                        "fp32, bf16 or fp16">];
  let statistics = [Statistic<"numConverted", "converted", "Number of weights of another type than before">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNDecomposeMaskedAttention : Pass<"rondo-nn-decompose-masked-attention", "::mlir::func::FuncOp"> {
  let summary = "Writes attention with a general mask as products and softmax";
  let description = [{
    Kernels for `nn.attention` know causal and windowed masks. With any other
    mask, scores are a matrix in f32, scaled and masked, then softmax, with 0 for
    rows that see nothing unless `unguarded`. A boolean mask selects between
    score and `fill`, so that hidden scores have no cotangent. Right, but memory
    grows with the product of lengths.

    ```mlir
    %y, %st = nn.attention %q, %k, %v mask %m scale 0.5 : ...
    // becomes
    %s = nn.matmul %q, %k transpose_rhs : ...
    ...
    %p = nn.softmax %masked : ...
    %y = nn.matmul %p, %v : ...
    ```
  }];
  let statistics = [Statistic<"numDecomposed", "decomposed", "Number of attentions decomposed">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNHoistTables : Pass<"rondo-nn-hoist-tables", "::mlir::ModuleOp"> {
  let summary = "Turns large constants into parameters that hold their value";
  let description = [{
    A folded table (rotary cosines) is data, not code: a constant of more than
    `limit` elements that are not all equal becomes an `nn.parameter` with a
    `value`, read where the constant was. Equal constants become one parameter.

    ```mlir
    %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
    // becomes, with limit=1
    nn.parameter @table_0 : tensor<2xf32> {value = dense<[1.0, 2.0]> : tensor<2xf32>}
    %c = nn.read @table_0 : tensor<2xf32>
    ```
  }];
  let options = [Option<"limit", "limit", "int64_t", "4096",
                        "Elements up to which a constant stays in the function">];
  let dependentDialects = ["::rondo::nn::NNDialect"];
}

def NNVerifyRaised : Pass<"rondo-nn-verify-raised", "::mlir::func::FuncOp"> {
  let summary = "Checks what the phases after raise rely on";
  let description = [{
    Every op is of the `nn` dialect, no attention has a mask operand, and no
    value of more than 2^28 elements is computed from constants alone: that
    would be a mask that nobody recognised.
  }];
}

#endif // RONDO_DIALECT_NN_PASSES_TD
