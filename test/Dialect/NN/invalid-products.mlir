// Every diagnostic of the verifiers of attention, biases, the composites and loss heads.
// RUN: rondo-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @attention_rank(%q: tensor<1x4x8x16xf32>, %k: tensor<2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op key has rank 3, expected 4: [batch, heads, length, size]}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_element_type(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf16>) {
  // expected-error @+1 {{'nn.attention' op value has element type 'f16', but query has 'f32'}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf16> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_batch(%q: tensor<1x4x8x16xf32>, %k: tensor<3x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op batch extents differ: query 1, key 3, value 1}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<3x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_value_heads(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x4x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op key has 2 heads, but value has 4}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x4x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_heads(%q: tensor<1x4x8x16xf32>, %k: tensor<1x3x8x16xf32>, %v: tensor<1x3x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op 4 query heads are not a multiple of 3 key heads}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x3x8x16xf32>, tensor<1x3x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_length(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x9x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op key has length 9, but value has 8}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x9x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_size(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x8xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op query has head size 16, but key has 8}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x8xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_result(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op result has shape [1, 4, 8, 16], expected [1, 4, 8, 12]}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_statistics(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op statistics have shape [1, 8, 4], expected [1, 4, 8]}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x8x4xf32>
  return
}

// -----

func.func @attention_statistics_type(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op statistics are f64 exactly where query is, but have element type 'f64' for 'f32'}}
  %r, %s = nn.attention %q, %k, %v scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf64>
  return
}

// -----

func.func @attention_window(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op window 0 must be positive}}
  %r, %s = nn.attention %q, %k, %v window 0 scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_mask_type(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %m: tensor<8x8xi64>) {
  // expected-error @+1 {{'nn.attention' op mask must be additive (float) or boolean, but has element type 'i64'}}
  %r, %s = nn.attention %q, %k, %v mask %m scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<8x8xi64> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_mask_shape(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %m: tensor<2x8x8xi1>) {
  // expected-error @+1 {{'nn.attention' op mask of shape [2, 8, 8] does not broadcast to the scores' [1, 4, 8, 8]}}
  %r, %s = nn.attention %q, %k, %v mask %m scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<2x8x8xi1> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_fill_without_mask(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op fill says what a mask does, but there is no mask}}
  %r, %s = nn.attention %q, %k, %v fill -1.0e30 scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_unguarded_without_mask(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op unguarded says what a mask does, but there is no mask}}
  %r, %s = nn.attention %q, %k, %v unguarded scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_fill_of_additive_mask(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %m: tensor<8x8xf32>) {
  // expected-error @+1 {{'nn.attention' op fill is the score of keys that a boolean mask hides, but the mask is additive}}
  %r, %s = nn.attention %q, %k, %v mask %m fill -1.0e30 scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<8x8xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_infinite_fill(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %m: tensor<8x8xi1>) {
  // expected-error @+1 {{'nn.attention' op fill must be finite}}
  %r, %s = nn.attention %q, %k, %v mask %m fill 0xFFF0000000000000 scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<8x8xi1> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_grad_cotangent(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %r: tensor<1x4x8x12xf32>, %s: tensor<1x4x8xf32>, %c: tensor<1x4x8x16xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op cotangent has type 'tensor<1x4x8x16xf32>', but the result has type 'tensor<1x4x8x12xf32>'}}
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, %s, %c scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x4x8x12xf32>, tensor<1x4x8xf32>, tensor<1x4x8x16xf32> -> tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>
  return
}

// -----

func.func @attention_grad_result(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %r: tensor<1x4x8x12xf32>, %s: tensor<1x4x8xf32>, %c: tensor<1x4x8x12xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op d_key has type 'tensor<1x4x8x16xf32>', expected 'tensor<1x2x8x16xf32>'}}
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, %s, %c scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x4x8x12xf32>, tensor<1x4x8xf32>, tensor<1x4x8x12xf32> -> tensor<1x4x8x16xf32>, tensor<1x4x8x16xf32>, tensor<1x2x8x12xf32>
  return
}

