// RUN: rondo-opt %s -split-input-file -verify-diagnostics --rondo-pipe-verify-phase=phase=grad -o /dev/null

// Right as it is.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// What a layer needs and its body lacks.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{needs the entry 'forward_products', which @first lacks}}
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{needs the entry 'forward_all', which @first lacks}}
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{needs the entry 'forward_backward', which @head lacks}}
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// Cotangents of what depends on something that trains, and of nothing else.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  // expected-error @+1 {{needs the cotangents [0] of what enters, but 'forward_backward' of @head gives []}}
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// A frozen layer in front of everything: no entry but `forward`.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{trains nothing, at it or before it, but @first has the entry 'forward_products'}}
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@f] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// No gradient of what is frozen.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 1 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a1, %a2 : tensor<4xf32>
    %l = nn.reduce sum %y [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 1 : i64}, %a2: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 1 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    %l = nn.reduce sum %y [0] : tensor<4xf32>
    %d = nn.broadcast %a2 : tensor<f32> -> tensor<4xf32>
    %g = nn.mul %d, %a1 : tensor<4xf32>
    %h = nn.mul %d, %a0 : tensor<4xf32>
    return %l, %g, %h : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has the frozen parameter @f, but 'forward_backward' of @first computes its gradient}}
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w, @f] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

// A gradient of everything that trains.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f trainable : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}, %a2: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 1 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a1, %a2 : tensor<4xf32>
    %l = nn.reduce sum %y [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 1 : i64}, %a2: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 1 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    %l = nn.reduce sum %y [0] : tensor<4xf32>
    %d = nn.broadcast %a2 : tensor<f32> -> tensor<4xf32>
    %h = nn.mul %d, %a0 : tensor<4xf32>
    return %l, %h : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{has the trainable parameter @w, which reaches the loss, but 'forward_backward' of @first computes no gradient of it; freeze it}}
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w, @f] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}

// -----

// No dead operation.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    // expected-error @+1 {{is dead in the entry 'backward_all_nodx' of @first}}
    %dead = nn.neg %a0 : tensor<4xf32>
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// The same arithmetic.
nn.parameter @w trainable : tensor<4xf32>
nn.parameter @f : tensor<4xf32>
pipe.body @first {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @forward_products(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<products>} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_products() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<products>} {
    return
  }
  func.func @backward_products_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<products>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  // expected-error @+1 {{does not compute the output as 'forward' does: it lacks 'nn.mul' or has it elsewhere}}
  func.func @forward_all(%a0: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<parameter>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<output>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_save>, pipe.save_set = #pipe.save_set<all>} {
    %y = nn.add %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func @rebuild_all() attributes {pipe.entry = #pipe.entry<rebuild>, pipe.save_set = #pipe.save_set<all>} {
    return
  }
  func.func @backward_all_nodx(%a0: tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}, %a1: tensor<4xf32> {pipe.role = #pipe.role<side>, pipe.index = 0 : i64}) -> (tensor<4xf32> {pipe.role = #pipe.role<gradient>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<backward>, pipe.save_set = #pipe.save_set<all>, pipe.nodx} {
    %y = nn.mul %a0, %a1 : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
pipe.body @head {
  func.func @forward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    return %l : tensor<f32>
  }
  func.func @forward_backward(%a0: tensor<4xf32> {pipe.role = #pipe.role<boundary>, pipe.index = 0 : i64}, %a1: tensor<f32> {pipe.role = #pipe.role<seed>, pipe.index = 0 : i64}) -> (tensor<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}, tensor<4xf32> {pipe.role = #pipe.role<cotangent>, pipe.index = 0 : i64}) attributes {pipe.entry = #pipe.entry<forward_backward>} {
    %l = nn.reduce sum %a0 [0] : tensor<4xf32>
    %d = nn.broadcast %a1 : tensor<f32> -> tensor<4xf32>
    return %l, %d : tensor<f32>, tensor<4xf32>
  }
}
pipe.chain @loss attributes {input_names = ["x"]} {
^bb0(%x: tensor<4xf32>):
  %0 = pipe.layer "first" @first () sides (%x : tensor<4xf32>) [@w] -> tensor<4xf32>
  %1 = pipe.layer "head" @head (%0 : tensor<4xf32>) sides () [] -> tensor<f32>
  pipe.yield %1 : tensor<f32>
}

// -----

// Nor can launch lists be checked like this.
// expected-error @+1 {{has no func.func 'forward', which phase 'grad' needs}}
pipe.body @head {
  kern.func @forward(%l: memref<f32> {pipe.role = #pipe.role<loss>, pipe.index = 0 : i64}) attributes {inputs = 0 : i64, pipe.entry = #pipe.entry<forward>} {
    kern.zero %l : memref<f32>
    kern.return
  }
}
pipe.chain @loss attributes {input_names = []} {
  %0 = pipe.layer "head" @head () sides () [] -> tensor<f32>
  pipe.yield %0 : tensor<f32>
}
