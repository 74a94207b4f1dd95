//===- FakeGpu.h - CUDA's libraries, played by the host ---------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Libraries of the names that the CUDA device opens, so that all of its code
// runs where there is no GPU. Streams are threads; device memory is the host's;
// copies reach only what was allocated or registered, as GPUs do; kernels are
// those of the tests' programs (Kernels.cu) and of the runtime. What GPUs and
// NVIDIA's libraries do beyond that is for a machine that has them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_FAKEGPU_H
#define RONDO_UNITTESTS_RUNTIME_FAKEGPU_H

#include "Cuda/Driver.h"
#include <functional>

namespace rondo::runtime::testing {

/// Puts work on a stream (null: the current context's default one).
cuda::Result fakeEnqueue(cuda::Stream stream, std::function<void()> work);
/// Bytes in use on a device.
uint64_t fakeUsed(int device);

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_FAKEGPU_H
