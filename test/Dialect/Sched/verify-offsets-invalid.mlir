// What rondo-sched-verify-offsets refuses, and the plan that it accepts.
// RUN: rondo-opt %s -rondo-sched-verify-offsets -split-input-file -verify-diagnostics -o /dev/null

sched.program @accepted of @plan devices 1 rotation 0 period 1 attributes {arena_bytes = array<i64: 512, 0, 0>} {
  %x = sched.buffer "x" offset 0 : !sched.buffer<256, device>
  %y = sched.buffer "y" offset 256 : !sched.buffer<256, device>
  %0 = sched.zero "x" %x on 0 duration 1.0 <> : !sched.buffer<256, device>
  %1 = sched.launch "launch" @body::@forward(%x, %y) [1, 2] on 0 duration 1.0 <> : !sched.buffer<256, device>, !sched.buffer<256, device>
  sched.next
}

// -----

// expected-error @+1 {{'launch' reads 'x' in iteration 0, but 'y' was written over it}}
sched.program @overwritten of @plan devices 1 rotation 0 period 1 attributes {arena_bytes = array<i64: 512, 0, 0>} {
  %x = sched.buffer "x" offset 0 : !sched.buffer<512, device>
  %y = sched.buffer "y" offset 256 : !sched.buffer<256, device>
  %0 = sched.zero "x" %x on 0 duration 1.0 <> : !sched.buffer<512, device>
  %1 = sched.zero "y" %y on 0 duration 1.0 <> : !sched.buffer<256, device>
  %2 = sched.launch "launch" @body::@forward(%x) [1] on 0 duration 1.0 <> : !sched.buffer<512, device>
  sched.next
}

// -----

// expected-error @+2 {{buffer 'x' ends at 768, beyond the 512 bytes of its arena}}
// expected-error @+1 {{buffer 'y' has no offset}}
sched.program @out_of_the_arena of @plan devices 1 rotation 0 period 1 attributes {arena_bytes = array<i64: 512, 0, 0>} {
  %x = sched.buffer "x" offset 512 : !sched.buffer<256, device>
  %y = sched.buffer "y" : !sched.buffer<256, device>
  sched.next
}