// -----

// Rows before heads, in the derivative as in the result.
func.func @attention_rows_first(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>) {
  // expected-error @+1 {{'nn.attention' op result has shape [1, 4, 8, 12], expected [1, 8, 4, 12]}}
  %r, %s = nn.attention %q, %k, %v rows_first scale 0.25 : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32> -> tensor<1x4x8x12xf32>, tensor<1x4x8xf32>
  return
}

// -----

func.func @attention_grad_rows_first(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %r: tensor<1x8x4x12xf32>, %s: tensor<1x4x8xf32>, %c: tensor<1x8x4x12xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op d_query has type 'tensor<1x4x8x16xf32>', expected 'tensor<1x8x4x16xf32>'}}
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, %s, %c rows_first scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x8x4x12xf32>, tensor<1x4x8xf32>, tensor<1x8x4x12xf32> -> tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>
  return
}

// -----

func.func @attention_grad_window(%q: tensor<1x4x8x16xf32>, %k: tensor<1x2x8x16xf32>, %v: tensor<1x2x8x12xf32>, %r: tensor<1x4x8x12xf32>, %s: tensor<1x4x8xf32>, %c: tensor<1x4x8x12xf32>) {
  // expected-error @+1 {{'nn.attention_grad' op window -1 must be positive}}
  %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %r, %s, %c window -1 scale 0.25
    : tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>, tensor<1x4x8x12xf32>, tensor<1x4x8xf32>, tensor<1x4x8x12xf32> -> tensor<1x4x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x12xf32>
  return
}

// -----

func.func @rms_norm_scalar(%x: tensor<f32>, %w: tensor<1xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op needs a last axis, but the operand is a scalar}}
  %0 = nn.rms_norm %x, %w epsilon 0.0 : tensor<f32>, tensor<1xf32>
  return
}

// -----

func.func @rms_norm_weight(%x: tensor<2x8xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op weight has shape [4], expected [8], the operand's last extent}}
  %0 = nn.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_weight_type(%x: tensor<2x8xbf16>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op weight has element type 'f32', but the operand has 'bf16'}}
  %0 = nn.rms_norm %x, %w epsilon 1.0e-5 : tensor<2x8xbf16>, tensor<8xf32>
  return
}

// -----

func.func @rms_norm_epsilon(%x: tensor<2x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op epsilon -1.000000e+00 must not be negative}}
  %0 = nn.rms_norm %x, %w epsilon -1.0 : tensor<2x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rope_odd(%x: tensor<2x7xf32>, %c: tensor<7xf32>) {
  // expected-error @+1 {{'nn.rope' op needs a last axis of even extent, but the operand has shape [2, 7]}}
  %0 = nn.rope %x, %c, %c : tensor<2x7xf32>, tensor<7xf32>, tensor<7xf32>
  return
}

// -----

func.func @rope_table_type(%x: tensor<2x8xbf16>, %c: tensor<8xbf16>, %s: tensor<8xf32>) {
  // expected-error @+1 {{'nn.rope' op sine has element type 'f32', but the operand has 'bf16'}}
  %0 = nn.rope %x, %c, %s : tensor<2x8xbf16>, tensor<8xbf16>, tensor<8xf32>
  return
}

// -----

func.func @rope_table_shape(%x: tensor<2x8xf32>, %c: tensor<4x8xf32>) {
  // expected-error @+1 {{'nn.rope' op cosine of shape [4, 8] does not broadcast to [2, 8]}}
  %0 = nn.rope %x, %c, %c : tensor<2x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @cross_entropy_shape(%x: tensor<4x8xf32>, %l: tensor<3xi64>) {
  // expected-error @+1 {{needs logits [n, classes] and labels [n], but has 'tensor<4x8xf32>' and 'tensor<3xi64>'}}
  %0 = nn.cross_entropy %x, %l : tensor<4x8xf32>, tensor<3xi64>
  return
}

// -----

func.func @linear_cross_entropy_shape(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{needs hidden [n, k], weight [k, classes] and labels [n], but has [4, 8], [16, 8] and [4]}}
  %0 = nn.linear_cross_entropy %x, %w, %l chunk 2 logits f32 : tensor<4x8xf32>, tensor<16x8xf32>, tensor<4xi64>
  return
}

