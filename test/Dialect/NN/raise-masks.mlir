// Which masks become attributes of attention, and which stay.
// RUN: rondo-opt %s --rondo-nn-raise-masks --split-input-file | FileCheck %s

// Keys up to the query, by comparison of indices.
// CHECK-LABEL: func.func @raises_causal
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_causal(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x1xi64>
  %column = nn.iota 1 : tensor<1x4xi64>
  %rows = nn.broadcast %row : tensor<4x1xi64> -> tensor<4x4xi64>
  %columns = nn.broadcast %column : tensor<1x4xi64> -> tensor<4x4xi64>
  %mask = nn.compare le %columns, %rows : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A key before the query only: one short of causal; the first row sees nothing.
// CHECK-LABEL: func.func @keeps_strictly_before
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_strictly_before(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %mask = nn.compare lt %column, %row : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The whole chain of a Transformers export at 74,752 tokens, where the mask has
// 5.6 billion elements: all ones, causal, and equal sequence numbers.
// CHECK-LABEL: func.func @raises_huge
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_huge(%q: tensor<1x2x74752x8xf32>, %k: tensor<1x2x74752x8xf32>, %v: tensor<1x2x74752x8xf32>) -> tensor<1x2x74752x8xf32> {
  %one = nn.constant dense<true> : tensor<i1>
  %ones = nn.broadcast %one : tensor<i1> -> tensor<1x1x74752x74752xi1>
  %index = nn.iota 0 : tensor<74752xi64>
  %row = nn.reshape %index : tensor<74752xi64> -> tensor<1x1x74752x1xi64>
  %column = nn.reshape %index : tensor<74752xi64> -> tensor<1x1x1x74752xi64>
  %rows = nn.broadcast %row : tensor<1x1x74752x1xi64> -> tensor<1x1x74752x74752xi64>
  %columns = nn.broadcast %column : tensor<1x1x1x74752xi64> -> tensor<1x1x74752x74752xi64>
  %le = nn.compare le %columns, %rows : tensor<1x1x74752x74752xi64>
  %some = nn.and %ones, %le : tensor<1x1x74752x74752xi1>
  %zeros = nn.constant dense<0> : tensor<1x74752xi64>
  %doc_row = nn.reshape %zeros : tensor<1x74752xi64> -> tensor<1x1x74752x1xi64>
  %doc_column = nn.reshape %zeros : tensor<1x74752xi64> -> tensor<1x1x1x74752xi64>
  %doc_rows = nn.broadcast %doc_row : tensor<1x1x74752x1xi64> -> tensor<1x1x74752x74752xi64>
  %doc_columns = nn.broadcast %doc_column : tensor<1x1x1x74752xi64> -> tensor<1x1x74752x74752xi64>
  %same = nn.compare eq %doc_rows, %doc_columns : tensor<1x1x74752x74752xi64>
  %mask = nn.and %some, %same : tensor<1x1x74752x74752xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x74752x8xf32>, tensor<1x2x74752x8xf32>, tensor<1x2x74752x8xf32>, tensor<1x1x74752x74752xi1> -> tensor<1x2x74752x8xf32>, tensor<1x2x74752xf32>
  return %y : tensor<1x2x74752x8xf32>
}

// -----

// Two sequences packed into one: each query sees its own alone.
// CHECK-LABEL: func.func @keeps_packed
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_packed(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %le = nn.compare le %column, %row : tensor<4x4xi64>
  %number = nn.constant dense<[0, 0, 0, 1]> : tensor<4xi64>
  %number_row = nn.reshape %number : tensor<4xi64> -> tensor<4x1xi64>
  %number_rows = nn.broadcast %number_row : tensor<4x1xi64> -> tensor<4x4xi64>
  %number_columns = nn.broadcast %number : tensor<4xi64> -> tensor<4x4xi64>
  %same = nn.compare eq %number_rows, %number_columns : tensor<4x4xi64>
  %mask = nn.and %le, %same : tensor<4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The last two keys: a difference of indices against the window.
// CHECK-LABEL: func.func @raises_window
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal window 2 scale
func.func @raises_window(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %le = nn.compare le %column, %row : tensor<4x4xi64>
  %distance = nn.sub %row, %column : tensor<4x4xi64>
  %two = nn.constant dense<2> : tensor<4x4xi64>
  %near = nn.compare lt %distance, %two : tensor<4x4xi64>
  %mask = nn.and %le, %near : tensor<4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A window that is not causal.
// CHECK-LABEL: func.func @keeps_window_around
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_window_around(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %distance = nn.sub %row, %column : tensor<4x4xi64>
  %one = nn.constant dense<1> : tensor<4x4xi64>
  %minus_one = nn.constant dense<-1> : tensor<4x4xi64>
  %near = nn.compare le %distance, %one : tensor<4x4xi64>
  %after = nn.compare ge %distance, %minus_one : tensor<4x4xi64>
  %mask = nn.and %near, %after : tensor<4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// Both limits as hidden keys, joined by or and negated.
// CHECK-LABEL: func.func @raises_negated_window
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal window 3 scale
func.func @raises_negated_window(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %later = nn.compare gt %column, %row : tensor<4x4xi64>
  %three = nn.constant dense<3> : tensor<4x4xi64>
  %end = nn.add %column, %three : tensor<4x4xi64>
  %far = nn.compare le %end, %row : tensor<4x4xi64>
  %hidden = nn.or %later, %far : tensor<4x4xi1>
  %mask = nn.not %hidden : tensor<4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// More keys than queries: the last query stands at the last key.
// CHECK-LABEL: func.func @raises_causal_with_more_keys
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_causal_with_more_keys(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 {start = 3 : i64} : tensor<4x7xi64>
  %column = nn.iota 1 : tensor<4x7xi64>
  %mask = nn.compare ge %row, %column : tensor<4x7xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<4x7xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The first query at the first key, though there are more keys.
// CHECK-LABEL: func.func @keeps_causal_from_the_top
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_causal_from_the_top(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x7x8xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x7xi64>
  %column = nn.iota 1 : tensor<4x7xi64>
  %mask = nn.compare ge %row, %column : tensor<4x7xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>, tensor<4x7xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// All true.
// CHECK-LABEL: func.func @raises_all_true
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} scale
func.func @raises_all_true(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %mask = nn.constant dense<true> : tensor<1x1x4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// An additive mask, bf16's lowest value where hidden.
// CHECK-LABEL: func.func @raises_additive
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_additive(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %seen = nn.compare le %column, %row : tensor<4x4xi64>
  %zero = nn.constant dense<0.0> : tensor<4x4xbf16>
  %low = nn.constant dense<-3.38953139e+38> : tensor<4x4xbf16>
  %mask = nn.select %seen, %zero, %low : tensor<4x4xi1>, tensor<4x4xbf16>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xbf16> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A value that a score can outweigh.
// CHECK-LABEL: func.func @keeps_soft_additive
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_soft_additive(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %seen = nn.compare le %column, %row : tensor<4x4xi64>
  %zero = nn.constant dense<0.0> : tensor<4x4xf32>
  %low = nn.constant dense<-1.0e+04> : tensor<4x4xf32>
  %mask = nn.select %seen, %zero, %low : tensor<4x4xi1>, tensor<4x4xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// (1 - seen) * lowest, plus a second mask for the window.
// CHECK-LABEL: func.func @raises_sum_of_additive
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal window 2 scale
func.func @raises_sum_of_additive(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %seen = nn.compare le %column, %row : tensor<4x4xi64>
  %number = nn.cast %seen : tensor<4x4xi1> to tensor<4x4xf32>
  %one = nn.constant dense<1.0> : tensor<4x4xf32>
  %low = nn.constant dense<-3.40282347E+38> : tensor<4x4xf32>
  %inverse = nn.sub %one, %number : tensor<4x4xf32>
  %causal = nn.mul %inverse, %low : tensor<4x4xf32>
  %two = nn.constant dense<2> : tensor<4x4xi64>
  %oldest = nn.sub %row, %two : tensor<4x4xi64>
  %old = nn.compare le %column, %oldest : tensor<4x4xi64>
  %infinity = nn.constant dense<0xFF800000> : tensor<4x4xf32>
  %zero = nn.constant dense<0.0> : tensor<4x4xf32>
  %window = nn.select %old, %infinity, %zero : tensor<4x4xi1>, tensor<4x4xf32>
  %mask = nn.add %causal, %window : tensor<4x4xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The optimizing exporter leaves the mask as numbers; both samples see the same.
// CHECK-LABEL: func.func @raises_constant
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_constant(%q: tensor<2x2x2x8xf32>, %k: tensor<2x2x2x8xf32>, %v: tensor<2x2x2x8xf32>) -> tensor<2x2x2x8xf32> {
  %mask = nn.constant dense<[[[[0.0, 0xFF800000], [0.0, 0.0]]], [[[0.0, 0xFF800000], [0.0, 0.0]]]]> : tensor<2x1x2x2xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x1x2x2xf32> -> tensor<2x2x2x8xf32>, tensor<2x2x2xf32>
  return %y : tensor<2x2x2x8xf32>
}

// -----

// The samples differ.
// CHECK-LABEL: func.func @keeps_constant_of_sample
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_constant_of_sample(%q: tensor<2x2x2x8xf32>, %k: tensor<2x2x2x8xf32>, %v: tensor<2x2x2x8xf32>) -> tensor<2x2x2x8xf32> {
  %mask = nn.constant dense<[[[[0.0, 0xFF800000], [0.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]]]]> : tensor<2x1x2x2xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x2x2x8xf32>, tensor<2x1x2x2xf32> -> tensor<2x2x2x8xf32>, tensor<2x2x2xf32>
  return %y : tensor<2x2x2x8xf32>
}

// -----

// Padding is known at run time only.
// CHECK-LABEL: func.func @keeps_input
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_input(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %pad: tensor<4xi1>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %seen = nn.compare le %column, %row : tensor<4x4xi64>
  %pads = nn.broadcast %pad : tensor<4xi1> -> tensor<4x4xi1>
  %mask = nn.and %seen, %pads : tensor<4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A finite mask on a whole row hides nothing of it (softmax ignores a shift):
// the first query stands before the first key.
// CHECK-LABEL: func.func @keeps_finite_empty_row
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_finite_empty_row(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x2x4x8xf32> {
  %mask = nn.constant dense<[[-3.40282347E+38, -3.40282347E+38, -3.40282347E+38], [0.0, -3.40282347E+38, -3.40282347E+38], [0.0, 0.0, -3.40282347E+38], [0.0, 0.0, 0.0]]> : tensor<4x3xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<4x3xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The same with minus infinity, which hides all keys: causal.
// CHECK-LABEL: func.func @raises_infinite_empty_row
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_infinite_empty_row(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x2x4x8xf32> {
  %mask = nn.constant dense<[[0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<4x3xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<4x3xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// Every row sees a key: what the others have and whether there was a guard
// makes no difference.
// CHECK-LABEL: func.func @raises_causal_of_finite
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_causal_of_finite(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %mask = nn.compare le %column, %row : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask fill -1.0e30 unguarded scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// The first row sees none.
// CHECK-LABEL: func.func @keeps_finite_strictly_before
// CHECK: nn.attention {{.*}} mask %{{.*}} fill -1.000000e+30 scale
func.func @keeps_finite_strictly_before(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %mask = nn.compare lt %column, %row : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask fill -1.0e30 scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A score can make up for that.
// CHECK-LABEL: func.func @keeps_finite_within_reach
// CHECK: nn.attention {{.*}} mask %{{.*}} fill -1.000000e+04 scale
func.func @keeps_finite_within_reach(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %mask = nn.compare le %column, %row : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask fill -1.0e4 scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// Minus infinity again, but a row of it is NaN.
// CHECK-LABEL: func.func @keeps_unguarded_empty_row
// CHECK: nn.attention {{.*}} mask %{{.*}} unguarded scale
func.func @keeps_unguarded_empty_row(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x3x8xf32>, %v: tensor<1x2x3x8xf32>) -> tensor<1x2x4x8xf32> {
  %mask = nn.constant dense<[[0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<4x3xf32>
  %y, %st = nn.attention %q, %k, %v mask %mask unguarded scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<4x3xf32> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// A causal attention whose mask adds the window.
// CHECK-LABEL: func.func @raises_window_of_causal
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal window 3 scale
func.func @raises_window_of_causal(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %row = nn.iota 0 {start = -3 : i64} : tensor<4x4xi64>
  %column = nn.iota 1 : tensor<4x4xi64>
  %mask = nn.compare gt %column, %row : tensor<4x4xi64>
  %y, %st = nn.attention %q, %k, %v mask %mask causal scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// Rows and columns swapped by a transpose, and keys chosen by select: seen where
// the query is not before the key, else where they are equal.
// CHECK-LABEL: func.func @raises_through_movement
// CHECK-NEXT: nn.attention %{{.*}}, %{{.*}}, %{{.*}} causal scale
func.func @raises_through_movement(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %index = nn.iota 0 : tensor<4xi64>
  %a = nn.broadcast %index : tensor<4xi64> -> tensor<4x4xi64>
  %b = nn.transpose %a [1, 0] : tensor<4x4xi64> -> tensor<4x4xi64>
  %gt = nn.compare gt %b, %a : tensor<4x4xi64>
  %eq = nn.compare eq %b, %a : tensor<4x4xi64>
  %true = nn.constant dense<true> : tensor<4x4xi1>
  %seen = nn.select %gt, %true, %eq : tensor<4x4xi1>, tensor<4x4xi1>
  %mask = nn.reshape %seen : tensor<4x4xi1> -> tensor<1x1x4x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}

// -----

// Keys that no interval describes: every other one.
// CHECK-LABEL: func.func @keeps_even_keys
// CHECK: nn.attention {{.*}} mask %
func.func @keeps_even_keys(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %mask = nn.constant dense<[[true, false, true, false]]> : tensor<1x4xi1>
  %y, %st = nn.attention %q, %k, %v mask %mask scale 0.5 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4xi1> -> tensor<1x2x4x8xf32>, tensor<1x2x4xf32>
  return %y : tensor<1x2x4x8xf32>
}
