// Attention with a general mask becomes products and a softmax.
// RUN: rondo-opt %s --rondo-nn-decompose-masked-attention --split-input-file | FileCheck %s

// Boolean, heads in groups of two, bf16: scores and softmax in f32.
// CHECK-LABEL: func.func @decomposes_boolean
// CHECK-SAME: (%[[Q:.*]]: tensor<1x4x5x8xbf16>, %[[K:.*]]: tensor<1x2x6x8xbf16>, %[[V:.*]]: tensor<1x2x6x4xbf16>, %[[M:.*]]: tensor<6xi1>)
func.func @decomposes_boolean(%q: tensor<1x4x5x8xbf16>, %k: tensor<1x2x6x8xbf16>, %v: tensor<1x2x6x4xbf16>, %m: tensor<6xi1>) -> tensor<1x4x5x4xbf16> {
  // CHECK: %[[K5:.*]] = nn.reshape %[[K]] : tensor<1x2x6x8xbf16> -> tensor<1x2x1x6x8xbf16>
  // CHECK: %[[KB:.*]] = nn.broadcast %[[K5]] : tensor<1x2x1x6x8xbf16> -> tensor<1x2x2x6x8xbf16>
  // CHECK: %[[KR:.*]] = nn.reshape %[[KB]] : tensor<1x2x2x6x8xbf16> -> tensor<1x4x6x8xbf16>
  // CHECK: %[[VR:.*]] = nn.reshape %{{.*}} : tensor<1x2x2x6x4xbf16> -> tensor<1x4x6x4xbf16>
  // CHECK: %[[S:.*]] = nn.matmul %[[Q]], %[[KR]] transpose_rhs : tensor<1x4x5x8xbf16>, tensor<1x4x6x8xbf16> -> tensor<1x4x5x6xf32>
  // CHECK: %[[SCALE:.*]] = nn.constant dense<5.000000e-01>
  // CHECK: %[[SS:.*]] = nn.mul %[[S]], %[[SCALE]]
  // CHECK: %[[MB:.*]] = nn.broadcast %[[M]] : tensor<6xi1> -> tensor<1x4x5x6xi1>
  // CHECK: %[[LOW:.*]] = nn.constant dense<0xFF800000>
  // CHECK: %[[SM:.*]] = nn.select %[[MB]], %[[SS]], %[[LOW]]
  // CHECK: %[[P:.*]] = nn.softmax %[[SM]]
  // CHECK: %[[NAN:.*]] = nn.is_nan %[[P]]
  // CHECK: %[[G:.*]] = nn.select %[[NAN]], %{{.*}}, %[[P]]
  // CHECK: %[[PB:.*]] = nn.cast %[[G]] : tensor<1x4x5x6xf32> to tensor<1x4x5x6xbf16>
  // CHECK: %[[Y:.*]] = nn.matmul %[[PB]], %[[VR]] : {{.*}} -> tensor<1x4x5x4xbf16>
  // CHECK: return %[[Y]]
  %y, %st = nn.attention %q, %k, %v mask %m scale 0.5 : tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x4xbf16>, tensor<6xi1> -> tensor<1x4x5x4xbf16>, tensor<1x4x5xf32>
  return %y : tensor<1x4x5x4xbf16>
}

// -----

// Additive, beside causal and a window; the statistics are used.
// CHECK-LABEL: func.func @decomposes_additive_in_window
func.func @decomposes_additive_in_window(%q: tensor<1x2x4x8xf32>, %m: tensor<4x4xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>) {
  // CHECK-NOT: nn.attention
  // CHECK: nn.add
  // CHECK: nn.compare le
  // CHECK: nn.compare gt
  // CHECK: nn.softmax
  // CHECK: nn.reduce max
  // CHECK: nn.log
  // CHECK-NOT: nn.attention
  %y, %st = nn.attention %q, %q, %q mask %m causal window 2 scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y, %st : tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
}

// -----

// Hidden scores are selected away, so that they have no cotangent; nothing
// stands between softmax and product where the model had no guard.
// CHECK-LABEL: func.func @decomposes_selection
func.func @decomposes_selection(%q: tensor<1x2x4x8xf32>, %m: tensor<4x4xi1>) -> tensor<1x2x4x8xf32> {
  // CHECK: %[[LOW:.*]] = nn.constant dense<-1.000000e+30> : tensor<1x2x4x4xf32>
  // CHECK-NEXT: %[[SM:.*]] = nn.select %{{.*}}, %{{.*}}, %[[LOW]]
  // CHECK-NEXT: %[[P:.*]] = nn.softmax %[[SM]]
  // CHECK-NEXT: nn.matmul %[[P]]
  %y, %st = nn.attention %q, %q, %q mask %m fill -1.0e30 unguarded scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// What is causal stays hidden under a finite mask.
// CHECK-LABEL: func.func @decomposes_selection_in_causal
func.func @decomposes_selection_in_causal(%q: tensor<1x2x4x8xf32>, %m: tensor<4x4xi1>) -> tensor<1x2x4x8xf32> {
  // CHECK: nn.constant dense<-5.000000e+00>
  // CHECK-NEXT: %[[SM:.*]] = nn.select
  // CHECK: %[[LE:.*]] = nn.compare le
  // CHECK: nn.select %[[LE]], %[[SM]]
  // CHECK: nn.is_nan
  %y, %st = nn.attention %q, %q, %q mask %m fill -5.0 causal scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_without_mask
// CHECK-NEXT: nn.attention
// CHECK-NEXT: return
func.func @keeps_without_mask(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %y, %st = nn.attention %q, %q, %q causal scale 1.0 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}
