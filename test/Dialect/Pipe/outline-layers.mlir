// RUN: rondo-opt %s -split-input-file --rondo-pipe-outline-layers="table-elements=8" --rondo-pipe-verify-phase | FileCheck %s

// A product and what follows it is a unit that repeats: every layer is one unit, and all that take a boundary share a body. (The
// first takes an input of the model instead.) The last product is of another shape: it and the loss are the loss layer.

// CHECK: pipe.body @body_0 {
// CHECK-NEXT: func.func @forward(%[[X:.*]]: tensor<2x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<side>}, %[[W:.*]]: tensor<4x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<parameter>},
// CHECK-SAME:   %[[B:.*]]: tensor<4xf32> {pipe.index = 1 : i64, pipe.role = #pipe.role<parameter>})
// CHECK-SAME:   -> (tensor<2x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<output>}) attributes {pipe.entry = #pipe.entry<forward>} {
// CHECK-NEXT:   %[[P:.*]] = nn.matmul %[[X]], %[[W]] transpose_rhs
// CHECK-NEXT:   %[[R:.*]] = nn.broadcast %[[B]]
// CHECK-NEXT:   %[[S:.*]] = nn.add %[[P]], %[[R]]
// CHECK-NEXT:   %[[T:.*]] = nn.tanh %[[S]]
// CHECK-NEXT:   return %[[T]]
// CHECK: pipe.body @body_1 {
// CHECK-NEXT: func.func @forward(%{{.*}}: tensor<2x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<boundary>},
// CHECK: pipe.body @body_3 {
// CHECK-NEXT: func.func @forward(
// CHECK-SAME: -> (tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<loss>})
// CHECK-NOT: pipe.body
// CHECK: pipe.chain @loss attributes {input_names = ["x", "target"]} {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x4xf32>, %[[TARGET:.*]]: tensor<2x3xf32>):
// CHECK-NEXT:   %[[L0:.*]] = pipe.layer "m.0" @body_0() sides(%[[X]] : tensor<2x4xf32>) [@m.0.weight, @m.0.bias] -> tensor<2x4xf32>
// CHECK-NEXT:   %[[L1:.*]] = pipe.layer "m.2" @body_1(%[[L0]] : tensor<2x4xf32>) sides() [@m.2.weight, @m.2.bias] -> tensor<2x4xf32>
// CHECK-NEXT:   %[[L2:.*]] = pipe.layer "m.4" @body_1(%[[L1]] : tensor<2x4xf32>) sides() [@m.4.weight, @m.4.bias] -> tensor<2x4xf32>
// CHECK-NEXT:   %[[L3:.*]] = pipe.layer "m.6" @body_3(%[[L2]] : tensor<2x4xf32>) sides(%[[TARGET]] : tensor<2x3xf32>) [@m.6.weight] -> tensor<f32>
// CHECK-NEXT:   pipe.yield %[[L3]] : tensor<f32>

nn.parameter @m.0.weight trainable : tensor<4x4xf32>
nn.parameter @m.0.bias trainable : tensor<4xf32>
nn.parameter @m.2.weight trainable : tensor<4x4xf32>
nn.parameter @m.2.bias trainable : tensor<4xf32>
nn.parameter @m.4.weight trainable : tensor<4x4xf32>
nn.parameter @m.4.bias trainable : tensor<4xf32>
nn.parameter @m.6.weight trainable : tensor<3x4xf32>
func.func @loss(%x: tensor<2x4xf32> {nn.name = "x"}, %target: tensor<2x3xf32> {nn.name = "target"}) -> tensor<f32> attributes {nn.loss} {
  %w0 = nn.read @m.0.weight : tensor<4x4xf32>
  %w1 = nn.read @m.2.weight : tensor<4x4xf32>
  %w2 = nn.read @m.4.weight : tensor<4x4xf32>
  %w3 = nn.read @m.6.weight : tensor<3x4xf32>
  %b0 = nn.read @m.0.bias : tensor<4xf32>
  %b1 = nn.read @m.2.bias : tensor<4xf32>
  %b2 = nn.read @m.4.bias : tensor<4xf32>
  %r0 = nn.broadcast %b0 : tensor<4xf32> -> tensor<2x4xf32>
  %r1 = nn.broadcast %b1 : tensor<4xf32> -> tensor<2x4xf32>
  %r2 = nn.broadcast %b2 : tensor<4xf32> -> tensor<2x4xf32>
  %p0 = nn.matmul %x, %w0 transpose_rhs : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s0 = nn.add %p0, %r0 : tensor<2x4xf32>
  %t0 = nn.tanh %s0 : tensor<2x4xf32>
  %p1 = nn.matmul %t0, %w1 transpose_rhs : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s1 = nn.add %p1, %r1 : tensor<2x4xf32>
  %t1 = nn.tanh %s1 : tensor<2x4xf32>
  %p2 = nn.matmul %t1, %w2 transpose_rhs : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %s2 = nn.add %p2, %r2 : tensor<2x4xf32>
  %t2 = nn.tanh %s2 : tensor<2x4xf32>
  %y = nn.matmul %t2, %w3 transpose_rhs : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
  %d = nn.sub %y, %target : tensor<2x3xf32>
  %q = nn.mul %d, %d : tensor<2x3xf32>
  %l = nn.reduce mean %q [0, 1] : tensor<2x3xf32>
  return %l : tensor<f32>
}

