// Attention in exporters' forms, with grouped heads. Masks stay operands here (raise-masks.mlir).
// RUN: rondo-opt %s --rondo-nn-raise-attention --rondo-nn-raise-grouped-heads --split-input-file | FileCheck %s

// As PyTorch's exporter decomposes it at opset 20: query and key each scaled
// by the root of the scale, the key transposed between reshapes, an additive
// mask, a guard against NaN, heads repeated for groups of two.
// CHECK-LABEL: func.func @raises_decomposed
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x16x8xf32>, %[[K:.*]]: tensor<2x2x16x8xf32>, %[[V:.*]]: tensor<2x2x16x8xf32>, %[[M:.*]]: tensor<16x16xf32>)
// CHECK-NEXT: %[[Y:.*]], %{{.*}} = nn.attention %[[Q]], %[[K]], %[[V]] mask %[[M]] scale 2.500000e-01
// CHECK-SAME: : tensor<2x4x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<16x16xf32> -> tensor<2x4x16x8xf32>, tensor<2x4x16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @raises_decomposed(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x16x8xf32>, %v: tensor<2x2x16x8xf32>,
                             %m: tensor<16x16xf32>) -> tensor<2x4x16x8xf32> {
  %k0 = nn.reshape %k : tensor<2x2x16x8xf32> -> tensor<2x2x1x16x8xf32>
  %k1 = nn.broadcast %k0 : tensor<2x2x1x16x8xf32> -> tensor<2x2x2x16x8xf32>
  %k2 = nn.reshape %k1 : tensor<2x2x2x16x8xf32> -> tensor<8x16x8xf32>
  %k3 = nn.transpose %k2 [0, 2, 1] : tensor<8x16x8xf32> -> tensor<8x8x16xf32>
  %k4 = nn.reshape %k3 : tensor<8x8x16xf32> -> tensor<2x4x8x16xf32>
  %v0 = nn.reshape %v : tensor<2x2x16x8xf32> -> tensor<2x2x1x16x8xf32>
  %v1 = nn.broadcast %v0 : tensor<2x2x1x16x8xf32> -> tensor<2x2x2x16x8xf32>
  %v2 = nn.reshape %v1 : tensor<2x2x2x16x8xf32> -> tensor<2x4x16x8xf32>
  %root = nn.constant dense<0.5> : tensor<f32>
  %root_q = nn.broadcast %root : tensor<f32> -> tensor<2x4x16x8xf32>
  %root_k = nn.broadcast %root : tensor<f32> -> tensor<2x4x8x16xf32>
  %qs = nn.mul %q, %root_q : tensor<2x4x16x8xf32>
  %ks = nn.mul %k4, %root_k : tensor<2x4x8x16xf32>
  %s = nn.matmul %qs, %ks : tensor<2x4x16x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x16x16xf32>
  %mask = nn.broadcast %m : tensor<16x16xf32> -> tensor<2x4x16x16xf32>
  %masked = nn.add %s, %mask : tensor<2x4x16x16xf32>
  %p = nn.softmax %masked : tensor<2x4x16x16xf32>
  %nan = nn.is_nan %p : tensor<2x4x16x16xf32>
  %zero = nn.constant dense<0.0> : tensor<2x4x16x16xf32>
  %guarded = nn.select %nan, %zero, %p : tensor<2x4x16x16xi1>, tensor<2x4x16x16xf32>
  %y = nn.matmul %guarded, %v2 : tensor<2x4x16x16xf32>, tensor<2x4x16x8xf32> -> tensor<2x4x16x8xf32>
  return %y : tensor<2x4x16x8xf32>
}

// -----

