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

/// Bytes of each device's memory for state on its way to be updated; 0 where
/// the host updates.
uint64_t updateBytesOnDevice(const Model &model, uint32_t devices);

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_UPDATES_H