// -----

// A residual network: a look-up, two blocks of "attention" and "MLP" (one value is live between them, but what repeats is both together), a head
// whose norm is no layer of its own. The mask and the shifted labels are computed where they are used, the table
// becomes a frozen parameter of both blocks, and the labels are counted. The tied table is a parameter of the first and the last layer.

// CHECK: nn.parameter @table_0 : tensor<4x4xf32> {value = dense<{{.*}}> : tensor<4x4xf32>}
// CHECK-NOT: nn.parameter @table_1
// CHECK: pipe.body @body_0 {
// CHECK-NEXT: func.func @forward(%[[IDS:.*]]: tensor<4xi64> {pipe.index = 0 : i64, pipe.role = #pipe.role<side>}, %[[E:.*]]: tensor<8x4xf32> {{.*}}parameter
// CHECK-NEXT:   nn.gather %[[E]], %[[IDS]] axis 0
// CHECK-NEXT:   return
// CHECK: pipe.body @body_1 {
// CHECK-NEXT: func.func @forward(%[[X:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}boundary>}, %[[IDS:[a-z0-9]+]]: tensor<4xi64> {{.*}}side>}, %[[TABLE:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}parameter>}, %[[WA:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}parameter>}, %[[WM:[a-z0-9]+]]: tensor<4x4xf32> {{.*}}parameter>})
// CHECK-NEXT:   %[[ROT:.*]] = nn.mul %[[X]], %[[TABLE]]
// CHECK-NEXT:   %[[PAD:.*]] = nn.constant dense<7>
// CHECK-NEXT:   %[[SEEN:.*]] = nn.compare ne %[[IDS]], %[[PAD]]
// CHECK-NEXT:   nn.cast %[[SEEN]]
// CHECK:        nn.matmul %{{.*}}, %[[WA]]
// CHECK-NEXT:   nn.add %[[X]],
// CHECK:        nn.matmul %{{.*}}, %[[WM]]
// CHECK-NEXT:   nn.add
// CHECK-NEXT:   return
// CHECK: pipe.body @body_3 {
// CHECK-NEXT: func.func @forward(
// CHECK-NEXT:   nn.rms_norm
// CHECK-NEXT:   nn.matmul
// CHECK-NEXT:   nn.slice
// CHECK-NEXT:   nn.pad
// CHECK-NEXT:   nn.cross_entropy
// CHECK-NEXT:   return
// CHECK: pipe.body @labels {
// CHECK-NEXT: func.func @count(%[[LABELS:.*]]: tensor<4xi64> {pipe.index = 0 : i64, pipe.role = #pipe.role<side>}) -> (tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<count>}) attributes {pipe.entry = #pipe.entry<count>} {
// CHECK-NEXT:   %[[SLICE:.*]] = nn.slice %[[LABELS]]
// CHECK-NEXT:   %[[SHIFTED:.*]] = nn.pad %[[SLICE]]
// CHECK-NEXT:   %[[IGNORED:.*]] = nn.constant dense<-100> : tensor<4xi64>
// CHECK-NEXT:   %[[VALID:.*]] = nn.compare ne %[[SHIFTED]], %[[IGNORED]]
// CHECK-NEXT:   %[[ONES:.*]] = nn.cast %[[VALID]] : tensor<4xi1> to tensor<4xf32>
// CHECK-NEXT:   %[[N:.*]] = nn.reduce sum %[[ONES]] [0]
// CHECK-NEXT:   return %[[N]]
// CHECK: pipe.chain @loss attributes {input_names = ["input_ids", "labels"], label_inputs = array<i64: 1>, labels = @labels} {
// CHECK: pipe.layer "embed" @body_0() sides(%[[IDS:.*]] : tensor<4xi64>) [@embed.weight] -> tensor<4x4xf32>
// CHECK: pipe.layer "model.layers.0" @body_1(%{{.*}} : tensor<4x4xf32>) sides(%[[IDS]] : tensor<4xi64>) [@table_0, @model.layers.0.attn.weight, @model.layers.0.mlp.weight]
// CHECK: pipe.layer "model.layers.1" @body_1(%{{.*}} : tensor<4x4xf32>) sides(%[[IDS]] : tensor<4xi64>) [@table_0, @model.layers.1.attn.weight, @model.layers.1.mlp.weight]
// CHECK: pipe.layer "norm+embed" @body_3(%{{.*}}) sides(%{{.*}} : tensor<4xi64>) [@norm.weight, @embed.weight] -> tensor<f32>