// Scores divided, softmax in f32 between casts, the key through one transpose
// of [b, t, h, d], no mask.
// CHECK-LABEL: func.func @raises_eager_bf16
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x16x8xbf16>, %[[K:.*]]: tensor<2x16x4x8xbf16>, %[[V:.*]]: tensor<2x4x16x8xbf16>)
// CHECK-NEXT: %[[KT:.*]] = nn.transpose %[[K]] [0, 2, 1, 3] : tensor<2x16x4x8xbf16> -> tensor<2x4x16x8xbf16>
// CHECK-NEXT: nn.attention %[[Q]], %[[KT]], %[[V]] scale 5.000000e-01 : {{.*}} -> tensor<2x4x16x8xbf16>, tensor<2x4x16xf32>
func.func @raises_eager_bf16(%q: tensor<2x4x16x8xbf16>, %k: tensor<2x16x4x8xbf16>, %v: tensor<2x4x16x8xbf16>) -> tensor<2x4x16x8xbf16> {
  %kt = nn.transpose %k [0, 2, 3, 1] : tensor<2x16x4x8xbf16> -> tensor<2x4x8x16xbf16>
  %s = nn.matmul %q, %kt : tensor<2x4x16x8xbf16>, tensor<2x4x8x16xbf16> -> tensor<2x4x16x16xbf16>
  %two = nn.constant dense<2.0> : tensor<2x4x16x16xbf16>
  %scaled = nn.div %s, %two : tensor<2x4x16x16xbf16>
  %wide = nn.cast %scaled : tensor<2x4x16x16xbf16> to tensor<2x4x16x16xf32>
  %p = nn.softmax %wide : tensor<2x4x16x16xf32>
  %narrow = nn.cast %p : tensor<2x4x16x16xf32> to tensor<2x4x16x16xbf16>
  %y = nn.matmul %narrow, %v : tensor<2x4x16x16xbf16>, tensor<2x4x16x8xbf16> -> tensor<2x4x16x8xbf16>
  return %y : tensor<2x4x16x8xbf16>
}

// -----

// Masks that select, seen and hidden; products of rank 3; the value transposed
// by the product; a head size of its own for the value.
// CHECK-LABEL: func.func @raises_selected_rank_3
// CHECK-SAME: (%[[Q:.*]]: tensor<3x5x8xf32>, %[[K:.*]]: tensor<3x6x8xf32>, %[[V:.*]]: tensor<3x4x6xf32>, %[[M:.*]]: tensor<3x5x6xi1>)
// CHECK-DAG: %[[V3:.*]] = nn.transpose %[[V]] [0, 2, 1] : tensor<3x4x6xf32> -> tensor<3x6x4xf32>
// CHECK-DAG: %[[Q4:.*]] = nn.reshape %[[Q]] : tensor<3x5x8xf32> -> tensor<3x1x5x8xf32>
// CHECK-DAG: %[[K4:.*]] = nn.reshape %[[K]] : tensor<3x6x8xf32> -> tensor<3x1x6x8xf32>
// CHECK-DAG: %[[M4:.*]] = nn.reshape %[[M]] : tensor<3x5x6xi1> -> tensor<3x1x5x6xi1>
// CHECK-DAG: %[[V4:.*]] = nn.reshape %[[V3]] : tensor<3x6x4xf32> -> tensor<3x1x6x4xf32>
// CHECK: %[[Y:.*]], %{{.*}} = nn.attention %[[Q4]], %[[K4]], %[[V4]] mask %[[M4]] unguarded scale 1.0
// CHECK: nn.reshape %[[Y]] : tensor<3x1x5x4xf32> -> tensor<3x5x4xf32>
// CHECK: %[[HIDDEN:.*]] = nn.not
// CHECK: nn.attention {{.*}} mask %[[HIDDEN]] unguarded scale
func.func @raises_selected_rank_3(%q: tensor<3x5x8xf32>, %k: tensor<3x6x8xf32>, %v: tensor<3x4x6xf32>, %m: tensor<3x5x6xi1>)
    -> (tensor<3x5x4xf32>, tensor<3x5x4xf32>) {
  %s = nn.matmul %q, %k transpose_rhs : tensor<3x5x8xf32>, tensor<3x6x8xf32> -> tensor<3x5x6xf32>
  %low = nn.constant dense<0xFF800000> : tensor<3x5x6xf32>
  %s0 = nn.select %m, %s, %low : tensor<3x5x6xi1>, tensor<3x5x6xf32>
  %p0 = nn.softmax %s0 : tensor<3x5x6xf32>
  %y0 = nn.matmul %p0, %v transpose_rhs : tensor<3x5x6xf32>, tensor<3x4x6xf32> -> tensor<3x5x4xf32>
  %s1 = nn.select %m, %low, %s : tensor<3x5x6xi1>, tensor<3x5x6xf32>
  %p1 = nn.softmax %s1 : tensor<3x5x6xf32>
  %y1 = nn.matmul %p1, %v transpose_rhs : tensor<3x5x6xf32>, tensor<3x4x6xf32> -> tensor<3x5x4xf32>
  return %y0, %y1 : tensor<3x5x4xf32>, tensor<3x5x4xf32>
}

