// Places of buffers in their arenas, and what does not fit.
// RUN: rondo-opt %s -rondo-sched-insert-fences -rondo-sched-assign-offsets -rondo-sched-verify-offsets -split-input-file | FileCheck %s
// RUN: not rondo-opt %s -rondo-sched-insert-fences -rondo-sched-assign-offsets=device-limit=700 -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: not rondo-opt %s -rondo-sched-insert-fences -rondo-sched-assign-offsets=host-limit=300 -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=HOST

// Side by side, each at a multiple of 256 bytes, in three arenas.
// CHECK-LABEL: sched.program @side_by_side
// CHECK-SAME:    arena_bytes = array<i64: 768, 512, 256>
// CHECK:         sched.buffer "in" offset 0 : <100, pinned>
// CHECK:         sched.buffer "x" offset 0 : <100, device>
// CHECK:         sched.buffer "y" offset 256 : <300, device>
// CHECK:         sched.buffer "out" offset 256 : <100, pinned>
// CHECK:         sched.buffer "state" offset 0 : <4, host>
// DEVICE: error: infeasible: the schedule needs 768 bytes on each device, 68 bytes over the limit of 700 bytes: 768 bytes for transfers and 0 bytes for the launches of slot -1; the largest buffers are {{.*}}'y'
// HOST: error: infeasible: the schedule needs 768 bytes of host memory, 468 bytes over the limit of 300 bytes: 512 bytes pinned and 256 bytes of optimizer state
sched.program @side_by_side of @plan devices 1 rotation 0 period 1 {
  %in = sched.buffer "in" : !sched.buffer<100, pinned>
  %x = sched.buffer "x" : !sched.buffer<100, device>
  %y = sched.buffer "y" : !sched.buffer<300, device>
  %out = sched.buffer "out" : !sched.buffer<100, pinned>
  %state = sched.buffer "state" : !sched.buffer<4, host>
  %part = sched.view %y[0] : !sched.buffer<300, device> -> !sched.buffer<100, device>
  %0 = sched.upload "up" %in to %x activation_up on 0 priority 0 duration 1.0 <> : !sched.buffer<100, pinned>, !sched.buffer<100, device>
  %1 = sched.launch "launch" @body::@forward(%x, %y) [1, 2] on 0 duration 1.0 <> : !sched.buffer<100, device>, !sched.buffer<300, device>
  %2 = sched.download "down" %part to %out activation_down on 0 priority 0 duration 1.0 <> : !sched.buffer<100, device>, !sched.buffer<100, pinned>
  %3 = sched.host_launch "update" norm(%out, %state : !sched.buffer<100, pinned>, !sched.buffer<4, host>) [1, 2] update duration 1.0 <block = 0>
  sched.next
}

// -----

// What the compute lane alone touches shares bytes, behind what copies touch: "a"
// is dead when "c" is written.
// CHECK-LABEL: sched.program @packed_by_lifetime
// CHECK-SAME:    arena_bytes = array<i64: 768, 256, 0>
// CHECK:         sched.buffer "x" offset 0 : <256, device>
// CHECK:         sched.buffer "a" slot 0 offset 256 : <256, device>
// CHECK:         sched.buffer "b" slot 0 offset 512 : <256, device>
// CHECK:         sched.buffer "c" slot 0 offset 256 : <256, device>
// DEVICE: error: infeasible: the schedule needs 768 bytes on each device, 68 bytes over the limit of 700 bytes: 256 bytes for transfers and 512 bytes for the launches of slot 0
sched.program @packed_by_lifetime of @plan devices 1 rotation 0 period 1 {
  %in = sched.buffer "in" : !sched.buffer<256, pinned>
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %a = sched.buffer "a" slot 0 : !sched.buffer<256, device>
  %b = sched.buffer "b" slot 0 : !sched.buffer<256, device>
  %c = sched.buffer "c" slot 0 : !sched.buffer<256, device>
  %0 = sched.upload "up" %in to %x activation_up on 0 priority 0 duration 1.0 <slot = 0> : !sched.buffer<256, pinned>, !sched.buffer<256, device>
  %1 = sched.launch "one" @body::@one(%x, %a) [1, 2] on 0 duration 1.0 <slot = 0> : !sched.buffer<256, device>, !sched.buffer<256, device>
  %2 = sched.launch "two" @body::@two(%a, %b) [1, 2] on 0 duration 1.0 <slot = 0> : !sched.buffer<256, device>, !sched.buffer<256, device>
  %3 = sched.launch "three" @body::@three(%b, %c) [1, 2] on 0 duration 1.0 <slot = 0> : !sched.buffer<256, device>, !sched.buffer<256, device>
  sched.next
}
