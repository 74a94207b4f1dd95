// RUN: rondo-opt %s -split-input-file --rondo-pipe-outline-layers --rondo-pipe-differentiate-bodies --rondo-pipe-verify-phase=phase=grad | FileCheck %s

// A residual layer. `products` saves the products that the reverse part reads; elementwise values are rebuilt from them. `all` saves what is
// read. The last product is read by nothing in the reverse part, so no rebuild computes it. The layer after the look-up
// and the one after that share a body; nothing flows back into the look-up, whose indices have no derivative.

// CHECK-LABEL: pipe.body @body_0 {
// CHECK: func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
// CHECK-NEXT: return
// CHECK-NOT: func.func @backward_products(
// CHECK: func.func @backward_products_nodx(%[[DY:.*]]: tensor<4x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>}, %[[IDS:.*]]: tensor<4xi64> {{.*}}#pipe.role<side>})
// CHECK-SAME: -> (tensor<16x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>})
// CHECK-NEXT: %[[DE:.*]] = nn.scatter_add %[[DY]], %[[IDS]] axis 0
// CHECK-NEXT: return %[[DE]]
// CHECK-NOT: func.func @backward_all(

// CHECK-LABEL: pipe.body @body_1 {
// CHECK: func.func @forward_products(
// CHECK-SAME: -> (tensor<4x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<output>}, tensor<4x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<saved>})
// CHECK: %[[P:.*]] = nn.matmul
// CHECK-NEXT: %[[T:.*]] = nn.tanh %[[P]]
// CHECK-NEXT: %[[Q:.*]] = nn.matmul %[[T]]
// CHECK-NEXT: %[[Y:.*]] = nn.add
// CHECK-NEXT: return %[[Y]], %[[P]]
// CHECK: func.func @rebuild_products(%[[X:[a-z0-9]+]]: tensor<4x8xf32> {{.*}}boundary>}, %[[W:[a-z0-9]+]]: tensor<8x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<parameter>})
// CHECK-NEXT: %[[P:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT: return %[[P]]
// CHECK: func.func @backward_products(%[[X:[a-z0-9]+]]: {{.*}}boundary>}, %[[P:[a-z0-9]+]]: {{.*}}saved>}, %[[DY:[a-z0-9]+]]: {{.*}}cotangent>}, %[[W:[a-z0-9]+]]: {{.*}}parameter>}, %[[V:[a-z0-9]+]]: {{.*}}parameter>})
// CHECK-SAME: -> (tensor<4x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>}, tensor<8x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>}, tensor<8x8xf32> {pipe.index = 1 : i64, pipe.role = #pipe.role<gradient>})
// CHECK: nn.matmul %[[DY]], %[[V]] transpose_rhs
// What is rebuilt stands in front of its first use.
// CHECK-NEXT: %[[T:.*]] = nn.tanh %[[P]]
// CHECK-NEXT: %[[DV:.*]] = nn.matmul %[[T]], %[[DY]] transpose_lhs
// CHECK: %[[BACK:.*]] = nn.matmul %{{.*}}, %[[W]] transpose_rhs
// CHECK: %[[DW:.*]] = nn.matmul %[[X]], %{{.*}} transpose_lhs
// The later use of x (the sum) comes first.
// CHECK: %[[DX:.*]] = nn.add %[[DY]], %[[BACK]]
// CHECK: return %[[DX]], %[[DW]], %[[DV]]
// CHECK: func.func @rebuild_all(
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: %[[T:.*]] = nn.tanh
// CHECK-NEXT: return %[[T]]
// CHECK: func.func @backward_all(
// CHECK-NOT: nn.tanh

// CHECK-LABEL: pipe.body @body_3 {
// CHECK-NOT: func.func @rebuild
// CHECK: func.func @forward_backward(%[[X:[a-z0-9]+]]: {{.*}}boundary>}, %{{.*}}side>}, %[[W:[a-z0-9]+]]: {{.*}}parameter>}, %[[SEED:[a-z0-9]+]]: tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<seed>})
// CHECK-SAME: -> (tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<loss>}, tensor<4x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>}, tensor<16x8xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>})

// CHECK-LABEL: pipe.chain @loss
// The tied table has a gradient in the first and in the last layer.
// CHECK: pipe.layer "embed" @body_0() {{.*}} [@embed.weight]
// CHECK: pipe.layer "layers.0" @body_1(
// CHECK: pipe.layer "layers.1" @body_1(
// CHECK: pipe.layer "embed" @body_3({{.*}} [@embed.weight]

