//===- NNOps.td - nn operations ----------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNOPS_TD
#define RONDO_DIALECT_NN_NNOPS_TD

include "rondo/Dialect/NN/NNBase.td"
include "rondo/Dialect/NN/NNLossOps.td"

//===----------------------------------------------------------------------===//
// Parameters and constants
//===----------------------------------------------------------------------===//

def NN_ParameterOp : Op<NN_Dialect, "parameter", [Symbol]> {
  let summary = "A stored tensor: weight, frozen table or buffer";
  let description = [{
    A module-level symbol. Created by import, never removed before `program`. The symbol name is the ONNX
    initializer's name; `source` the name the user's framework gave it (null: the same), `trainable`
    whether it gets a gradient; `stored` where its bytes are, or `value` for a table the compiler folded
    (never trainable). `transposed` says that the source parameter is the transpose of the stored one.
    `copies` lists initializers that held the same tensor (tied weights); `copies_transposed` says, for each, whether it held the transpose.
    `type` is what a step reads; `stored_type` is the element type of the stored bytes where that is another (`--precision`).

    ```mlir
    nn.parameter @"m.norm.weight" trainable : tensor<32xf32> {stored = #nn.stored<"", 1024, 128>}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<NN_Tensor>:$type,
                       UnitAttr:$trainable, OptionalAttr<NN_StoredAttr>:$stored,
                       OptionalAttr<ElementsAttr>:$value, OptionalAttr<StrAttr>:$source,
                       UnitAttr:$transposed, OptionalAttr<StrArrayAttr>:$copies,
                       OptionalAttr<DenseBoolArrayAttr>:$copies_transposed,
                       OptionalAttr<TypeAttr>:$stored_type);
  let assemblyFormat = "$sym_name (`trainable` $trainable^)? `:` $type attr-dict";
  let hasVerifier = 1;
}

def NN_ReadOp : NN_Op<"read", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a parameter";
  let description = [{
    Created by import; `layers` turns it into a layer's operand. Its type is the parameter's.

    ```mlir
    %w = nn.read @"m.norm.weight" : tensor<32xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$parameter `:` type($result) attr-dict";
}

def NN_ConstantOp : NN_Op<"constant", [ConstantLike, InferTypeOpAdaptor]> {
  let summary = "A constant tensor";
  let description = [{
    Small ones only: tables and weights are parameters. Equal elements are stored once.

    ```mlir
    %shape = nn.constant dense<[2, 16]> : tensor<2xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def NN_IotaOp : NN_Op<"iota"> {
  let summary = "The index along one axis: result[.., i, ..] = start + step * i";
  let description = [{
    Kept symbolic: a mask made of iota comparisons is recognised, never evaluated.

    ```mlir
    %i = nn.iota 0 {start = 0 : i64, step = 1 : i64} : tensor<4096xi64>
    ```
  }];
  let arguments = (ins I64Attr:$axis, DefaultValuedAttr<I64Attr, "0">:$start, DefaultValuedAttr<I64Attr, "1">:$step);
  let results = (outs NN_NumberTensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class NN_UnaryOp<string mnemonic, string what, Type type, list<Trait> traits = [], string example = "tensor<2x3xf32>">
    : NN_Op<mnemonic, traits # [SameOperandsAndResultType]> {
  let summary = what;
  let description = "Elementwise.\n\n```mlir\n%y = nn." # mnemonic # " %x : " # example # "\n```";
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}
class NN_FloatUnaryOp<string mnemonic, string what, list<Trait> traits = []>
    : NN_UnaryOp<mnemonic, what, NN_FloatTensor, traits # [DeclareOpInterfaceMethods<NN_DifferentiableOp>]>;

def NN_NegOp : NN_UnaryOp<"neg", "-x", NN_NumberTensor, [DeclareOpInterfaceMethods<NN_DifferentiableOp>]>;
def NN_AbsOp : NN_UnaryOp<"abs", "|x|; derivative 0 at 0", NN_NumberTensor, [DeclareOpInterfaceMethods<NN_DifferentiableOp>]>;
def NN_ExpOp : NN_FloatUnaryOp<"exp", "e^x">;
def NN_LogOp : NN_FloatUnaryOp<"log", "natural logarithm">;
def NN_SqrtOp : NN_FloatUnaryOp<"sqrt", "square root">;
def NN_RsqrtOp : NN_FloatUnaryOp<"rsqrt", "1 / sqrt(x)">;
def NN_ReciprocalOp : NN_FloatUnaryOp<"reciprocal", "1 / x">;
def NN_TanhOp : NN_FloatUnaryOp<"tanh", "hyperbolic tangent">;
def NN_SigmoidOp : NN_FloatUnaryOp<"sigmoid", "1 / (1 + e^-x)">;
def NN_ErfOp : NN_FloatUnaryOp<"erf", "error function">;
def NN_SinOp : NN_FloatUnaryOp<"sin", "sine">;
def NN_CosOp : NN_FloatUnaryOp<"cos", "cosine">;
def NN_ReluOp : NN_FloatUnaryOp<"relu", "max(x, 0); derivative 0 at 0">;
def NN_NotOp : NN_UnaryOp<"not", "logical negation", NN_BoolTensor, [], "tensor<2x3xi1>">;

def NN_SiluOp : NN_FloatUnaryOp<"silu", "x * sigmoid(x)", [DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let description = [{
    Created by `raise` from `mul(x, sigmoid(x))`; computed in f32 and rounded once.

    ```mlir
    %y = nn.silu %x : tensor<2x3xbf16>
    ```
  }];
}

def NN_GeluOp : NN_FloatUnaryOp<"gelu", "Gaussian error linear unit", [DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let description = [{
    Created by import (ONNX Gelu-20) and `raise`: 0.5 x (1 + erf(x / sqrt 2)), or with `tanh` its tanh approximation.

    ```mlir
    %y = nn.gelu tanh %x : tensor<2x3xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, UnitAttr:$tanh);
  let assemblyFormat = "(`tanh` $tanh^)? $operand attr-dict `:` type($result)";
}

def NN_IsNanOp : NN_Op<"is_nan", [InferTypeOpAdaptor]> {
  let summary = "Whether each element is NaN";
  let description = [{
    ```mlir
    %guard = nn.is_nan %x : tensor<2x3xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs NN_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

class NN_BinaryOp<string mnemonic, string what, Type type, list<Trait> traits = [], string example = "tensor<2x3xf32>">
    : NN_Op<mnemonic, traits # [SameOperandsAndResultType]> {
  let summary = what;
  let description = "Elementwise.\n\n```mlir\n%z = nn." # mnemonic # " %x, %y : " # example # "\n```";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}
class NN_ArithmeticOp<string mnemonic, string what, list<Trait> traits = []>
    : NN_BinaryOp<mnemonic, what, NN_NumberTensor, traits # [DeclareOpInterfaceMethods<NN_DifferentiableOp>]>;

def NN_AddOp : NN_ArithmeticOp<"add", "x + y", [Commutative]>;
def NN_SubOp : NN_ArithmeticOp<"sub", "x - y">;
def NN_MulOp : NN_ArithmeticOp<"mul", "x * y", [Commutative]>;
def NN_DivOp : NN_ArithmeticOp<"div", "x / y; integers truncate towards zero, and by 0 give 0 (refused where they are folded)">;
def NN_PowOp : NN_ArithmeticOp<"pow", "x to the power y; differentiable in x (and in y where x > 0)">;
def NN_MaximumOp : NN_ArithmeticOp<"maximum", "the larger; NaN if either is; ties give the cotangent to x">;
def NN_MinimumOp : NN_ArithmeticOp<"minimum", "the smaller; NaN if either is; ties give the cotangent to x">;
def NN_AndOp : NN_BinaryOp<"and", "logical and", NN_BoolTensor, [Commutative], "tensor<2x3xi1>">;
def NN_OrOp : NN_BinaryOp<"or", "logical or", NN_BoolTensor, [Commutative], "tensor<2x3xi1>">;

def NN_CompareOp : NN_Op<"compare", [SameTypeOperands, InferTypeOpAdaptor]> {
  let summary = "Elementwise comparison (ordered, except `ne`)";
  let description = [{
    NaN compares false with everything, except that `ne` holds.

    ```mlir
    %seen = nn.compare le %key, %query : tensor<16x16xi64>
    ```
  }];
  let arguments = (ins NN_ComparePredicateAttr:$predicate, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
}

def NN_SelectOp : NN_Op<"select", [AllTypesMatch<["on_true", "on_false", "result"]>,
                                   DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "condition ? on_true : on_false";
  let description = [{
    The derivative selects too: the branch not taken gets an exact 0, never 0 * NaN.

    ```mlir
    %y = nn.select %guard, %zero, %x : tensor<2x3xi1>, tensor<2x3xf32>
    ```
  }];
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$on_true, NN_Tensor:$on_false);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` type($condition) `,` type($result)";
  let hasVerifier = 1;
}

def NN_CastOp : NN_Op<"cast", [DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Conversion of the element type";
  let description = [{
    Rounds to nearest even; float to integer truncates, what does not fit takes the nearest
    integer that does and NaN 0; integers wrap; to i1: x != 0.

    ```mlir
    %y = nn.cast %x : tensor<2x3xf32> to tensor<2x3xbf16>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

class NN_MovementOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, traits # [DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ReshapeOp : NN_MovementOp<"reshape"> {
  let summary = "Same elements in row-major order, another shape";
  let description = [{
    Another name for the same bytes: it costs nothing.

    ```mlir
    %heads = nn.reshape %x : tensor<2x16x32xf32> -> tensor<2x16x4x8xf32>
    ```
  }];
  let hasFolder = 1;
}

def NN_BroadcastOp : NN_MovementOp<"broadcast"> {
  let summary = "NumPy broadcasting to the result's shape";
  let description = [{
    Shapes align at the last axis; missing axes and axes of extent 1 are repeated.

    ```mlir
    %y = nn.broadcast %bias : tensor<32xf32> -> tensor<2x16x32xf32>
    ```
  }];
  let hasFolder = 1;
}

def NN_TransposeOp : NN_MovementOp<"transpose"> {
  let summary = "Permutes axes: result axis i is operand axis permutation[i]";
  let description = [{
    ```mlir
    %y = nn.transpose %x [0, 2, 1, 3] : tensor<2x16x4x8xf32> -> tensor<2x4x16x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let assemblyFormat = "$operand $permutation attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def NN_SliceOp : NN_MovementOp<"slice"> {
  let summary = "result[i] = operand[starts + i * steps], for every axis";
  let description = [{
    One start and one step (negative allowed) per axis; extents are the result's. Every element it picks lies in the operand.

    ```mlir
    %shifted = nn.slice %x [0, 1] [1, 1] : tensor<2x16xi64> -> tensor<2x15xi64>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps);
  let assemblyFormat = "$operand $starts $steps attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

def NN_PadOp : NN_MovementOp<"pad"> {
  let summary = "Constant padding";
  let description = [{
    Non-negative amounts in elements before (`low`) and after (`high`) each axis; `value` has the element type.

    ```mlir
    %y = nn.pad %labels [0, 0] [0, 1] -100 : i64 : tensor<2x16xi64> -> tensor<2x17xi64>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, TypedAttrInterface:$value);
  let assemblyFormat = "$operand $low $high $value attr-dict `:` type($operand) `->` type($result)";
}

def NN_ConcatOp : NN_Op<"concat", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Concatenation along one axis";
  let description = [{
    Operands agree in element type and in every other extent.

    ```mlir
    %y = nn.concat 1, %a, %b : tensor<2x3xf32>, tensor<2x5xf32>
    ```
  }];
  let arguments = (ins I64Attr:$axis, Variadic<NN_Tensor>:$operands);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$axis `,` $operands attr-dict `:` type($operands)";
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

def NN_GatherOp : NN_Op<"gather", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Rows of `operand` along `axis`, picked by `indices`";
  let description = [{
    result shape = operand[:axis] + indices + operand[axis+1:]. Negative indices count from the end.
    Embedding lookup has axis 0. An index out of range is a run-time error naming the op.

    ```mlir
    %y = nn.gather %table, %ids axis 0 : tensor<128x32xf32>, tensor<2x16xi64>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, NN_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand `,` $indices `axis` $axis attr-dict `:` type($operand) `,` type($indices)";
}

def NN_ScatterAddOp : NN_Op<"scatter_add"> {
  let summary = "Sums rows into a zero tensor: the derivative of gather";
  let description = [{
    Created by the derivative of `nn.gather`. The result starts at 0; for i in index order, result[.., indices[i], ..] += updates[.., i, ..]. `updates`
    has the shape of the gather's result. Sums in f32 in index order: the same bits everywhere.

    ```mlir
    %dtable = nn.scatter_add %dy, %ids axis 0 : tensor<2x16x32xf32>, tensor<2x16xi64> -> tensor<128x32xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$updates, NN_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$updates `,` $indices `axis` $axis attr-dict `:` type($updates) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def NN_GatherNDOp : NN_Op<"gather_nd", [InferTypeOpAdaptor]> {
  let summary = "ONNX GatherND: slices picked by index tuples in the last axis of `indices`";
  let description = [{
    The first `batch_dims` axes of both operands run together. Negative indices count from the end.

    ```mlir
    %y = nn.gather_nd %x, %tuples batch_dims 1 : tensor<2x4x8xf32>, tensor<2x3x1xi64>
    ```
  }];
  let arguments = (ins NN_Tensor:$operand, NN_IndexTensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let results = (outs NN_Tensor:$result);
  // In the format, not in attr-dict, because parsing infers the result from it.
  let assemblyFormat = "$operand `,` $indices (`batch_dims` $batch_dims^)? attr-dict `:` type($operand) `,` type($indices)";
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_Op<"reduce", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Sum, mean or maximum over axes";
  let description = [{
    `axes` are sorted, non-negative, distinct. With `keepdims` they stay with extent 1. Accumulates in
    f32 by the project's fixed tree (docs/phases: Reductions). Ties of `max` share the cotangent
    equally.

    ```mlir
    %m = nn.reduce mean %x [2] keepdims : tensor<2x16x32xf32>
    ```
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_NumberTensor:$operand, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs NN_NumberTensor:$result);
  let assemblyFormat = "$kind $operand $axes (`keepdims` $keepdims^)? attr-dict `:` type($operand)";
}

def NN_CumsumOp : NN_Op<"cumsum", [SameOperandsAndResultType]> {
  let summary = "Running sum along one axis (only in what is folded)";
  let description = [{
    `exclusive` leaves out the element itself, `reverse` sums from the end.

    ```mlir
    %position = nn.cumsum %mask axis 1 : tensor<2x16xi64>
    ```
  }];
  let arguments = (ins NN_NumberTensor:$operand, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_NumberTensor:$result);
  let assemblyFormat = "$operand `axis` $axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_Op<"softmax", [SameOperandsAndResultType, DeclareOpInterfaceMethods<NN_DifferentiableOp>,
                                     DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let summary = "exp(x - max x) / sum over the last axis";
  let description = [{
    A row that is -inf throughout gives NaN, as in ONNX; exporters guard it with `select(is_nan(y), 0, y)`, whose derivative is 0.

    ```mlir
    %p = nn.softmax %scores : tensor<2x4x16x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def NN_MatmulOp : NN_Op<"matmul", [DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Matrix product of the last two axes";
  let description = [{
    lhs [B..., m, k] (`transpose_lhs`: [B..., k, m]) times rhs [B..., k, n] (`transpose_rhs`: [B..., n, k]) gives [B..., m, n].
    Batch axes B are equal on both sides, or `rhs` has rank 2 and serves every batch (then lhs is not transposed and its batch
    axes and m are one long m). Both operands have one element type; the result's may be wider (f32 of bf16 operands). Accumulates in f32. With an `rhs` of
    rank 2, `bias` [n] of the operands' element type is added to every row before the one rounding (`raise` puts it there).

    ```mlir
    %y = nn.matmul %x, %w transpose_rhs : tensor<2x16x32xf32>, tensor<64x32xf32> -> tensor<2x16x64xf32>
    %z = nn.matmul %x, %w bias %b transpose_rhs : tensor<2x16x32xf32>, tensor<64x32xf32>, tensor<64xf32> -> tensor<2x16x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs, Optional<NN_FloatTensor>:$bias, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs NN_FloatTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$lhs, "::mlir::Value":$rhs, "bool":$transposeLhs, "bool":$transposeRhs), [{
    build($_builder, $_state, result, lhs, rhs, ::mlir::Value(), transposeLhs, transposeRhs);
  }]>];
  let assemblyFormat = [{ $lhs `,` $rhs (`bias` $bias^)? (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)? attr-dict
                          `:` type($lhs) `,` type($rhs) (`,` type($bias)^)? `->` type($result) }];
  let hasVerifier = 1;
}

def NN_AttentionOp : NN_Op<"attention", [DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Scaled dot-product attention with grouped heads";
  let description = [{
    query [b, h, s, d], key and value [b, h_kv, t, d(v)], h a multiple of h_kv: query head i uses key head i / (h / h_kv).
    scores = scale * query key^T; with `causal`, query i sees keys j <= i + (t - s); with `window` w also j > i + (t - s) - w. `mask`
    (until `raise` removed it) is additive (float) or boolean (true: seen), broadcastable to [b, h, s, t]. What a boolean mask
    hides has the score -inf, or `fill` (finite), and no cotangent. A row of nothing but -inf sees nothing: it gives 0, or, if the mask is `unguarded`, NaN,
    as softmax alone does. `statistics` [b, h, s] (f32) is the log of the sum of exponentials of each row's scores (-inf where it sees nothing).
    The result is [b, h, s, d_v], or with `rows_first` [b, s, h, d_v], as the product behind it wants it. Created by import (ONNX Attention) and `raise`.

    ```mlir
    %y, %statistics = nn.attention %q, %k, %v causal scale 0.25
      : tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> -> tensor<2x4x16x8xf32>, tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value, Optional<NN_Tensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window, UnitAttr:$rows_first,
                       OptionalAttr<F64Attr>:$fill, UnitAttr:$unguarded);
  let results = (outs NN_FloatTensor:$result, StaticShapeTensorOf<[F32, F64]>:$statistics);
  let assemblyFormat = [{ $query `,` $key `,` $value (`mask` $mask^)? (`fill` $fill^)? (`unguarded` $unguarded^)? (`causal` $causal^)? (`window` $window^)? (`rows_first` $rows_first^)? `scale` $scale attr-dict
                          `:` type($query) `,` type($key) `,` type($value) (`,` type($mask)^)? `->` type($result) `,` type($statistics) }];
  let hasVerifier = 1;
}

def NN_AttentionGradOp : NN_Op<"attention_grad"> {
  let summary = "Cotangents of query, key, value";
  let description = [{
    Created by the derivative of `nn.attention`. Recomputes scores from query, key and the statistics; never keeps a
    score matrix. Results have their operands' types; with `rows_first` they are [b, s, h, d], [b, t, h_kv, d] and [b, t, h_kv, d_v], as
    result_value and cotangent are [b, s, h, d_v].

    ```mlir
    %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %y, %statistics, %dy causal scale 0.25
      : tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>
      -> tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$query, NN_FloatTensor:$key, NN_FloatTensor:$value, NN_FloatTensor:$result_value,
                       StaticShapeTensorOf<[F32, F64]>:$statistics, NN_FloatTensor:$cotangent,
                       F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window, UnitAttr:$rows_first);
  let results = (outs NN_FloatTensor:$d_query, NN_FloatTensor:$d_key, NN_FloatTensor:$d_value);
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $result_value `,` $statistics `,` $cotangent (`causal` $causal^)? (`window` $window^)?
                          (`rows_first` $rows_first^)? `scale` $scale attr-dict `:` type($query) `,` type($key) `,` type($value) `,` type($result_value) `,` type($statistics) `,` type($cotangent)
                          `->` type($d_query) `,` type($d_key) `,` type($d_value) }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

def NN_RmsNormOp : NN_Op<"rms_norm", [AllTypesMatch<["operand", "result"]>, DeclareOpInterfaceMethods<NN_DifferentiableOp>,
                                      DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * weight over the last axis";
  let description = [{
    Normalises in f32, rounds to x's element type, then multiplies by `weight` [n] in that type and rounds again
    (ONNX RMSNormalization-23 with stash_type 1, and what Transformers computes). Created by import and `raise`.

    ```mlir
    %y = nn.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x16x32xf32>, tensor<32xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$weight, F64Attr:$epsilon);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $weight `epsilon` $epsilon attr-dict `:` type($operand) `,` type($weight)";
  let hasVerifier = 1;
}

def NN_RopeOp : NN_Op<"rope", [AllTypesMatch<["operand", "result"]>, DeclareOpInterfaceMethods<NN_DifferentiableOp>,
                               DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let summary = "Rotary position embedding: x * cos + rotate(x) * sin";
  let description = [{
    rotate(x) = concat(-x[.., n/2:], x[.., :n/2]) on the last axis of even extent n. `cosine` and `sine` are broadcastable to x. In x's element type;
    each product and the sum is rounded. Derivative in x alone. Created by import and `raise`.

    ```mlir
    %y = nn.rope %x, %cos, %sin : tensor<2x4x16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$cosine, NN_FloatTensor:$sine);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $cosine `,` $sine attr-dict `:` type($operand) `,` type($cosine) `,` type($sine)";
  let hasVerifier = 1;
}

#endif // RONDO_DIALECT_NN_NNOPS_TD
