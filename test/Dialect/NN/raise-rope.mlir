// Rotary embeddings and their near misses.
// RUN: rondo-opt %s --rondo-nn-raise-rope --split-input-file | FileCheck %s

// Tables lose their broadcast; query and key heads share them.
// CHECK-LABEL: func.func @raises_rope
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x16x8xf32>, %[[C:.*]]: tensor<16x8xf32>, %[[S:.*]]: tensor<1x1x16x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.rope %[[X]], %[[C]], %[[S]] : tensor<2x4x16x8xf32>, tensor<16x8xf32>, tensor<1x1x16x8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @raises_rope(%x: tensor<2x4x16x8xf32>, %c: tensor<16x8xf32>, %s: tensor<1x1x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %cos = nn.broadcast %c : tensor<16x8xf32> -> tensor<2x4x16x8xf32>
  %straight = nn.mul %x, %cos : tensor<2x4x16x8xf32>
  %first = nn.slice %x [0, 0, 0, 0] [1, 1, 1, 1] : tensor<2x4x16x8xf32> -> tensor<2x4x16x4xf32>
  %second = nn.slice %x [0, 0, 0, 4] [1, 1, 1, 1] : tensor<2x4x16x8xf32> -> tensor<2x4x16x4xf32>
  %negative = nn.neg %second : tensor<2x4x16x4xf32>
  %rotated = nn.concat 3, %negative, %first : tensor<2x4x16x4xf32>, tensor<2x4x16x4xf32>
  %sin = nn.broadcast %s : tensor<1x1x16x8xf32> -> tensor<2x4x16x8xf32>
  %turned = nn.mul %rotated, %sin : tensor<2x4x16x8xf32>
  %y = nn.add %straight, %turned : tensor<2x4x16x8xf32>
  return %y : tensor<2x4x16x8xf32>
}

// -----

// All operands the other way round; tables of x's own shape.
// CHECK-LABEL: func.func @raises_commuted
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>, %[[C:.*]]: tensor<4x8xbf16>, %[[S:.*]]: tensor<4x8xbf16>)
// CHECK-NEXT: nn.rope %[[X]], %[[C]], %[[S]]
func.func @raises_commuted(%x: tensor<4x8xbf16>, %cos: tensor<4x8xbf16>, %sin: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %straight = nn.mul %cos, %x : tensor<4x8xbf16>
  %first = nn.slice %x [0, 0] [1, 1] : tensor<4x8xbf16> -> tensor<4x4xbf16>
  %second = nn.slice %x [0, 4] [1, 1] : tensor<4x8xbf16> -> tensor<4x4xbf16>
  %negative = nn.neg %second : tensor<4x4xbf16>
  %rotated = nn.concat 1, %negative, %first : tensor<4x4xbf16>, tensor<4x4xbf16>
  %turned = nn.mul %sin, %rotated : tensor<4x8xbf16>
  %y = nn.add %turned, %straight : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// The wrong half is negated; halves in the wrong order; every other element.
// CHECK-LABEL: func.func @keeps_other_rotations
// CHECK-NOT: nn.rope
func.func @keeps_other_rotations(%x: tensor<4x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %straight = nn.mul %x, %cos : tensor<4x8xf32>
  %first = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %second = nn.slice %x [0, 4] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %minus_first = nn.neg %first : tensor<4x4xf32>
  %minus_second = nn.neg %second : tensor<4x4xf32>
  %r0 = nn.concat 1, %second, %minus_first : tensor<4x4xf32>, tensor<4x4xf32>
  %t0 = nn.mul %r0, %sin : tensor<4x8xf32>
  %y0 = nn.add %straight, %t0 : tensor<4x8xf32>
  %r1 = nn.concat 1, %first, %minus_second : tensor<4x4xf32>, tensor<4x4xf32>
  %t1 = nn.mul %r1, %sin : tensor<4x8xf32>
  %y1 = nn.add %straight, %t1 : tensor<4x8xf32>
  %even = nn.slice %x [0, 0] [1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  %odd = nn.slice %x [0, 1] [1, 2] : tensor<4x8xf32> -> tensor<4x4xf32>
  %minus_odd = nn.neg %odd : tensor<4x4xf32>
  %r2 = nn.concat 1, %minus_odd, %even : tensor<4x4xf32>, tensor<4x4xf32>
  %t2 = nn.mul %r2, %sin : tensor<4x8xf32>
  %y2 = nn.add %straight, %t2 : tensor<4x8xf32>
  return %y0, %y1, %y2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// x and the rotation of another value; uneven halves; halves of two values.
// CHECK-LABEL: func.func @keeps_mixed_values
// CHECK-NOT: nn.rope
func.func @keeps_mixed_values(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>, %cos: tensor<4x8xf32>, %sin: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %straight = nn.mul %x, %cos : tensor<4x8xf32>
  %first = nn.slice %z [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %second = nn.slice %z [0, 4] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %negative = nn.neg %second : tensor<4x4xf32>
  %rotated = nn.concat 1, %negative, %first : tensor<4x4xf32>, tensor<4x4xf32>
  %turned = nn.mul %rotated, %sin : tensor<4x8xf32>
  %y0 = nn.add %straight, %turned : tensor<4x8xf32>
  %short = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  %long = nn.slice %x [0, 2] [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  %minus_long = nn.neg %long : tensor<4x6xf32>
  %uneven = nn.concat 1, %minus_long, %short : tensor<4x6xf32>, tensor<4x2xf32>
  %t1 = nn.mul %uneven, %sin : tensor<4x8xf32>
  %y1 = nn.add %straight, %t1 : tensor<4x8xf32>
  %own = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %mixed = nn.concat 1, %negative, %own : tensor<4x4xf32>, tensor<4x4xf32>
  %t2 = nn.mul %mixed, %sin : tensor<4x8xf32>
  %y2 = nn.add %straight, %t2 : tensor<4x8xf32>
  return %y0, %y1, %y2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A frozen table may come from a parameter, a trained one must keep its
// derivative.
nn.parameter @frequencies : tensor<4x8xf32>
nn.parameter @gains trainable : tensor<4x8xf32>

// CHECK-LABEL: func.func @raises_with_frozen_table
// CHECK: nn.rope
func.func @raises_with_frozen_table(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %table = nn.read @frequencies : tensor<4x8xf32>
  %cos = nn.cos %table : tensor<4x8xf32>
  %sin = nn.sin %table : tensor<4x8xf32>
  %straight = nn.mul %x, %cos : tensor<4x8xf32>
  %first = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %second = nn.slice %x [0, 4] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %negative = nn.neg %second : tensor<4x4xf32>
  %rotated = nn.concat 1, %negative, %first : tensor<4x4xf32>, tensor<4x4xf32>
  %turned = nn.mul %rotated, %sin : tensor<4x8xf32>
  %y = nn.add %straight, %turned : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @keeps_with_trained_table
// CHECK-NOT: nn.rope
func.func @keeps_with_trained_table(%x: tensor<4x8xf32>, %cos: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %table = nn.read @gains : tensor<4x8xf32>
  %sin = nn.sin %table : tensor<4x8xf32>
  %straight = nn.mul %x, %cos : tensor<4x8xf32>
  %first = nn.slice %x [0, 0] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %second = nn.slice %x [0, 4] [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %negative = nn.neg %second : tensor<4x4xf32>
  %rotated = nn.concat 1, %negative, %first : tensor<4x4xf32>, tensor<4x4xf32>
  %turned = nn.mul %rotated, %sin : tensor<4x8xf32>
  %y = nn.add %straight, %turned : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
