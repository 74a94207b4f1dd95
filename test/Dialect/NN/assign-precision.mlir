// What --precision rounds, and what it leaves alone.
// RUN: rondo-opt %s --rondo-nn-assign-precision=precision=bf16 --split-input-file | FileCheck %s
// RUN: rondo-opt %s --rondo-nn-assign-precision=precision=fp32 --split-input-file | FileCheck %s --check-prefix=FULL

// Weights are read in the type, products take it.
// CHECK: nn.parameter @w trainable : tensor<4x4xbf16> {stored = #nn.stored<"w.bin", 0, 64>, stored_type = f32}
// FULL: nn.parameter @w trainable : tensor<4x4xf32> {stored = #nn.stored<"w.bin", 0, 64>}
nn.parameter @w trainable : tensor<4x4xf32> {stored = #nn.stored<"w.bin", 0, 64>}
// CHECK-LABEL: func.func @converts_product
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>)
func.func @converts_product(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[W:.*]] = nn.read @w : tensor<4x4xbf16>
  // CHECK: %[[XB:.*]] = nn.cast %[[X]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: %[[Y:.*]] = nn.matmul %[[XB]], %[[W]] : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  // CHECK: %[[S:.*]] = nn.silu %[[Y]] : tensor<2x4xbf16>
  // The last product leads to the end: its sums are not rounded.
  // CHECK: %[[Z:.*]] = nn.matmul %[[S]], %[[W]] : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xf32>
  // CHECK: return %[[Z]]
  %w = nn.read @w : tensor<4x4xf32>
  %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s = nn.silu %y : tensor<2x4xf32>
  %z = nn.matmul %s, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

