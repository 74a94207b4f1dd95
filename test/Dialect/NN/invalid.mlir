// Every diagnostic of the nn dialect's verifiers and shape inference.
// RUN: rondo-opt %s --split-input-file --verify-diagnostics -o /dev/null

// expected-error @+1 {{'nn.parameter' op of element type 'i64' cannot be trainable}}
nn.parameter @ids trainable : tensor<4xi64> {stored = #nn.stored<"", 0, 32>}

// -----

// expected-error @+1 {{'nn.parameter' op is stored at offset -8 with length 32; both must be non-negative}}
nn.parameter @w : tensor<8xf32> {stored = #nn.stored<"", -8, 32>}

// -----

// expected-error @+1 {{'nn.parameter' op has both a stored range and a value}}
nn.parameter @w : tensor<2xf32> {stored = #nn.stored<"", 0, 8>, value = dense<1.0> : tensor<2xf32>}

// -----

// expected-error @+1 {{'nn.parameter' op with a value the compiler folded cannot be trainable}}
nn.parameter @w trainable : tensor<2xf32> {value = dense<1.0> : tensor<2xf32>}

// -----

// expected-error @+1 {{'nn.parameter' op has type 'tensor<2xf32>', but its value has type 'tensor<3xf32>'}}
nn.parameter @w : tensor<2xf32> {value = dense<1.0> : tensor<3xf32>}

// -----

// expected-error @+1 {{'nn.parameter' op copies_transposed has 2 entries for 1 copies}}
nn.parameter @w : tensor<2xf32> {copies = ["v"], copies_transposed = array<i1: true, false>}

// -----

// expected-error @+1 {{'nn.parameter' op is stored as 'i64' and read as 'f32'; both must be floating-point types}}
nn.parameter @w : tensor<2xf32> {stored_type = i64}

// -----

// expected-error @+1 {{'nn.parameter' op has both a stored type and a value}}
nn.parameter @w : tensor<2xbf16> {stored_type = f32, value = dense<1.0> : tensor<2xbf16>}

// -----

// expected-error @+1 {{type attribute of}}
nn.parameter @w : tensor<2x?xf32>

// -----

func.func @read_unknown() {
  // expected-error @+1 {{'nn.read' op no nn.parameter is called 'missing'}}
  %0 = nn.read @missing : tensor<2xf32>
  return
}

// -----

nn.parameter @w : tensor<2xf32>
func.func @read_other_type() {
  // expected-error @+1 {{'nn.read' op has type 'tensor<3xf32>', but parameter 'w' has type 'tensor<2xf32>'}}
  %0 = nn.read @w : tensor<3xf32>
  return
}

// -----

func.func @constant_of_vector() {
  // expected-error @+1 {{'nn.constant' op result #0 must be statically shaped tensor}}
  %0 = nn.constant dense<1.0> : vector<2xf32>
  return
}

// -----

func.func @iota_axis() {
  // expected-error @+1 {{'nn.iota' op axis 2 is out of range: the result has rank 2}}
  %0 = nn.iota 2 : tensor<2x3xi64>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{'nn.exp' op operand #0 must be statically shaped tensor}}
  %0 = nn.exp %x : tensor<?xf32>
  return
}

// -----

func.func @integers_where_floats(%x: tensor<2xi64>) {
  // expected-error @+1 {{'nn.exp' op operand #0 must be statically shaped tensor}}
  %0 = nn.exp %x : tensor<2xi64>
  return
}

// -----

func.func @no_implicit_broadcast(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'nn.add' op requires the same type for all operands and results}}
  %0 = "nn.add"(%x, %y) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @is_nan_of_dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{operand must be a tensor of static shape, but is 'tensor<?xf32>'}}
  %0 = nn.is_nan %x : tensor<?xf32>
  return
}

// -----

func.func @compare_of_dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{lhs must be a tensor of static shape, but is 'tensor<?xf32>'}}
  %0 = nn.compare lt %x, %x : tensor<?xf32>
  return
}

// -----

func.func @select_condition(%c: tensor<3xi1>, %x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.select' op condition has shape [3], but the result has shape [2, 3]}}
  %0 = nn.select %c, %x, %x : tensor<3xi1>, tensor<2x3xf32>
  return
}

// -----

func.func @cast_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.cast' op changes the shape from [2, 3] to [3, 2]}}
  %0 = nn.cast %x : tensor<2x3xf32> to tensor<3x2xf16>
  return
}

// -----

