// Masters of two narrower types in one model.
// RUN: rondo-opt %s -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s
// CHECK: error: 'a' trains as 'bf16' and 'b' as 'f16'; one model can train f32 and one narrower type: freeze one kind, or give all one type with --precision=bf16 or fp16

nn.parameter @a trainable : tensor<4xbf16>
nn.parameter @b trainable : tensor<4xf16>
nn.parameter @c trainable : tensor<4xf32>
func.func @loss(%x: tensor<4xf32>) -> tensor<f32> attributes {nn.loss} {
  %a = nn.read @a : tensor<4xbf16>
  %b = nn.read @b : tensor<4xf16>
  %c = nn.read @c : tensor<4xf32>
  %0 = nn.cast %a : tensor<4xbf16> to tensor<4xf32>
  %1 = nn.cast %b : tensor<4xf16> to tensor<4xf32>
  %2 = nn.mul %0, %x : tensor<4xf32>
  %3 = nn.mul %1, %2 : tensor<4xf32>
  %4 = nn.mul %c, %3 : tensor<4xf32>
  %l = nn.reduce sum %4 [0] : tensor<4xf32>
  return %l : tensor<f32>
}
