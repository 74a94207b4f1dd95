// RMS normalisation in the forms that exporters write, each beside what is
// close to it and no such normalisation.
// RUN: rondo-opt %s --rondo-nn-raise-rms-norm --split-input-file | FileCheck %s

// As PyTorch's exporter writes it: pow, reciprocal of sqrt, weight on the left.
// CHECK-LABEL: func.func @raises_reciprocal_of_sqrt
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.rms_norm %[[X]], %[[W]] epsilon 9.99{{.*}}E-7 : tensor<2x4x8xf32>, tensor<8xf32>
// CHECK-NEXT: return %[[Y]]
func.func @raises_reciprocal_of_sqrt(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) -> tensor<2x4x8xf32> {
  %two = nn.constant dense<2.0> : tensor<f32>
  %exponent = nn.broadcast %two : tensor<f32> -> tensor<2x4x8xf32>
  %square = nn.pow %x, %exponent : tensor<2x4x8xf32>
  %mean = nn.reduce mean %square [2] keepdims : tensor<2x4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<f32>
  %offset = nn.broadcast %eps : tensor<f32> -> tensor<2x4x1xf32>
  %variance = nn.add %mean, %offset : tensor<2x4x1xf32>
  %root = nn.sqrt %variance : tensor<2x4x1xf32>
  %inverse = nn.reciprocal %root : tensor<2x4x1xf32>
  %rows = nn.broadcast %inverse : tensor<2x4x1xf32> -> tensor<2x4x8xf32>
  %normed = nn.mul %x, %rows : tensor<2x4x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<2x4x8xf32>
  %y = nn.mul %scale, %normed : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// mul for the square, rsqrt, epsilon and weight on the other sides, no keepdims.
// CHECK-LABEL: func.func @raises_rsqrt
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<1x8xf32>)
// CHECK: %[[V:.*]] = nn.reshape %[[W]] : tensor<1x8xf32> -> tensor<8xf32>
// CHECK: nn.rms_norm %[[X]], %[[V]] epsilon 1.250000e-01
func.func @raises_rsqrt(%x: tensor<4x8xf32>, %w: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %square = nn.mul %x, %x : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] : tensor<4x8xf32>
  %eps = nn.constant dense<0.125> : tensor<4xf32>
  %variance = nn.add %eps, %mean : tensor<4xf32>
  %inverse = nn.rsqrt %variance : tensor<4xf32>
  %column = nn.reshape %inverse : tensor<4xf32> -> tensor<4x1xf32>
  %rows = nn.broadcast %column : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %rows, %x : tensor<4x8xf32>
  %scale = nn.broadcast %w : tensor<1x8xf32> -> tensor<4x8xf32>
  %y = nn.mul %normed, %scale : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// x / sqrt(...), and 1 / sqrt(...) by division and by powers.
