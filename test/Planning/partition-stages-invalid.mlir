// What rondo-pipe-partition-stages, and the planner's view of a module in general,
// refuses.
// DEFINE: %{prepare} = rondo-opt -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline

// RUN: sed -e 's/CONFIG/device_memory = 40000 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: infeasible: no plan fits into 40000 bytes (39.06 KiB) of device memory: the smallest one needs {{[0-9]+}} bytes ({{.*}}). Layer 'm.4' alone, forward and backward, needs {{[0-9]+}} bytes

// RUN: sed -e 's/CONFIG/host_memory = 2000 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: infeasible: the schedule needs {{[0-9]+}} bytes{{.*}} of host memory, {{[0-9]+}} bytes{{.*}} over the limit of 2000 bytes: {{.*}} pinned and {{.*}} of optimizer state; the largest buffers are

// A machine without memory.
// RUN: sed -e 's/CONFIG/machine_device_bytes = 0 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: infeasible: no cut of the 3 layers fits 0 bytes a device: the smallest plan found needs {{[0-9]+}} bytes more; give devices more memory, or make micro-batches smaller

// A step of no rounds or too late.
// RUN: sed -e 's/CONFIG/rounds = 0 : i64, staleness = 2 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: rondo.config has entries out of range: rounds, staleness

// Entries must be launch lists.
// RUN: sed -e 's/CONFIG/devices = 1 : i64/' %s | rondo-opt -rondo-pipe-outline-layers -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: error: layer 'm.0' lacks entry forward
// ENTRY: error: layer 'm.4' lacks entry forward_backward

// Something must train.
// RUN: sed -e 's/CONFIG/devices = 1 : i64/' %s | %{prepare} | sed -e 's/weight trainable/weight/' > %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=FROZEN
// FROZEN: error: nothing trains: no parameter is trainable; see --trainable and --freeze

// The layers must be there, and the configuration legible.
// RUN: sed -e 's/CONFIG//' %s > %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=CHAIN
// CHAIN: error: needs exactly one pipe.chain; phase `layers` makes it
// RUN: sed -e 's/CONFIG/devices = "two", speed = 1 : i64, recompute = 7 : i64, groups = [{lr = 1.0 : f64}]/' %s > %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=CONFIG
// CONFIG: error: rondo.config has unknown or ill-typed entries: devices, recompute, groups, speed
// RUN: sed -e 's/CONFIG/groups = [{pattern = ".*", lr = 0x7FF0000000000000 : f64}]/' %s > %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: rondo.config has entries out of range: groups: lr of '.*'

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
