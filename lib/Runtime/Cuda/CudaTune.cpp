//===- CudaTune.cpp - The fastest algorithms for products -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaGemm.h"
#include "rondo/Runtime/Program.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

constexpr int kCandidates = 8;
/// Every candidate is timed so often, by turns, for at least so long each time.
constexpr int kTurns = 3;
constexpr double kTurnMicroseconds = 2000;
/// The library's first choice stays unless another one is faster by more than
/// what times differ by chance.
constexpr double kClearly = 0.98;

static_assert(sizeof(BlasAlgorithm) == sizeof(TuneFile::Algorithm));

static TuneFile::Algorithm bytesOf(const BlasAlgorithm &algorithm) {
  TuneFile::Algorithm bytes;
  std::memcpy(bytes.data(), &algorithm, bytes.size());
  return bytes;
}

bool CudaGemms::deterministic(const Plan &plan,
                              const BlasAlgorithm &algorithm) const {
  BlasChoice checked{};
  if (blas->checkAlgorithm(handle, plan.description, plan.first, plan.second,
                           plan.result, plan.result, &algorithm,
                           &checked) != 0 ||
      checked.state != 0 || checked.workspace > kWorkspace)
    return false;
  uint32_t scheme = ~0u;
  size_t written = 0;
  return blas->algorithmGet(&algorithm, BlasReductionScheme, &scheme,
                            sizeof scheme, &written) == 0 &&
         (scheme & ~kBlasReduceInWorkspace) == 0;
}

