// Events between operations that touch one buffer, one of them writing, where lane
// order does not order them already.
// RUN: rondo-opt %s -rondo-sched-insert-fences -split-input-file | FileCheck %s
// RUN: rondo-opt %s -rondo-sched-insert-fences -rondo-sched-verify-fences -split-input-file -o /dev/null

// The launch waits for the copy of its input; the next iteration's copy waits for
// the launch, which reads what the copy overwrites. The download waits for the
// launch, and the launch of the next iteration for the download.
// CHECK-LABEL: sched.program @across_lanes
// CHECK:       ^bb0(%[[LAUNCHED:.*]]: !sched.event, %[[DOWN:.*]]: !sched.event):
// CHECK:         %[[UP:.*]] = sched.upload "up" {{.*}} after(%[[LAUNCHED]])
// CHECK:         %[[LAUNCH:.*]] = sched.launch "launch" {{.*}} after(%[[UP]], %[[DOWN]])
// CHECK:         %[[DOWNLOAD:.*]] = sched.download "down" {{.*}} after(%[[LAUNCH]])
// CHECK:         sched.next %[[LAUNCH]], %[[DOWNLOAD]]
sched.program @across_lanes of @plan devices 1 rotation 0 period 1 {
  %in = sched.buffer "in" : !sched.buffer<256, pinned>
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %y = sched.buffer "y" : !sched.buffer<256, device>
  %out = sched.buffer "out" : !sched.buffer<256, pinned>
  %0 = sched.upload "up" %in to %x activation_up on 0 priority 0 duration 1.0 <> : !sched.buffer<256, pinned>, !sched.buffer<256, device>
  %1 = sched.launch "launch" @body::@forward(%x, %y) [1, 2] on 0 duration 1.0 <> : !sched.buffer<256, device>, !sched.buffer<256, device>
  %2 = sched.download "down" %y to %out activation_down on 0 priority 0 duration 1.0 <> : !sched.buffer<256, device>, !sched.buffer<256, pinned>
  sched.next
}

// -----

// One lane runs in order: two launches need no event.
// CHECK-LABEL: sched.program @one_lane
// CHECK:         sched.zero "zero" %{{.*}} on 0 duration
// CHECK:         sched.launch "add" {{.*}} on 0 duration
// CHECK-NEXT:    }
sched.program @one_lane of @plan devices 1 rotation 0 period 1 {
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %0 = sched.zero "zero" %x on 0 duration 1.0 <> : !sched.buffer<256, device>
  %1 = sched.launch "add" @body::@forward(%x) [3] on 0 duration 1.0 <> : !sched.buffer<256, device>
  sched.next
}

// -----

// Two readers of one buffer need none, nor do two views that share no byte.
// CHECK-LABEL: sched.program @no_hazard
// CHECK:         sched.upload "parameters" {{.*}} parameter_up on 0 priority
// CHECK:         sched.upload "again" {{.*}} activation_up on 0 priority
// CHECK:         sched.launch "low" {{.*}} on 0 duration
// CHECK:         sched.download "high" {{.*}} activation_down on 0 priority
// CHECK-NEXT:    }
sched.program @no_hazard of @plan devices 1 rotation 0 period 1 {
  %a = sched.buffer "a" : !sched.buffer<512, pinned>
  %x = sched.buffer "x" : !sched.buffer<512, device>
  %y = sched.buffer "y" : !sched.buffer<512, device>
  %0 = sched.upload "parameters" %a to %x parameter_up on 0 priority 1 duration 1.0 <> : !sched.buffer<512, pinned>, !sched.buffer<512, device>
  %1 = sched.upload "again" %a to %y activation_up on 0 priority 1 duration 1.0 <> : !sched.buffer<512, pinned>, !sched.buffer<512, device>
  %z = sched.buffer "z" : !sched.buffer<512, device>
  %b = sched.buffer "b" : !sched.buffer<256, pinned>
  %low = sched.view %z[0] : !sched.buffer<512, device> -> !sched.buffer<256, device>
  %high = sched.view %z[256] : !sched.buffer<512, device> -> !sched.buffer<256, device>
  %2 = sched.launch "low" @body::@forward(%low) [2] on 0 duration 1.0 <> : !sched.buffer<256, device>
  %3 = sched.download "high" %high to %b activation_down on 0 priority 1 duration 1.0 <> : !sched.buffer<256, device>, !sched.buffer<256, pinned>
  sched.next
}

// -----

// Buffers in turn: the one that iteration t reads is written again in iteration
// t + 2, so that the event comes from two iterations before.
// CHECK-LABEL: sched.program @two_in_turn
// CHECK:       ^bb0(%[[BEFORE:.*]]: !sched.event, %[[EARLIER:.*]]: !sched.event):
// CHECK:         sched.host_launch "stage" {{.*}} after(%[[EARLIER]])
// CHECK:         %[[UP:.*]] = sched.upload "up"
// CHECK:         sched.next %[[UP]], %[[BEFORE]]
sched.program @two_in_turn of @plan devices 1 rotation 0 period 2 {
  %a = sched.buffer "even" : !sched.buffer<256, pinned>
  %b = sched.buffer "odd" : !sched.buffer<256, pinned>
  %x = sched.buffer "x" : !sched.buffer<256, device>
  %now = sched.rotate %a, %b phase 0 : !sched.buffer<256, pinned>
  %0 = sched.host_launch "stage" stage_input(%now : !sched.buffer<256, pinned>) [2] staging duration 1.0 <input = 0>
  %1 = sched.upload "up" %now to %x activation_up on 0 priority 0 duration 1.0 <> : !sched.buffer<256, pinned>, !sched.buffer<256, device>
  sched.next
}
