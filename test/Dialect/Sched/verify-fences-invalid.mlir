// What rondo-sched-verify-fences refuses, and events that go round in a circle.
// RUN: rondo-opt %s -rondo-sched-verify-fences -split-input-file -verify-diagnostics -o /dev/null

// expected-error @+1 {{nothing orders 'launch' (compute, device 0) after 'up' (activation_up, device 0) of the same iteration, yet both touch 'x' and one of them writes it}}
sched.program @race of @plan devices 1 rotation 0 period 1 {
^bb0(%earlier: !sched.event):
  %in = sched.buffer "in" : !sched.buffer<256, pinned>
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %0 = sched.upload "up" %in to %x activation_up on 0 after (%earlier) priority 0 duration 1.0 <> : !sched.buffer<256, pinned>, !sched.buffer<256, device>
  %1 = sched.launch "launch" @body::@forward(%x) [1] on 0 duration 1.0 <> : !sched.buffer<256, device>
  sched.next %1
}

// -----

// expected-error @+1 {{which its lane or its other waits imply already}}
sched.program @idle_event of @plan devices 1 rotation 0 period 1 {
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %0 = sched.zero "zero" %x on 0 duration 1.0 <> : !sched.buffer<256, device>
  %1 = sched.launch "launch" @body::@forward(%x) [3] on 0 after (%0) duration 1.0 <> : !sched.buffer<256, device>
  sched.next
}

// -----

sched.program @circle of @plan devices 1 rotation 0 period 1 {
^bb0(%a: !sched.event, %b: !sched.event):
  // expected-error @+1 {{passes block argument #0 round in a circle: it is no operation's event}}
  sched.next %b, %a
}

// -----

// expected-error @+1 {{the schedule says that it repeats after 2 iterations, but it does after 1}}
sched.program @other_period of @plan devices 1 rotation 0 period 2 {
  sched.next
}

// -----

// State comes back before it is updated.
// expected-error @+1 {{nothing orders 'back' (state_down, device 0) after 'update' (state_up, device 0) of the same iteration, yet both touch 'state' and one of them writes it}}
sched.program @state of @plan devices 1 rotation 0 period 1 {
^bb0(%earlier: !sched.event):
  %master = sched.buffer "master" : !sched.buffer<256, pinned>
  %state = sched.buffer "state" : !sched.buffer<256, device>
  %0 = sched.upload "there" %master to %state state_up on 0 after (%earlier) priority 2 duration 1.0 <> : !sched.buffer<256, pinned>, !sched.buffer<256, device>
  %1 = sched.device_update "update" piece 0 (%state) [3] on 0 duration 1.0 <> : !sched.buffer<256, device>
  %2 = sched.download "back" %state to %master state_down on 0 after (%0) priority 2 duration 1.0 <> : !sched.buffer<256, device>, !sched.buffer<256, pinned>
  sched.next %2
}
