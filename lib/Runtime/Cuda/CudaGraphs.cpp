//===- CudaGraphs.cpp - Launches of an entry as one graph -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaGraphs.h"
#include <cstdlib>
#include <string_view>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

/// Predicted time of a mean call, in ns, below which graphs were faster: the
/// host takes 5 to 10 us for a launch. Longer ones gain nothing.
constexpr double kShortCall = 20000;

CudaGraphs::CudaGraphs(const Driver &driver, CudaExecutable &executable,
                       const program::Program &table)
    : driver(driver), executable(executable), table(table),
      wordOf(sizeOf(table.ops()), kNone) {
  const char *forced = std::getenv("RONDO_TEST_GRAPHS");
  for (uint32_t i = 0; i < wordOf.size(); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    if (op.kind() != program::OpKind::Launch)
      continue;
    auto entry = (uint32_t)op.entry();
    uint32_t calls = executable.calls(entry);
    bool isShort = table.entries()->Get(entry)->time() < kShortCall * calls;
    if (forced)
      isShort = std::string_view(forced) != "0";
    // One launch is one launch.
    if (!isShort || calls < 2)
      continue;
    wordOf[i] = wordsOfIteration;
    wordsOfIteration += calls;
  }
}

CudaGraphs::~CudaGraphs() {
  for (const auto &[key, graph] : graphs)
    (void)driver.graphExecDestroy(graph);
  if (recording)
    (void)driver.streamDestroy(recording);
}

bool CudaGraphs::takes(const TaskCall &call) const {
  uint32_t index = call.task->index;
  return index < wordOf.size() && wordOf[index] != kNone &&
         table.ops()->Get(index)->entry() == (int32_t)call.task->entry;
}

Status CudaGraphs::record(uint32_t entry, std::byte *const *arguments,
                          Address status, GraphExec &graph) {
  // On a stream where nothing waits. Relaxed: other threads' calls go on.
  constexpr int relaxed = 2;
  Result result = Success;
  if (!recording)
    result = driver.streamCreate(&recording, kStreamNonBlocking, 0);
  if (result == Success)
    result = driver.streamBeginCapture(recording, relaxed);
  if (result != Success)
    return driver.status(result, "recording a graph");
  Status launched = executable.launch(entry, arguments, status, recording);
  GraphHandle recordedGraph = nullptr;
  result = driver.streamEndCapture(recording, &recordedGraph);
  if (result == Success && launched.ok())
    result = driver.graphInstantiate(&graph, recordedGraph, 0);
  if (recordedGraph)
    (void)driver.graphDestroy(recordedGraph);
  return launched.ok() ? driver.status(result, "recording a graph") : launched;
}

Status CudaGraphs::launch(const TaskCall &call, Stream stream,
                          Address &status) {
  const Task &task = *call.task;
  status = reinterpret_cast<Address>(first + wordOf[task.index] +
                                     (call.iteration % 2) * wordsOfIteration);
  key.assign({task.entry, status});
  uint32_t count = sizeOf(table.ops()->Get(task.index)->operands());
  for (uint32_t i = 0; i < count; ++i)
    key.push_back(reinterpret_cast<Address>(call.arguments[i]));
  auto place = graphs.find(key);
  if (place == graphs.end()) {
    GraphExec graph = nullptr;
    if (Status result = record(task.entry, call.arguments, status, graph);
        !result.ok())
      return result;
    place = graphs.emplace(key, graph).first;
    recorded.fetch_add(1, std::memory_order_relaxed);
  }
  return driver.status(driver.graphLaunch(place->second, stream), "a graph");
}
