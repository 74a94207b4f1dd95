//===- KernOps.td - kern operations ------------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_KERNOPS_TD
#define RONDO_DIALECT_KERN_KERNOPS_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "rondo/Dialect/Kern/KernAttrs.td"

class Kern_Op<string mnemonic, list<Trait> traits = []> : Op<Kern_Dialect, mnemonic, traits>;

def Kern_Element : AnyTypeOf<[F32, BF16, F16, F64, I64, I32, I1]>;
def Kern_MemRef : StaticShapeMemRefOf<[F32, BF16, F16, F64, I64, I32, I1]>;
def Kern_IndexMemRef : StaticShapeMemRefOf<[I64, I32]>;

//===----------------------------------------------------------------------===//
// Functions and memory
//===----------------------------------------------------------------------===//

def Kern_FuncOp : Kern_Op<"func", [IsolatedFromAbove, FunctionOpInterface, AutomaticAllocationScope]> {
  let summary = "The launch list of one entry";
  let description = [{
    Created by `rondo-convert-nn-to-kern` from a `func.func` entry of a `pipe.body`; emitted with the program. Arguments are the
    nn function's arguments (`inputs` of them, only read), then its results (written; those with the role gradient are added to). At run time a pointer to `scratch` bytes
    follows where `scratch` is not 0. `flops`, `bytes` (moved between memory and processor) and `time` (predicted, ns) are
    filled by `rondo-kern-estimate-cost`. The body is one block of ops that run one after the other.

    ```mlir
    kern.func @forward(%x: memref<4x8xf32>, %w: memref<16x8xf32>, %y: memref<4x16xf32>) attributes {inputs = 2 : i64} {
      kern.gemm %x, %w, %y {m = 4 : i64, n = 16 : i64, k = 8 : i64, transpose_b, lda = 8 : i64, ldb = 8 : i64, ldc = 16 : i64}
        : memref<4x8xf32>, memref<16x8xf32>, memref<4x16xf32>
      kern.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type, OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs, I64Attr:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$scratch, DefaultValuedAttr<F64Attr, "0.0">:$flops,
                       DefaultValuedAttr<F64Attr, "0.0">:$bytes, DefaultValuedAttr<F64Attr, "0.0">:$time);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type, "int64_t":$inputs)>];
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Kern_ReturnOp : Kern_Op<"return", [Terminator, Pure, HasParent<"FuncOp">]> {
  let summary = "The end of an entry";
  let description = [{
    Created with its function by `rondo-convert-nn-to-kern`.

    ```mlir
    kern.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Kern_ScratchOp : Kern_Op<"scratch", [HasParent<"FuncOp">]> {
  let summary = "A value in the entry's scratch memory";
  let description = [{
    Created by `rondo-convert-nn-to-kern`. `offset` in bytes, a multiple of 64, is assigned by `rondo-kern-plan-scratch`; two values share bytes only where their uses do not overlap in time. The contents are
    unspecified until written.

    ```mlir
    %0 = kern.scratch at 4096 : memref<4x16xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Kern_MemRef:$result);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_ZeroOp : Kern_Op<"zero"> {
  let summary = "Fills memory with zero bytes";
  let description = [{
    Created by `rondo-convert-nn-to-kern` before what only adds: scatters, and sums over blocks of attention.

    ```mlir
    kern.zero %dtable : memref<128x32xf32>
    ```
  }];
  let arguments = (ins Kern_MemRef:$target);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def Kern_CopyOp : Kern_Op<"copy"> {
  let summary = "Copies memory of equal bytes";
  let description = [{
    Created by `rondo-convert-nn-to-kern` for results that are arguments, or the same value as another result. Shapes may differ.

    ```mlir
    kern.copy %x, %y : memref<2x16x32xf32>, memref<32x32xf32>
    ```
  }];
  let arguments = (ins Kern_MemRef:$source, Kern_MemRef:$target);
  let assemblyFormat = "$source `,` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def Kern_ConstantOp : Kern_Op<"constant"> {
  let summary = "Writes a table that the kernels' object holds";
  let description = [{
    Created by `rondo-convert-nn-to-kern` for the small constants that are not one repeated value; those that are become part of the kernels.

    ```mlir
    kern.constant %shape, dense<[2, 16]> : tensor<2xi64> : memref<2xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value, Kern_MemRef:$target);
  let assemblyFormat = "$target `,` $value attr-dict `:` type($target)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

def Kern_GemmOp : Kern_Op<"gemm"> {
  let summary = "C = alpha * op(A) op(B) (+ C) (+ bias), in a library";
  let description = [{
    Row-major matrices, m x k times k x n, `batch` of them; leading dimensions, strides from batch to batch and offsets in
    elements. `transpose_a`: A is stored k x m. `bias`: n elements of C's type, added to every row. Computes in f32 and rounds
    once. One to one a Gemm of the program file. Created by `rondo-convert-nn-to-kern` from `nn.matmul`, loss heads and attention.

    ```mlir
    kern.gemm %x, %w, %y bias %b {m = 4 : i64, n = 16 : i64, k = 8 : i64, lda = 8 : i64, ldb = 16 : i64, ldc = 16 : i64}
      : memref<4x8xbf16>, memref<8x16xbf16>, memref<4x16xbf16>, memref<16xbf16>
    ```
  }];
  let arguments = (ins Kern_MemRef:$a, Kern_MemRef:$b, Kern_MemRef:$c, Optional<Kern_MemRef>:$bias, I64Attr:$m, I64Attr:$n, I64Attr:$k,
                       DefaultValuedAttr<I64Attr, "1">:$batch, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                       I64Attr:$lda, I64Attr:$ldb, I64Attr:$ldc,
                       DefaultValuedAttr<I64Attr, "0">:$stride_a, DefaultValuedAttr<I64Attr, "0">:$stride_b, DefaultValuedAttr<I64Attr, "0">:$stride_c,
                       DefaultValuedAttr<I64Attr, "0">:$offset_a, DefaultValuedAttr<I64Attr, "0">:$offset_b, DefaultValuedAttr<I64Attr, "0">:$offset_c,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha, UnitAttr:$accumulate);
  let assemblyFormat = "$a `,` $b `,` $c (`bias` $bias^)? attr-dict `:` type($a) `,` type($b) `,` type($c) (`,` type($bias)^)?";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Kern_AttentionElement : StaticShapeMemRefOf<[BF16, F16]>;
def Kern_FloatMemRef : StaticShapeMemRefOf<[F32]>;

class Kern_AttentionLikeOp<string mnemonic> : Kern_Op<mnemonic> {
  /// Of all sizes and how they lie in memory.
  dag sizes = (ins I64Attr:$batch, I64Attr:$heads, I64Attr:$key_heads, I64Attr:$rows, I64Attr:$keys, I64Attr:$depth, I64Attr:$value_depth,
                   TypedArrayAttrBase<Kern_AccessAttr, "accesses">:$access, F32Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window);
  let hasVerifier = 1;
}

def Kern_AttentionOp : Kern_AttentionLikeOp<"attention"> {
  let summary = "result = softmax(scale * query key^T) value, in a library";
  let description = [{
    query [batch, heads, rows, depth], key [batch, key_heads, keys, depth], value [batch, key_heads, keys, value_depth], result [batch, heads, rows,
    value_depth]: element (batch, head, row, column) of the i-th of these is where `access`[i] says; columns are neighbours and rows begin at multiples
    of 16 bytes. Head i uses key head i / (heads / key_heads). With `causal`, row i sees keys j <= i + (keys - rows); with `window` w, which needs `causal`, also
    j > i + (keys - rows) - w; rows <= keys, so that every row sees a key. `statistics` f32 [batch, heads, rows], contiguous: the log of the sum of exponentials of
    each row's scores. `workspace`: memory for the library. Sums are f32.
    Created by `rondo-convert-nn-to-kern` for devices that have such a library; one to one an Attention of the program file.
  }];
  let arguments = !con((ins Kern_AttentionElement:$query, Kern_AttentionElement:$key, Kern_AttentionElement:$value, Kern_AttentionElement:$result,
                            Kern_FloatMemRef:$statistics, Kern_FloatMemRef:$workspace), sizes);
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $result `,` $statistics `,` $workspace attr-dict
                          `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,` type($statistics) `,` type($workspace) }];
}

def Kern_AttentionGradOp : Kern_AttentionLikeOp<"attention_grad"> {
  let summary = "Cotangents of query, key and value, in a library";
  let description = [{
    Of `kern.attention`, from its operands, result and statistics and the result's cotangent; `access` is of query, key, value, result, cotangent, d_query, d_key,
    d_value. It is done for `block_batch` x `block_heads` x `block_rows` rows x `block_keys` keys at a time, which bounds the workspace: batches and heads outside, then rows,
    then keys, in increasing order. Parts that several blocks give of one d_query, d_key or d_value are added in that order in f32, and the sum is rounded; the library may
    round each part. Keys are not cut with a window; those of a causal gradient not into less than `block_rows`. `library_bytes`: what the library gets of the workspace; parts and sums follow (rondo/Runtime/AttentionFormat.h).
  }];
  let arguments = !con((ins Kern_AttentionElement:$query, Kern_AttentionElement:$key, Kern_AttentionElement:$value, Kern_AttentionElement:$result,
                            Kern_FloatMemRef:$statistics, Kern_AttentionElement:$cotangent, Kern_AttentionElement:$d_query, Kern_AttentionElement:$d_key,
                            Kern_AttentionElement:$d_value, Kern_FloatMemRef:$workspace), sizes,
                       (ins I64Attr:$block_batch, I64Attr:$block_heads, I64Attr:$block_rows, I64Attr:$block_keys, I64Attr:$library_bytes));
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $result `,` $statistics `,` $cotangent `,` $d_query `,` $d_key `,` $d_value `,` $workspace attr-dict
                          `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,` type($statistics) `,` type($cotangent)
                          `,` type($d_query) `,` type($d_key) `,` type($d_value) `,` type($workspace) }];
}

//===----------------------------------------------------------------------===//
// Generated kernels
//===----------------------------------------------------------------------===//

def Kern_FusedOp : Kern_Op<"fused", [AttrSizedOperandSegments, SingleBlock]> {
  let summary = "One generated kernel: a scalar program over an iteration domain";
  let description = [{
    The region is run for each point of `domain`; its arguments are the elements of the inputs (at `input_access`), then it yields one element per
    output (at `output_access`). The last axis of the domain is

      * `elementwise`: parallel like all others;
      * `row`: reduced by `kern.reduce` inside: 16 accumulators, element j to accumulator j mod 16 in increasing j, then joined in halves (i with i + 8, + 4, + 2, + 1). A
        reduction's result is the same for the whole row and later ops of the region may use it, also in further reductions: each level is one more pass over
        the row;
      * `column`: reduced in increasing order into one accumulator per point of the other axes; one level, and all outputs are reductions' results.

    Outputs that are the same for a whole row have stride 0 on the last axis. An output that accumulates (f32) is added to what is there; a column reduction starts there.
    An output may be the memory of an input if both accesses are equal. A call may run on `calls` = [begin, end) of the first axis alone.
    Created by `rondo-convert-nn-to-kern`; its code is generated with the program.

    ```mlir
    kern.fused row [4, 64] calls [0, 4] ins(%x : memref<4x64xf32>) at [#kern.access<0, [64, 1]>]
        outs(%y : memref<4x64xf32>) at [#kern.access<0, [64, 1]>] accumulate [false] {
    ^bb0(%e: f32):
      %m = kern.reduce max %e : f32
      %d = arith.subf %e, %m : f32
      kern.yield %d : f32
    }
    ```
  }];
  let arguments = (ins Kern_KindAttr:$kind, DenseI64ArrayAttr:$domain, DenseI64ArrayAttr:$calls, Variadic<Kern_MemRef>:$inputs,
                       TypedArrayAttrBase<Kern_AccessAttr, "accesses">:$input_access,
                       Variadic<Kern_MemRef>:$outputs, TypedArrayAttrBase<Kern_AccessAttr, "accesses">:$output_access,
                       DenseBoolArrayAttr:$accumulate);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kind $domain `calls` $calls `ins` `(` ($inputs^ `:` type($inputs))? `)` `at` $input_access
                          `outs` `(` $outputs `:` type($outputs) `)` `at` $output_access `accumulate` $accumulate attr-dict-with-keyword $body }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    AccessAttr getInputAccessAt(unsigned index) { return ::mlir::cast<AccessAttr>(getInputAccess()[index]); }
    AccessAttr getOutputAccessAt(unsigned index) { return ::mlir::cast<AccessAttr>(getOutputAccess()[index]); }
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Points of the domain in one call.
    int64_t getPoints();
  }];
}

