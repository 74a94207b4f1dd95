// Slots of three stages and two rounds on two devices: round robin, carried over
// rounds; an odd number in all, so that iterations begin on devices in turn,
// unless rotation is off.
// DEFINE: %{prepare} = rondo-opt -rondo-pipe-outline-layers -rondo-pipe-differentiate-bodies -rondo-kernels-pipeline -rondo-pipe-partition-stages
// RUN: sed -e 's/CONFIG/devices = 2 : i64, micro_batches = 4 : i64, rounds = 3 : i64, recompute = 3 : i64/' %s | %{prepare} -o %t.mlir
// RUN: rondo-opt %t.mlir -rondo-pipe-assign-slots | FileCheck %s
// RUN: sed -e 's/devices = 2 : i64,/devices = 2 : i64, rotate = false,/' %t.mlir | rondo-opt -rondo-pipe-assign-slots | FileCheck %s --check-prefix=STILL
// CHECK:      pipe.plan {{.*}}rotation = 1 : i64
// CHECK-NOT:    pipe.slot
// CHECK:        pipe.stage backward
// CHECK-NEXT:   pipe.slot stage 0 round 0 device 0 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 1 round 0 device 1 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 2 round 0 device 0 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 0 round 1 device 1 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 1 round 1 device 0 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 2 round 1 device 1 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 0 round 2 device 0 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 1 round 2 device 1 micro_batches [0, 1, 2, 3]
// CHECK-NEXT:   pipe.slot stage 2 round 2 device 0 micro_batches [0, 1, 2, 3]
// CHECK-NEXT: }
// STILL:      pipe.plan {{.*}}rotation = 0 : i64

// Without stages there is nothing to deal.
// RUN: sed -e 's/CONFIG//' %s > %t.none.mlir
// RUN: not rondo-opt %t.none.mlir -rondo-pipe-assign-slots -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: needs exactly one pipe.plan; phase `stages` makes it

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