nn.parameter @embed.weight trainable : tensor<16x8xf32>
nn.parameter @layers.0.w trainable : tensor<8x8xf32>
nn.parameter @layers.0.v trainable : tensor<8x8xf32>
nn.parameter @layers.1.w trainable : tensor<8x8xf32>
nn.parameter @layers.1.v trainable : tensor<8x8xf32>
func.func @loss(%ids: tensor<4xi64>, %labels: tensor<4xi64>) -> tensor<f32> attributes {nn.loss} {
  %e = nn.read @embed.weight : tensor<16x8xf32>
  %w0 = nn.read @layers.0.w : tensor<8x8xf32>
  %v0 = nn.read @layers.0.v : tensor<8x8xf32>
  %w1 = nn.read @layers.1.w : tensor<8x8xf32>
  %v1 = nn.read @layers.1.v : tensor<8x8xf32>
  %x0 = nn.gather %e, %ids axis 0 : tensor<16x8xf32>, tensor<4xi64>
  %p0 = nn.matmul %x0, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t0 = nn.tanh %p0 : tensor<4x8xf32>
  %q0 = nn.matmul %t0, %v0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x1 = nn.add %x0, %q0 : tensor<4x8xf32>
  %p1 = nn.matmul %x1, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %t1 = nn.tanh %p1 : tensor<4x8xf32>
  %q1 = nn.matmul %t1, %v1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x2 = nn.add %x1, %q1 : tensor<4x8xf32>
  %z = nn.matmul %x2, %e transpose_rhs : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %l = nn.cross_entropy %z, %labels : tensor<4x16xf32>, tensor<4xi64>
  return %l : tensor<f32>
}

// -----

// bf16: gradients are f32, what the product gave before its last rounding; cotangents of the boundary are bf16. Of a widened value the narrow one
// is saved. Frozen parameters have no gradient, and layers that train different ones are no longer of one body. (Layer 0 has none to give
// a cotangent to, layer 1 shares no body with it anyhow: it reads a boundary.)

// CHECK-LABEL: pipe.body @body_1 {
// CHECK: func.func @forward_all(
// CHECK-SAME: -> (tensor<2x4xbf16> {{.*}}output>}, tensor<2x4xbf16> {pipe.index = 0 : i64, pipe.role = #pipe.role<saved>})
// CHECK: func.func @backward_all(
// CHECK-SAME: -> (tensor<2x4xbf16> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>}, tensor<4x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>})
// CHECK: %[[PRODUCT:.*]] = nn.matmul %{{.*}} transpose_lhs : tensor<2x4xbf16>, tensor<2x4xbf16> -> tensor<4x4xf32>
// CHECK: return %{{.*}}, %[[PRODUCT]]

// CHECK-LABEL: pipe.body @body_1_0 {
// CHECK-NOT: #pipe.role<gradient>
// CHECK: func.func @backward_all(
// CHECK-SAME: -> (tensor<2x4xbf16> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>})

// CHECK-LABEL: pipe.chain @loss
// CHECK: pipe.layer "m.0" @body_0(
// CHECK: pipe.layer "m.1" @body_1(
// CHECK: pipe.layer "m.2" @body_1_0(
// CHECK: pipe.layer "m.3" @body_1(
// CHECK: pipe.layer "m.4" @body_4(

nn.parameter @m.0.w trainable : tensor<4x4xbf16>
nn.parameter @m.1.w trainable : tensor<4x4xbf16>
nn.parameter @m.2.w : tensor<4x4xbf16>
nn.parameter @m.3.w trainable : tensor<4x4xbf16>
nn.parameter @m.4.w trainable : tensor<4x2xbf16>
func.func @loss(%x: tensor<2x4xbf16>) -> tensor<f32> attributes {nn.loss} {
  %w0 = nn.read @m.0.w : tensor<4x4xbf16>
  %w1 = nn.read @m.1.w : tensor<4x4xbf16>
  %w2 = nn.read @m.2.w : tensor<4x4xbf16>
  %w3 = nn.read @m.3.w : tensor<4x4xbf16>
  %w4 = nn.read @m.4.w : tensor<4x2xbf16>
  %p0 = nn.matmul %x, %w0 : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %t0 = nn.tanh %p0 : tensor<2x4xbf16>
  %p1 = nn.matmul %t0, %w1 : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %t1 = nn.tanh %p1 : tensor<2x4xbf16>
  %p2 = nn.matmul %t1, %w2 : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %t2 = nn.tanh %p2 : tensor<2x4xbf16>
  %p3 = nn.matmul %t2, %w3 : tensor<2x4xbf16>, tensor<4x4xbf16> -> tensor<2x4xbf16>
  %t3 = nn.tanh %p3 : tensor<2x4xbf16>
  %y = nn.matmul %t3, %w4 : tensor<2x4xbf16>, tensor<4x2xbf16> -> tensor<2x2xbf16>
  %f = nn.cast %y : tensor<2x2xbf16> to tensor<2x2xf32>
  %q = nn.mul %f, %f : tensor<2x2xf32>
  %l = nn.reduce mean %q [0, 1] : tensor<2x2xf32>
  return %l : tensor<f32>
}

// -----

// A body shared by a layer with something to train before it and one without has both variants: the first two layers are frozen, so the
// third needs no dx and the fourth does. Where nothing trains, at a layer or before it, there is `forward` alone, in a body of its own.

