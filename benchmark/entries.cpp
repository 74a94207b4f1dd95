//===- entries.cpp - Times every call of a program's entries --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   rondo-benchmark-entries PROGRAM.rondo [--least-bytes=N] [--repeats=N]
//       [--indices=N]
//
// Runs the entries that a program launches, on the first GPU and random values
// (indices below 128, or N), with the code and products that rondo-run would
// use, and prints
// * where the time of a step's launches goes: calls in order, each between two
//   events, as often as the plan launches their entry;
// * every generated kernel that moves at least N bytes (64 MB), beside a device
//   copy of as many bytes, each with cold caches; the bound is a ratio
//   of 1 / 0.85.
//
//===----------------------------------------------------------------------===//

#include "Cuda/CudaExecutable.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using program::CallKind;

namespace {

/// Ends the program with the message of a failure.
void require(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "rondo-benchmark-entries: %s\n",
               status.message().c_str());
  std::exit(4);
}

class Bench {
public:
  Bench(const Program &program, const std::shared_ptr<CudaPool> &pool,
        uint64_t indexLimit)
      : table(program.table()), driver(pool->driver()), indexLimit(indexLimit) {
    require(call(driver.contextSetCurrent(pool->members()[0].context)));
    require(
        CudaExecutable::create(program, *pool, pool->members()[0], executable));
    require(call(driver.streamCreate(&stream, kStreamNonBlocking, 0)));
    for (EventHandle *event : {&begin, &end})
      require(call(driver.eventCreate(event, kEventDefault)));
    status = allocate(4 * (uint64_t)executable->mostCalls());
    flush = allocate(kFlushBytes);
    findEntries();
  }

  /// ns of every call of an entry, medians of `repeats` runs.
  void timeInOrder(int repeats);
  void timeKernels(uint64_t leastBytes, int repeats);

private:
  static constexpr uint64_t kFlushBytes = 256u << 20;

  struct Entry {
    uint64_t launches = 0;             ///< Of a step.
    std::vector<uint64_t> bytes;       ///< By argument, scratch included.
    std::vector<std::byte *> pointers; ///< While it is prepared.
  };

  Status call(Result result) const { return driver.status(result, "CUDA"); }
  Address allocate(uint64_t bytes) const {
    Address address = 0;
    require(driver.status(
        driver.memAlloc(&address, std::max<uint64_t>(bytes, 1)), "cuMemAlloc"));
    return address;
  }
  void findEntries();
  void prepare(Entry &entry);
  void release(Entry &entry);
  double between(EventHandle from, EventHandle to) const {
    float milliseconds = 0;
    require(call(driver.eventElapsedTime(&milliseconds, from, to)));
    return 1e6 * (double)milliseconds;
  }
  /// ns of `run` with cold caches, the median of `repeats`.
  template <typename Run>
  double timeCold(int repeats, Run &&run);
  double timeCopy(uint64_t bytes, int repeats);
  std::string describe(const program::Call &source) const;

  const program::Program &table;
  const Driver &driver;
  uint64_t indexLimit; ///< Indices are below it.
  std::unique_ptr<CudaExecutable> executable;
  Stream stream = nullptr;
  EventHandle begin = nullptr, end = nullptr;
  Address status = 0, flush = 0;
  std::map<uint32_t, Entry> entries;
};

