//===- optimizer.cpp - The update lane's speed beside the machine's -------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// rondo-benchmark-optimizer PROGRAM.rondo [--threads=N,...] [--steps=N]
//                           [--device=SPEC] [--save=FILE] [--trace=FILE]
//
// For every number of threads: how fast that many threads read and copy memory,
// each on its processor and from pages that it touched first, as the update
// lane's do; then the program trains, with random weights and made-up inputs,
// and the table says how fast the lane's operations move what they must move,
// after two steps of warming up. It needs no compiler.
//
//===----------------------------------------------------------------------===//

#include "Host/HostDevice.h"
#include "Host/WorkerPool.h"
#include "rondo/Runtime/Session.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

static void check(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "rondo-benchmark-optimizer: %s\n",
               status.message().c_str());
  std::exit((int)status.code());
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

/// Beyond what caches hold.
constexpr uint64_t kBytes = 4ull << 30;
constexpr uint64_t kPiece = 256 * 1024;

/// GB/s of some runs of `work` over `bytes` bytes, in pieces, after one to warm
/// up: their mean, as the operations' is.
template <typename Work>
static double measure(WorkerPool &pool, uint64_t bytes, const Work &work) {
  constexpr int kRuns = 10;
  pool.forEach(bytes / kPiece, work);
  int64_t begin = now();
  for (int run = 0; run < kRuns; ++run)
    pool.forEach(bytes / kPiece, work);
  return kRuns * (double)bytes / (double)(now() - begin);
}

struct Bandwidth {
  double read = 0; ///< GB/s.
  double copy = 0; ///< GB/s, bytes read and bytes written.
};

/// With the vector units that compiled programs use, and memory asked for as
/// far ahead as the update's kernel does.
#if defined(__x86_64__)
[[gnu::target("avx2")]]
#endif
static uint64_t
readPiece(const std::byte *data) {
  using Words [[gnu::vector_size(32)]] = uint64_t;
  Words sums[4] = {};
  for (uint64_t at = 0; at < kPiece; at += sizeof sums) {
    __builtin_prefetch(data + at + 1024);
    __builtin_prefetch(data + at + 1024 + 64);
    for (uint64_t i = 0; i < 4; ++i) {
      Words words;
      std::memcpy(&words, data + at + i * sizeof words, sizeof words);
      sums[i] += words;
    }
  }
  Words sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return sum[0] + sum[1] + sum[2] + sum[3];
}

static Bandwidth measureMachine(WorkerPool &pool) {
  Arena arena;
  check(arena.allocate(kBytes, "the bandwidth's buffer"));
  std::byte *data = arena.buffer().data;
  auto touch = [&](uint64_t piece) {
    std::memset(data + piece * kPiece, 1, kPiece);
  };
  pool.runAtHome(
      kBytes / kPiece,
      [](void *context, uint64_t piece) {
        (*static_cast<decltype(touch) *>(context))(piece);
      },
      &touch);
  std::atomic<uint64_t> sink{0};
  Bandwidth result;
  result.read = measure(pool, kBytes, [&](uint64_t piece) {
    sink.fetch_xor(readPiece(data + piece * kPiece), std::memory_order_relaxed);
  });
  result.copy = 2 * measure(pool, kBytes / 2, [&](uint64_t piece) {
                  std::memcpy(data + kBytes / 2 + piece * kPiece,
                              data + piece * kPiece, kPiece);
                });
  return result;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// What an operation of the update lane must read and write, in bytes, and how
/// many parameters it is about.
struct Work {
  double bytes = 0, parameters = 0;
};

static Work workOf(const program::Program &table, const program::Op &op) {
  Work work;
  if (op.kind() == OpKind::Accumulate) {
    auto sum = (double)op.operands()->Get(0)->bytes(),
         addend = (double)op.operands()->Get(1)->bytes();
    return {addend + sum * (op.first() ? 1 : 2), sum / 4};
  }
  std::vector<int64_t> blocks;
  if (op.kind() == OpKind::Optimizer)
    blocks.push_back(op.block());
  if (op.kind() == OpKind::Norm)
    for (uint32_t i = 0; i + 1 < sizeOf(op.operands()); ++i)
      blocks.push_back(blockOfGradient(table, op, i));
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    if (!parameter.trainable() || std::find(blocks.begin(), blocks.end(),
                                            parameter.block()) == blocks.end())
      continue;
    uint64_t elements = 0;
    countElements(parameter.shape(), elements);
    work.parameters += (double)elements;
    const program::Block &block = *table.blocks()->Get(parameter.block());
    // The gradient, of bf16 or f32.
    double each =
        2 * op.operands()->Get(0)->bytes() == block.gradient_bytes() ? 2 : 4;
    if (op.kind() == OpKind::Optimizer) {
      OptimizerOperands operands = optimizerOperands(table, op);
      each += 8 + 8 * operands.momentCount;
      if (operands.upload >= 0)
        each += (double)elementBytes(parameter.upload_type());
    }
    work.bytes += each * (double)elements;
  }
  return work;
}

