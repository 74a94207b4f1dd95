// RUN: rondo-opt %s --rondo-nn-verify-raised --split-input-file --verify-diagnostics

// All problems are reported, not the first alone.
func.func @mask(%q: tensor<1x1x2x2xf32>, %m: tensor<2x2xf32>) -> (tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>) {
  // expected-error @unknown {{attention at node 'first' still has a mask operand; run rondo-nn-decompose-masked-attention}}
  %0, %s0 = nn.attention %q, %q, %q mask %m scale 1.0 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<2x2xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2xf32> loc("first")
  // expected-error @unknown {{attention at node 'second' still has a mask operand; run rondo-nn-decompose-masked-attention}}
  %1, %s1 = nn.attention %q, %q, %q mask %m scale 1.0 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<2x2xf32> -> tensor<1x1x2x2xf32>, tensor<1x1x2xf32> loc("second")
  return %0, %1 : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>
}

// -----

func.func @other_dialect(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{'arith.addf' is not an op of the nn dialect, which alone may be left after raise}}
  %0 = arith.addf %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Comparing 20,000 x 20,000 indices that nobody recognised as a mask.
func.func @huge(%x: tensor<20000x20000xf32>) -> tensor<20000x20000xf32> {
  %index = nn.iota 0 : tensor<20000xi64>
  %columns = nn.broadcast %index : tensor<20000xi64> -> tensor<20000x20000xi64>
  %zero = nn.constant dense<0> : tensor<20000x20000xi64>
  // expected-error @unknown {{node 'mask' computes 400000000 elements ([20000, 20000]) from constants alone, more than the limit of 268435456; if this is an attention mask, it is neither causal nor a sliding window: pass it as an input, or export the model with shorter sequences}}
  %mask = nn.compare ne %columns, %zero : tensor<20000x20000xi64> loc("mask")
  %y = nn.select %mask, %x, %x : tensor<20000x20000xi1>, tensor<20000x20000xf32>
  return %y : tensor<20000x20000xf32>
}

// -----

// Repeating one value or one row is no computation, and what depends on an
// input may be as large as it likes.
func.func @valid(%x: tensor<20000x20000xf32>) -> tensor<20000x20000xf32> {
  %two = nn.constant dense<2.0> : tensor<20000x20000xf32>
  %0 = nn.mul %x, %two : tensor<20000x20000xf32>
  %row = nn.iota 0 : tensor<20000xf32>
  %rows = nn.broadcast %row : tensor<20000xf32> -> tensor<20000x20000xf32>
  %1 = nn.add %0, %rows : tensor<20000x20000xf32>
  return %1 : tensor<20000x20000xf32>
}