nn.parameter @embed.weight trainable : tensor<8x4xf32>
nn.parameter @model.layers.0.attn.weight trainable : tensor<4x4xf32>
nn.parameter @model.layers.0.mlp.weight trainable : tensor<4x4xf32>
nn.parameter @model.layers.1.attn.weight trainable : tensor<4x4xf32>
nn.parameter @model.layers.1.mlp.weight trainable : tensor<4x4xf32>
nn.parameter @norm.weight trainable : tensor<4xf32>
func.func @loss(%input_ids: tensor<4xi64> {nn.name = "input_ids"}, %labels: tensor<4xi64> {nn.name = "labels"}) -> tensor<f32> attributes {nn.loss} {
  %e = nn.read @embed.weight : tensor<8x4xf32>
  %pad = nn.constant dense<7> : tensor<4xi64>
  %seen = nn.compare ne %input_ids, %pad : tensor<4xi64>
  %maskColumn = nn.cast %seen : tensor<4xi1> to tensor<4xf32>
  %mask = nn.broadcast %maskColumn : tensor<4xf32> -> tensor<4x4xf32>
  %table = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 9.0]]> : tensor<4x4xf32>
  %x0 = nn.gather %e, %input_ids axis 0 : tensor<8x4xf32>, tensor<4xi64>

  %wa0 = nn.read @model.layers.0.attn.weight : tensor<4x4xf32>
  %rot0 = nn.mul %x0, %table : tensor<4x4xf32>
  %masked0 = nn.mul %rot0, %mask : tensor<4x4xf32>
  %a0 = nn.matmul %masked0, %wa0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %x1 = nn.add %x0, %a0 : tensor<4x4xf32>
  %wm0 = nn.read @model.layers.0.mlp.weight : tensor<4x4xf32>
  %g0 = nn.silu %x1 : tensor<4x4xf32>
  %m0 = nn.matmul %g0, %wm0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %x2 = nn.add %x1, %m0 : tensor<4x4xf32>

  // The same table again: parameters are one for each content.
  %again = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 9.0]]> : tensor<4x4xf32>
  %wa1 = nn.read @model.layers.1.attn.weight : tensor<4x4xf32>
  %rot1 = nn.mul %x2, %again : tensor<4x4xf32>
  %masked1 = nn.mul %rot1, %mask : tensor<4x4xf32>
  %a1 = nn.matmul %masked1, %wa1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %x3 = nn.add %x2, %a1 : tensor<4x4xf32>
  %wm1 = nn.read @model.layers.1.mlp.weight : tensor<4x4xf32>
  %g1 = nn.silu %x3 : tensor<4x4xf32>
  %m1 = nn.matmul %g1, %wm1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %x4 = nn.add %x3, %m1 : tensor<4x4xf32>

  %wn = nn.read @norm.weight : tensor<4xf32>
  %n = nn.rms_norm %x4, %wn epsilon 1.0e-6 : tensor<4x4xf32>, tensor<4xf32>
  %logits = nn.matmul %n, %e transpose_rhs : tensor<4x4xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  %slice = nn.slice %labels [1] [1] : tensor<4xi64> -> tensor<3xi64>
  %shifted = nn.pad %slice [0] [1] -100 : i64 : tensor<3xi64> -> tensor<4xi64>
  %l = nn.cross_entropy %logits, %shifted ignore -100 : tensor<4x8xf32>, tensor<4xi64>
  return %l : tensor<f32>
}

// -----

// Blocks that end in a norm: the unit starts at a product, so the norm behind the embedding stays with the embedding. Without dotted
// names a layer is called after its first ONNX node.

// CHECK: pipe.chain @loss
// CHECK-NEXT: ^bb0
// CHECK-NEXT: pipe.layer "/embed/Gather" @body_0() sides({{.*}}) [@e, @n] ->
// CHECK-NEXT: pipe.layer "/0/MatMul" @body_1(
// CHECK-NEXT: pipe.layer "/1/MatMul" @body_1(
// CHECK-NEXT: pipe.layer "/head/MatMul" @body_3(
// CHECK-NEXT: pipe.yield