// -----

// Where a finite value hides, a row that is hidden as a whole has equal
// scores and no cotangent of them.
// CHECK-LABEL: func.func @raises_finite_select
// CHECK-SAME: (%[[Q:.*]]: tensor<1x1x5x8xf32>, %[[M:.*]]: tensor<5x5xi1>)
// CHECK: nn.attention %[[Q]], %[[Q]], %[[Q]] mask %[[M]] fill -9.9999996{{[0-9]*}}E+37 unguarded scale
func.func @raises_finite_select(%q: tensor<1x1x5x8xf32>, %m: tensor<5x5xi1>) -> tensor<1x1x5x8xf32> {
  %s = nn.matmul %q, %q transpose_rhs : tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x5xf32>
  %low = nn.constant dense<-1.0e+38> : tensor<1x1x5x5xf32>
  %seen = nn.broadcast %m : tensor<5x5xi1> -> tensor<1x1x5x5xi1>
  %masked = nn.select %seen, %s, %low : tensor<1x1x5x5xi1>, tensor<1x1x5x5xf32>
  %p = nn.softmax %masked : tensor<1x1x5x5xf32>
  %y = nn.matmul %p, %q : tensor<1x1x5x5xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x8xf32>
  return %y : tensor<1x1x5x8xf32>
}

// -----

// The same, written as hidden keys, in f16, between casts and under a guard.
// CHECK-LABEL: func.func @raises_finite_select_f16
// CHECK-SAME: (%[[Q:.*]]: tensor<1x1x5x8xf16>, %[[M:.*]]: tensor<5x5xi1>)
// CHECK: nn.attention %[[Q]], %[[Q]], %[[Q]] mask %[[M]] fill -6.550400e+04 scale
func.func @raises_finite_select_f16(%q: tensor<1x1x5x8xf16>, %m: tensor<5x5xi1>) -> tensor<1x1x5x8xf16> {
  %s = nn.matmul %q, %q transpose_rhs : tensor<1x1x5x8xf16>, tensor<1x1x5x8xf16> -> tensor<1x1x5x5xf16>
  %low = nn.constant dense<-65504.0> : tensor<1x1x5x5xf16>
  %not = nn.not %m : tensor<5x5xi1>
  %hidden = nn.broadcast %not : tensor<5x5xi1> -> tensor<1x1x5x5xi1>
  %masked = nn.select %hidden, %low, %s : tensor<1x1x5x5xi1>, tensor<1x1x5x5xf16>
  %wide = nn.cast %masked : tensor<1x1x5x5xf16> to tensor<1x1x5x5xf32>
  %p = nn.softmax %wide : tensor<1x1x5x5xf32>
  %nan = nn.is_nan %p : tensor<1x1x5x5xf32>
  %zero = nn.constant dense<0.0> : tensor<1x1x5x5xf32>
  %guarded = nn.select %nan, %zero, %p : tensor<1x1x5x5xi1>, tensor<1x1x5x5xf32>
  %narrow = nn.cast %guarded : tensor<1x1x5x5xf32> to tensor<1x1x5x5xf16>
  %y = nn.matmul %narrow, %q : tensor<1x1x5x5xf16>, tensor<1x1x5x8xf16> -> tensor<1x1x5x8xf16>
  return %y : tensor<1x1x5x8xf16>
}

// -----

