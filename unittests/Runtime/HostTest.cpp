//===- HostTest.cpp - Products, conversions, worker threads, processors ---===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Host/Executable.h"
#include "Host/WorkerPool.h"
#include "Inputs.h"
#include "LearningRate.h"
#include "ProgramBuilder.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using program::ElementType;

TEST(Convert, RoundsToNearestEven) {
  EXPECT_EQ(roundBF16(1.0f), 0x3f80);
  EXPECT_EQ(roundBF16(std::bit_cast<float>(0x3f808000u)),
            0x3f80); // a tie, to even
  EXPECT_EQ(roundBF16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(roundBF16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_TRUE(
      std::isnan(widenBF16(roundBF16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(roundF16(65504.0f), 0x7bff);
  EXPECT_EQ(roundF16(65519.9f), 0x7bff);
  EXPECT_EQ(roundF16(65520.0f), 0x7c00);
  EXPECT_EQ(roundF16(0x1p-24f), 0x0001);
  EXPECT_EQ(roundF16(0x1p-25f), 0x0000); // a tie, to even
  EXPECT_EQ(roundF16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(roundF16(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(widenF16(roundF16(NAN))));
}

TEST(Convert, EveryHalfSurvivesARoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    auto half = (uint16_t)bits;
    if (float value = widenF16(half); !std::isnan(value)) {
      EXPECT_EQ(roundF16(value), half);
    }
    if (float value = widenBF16(half); !std::isnan(value)) {
      EXPECT_EQ(roundBF16(value), half);
    }
  }
}

TEST(Gemm, WidensAndRoundsOnce) {
  for (ElementType type :
       {ElementType::F32, ElementType::BF16, ElementType::F16})
    for (int variant = 0; variant < 12; ++variant) {
      GemmShape shape;
      shape.m = 5;
      shape.n = 6;
      shape.k = 7;
      shape.bias = variant & 8;
      shape.batch = shape.bias ? 1 : 2;
      shape.transposeA = variant & 1;
      shape.transposeB = variant & 2;
      shape.accumulate = variant & 4;
      shape.lda = 9;
      shape.ldb = 10;
      shape.ldc = 8;
      shape.strideA = 9 * 7;
      shape.strideB = 0; // one B for both
      shape.strideC = 8 * 5;
      shape.alpha = 2;
      shape.typeA = shape.typeB = shape.typeC = type;
      uint64_t size = elementBytes(type);
      std::vector<std::byte> a(size * 2 * 63), b(size * 70), c(size * 80),
          bias(size * 6);
      uint32_t state = 5;
      auto fill = [&](std::vector<std::byte> &values) {
        for (uint64_t i = 0; i < values.size() / size; ++i) {
          state = state * 1664525u + 1013904223u;
          storeFloat(values.data(), type, i,
                     (float)(state >> 28) - 8); // exact in every type
        }
      };
      fill(a);
      fill(b);
      fill(c);
      fill(bias);
      std::vector<std::byte> before = c;
      GemmScratch::Sizes sizes;
      sizes.include(shape);
      GemmScratch scratch{std::vector<float>(sizes.a),
                          std::vector<float>(sizes.b),
                          std::vector<float>(sizes.c)};
      runGemm(shape, a.data(), b.data(), c.data(), bias.data(), scratch);
      for (int64_t batch = 0; batch < shape.batch; ++batch)
        for (int64_t i = 0; i < 5; ++i)
          for (int64_t j = 0; j < 8; ++j) {
            auto at = (uint64_t)(batch * 40 + i * 8 + j);
            float exact = loadFloat(before.data(), type, at);
            if (j < 6) {
              float sum = 0;
              for (int64_t l = 0; l < 7; ++l)
                sum += loadFloat(a.data(), type,
                                 (uint64_t)(batch * 63 + (shape.transposeA
                                                              ? l * 9 + i
                                                              : i * 9 + l))) *
                       loadFloat(b.data(), type,
                                 (uint64_t)(shape.transposeB ? j * 10 + l
                                                             : l * 10 + j));
              exact = 2 * sum + (shape.accumulate ? exact : 0);
              if (shape.bias)
                exact += loadFloat(bias.data(), type, (uint64_t)j);
              std::byte rounded[8];
              storeFloat(rounded, type, 0, exact);
              exact = loadFloat(rounded, type, 0);
            }
            // Columns beyond n are not touched.
            EXPECT_EQ(loadFloat(c.data(), type, at), exact)
                << elementName(type) << " " << variant << " " << at;
          }
    }
}

TEST(Gemm, AnEmptySumIsZero) {
  GemmShape shape;
  shape.m = shape.n = 2;
  shape.lda = 1;
  shape.ldb = shape.ldc = 2;
  float c[4] = {1, 2, 3, 4};
  GemmScratch scratch;
  runGemm(shape, nullptr, nullptr, reinterpret_cast<std::byte *>(c), nullptr,
          scratch);
  EXPECT_EQ(c[3], 0.0f);
}

TEST(Gemm, OpenblasPassesItsTest) {
  Status status = testSgemm(openblasSgemm);
  EXPECT_TRUE(status.ok()) << status.message();
}

// A product that is wrong in one element of one shape is found, and the way out
// is named.
TEST(Gemm, AWrongProductIsFound) {
  Status status = testSgemm(
      [](bool ta, bool tb, int m, int n, int k, float alpha, const float *a,
         int lda, const float *b, int ldb, float beta, float *c, int ldc) {
        openblasSgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        if (tb && k == 129)
          c[m * n - 1] *= 1.001f;
      });
  EXPECT_EQ(status.code(), Code::Device);
  EXPECT_NE(status.message().find("OPENBLAS_CORETYPE"), std::string::npos)
      << status.message();
}

TEST(CpuFeatures, NamesWhatIsMissing) {
  std::vector<std::string> none{"x86-64", "", "-avx512f"};
  EXPECT_TRUE(missingCpuFeatures(none).empty());
  std::vector<std::string> some{"sse2", "no-such-feature", "+another.one"};
#if defined(__x86_64__)
  std::vector<std::string> missing{"no-such-feature", "another.one"};
  EXPECT_EQ(missingCpuFeatures(some), missing);
#endif
}

TEST(WorkerPool, RunsEveryChunkOnce) {
  for (uint32_t workers : {1u, 2u, 5u}) {
    WorkerPool pool(workers);
    for (uint64_t chunks : {0u, 1u, 3u, 1000u}) {
      std::vector<std::atomic<int>> runs(chunks);
      pool.run(
          chunks,
          [](void *context, uint64_t chunk) {
            ++(*static_cast<std::vector<std::atomic<int>> *>(context))[chunk];
          },
          &runs);
      for (auto &count : runs)
        EXPECT_EQ(count.load(), 1);
    }
  }
}

/// What workers of two nodes did with their chunks.
struct Nodes {
  std::vector<std::atomic<int>> runs;
  std::vector<std::thread::id> by;
  explicit Nodes(uint64_t chunks) : runs(chunks), by(chunks) {}
  static void take(void *context, uint64_t chunk) {
    auto &self = *static_cast<Nodes *>(context);
    ++self.runs[chunk];
    self.by[chunk] = std::this_thread::get_id();
  }
};

TEST(WorkerPool, SplitsChunksBetweenNodes) {
  // No such processors: the threads go where the system puts them, their nodes
  // are what is said here. Two of three workers are of node 4.
  std::vector<Processor> processors{
      {1020, 4}, {1021, 7}, {1022, 4}, {1023, 7}, {1019, 4}};
  WorkerPool pool(3, processors);
  for (uint64_t chunks : {0u, 1u, 2u, 3u, 100u}) {
    Nodes home(chunks), anywhere(chunks);
    pool.runAtHome(chunks, Nodes::take, &home);
    pool.run(chunks, Nodes::take, &anywhere);
    std::set<std::thread::id> first, second;
    for (uint64_t i = 0; i < chunks; ++i) {
      EXPECT_EQ(home.runs[i].load(), 1);
      EXPECT_EQ(anywhere.runs[i].load(), 1);
      (i < chunks * 2 / 3 ? first : second).insert(home.by[i]);
    }
    EXPECT_LE(first.size(), 2u);
    EXPECT_EQ(second.size(), chunks == 0 ? 0u : 1u);
    for (std::thread::id id : second)
      EXPECT_FALSE(first.count(id));
  }
}

static std::string placesOf(const std::vector<Processor> &processors) {
  std::string result;
  for (const Processor &processor : processors)
    result += format("%d:%d ", processor.id, processor.node);
  return result;
}

TEST(Processors, CoresFirstAndNodesInTurn) {
  TemporaryFolder folder;
  auto write = [&](const std::string &path, const std::string &text) {
    std::string name = folder / path;
    std::filesystem::create_directories(name.substr(0, name.rfind('/')));
    writeBytes(name, text);
  };
  // Two nodes of two cores of two threads; the second threads come last, as on
  // real machines.
  write("node/node0/cpulist", "0-1,4-5\n");
  write("node/node1/cpulist", "2-3,6-7\n");
  write("node/possible", "0-1\n");
  for (int core = 0; core < 4; ++core)
    for (int id : {core, core + 4})
      write(format("cpu/cpu%d/topology/thread_siblings_list", id),
            format("%d,%d\n", core, core + 4));
  std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7}, some{1, 4, 5, 6};
  EXPECT_EQ(placesOf(orderProcessors(all, folder.path)),
            "0:0 2:1 1:0 3:1 4:0 6:1 5:0 7:1 ");
  // A core's second thread is its first when only that may be used.
  EXPECT_EQ(placesOf(orderProcessors(some, folder.path)), "1:0 6:1 4:0 5:0 ");
  EXPECT_EQ(placesOf(orderProcessors(some, folder / "nothing")),
            "1:0 4:0 5:0 6:0 ");
  EXPECT_FALSE(usableProcessors().empty());
}

TEST(Processors, LeaveSomeToOthers) {
  EXPECT_EQ(defaultHostThreads(1, 4), 1u);
  EXPECT_EQ(defaultHostThreads(2, 1), 2u);
  EXPECT_EQ(defaultHostThreads(4, 1), 3u);
  EXPECT_EQ(defaultHostThreads(16, 1), 14u);
  EXPECT_EQ(defaultHostThreads(32, 2), 29u);
  EXPECT_EQ(defaultHostThreads(16, 8), 12u);
}

TEST(Permute, IsAPermutation) {
  for (uint64_t count : {1u, 2u, 3u, 17u, 64u, 1000u}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i)
      seen.insert(permute(i, count, 42));
    EXPECT_EQ(seen.size(), count);
    EXPECT_LT(*seen.rbegin(), count);
  }
  int moved = 0;
  for (uint64_t i = 0; i < 1000; ++i)
    moved += permute(i, 1000, 1) != permute(i, 1000, 2);
  EXPECT_GT(moved, 900);
}

TEST(LearningRate, FollowsItsShape) {
  LearningRate rate;
  rate.base = 1;
  rate.total = 110;
  ASSERT_TRUE(rate.parse("cosine,warmup=10,min=0.1").ok());
  EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(9), 1);
  EXPECT_DOUBLE_EQ(rate.at(10), 1);
  EXPECT_NEAR(rate.at(60), 0.55, 1e-12);
  EXPECT_NEAR(rate.at(110), 0.1, 1e-12);
  EXPECT_NEAR(rate.at(1000), 0.1, 1e-12);
  ASSERT_TRUE(rate.parse("linear,warmup=10").ok());
  EXPECT_DOUBLE_EQ(rate.at(60), 0.5);
  ASSERT_TRUE(rate.parse("constant").ok());
  EXPECT_DOUBLE_EQ(rate.at(99), 1);
}

TEST(LearningRate, RefusesWhatItDoesNotKnowAndWhatHasNoEffect) {
  LearningRate rate;
  rate.base = 0.1;
  const std::pair<const char *, const char *> slips[] = {
      {"", "'' is none of constant, linear, cosine"},
      {"cosin", "'cosin' is none of constant, linear, cosine"},
      {"cosine,warmup=x", "'warmup=x' is not a number of steps"},
      {"linear,warmup", "'warmup' is not a number of steps"},
      {"linear,warmup=-1", "'warmup=-1' is not a number of steps"},
      {"cosine,min=-1", "'min=-1' is not a rate"},
      {"cosine,min=nan", "'min=nan' is not a rate"},
      {"cosine,min=0.2", "'min=0.2' is above the program's learning rate, 0.1"},
      {"cosine,min=0.01,min=0", "'min=0' is given twice"},
      {"constant,min=0.01", "'min=0.01' has no effect on a constant rate"},
      {"linear,max=3", "'max=3' is neither warmup= nor min="}};
  for (auto [text, message] : slips) {
    Status status = rate.parse(text);
    EXPECT_EQ(status.code(), Code::Flags) << text;
    EXPECT_EQ(status.message(),
              std::string("--lr-schedule=") + text + ": " + message +
                  "; write, for example, cosine,warmup=100,min=1e-5");
  }
}