nn.parameter @e trainable : tensor<8x4xf32>
nn.parameter @n trainable : tensor<4xf32>
nn.parameter @w0 trainable : tensor<4x4xf32>
nn.parameter @n0 trainable : tensor<4xf32>
nn.parameter @w1 trainable : tensor<4x4xf32>
nn.parameter @n1 trainable : tensor<4xf32>
nn.parameter @h trainable : tensor<2x4xf32>
func.func @loss(%ids: tensor<4xi64>) -> tensor<f32> attributes {nn.loss} {
  %e = nn.read @e : tensor<8x4xf32>
  %n = nn.read @n : tensor<4xf32>
  %g = nn.gather %e, %ids axis 0 : tensor<8x4xf32>, tensor<4xi64> loc("/embed/Gather")
  %x0 = nn.rms_norm %g, %n epsilon 1.0e-6 : tensor<4x4xf32>, tensor<4xf32>
  %w0 = nn.read @w0 : tensor<4x4xf32>
  %n0 = nn.read @n0 : tensor<4xf32>
  %p0 = nn.matmul %x0, %w0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("/0/MatMul")
  %s0 = nn.add %x0, %p0 : tensor<4x4xf32>
  %x1 = nn.rms_norm %s0, %n0 epsilon 1.0e-6 : tensor<4x4xf32>, tensor<4xf32>
  %w1 = nn.read @w1 : tensor<4x4xf32>
  %n1 = nn.read @n1 : tensor<4xf32>
  %p1 = nn.matmul %x1, %w1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32> loc("/1/MatMul")
  %s1 = nn.add %x1, %p1 : tensor<4x4xf32>
  %x2 = nn.rms_norm %s1, %n1 epsilon 1.0e-6 : tensor<4x4xf32>, tensor<4xf32>
  %h = nn.read @h : tensor<2x4xf32>
  %y = nn.matmul %x2, %h transpose_rhs : tensor<4x4xf32>, tensor<2x4xf32> -> tensor<4x2xf32> loc("/head/MatMul")
  %l = nn.reduce mean %y [0, 1] : tensor<4x2xf32>
  return %l : tensor<f32>
}

// -----

// What remains behind equal layers has no product: it joins the last of them, which then is the loss layer.

// CHECK: pipe.chain @loss
// CHECK-NEXT: ^bb0
// CHECK-NEXT: pipe.layer "m.0" @body_0(
// CHECK-NEXT: pipe.layer "m.1" @body_1(
// CHECK-NEXT: pipe.layer "m.2" @body_2(
// CHECK-NEXT: pipe.yield

nn.parameter @m.0.weight trainable : tensor<4x4xf32>
nn.parameter @m.1.weight trainable : tensor<4x4xf32>
nn.parameter @m.2.weight trainable : tensor<4x4xf32>
func.func @loss(%x: tensor<2x4xf32>) -> tensor<f32> attributes {nn.loss} {
  %w0 = nn.read @m.0.weight : tensor<4x4xf32>
  %w1 = nn.read @m.1.weight : tensor<4x4xf32>
  %w2 = nn.read @m.2.weight : tensor<4x4xf32>
  %p0 = nn.matmul %x, %w0 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %p1 = nn.matmul %p0, %w1 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %p2 = nn.matmul %p1, %w2 : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %l = nn.reduce mean %p2 [0, 1] : tensor<2x4xf32>
  return %l : tensor<f32>
}

// -----

// A value that many layers read: no cut has one live value once there are more than 16 products, so cuts carry two. The layer passes the value on.
// A bf16 loss is widened. The operation that nothing needs is gone.

// CHECK: pipe.body @body_1 {
// CHECK-NEXT: func.func @forward(%[[C:[a-z0-9]+]]: tensor<2x2xbf16> {pipe.index = 0 : i64, pipe.role = #pipe.role<boundary>}, %[[X:[a-z0-9]+]]: tensor<2x2xbf16> {pipe.index = 1 : i64, pipe.role = #pipe.role<boundary>}, %[[W:[a-z0-9]+]]:
// CHECK-SAME: -> (tensor<2x2xbf16> {pipe.index = 0 : i64, pipe.role = #pipe.role<output>}, tensor<2x2xbf16> {pipe.index = 1 : i64, pipe.role = #pipe.role<output>})
// CHECK-NEXT: %[[P:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-NEXT: %[[S:.*]] = nn.mul %[[P]], %[[C]]
// CHECK-NEXT: return %[[C]], %[[S]]
// CHECK-NOT: nn.exp
// CHECK: (tensor<f32> {pipe.index = 0 : i64, pipe.role = #pipe.role<loss>})
// CHECK: nn.cast %{{.*}} : tensor<bf16> to tensor<f32>
// CHECK-NEXT: return
// CHECK: pipe.chain @loss
// CHECK-NEXT: ^bb0
// CHECK-NEXT: pipe.layer "layer.context" @body_0(
// CHECK-COUNT-16: pipe.layer "layer.block" @body_1(
// CHECK-NEXT: pipe.layer "layer.block" @body_17(
// CHECK-NEXT: pipe.yield

