// RUN: rondo-opt %s -split-input-file -verify-diagnostics -o /dev/null

// Attributes of entries have their kinds.
// expected-error @+1 {{has "pipe.entry" = 1 : i64, expected a #pipe.entry<...>}}
func.func @f() attributes {pipe.entry = 1 : i64} {
  return
}

// -----

// expected-error @+1 {{has "pipe.save_set" = 1 : i64, expected a #pipe.save_set<...>}}
func.func @f() attributes {pipe.save_set = 1 : i64} {
  return
}

// -----

// expected-error @+1 {{has "pipe.nodx" = 1 : i64, expected a unit attribute}}
func.func @f() attributes {pipe.nodx = 1 : i64} {
  return
}

// -----

// expected-error @+1 {{argument 0 has pipe.role = 1 : i64, expected a #pipe.role<...>}}
func.func @f(%a: tensor<4xf32> {pipe.role = 1 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument 0 has pipe.index = -1 : i64, expected an i64 that is not negative}}
func.func @f(%a: tensor<4xf32> {pipe.index = -1 : i64}) {
  return
}

// -----

// Every entry by itself: kind, name, roles, order.
pipe.body @b {
  // expected-error @+1 {{is in a pipe.body and needs pipe.entry, and pipe.save_set exactly where the entry concerns a save set}}
  func.func @forward() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{is in a pipe.body and needs pipe.entry, and pipe.save_set exactly where the entry concerns a save set}}
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>} {
    return
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{has the save set 'input', which needs no entry of its own}}
  func.func @rebuild_input() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<input>} {
    return
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{has pipe.nodx, which only backward entries have}}
  func.func @forward() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>, pipe.nodx} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{has the attributes of the entry 'backward_all_nodx'}}
  func.func @backward_all() attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    return
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{needs a body of one block}}
  func.func private @forward() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>}
}

// -----

pipe.body @b {
  // expected-error @+1 {{argument 0 needs pipe.role and pipe.index}}
  func.func @forward(%a0: tensor<4xf32> {pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{argument 0 has the role 'cotangent', which no argument of 'forward' has}}
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{argument 1 is out of order: arguments are sorted by role (boundary, saved, cotangent, side, parameter, seed), then index, and none comes twice}}
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{argument 1 is out of order}}
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{result 0 needs pipe.role and pipe.index}}
  func.func @forward() -> (tensor<4xf32> {pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{result 0 has the role 'gradient', which no result of 'forward' has}}
  func.func @forward() -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{result 0 has the role 'cotangent', which no result of 'backward_all_nodx' has}}
  func.func @backward_all_nodx() -> (tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{result 1 is out of order: results are sorted by role (output or loss, saved, cotangent, gradient), then index, and none comes twice}}
  func.func @backward_all() -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    %r1 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0, %r1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Entries against `forward`, which numbers everything.
// expected-error @+1 {{has no entry 'forward'}}
pipe.body @b {
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{must number the arguments of each role 0, 1, ... without gaps, and give one loss or at least one output, numbered likewise}}
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{must number the arguments of each role}}
  func.func @forward() attributes {pipe.entry = #pipe.entry<forward>} {
    return
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{has a loss of type 'tensor<4xf32>', expected a scalar f32}}
  func.func @forward() -> (tensor<4xf32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 is boundary 2, but there are only 2}}
  func.func @rebuild_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 2 : i64}) attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 is side 0, but there are only 0}}
  func.func @rebuild_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 is parameter 0 of type 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  func.func @rebuild_all(%a0: tensor<5xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 is cotangent 0 of type 'tensor<4xbf16>', expected 'tensor<4xf32>'}}
  func.func @backward_all(%a0: tensor<4xbf16> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{result 0 is cotangent 1, which has no derivative}}
  func.func @backward_all() -> (tensor<4xi64> {pipe.role = #pipe.role<cotangent>, pipe.index = 1 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0> : tensor<4xi64>
    return %r0 : tensor<4xi64>
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{result 0 is gradient 0 of type 'tensor<4xbf16>', expected 'tensor<4xf32>'}}
  func.func @backward_all() -> (tensor<4xbf16> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xbf16>
    return %r0 : tensor<4xbf16>
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{gives 0 outputs, but 'forward' gives 1}}
  func.func @forward_all() -> (tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{is only for the loss layer, but 'forward' gives no loss}}
  func.func @forward_backward() -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}

// -----

pipe.body @b {
  func.func @forward() -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
  // expected-error @+1 {{is not for the loss layer, which has 'forward_backward' alone}}
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

// The entries of one save set against each other.
// expected-error @+1 {{has some entries of the save set 'all' but not all: 'forward_', 'rebuild_' and 'backward_' (or its '_nodx') go together}}
pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  func.func @forward_all() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    %r1 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0, %r1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @backward_all() attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  // expected-error @+1 {{gives 0 saved values, but 'forward_all' gives 1}}
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  func.func @forward_all() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    %r1 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0, %r1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @backward_all() attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  // expected-error @+1 {{result 0 is saved 0 of type 'tensor<5xf32>', expected 'tensor<4xf32>'}}
  func.func @rebuild_all() -> (tensor<5xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<5xf32>
    return %r0 : tensor<5xf32>
  }
}

// -----

pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  func.func @forward_all() -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    %r1 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0, %r1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func @rebuild_all() -> (tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 is saved 1, but there are only 1}}
  func.func @backward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<saved>, pipe.index = 1 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
}

// -----

// The count of labels.
pipe.body @b {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<4xi64> {pipe.role = #pipe.role<boundary>, pipe.index = 1 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
  // expected-error @+1 {{must be the only entry of its body}}
  func.func @count() -> (tensor<f32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{must give one scalar f32}}
  func.func @count() -> (tensor<2xf32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %r0 = nn.constant dense<0.0> : tensor<2xf32>
    return %r0 : tensor<2xf32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{sides must be numbered 0, 1, ..., but argument 0 has 1}}
  func.func @count(%a0: tensor<2xi64> {pipe.role = #pipe.role<side>, pipe.index = 1 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}

// -----

pipe.body @b {
  // expected-error @+1 {{is in a pipe.body, which holds entries only}}
  nn.parameter @w : tensor<4xf32>
}

// -----

// Chains: inputs, and what goes from layer to layer.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{names 2 inputs, but has 1}}
pipe.chain @loss attributes {input_names = ["x", "y"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{names two inputs "x"}}
pipe.chain @loss attributes {input_names = ["x", "x"]} {
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// Even of inputs that no layer reads.
// expected-error @+1 {{input "y" has type 'tensor<4xi8>', expected a tensor of static shape of f32, bf16, f16, f64, i64, i32 or i1}}
pipe.chain @loss attributes {input_names = ["x", "y"]} {
^bb0(%x: tensor<4xf32>, %y: tensor<4xi8>):
  %0 = pipe.layer "l" @head () sides () [] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

// expected-error @+1 {{input "x" has type 'i32', expected a tensor of static shape}}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: i32):
  %0 = pipe.layer "l" @head () sides () [] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{is in a pipe.chain, which holds layers only}}
  %1 = nn.constant dense<0.0> : tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{must take all results of the layer before, in order}}
  %1 = pipe.layer "b" @head (%x : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{must take no boundary values: it is the first layer}}
  %0 = pipe.layer "a" @middle (%x : tensor<4xf32>) sides () [] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{has no layer}}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  pipe.yield
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  // expected-error @+1 {{must give the last layer's only result}}
  pipe.yield %x : tensor<4xf32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{must give a scalar f32, but gives 'tensor<4xf32>'}}
  pipe.yield %0 : tensor<4xf32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{needs both 'labels' and 'label_inputs', or none}}
pipe.chain @loss attributes {input_names = ["x"], labels = @middle} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{'label_inputs' has 1, but there are 1 inputs}}
pipe.chain @loss attributes {input_names = ["x"], labels = @middle, label_inputs = array<i64: 1>} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{names the labels @w, which is no pipe.body}}
pipe.chain @loss attributes {input_names = ["x"], labels = @w, label_inputs = array<i64: 0>} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{names the labels @middle, which has no entry 'count'}}
pipe.chain @loss attributes {input_names = ["x"], labels = @middle, label_inputs = array<i64: 0>} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @labels {
  func.func @count(%a0: tensor<4xi64> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{label inputs 0 has type 'tensor<4xf32>', but @labels has 'tensor<4xi64>'}}
pipe.chain @loss attributes {input_names = ["x"], labels = @labels, label_inputs = array<i64: 0>} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @labels {
  func.func @count(%a0: tensor<4xi64> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<count>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<count>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
// expected-error @+1 {{has 2 label inputs, but @labels has 1}}
pipe.chain @loss attributes {input_names = ["x"], labels = @labels, label_inputs = array<i64: 0, 0>} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// Layers against their bodies and parameters.
pipe.body @b {
}
// expected-error @+1 {{must be in a pipe.chain}}
%0 = pipe.layer "a" @b () sides () [] -> tensor<f32>

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{side 0 must be one of the chain's inputs, but is a result of another layer}}
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides (%0 : tensor<4xf32>) [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{names @w, which is no pipe.body}}
  %1 = pipe.layer "b" @w (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @empty {
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{names @empty, which has no well-formed entry 'forward'}}
  %1 = pipe.layer "b" @empty (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{names @first, which is no nn.parameter}}
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@first] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has 0 sides, but @first has 1}}
  %0 = pipe.layer "a" @first () sides () [@w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{parameters 0 has type 'tensor<5xf32>', but @first has 'tensor<4xf32>'}}
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@big] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has 2 parameters, but @first has 1}}
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w, @w] -> tensor<4xf32>
  %1 = pipe.layer "b" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{outputs 0 has type 'tensor<f32>', but @middle has 'tensor<4xf32>'}}
  %1 = pipe.layer "b" @middle (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @scalar {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "a" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{names @scalar, which gives no loss, but this is the last layer}}
  %1 = pipe.layer "b" @scalar (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @big trainable : tensor<5xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @middle {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<4xf32>
    return %r0 : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @early {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.body @late {
  func.func @forward(%a0: tensor<f32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %r0 = nn.constant dense<0.0> : tensor<f32>
    return %r0 : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{names @early, which gives the loss, but this is not the last layer}}
  %0 = pipe.layer "a" @early () sides (%x : tensor<4xf32>) [@w] -> tensor<f32>
  %1 = pipe.layer "b" @late (%0 : tensor<f32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}
