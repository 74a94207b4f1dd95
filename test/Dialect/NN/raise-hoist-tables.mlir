// Large constants become parameters with a value.
// RUN: rondo-opt %s --rondo-nn-hoist-tables=limit=2 | FileCheck %s

// Equal ones share a parameter, and a name that is taken is not taken again.
// CHECK: nn.parameter @table_0 trainable : tensor<2xf32>
// CHECK: nn.parameter @table_1 : tensor<3xf32> {value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>}
// CHECK: nn.parameter @table_2 : tensor<3xi64> {value = dense<[4, 5, 6]> : tensor<3xi64>}
// CHECK-NOT: nn.parameter
nn.parameter @table_0 trainable : tensor<2xf32>

// CHECK-LABEL: func.func @hoists
func.func @hoists() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xi64>) {
  // CHECK: nn.read @table_1 : tensor<3xf32>
  // CHECK: nn.read @table_1 : tensor<3xf32>
  // CHECK: nn.read @table_2 : tensor<3xi64>
  %0 = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %1 = nn.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %2 = nn.constant dense<[4, 5, 6]> : tensor<3xi64>
  return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xi64>
}

// Small, and large but one value repeated.
// CHECK-LABEL: func.func @keeps_small
func.func @keeps_small() -> (tensor<2xf32>, tensor<1000xf32>) {
  // CHECK: nn.constant dense<[1.000000e+00, 2.000000e+00]>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<1000xf32>
  %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = nn.constant dense<1.0> : tensor<1000xf32>
  return %0, %1 : tensor<2xf32>, tensor<1000xf32>
}