std::string CudaGemms::arithmetic() const {
  std::set<std::string> lines;
  for (const Plan &plan : plans)
    if (plan.description)
      lines.insert(name(plan) + ": " + hexText(bytesOf(plan.algorithm)) + "\n");
  std::string text =
      lines.empty() ? "" : format("cuBLASLt %zu\n", blas->version());
  for (const std::string &line : lines)
    text += line;
  return text;
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

namespace {

/// Two events on the default stream.
class Stopwatch {
public:
  explicit Stopwatch(const Driver &driver) : driver(driver) {}
  ~Stopwatch() {
    for (EventHandle event : events)
      if (event)
        (void)driver.eventDestroy(event);
  }
  Status open() {
    for (EventHandle &event : events)
      if (Status status = driver.status(
              driver.eventCreate(&event, kEventDefault), "cuEventCreate");
          !status.ok())
        return status;
    return Status::success();
  }
  /// `work` puts something on the stream, `times` times.
  template <typename Work>
  Status measure(uint64_t times, const Work &work, double &microseconds) {
    if (Status status = driver.status(driver.eventRecord(events[0], nullptr),
                                      "cuEventRecord");
        !status.ok())
      return status;
    for (uint64_t i = 0; i < times; ++i)
      if (Status status = work(); !status.ok())
        return status;
    float milliseconds = 0;
    Result result = driver.eventRecord(events[1], nullptr);
    if (result == Success)
      result = driver.eventSynchronize(events[1]);
    if (result == Success)
      result = driver.eventElapsedTime(&milliseconds, events[0], events[1]);
    microseconds = 1e3 * (double)milliseconds / (double)times;
    return driver.status(result, "timing a product");
  }

private:
  const Driver &driver;
  EventHandle events[2] = {nullptr, nullptr};
};

} // namespace

/// From the first byte of a matrix's batches to the last one.
static uint64_t spannedBytes(program::ElementType type, int64_t rows,
                             int64_t columns, int64_t leading, int64_t stride,
                             int64_t batch) {
  return elementBytes(type) *
         (uint64_t)((batch - 1) * stride + (rows - 1) * leading + columns);
}

Status CudaGemms::fastest(uint32_t number, Address scratch,
                          uint64_t scratchBytes, Function widen, Function fill,
                          TuneFile::Choice &choice) {
  Plan &plan = plans[number];
  const GemmShape &shape = plan.shape;
  BlasAlgorithm first = plan.algorithm;
  // Where the plan's buffers lie beside each other these do, too; where they
  // overlap, all that counts here is the time.
  Address place[3];
  uint64_t at = 0;
  uint64_t bytes[3] = {
      spannedBytes(shape.typeA, shape.transposeA ? shape.k : shape.m,
                   shape.transposeA ? shape.m : shape.k, shape.lda,
                   shape.strideA, shape.batch),
      spannedBytes(shape.typeB, shape.transposeB ? shape.n : shape.k,
                   shape.transposeB ? shape.k : shape.n, shape.ldb,
                   shape.strideB, shape.batch),
      spannedBytes(shape.typeC, shape.m, shape.n, shape.ldc, shape.strideC,
                   shape.batch)};
  for (int operand = 0; operand < 3; ++operand) {
    if (bytes[operand] > scratchBytes)
      return internalError("a product of more than the device's memory");
    at = std::min(at, (scratchBytes - bytes[operand]) / 256 * 256);
    place[operand] = scratch + at;
    at += (bytes[operand] + 255) / 256 * 256;
  }
  auto work = [&] {
    return run(number, place[0], place[1], place[2], /*bias=*/scratch, nullptr,
               widen);
  };
  std::vector<BlasAlgorithm> all, usable = {first};
  if (Status status = candidates(plan, kCandidates, all); !status.ok())
    return status;
  for (const BlasAlgorithm &candidate : all)
    if (bytesOf(candidate) != bytesOf(first) && deterministic(plan, candidate))
      usable.push_back(candidate);
  Stopwatch stopwatch(driver);
  if (Status status = stopwatch.open(); !status.ok())
    return status;
  // Not zeros: they take less power, and hence less time.
  uint64_t words = std::min(at, scratchBytes) / 4;
  void *parameters[] = {&scratch, &words};
  if (Status status =
          driver.status(driver.launchKernel(fill, 4096, 1, 1, 256, 1, 1, 0,
                                            nullptr, parameters, nullptr),
                        "filling operands");
      !status.ok())
    return status;
  std::vector<double> times(usable.size());
  for (int turn = -1; turn < kTurns; ++turn)
    for (size_t i = 0; i < usable.size(); ++i) {
      if (std::isinf(times[i]))
        continue;
      plan.algorithm = usable[i];
      double time = 0;
      uint64_t repeats = 1;
      if (turn >= 0)
        repeats = (uint64_t)std::clamp(kTurnMicroseconds / times[0], 1., 99.);
      Status status = stopwatch.measure(repeats, work, time);
      // The first time loads code.
      if (turn < 0 && status.ok())
        status = stopwatch.measure(1, work, time);
      plan.algorithm = first;
      // cuBLASLt does not do all that it offers.
      if (turn < 0 && i > 0 && !status.ok())
        time = std::numeric_limits<double>::infinity();
      else if (!status.ok())
        return status;
      times[i] = turn <= 0 ? time : std::min(times[i], time);
    }
  size_t best =
      (size_t)(std::min_element(times.begin(), times.end()) - times.begin());
  if (times[best] > kClearly * times[0])
    best = 0;
  choice = {bytesOf(usable[best]), times[best], times[0],
            (uint32_t)usable.size()};
  return Status::success();
}

Status CudaGemms::tune(TuneFile &file, Address scratch, uint64_t scratchBytes,
                       Function widen, Function fill) {
  for (uint32_t number = 0; number < plans.size(); ++number) {
    Plan &plan = plans[number];
    if (!plan.description)
      continue;
    std::string product = name(plan);
    const TuneFile::Choice *choice = file.find(product);
    if (!choice) {
      TuneFile::Choice timed;
      if (Status status =
              fastest(number, scratch, scratchBytes, widen, fill, timed);
          !status.ok())
        return status;
      file.add(product, timed);
      choice = file.find(product);
    }
    BlasAlgorithm algorithm;
    std::memcpy(&algorithm, choice->algorithm.data(), sizeof algorithm);
    if (bytesOf(algorithm) != bytesOf(plan.algorithm) &&
        !deterministic(plan, algorithm))
      return userError(
          file.path() + ": " + product + ": algorithm " +
          hexText(choice->algorithm) +
          " is none that this cuBLASLt has for it and that always adds in one "
          "order; correct it, or time again with --retune");
    plan.algorithm = algorithm;
  }
  return Status::success();
}