// CHECK-LABEL: pipe.body @body_0 {
// CHECK-NOT: func.func @{{(rebuild|backward|forward_)}}
// CHECK-LABEL: pipe.body @body_1 {
// CHECK-NOT: func.func @{{(rebuild|backward|forward_)}}
// CHECK-LABEL: pipe.body @body_1_0 {
// CHECK: func.func @backward_products(
// CHECK-SAME: #pipe.role<cotangent>}, tensor<4x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>})
// CHECK: func.func @backward_products_nodx(
// CHECK-SAME: -> (tensor<4x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>}) attributes {pipe.entry = #pipe.entry<backward>, pipe.nodx,
// CHECK: func.func @backward_all(
// CHECK: func.func @backward_all_nodx(
// CHECK-LABEL: pipe.chain @loss
// CHECK: pipe.layer "m.0" @body_0(
// CHECK: pipe.layer "m.1" @body_1(
// CHECK: pipe.layer "m.2" @body_1_0(
// CHECK: pipe.layer "m.3" @body_1_0(
// CHECK: pipe.layer "m.4" @body_4(

nn.parameter @m.0.w : tensor<4x4xf32>
nn.parameter @m.1.w : tensor<4x4xf32>
nn.parameter @m.2.w trainable : tensor<4x4xf32>
nn.parameter @m.3.w trainable : tensor<4x4xf32>
nn.parameter @m.4.w trainable : tensor<4x2xf32>
func.func @loss(%x: tensor<2x4xf32>) -> tensor<f32> attributes {nn.loss} {
  %w0 = nn.read @m.0.w : tensor<4x4xf32>
  %w1 = nn.read @m.1.w : tensor<4x4xf32>
  %w2 = nn.read @m.2.w : tensor<4x4xf32>
  %w3 = nn.read @m.3.w : tensor<4x4xf32>
  %w4 = nn.read @m.4.w : tensor<4x2xf32>
  %p0 = nn.matmul %x, %w0 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %t0 = nn.tanh %p0 : tensor<2x4xf32>
  %p1 = nn.matmul %t0, %w1 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %t1 = nn.tanh %p1 : tensor<2x4xf32>
  %p2 = nn.matmul %t1, %w2 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %t2 = nn.tanh %p2 : tensor<2x4xf32>
  %p3 = nn.matmul %t2, %w3 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %t3 = nn.tanh %p3 : tensor<2x4xf32>
  %y = nn.matmul %t3, %w4 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %l = nn.reduce mean %y [0, 1] : tensor<2x2xf32>
  return %l : tensor<f32>
}

// -----

// A layer that uses a parameter twice: the later use's gradient comes first in the sum. Nothing trains before the loss layer, so it gives no
// cotangent; the frozen look-up has no backward.

// CHECK-LABEL: pipe.body @body_0 {
// CHECK-NOT: func.func @{{(rebuild|backward|forward_)}}
// CHECK-LABEL: pipe.body @body_1 {
// CHECK: func.func @forward_backward(
// CHECK-SAME: -> (tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<loss>}, tensor<4x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<gradient>})
// CHECK: %[[T:.*]] = nn.tanh
// CHECK: %[[LATER:.*]] = nn.matmul %[[T]], %{{.*}} transpose_lhs
// CHECK: %[[FIRST:.*]] = nn.matmul %{{.*}} transpose_lhs
// CHECK: %[[SUM:.*]] = nn.add %[[LATER]], %[[FIRST]]
// CHECK: return %{{.*}}, %[[SUM]]

nn.parameter @e : tensor<8x4xf32>
nn.parameter @w trainable : tensor<4x4xf32>
func.func @loss(%ids: tensor<2xi64>) -> tensor<f32> attributes {nn.loss} {
  %e = nn.read @e : tensor<8x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %x = nn.gather %e, %ids axis 0 : tensor<8x4xf32>, tensor<2xi64>
  %p = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %t = nn.tanh %p : tensor<2x4xf32>
  %q = nn.matmul %t, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %y = nn.add %x, %q : tensor<2x4xf32>
  %l = nn.reduce mean %y [0, 1] : tensor<2x4xf32>
  return %l : tensor<f32>
}

// -----

// A value that reaches later layers only through a comparison needs no cotangent, but the layer before has one as an
// argument: it gets zeros.

// CHECK-LABEL: pipe.body @body_1 {
// CHECK: func.func @forward_backward(
// CHECK: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<2x4xf32>
// CHECK: return %{{.*}}, %[[ZERO]], %{{.*}}

nn.parameter @v trainable : tensor<4x4xf32>
nn.parameter @w trainable : tensor<4x4xf32>
func.func @loss(%x: tensor<2x4xf32>) -> tensor<f32> attributes {nn.loss} {
  %v = nn.read @v : tensor<4x4xf32>
  %w = nn.read @w : tensor<4x4xf32>
  %p = nn.matmul %x, %v : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %zero = nn.constant dense<0.0> : tensor<2x4xf32>
  %positive = nn.compare gt %p, %zero : tensor<2x4xf32>
  %one = nn.cast %positive : tensor<2x4xi1> to tensor<2x4xf32>
  %q = nn.matmul %one, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %negative = nn.compare lt %p, %zero : tensor<2x4xf32>
  %other = nn.cast %negative : tensor<2x4xi1> to tensor<2x4xf32>
  %y = nn.mul %q, %other : tensor<2x4xf32>
  %l = nn.reduce mean %y [0, 1] : tensor<2x4xf32>
  return %l : tensor<f32>
}
