// RUN: rondo-opt %s -split-input-file -verify-diagnostics -o /dev/null

// A plan's own numbers.
// expected-error @+1 {{needs at least one device, round and micro-batch}}
pipe.plan @plan of @loss attributes {devices = 0 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has staleness 2, expected 0 or 1}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 2 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has rotation 2, expected less than the number of devices, 2}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 2 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has 'keep' for 2 layers and 'save' for 3}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{keeps 3 and saves 2 of layer 1, expected 0 (input), 1 (products) or 2 (all)}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 3, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{keeps 1 but saves 2 of layer 1: what is kept is nothing or what backward reads}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 1, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has buffers for the parameters of 3 slots, expected 1 or 2}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = "", parameter_slots = 3 : i64} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has buffers for the gradients of 0 slots, expected 1 or 2}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = "", gradient_slots = 0 : i64} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{rebuilds 3 of its 3 layers, expected fewer: the loss layer has nothing to rebuild}}
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64, rebuilt = 3 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{rebuilds layers, which only a fused stage does without need}}
  pipe.stage forward [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64, rebuilt = 1 : i64}
}

// -----

// expected-error @+1 {{names @loss, which is no pipe.chain}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// Stages: forward from layer 0, one fused, backward to layer 0.
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{has the layers [1, 1), expected at least one}}
  pipe.stage forward [1, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{has a negative time, flops or size}}
  pipe.stage forward [0, 1) {time = -1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{has a negative time, flops or size}}
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = -1 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{begins at layer 1, but the stages before it end at layer 2}}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{is a forward stage behind the fused one}}
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{is a second fused stage}}
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{runs the layers [1, 3), but what forward stages leave is [2, 3)}}
  pipe.stage fused [1, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{runs the layers [2, 4), but what forward stages leave is [2, 3)}}
  pipe.stage fused [2, 4) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  // expected-error @+1 {{is a backward stage before the fused one}}
  pipe.stage backward [0, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage forward [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [2, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{ends at layer 1, but what is left to run ends at layer 2}}
  pipe.stage backward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// expected-error @+1 {{has no fused stage}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage forward [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// What trains needs a backward stage.
nn.parameter @w trainable : tensor<2x4xf32> {stored = #nn.stored<"", 0, 32>}
pipe.body @first {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %w: tensor<2x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64})
      -> (tensor<2x4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %x, %w : tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
pipe.body @head {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64})
      -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %x [0, 1] : tensor<2x4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<2x4xf32>):
  %y = pipe.layer "first" @first () sides (%x : tensor<2x4xf32>) [@w] -> tensor<2x4xf32>
  %l = pipe.layer "head" @head (%y : tensor<2x4xf32>) sides () [] -> tensor<f32>
  pipe.yield %l : tensor<f32>
}
// expected-error @+1 {{has no backward stage for the layers below 1, but @w of layer 'first' trains}}
pipe.plan @plan of @loss attributes {devices = 1 : i64, rounds = 1 : i64, micro_batches = 1 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0>, save = array<i64: 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// What is frozen, with nothing that trains before it, needs none.
nn.parameter @w : tensor<2x4xf32> {stored = #nn.stored<"", 0, 32>}
pipe.body @first {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %w: tensor<2x4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64})
      -> (tensor<2x4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %x, %w : tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
pipe.body @head {
  func.func @forward(%x: tensor<2x4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64})
      -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %x [0, 1] : tensor<2x4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<2x4xf32>):
  %y = pipe.layer "first" @first () sides (%x : tensor<2x4xf32>) [@w] -> tensor<2x4xf32>
  %l = pipe.layer "head" @head (%y : tensor<2x4xf32>) sides () [] -> tensor<f32>
  pipe.yield %l : tensor<f32>
}
pipe.plan @plan of @loss attributes {devices = 1 : i64, rounds = 1 : i64, micro_batches = 1 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0>, save = array<i64: 2, 2>, reason = ""} {
  pipe.stage forward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.stage fused [1, 2) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

// Slots: every micro-batch of a stage and round once, in launch order.
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{has stage 1, but there are 1}}
  pipe.slot stage 1 round 0 device 0 micro_batches [0, 1]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{has round 1, but there are 1}}
  pipe.slot stage 0 round 1 device 0 micro_batches [0, 1]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{has device 2, but there are 2}}
  pipe.slot stage 0 round 0 device 2 micro_batches [0, 1]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 2 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.slot stage 0 round 1 device 0 micro_batches [0, 1]
  // expected-error @+1 {{of stage 0 and round 0 is behind stage 0 of round 1: slots are in launch order}}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{has no micro-batch}}
  pipe.slot stage 0 round 0 device 0 micro_batches []
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{has micro-batch 2, but a round has 2}}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 2]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
  // expected-error @+1 {{has micro-batch 1, which another slot of stage 0 and round 0 has too}}
  pipe.slot stage 0 round 0 device 1 micro_batches [1]
}

// -----

// expected-error @+1 {{has no slot for micro-batch 1 of stage 0 and round 1}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 2 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
  pipe.slot stage 0 round 1 device 1 micro_batches [0]
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  pipe.slot stage 0 round 0 device 0 micro_batches [0, 1]
  // expected-error @+1 {{must come before every slot}}
  pipe.stage backward [0, 1) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}

// -----

pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
  // expected-error @+1 {{is in a pipe.plan, which holds stages and slots only}}
  %c = nn.constant dense<0.0> : tensor<f32>
}

// -----

pipe.body @head {
  func.func @forward() -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "l" @head () sides () [] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}
// expected-error @+1 {{plans 3 layers, but @loss has 1}}
pipe.plan @plan of @loss attributes {devices = 2 : i64, rounds = 1 : i64, micro_batches = 2 : i64, staleness = 0 : i64, rotation = 0 : i64, keep = array<i64: 0, 0, 0>, save = array<i64: 2, 2, 2>, reason = ""} {
  pipe.stage fused [0, 3) {time = 1.0 : f64, flops = 1.0 : f64, parameter_bytes = 64 : i64, gradient_bytes = 0 : i64, device_bytes = 64 : i64}
}
