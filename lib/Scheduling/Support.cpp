//===- Support.cpp - Words and small sums of the planner ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Support.h"
#include <cstdio>
#include <numeric>

using namespace rondo::scheduling;

std::string detail::counted(uint64_t number, const std::string &thing) {
  return std::to_string(number) + " " + thing + (number == 1 ? "" : "s");
}

std::string detail::formatBytes(uint64_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 10 * 1024)
    return text;
  double value = (double)bytes;
  int unit = -1;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), " (%.2f %s)", value, units[unit]);
  return text + buffer;
}

std::string detail::formatTime(double nanoseconds) {
  char buffer[32];
  if (nanoseconds < 1e3)
    std::snprintf(buffer, sizeof(buffer), "%.0f ns", nanoseconds);
  else if (nanoseconds < 1e6)
    std::snprintf(buffer, sizeof(buffer), "%.3g us", nanoseconds / 1e3);
  else if (nanoseconds < 1e9)
    std::snprintf(buffer, sizeof(buffer), "%.3g ms", nanoseconds / 1e6);
  else
    std::snprintf(buffer, sizeof(buffer), "%.4g s", nanoseconds / 1e9);
  return buffer;
}

const char *detail::laneName(LaneKind lane) {
  switch (lane) {
  case LaneKind::Compute:
    return "compute";
  case LaneKind::ParameterUp:
    return "parameter_up";
  case LaneKind::GradientDown:
    return "gradient_down";
  case LaneKind::ActivationUp:
    return "activation_up";
  case LaneKind::ActivationDown:
    return "activation_down";
  case LaneKind::StateUp:
    return "state_up";
  case LaneKind::StateDown:
    return "state_down";
  case LaneKind::Update:
    return "update";
  case LaneKind::Staging:
    return "stage";
  }
  return "unknown";
}

const char *detail::spaceName(Space space) {
  switch (space) {
  case Space::Device:
    return "device";
  case Space::Pinned:
    return "pinned";
  case Space::Host:
    return "host";
  }
  return "unknown";
}

const char *detail::stageName(StageKind kind) {
  switch (kind) {
  case StageKind::Forward:
    return "forward";
  case StageKind::Fused:
    return "fused";
  case StageKind::Backward:
    return "backward";
  }
  return "unknown";
}

uint64_t detail::leastCommonMultiple(uint64_t a, uint64_t b) {
  return std::lcm(a, b);
}

uint32_t detail::computePeriod(const Schedule &schedule) {
  uint64_t period = 1;
  if (schedule.devices > 0 && schedule.rotation > 0)
    period = schedule.devices / std::gcd(schedule.devices, schedule.rotation);
  for (const Op &op : schedule.ops)
    for (const Operand &operand : op.operands)
      if (!operand.buffers.empty())
        period = std::lcm(period, (uint64_t)operand.buffers.size());
  return (uint32_t)period;
}

uint32_t detail::firstBackwardLayer(const Model &model) {
  for (uint32_t l = 0; l < model.layers.size(); ++l)
    for (const Parameter &parameter : model.layers[l].parameters)
      if (parameter.gradientOffset >= 0)
        return l;
  return (uint32_t)model.layers.size();
}

double rondo::scheduling::predictCopy(const Machine &machine, bool up,
                                      uint64_t bytes) {
  double bandwidth = up ? machine.uploadBandwidth : machine.downloadBandwidth;
  double time = machine.copyLatency;
  if (bandwidth > 0)
    time += (double)bytes / bandwidth * 1e9;
  return time;
}
