//===- Packing.h - Addresses by lifetime ------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_PACKING_H
#define RONDO_LIB_SCHEDULING_PACKING_H

#include <cstdint>
#include <vector>

namespace rondo::scheduling::detail {

/// Bytes needed from time `first` to time `last`, both included.
struct Lifetime {
  uint64_t bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
};

/// Offsets at which no two that live at the same time overlap; returns the
/// bytes used in all. Bytes are rounded up to the alignment.
uint64_t packLifetimes(const std::vector<Lifetime> &lifetimes,
                       std::vector<uint64_t> &offsets);

/// The most bytes alive at any time: no packing can do better.
uint64_t liveBytes(const std::vector<Lifetime> &lifetimes);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_PACKING_H