// What was narrow is f32 with precision=fp32: the model's roundings go.
// FULL: nn.parameter @h trainable : tensor<4x4xf32> {stored_type = bf16}
nn.parameter @h trainable : tensor<4x4xbf16>
// FULL-LABEL: func.func @widens
func.func @widens(%x: tensor<2x4xbf16>) -> tensor<2x4xf32> {
  // FULL: %[[W:.*]] = nn.read @h : tensor<4x4xf32>
  // FULL: %[[Y:.*]] = nn.matmul %{{.*}}, %[[W]] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  // FULL: nn.cast %[[Y]] : tensor<2x4xf32> to tensor<2x4xf32>
  %w = nn.read @h : tensor<4x4xbf16>
  %y = nn.matmul %x, %w : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %z = nn.cast %y : tensor<2x4xbf16> to tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x4xf32>
// CHECK: nn.parameter @frequencies : tensor<4xf32>
nn.parameter @frequencies : tensor<4xf32>
// A rotary table keeps its digits, and so do the angles that it comes from: the
// rotation is in f32 and rounded once.
// CHECK-LABEL: func.func @keeps_tables
func.func @keeps_tables(%x: tensor<2x4xf32>, %p: tensor<2x1xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[F:.*]] = nn.read @frequencies : tensor<4xf32>
  // CHECK: %[[A:.*]] = nn.matmul {{.*}} -> tensor<2x4xf32>
  // CHECK: %[[C:.*]] = nn.cos %[[A]] : tensor<2x4xf32>
  // CHECK: %[[Q:.*]] = nn.matmul {{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[QW:.*]] = nn.cast %[[Q]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK: %[[R:.*]] = nn.rope %[[QW]], %[[C]], %[[C]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  // CHECK: nn.cast %[[R]] : tensor<2x4xf32> to tensor<2x4xbf16>
  %f = nn.read @frequencies : tensor<4xf32>
  %row = nn.reshape %f : tensor<4xf32> -> tensor<1x4xf32>
  %a = nn.matmul %p, %row : tensor<2x1xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
  %c = nn.cos %a : tensor<2x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %q = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %r = nn.rope %q, %c, %c : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  %y = nn.matmul %r, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x4xf32>
// A factor that bf16 holds is rounded, another one is not; neither makes the
// result f32.
// CHECK-LABEL: func.func @scales
func.func @scales(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[H:.*]] = nn.matmul {{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[HALF:.*]] = nn.cast %{{.*}} : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: %[[A:.*]] = nn.mul %[[H]], %[[HALF]] : tensor<2x4xbf16>
  // CHECK: %[[AW:.*]] = nn.cast %[[A]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK: %[[B:.*]] = nn.mul %[[AW]], %{{.*}} : tensor<2x4xf32>
  // CHECK: %[[BN:.*]] = nn.cast %[[B]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: nn.silu %[[BN]] : tensor<2x4xbf16>
  %half = nn.constant dense<0.5> : tensor<2x4xf32>
  %tenth = nn.constant dense<0.1> : tensor<2x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %h = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %a = nn.mul %h, %half : tensor<2x4xf32>
  %b = nn.mul %a, %tenth : tensor<2x4xf32>
  %c = nn.silu %b : tensor<2x4xf32>
  %y = nn.matmul %c, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x4xf32>
nn.parameter @g trainable : tensor<4xf32>
// A normalisation that was not recognised: all in f32, rounded where a product
// reads it. The residual stream is narrow.
// CHECK-LABEL: func.func @normalises
func.func @normalises(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[H:.*]] = nn.matmul {{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[M:.*]] = nn.reduce mean %{{.*}} [1] keepdims : tensor<2x4xf32>
  // CHECK: %[[MB:.*]] = nn.broadcast %[[M]] : tensor<2x1xf32> -> tensor<2x4xf32>
  // CHECK: %[[D:.*]] = nn.sub %{{.*}}, %[[MB]] : tensor<2x4xf32>
  // CHECK: %[[G:.*]] = nn.broadcast %{{.*}} : tensor<4xbf16> -> tensor<2x4xbf16>
  // CHECK: %[[GW:.*]] = nn.cast %[[G]] : tensor<2x4xbf16> to tensor<2x4xf32>
  // CHECK: %[[N:.*]] = nn.mul %[[D]], %[[GW]] : tensor<2x4xf32>
  // CHECK: %[[NB:.*]] = nn.cast %[[N]] : tensor<2x4xf32> to tensor<2x4xbf16>
  // CHECK: %[[F:.*]] = nn.matmul %[[NB]], %{{.*}} -> tensor<2x4xbf16>
  // CHECK: %[[R:.*]] = nn.add %[[H]], %[[F]] : tensor<2x4xbf16>
  // CHECK: nn.matmul %[[R]]
  %w = nn.read @w : tensor<4x4xf32>
  %h = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %m = nn.reduce mean %h [1] keepdims : tensor<2x4xf32>
  %mb = nn.broadcast %m : tensor<2x1xf32> -> tensor<2x4xf32>
  %d = nn.sub %h, %mb : tensor<2x4xf32>
  %g = nn.read @g : tensor<4xf32>
  %gb = nn.broadcast %g : tensor<4xf32> -> tensor<2x4xf32>
  %n = nn.mul %d, %gb : tensor<2x4xf32>
  %f = nn.matmul %n, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %r = nn.add %h, %f : tensor<2x4xf32>
  %y = nn.matmul %r, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x4xf32>
// Scores of an attention that was not recognised are not rounded before the
// softmax, its probabilities once after it.
// CHECK-LABEL: func.func @keeps_scores
func.func @keeps_scores(%x: tensor<2x4xf32>, %m: tensor<2x2xf32>) -> tensor<2x4xf32> {
  // CHECK: %[[S:.*]] = nn.matmul %{{.*}} transpose_rhs : tensor<2x4xbf16>, tensor<2x4xbf16> -> tensor<2x2xf32>
  // CHECK: %[[T:.*]] = nn.add %[[S]], %{{.*}} : tensor<2x2xf32>
  // CHECK: %[[P:.*]] = nn.softmax %[[T]] : tensor<2x2xf32>
  // CHECK: %[[PB:.*]] = nn.cast %[[P]] : tensor<2x2xf32> to tensor<2x2xbf16>
  // CHECK: nn.matmul %[[PB]], %{{.*}} -> tensor<2x4xbf16>
  %w = nn.read @w : tensor<4x4xf32>
  %q = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s = nn.matmul %q, %q transpose_rhs : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x2xf32>
  %t = nn.add %s, %m : tensor<2x2xf32>
  %p = nn.softmax %t : tensor<2x2xf32>
  %v = nn.matmul %p, %q : tensor<2x2xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %y = nn.matmul %v, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x8xf32>
// Logits of a cross entropy are narrow, its loss is not.
// CHECK-LABEL: func.func @rounds_logits
func.func @rounds_logits(%x: tensor<2x4xf32>, %l: tensor<2xi64>) -> tensor<f32> {
  // CHECK: %[[L:.*]] = nn.matmul {{.*}} -> tensor<2x8xbf16>
  // CHECK: nn.cross_entropy %[[L]], %{{.*}} : tensor<2x8xbf16>, tensor<2xi64>
  %w = nn.read @w : tensor<4x8xf32>
  %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %loss = nn.cross_entropy %y, %l : tensor<2x8xf32>, tensor<2xi64>
  return %loss : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4x8xf32>
// A loss of squares: nothing after the product is rounded.
// CHECK-LABEL: func.func @keeps_squares
func.func @keeps_squares(%x: tensor<2x4xf32>, %t: tensor<2x8xf32>) -> tensor<f32> {
  // CHECK: %[[Y:.*]] = nn.matmul {{.*}} : tensor<2x4xbf16>, tensor<4x8xbf16> -> tensor<2x8xf32>
  // CHECK-NEXT: %[[D:.*]] = nn.sub %[[Y]], %{{.*}} : tensor<2x8xf32>
  // CHECK-NEXT: %[[S:.*]] = nn.mul %[[D]], %[[D]] : tensor<2x8xf32>
  // CHECK-NEXT: nn.reduce mean %[[S]] [0, 1] : tensor<2x8xf32>
  %w = nn.read @w : tensor<4x8xf32>
  %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %d = nn.sub %y, %t : tensor<2x8xf32>
  %s = nn.mul %d, %d : tensor<2x8xf32>
  %loss = nn.reduce mean %s [0, 1] : tensor<2x8xf32>
  return %loss : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4x4xbf16>
// A product whose operands the model widened itself stays in f32.
// CHECK-LABEL: func.func @keeps_wish
func.func @keeps_wish(%x: tensor<2x4xbf16>) -> tensor<2x4xf32> {
  // CHECK: %[[R:.*]] = nn.matmul {{.*}} : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: nn.matmul {{.*}} : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xf32>
  %w = nn.read @w : tensor<4x4xbf16>
  %h = nn.matmul %x, %w : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %hw = nn.cast %h : tensor<2x4xbf16> to tensor<2x4xf32>
  %ww = nn.cast %w : tensor<4x4xbf16> to tensor<4x4xf32>
  %r = nn.matmul %hw, %ww : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %rb = nn.cast %r : tensor<2x4xf32> to tensor<2x4xbf16>
  %y = nn.matmul %rb, %w : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %z = nn.cast %y : tensor<2x4xbf16> to tensor<2x4xf32>
  return %z : tensor<2x4xf32>
}

// -----

nn.parameter @w trainable : tensor<4x8xf32>
// Padding has the type of what it pads; a mask of attention is left alone.
// CHECK-LABEL: func.func @pads_and_attends
func.func @pads_and_attends(%x: tensor<2x4xf32>, %m: tensor<2x2xf32>) -> tensor<1x1x2x8xf32> {
  // CHECK: nn.pad %{{.*}} [0, 0] [0, 0] 1.000980e-01 : bf16
  // CHECK: nn.attention {{.*}} mask %{{.*}} scale 1.000000e+00 : tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>, tensor<2x2xf32> -> tensor<1x1x2x8xbf16>, tensor<1x1x2xf32>
  %w = nn.read @w : tensor<4x8xf32>
  %q = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  %p = nn.pad %q [0, 0] [0, 0] 0.1 : f32 : tensor<2x8xf32> -> tensor<2x8xf32>
  %h = nn.reshape %p : tensor<2x8xf32> -> tensor<1x1x2x8xf32>
  %y, %s = nn.attention %h, %h, %h mask %m scale 1.0 : tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>, tensor<2x2xf32> -> tensor<1x1x2x8xf32>, tensor<1x1x2xf32>
  return %y : tensor<1x1x2x8xf32>
}
