//===- Updates.h - What updates on devices take -----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULING_UPDATES_H
#define RONDO_SCHEDULING_UPDATES_H

#include "rondo/Scheduling/Model.h"

namespace rondo::scheduling {

/// Where parameters are updated sooner (`--optimizer-device=auto`).
struct UpdateChoice {
  double host = 0; ///< ns for the host's memory to be through with an update.
  /// ns for all that then crosses the wires, the step's parameters and
  /// gradients included: whichever direction takes longer, over all devices.
  double wires = 0;
  /// Devices are the host's own threads, and never sooner.
  bool areThreads = false;
  bool onDevices() const { return !areThreads && wires < host; }
};
UpdateChoice chooseUpdates(const Model &model, const Machine &machine);

/// Bytes of each device's memory for state on its way to be updated; 0 where
/// the host updates.
uint64_t updateBytesOnDevice(const Model &model, uint32_t devices);

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_UPDATES_H