// Finite values that a cast makes infinite: a row of them would see nothing.
// A mask in f64, whose values f32 may not hold.
// CHECK-LABEL: func.func @keeps_overflowing_masks
// CHECK-NOT: nn.attention
func.func @keeps_overflowing_masks(%q: tensor<1x1x5x8xf32>, %m: tensor<1x1x5x5xi1>, %a: tensor<1x1x5x5xf32>, %d: tensor<1x1x5x5xf64>)
    -> (tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>) {
  %s = nn.matmul %q, %q transpose_rhs : tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x5xf32>
  %low = nn.constant dense<-1.0e+38> : tensor<1x1x5x5xf32>
  %s0 = nn.select %m, %s, %low : tensor<1x1x5x5xi1>, tensor<1x1x5x5xf32>
  %h0 = nn.cast %s0 : tensor<1x1x5x5xf32> to tensor<1x1x5x5xf16>
  %p0 = nn.softmax %h0 : tensor<1x1x5x5xf16>
  %w0 = nn.cast %p0 : tensor<1x1x5x5xf16> to tensor<1x1x5x5xf32>
  %y0 = nn.matmul %w0, %q : tensor<1x1x5x5xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x8xf32>
  %s1 = nn.add %s, %a : tensor<1x1x5x5xf32>
  %h1 = nn.cast %s1 : tensor<1x1x5x5xf32> to tensor<1x1x5x5xbf16>
  %p1 = nn.softmax %h1 : tensor<1x1x5x5xbf16>
  %w1 = nn.cast %p1 : tensor<1x1x5x5xbf16> to tensor<1x1x5x5xf32>
  %y1 = nn.matmul %w1, %q : tensor<1x1x5x5xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x8xf32>
  %sd = nn.cast %s : tensor<1x1x5x5xf32> to tensor<1x1x5x5xf64>
  %s2 = nn.add %sd, %d : tensor<1x1x5x5xf64>
  %p2 = nn.softmax %s2 : tensor<1x1x5x5xf64>
  %w2 = nn.cast %p2 : tensor<1x1x5x5xf64> to tensor<1x1x5x5xf32>
  %y2 = nn.matmul %w2, %q : tensor<1x1x5x5xf32>, tensor<1x1x5x8xf32> -> tensor<1x1x5x8xf32>
  return %y0, %y1, %y2 : tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>, tensor<1x1x5x8xf32>
}

// -----

// An attention op of the model whose heads were repeated outside.
// CHECK-LABEL: func.func @raises_groups_of_attention_op
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x6x8xbf16>, %[[K:.*]]: tensor<1x2x6x8xbf16>, %[[V:.*]]: tensor<1x2x6x8xbf16>)
// CHECK-NEXT: nn.attention %[[Q]], %[[K]], %[[V]] causal scale
func.func @raises_groups_of_attention_op(%q: tensor<1x4x6x8xbf16>, %k: tensor<1x2x6x8xbf16>, %v: tensor<1x2x6x8xbf16>) -> tensor<1x4x6x8xbf16> {
  %k0 = nn.reshape %k : tensor<1x2x6x8xbf16> -> tensor<1x2x1x6x8xbf16>
  %k1 = nn.broadcast %k0 : tensor<1x2x1x6x8xbf16> -> tensor<1x2x2x6x8xbf16>
  %k2 = nn.reshape %k1 : tensor<1x2x2x6x8xbf16> -> tensor<1x4x6x8xbf16>
  %v0 = nn.reshape %v : tensor<1x2x6x8xbf16> -> tensor<1x2x1x6x8xbf16>
  %v1 = nn.broadcast %v0 : tensor<1x2x1x6x8xbf16> -> tensor<1x2x2x6x8xbf16>
  %v2 = nn.reshape %v1 : tensor<1x2x2x6x8xbf16> -> tensor<1x4x6x8xbf16>
  %y, %st = nn.attention %q, %k2, %v2 causal scale 0.5 : tensor<1x4x6x8xbf16>, tensor<1x4x6x8xbf16>, tensor<1x4x6x8xbf16> -> tensor<1x4x6x8xbf16>, tensor<1x4x6xf32>
  return %y : tensor<1x4x6x8xbf16>
}

// -----

// Heads tiled (0 1 0 1) are not heads repeated (0 0 1 1); only the key repeated.
// CHECK-LABEL: func.func @keeps_tiled_heads
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x6x8xf32>, %[[K:.*]]: tensor<1x2x6x8xf32>, %[[V:.*]]: tensor<1x4x6x8xf32>)
// CHECK: %[[TILED:.*]] = nn.reshape %{{.*}} : tensor<1x2x2x6x8xf32> -> tensor<1x4x6x8xf32>
// CHECK: nn.attention %[[Q]], %[[TILED]], %[[TILED]]
// CHECK: %[[REPEATED:.*]] = nn.reshape %{{.*}} : tensor<1x2x2x6x8xf32> -> tensor<1x4x6x8xf32>
// CHECK: nn.attention %[[Q]], %[[REPEATED]], %[[V]]
func.func @keeps_tiled_heads(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x4x6x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>) {
  %0 = nn.reshape %k : tensor<1x2x6x8xf32> -> tensor<1x1x2x6x8xf32>
  %1 = nn.broadcast %0 : tensor<1x1x2x6x8xf32> -> tensor<1x2x2x6x8xf32>
  %2 = nn.reshape %1 : tensor<1x2x2x6x8xf32> -> tensor<1x4x6x8xf32>
  %y0, %st0 = nn.attention %q, %2, %2 scale 0.5 : tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32> -> tensor<1x4x6x8xf32>, tensor<1x4x6xf32>
  %3 = nn.reshape %k : tensor<1x2x6x8xf32> -> tensor<1x2x1x6x8xf32>
  %4 = nn.broadcast %3 : tensor<1x2x1x6x8xf32> -> tensor<1x2x2x6x8xf32>
  %5 = nn.reshape %4 : tensor<1x2x2x6x8xf32> -> tensor<1x4x6x8xf32>
  %y1, %st1 = nn.attention %q, %5, %v scale 0.5 : tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32> -> tensor<1x4x6x8xf32>, tensor<1x4x6xf32>
  return %y0, %y1 : tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>
}

