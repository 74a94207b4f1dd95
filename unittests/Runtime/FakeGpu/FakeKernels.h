//===- FakeKernels.h - The tests' GPU kernels on the host -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_FAKEKERNELS_H
#define RONDO_UNITTESTS_RUNTIME_FAKEKERNELS_H

#include <array>
#include <cstdint>
#include <string>

namespace rondo::runtime::testing {

using FakeArguments = std::array<uint64_t, 8>;

struct FakeKernel {
  const char *name;
  uint32_t parameters; ///< 64 bits each.
  /// All threads of a launch. False: it touched what is not there.
  bool (*run)(const FakeArguments &arguments, uint64_t threads);
};

/// Null: there is none of that name.
const FakeKernel *findFakeKernel(const std::string &name);

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_FAKEKERNELS_H