def Kern_YieldOp : Kern_Op<"yield", [Terminator, Pure, HasParent<"FusedOp">]> {
  let summary = "The elements of a fused kernel's outputs";
  let description = [{
    One value for each output, of its element type.

    ```mlir
    kern.yield %y, %sum : f32, f32
    ```
  }];
  let arguments = (ins Variadic<Kern_Element>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Kern_ReduceOp : Kern_Op<"reduce", [Pure, HasParent<"FusedOp">, AllTypesMatch<["operand", "result"]>]> {
  let summary = "Reduction over the last axis of the domain";
  let description = [{
    Of f32, f64 or integers, in the fixed order of the kernel's kind. A sum starts at 0, a maximum at the least value; NaN
    wins a maximum.

    ```mlir
    %m = kern.reduce max %e : f32
    ```
  }];
  let arguments = (ins Kern_CombinerAttr:$combiner, AnyTypeOf<[F32, F64, I64, I32]>:$operand);
  let results = (outs AnyTypeOf<[F32, F64, I64, I32]>:$result);
  let assemblyFormat = "$combiner $operand attr-dict `:` type($result)";
}

def Kern_IndexOp : Kern_Op<"index", [Pure, HasParent<"FusedOp">]> {
  let summary = "A number computed from the point's coordinates";
  let description = [{
    offset + sum of stride * coordinate; no guards. Created where values depend on where they are: `nn.iota`, parts of
    concatenations, causal masks.

    ```mlir
    %distance = kern.index <0, [-128, 0, -1, 1]> : i64
    ```
  }];
  let arguments = (ins Kern_AccessAttr:$expression);
  let results = (outs I64:$result);
  let assemblyFormat = "$expression attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Kern_GatherOp : Kern_Op<"gather"> {
  let summary = "Rows picked by indices";
  let description = [{
    source [outer, extents..., inner], target [outer, count, inner], indices [count, n] with n = number of `extents` (with `batched`: [outer, count, n]):
    target[o, i] = source[o, indices[i]...]. Negative indices count from the end; one that is out of range
    stops the call with an error. Created by `rondo-convert-nn-to-kern` from `nn.gather` and `nn.gather_nd`.

    ```mlir
    kern.gather %table, %ids, %rows {outer = 1 : i64, extents = array<i64: 128>, count = 32 : i64, inner = 32 : i64}
      : memref<128x32xf32>, memref<2x16xi64>, memref<2x16x32xf32>
    ```
  }];
  let arguments = (ins Kern_MemRef:$source, Kern_IndexMemRef:$indices, Kern_MemRef:$target,
                       I64Attr:$outer, DenseI64ArrayAttr:$extents, I64Attr:$count, I64Attr:$inner, UnitAttr:$batched);
  let assemblyFormat = "$source `,` $indices `,` $target attr-dict `:` type($source) `,` type($indices) `,` type($target)";
  let hasVerifier = 1;
}

def Kern_ScatterAddOp : Kern_Op<"scatter_add"> {
  let summary = "Adds rows where indices say";
  let description = [{
    updates [outer, count, inner], target [outer, extent, inner] (f32 or f64): target[o, indices[i]] += updates[o, i] for i in increasing order. The target is not
    cleared. Indices as in `kern.gather`. Created by `rondo-convert-nn-to-kern` from `nn.scatter_add`.

    ```mlir
    kern.scatter_add %drows, %ids, %dtable {outer = 1 : i64, extent = 128 : i64, count = 32 : i64, inner = 32 : i64}
      : memref<2x16x32xf32>, memref<2x16xi64>, memref<128x32xf32>
    ```
  }];
  let arguments = (ins Kern_MemRef:$updates, Kern_IndexMemRef:$indices, Kern_MemRef:$target,
                       I64Attr:$outer, I64Attr:$extent, I64Attr:$count, I64Attr:$inner);
  let assemblyFormat = "$updates `,` $indices `,` $target attr-dict `:` type($updates) `,` type($indices) `,` type($target)";
  let hasVerifier = 1;
}

#endif // RONDO_DIALECT_KERN_KERNOPS_TD
