// Masters have one kind of narrow copy.
// RUN: not rondo-compile --from=raise %s -o %t.rondo 2>&1 | FileCheck %s
// CHECK: error: 'a' trains as 'bf16' and 'b' as 'f16'; one model can train f32 and one narrower type: freeze one kind, or give all one type with --precision=bf16 or fp16

module {
  nn.parameter @a trainable : tensor<8x8xbf16>
  nn.parameter @b trainable : tensor<8x8xf16>
  func.func @loss(%x: tensor<4x8xbf16> {nn.name = "x"}) -> (tensor<f32> {nn.name = "loss"}) attributes {nn.loss} {
    %a = nn.read @a : tensor<8x8xbf16>
    %y = nn.matmul %x, %a : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
    %h = nn.cast %y : tensor<4x8xbf16> to tensor<4x8xf16>
    %b = nn.read @b : tensor<8x8xf16>
    %z = nn.matmul %h, %b : tensor<4x8xf16>, tensor<8x8xf16> -> tensor<4x8xf32>
    %loss = nn.reduce mean %z [0, 1] : tensor<4x8xf32>
    return %loss : tensor<f32>
  }
}
