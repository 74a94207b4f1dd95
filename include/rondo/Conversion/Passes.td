//===- Passes.td - Conversions between dialects ------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_CONVERSION_PASSES_TD
#define RONDO_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNNToKern : Pass<"rondo-convert-nn-to-kern", "::mlir::ModuleOp"> {
  let summary = "Turns functions of nn ops into launch lists";
  let description = [{
    Each `func.func` of nn ops, in a `pipe.body` or at the top, becomes a `kern.func` whose arguments are the function's arguments, then its
    results. Composites are decomposed. Elementwise ops, movements and row reductions around one row space become one `kern.fused`; a value that several kernels need is
    stored if computing it again costs more. Products become `kern.gemm` on views of what is in memory; attention is done by blocks of query rows, of at most
    about `score-bytes` of scores; with `library-attention`, where it is bf16 or f16 and has head sizes of at most 128, by `kern.attention` and `kern.attention_grad`. A result with the role gradient is added to: by the product or column sum itself, or by the kernel that computes it.
    Which ops share a kernel never changes a bit: each nn op's rounding and each reduction's order is fixed.

    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = nn.add %x, %y : tensor<4x8xf32>
      %1 = nn.relu %0 : tensor<4x8xf32>
      return %1 : tensor<4x8xf32>
    }
    // becomes
    kern.func @f(%x: memref<4x8xf32>, %y: memref<4x8xf32>, %r: memref<4x8xf32>) attributes {inputs = 2 : i64} {
      kern.fused elementwise [32] calls [0, 32] ins(%x, %y : ...) at [...] outs(%r : ...) at [...] accumulate [false] { ... }
      kern.return
    }
    ```
  }];
  let options = [Option<"scoreBytes", "score-bytes", "int64_t", "67108864", "bytes of attention scores at once">,
                 Option<"libraryAttention", "library-attention", "bool", "false", "leave attention to the device's library where it can">,
                 Option<"attentionBytes", "attention-bytes", "int64_t", "1073741824", "bytes of a library's gradient of attention at once">];
  let dependentDialects = ["::rondo::kern::KernDialect"];
}

#endif // RONDO_CONVERSION_PASSES_TD
