//===- Report.cpp - What a run did, for people and programs ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Run.h"
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace rondo::run;
using Json = nlohmann::ordered_json;

static std::string bytes(uint64_t count) {
  const char *units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)count;
  int unit = 0;
  for (; value >= 10000 && unit < 4; ++unit)
    value /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value,
                units[unit]);
  return text;
}

static std::string duration(double seconds) {
  char text[64];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.1f us", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text, sizeof text, "%.2f ms", seconds * 1e3);
  else
    std::snprintf(text, sizeof text, "%.2f s", seconds);
  return text;
}

namespace {

/// What the C interface says of a lane or a device, with names that stay.
struct LaneLine {
  std::string name;
  rondo_lane_info info;
};
struct DeviceLine {
  std::string name;
  rondo_device_info info;
};

} // namespace

/// Memory of the device that the session took, in bytes.
static uint64_t taken(const rondo_device_info &device) {
  return device.arena + device.workspace + device.other;
}

/// Products' operations a second of one device.
static double deviceFlops(const rondo_program_info &info,
                          const rondo_session_report &report) {
  return report.step_seconds > 0
             ? report.flops_per_step / report.step_seconds / info.devices
             : 0;
}

static void printText(const rondo_program_info &info,
                      const rondo_session_report &report,
                      const std::vector<LaneLine> &lanes,
                      const std::vector<DeviceLine> &devices,
                      const std::vector<double> &losses) {
  std::printf("%s: %llu steps of %u rounds x %u micro-batches on %u devices, "
              "staleness %u\n",
              info.name, (unsigned long long)report.steps, info.rounds,
              info.micro_batches, info.devices, info.staleness);
  if (info.plan[0])
    std::printf("plan: %s\n", info.plan);
  for (size_t step = 0; step < losses.size(); ++step)
    std::printf("step %zu  loss %.9g\n", step, losses[step]);
  if (report.steps == 0)
    return;
  if (report.first_step)
    std::printf("measured: %llu steps from step %llu on\n",
                (unsigned long long)report.steps,
                (unsigned long long)report.first_step);
  if (report.loss_scale > 0)
    std::printf("loss scale: %.0f in the last step; %llu of %llu steps skipped "
                "for overflow\n",
                report.loss_scale, (unsigned long long)report.skipped_steps,
                (unsigned long long)report.steps);
  std::printf("time: %s a step, predicted %s (%.2f x)\n",
              duration(report.step_seconds).c_str(),
              duration(info.predicted_step_ns / 1e9).c_str(),
              info.predicted_step_ns > 0
                  ? report.step_seconds * 1e9 / info.predicted_step_ns
                  : 0.0);
  if (report.tokens_per_step)
    std::printf("speed: %.6g tokens/s\n",
                (double)report.tokens_per_step / report.step_seconds);
  else
    std::printf("speed: %.6g samples/s\n",
                (double)report.samples_per_step / report.step_seconds);
  std::printf("products: %.4g TFLOP a step, %.4g TFLOP/s on each device\n",
              report.flops_per_step / 1e12, deviceFlops(info, report) / 1e12);
  std::printf("devices idle: %.1f %%, predicted %.1f %%; issuing takes %s a "
              "step\n",
              100 * report.bubble, 100 * info.predicted_bubble,
              duration(report.issue_seconds / (double)report.steps).c_str());
  std::printf("moved in a step: %s up, %s down, %s between devices\n",
              bytes(report.uploaded / report.steps).c_str(),
              bytes(report.downloaded / report.steps).c_str(),
              bytes(report.peer / report.steps).c_str());
  std::printf(
      "memory planned: %s on each device, %s pinned, %s of other host memory\n",
      bytes(info.device_bytes).c_str(), bytes(info.pinned_bytes).c_str(),
      bytes(info.host_bytes).c_str());
  std::printf("arithmetic: %s%s%s\n", report.arithmetic,
              *report.products ? "; products by " : "", report.products);
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto &[name, device] = devices[i];
    std::printf("device %zu (%s): %s taken", i, name.c_str(),
                bytes(taken(device)).c_str());
    if (taken(device) != device.arena)
      std::printf(": %s planned, %s for libraries, %s for code and the driver",
                  bytes(device.arena).c_str(), bytes(device.workspace).c_str(),
                  bytes(device.other).c_str());
    if (!device.context_counted)
      std::printf(", not counting CUDA's context");
    if (device.used)
      std::printf("; with all else on it %s", bytes(device.used).c_str());
    std::printf(", of %s\n", bytes(device.total).c_str());
    if (*device.code)
      std::printf("device %zu runs %s; %llu launches recorded as graphs\n", i,
                  device.code, (unsigned long long)device.graphs);
    if (device.ring)
      std::printf("device %zu copies through %s of pinned memory (at what the "
                  "lanes below show): %s\n",
                  i, bytes(device.ring).c_str(), device.ring_reason);
  }
  std::printf("lanes, busy share of %s:\n", duration(report.seconds).c_str());
  for (const auto &[name, lane] : lanes) {
    std::printf("  %-24s %5.1f %%", name.c_str(),
                report.seconds > 0 ? 100 * lane.busy_seconds / report.seconds
                                   : 0.0);
    if (lane.copied_bytes && lane.busy_seconds > 0)
      std::printf("  %s at %.2f GB/s", bytes(lane.copied_bytes).c_str(),
                  (double)lane.copied_bytes / lane.busy_seconds / 1e9);
    std::printf("\n");
  }
}

