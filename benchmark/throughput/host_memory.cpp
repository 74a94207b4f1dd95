//===- host_memory.cpp - Bandwidth of host memory -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints, as JSON, what all cores together read, copy and update of host
// memory a second. Build: g++ -O3 -march=native -std=c++20 -pthread.
// `update` has an optimizer's mix: 4 of 7 streams are read and written, or read
// or written alone, and counts every byte once for each direction, as
// throughput's bound does (30 bytes a parameter: gradient, master and both
// moments read, the latter three and a 16-bit copy written).
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

static constexpr size_t kElements = size_t(1) << 28; // of 4 bytes: 1 GiB

struct Freer {
  void operator()(float *memory) const { std::free(memory); }
};

/// In large pages where the system gives them when asked.
static std::unique_ptr<float, Freer> allocate(size_t bytesPerElement) {
  size_t bytes = kElements * bytesPerElement;
  auto *memory = static_cast<float *>(std::aligned_alloc(2u << 20, bytes));
  if (!memory)
    std::abort();
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
  return std::unique_ptr<float, Freer>(memory);
}

/// Best seconds of `times` runs of body(thread, threads).
static double measure(unsigned threads, int times,
                      const std::function<void(unsigned, unsigned)> &body) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> pool;
    for (unsigned t = 0; t < threads; ++t)
      pool.emplace_back(body, t, threads);
    for (std::thread &thread : pool)
      thread.join();
    best = std::min(best, std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - begin)
                              .count());
  }
  return best;
}

int main(int argc, char **argv) {
  unsigned threads = argc > 1 ? (unsigned)std::atoi(argv[1])
                              : std::thread::hardware_concurrency();
  std::unique_ptr<float, Freer> gradient = allocate(4), master = allocate(4),
                                first = allocate(4), second = allocate(4),
                                halves = allocate(2);
  auto *copy = reinterpret_cast<uint16_t *>(halves.get());
  auto share = [](unsigned t, unsigned n) {
    return std::pair(kElements / n * t,
                     t + 1 == n ? kElements : kElements / n * (t + 1));
  };
  // Every page is first touched by the thread that uses it.
  measure(threads, 1, [&](unsigned t, unsigned n) {
    auto [begin, end] = share(t, n);
    for (size_t i = begin; i < end; ++i) {
      gradient.get()[i] = master.get()[i] = 1;
      first.get()[i] = second.get()[i] = 1;
      copy[i] = 1;
    }
  });
  std::vector<uint64_t> sums(threads * 8);
  double read = measure(threads, 5, [&](unsigned t, unsigned n) {
    auto [begin, end] = share(t, n);
    // Four streams, so that more is under way at a time.
    const auto *words = reinterpret_cast<const uint32_t *>(gradient.get());
    size_t quarter = (end - begin) / 4;
    uint32_t sum = 0;
    for (size_t i = begin; i < begin + quarter; ++i)
      sum += words[i] ^ words[i + quarter] ^ words[i + 2 * quarter] ^
             words[i + 3 * quarter];
    sums[t * 8] = sum;
  });
  double copied = measure(threads, 5, [&](unsigned t, unsigned n) {
    auto [begin, end] = share(t, n);
    for (size_t i = begin; i < end; ++i)
      master.get()[i] = gradient.get()[i];
  });
  double updated = measure(threads, 5, [&](unsigned t, unsigned n) {
    auto [begin, end] = share(t, n);
    float *__restrict w = master.get(), *__restrict m = first.get(),
                      *__restrict v = second.get();
    const float *__restrict g = gradient.get();
    uint16_t *__restrict c = copy;
    for (size_t i = begin; i < end; ++i) {
      m[i] = 0.9f * m[i] + 0.1f * g[i];
      v[i] = 0.99f * v[i] + 0.01f * g[i] * g[i];
      w[i] -= 1e-6f * m[i] / (1 + v[i]);
      c[i] = (uint16_t)(int32_t)w[i];
    }
  });
  double bytes = (double)kElements;
  std::printf("{\"threads\": %u, \"read_bytes_per_second\": %.4g, "
              "\"copied_bytes_per_second\": %.4g, "
              "\"update_bytes_per_second\": %.4g, \"check\": %llu}\n",
              threads, 4 * bytes / read, 8 * bytes / copied,
              30 * bytes / updated, (unsigned long long)sums[0] & 1);
}
