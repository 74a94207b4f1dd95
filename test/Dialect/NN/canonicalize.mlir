// Folding: identities and compositions of moves, small constants; in pairs
// with what must stay.
// RUN: rondo-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @identities(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
                                               tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = nn.cast %x : tensor<2x3xf32> to tensor<2x3xf32>
  %1 = nn.reshape %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = nn.broadcast %x : tensor<2x3xf32> -> tensor<2x3xf32>
  %3 = nn.transpose %x [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = nn.slice %x [0, 0] [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = nn.pad %x [0, 0] [0, 0] 1.0 : f32 : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = nn.concat 1, %x : tensor<2x3xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>,
                                      tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Neither of them is an identity although the type stays.
// CHECK-LABEL: func.func @keeps_real_moves
func.func @keeps_real_moves(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  // CHECK-NEXT: %[[T:.*]] = nn.transpose %{{.*}} [1, 0]
  %0 = nn.transpose %x [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: %[[R:.*]] = nn.slice %{{.*}} [1, 0] [-1, 1]
  %1 = nn.slice %x [1, 0] [-1, 1] : tensor<2x2xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: return %[[T]], %[[R]]
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @composes
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @composes(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<5x2x3x4xf32>, tensor<3x4x2xf32>) {
  %0 = nn.reshape %x : tensor<2x3x4xf32> -> tensor<24xf32>
  // CHECK-DAG: %[[R:.*]] = nn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<4x6xf32>
  %1 = nn.reshape %0 : tensor<24xf32> -> tensor<4x6xf32>
  %2 = nn.broadcast %x : tensor<2x3x4xf32> -> tensor<1x2x3x4xf32>
  // CHECK-DAG: %[[B:.*]] = nn.broadcast %[[X]] : tensor<2x3x4xf32> -> tensor<5x2x3x4xf32>
  %3 = nn.broadcast %2 : tensor<1x2x3x4xf32> -> tensor<5x2x3x4xf32>
  %4 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK-DAG: %[[T:.*]] = nn.transpose %[[X]] [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %5 = nn.transpose %4 [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  // CHECK: return %[[R]], %[[B]], %[[T]]
  return %1, %3, %5 : tensor<4x6xf32>, tensor<5x2x3x4xf32>, tensor<3x4x2xf32>
}

// -----

// CHECK-LABEL: func.func @cancels
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @cancels(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = nn.transpose %0 [1, 2, 0] : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  %2 = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %3 = nn.reshape %2 : tensor<6x4xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: return %[[X]], %[[X]]
  return %1, %3 : tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// -----

// Elements 9, 7, 5, 3, 1 of x; of these every other from the second: 7, 3.
// CHECK-LABEL: func.func @composes_slices
// CHECK-SAME: (%[[X:.*]]: tensor<10xf32>)
func.func @composes_slices(%x: tensor<10xf32>) -> tensor<2xf32> {
  %0 = nn.slice %x [9] [-2] : tensor<10xf32> -> tensor<5xf32>
  // CHECK-NEXT: %[[S:.*]] = nn.slice %[[X]] [7] [-4] : tensor<10xf32> -> tensor<2xf32>
  %1 = nn.slice %0 [1] [2] : tensor<5xf32> -> tensor<2xf32>
  // CHECK-NEXT: return %[[S]]
  return %1 : tensor<2xf32>
}

// -----

// Widening loses nothing, so the way back is the identity and one step is as
// good as two.
// CHECK-LABEL: func.func @drops_widening_cast
// CHECK-SAME: (%[[X:.*]]: tensor<2xbf16>, %[[I:.*]]: tensor<2xi32>)
func.func @drops_widening_cast(%x: tensor<2xbf16>, %i: tensor<2xi32>) -> (tensor<2xbf16>, tensor<2xf64>, tensor<2xf32>) {
  %0 = nn.cast %x : tensor<2xbf16> to tensor<2xf32>
  %1 = nn.cast %0 : tensor<2xf32> to tensor<2xbf16>
  // CHECK-DAG: %[[W:.*]] = nn.cast %[[X]] : tensor<2xbf16> to tensor<2xf64>
  %2 = nn.cast %0 : tensor<2xf32> to tensor<2xf64>
  // CHECK-DAG: %[[F:.*]] = nn.cast %[[I]] : tensor<2xi32> to tensor<2xf32>
  %3 = nn.cast %i : tensor<2xi32> to tensor<2xi64>
  %4 = nn.cast %3 : tensor<2xi64> to tensor<2xf32>
  // CHECK: return %[[X]], %[[W]], %[[F]]
  return %1, %2, %4 : tensor<2xbf16>, tensor<2xf64>, tensor<2xf32>
}

// -----

// The first cast rounds: it must stay. So must one to a type of equal size
// that has other values.
// CHECK-LABEL: func.func @keeps_rounding_cast
func.func @keeps_rounding_cast(%x: tensor<2xf32>, %y: tensor<2xbf16>) -> (tensor<2xf32>, tensor<2xf32>) {
  // CHECK: nn.cast %{{.*}} : tensor<2xf32> to tensor<2xbf16>
  %0 = nn.cast %x : tensor<2xf32> to tensor<2xbf16>
  // CHECK: nn.cast %{{.*}} : tensor<2xbf16> to tensor<2xf32>
  %1 = nn.cast %0 : tensor<2xbf16> to tensor<2xf32>
  // CHECK: nn.cast %{{.*}} : tensor<2xbf16> to tensor<2xf16>
  %2 = nn.cast %y : tensor<2xbf16> to tensor<2xf16>
  // CHECK: nn.cast %{{.*}} : tensor<2xf16> to tensor<2xf32>
  %3 = nn.cast %2 : tensor<2xf16> to tensor<2xf32>
  return %1, %3 : tensor<2xf32>, tensor<2xf32>
}

// -----

// Small constants are evaluated, each op by its reference evaluation.
// CHECK-LABEL: func.func @folds_small_constants
func.func @folds_small_constants() -> (tensor<3xi64>, tensor<2xbf16>, tensor<2xi1>, tensor<2x2xf16>) {
  // CHECK-DAG: %[[SHAPE:.*]] = nn.constant dense<[6, 4, -1]> : tensor<3xi64>
  %a = nn.constant dense<[2, 4]> : tensor<2xi64>
  %first = nn.slice %a [0] [1] : tensor<2xi64> -> tensor<1xi64>
  %three = nn.constant dense<3> : tensor<1xi64>
  %six = nn.mul %first, %three : tensor<1xi64>
  %rest = nn.slice %a [1] [1] : tensor<2xi64> -> tensor<1xi64>
  %minus = nn.constant dense<-1> : tensor<1xi64>
  %shape = nn.concat 0, %six, %rest, %minus : tensor<1xi64>, tensor<1xi64>, tensor<1xi64>
  // Rounded to bf16: 1 + 2^-8 is half way to the next value and goes to even; so does
  // 1.0078125 + 2^-8, to 1.015625.
  // CHECK-DAG: %[[SUM:.*]] = nn.constant dense<[1.000000e+00, 1.015630e+00]> : tensor<2xbf16>
  %x = nn.constant dense<[1.0, 1.0078125]> : tensor<2xbf16>
  %y = nn.constant dense<[0.00390625, 0.00390625]> : tensor<2xbf16>
  %sum = nn.add %x, %y : tensor<2xbf16>
  // CHECK-DAG: %[[LESS:.*]] = nn.constant dense<[true, false]> : tensor<2xi1>
  %bound = nn.constant dense<[1.00390625, 1.0]> : tensor<2xbf16>
  %less = nn.compare lt %y, %x : tensor<2xbf16>
  %isnan = nn.is_nan %x : tensor<2xbf16>
  %table = nn.constant dense<[true, false]> : tensor<2xi1>
  %both = nn.and %less, %table : tensor<2xi1>
  // CHECK-DAG: %[[ROWS:.*]] = nn.constant dense<{{\[\[}}3.000000e+00, 4.000000e+00], [1.000000e+00, 2.000000e+00]]> : tensor<2x2xf16>
  %rows = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf16>
  %indices = nn.constant dense<[-1, 0]> : tensor<2xi64>
  %picked = nn.gather %rows, %indices axis 0 : tensor<2x2xf16>, tensor<2xi64>
  // CHECK: return %[[SHAPE]], %[[SUM]], %[[LESS]], %[[ROWS]]
  return %shape, %sum, %both, %picked : tensor<3xi64>, tensor<2xbf16>, tensor<2xi1>, tensor<2x2xf16>
}

// -----

// One value repeated costs nothing at any size.
// CHECK-LABEL: func.func @moves_splats
func.func @moves_splats() -> (tensor<1024x512xf16>, tensor<512xi1>) {
  // CHECK-DAG: %[[A:.*]] = nn.constant dense<1.500000e+00> : tensor<1024x512xf16>
  %0 = nn.constant dense<1.5> : tensor<f32>
  %1 = nn.broadcast %0 : tensor<f32> -> tensor<512x1024xf32>
  %2 = nn.transpose %1 [1, 0] : tensor<512x1024xf32> -> tensor<1024x512xf32>
  %3 = nn.cast %2 : tensor<1024x512xf32> to tensor<1024x512xf16>
  // CHECK-DAG: %[[B:.*]] = nn.constant dense<true> : tensor<512xi1>
  %4 = nn.constant dense<7> : tensor<64x64xi64>
  %5 = nn.slice %4 [0, 0] [1, 1] : tensor<64x64xi64> -> tensor<8x64xi64>
  %6 = nn.reshape %5 : tensor<8x64xi64> -> tensor<512xi64>
  %7 = nn.cast %6 : tensor<512xi64> to tensor<512xi1>
  // CHECK: return %[[A]], %[[B]]
  return %3, %7 : tensor<1024x512xf16>, tensor<512xi1>
}

// -----

// A mask of index comparisons stays symbolic however small; so do results
// that are not small.
// CHECK-LABEL: func.func @keeps_masks_and_large
func.func @keeps_masks_and_large() -> (tensor<4x4xi1>, tensor<100x100xf32>) {
  // CHECK: nn.iota 0 : tensor<4x4xi64>
  %i = nn.iota 0 : tensor<4x4xi64>
  // CHECK: nn.iota 1 : tensor<4x4xi64>
  %j = nn.iota 1 : tensor<4x4xi64>
  // CHECK: nn.compare ge
  %mask = nn.compare ge %i, %j : tensor<4x4xi64>
  %row = nn.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0]]> : tensor<10x1xf32>
  %wide = nn.reshape %row : tensor<10x1xf32> -> tensor<1x10x1xf32>
  // CHECK: nn.broadcast
  %large = nn.broadcast %wide : tensor<1x10x1xf32> -> tensor<10x10x100xf32>
  %flat = nn.reshape %large : tensor<10x10x100xf32> -> tensor<100x100xf32>
  return %mask, %flat : tensor<4x4xi1>, tensor<100x100xf32>
}

// -----

// What cannot be evaluated is left alone, and nothing is said about it here.
// CHECK-LABEL: func.func @keeps_what_fails
func.func @keeps_what_fails() -> (tensor<2xi64>, tensor<1xf32>) {
  %x = nn.constant dense<[1, 2]> : tensor<2xi64>
  %zero = nn.constant dense<[1, 0]> : tensor<2xi64>
  // CHECK: nn.div
  %0 = nn.div %x, %zero : tensor<2xi64>
  %rows = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %index = nn.constant dense<2> : tensor<1xi64>
  // CHECK: nn.gather
  %1 = nn.gather %rows, %index axis 0 : tensor<2xf32>, tensor<1xi64>
  return %0, %1 : tensor<2xi64>, tensor<1xf32>
}
