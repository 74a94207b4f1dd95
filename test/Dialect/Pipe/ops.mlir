// RUN: rondo-opt %s | rondo-opt | FileCheck %s

// Every operation and attribute of the dialect, printed and parsed again.

nn.parameter @w trainable : tensor<4x4xf32>

// CHECK-LABEL: pipe.body @layer {
// CHECK: func.func @forward(%{{.*}}: tensor<2x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<side>}
// CHECK-SAME: attributes {pipe.entry = #pipe.entry<forward>}
// CHECK: func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>}
// CHECK: func.func @backward_all_nodx(%{{.*}}: tensor<2x4xf32> {pipe.index = 0 : i64, pipe.role = #pipe.role<cotangent>}
// CHECK-SAME: attributes {pipe.entry = #pipe.entry<backward>, pipe.nodx, pipe.save_set = #pipe.save_set<all>}
pipe.body @layer {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %w: tensor<4x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64})
      -> (tensor<2x4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
  func.func @forward_all(%x: tensor<2x4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %w: tensor<4x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64})
      -> (tensor<2x4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%dy: tensor<2x4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %x: tensor<2x4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64})
      -> (tensor<4x4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.nodx, pipe.save_set = #pipe.save_set<all>} {
    %dw = nn.matmul %x, %dy transpose_lhs : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<4x4xf32>
    return %dw : tensor<4x4xf32>
  }
}
// CHECK-LABEL: pipe.body @head {
// CHECK: pipe.role = #pipe.role<loss>
// CHECK: func.func @forward_backward(
// CHECK-SAME: #pipe.role<seed>
pipe.body @head {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64})
      -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %x [0, 1] : tensor<2x4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %seed: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64})
      -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<2x4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64})
      attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %x [0, 1] : tensor<2x4xf32>
    %dx = nn.broadcast %seed : tensor<f32> -> tensor<2x4xf32>
    return %l, %dx : tensor<f32>, tensor<2x4xf32>
  }
}
// CHECK-LABEL: pipe.body @labels {
// CHECK: func.func @count(
// CHECK-SAME: #pipe.role<count>
pipe.body @labels {
  func.func @count(%labels: tensor<2xi64> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64})
      -> (tensor<f32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %ones = nn.cast %labels : tensor<2xi64> to tensor<2xf32>
    %n = nn.reduce sum %ones [0] : tensor<2xf32>
    return %n : tensor<f32>
  }
}
// CHECK-LABEL: pipe.chain @loss attributes {input_names = ["x", "labels"], label_inputs = array<i64: 1>, labels = @labels} {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<2x4xf32>, %{{.*}}: tensor<2xi64>):
// CHECK-NEXT: %[[Y:.*]] = pipe.layer "first" @layer() sides(%[[X]] : tensor<2x4xf32>) [@w] -> tensor<2x4xf32>
// CHECK-NEXT: %[[L:.*]] = pipe.layer "head" @head(%[[Y]] : tensor<2x4xf32>) sides() [] -> tensor<f32>
// CHECK-NEXT: pipe.yield %[[L]] : tensor<f32>
pipe.chain @loss attributes {input_names = ["x", "labels"], labels = @labels, label_inputs = array<i64: 1>} {
^bb0(%x: tensor<2x4xf32>, %labels: tensor<2xi64>):
  %y = pipe.layer "first" @layer () sides (%x : tensor<2x4xf32>) [@w] -> tensor<2x4xf32>
  %l = pipe.layer "head" @head (%y : tensor<2x4xf32>) sides () [] -> tensor<f32>
  pipe.yield %l : tensor<f32>
}
// CHECK-LABEL: pipe.plan @plan of @loss attributes
// CHECK: pipe.stage forward[0, 1)
// CHECK: pipe.stage fused[1, 2)
// CHECK: pipe.stage backward[0, 1)
// CHECK: pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
// CHECK: pipe.slot stage 2 round 0 device 0 micro_batches [0, 1]
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 1 : i64,
                                     keep = array<i64: 0, 0>, save = array<i64: 2, 2>, reason = "one layer a stage"} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 2.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 128 : i64}
  pipe.stage fused [1, 2) {time = 1.0 : f64, flops = 2.0 : f64, parameter_bytes = 0 : i64, gradient_bytes = 0 : i64, device_bytes = 128 : i64}
  pipe.stage backward [0, 1) {time = 1.0 : f64, flops = 2.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 64 : i64, device_bytes = 128 : i64}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
  pipe.slot stage 1 round 0 device 1 micro_batches [0, 1]
  pipe.slot stage 2 round 0 device 0 micro_batches [0, 1]
}
