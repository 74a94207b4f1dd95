// One iteration of a fused stage: what is staged, copied, launched and updated, on
// which lane.
// DEFINE: %{prepare} = rondo-opt -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline -rondo-pipe-partition-stages -rondo-pipe-assign-slots
// RUN: sed -e 's/CONFIG/recompute = 3 : i64/' %s | %{prepare} -o %t.mlir
// RUN: rondo-opt %t.mlir -rondo-convert-pipe-to-sched | FileCheck %s
// RUN: rondo-opt %t.mlir -rondo-convert-pipe-to-sched -rondo-sched-insert-fences -rondo-sched-assign-offsets -o /dev/null

// CHECK:      sched.program @step of @plan devices 1 rotation 0 period 1 {
// CHECK:        sched.host_launch "seed" seed({{.*}}) [2] staging
// CHECK:        sched.host_launch "stage ids mb 0" stage_input({{.*}} : !sched.buffer<32, pinned>) [2] staging {{.*}}<round = 0, microBatch = 0, input = 0>
// CHECK:        sched.host_launch "stage labels mb 0"
// CHECK:        sched.upload "upload parameters of m.0 for slot 0" {{.*}} parameter_up on 0 priority 1 {{.*}} : <4096, pinned>, <4096, device>
// CHECK:        sched.upload "upload model input 'ids' mb 0 for slot 0" {{.*}} activation_up on 0 priority 0
// CHECK:        sched.launch "forward_all m.0 mb 0" @body_0::@forward_all({{.*}}) [1, 1, 2] on 0
// CHECK:        sched.launch "forward_backward m.4 mb 0" @body_2::@forward_backward
// CHECK:        sched.download "download loss mb 0" {{.*}} activation_down on 0 priority 0
// CHECK:        sched.download "download gradient of 'm.4' by layer 'm.4'" {{.*}} gradient_down on 0 priority 2
// CHECK:        sched.zero "zero gradient of 'm.0' by layer 'm.0'"
// CHECK:        sched.launch "backward_all_nodx m.0 mb 0" @body_0::@backward_all_nodx({{.*}}) [1, 1, 3] on 0
// CHECK:        sched.host_launch "update m.4" optimizer({{.*}}) [1, 1, 2, 3, 3] update
// CHECK:        sched.host_launch "loss" loss({{.*}}) [1] staging
// No events yet.
// CHECK-NOT:    after

// A plan without slots, or of other layers than the model's.
// RUN: sed -e '/pipe.slot/d' %t.mlir | not rondo-opt -rondo-convert-pipe-to-sched -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: error: the plan has no slots
// RUN: sed -e 's/keep = array<i64: 2, 2, 2>/keep = array<i64: 0, 0, 0>/; s/save = array<i64: 2, 2, 2>/save = array<i64: 0, 0, 0>/' %t.mlir | not rondo-opt -rondo-convert-pipe-to-sched -o /dev/null 2>&1 | FileCheck %s --check-prefix=SAVE
// SAVE: error: layer 'm.0' lacks entry backward_input
// RUN: sed -e 's/CONFIG//' %s | not rondo-opt -rondo-convert-pipe-to-sched -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: needs exactly one pipe.plan; phase `slots` makes it

module attributes {rondo.config = {CONFIG}} {
  nn.parameter @m.0.weight trainable : tensor<16x64xf32>
  nn.parameter @m.2.weight trainable : tensor<64x64xf32>
  nn.parameter @m.4.weight trainable : tensor<64x64xf32>
  func.func @loss(%ids: tensor<4xi64> {nn.name = "ids"}, %labels: tensor<4xi64> {nn.name = "labels"}) -> tensor<f32> attributes {nn.loss} {
    %e = nn.read @m.0.weight : tensor<16x64xf32>
    %x = nn.gather %e, %ids axis 0 : tensor<16x64xf32>, tensor<4xi64>
    %a = nn.read @m.2.weight : tensor<64x64xf32>
    %0 = nn.matmul %x, %a : tensor<4x64xf32>, tensor<64x64xf32> -> tensor<4x64xf32>
    %1 = nn.tanh %0 : tensor<4x64xf32>
    %b = nn.read @m.4.weight : tensor<64x64xf32>
    %2 = nn.matmul %1, %b : tensor<4x64xf32>, tensor<64x64xf32> -> tensor<4x64xf32>
    %3 = nn.tanh %2 : tensor<4x64xf32>
    %l = nn.cross_entropy %3, %labels : tensor<4x64xf32>, tensor<4xi64>
    return %l : tensor<f32>
  }
}