// -----

// The mask is scaled with the scores; the scores pass through another
// function; a mask value that a score can outweigh; a factor per key.
// CHECK-LABEL: func.func @keeps_other_scores
// CHECK-NOT: nn.attention
func.func @keeps_other_scores(%q: tensor<3x5x8xf32>, %k: tensor<3x6x8xf32>, %v: tensor<3x6x4xf32>, %m: tensor<3x5x6xf32>, %b: tensor<3x5x6xi1>)
    -> (tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>) {
  %s = nn.matmul %q, %k transpose_rhs : tensor<3x5x8xf32>, tensor<3x6x8xf32> -> tensor<3x5x6xf32>
  %half = nn.constant dense<0.5> : tensor<3x5x6xf32>
  %s0 = nn.add %s, %m : tensor<3x5x6xf32>
  %s0h = nn.mul %s0, %half : tensor<3x5x6xf32>
  %p0 = nn.softmax %s0h : tensor<3x5x6xf32>
  %y0 = nn.matmul %p0, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  %s1 = nn.tanh %s : tensor<3x5x6xf32>
  %p1 = nn.softmax %s1 : tensor<3x5x6xf32>
  %y1 = nn.matmul %p1, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  %low = nn.constant dense<-1.0e+04> : tensor<3x5x6xf32>
  %s2 = nn.select %b, %s, %low : tensor<3x5x6xi1>, tensor<3x5x6xf32>
  %p2 = nn.softmax %s2 : tensor<3x5x6xf32>
  %y2 = nn.matmul %p2, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  %s3 = nn.mul %s, %m : tensor<3x5x6xf32>
  %p3 = nn.softmax %s3 : tensor<3x5x6xf32>
  %y3 = nn.matmul %p3, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  return %y0, %y1, %y2, %y3 : tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>, tensor<3x5x4xf32>
}

// -----

// The guard puts 1 where it should put 0.
// CHECK-LABEL: func.func @keeps_other_guard
// CHECK-NOT: nn.attention
func.func @keeps_other_guard(%q: tensor<3x5x8xf32>, %k: tensor<3x6x8xf32>, %v: tensor<3x6x4xf32>) -> tensor<3x5x4xf32> {
  %s = nn.matmul %q, %k transpose_rhs : tensor<3x5x8xf32>, tensor<3x6x8xf32> -> tensor<3x5x6xf32>
  %p = nn.softmax %s : tensor<3x5x6xf32>
  %nan = nn.is_nan %p : tensor<3x5x6xf32>
  %one = nn.constant dense<1.0> : tensor<3x5x6xf32>
  %guarded = nn.select %nan, %one, %p : tensor<3x5x6xi1>, tensor<3x5x6xf32>
  %y = nn.matmul %guarded, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  return %y : tensor<3x5x4xf32>
}

// -----

// One key matrix for every batch is a product of another kind.
// CHECK-LABEL: func.func @keeps_shared_key
// CHECK-NOT: nn.attention
func.func @keeps_shared_key(%q: tensor<3x5x8xf32>, %k: tensor<6x8xf32>, %v: tensor<3x6x4xf32>) -> tensor<3x5x4xf32> {
  %s = nn.matmul %q, %k transpose_rhs : tensor<3x5x8xf32>, tensor<6x8xf32> -> tensor<3x5x6xf32>
  %p = nn.softmax %s : tensor<3x5x6xf32>
  %y = nn.matmul %p, %v : tensor<3x5x6xf32>, tensor<3x6x4xf32> -> tensor<3x5x4xf32>
  return %y : tensor<3x5x4xf32>
}