static void printJson(const rondo_program_info &info,
                      const rondo_session_report &report,
                      const std::vector<LaneLine> &lanes,
                      const std::vector<DeviceLine> &devices,
                      const std::vector<double> &losses) {
  Json json;
  json["program"] = {{"name", info.name},
                     {"source", info.source},
                     {"devices", info.devices},
                     {"rounds", info.rounds},
                     {"micro_batches", info.micro_batches},
                     {"staleness", info.staleness},
                     {"plan", info.plan}};
  json["steps"] = losses.size();
  json["measured_steps"] = {{"first", report.first_step},
                            {"count", report.steps}};
  json["losses"] = losses;
  if (report.loss_scale > 0)
    json["loss_scale"] = {{"last", report.loss_scale},
                          {"skipped_steps", report.skipped_steps}};
  json["seconds"] = report.seconds;
  json["step_seconds"] = {{"measured", report.step_seconds},
                          {"predicted", info.predicted_step_ns / 1e9}};
  double rate = report.step_seconds > 0 ? 1 / report.step_seconds : 0;
  json["samples_per_second"] = (double)report.samples_per_step * rate;
  if (report.tokens_per_step)
    json["tokens_per_second"] = (double)report.tokens_per_step * rate;
  json["bubble"] = {{"measured", report.bubble},
                    {"predicted", info.predicted_bubble}};
  json["product_flops_per_step"] = report.flops_per_step;
  json["product_flops_per_second_and_device"] = deviceFlops(info, report);
  json["issue_seconds_per_step"] =
      report.steps ? report.issue_seconds / (double)report.steps : 0;
  json["bytes"] = {
      {"uploaded", report.uploaded},
      {"downloaded", report.downloaded},
      {"peer", report.peer},
      {"predicted_uploaded_per_step", info.predicted_uploaded},
      {"predicted_downloaded_per_step", info.predicted_downloaded}};
  json["planned_memory"] = {{"device", info.device_bytes},
                            {"pinned", info.pinned_bytes},
                            {"host", info.host_bytes}};
  json["arithmetic"] = {{"hash", report.arithmetic},
                        {"program", report.program_arithmetic},
                        {"products", report.products}};
  json["lanes"] = Json::array();
  for (const auto &[name, lane] : lanes) {
    Json line = {{"name", name}, {"busy_seconds", lane.busy_seconds}};
    line["busy_share"] =
        report.seconds > 0 ? lane.busy_seconds / report.seconds : 0;
    line["copied_bytes"] = lane.copied_bytes;
    if (lane.copied_bytes && lane.busy_seconds > 0)
      line["gigabytes_per_second"] =
          (double)lane.copied_bytes / lane.busy_seconds / 1e9;
    json["lanes"].push_back(line);
  }
  json["devices"] = Json::array();
  for (const auto &[name, device] : devices)
    json["devices"].push_back({{"name", name},
                               {"planned", info.device_bytes},
                               {"taken", taken(device)},
                               {"arena", device.arena},
                               {"workspace", device.workspace},
                               {"other", device.other},
                               {"used", device.used},
                               {"total", device.total},
                               {"context_counted", device.context_counted != 0},
                               {"code", device.code},
                               {"graphs", device.graphs},
                               {"ring", device.ring},
                               {"ring_reason", device.ring_reason}});
  std::printf("%s\n",
              json.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

rondo_error *rondo::run::printReport(const Options &options,
                                     const rondo_program *program,
                                     rondo_session *session,
                                     const std::vector<double> &losses) {
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  rondo_session_report report = RONDO_INIT(rondo_session_report);
  if (rondo_error *error = rondo_program_get_info(program, &info))
    return error;
  if (rondo_error *error = rondo_session_get_report(session, &report))
    return error;
  std::vector<LaneLine> lanes;
  std::vector<DeviceLine> devices;
  for (uint32_t i = 0; i < report.lanes; ++i) {
    rondo_lane_info lane = RONDO_INIT(rondo_lane_info);
    if (rondo_error *error = rondo_session_get_lane(session, i, &lane))
      return error;
    lanes.push_back({lane.name, lane});
  }
  for (uint32_t i = 0; i < report.devices; ++i) {
    rondo_device_info device = RONDO_INIT(rondo_device_info);
    if (rondo_error *error = rondo_session_get_device(session, i, &device))
      return error;
    devices.push_back({device.name, device});
  }
  (options.report == Options::Report::Json ? printJson : printText)(
      info, report, lanes, devices, losses);
  return nullptr;
}
