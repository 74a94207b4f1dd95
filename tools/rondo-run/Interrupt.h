//===- Interrupt.h - Signals that end a run ---------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_TOOLS_RONDORUN_INTERRUPT_H
#define RONDO_TOOLS_RONDORUN_INTERRUPT_H

namespace rondo::run {

/// While it lives, the first SIGINT or SIGTERM is only remembered; the second
/// ends the process at once. A signal that is ignored stays so.
class Interrupt {
public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  /// 0: none has come.
  static int getSignal();
};

} // namespace rondo::run

#endif // RONDO_TOOLS_RONDORUN_INTERRUPT_H
