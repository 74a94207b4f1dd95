//===- Cuts.h - Where stages may begin and end ------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A short chain is cut in every possible way. A long one is cut greedily, as in
// RoundPipe (arXiv 2604.27085, section 3), once for each bound on a stage's
// time that some stage could have.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_CUTS_H
#define RONDO_LIB_SCHEDULING_CUTS_H

#include "rondo/Scheduling/Plan.h"
#include <compare>

namespace rondo::scheduling::detail {

/// Where stages begin: `forward` from layer 0, `backward` in order of execution
/// (each ends where the one before began). Then how memory is saved, if it must
/// be: Stage::rebuilt of the fused stage, and which slots have buffers at once.
struct Cut {
  uint32_t fused = 0;
  std::vector<uint32_t> forward;
  std::vector<uint32_t> backward;
  uint32_t rebuilt = 0;
  SlotBuffers buffers;
  auto operator<=>(const Cut &) const = default;
  size_t stages() const { return forward.size() + 1 + backward.size(); }
};

class CutProposer {
public:
  /// `plan`: keep and save.
  CutProposer(const Model &model, const Plan &plan, uint32_t devices);

  /// Every cut: of a handful of layers only.
  std::vector<Cut> enumerate() const;
  /// Cuts of different numbers of stages whose stages need at most about
  /// `bytes`, the most promising first.
  std::vector<Cut> propose(uint64_t bytes) const;
  /// Every layer but the loss layer in stages of its own.
  Cut finest() const { return pack(0, 0); }
  /// About what a stage of layer `l` alone needs, and one of all layers.
  uint64_t bytesOf(uint32_t l) const {
    return backwardBytes[l + 1] - backwardBytes[l];
  }
  uint64_t bytesOfAll() const { return backwardBytes[layers]; }

private:
  void sumLayers();
  std::vector<double> timeBounds() const;
  Cut pack(double time, uint64_t bytes) const;

  const Model &model;
  const Plan &plan;
  double devices;
  uint32_t layers;
  uint32_t firstBackward;
  // Running sums over layers: of time and of bytes in each direction.
  // `lastCorrection` corrects the last layer of a backward stage.
  std::vector<double> forwardTime, fusedTime, backwardTime, lastCorrection;
  std::vector<uint64_t> forwardBytes, backwardBytes;
};

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_CUTS_H