nn.parameter @layer.context.weight trainable : tensor<2x2xbf16>
nn.parameter @layer.block.weight trainable : tensor<2x2xbf16>
func.func @loss(%x: tensor<2x2xbf16>) -> tensor<bf16> attributes {nn.loss} {
  %v = nn.read @layer.context.weight : tensor<2x2xbf16>
  %w = nn.read @layer.block.weight : tensor<2x2xbf16>
  %c = nn.matmul %x, %v : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %dead = nn.exp %c : tensor<2x2xbf16>
  %x0 = nn.neg %c : tensor<2x2xbf16>
  %p0 = nn.matmul %x0, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x1 = nn.mul %p0, %c : tensor<2x2xbf16>
  %p1 = nn.matmul %x1, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x2 = nn.mul %p1, %c : tensor<2x2xbf16>
  %p2 = nn.matmul %x2, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x3 = nn.mul %p2, %c : tensor<2x2xbf16>
  %p3 = nn.matmul %x3, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x4 = nn.mul %p3, %c : tensor<2x2xbf16>
  %p4 = nn.matmul %x4, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x5 = nn.mul %p4, %c : tensor<2x2xbf16>
  %p5 = nn.matmul %x5, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x6 = nn.mul %p5, %c : tensor<2x2xbf16>
  %p6 = nn.matmul %x6, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x7 = nn.mul %p6, %c : tensor<2x2xbf16>
  %p7 = nn.matmul %x7, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x8 = nn.mul %p7, %c : tensor<2x2xbf16>
  %p8 = nn.matmul %x8, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x9 = nn.mul %p8, %c : tensor<2x2xbf16>
  %p9 = nn.matmul %x9, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x10 = nn.mul %p9, %c : tensor<2x2xbf16>
  %p10 = nn.matmul %x10, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x11 = nn.mul %p10, %c : tensor<2x2xbf16>
  %p11 = nn.matmul %x11, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x12 = nn.mul %p11, %c : tensor<2x2xbf16>
  %p12 = nn.matmul %x12, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x13 = nn.mul %p12, %c : tensor<2x2xbf16>
  %p13 = nn.matmul %x13, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x14 = nn.mul %p13, %c : tensor<2x2xbf16>
  %p14 = nn.matmul %x14, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x15 = nn.mul %p14, %c : tensor<2x2xbf16>
  %p15 = nn.matmul %x15, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x16 = nn.mul %p15, %c : tensor<2x2xbf16>
  %p16 = nn.matmul %x16, %w : tensor<2x2xbf16>, tensor<2x2xbf16> -> tensor<2x2xbf16>
  %x17 = nn.mul %p16, %c : tensor<2x2xbf16>
  %l = nn.reduce mean %x17 [0, 1] : tensor<2x2xbf16>
  return %l : tensor<bf16>
}

// -----

// One product: one layer, which is the loss layer. Nothing to train in front of it needs a cut.

// CHECK: pipe.chain @loss attributes {input_names = ["input_0"]} {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x4xf32>):
// CHECK-NEXT:   %[[L:.*]] = pipe.layer "m" @body_0() sides(%[[X]] : tensor<2x4xf32>) [@m.shift, @m.weight] -> tensor<f32>
// CHECK-NEXT:   pipe.yield %[[L]]

nn.parameter @m.shift : tensor<2x4xf32>
nn.parameter @m.weight trainable : tensor<4x4xf32>
func.func @loss(%x: tensor<2x4xf32>) -> tensor<f32> attributes {nn.loss} {
  %s = nn.read @m.shift : tensor<2x4xf32>
  %w = nn.read @m.weight : tensor<4x4xf32>
  %c = nn.sub %x, %s : tensor<2x4xf32>
  %p = nn.matmul %c, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %l = nn.reduce mean %p [0, 1] : tensor<2x4xf32>
  return %l : tensor<f32>
}
