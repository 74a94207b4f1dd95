//===- NNLossOps.td - nn operations that give a loss -------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNLOSSOPS_TD
#define RONDO_DIALECT_NN_NNLOSSOPS_TD

include "rondo/Dialect/NN/NNBase.td"

def NN_CrossEntropyOp : NN_Op<"cross_entropy", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<NN_DifferentiableOp>,
                                                DeclareOpInterfaceMethods<NN_CompositeOp>]> {
  let summary = "Mean over valid rows of logsumexp(logits) - logits[label]";
  let description = [{
    logits [n, classes], labels [n]; a row whose label is `ignore_index` does not count. The mean divides by the number of valid rows; none valid: NaN, as in PyTorch.
    Result: a scalar in f32 (f64 for f64 logits). Created by import and `raise`.

    ```mlir
    %loss = nn.cross_entropy %logits, %labels ignore -100 : tensor<32x128xf32>, tensor<32xi64>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IndexTensor:$labels, OptionalAttr<I64Attr>:$ignore_index);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels (`ignore` $ignore_index^)? attr-dict `:` type($logits) `,` type($labels)";
}

class NN_LossHeadOp<string mnemonic, list<Trait> traits = []> : NN_Op<mnemonic, traits> {
  let extraClassDeclaration = [{
    int64_t getRows() { return ::mlir::cast<::mlir::RankedTensorType>(getHidden().getType()).getDimSize(0); }
    int64_t getClasses() {
      return ::mlir::cast<::mlir::RankedTensorType>(getWeight().getType()).getDimSize(getTransposeWeight() ? 0 : 1);
    }
  }];
  let hasVerifier = 1;
}

def NN_LinearCrossEntropyOp : NN_LossHeadOp<"linear_cross_entropy", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<NN_DifferentiableOp>]> {
  let summary = "Cross entropy of a linear layer, whose logits never exist as a whole";
  let description = [{
    hidden [n, k] times weight [k, classes] (`transpose_weight`: [classes, k]) plus `bias` [classes], summed in f32 and rounded once to `logits`; of
    them what `nn.cross_entropy` computes. Kernels take `chunk` rows at a time. Created by `raise`.

    ```mlir
    %loss = nn.linear_cross_entropy %x, %w, %labels transpose_weight ignore -100 chunk 1024 logits bf16
      : tensor<32x64xbf16>, tensor<128x64xbf16>, tensor<32xi64>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$hidden, NN_FloatTensor:$weight, NN_IndexTensor:$labels, Optional<NN_FloatTensor>:$bias,
                       UnitAttr:$transpose_weight, OptionalAttr<I64Attr>:$ignore_index, I64Attr:$chunk, TypeAttr:$logits);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{ $hidden `,` $weight `,` $labels (`bias` $bias^)? (`transpose_weight` $transpose_weight^)? (`ignore` $ignore_index^)?
                          `chunk` $chunk `logits` $logits attr-dict `:` type($hidden) `,` type($weight) `,` type($labels) (`,` type($bias)^)? }];
}

def NN_LinearCrossEntropyGradOp : NN_LossHeadOp<"linear_cross_entropy_grad"> {
  let summary = "Loss and cotangents of a linear layer under a cross entropy, in one visit";
  let description = [{
    Created by the derivative of `nn.linear_cross_entropy`, whose result `loss` equals. `seed` is the loss's cotangent. The logits' cotangent (softmax - onehot) * seed / count
    (0 on rows that do not count) is rounded to hidden's element type. d_hidden has hidden's type; d_weight and d_bias are f32 (f64 for f64), summed over chunks
    in order.

    ```mlir
    %loss, %dx, %dw = nn.linear_cross_entropy_grad %x, %w, %labels, %seed transpose_weight ignore -100 chunk 1024 logits bf16
      : tensor<32x64xbf16>, tensor<128x64xbf16>, tensor<32xi64>, tensor<f32> -> tensor<f32>, tensor<32x64xbf16>, tensor<128x64xf32>
    ```
  }];
  let arguments = (ins NN_FloatTensor:$hidden, NN_FloatTensor:$weight, NN_IndexTensor:$labels, NN_FloatTensor:$seed, Optional<NN_FloatTensor>:$bias,
                       UnitAttr:$transpose_weight, OptionalAttr<I64Attr>:$ignore_index, I64Attr:$chunk, TypeAttr:$logits);
  let results = (outs NN_FloatTensor:$loss, NN_FloatTensor:$d_hidden, NN_FloatTensor:$d_weight, Optional<NN_FloatTensor>:$d_bias);
  let assemblyFormat = [{ $hidden `,` $weight `,` $labels `,` $seed (`bias` $bias^)? (`transpose_weight` $transpose_weight^)? (`ignore` $ignore_index^)?
                          `chunk` $chunk `logits` $logits attr-dict `:` type($hidden) `,` type($weight) `,` type($labels) `,` type($seed) (`,` type($bias)^)?
                          `->` type($loss) `,` type($d_hidden) `,` type($d_weight) (`,` type($d_bias)^)? }];
}

#endif // RONDO_DIALECT_NN_NNLOSSOPS_TD
