// RUN: rondo-opt %s -split-input-file -verify-diagnostics
// Everything that a description of attention must hold to.

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op rows is 0}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 0 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op 2 heads are not a multiple of 3 key heads}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 3 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op depth 60 and value_depth 64 are not multiples of 8}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 60 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op is causal with 64 rows but 32 keys: the first rows would see none}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 32 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op window 8 is not positive, or without causal}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, window = 8 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op window 0 is not positive, or without causal}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal, window = 0 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op scale is not finite}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0x7F800000 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op has 3 accesses for 4 matrices}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op key has element type 'f16', but query has 'bf16'}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op value is not of form <offset, [batch, head, row, 1]>}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op query is not of form <offset, [batch, head, row, 1]>}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 2]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op query has rows that do not begin at multiples of 16 bytes, or a negative stride}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<4, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op key has rows that do not begin at multiples of 16 bytes, or a negative stride}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 68, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op query has rows of 64 elements 32 apart}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 32, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op query touches elements [8, 8200) of 8192}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<8, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op result has one element for several places}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 0, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x1x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<264192xf32>
  // expected-error @+1 {{'kern.attention' op statistics have 64 elements, not 128}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x1x64xf32>, memref<264192xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %v: memref<1x1x64x64xbf16>, %o: memref<1x2x64x64xbf16>, %l: memref<1x2x64xf32>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<1024xf32>
  // expected-error @+1 {{'kern.attention' op has a workspace of 4096 bytes, but needs 1052672}}
  kern.attention %q, %k, %v, %o, %l, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64,
    value_depth = 64 : i64, access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>], scale = 0.125 : f32, causal}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1024xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op block_batch 2 does not divide batch 1}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 2 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 64 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op block_heads 1 is not a part of 2 heads in groups of 2}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 1 : i64, block_rows = 64 : i64, block_keys = 64 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op block_rows 65 is not from 1 to 64}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 65 : i64, block_keys = 64 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op library_bytes 4096 is less than the 1249280 that a block may take}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 64 : i64, library_bytes = 4096 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op has a workspace of 2000000 bytes, but needs}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 32 : i64, block_keys = 64 : i64, library_bytes = 1999999 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op d_key touches elements [0, 4600) of 4096}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 72, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 64 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op block_keys 65 is not from 1 to 64}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 65 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}

// -----

kern.func @f(%q: memref<1x2x64x64xbf16>, %k: memref<1x1x64x64xbf16>, %l: memref<1x2x64xf32>, %dq: memref<1x2x64x64xbf16>, %dk: memref<1x1x64x64xbf16>, %dv: memref<1x1x64x64xbf16>) attributes {inputs = 3 : i64} {
  %w = kern.scratch : memref<500000xf32>
  // expected-error @+1 {{'kern.attention_grad' op cuts keys by 32 with a window, or causal with 64 rows at a time}}
  kern.attention_grad %q, %k, %k, %q, %l, %q, %dq, %dk, %dv, %w {batch = 1 : i64, heads = 2 : i64, key_heads = 1 : i64, rows = 64 : i64, keys = 64 : i64, depth = 64 : i64, value_depth = 64 : i64,
    access = [#kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [8192, 4096, 64, 1]>,
      #kern.access<0, [8192, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>, #kern.access<0, [4096, 4096, 64, 1]>],
    scale = 0.125 : f32, causal, block_batch = 1 : i64, block_heads = 2 : i64, block_rows = 64 : i64, block_keys = 32 : i64, library_bytes = 1250000 : i64}
    : memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x2x64x64xbf16>, memref<1x2x64xf32>, memref<1x2x64x64xbf16>,
      memref<1x2x64x64xbf16>, memref<1x1x64x64xbf16>, memref<1x1x64x64xbf16>, memref<500000xf32>
  kern.return
}
