//===- Report.cpp - What a session did ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

static std::string quotedJson(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Processes are devices and the host, threads are lanes, times are microseconds since the first step's begin.
void Session::Impl::writeTrace(std::FILE *file) const {
  uint32_t hostProcess = table.devices();
  std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
  auto name = [&](const char *kind, uint32_t process, int thread, const std::string &name) {
    std::fprintf(file, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%d,\"args\":{\"name\":%s}},\n", kind, process,
                 thread, quotedJson(name).c_str());
  };
  for (uint32_t d = 0; d < table.devices(); ++d) {
    name("process_name", d, 0, format("device %u", d));
    for (int lane = 0; lane < 5; ++lane)
      name("thread_name", d, lane, program::EnumNameLane((program::Lane)lane));
  }
  for (int lane = 5; lane < 7; ++lane)
    name("thread_name", hostProcess, lane, program::EnumNameLane((program::Lane)lane));
  int64_t start = batches.empty() ? 0 : batches.front()->begins.front();
  uint64_t done = std::min<uint64_t>(issued.load(std::memory_order_acquire), failure.stop.load(std::memory_order_acquire));
  for (const auto &batch : batches)
    for (uint64_t step = batch->first; step < std::min(batch->first + batch->count, done) && !batch->spans.empty(); ++step)
      for (uint32_t i = 0; i < tasks.size(); ++i) {
        const program::Op &op = *table.ops()->Get(i);
        const Span &span = batch->spans[(step - batch->first) * tasks.size() + i];
        uint32_t process = op.device() < 0 ? hostProcess : physical(op.device(), step);
        std::string title(text(op.name()));
        if (title.empty())
          title = program::EnumNameOpKind(op.kind());
        std::fprintf(file,
                     "{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%u,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                     "\"args\":{\"step\":%llu,\"op\":%u",
                     quotedJson(title).c_str(), program::EnumNameOpKind(op.kind()), process, (int)op.lane(),
                     (double)(span.begin - start) / 1e3, (double)(span.end - span.begin) / 1e3,
                     (unsigned long long)step, i);
        if (!text(op.node()).empty())
          std::fprintf(file, ",\"node\":%s", quotedJson(text(op.node())).c_str());
        if (tasks[i].kind == TaskKind::Copy)
          std::fprintf(file, ",\"bytes\":%llu", (unsigned long long)tasks[i].bytes);
        std::fputs("}},\n", file);
      }
  // Last, so that no element before it needs to know whether another follows.
  std::fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":\"host\"}}\n]}\n",
               hostProcess);
}

Status Session::writeTrace(const std::string &path) {
  if (!impl->options.trace)
    return userError("the session was opened without tracing");
  if (Status status = synchronize(); !status.ok() && impl->stuck.load(std::memory_order_acquire))
    return status;
  return writeFile(path, [this](std::FILE *file) { impl->writeTrace(file); });
}

Status Session::report(SessionReport &report) {
  if (Status status = synchronize(); !status.ok())
    return status;
  const program::Program &table = impl->table;
  report = SessionReport();
  report.steps = completedSteps();
  if (report.steps != 0) {
    int64_t begin = impl->batches.front()->begins.front();
    int64_t first = impl->batches.front()->results.front().end, last = impl->batches.back()->results.back().end;
    report.seconds = (double)(last - begin) / 1e9;
    report.stepSeconds = report.steps == 1 ? report.seconds : (double)(last - first) / 1e9 / (double)(report.steps - 1);
  }
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i) {
    OpKind kind = table.ops()->Get(i)->kind();
    uint64_t bytes = impl->tasks[i].bytes * report.steps;
    if (kind == OpKind::Upload)
      report.uploadedBytes += bytes;
    if (kind == OpKind::Download)
      report.downloadedBytes += bytes;
    if (kind == OpKind::PeerCopy)
      report.peerBytes += bytes;
  }
  report.samplesPerStep = impl->inputs.samplesPerStep();
  for (uint32_t i = 0; i < sizeOf(table.inputs()) && report.tokensPerStep == 0; ++i) {
    const program::Input &input = *table.inputs()->Get(i);
    bool integers = input.type() == program::ElementType::I64 || input.type() == program::ElementType::I32;
    if (integers && sizeOf(input.shape()) == 2)
      report.tokensPerStep =
          (uint64_t)input.shape()->Get(0) * (uint64_t)input.shape()->Get(1) * impl->program.microBatches();
  }
  impl->eachLane([&](const std::string &name, Lane &lane) {
    report.lanes.push_back({name, (double)lane.busy() / 1e9, lane.copied()});
  });
  return Status::success();
}
