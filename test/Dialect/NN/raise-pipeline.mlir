// The phase as a whole: one pass prepares what the next recognises.
// RUN: rondo-opt %s --rondo-nn-raise --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// Raising what is raised changes nothing.
// RUN: rondo-opt %s --rondo-nn-raise -o %t.once
// RUN: rondo-opt %t.once --rondo-nn-raise -o %t.twice
// RUN: diff %t.once %t.twice

// The table of the last function.
// CHECK: nn.parameter @table_0 : tensor<64x128xf32> {value =

// Duplicate casts meet before the norm is looked for, and the raised op is at
// the node whose result it yields.
// CHECK-LABEL: func.func @merges_then_raises
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16> loc
// CHECK-SAME: %[[W:.*]]: tensor<8xbf16> loc
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %[[X]], %[[W]] {{.*}} loc("scaled"("::Mul"))
// CHECK-NEXT: return %[[Y]]
func.func @merges_then_raises(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %left = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %right = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %other = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %square = nn.mul %left, %right : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<f32>
  %offset = nn.broadcast %eps : tensor<f32> -> tensor<4x1xf32>
  %v = nn.add %mean, %offset : tensor<4x1xf32>
  %inverse = nn.rsqrt %v : tensor<4x1xf32>
  %rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %other, %rows : tensor<4x8xf32>
  %rounded = nn.cast %normed : tensor<4x8xf32> to tensor<4x8xbf16>
  %scale = nn.broadcast %w : tensor<8xbf16> -> tensor<4x8xbf16>
  %y = nn.mul %scale, %rounded : tensor<4x8xbf16> loc("scaled"("::Mul"))
  return %y : tensor<4x8xbf16>
}

// A mask from an input: recognised as attention, then written out again.
// CHECK-LABEL: func.func @decomposes_padding
// CHECK-NOT: nn.attention
// CHECK: nn.select
// CHECK: nn.softmax
func.func @decomposes_padding(%q: tensor<2x2x4x8xf32>, %pad: tensor<2x1x1x4xi1>) -> tensor<2x2x4x8xf32> {
  %s = nn.matmul %q, %q transpose_rhs : tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32> -> tensor<2x2x4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x1x1x4xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<2x1x1x4xf32>
  %additive = nn.select %pad, %zero, %low : tensor<2x1x1x4xi1>, tensor<2x1x1x4xf32>
  %mask = nn.broadcast %additive : tensor<2x1x1x4xf32> -> tensor<2x2x4x4xf32>
  %masked = nn.add %s, %mask : tensor<2x2x4x4xf32>
  %p = nn.softmax %masked : tensor<2x2x4x4xf32>
  %y = nn.matmul %p, %q : tensor<2x2x4x4xf32>, tensor<2x2x4x8xf32> -> tensor<2x2x4x8xf32>
  return %y : tensor<2x2x4x8xf32>
}

// A rotary table is evaluated once rope has taken it out of its broadcast, and
// ends as a parameter of 64 x 128 elements.
// CHECK-LABEL: func.func @folds_table_of_rope
// CHECK: %[[T:.*]] = nn.read @table_0 : tensor<64x128xf32>
// CHECK: nn.rope %{{.*}}, %[[T]], %[[T]] : tensor<2x64x128xf32>, tensor<64x128xf32>, tensor<64x128xf32>
func.func @folds_table_of_rope(%x: tensor<2x64x128xf32>) -> tensor<2x64x128xf32> {
  %i = nn.iota 0 : tensor<64x128xf32>
  %table = nn.cos %i : tensor<64x128xf32>
  %tables = nn.broadcast %table : tensor<64x128xf32> -> tensor<2x64x128xf32>
  %straight = nn.mul %x, %tables : tensor<2x64x128xf32>
  %first = nn.slice %x [0, 0, 0] [1, 1, 1] : tensor<2x64x128xf32> -> tensor<2x64x64xf32>
  %second = nn.slice %x [0, 0, 64] [1, 1, 1] : tensor<2x64x128xf32> -> tensor<2x64x64xf32>
  %negative = nn.neg %second : tensor<2x64x64xf32>
  %rotated = nn.concat 2, %negative, %first : tensor<2x64x64xf32>, tensor<2x64x64xf32>
  %turned = nn.mul %rotated, %tables : tensor<2x64x128xf32>
  %y = nn.add %straight, %turned : tensor<2x64x128xf32>
  return %y : tensor<2x64x128xf32>
}
