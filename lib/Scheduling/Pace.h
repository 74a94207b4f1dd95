//===- Pace.h - A coarse simulation of stages -------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_SCHEDULING_PACE_H
#define RONDO_LIB_SCHEDULING_PACE_H

#include "rondo/Scheduling/Model.h"

namespace rondo::scheduling::detail {

/// Times of a stage, ns.
struct StagePace {
  double compute = 0, up = 0, down = 0;  ///< Of a micro-batch.
  double parameters = 0, gradients = 0;  ///< Of a slot.
};

/// ns an iteration: in steady state with staleness 1, from start to drain else.
double predictPace(const std::vector<StagePace> &stages, const Model &model, uint32_t devices, bool rotate);

} // namespace rondo::scheduling::detail

#endif // RONDO_LIB_SCHEDULING_PACE_H
