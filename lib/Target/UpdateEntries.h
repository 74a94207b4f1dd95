//===- UpdateEntries.h - Launch lists of updates on devices ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_TARGET_UPDATEENTRIES_H
#define RONDO_LIB_TARGET_UPDATEENTRIES_H

#include "rondo/Planning/Model.h"
#include "rondo/Scheduling/Schedule.h"
#include "rondo/Target/GpuObject.h"
#include <map>

namespace rondo::target {

/// The launch lists of a schedule's DeviceUpdate operations, one each, and the
/// kernels that they run.
class UpdateEntries {
public:
  UpdateEntries(const planning::ModelInfo &info, double beta1, double beta2,
                bool forGpus)
      : info(info), beta1(beta1), beta2(beta2), forGpus(forGpus) {}

  CompiledEntry build(const scheduling::Op &op);
  std::vector<AdamWKernel> getHostKernels() const;
  std::vector<GpuUpdate> getGpuUpdates() const;

private:
  const planning::ModelInfo &info;
  double beta1, beta2;
  bool forGpus;
  std::map<std::string, AdamWKernel> kernels; ///< By symbol.
  std::map<std::string, GpuUpdate> updates;
};

} // namespace rondo::target

#endif // RONDO_LIB_TARGET_UPDATEENTRIES_H
