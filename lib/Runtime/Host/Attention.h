//===- Attention.h - Attention on the host ----------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a GPU's library does for the calls Attention and AttentionGrad, in f32
// through OpenBLAS with one rounding at the end: so that programs for GPUs run
// on the host too, and as the oracle in tests of devices.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_HOST_ATTENTION_H
#define RONDO_LIB_RUNTIME_HOST_ATTENTION_H

#include "rondo/Runtime/AttentionFormat.h"
#include "schema/program_generated.h"
#include <array>
#include <cstddef>
#include <vector>

namespace rondo::runtime {

/// program.fbs, table Attention.
struct AttentionShape {
  /// Elements from one to the next.
  struct Strides {
    int64_t batch = 0, head = 0, row = 0;
  };
  /// Strides and addresses in this order; addresses have the statistics after
  /// the result, and the workspace at the end.
  enum Matrix : uint32_t {
    Query,
    Key,
    Value,
    Result,
    Cotangent,
    QueryGradient,
    KeyGradient,
    ValueGradient
  };

  AttentionSizes sizes;
  bool isGradient = false;
  float scale = 1;
  bool causal = false;
  int64_t window = 0; ///< 0: none.
  program::ElementType type{};
  std::array<Strides, 8> strides{};
  AttentionBlock block; ///< Gradient; the host takes blocks of its own.
  uint64_t libraryBytes = 0, workspaceBytes = 0;

  /// The key after the last that row `row` sees, and the first.
  int64_t keyEnd(int64_t row) const {
    return causal ? row + 1 + sizes.keys - sizes.rows : sizes.keys;
  }
  int64_t keyBegin(int64_t row) const {
    return window ? std::max<int64_t>(0, keyEnd(row) - window) : 0;
  }
};
AttentionShape attentionShape(const program::Attention &attention,
                              bool isGradient);
/// Of program.fbs: which address of a call is matrix `matrix`.
constexpr uint32_t attentionAddress(uint32_t matrix) {
  return matrix < 4 ? matrix : matrix + 1;
}
constexpr uint32_t kAttentionStatistics = 4;

/// f32 elements that `runAttention` needs to work in.
size_t attentionScratch(const AttentionShape &shape);
/// `addresses`: the call's. Rows come in blocks, in order, so the result does
/// not depend on the machine's load.
void runAttention(const AttentionShape &shape, std::byte *const *addresses,
                  std::vector<float> &scratch);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_HOST_ATTENTION_H
