//===- Pace.h - A coarse simulation of stages -------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_PACE_H
#define RONDO_LIB_SCHEDULING_PACE_H

#include "rondo/Scheduling/Plan.h"

namespace rondo::scheduling::detail {

/// Times of a stage, ns.
struct StagePace {
  StageKind kind = StageKind::Forward;
  uint32_t begin = 0, end = 0;          ///< Layers.
  double compute = 0, up = 0, down = 0; ///< Of a micro-batch.
  double parameters = 0, gradients = 0; ///< Of a slot.
  double update = 0; ///< Of its layers' parameters, on the host.
};

/// ns an iteration in steady state.
double predictPace(const std::vector<StagePace> &stages,
                   const SlotBuffers &buffers, const Model &model,
                   uint32_t devices, bool rotate);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_PACE_H
