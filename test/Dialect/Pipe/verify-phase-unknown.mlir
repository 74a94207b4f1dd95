// RUN: rondo-opt %s -verify-diagnostics --rondo-pipe-verify-phase=phase=kernels -o /dev/null

// expected-error @+1 {{unknown phase 'kernels', expected layers or grad}}
module {
}
