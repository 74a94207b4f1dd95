// Stages of an embedding and two products, as the module's rondo.config asks.
// DEFINE: %{prepare} = rondo-opt -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline

// One device with plenty of memory runs everything in one visit.
// RUN: sed -e 's/CONFIG/devices = 1 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=ONE
// ONE:      pipe.plan @plan of @loss attributes {devices = 1 : i64
// ONE-SAME:   micro_batches = 1 : i64, reason = "0 forward stages, a fused stage of 3 layers and 0 backward stages on 1 device; the slowest is fused of layers 0 to 2 with
// ONE-SAME:   rounds = 1 : i64
// ONE-SAME:   staleness = 0 : i64
// ONE-NEXT:   pipe.stage fused[0, 3) {device_bytes = {{[0-9]+}} : i64, flops = {{.*}}, gradient_bytes = 36864 : i64, parameter_bytes = 36864 : i64, time =
// ONE-NOT:    pipe.stage

// Two devices share the work; what backward reads is kept, as asked.
// RUN: sed -e 's/CONFIG/devices = 2 : i64, micro_batches = 4 : i64, rounds = 3 : i64, staleness = 1 : i64, recompute = 3 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=TWO
// TWO:      pipe.plan @plan of @loss attributes {devices = 2 : i64, keep = array<i64: 2, 2, 2>, micro_batches = 4 : i64, reason = "{{.*}}; recompute none"
// TWO-SAME:   rounds = 3 : i64, save = array<i64: 2, 2, 2>, staleness = 1 : i64
// TWO:        pipe.stage forward[0,
// TWO:        pipe.stage fused[
// TWO:        pipe.stage backward[0,

// Little memory: one layer a stage. A forward stage makes no gradients.
// RUN: sed -e 's/CONFIG/device_memory = 44000 : i64, recompute = 1 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=SMALL
// SMALL:      pipe.plan {{.*}}keep = array<i64: 0, 0, 0>{{.*}}recompute full"{{.*}}save = array<i64: 2, 2, 2>
// SMALL:        pipe.stage forward[{{.*}}gradient_bytes = 0 : i64
// SMALL:        pipe.stage fused[2, 3) {{.*}}gradient_bytes = 16384 : i64, parameter_bytes = 16384 : i64
// SMALL:        pipe.stage backward[1, 2)
// SMALL:        pipe.stage backward[0, 1)

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