// -----

func.func @linear_cross_entropy_labels(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %l: tensor<3xi64>) {
  // expected-error @+1 {{needs hidden [n, k], weight [classes, k] and labels [n], but has [4, 8], [16, 8] and [3]}}
  %0 = nn.linear_cross_entropy %x, %w, %l transpose_weight chunk 2 logits f32 : tensor<4x8xf32>, tensor<16x8xf32>, tensor<3xi64>
  return
}

// -----

func.func @linear_cross_entropy_weight_type(%x: tensor<4x8xbf16>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{weight has element type 'f32', but hidden has 'bf16'}}
  %0 = nn.linear_cross_entropy %x, %w, %l chunk 2 logits f32 : tensor<4x8xbf16>, tensor<8x16xf32>, tensor<4xi64>
  return
}

// -----

func.func @linear_cross_entropy_bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>, %b: tensor<8xf32>) {
  // expected-error @+1 {{bias has type 'tensor<8xf32>', expected one 'f32' for each of 16 classes}}
  %0 = nn.linear_cross_entropy %x, %w, %l bias %b chunk 2 logits f32 : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi64>, tensor<8xf32>
  return
}

// -----

func.func @linear_cross_entropy_logits(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %l: tensor<4xi64>) {
  // expected-error @+1 {{logits of type 'f16' must have hidden's element type 'bf16' or f32}}
  %0 = nn.linear_cross_entropy %x, %w, %l chunk 2 logits f16 : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4xi64>
  return
}

// -----

func.func @linear_cross_entropy_logits_f64(%x: tensor<4x8xf64>, %w: tensor<8x16xf64>, %l: tensor<4xi64>) {
  // expected-error @+1 {{logits of type 'f32' must have hidden's element type 'f64'}}
  %0 = nn.linear_cross_entropy %x, %w, %l chunk 2 logits f32 : tensor<4x8xf64>, tensor<8x16xf64>, tensor<4xi64>
  return
}

// -----

func.func @linear_cross_entropy_chunk(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{chunk of 0 rows must be positive}}
  %0 = nn.linear_cross_entropy %x, %w, %l chunk 0 logits f32 : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi64>
  return
}

// -----

func.func @linear_cross_entropy_grad_result(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %l: tensor<4xi64>, %s: tensor<f32>) {
  // expected-error @+1 {{d_weight has type 'tensor<8x16xbf16>', expected 'tensor<8x16xf32>'}}
  %0:3 = nn.linear_cross_entropy_grad %x, %w, %l, %s chunk 2 logits f32 : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4xi64>, tensor<f32> -> tensor<f32>, tensor<4x8xbf16>, tensor<8x16xbf16>
  return
}

// -----

func.func @linear_cross_entropy_grad_bias(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %l: tensor<4xi64>, %s: tensor<f32>) {
  // expected-error @+1 {{has d_bias exactly where it has a bias}}
  %0:4 = nn.linear_cross_entropy_grad %x, %w, %l, %s chunk 2 logits f32 : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xi64>, tensor<f32> -> tensor<f32>, tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>
  return
}

// -----

func.func @matmul_bias_rank(%x: tensor<2x4x8xf32>, %w: tensor<2x8x16xf32>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'nn.matmul' op has a bias, but rhs is of rank 3; one matrix must serve all rows}}
  %0 = nn.matmul %x, %w bias %b : tensor<2x4x8xf32>, tensor<2x8x16xf32>, tensor<16xf32> -> tensor<2x4x16xf32>
  return
}

// -----

func.func @matmul_bias_type(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>, %b: tensor<16xf32>) {
  // expected-error @+1 {{'nn.matmul' op bias has type 'tensor<16xf32>', expected 'tensor<16xbf16>'}}
  %0 = nn.matmul %x, %w bias %b : tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<16xf32> -> tensor<4x16xf32>
  return
}
