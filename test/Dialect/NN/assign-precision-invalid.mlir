// RUN: rondo-opt %s --rondo-nn-assign-precision=precision=fp8 --verify-diagnostics

// expected-error @below {{precision 'fp8' is not known; known: fp32, bf16, fp16}}
module {
}