/// Of an attention call's products.
double attentionFlops(const program::Attention &attention, bool gradient) {
  double rows = (double)attention.rows(), keys = (double)attention.keys(),
         pairs = attention.causal()
                     ? rows * (keys - rows) + rows * (rows + 1) / 2
                     : rows * keys;
  if (attention.window())
    pairs = std::min(pairs, rows * (double)attention.window());
  double depths = gradient
                      ? 3.0 * (double)attention.depth() +
                            2.0 * (double)attention.value_depth()
                      : (double)(attention.depth() + attention.value_depth());
  return 2 * pairs * depths * (double)(attention.batch() * attention.heads());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace

void Bench::findEntries() {
  for (const program::Op *op : *table.ops()) {
    if (op->kind() != program::OpKind::Launch)
      continue;
    Entry &entry = entries[(uint32_t)op->entry()];
    ++entry.launches;
    entry.bytes.resize(
        std::max<size_t>(entry.bytes.size(), sizeOf(op->operands())));
    for (uint32_t i = 0; i < sizeOf(op->operands()); ++i)
      entry.bytes[i] =
          std::max(entry.bytes[i], op->operands()->Get(i)->bytes());
  }
}

void Bench::prepare(Entry &entry) {
  // Words whose halves are small numbers of bf16 and f16, and which are small
  // numbers of f32: of either sign, since what products take depends on it.
  std::mt19937 random(1);
  std::vector<uint32_t> words(1u << 22);
  for (uint32_t &word : words)
    word = (random() & 0x807f807f) | 0x3c003c00;
  std::vector<int64_t> indices(1u << 20);
  for (int64_t &index : indices)
    index = (int64_t)(random() % indexLimit);
  for (uint64_t bytes : entry.bytes) {
    bool isIndex = false;
    for (uint32_t i = 0; i < sizeOf(table.inputs()); ++i) {
      const program::Input &input = *table.inputs()->Get(i);
      uint64_t count = 0;
      isIndex |= input.type() == program::ElementType::I64 &&
                 countElements(input.shape(), count) && 8 * count == bytes;
    }
    Address address = allocate(bytes);
    const void *source = isIndex ? (const void *)indices.data() : words.data();
    uint64_t size = isIndex ? 8 * indices.size() : 4 * words.size();
    for (uint64_t at = 0; at < bytes; at += size)
      require(call(driver.memcpyAsync(address + at, (Address)(uintptr_t)source,
                                      std::min(size, bytes - at), stream)));
    entry.pointers.push_back(reinterpret_cast<std::byte *>(address));
  }
  require(call(driver.streamSynchronize(stream)));
}

void Bench::release(Entry &entry) {
  require(call(driver.streamSynchronize(stream)));
  for (std::byte *pointer : entry.pointers)
    require(call(driver.memFree(reinterpret_cast<Address>(pointer))));
  entry.pointers.clear();
}

std::string Bench::describe(const program::Call &source) const {
  if (source.kind() == CallKind::Gemm) {
    const program::Gemm &g = *source.gemm();
    std::string name = format("product %lld x %lld x %lld", (long long)g.m(),
                              (long long)g.n(), (long long)g.k());
    if (g.batch() > 1)
      name += format(" x %lld times", (long long)g.batch());
    return name + " " + elementName(g.type_a()) + " to " +
           elementName(g.type_c()) + (g.accumulate() ? " added" : "");
  }
  if (source.kind() == CallKind::Kernel)
    return "kernel " + std::string(text(source.gpu_symbol())).substr(7, 8);
  if (source.kind() == CallKind::Attention)
    return "attention";
  if (source.kind() == CallKind::AttentionGrad)
    return "attention's gradients";
  return source.kind() == CallKind::Zero ? "zero" : "copy";
}

void Bench::timeInOrder(int repeats) {
  struct Line {
    double time = 0, bytes = 0, flops = 0;
    uint64_t count = 0;
    std::string node;
  };
  std::map<std::pair<std::string, std::string>, Line> lines;
  double total = 0;
  std::map<std::string, double> byEntry;
  for (auto &[number, entry] : entries) {
    const program::Entry &source = *table.entries()->Get(number);
    prepare(entry);
    uint32_t count = sizeOf(source.calls());
    std::vector<EventHandle> events(count + 1);
    for (EventHandle &event : events)
      require(call(driver.eventCreate(&event, kEventDefault)));
    std::vector<std::vector<double>> times(count);
    for (int run = 0; run < repeats + 1; ++run) {
      require(call(driver.eventRecord(events[0], stream)));
      for (uint32_t c = 0; c < count; ++c) {
        require(executable->launchCall(number, c, entry.pointers.data(), status,
                                       stream));
        require(call(driver.eventRecord(events[c + 1], stream)));
      }
      require(call(driver.streamSynchronize(stream)));
      for (uint32_t c = 0; c < count && run > 0; ++c)
        times[c].push_back(between(events[c], events[c + 1]));
    }
    for (EventHandle event : events)
      require(call(driver.eventDestroy(event)));
    release(entry);
    std::string name(text(source.name()));
    for (uint32_t c = 0; c < count; ++c) {
      const program::Call &each = *source.calls()->Get(c);
      Line &line = lines[{name, describe(each)}];
      double time = median(times[c]) * (double)entry.launches;
      line.time += time;
      line.count += entry.launches;
      line.bytes += (double)each.bytes() * (double)entry.launches;
      if (each.kind() == CallKind::Gemm) {
        const program::Gemm &g = *each.gemm();
        line.flops += 2.0 * (double)(g.m() * g.n() * g.k() * g.batch()) *
                      (double)entry.launches;
      }
      if (const program::Attention *attention = each.attention())
        line.flops +=
            attentionFlops(*attention, each.kind() == CallKind::AttentionGrad) *
            (double)entry.launches;
      line.node = text(each.node());
      total += time;
      byEntry[name] += time;
    }
  }
  std::printf("launches of a step: %.3f ms of calls one after the other\n\n",
              total / 1e6);
  std::printf("| entry | launches | ms a step | share |\n|---|--:|--:|--:|\n");
  for (auto &[number, entry] : entries) {
    std::string name(text(table.entries()->Get(number)->name()));
    std::printf("| %s | %llu | %.3f | %.1f %% |\n", name.c_str(),
                (unsigned long long)entry.launches, byEntry[name] / 1e6,
                100 * byEntry[name] / total);
  }
  std::vector<std::pair<double, std::pair<std::string, std::string>>> order;
  for (auto &[key, line] : lines)
    order.push_back({-line.time, key});
  std::sort(order.begin(), order.end());
  std::printf("\n| entry | call | node | calls | ms a step | share | rate "
              "|\n|---|---|---|--:|--:|--:|--:|\n");
  for (size_t i = 0; i < order.size() && i < 60; ++i) {
    const Line &line = lines[order[i].second];
    std::string rate =
        line.flops > 0 ? format("%.0f TFLOP/s", line.flops / line.time / 1e3)
                       : format("%.0f GB/s", line.bytes / line.time);
    std::printf("| %s | %s | %s | %llu | %.3f | %.1f %% | %s |\n",
                order[i].second.first.c_str(), order[i].second.second.c_str(),
                line.node.c_str(), (unsigned long long)line.count,
                line.time / 1e6, 100 * line.time / total, rate.c_str());
  }
}

template <typename Run>
double Bench::timeCold(int repeats, Run &&run) {
  std::vector<double> times;
  for (int i = 0; i < repeats + 1; ++i) {
    require(call(driver.memsetAsync(flush, 0, kFlushBytes, stream)));
    require(call(driver.eventRecord(begin, stream)));
    run();
    require(call(driver.eventRecord(end, stream)));
    require(call(driver.streamSynchronize(stream)));
    if (i > 0)
      times.push_back(between(begin, end));
  }
  return median(times);
}

double Bench::timeCopy(uint64_t bytes, int repeats) {
  Address from = allocate(bytes / 2), to = allocate(bytes / 2);
  double time = timeCold(repeats, [&] {
    require(call(driver.memcpyAsync(to, from, bytes / 2, stream)));
  });
  require(call(driver.memFree(from)));
  require(call(driver.memFree(to)));
  return time;
}

void Bench::timeKernels(uint64_t leastBytes, int repeats) {
  std::printf(
      "\n| kernel | entry | node | grid x block | MB | us | us of a copy "
      "| GB/s | ratio |\n|---|---|---|---|--:|--:|--:|--:|--:|\n");
  std::set<std::string> seen;
  std::map<uint64_t, double> copies;
  unsigned slow = 0, count = 0;
  for (auto &[number, entry] : entries) {
    const program::Entry &source = *table.entries()->Get(number);
    for (uint32_t c = 0; c < sizeOf(source.calls()); ++c) {
      const program::Call &each = *source.calls()->Get(c);
      if (each.kind() != CallKind::Kernel || each.bytes() < leastBytes ||
          !seen.insert(std::string(text(each.gpu_symbol()))).second)
        continue;
      if (entry.pointers.empty()) {
        prepare(entry);
        // Scratch and indices as the calls before leave them.
        require(
            executable->launch(number, entry.pointers.data(), status, stream));
      }
      auto [copy, isNew] = copies.try_emplace(each.bytes(), 0);
      if (isNew)
        copy->second = timeCopy(each.bytes(), repeats);
      double time = timeCold(repeats, [&] {
        require(executable->launchCall(number, c, entry.pointers.data(), status,
                                       stream));
      });
      double ratio = time / copy->second;
      slow += ratio > 1 / 0.85;
      ++count;
      std::printf("| %s | %s | %s | %u %u %u x %u %u %u | %.1f | %.1f | %.1f | "
                  "%.0f | %.2f%s |\n",
                  std::string(text(each.gpu_symbol())).substr(7, 8).c_str(),
                  std::string(text(source.name())).c_str(),
                  std::string(text(each.node())).c_str(), each.grid()->Get(0),
                  each.grid()->Get(1), each.grid()->Get(2),
                  each.block()->Get(0), each.block()->Get(1),
                  each.block()->Get(2), (double)each.bytes() / 1e6, time / 1e3,
                  copy->second / 1e3, (double)each.bytes() / time, ratio,
                  ratio > 1 / 0.85 ? " SLOW" : "");
    }
    if (!entry.pointers.empty())
      release(entry);
  }
  std::printf("\n%u kernels, %u slower than 1 / 0.85 of a copy\n", count, slow);
}

int main(int argc, char **argv) {
  uint64_t leastBytes = 64000000, indexLimit = 128;
  int repeats = 7;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--least-bytes=", 14) == 0)
      leastBytes = std::strtoull(argv[i] + 14, nullptr, 10);
    else if (std::strncmp(argv[i], "--repeats=", 10) == 0)
      repeats = std::max(1, std::atoi(argv[i] + 10));
    else if (std::strncmp(argv[i], "--indices=", 10) == 0)
      indexLimit =
          std::max<uint64_t>(1, std::strtoull(argv[i] + 10, nullptr, 10));
    else
      path = argv[i];
  }
  if (path.empty()) {
    std::fprintf(stderr, "use: rondo-benchmark-entries PROGRAM.rondo "
                         "[--least-bytes=N] [--repeats=N] [--indices=N]\n");
    return 2;
  }
  std::unique_ptr<Program> program;
  require(Program::load(path, program));
  std::shared_ptr<CudaPool> pool;
  require(CudaPool::create(1, DeviceOptions(), pool));
  Bench bench(*program, pool, indexLimit);
  bench.timeInOrder(repeats);
  bench.timeKernels(leastBytes, repeats);
}