/// Samples that are in range of anything: small numbers.
static std::vector<std::vector<std::byte>>
bindInputs(Session &session, const program::Program &table, uint64_t steps) {
  std::vector<std::vector<std::byte>> data(sizeOf(table.inputs()));
  uint64_t microBatches = steps * table.rounds() * table.micro_batches();
  for (uint32_t i = 0; i < data.size(); ++i) {
    const program::Input &input = *table.inputs()->Get(i);
    std::vector<int64_t> shape(input.shape()->begin(), input.shape()->end());
    uint64_t elements = 0;
    countElements(input.shape(), elements);
    uint64_t width = elementBytes(input.type());
    data[i].resize(elements * microBatches * width);
    if (input.type() == program::ElementType::I64)
      for (uint64_t k = 0; k < elements * microBatches; ++k)
        data[i][k * width] = std::byte(k % 16);
    shape[0] *= (int64_t)microBatches;
    check(session.setInput(std::string(text(input.name())), input.type(), shape,
                           data[i].data()));
  }
  return data;
}

struct Row {
  double seconds = 0;
  Work work;
  uint64_t operations = 0;
};

/// The lane's operations by kind, from the trace, steps from `first` on.
static std::map<OpKind, Row> readTrace(const std::string &path,
                                       const program::Program &table,
                                       uint64_t first) {
  std::ifstream file(path);
  auto trace = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  std::map<OpKind, Row> rows;
  for (const auto &event : trace["traceEvents"]) {
    if (event["ph"] != "X" || event["args"]["step"].get<uint64_t>() < first)
      continue;
    const program::Op &op =
        *table.ops()->Get(event["args"]["op"].get<uint32_t>());
    if (op.lane() != program::Lane::Update)
      continue;
    Row &row = rows[op.kind()];
    Work work = workOf(table, op);
    row.seconds += event["dur"].get<double>() / 1e6;
    row.work.bytes += work.bytes;
    row.work.parameters += work.parameters;
    ++row.operations;
  }
  return rows;
}

static double seconds(int64_t since) { return (double)(now() - since) / 1e9; }

struct Arguments {
  std::string program, device, save, trace;
  std::vector<uint32_t> threads;
  uint64_t steps = 5;
};

static void runWith(const Program &program, const Arguments &arguments,
                    uint32_t threads) {
  constexpr uint64_t kWarm = 2;
  const program::Program &table = program.table();
  Bandwidth machine;
  {
    std::vector<Processor> processors = usableProcessors();
    WorkerPool pool(threads, processors);
    machine = measureMachine(pool);
  }
  std::printf("%u threads: read %.1f GB/s, copy %.1f GB/s\n", threads,
              machine.read, machine.copy);

  SessionOptions options;
  options.device = arguments.device;
  options.hostThreads = threads;
  options.weights = "random:1";
  options.trace = true;
  std::vector<std::vector<std::byte>> inputs;
  std::unique_ptr<Session> session;
  int64_t begin = now();
  check(Session::open(program, options, session));
  std::printf("  opened, weights drawn in %.2f s\n", seconds(begin));
  inputs = bindInputs(*session, table, kWarm + arguments.steps);
  check(session->start(kWarm + arguments.steps));
  check(session->synchronize());
  SessionReport report;
  check(session->report(report));
  std::string trace =
      arguments.trace.empty()
          ? format("/tmp/rondo-optimizer-%ld.json", (long)::getpid())
          : arguments.trace;
  check(session->writeTrace(trace));
  std::map<OpKind, Row> rows = readTrace(trace, table, kWarm);
  if (arguments.trace.empty())
    ::unlink(trace.c_str());
  std::printf("  step %.1f ms\n  %-12s %5s %9s %10s %9s %9s %9s\n",
              report.stepSeconds * 1e3, "operation", "each", "ms a step",
              "G params/s", "GB/s", "of read", "of copy");
  for (const auto &[kind, row] : rows) {
    if (row.work.bytes == 0)
      continue;
    double rate = row.work.bytes / row.seconds / 1e9;
    std::printf("  %-12s %5.0f %9.2f %10.2f %9.1f %8.0f%% %8.0f%%\n",
                program::EnumNameOpKind(kind),
                row.work.bytes / row.work.parameters,
                row.seconds * 1e3 / (double)arguments.steps,
                row.work.parameters / row.seconds / 1e9, rate,
                100 * rate / machine.read, 100 * rate / machine.copy);
  }
  if (!arguments.save.empty()) {
    begin = now();
    check(session->save(arguments.save, 0, false));
    std::printf("  saved in %.2f s\n", seconds(begin));
    ::unlink(arguments.save.c_str());
  }
  std::fflush(stdout);
}

int main(int argc, char **argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto given = [&](const std::string &flag) {
      return argument.rfind(flag, 0) == 0;
    };
    std::string value = argument.substr(argument.find('=') + 1);
    if (given("--threads="))
      for (const char *at = value.c_str(); *at; at += *at == ',')
        arguments.threads.push_back(
            (uint32_t)std::strtoul(at, const_cast<char **>(&at), 10));
    else if (given("--steps="))
      arguments.steps = std::strtoull(value.c_str(), nullptr, 10);
    else if (given("--device="))
      arguments.device = value;
    else if (given("--save="))
      arguments.save = value;
    else if (given("--trace="))
      arguments.trace = value;
    else
      arguments.program = argument;
  }
  std::unique_ptr<Program> program;
  check(Program::load(arguments.program, program));
  if (arguments.threads.empty())
    arguments.threads.push_back(defaultHostThreads(usableProcessors().size(),
                                                   program->table().devices()));
  for (uint32_t threads : arguments.threads)
    if (threads == 0 || arguments.steps == 0)
      check(flagsError("--threads and --steps are numbers above 0"));
  std::printf("%s: %u parameters\n", arguments.program.c_str(),
              sizeOf(program->table().parameters()));
  for (uint32_t threads : arguments.threads)
    runWith(*program, arguments, threads);
}
