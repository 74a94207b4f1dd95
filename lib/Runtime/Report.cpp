//===- Report.cpp - What a session did ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Runtime/Trace.h"
#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

void Session::Impl::writeTrace(std::FILE *file) const {
  TraceWriter writer(file, table);
  int64_t start = batches.empty() ? 0 : batches.front()->begins.front();
  uint64_t done =
      std::min<uint64_t>(issued.load(std::memory_order_acquire),
                         failure.stop.load(std::memory_order_acquire));
  for (const auto &batch : batches)
    for (uint64_t step = batch->first;
         step < std::min(batch->first + batch->count, done) &&
         !batch->spans.empty();
         ++step)
      for (uint32_t i = 0; i < tasks.size(); ++i) {
        const Span &span =
            batch->spans[(step - batch->first) * tasks.size() + i];
        int32_t device = table.ops()->Get(i)->device();
        writer.add(i, step, device < 0 ? 0 : physical(device, step),
                   (double)(span.begin - start),
                   (double)(span.end - span.begin));
      }
  writer.finish();
}

Status Session::writeTrace(const std::string &path) {
  if (!impl->options.trace)
    return userError("the session was opened without tracing");
  if (Status status = checkOutput(path, /*isSave=*/false); !status.ok())
    return status;
  if (Status status = synchronize();
      !status.ok() && impl->stuck.load(std::memory_order_acquire))
    return status;
  return writeFile(path, [this](std::FILE *file) { impl->writeTrace(file); });
}

std::vector<int64_t> Session::Impl::issueTimes() const {
  std::vector<int64_t> times = {issueTime.load(std::memory_order_relaxed)};
  for (const std::unique_ptr<Device> &device : devices)
    times.push_back(device->issueTime());
  return times;
}

Status Session::beginMeasuring() {
  if (Status status = synchronize(); !status.ok())
    return status;
  Impl::Mark &mark = impl->mark;
  mark.step = completedSteps();
  mark.issueTimes = impl->issueTimes();
  mark.lanes.clear();
  impl->eachLane([&](const std::string &, Lane &lane) {
    mark.lanes.emplace_back(lane.busy(), lane.copied());
  });
  return Status::success();
}

/// Of the matrix products of one step.
static double productFlops(const program::Program &table) {
  double sum = 0;
  for (const program::Op *op : *table.ops())
    if (op->kind() == OpKind::Launch)
      for (const program::Call *call :
           *table.entries()->Get((uint32_t)op->entry())->calls())
        if (const program::Gemm *gemm = call->gemm())
          sum += 2.0 * (double)gemm->m() * (double)gemm->n() *
                 (double)gemm->k() * (double)gemm->batch();
  return sum;
}

Status Session::report(SessionReport &report) {
  if (Status status = synchronize(); !status.ok())
    return status;
  const program::Program &table = impl->table;
  const Impl::Mark &mark = impl->mark;
  report = SessionReport();
  report.firstStep = mark.step;
  report.steps = completedSteps() - mark.step;
  if (report.steps != 0) {
    const Impl::Batch *begun = impl->batchOf(mark.step);
    size_t place = mark.step - begun->first;
    int64_t begin = begun->begins[place], first = begun->results[place].end,
            last = impl->batches.back()->results.back().end;
    report.seconds = (double)(last - begin) / 1e9;
    report.stepSeconds =
        mark.step == 0 && report.steps > 1
            ? (double)(last - first) / 1e9 / (double)(report.steps - 1)
            : report.seconds / (double)report.steps;
  }
  for (const auto &batch : impl->batches)
    for (const StepResult &result : batch->results)
      if (result.step >= mark.step && result.step < mark.step + report.steps) {
        report.skippedSteps += result.skipped;
        report.lossScale = result.lossScale;
      }
  std::vector<int64_t> issueTimes = impl->issueTimes();
  for (size_t i = 0; i < issueTimes.size(); ++i) {
    int64_t before = i < mark.issueTimes.size() ? mark.issueTimes[i] : 0;
    report.issueSeconds =
        std::max(report.issueSeconds, (double)(issueTimes[i] - before) / 1e9);
  }
  report.flopsPerStep = productFlops(table);
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
  for (uint32_t i = 0; i < sizeOf(table.inputs()) && report.tokensPerStep == 0;
       ++i) {
    const program::Input &input = *table.inputs()->Get(i);
    bool integers = input.type() == program::ElementType::I64 ||
                    input.type() == program::ElementType::I32;
    if (integers && sizeOf(input.shape()) == 2)
      report.tokensPerStep = (uint64_t)input.shape()->Get(0) *
                             (uint64_t)input.shape()->Get(1) *
                             impl->program.microBatches();
  }
  impl->eachLane([&](const std::string &name, Lane &lane) {
    auto [busy, copied] = mark.lanes.empty()
                              ? std::pair<int64_t, uint64_t>(0, 0)
                              : mark.lanes[report.lanes.size()];
    report.lanes.push_back(
        {name, (double)(lane.busy() - busy) / 1e9, lane.copied() - copied});
  });
  // Device lanes come first, compute before a device's others.
  if (report.seconds > 0) {
    double computing = 0;
    for (size_t d = 0; d < impl->devices.size(); ++d)
      computing += report.lanes[impl->deviceLanes() * d].busySeconds;
    report.bubble = std::max(
        0.0, 1 - computing / (report.seconds * (double)impl->devices.size()));
  }
  for (const std::unique_ptr<Device> &device : impl->devices)
    report.devices.push_back(device->report());
  // Devices of one pool compute alike.
  std::string arithmetic(text(table.arithmetic()));
  report.programArithmetic = hashText(arithmetic);
  report.arithmetic = hashText(arithmetic + report.devices.front().arithmetic);
  report.products = report.devices.front().products;
  return Status::success();
}
