//===- Interrupt.cpp - Signals that end a run -----------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include <csignal>

using namespace rondo::run;

static constexpr int kSignals[] = {SIGINT, SIGTERM};
static struct sigaction before[2];
static volatile std::sig_atomic_t received = 0;

static void handle(int number) {
  if (received == 0) {
    received = number;
    return;
  }
  // Taken once this handler returns.
  std::signal(number, SIG_DFL);
  std::raise(number);
}

Interrupt::Interrupt() {
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (int i = 0; i < 2; ++i) {
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN)
      sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 2; ++i)
    sigaction(kSignals[i], &before[i], nullptr);
}

int Interrupt::getSignal() { return received; }