// CHECK-LABEL: func.func @raises_divisions_and_powers
// CHECK-COUNT-4: nn.rms_norm
func.func @raises_divisions_and_powers(%x: tensor<4x8xf32>, %w: tensor<8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %square = nn.mul %x, %x : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-05> : tensor<4x1xf32>
  %v = nn.add %mean, %eps : tensor<4x1xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<4x8xf32>
  %one = nn.constant dense<1.0> : tensor<4x1xf32>
  %half = nn.constant dense<0.5> : tensor<4x1xf32>
  %minus_half = nn.constant dense<-0.5> : tensor<4x1xf32>

  %root = nn.sqrt %v : tensor<4x1xf32>
  %root_rows = nn.broadcast %root : tensor<4x1xf32> -> tensor<4x8xf32>
  %n0 = nn.div %x, %root_rows : tensor<4x8xf32>
  %y0 = nn.mul %n0, %scale : tensor<4x8xf32>

  %inverse = nn.div %one, %root : tensor<4x1xf32>
  %inverse_rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %n1 = nn.mul %x, %inverse_rows : tensor<4x8xf32>
  %y1 = nn.mul %n1, %scale : tensor<4x8xf32>

  %power = nn.pow %v, %minus_half : tensor<4x1xf32>
  %power_rows = nn.broadcast %power : tensor<4x1xf32> -> tensor<4x8xf32>
  %n2 = nn.mul %x, %power_rows : tensor<4x8xf32>
  %y2 = nn.mul %n2, %scale : tensor<4x8xf32>

  %power_root = nn.pow %v, %half : tensor<4x1xf32>
  %reciprocal = nn.reciprocal %power_root : tensor<4x1xf32>
  %reciprocal_rows = nn.broadcast %reciprocal : tensor<4x1xf32> -> tensor<4x8xf32>
  %n3 = nn.mul %x, %reciprocal_rows : tensor<4x8xf32>
  %y3 = nn.mul %n3, %scale : tensor<4x8xf32>
  return %y0, %y1, %y2, %y3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// bf16: normalised in f32, rounded, then scaled in bf16.
// CHECK-LABEL: func.func @raises_in_bf16
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xbf16>, %[[W:.*]]: tensor<8xbf16>)
// CHECK-NEXT: nn.rms_norm %[[X]], %[[W]] epsilon {{.*}} : tensor<4x8xbf16>, tensor<8xbf16>
// CHECK-NEXT: return
func.func @raises_in_bf16(%x: tensor<4x8xbf16>, %w: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %wide = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %square = nn.mul %wide, %wide : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<4x1xf32>
  %v = nn.add %mean, %eps : tensor<4x1xf32>
  %inverse = nn.rsqrt %v : tensor<4x1xf32>
  %rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %wide, %rows : tensor<4x8xf32>
  %rounded = nn.cast %normed : tensor<4x8xf32> to tensor<4x8xbf16>
  %scale = nn.broadcast %w : tensor<8xbf16> -> tensor<4x8xbf16>
  %y = nn.mul %scale, %rounded : tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// Scaled in f32 and rounded at the end: the norm is of the widened x.
// CHECK-LABEL: func.func @raises_wide_norm_of_bf16
// CHECK: %[[WIDE:.*]] = nn.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK: %[[Y:.*]] = nn.rms_norm %[[WIDE]], %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
// CHECK: nn.cast %[[Y]] : tensor<4x8xf32> to tensor<4x8xbf16>
func.func @raises_wide_norm_of_bf16(%x: tensor<4x8xbf16>, %w: tensor<8xf32>) -> tensor<4x8xbf16> {
  %wide = nn.cast %x : tensor<4x8xbf16> to tensor<4x8xf32>
  %square = nn.mul %wide, %wide : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<4x1xf32>
  %v = nn.add %mean, %eps : tensor<4x1xf32>
  %inverse = nn.rsqrt %v : tensor<4x1xf32>
  %rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %wide, %rows : tensor<4x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<4x8xf32>
  %y = nn.mul %scale, %normed : tensor<4x8xf32>
  %narrow = nn.cast %y : tensor<4x8xf32> to tensor<4x8xbf16>
  return %narrow : tensor<4x8xbf16>
}

// -----

// The mean of another value.
// CHECK-LABEL: func.func @keeps_norm_by_another_value
// CHECK-NOT: nn.rms_norm
func.func @keeps_norm_by_another_value(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %square = nn.mul %z, %z : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<4x1xf32>
  %v = nn.add %mean, %eps : tensor<4x1xf32>
  %inverse = nn.rsqrt %v : tensor<4x1xf32>
  %rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %x, %rows : tensor<4x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<4x8xf32>
  %y = nn.mul %scale, %normed : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A sum instead of the mean, a cube instead of the square, the first axis
// instead of the last.
// CHECK-LABEL: func.func @keeps_other_statistics
// CHECK-NOT: nn.rms_norm
func.func @keeps_other_statistics(%x: tensor<8x8xf32>, %w: tensor<8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %eps = nn.constant dense<1.0e-06> : tensor<8x1xf32>
  %eps_row = nn.constant dense<1.0e-06> : tensor<1x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<8x8xf32>
  %square = nn.mul %x, %x : tensor<8x8xf32>

  %sum = nn.reduce sum %square [1] keepdims : tensor<8x8xf32>
  %v0 = nn.add %sum, %eps : tensor<8x1xf32>
  %r0 = nn.rsqrt %v0 : tensor<8x1xf32>
  %b0 = nn.broadcast %r0 : tensor<8x1xf32> -> tensor<8x8xf32>
  %n0 = nn.mul %x, %b0 : tensor<8x8xf32>
  %y0 = nn.mul %scale, %n0 : tensor<8x8xf32>

  %three = nn.constant dense<3.0> : tensor<8x8xf32>
  %cube = nn.pow %x, %three : tensor<8x8xf32>
  %mean1 = nn.reduce mean %cube [1] keepdims : tensor<8x8xf32>
  %v1 = nn.add %mean1, %eps : tensor<8x1xf32>
  %r1 = nn.rsqrt %v1 : tensor<8x1xf32>
  %b1 = nn.broadcast %r1 : tensor<8x1xf32> -> tensor<8x8xf32>
  %n1 = nn.mul %x, %b1 : tensor<8x8xf32>
  %y1 = nn.mul %scale, %n1 : tensor<8x8xf32>

  %mean2 = nn.reduce mean %square [0] keepdims : tensor<8x8xf32>
  %v2 = nn.add %mean2, %eps_row : tensor<1x8xf32>
  %r2 = nn.rsqrt %v2 : tensor<1x8xf32>
  %b2 = nn.broadcast %r2 : tensor<1x8xf32> -> tensor<8x8xf32>
  %n2 = nn.mul %x, %b2 : tensor<8x8xf32>
  %y2 = nn.mul %scale, %n2 : tensor<8x8xf32>
  return %y0, %y1, %y2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// One value for each row that is laid along the columns: only a square x lets
// this pass the verifier.
// CHECK-LABEL: func.func @keeps_when_rows_become_columns
// CHECK-NOT: nn.rms_norm
func.func @keeps_when_rows_become_columns(%x: tensor<8x8xf32>, %w: tensor<8xf32>) -> tensor<8x8xf32> {
  %square = nn.mul %x, %x : tensor<8x8xf32>
  %mean = nn.reduce mean %square [1] : tensor<8x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<8xf32>
  %v = nn.add %mean, %eps : tensor<8xf32>
  %inverse = nn.rsqrt %v : tensor<8xf32>
  %rows = nn.broadcast %inverse : tensor<8xf32> -> tensor<8x8xf32>
  %normed = nn.mul %x, %rows : tensor<8x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<8x8xf32>
  %y = nn.mul %scale, %normed : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// No weight, a scalar weight, a weight of each row.
// CHECK-LABEL: func.func @keeps_without_weight
// CHECK-NOT: nn.rms_norm
func.func @keeps_without_weight(%x: tensor<4x8xf32>, %one: tensor<1xf32>, %column: tensor<4x1xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %square = nn.mul %x, %x : tensor<4x8xf32>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xf32>
  %eps = nn.constant dense<1.0e-06> : tensor<4x1xf32>
  %v = nn.add %mean, %eps : tensor<4x1xf32>
  %inverse = nn.rsqrt %v : tensor<4x1xf32>
  %rows = nn.broadcast %inverse : tensor<4x1xf32> -> tensor<4x8xf32>
  %normed = nn.mul %x, %rows : tensor<4x8xf32>
  %scalar = nn.broadcast %one : tensor<1xf32> -> tensor<4x8xf32>
  %y1 = nn.mul %scalar, %normed : tensor<4x8xf32>
  %columns = nn.broadcast %column : tensor<4x1xf32> -> tensor<4x8xf32>
  %y2 = nn.mul %columns, %normed : tensor<4x8xf32>
  return %normed, %y1, %y2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Normalised in bf16 and only then widened: not what rms_norm rounds.
// CHECK-LABEL: func.func @keeps_narrow_norm_with_wide_weight
// CHECK-NOT: nn.rms_norm
func.func @keeps_narrow_norm_with_wide_weight(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %narrow = nn.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
  %square = nn.mul %narrow, %narrow : tensor<4x8xbf16>
  %mean = nn.reduce mean %square [1] keepdims : tensor<4x8xbf16>
  %eps = nn.constant dense<1.0e-06> : tensor<4x1xbf16>
  %v = nn.add %mean, %eps : tensor<4x1xbf16>
  %inverse = nn.rsqrt %v : tensor<4x1xbf16>
  %rows = nn.broadcast %inverse : tensor<4x1xbf16> -> tensor<4x8xbf16>
  %normed = nn.mul %narrow, %rows : tensor<4x8xbf16>
  %wide = nn.cast %normed : tensor<4x8xbf16> to tensor<4x8xf32>
  %scale = nn.broadcast %w : tensor<8xf32> -> tensor<4x8xf32>
  %y = nn.mul %scale, %wide : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