func.func @reshape_elements(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.reshape' op [2, 3] has 6 elements, but [4, 2] has 8}}
  %0 = nn.reshape %x : tensor<2x3xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @reshape_element_type(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.reshape' op operand and result differ in element type: 'f32' and 'f16'}}
  %0 = nn.reshape %x : tensor<2x3xf32> -> tensor<6xf16>
  return
}

// -----

func.func @broadcast_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.broadcast' op [2, 3] does not broadcast to [2, 4]}}
  %0 = nn.broadcast %x : tensor<2x3xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @broadcast_rank(%x: tensor<1x3xf32>) {
  // expected-error @+1 {{'nn.broadcast' op [1, 3] does not broadcast to [3]}}
  %0 = nn.broadcast %x : tensor<1x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @broadcast_element_type(%x: tensor<3xf32>) {
  // expected-error @+1 {{'nn.broadcast' op operand and result differ in element type: 'f32' and 'i64'}}
  %0 = nn.broadcast %x : tensor<3xf32> -> tensor<2x3xi64>
  return
}

// -----

func.func @transpose_length(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.transpose' op permutation has 3 entries, but the operand has rank 2}}
  %0 = nn.transpose %x [1, 0, 2] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @transpose_permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.transpose' op [1, 1] is not a permutation of 2 axes}}
  %0 = nn.transpose %x [1, 1] : tensor<2x3xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.transpose' op [-1, 0] is not a permutation of 2 axes}}
  %0 = nn.transpose %x [-1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----

func.func @transpose_shape(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.transpose' op result has shape [2, 3], expected [3, 2]}}
  %0 = nn.transpose %x [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_starts(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.slice' op starts has 1 entries, but the operand has rank 2}}
  %0 = nn.slice %x [0] [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_steps(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.slice' op steps has 1 entries, but the operand has rank 2}}
  %0 = nn.slice %x [0, 0] [1] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_rank(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.slice' op changes the rank from 2 to 1}}
  %0 = nn.slice %x [0, 0] [1, 1] : tensor<2x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @slice_step_zero(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.slice' op step of axis 1 is 0}}
  %0 = nn.slice %x [0, 0] [1, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_past_end(%x: tensor<2x8xf32>) {
  // expected-error @+1 {{'nn.slice' op axis 1: 3 elements from 4 by step 2 leave the operand's extent 8}}
  %0 = nn.slice %x [0, 4] [1, 2] : tensor<2x8xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_past_start(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.slice' op axis 0: 3 elements from 3 by step -2 leave the operand's extent 8}}
  %0 = nn.slice %x [3] [-2] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @slice_negative_start(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.slice' op axis 0: 1 elements from -1 by step 1 leave the operand's extent 8}}
  %0 = nn.slice %x [-1] [1] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

// A step whose products overflow is out of range like any other.
func.func @slice_huge_step(%x: tensor<8xf32>) {
  // expected-error @+1 {{'nn.slice' op axis 0: 3 elements from 0 by step 9223372036854775807 leave}}
  %0 = nn.slice %x [0] [9223372036854775807] : tensor<8xf32> -> tensor<3xf32>
  return
}

// -----

func.func @pad_length(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.pad' op low has 1 entries, but the operand has rank 2}}
  %0 = nn.pad %x [0] [0, 0] 0.0 : f32 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_high_length(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'nn.pad' op high has 3 entries, but the operand has rank 2}}
  %0 = nn.pad %x [0, 0] [0, 0, 0] 0.0 : f32 : tensor<2x3xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<3xf32>) {
  // expected-error @+1 {{'nn.pad' op value 0 : i64 is not of the element type 'f32'}}
  %0 = nn.pad %x [0] [1] 0 : i64 : tensor<3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<3xf32>) {
  // expected-error @+1 {{'nn.pad' op axis 0 is padded by -1 and 0; amounts must be non-negative (use nn.slice to crop)}}
  %0 = nn.pad %x [-1] [0] 0.0 : f32 : tensor<3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @pad_shape(%x: tensor<3xf32>) {
  // expected-error @+1 {{'nn.pad' op result has shape [4], expected [6]}}
  %0 = nn.pad %x [1] [2] 0.0 : f32 : tensor<3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @concat_of_nothing() {
  // expected-error @+2 {{needs at least one operand}}
  // expected-error @+1 {{'nn.concat' op failed to infer returned types}}
  %0 = "nn.concat"() {axis = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<3xf32>) {
  // expected-error @+1 {{axis 1 is out of range: the operand has rank 1}}
  %0 = nn.concat 1, %x, %x : tensor<3xf32>, tensor<3xf32>
  return
}

// -----

func.func @concat_element_type(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error @+1 {{operand 1 has element type 'f16', but operand 0 has 'f32'}}
  %0 = nn.concat 0, %x, %y : tensor<3xf32>, tensor<3xf16>
  return
}

// -----

func.func @concat_shape(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{operand 1 of shape [2, 4] differs from operand 0 of shape [2, 3] in more than axis 0}}
  %0 = nn.concat 0, %x, %y : tensor<2x3xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{axis 2 is out of range: the operand has rank 2}}
  %0 = nn.gather %x, %i axis 2 : tensor<2x3xf32>, tensor<4xi64>
  return
}

// -----

func.func @scatter_axis(%x: tensor<4x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'nn.scatter_add' op axis -1 is out of range: the result has rank 2}}
  %0 = nn.scatter_add %x, %i axis -1 : tensor<4x3xf32>, tensor<4xi64> -> tensor<8x3xf32>
  return
}

// -----

func.func @scatter_shape(%x: tensor<5x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'nn.scatter_add' op updates have shape [5, 3], expected [4, 3]}}
  %0 = nn.scatter_add %x, %i axis 0 : tensor<5x3xf32>, tensor<4xi64> -> tensor<8x3xf32>
  return
}

// -----

func.func @scatter_element_type(%x: tensor<4x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'nn.scatter_add' op operand and result differ in element type: 'f32' and 'f16'}}
  %0 = nn.scatter_add %x, %i axis 0 : tensor<4x3xf32>, tensor<4xi64> -> tensor<8x3xf16>
  return
}

// -----

func.func @gather_nd_batch(%x: tensor<2x3xf32>, %i: tensor<2x1xi64>) {
  // expected-error @+1 {{batch_dims 2 is out of range: the operand has rank 2, the indices 2}}
  %0 = nn.gather_nd %x, %i batch_dims 2 : tensor<2x3xf32>, tensor<2x1xi64>
  return
}

// -----

func.func @gather_nd_batch_shape(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @+1 {{the first 1 axes of operand [2, 3] and indices [4, 1] differ}}
  %0 = nn.gather_nd %x, %i batch_dims 1 : tensor<2x3xf32>, tensor<4x1xi64>
  return
}

// -----

func.func @gather_nd_tuple(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>) {
  // expected-error @+1 {{index tuples have 3 entries, but the operand has only 2 axes after 0 batch axes}}
  %0 = nn.gather_nd %x, %i : tensor<2x3xf32>, tensor<4x3xi64>
  return
}

// -----

func.func @reduce_axis(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axis 2 is out of range: the operand has rank 2}}
  %0 = nn.reduce sum %x [0, 2] : tensor<2x3xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{axes [1, 0] are not in increasing order}}
  %0 = nn.reduce sum %x [1, 0] : tensor<2x3xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<2x3xf32>) {
  // expected-error @+2 {{'nn.reduce' op failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  %0 = "nn.reduce"(%x) {kind = #nn<reduction sum>, axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @cumsum_axis(%x: tensor<3xf32>) {
  // expected-error @+1 {{axis 1 is out of range: the operand has rank 1}}
  %0 = nn.cumsum %x axis 1 : tensor<3xf32>
  return
}

// -----

func.func @softmax_scalar(%x: tensor<f32>) {
  // expected-error @+1 {{'nn.softmax' op needs a last axis, but the operand is a scalar}}
  %0 = nn.softmax %x : tensor<f32>
  return
}

// -----

func.func @matmul_operand_types(%x: tensor<2x3xf32>, %y: tensor<3x4xbf16>) {
  // expected-error @+1 {{'nn.matmul' op operands differ in element type: 'f32' and 'bf16'}}
  %0 = nn.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xbf16> -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_narrow_result(%x: tensor<2x3xf16>, %y: tensor<3x4xf16>) {
  // expected-error @+1 {{'nn.matmul' op result of element type 'bf16' must have the operands' element type or a wider one; the operands have 'f16'}}
  %0 = nn.matmul %x, %y : tensor<2x3xf16>, tensor<3x4xf16> -> tensor<2x4xbf16>
  return
}

// -----

func.func @matmul_contraction(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op [2, 3] and [3, 4] (transposed) cannot be multiplied}}
  %0 = nn.matmul %x, %y transpose_rhs : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_batch(%x: tensor<5x2x3xf32>, %y: tensor<1x3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op [5, 2, 3] and [1, 3, 4] cannot be multiplied}}
  %0 = nn.matmul %x, %y : tensor<5x2x3xf32>, tensor<1x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @matmul_transposed_batch(%x: tensor<5x3x2xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op [5, 3, 2] (transposed) and [3, 4] cannot be multiplied}}
  %0 = nn.matmul %x, %y transpose_lhs : tensor<5x3x2xf32>, tensor<3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @matmul_vector(%x: tensor<3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op [3] and [3, 4] cannot be multiplied}}
  %0 = nn.matmul %x, %y : tensor<3xf32>, tensor<3x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @matmul_shape(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.matmul' op result has shape [4, 2], expected [2, 4]}}
  %0 = nn.matmul %x, %y : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<4x2xf32>
  return
}
