// Where no other way to recompute fits, backward reads products alone and computes the rest once more.
// DEFINE: %{prepare} = rondo-opt -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline

// RUN: sed -e 's/CONFIG/device_memory = 900000 : i64, recompute = 1 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=FULL
// FULL: pipe.plan {{.*}}keep = array<i64: 0, 0, 0>{{.*}}; recompute full"{{.*}}save = array<i64: 2, 2, 2>
// RUN: sed -e 's/CONFIG/device_memory = 600000 : i64, recompute = 1 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=TWICE
// TWICE: pipe.plan {{.*}}keep = array<i64: 0, 0, 0>{{.*}}; recompute full, elementwise twice"{{.*}}save = array<i64: 1, 1, 1>

// Something else fits, or was asked for.
// RUN: sed -e 's/CONFIG/device_memory = 600000 : i64/' %s | %{prepare} -rondo-pipe-partition-stages | FileCheck %s --check-prefix=ONCE
// ONCE: pipe.plan {{.*}}; recompute elementwise"
// RUN: sed -e 's/CONFIG/device_memory = 600000 : i64, recompute = 3 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: infeasible: no plan fits into 600000 bytes

// Nothing fits: the bytes are those of the last resort.
// RUN: sed -e 's/CONFIG/device_memory = 470000 : i64, recompute = 1 : i64/' %s | %{prepare} -o %t.mlir
// RUN: not rondo-opt %t.mlir -rondo-pipe-partition-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAST
// LEAST: error: infeasible: no plan fits into 470000 bytes (458.98 KiB) of device memory: the smallest one needs 475648 bytes

module attributes {rondo.config = {CONFIG}} {
  nn.parameter @m.0.weight trainable : tensor<16x64xf32>
  nn.parameter @m.1.weight trainable : tensor<64x64xf32>
  nn.parameter @m.2.weight trainable : tensor<64x64xf32>
  func.func @loss(%ids: tensor<256xi64> {nn.name = "ids"}, %labels: tensor<256xi64> {nn.name = "labels"}) -> tensor<f32> attributes {nn.loss} {
    %e = nn.read @m.0.weight : tensor<16x64xf32>
    %x = nn.gather %e, %ids axis 0 : tensor<16x64xf32>, tensor<256xi64>
    %a = nn.read @m.1.weight : tensor<64x64xf32>
    %0 = nn.matmul %x, %a : tensor<256x64xf32>, tensor<64x64xf32> -> tensor<256x64xf32>
    %1 = nn.tanh %0 : tensor<256x64xf32>
    %2 = nn.tanh %1 : tensor<256x64xf32>
    %3 = nn.tanh %2 : tensor<256x64xf32>
    %4 = nn.tanh %3 : tensor<256x64xf32>
    %5 = nn.tanh %4 : tensor<256x64xf32>
    %6 = nn.tanh %5 : tensor<256x64xf32>
    %b = nn.read @m.2.weight : tensor<64x64xf32>
    %7 = nn.matmul %6, %b : tensor<256x64xf32>, tensor<64x64xf32> -> tensor<256x64xf32>
    %8 = nn.tanh %7 : tensor<256x64xf32>
    %l = nn.cross_entropy %8, %labels : tensor<256x64xf32>, tensor<256xi64>
    return %l : tensor<f32>
  }
}
