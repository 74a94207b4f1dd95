// Every operation of the dialect, printed and parsed again.
// RUN: rondo-opt %s | rondo-opt | FileCheck %s

// CHECK-LABEL: sched.program @step of @plan devices 2 rotation 1 period 2
sched.program @step of @plan devices 2 rotation 1 period 2 {
// CHECK: ^bb0(%[[EARLIER:.*]]: !sched.event):
^bb0(%earlier: !sched.event):
  // CHECK: %[[A:.*]] = sched.buffer "parameters, even" : <1024, pinned>
  %a = sched.buffer "parameters, even" : !sched.buffer<1024, pinned>
  %b = sched.buffer "parameters, odd" offset 1024 : !sched.buffer<1024, pinned>
  // CHECK: sched.buffer "parameters" : <1024, device>
  %c = sched.buffer "parameters" : !sched.buffer<1024, device>
  // CHECK: sched.buffer "saved" slot 3 offset 256 : <512, device>
  %s = sched.buffer "saved" slot 3 offset 256 : !sched.buffer<512, device>
  %g = sched.buffer "gradient" : !sched.buffer<1024, pinned>
  // CHECK: %[[TURN:.*]] = sched.rotate %[[A]], %{{.*}} phase 1 : <1024, pinned>
  %u = sched.rotate %a, %b phase 1 : !sched.buffer<1024, pinned>
  // CHECK: %[[UP:.*]] = sched.upload "up" %[[TURN]] to %{{.*}} parameter_up on 0 after(%[[EARLIER]]) priority 1 duration 5.000000e+00 <layer = 2, slot = 3> : <1024, pinned>, <1024, device>
  %0 = sched.upload "up" %u to %c parameter_up on 0 after (%earlier) priority 1 duration 5.0 <layer = 2, slot = 3> : !sched.buffer<1024, pinned>, !sched.buffer<1024, device>
  // CHECK: sched.view %{{.*}}[512] : <1024, device> -> <512, device>
  %v = sched.view %c[512] : !sched.buffer<1024, device> -> !sched.buffer<512, device>
  // CHECK: sched.zero "zero" %{{.*}} on 0 after(%[[UP]])
  %1 = sched.zero "zero" %s on 0 after (%0) duration 1.0 <slot = 3> : !sched.buffer<512, device>
  // CHECK: sched.launch "forward" @body::@forward(%{{.*}}, %{{.*}}) [1, 3] on 0
  %2 = sched.launch "forward" @body::@forward(%v, %s) [1, 3] on 0 duration 10.0 <layer = 2, slot = 3, round = 0, microBatch = 1> : !sched.buffer<512, device>, !sched.buffer<512, device>
  // CHECK: sched.round "round" %{{.*}} on 0 duration 1.000000e+00 <slot = 3> : <1024, device>
  %r = sched.round "round" %c on 0 duration 1.0 <slot = 3> : !sched.buffer<1024, device>
  // CHECK: sched.download "down" %{{.*}} to %{{.*}} gradient_down on 0
  %3 = sched.download "down" %c to %g gradient_down on 0 after (%2) priority 2 duration 5.0 <block = 0> : !sched.buffer<1024, device>, !sched.buffer<1024, pinned>
  // CHECK: sched.host_launch "sum" accumulate first(%{{.*}}, %{{.*}} : !sched.buffer<1024, pinned>, !sched.buffer<1024, pinned>) [2, 1] update
  %4 = sched.host_launch "sum" accumulate first (%b, %g : !sched.buffer<1024, pinned>, !sched.buffer<1024, pinned>) [2, 1] update after (%3) duration 5.0 <block = 0>
  // CHECK: sched.host_launch "count" count_labels @labels::@count(
  %5 = sched.host_launch "count" count_labels @labels::@count(%a, %b : !sched.buffer<1024, pinned>, !sched.buffer<1024, pinned>) [1, 2] staging duration 5.0 <input = 1>
  // CHECK: sched.upload "state" {{.*}} state_up on 1
  %6 = sched.upload "state" %a to %c state_up on 1 priority 2 duration 5.0 <block = 0> : !sched.buffer<1024, pinned>, !sched.buffer<1024, device>
  // CHECK: sched.device_update "update" piece 256(%{{.*}}, %{{.*}}) [3, 1] on 1 after(%{{.*}}) duration 5.000000e+00 <block = 0> : !sched.buffer<1024, device>, !sched.buffer<512, device>
  %7 = sched.device_update "update" piece 256 (%c, %s) [3, 1] on 1 after (%2) duration 5.0 <block = 0> : !sched.buffer<1024, device>, !sched.buffer<512, device>
  // CHECK: sched.download "state" {{.*}} state_down on 1
  %8 = sched.download "state" %c to %a state_down on 1 after (%7) priority 2 duration 5.0 <block = 0> : !sched.buffer<1024, device>, !sched.buffer<1024, pinned>
  // CHECK: sched.host_launch "scalars" update_scalars(
  %9 = sched.host_launch "scalars" update_scalars (%g, %b : !sched.buffer<1024, pinned>, !sched.buffer<1024, pinned>) [1, 2] update duration 5.0 <block = 0>
  // CHECK: sched.next %{{.*}}
  sched.next %4
}
