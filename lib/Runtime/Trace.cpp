//===- Trace.cpp - Timelines in Chrome's format ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/Trace.h"
#include "rondo/Runtime/Device.h"
#include <nlohmann/json.hpp>

using namespace rondo;
using namespace rondo::runtime;

static std::string quotedJson(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

uint64_t runtime::copiedBytes(const program::Op &op) {
  bool copies = op.kind() == program::OpKind::Upload ||
                op.kind() == program::OpKind::Download ||
                op.kind() == program::OpKind::PeerCopy;
  return copies && sizeOf(op.operands()) ? op.operands()->Get(0)->bytes() : 0;
}

void TraceWriter::addName(const char *kind, uint32_t process, int thread,
                          const std::string &name) {
  std::fprintf(file,
               "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%d,\"args\":{"
               "\"name\":%s}},\n",
               kind, process, thread, quotedJson(name).c_str());
}

TraceWriter::TraceWriter(std::FILE *file, const program::Program &table)
    : file(file), table(table) {
  std::fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", file);
  for (uint32_t device = 0; device < table.devices(); ++device) {
    addName("process_name", device, 0, format("device %u", device));
    for (uint32_t lane = 0; lane < usedDeviceLanes(table); ++lane)
      addName("thread_name", device, (int)deviceLane(lane),
              program::EnumNameLane(deviceLane(lane)));
  }
  for (int lane : {(int)program::Lane::Update, (int)program::Lane::Staging})
    addName("thread_name", table.devices(), lane,
            program::EnumNameLane((program::Lane)lane));
}

void TraceWriter::add(uint32_t number, uint64_t step, uint32_t device,
                      double begin, double duration) {
  const program::Op &op = *table.ops()->Get(number);
  std::string title(text(op.name()));
  if (title.empty())
    title = program::EnumNameOpKind(op.kind());
  std::fprintf(file,
               "{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%u,\"tid\":%d,"
               "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"step\":%llu,\"op\":%u",
               quotedJson(title).c_str(), program::EnumNameOpKind(op.kind()),
               op.device() < 0 ? table.devices() : device, (int)op.lane(),
               begin / 1e3, duration / 1e3, (unsigned long long)step, number);
  if (!text(op.node()).empty())
    std::fprintf(file, ",\"node\":%s", quotedJson(text(op.node())).c_str());
  if (uint64_t bytes = copiedBytes(op))
    std::fprintf(file, ",\"bytes\":%llu", (unsigned long long)bytes);
  std::fputs("}},\n", file);
}

void TraceWriter::finish() {
  // Last, so that no element before it needs to know whether another follows.
  std::fprintf(file,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,"
               "\"args\":{\"name\":\"host\"}}\n]}\n",
               table.devices());
}
