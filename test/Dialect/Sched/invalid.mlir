// One case for each thing that the verifiers refuse.
// RUN: rondo-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{devices 2, rotation 2, period 1 do not fit together}}
sched.program @rotation of @plan devices 2 rotation 2 period 1 {
  sched.next
}

// -----

sched.program @carried of @plan devices 1 rotation 0 period 1 {
^bb0(%e: !sched.event):
  // expected-error@+1 {{passes on 0 events, the program takes 1}}
  sched.next
}

// -----

// expected-error@+1 {{has a block argument that is not an event}}
sched.program @argument of @plan devices 1 rotation 0 period 1 {
^bb0(%e: i32):
  sched.next
}

// -----

sched.program @stranger of @plan devices 1 rotation 0 period 1 {
  // expected-error@+1 {{does not belong in a sched.program}}
  %0 = nn.constant dense<0.0> : tensor<2xf32>
  sched.next
}

// -----

sched.program @operation of @plan devices 1 rotation 0 period 1 {
  %a = sched.buffer "a" : !sched.buffer<1024, device>
  // expected-error@+1 {{is on device 1 of 1}}
  %0 = sched.zero "z" %a on 1 duration 1.0 <> : !sched.buffer<1024, device>
  sched.next
}

// -----

// expected-error@+1 {{has no bytes}}
%a = sched.buffer "a" : !sched.buffer<0, pinned>

// -----

// expected-error@+1 {{belongs to a slot but is not in device space}}
%a = sched.buffer "a" slot 1 : !sched.buffer<64, pinned>

// -----

// expected-error@+1 {{offset 100 is not a multiple of 256}}
%a = sched.buffer "a" offset 100 : !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{takes two or more buffers in turn}}
%b = sched.rotate %a phase 0 : !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{phase 2 is not below the number of buffers, 2}}
%b = sched.rotate %a, %a phase 2 : !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
%b = sched.rotate %a, %a phase 0 : !sched.buffer<64, pinned>
// expected-error@+1 {{takes declared buffers only}}
%c = sched.rotate %a, %b phase 0 : !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{changes the memory space}}
%b = sched.view %a[0] : !sched.buffer<64, pinned> -> !sched.buffer<64, host>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{bytes [32, 96) are not inside the buffer's 64}}
%b = sched.view %a[32] : !sched.buffer<64, pinned> -> !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{goes from pinned to device, not from pinned to pinned}}
%e = sched.upload "u" %a to %a parameter_up on 0 priority 0 duration 1.0 <> : !sched.buffer<64, pinned>, !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
%b = sched.buffer "b" : !sched.buffer<64, device>
// expected-error@+1 {{cannot run on lane gradient_down}}
%e = sched.upload "u" %a to %b gradient_down on 0 priority 0 duration 1.0 <> : !sched.buffer<64, pinned>, !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
%b = sched.buffer "b" : !sched.buffer<32, device>
// expected-error@+1 {{copies 32 bytes to 64}}
%e = sched.download "d" %b to %a activation_down on 0 priority 0 duration 1.0 <> : !sched.buffer<32, device>, !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{touches a buffer in pinned space}}
%e = sched.launch "l" @b::@f(%a) [1] on 0 duration 1.0 <> : !sched.buffer<64, pinned>

// -----

%a = sched.buffer "a" : !sched.buffer<64, device>
// expected-error@+1 {{has 1 buffers but 2 accesses}}
%e = sched.launch "l" @b::@f(%a) [1, 1] on 0 duration 1.0 <> : !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, device>
// expected-error@+1 {{access 4 is not 1 (read), 2 (written) or 3 (both)}}
%e = sched.launch "l" @b::@f(%a) [4] on 0 duration 1.0 <> : !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{cannot run on lane compute}}
%e = sched.host_launch "h" loss (%a : !sched.buffer<64, pinned>) [1] compute duration 1.0 <>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{names an entry exactly when it counts labels}}
%e = sched.host_launch "h" count_labels (%a : !sched.buffer<64, pinned>) [1] staging duration 1.0 <>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{`first` is for accumulations}}
%e = sched.host_launch "h" loss first (%a : !sched.buffer<64, pinned>) [1] staging duration 1.0 <>

// -----

%a = sched.buffer "a" : !sched.buffer<64, device>
// expected-error@+1 {{touches device memory}}
%e = sched.host_launch "h" loss (%a : !sched.buffer<64, device>) [1] staging duration 1.0 <>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
%b = sched.buffer "b" : !sched.buffer<64, device>
// expected-error@+1 {{cannot run on lane state_down}}
%e = sched.upload "u" %a to %b state_down on 0 priority 0 duration 1.0 <> : !sched.buffer<64, pinned>, !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, device>
// expected-error@+1 {{piece 8 is not a multiple of 256}}
%e = sched.device_update "d" piece 8 (%a) [3] on 0 duration 1.0 <> : !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, device>
// expected-error@+1 {{piece -256 is not a multiple of 256}}
%e = sched.device_update "d" piece -256 (%a) [3] on 0 duration 1.0 <> : !sched.buffer<64, device>

// -----

%a = sched.buffer "a" : !sched.buffer<64, pinned>
// expected-error@+1 {{touches a buffer in pinned space}}
%e = sched.device_update "d" piece 0 (%a) [3] on 0 duration 1.0 <> : !sched.buffer<64, pinned>
