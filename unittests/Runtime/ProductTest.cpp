//===- ProductTest.cpp - Matrix products on every kind of device ----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "Host/HostDevice.h"
#include "ProgramBuilder.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using program::ElementType;

namespace {

/// Bytes for each of A, B, bias and, last, C.
constexpr uint64_t kRegion = 1 << 18;

/// Row major, packed but for `pad` elements a row.
program::GemmT product(int64_t m, int64_t n, int64_t k, int variant,
                       ElementType a, ElementType b, ElementType c,
                       int64_t batch = 1, int64_t pad = 0) {
  program::GemmT gemm;
  gemm.m = m;
  gemm.n = n;
  gemm.k = k;
  gemm.batch = batch;
  gemm.transpose_a = variant & 1;
  gemm.transpose_b = variant & 2;
  gemm.accumulate = variant & 4;
  gemm.alpha = variant & 4 ? 0.5f : 1.0f;
  gemm.lda = (gemm.transpose_a ? m : k) + pad;
  gemm.ldb = (gemm.transpose_b ? k : n) + pad;
  gemm.ldc = n + pad;
  gemm.stride_a = batch == 1 ? 0 : gemm.lda * (gemm.transpose_a ? k : m);
  gemm.stride_b = batch == 1 ? 0 : gemm.ldb * (gemm.transpose_b ? n : k);
  gemm.stride_c = batch == 1 ? 0 : gemm.ldc * m;
  gemm.type_a = a;
  gemm.type_b = b;
  gemm.type_c = c;
  return gemm;
}

std::vector<program::GemmT> products() {
  using enum ElementType;
  std::vector<program::GemmT> list;
  for (int variant = 0; variant < 8; ++variant) {
    list.push_back(product(33, 20, 47, variant, F32, F32, F32));
    list.push_back(product(64, 48, 96, variant, BF16, BF16, BF16, 3));
    list.push_back(product(17, 24, 40, variant, F16, F16, F16, 2, 8));
    list.push_back(product(40, 24, 64, variant, BF16, BF16, F32));
    list.push_back(product(16, 72, 32, variant, F16, F16, F32, 2));
    list.push_back(product(24, 16, 33, variant, F32, BF16, F32, 2, 3));
    list.push_back(product(24, 16, 33, variant, F16, F32, F32));
    list.push_back(product(1, 65, 129, variant, F32, F32, F32, 3));
  }
  // One B for all of a batch, also widened; a sum over nothing.
  for (ElementType b : {F32, BF16}) {
    list.push_back(product(16, 24, 32, 0, F32, b, F32, 3));
    list.back().stride_b = 0;
  }
  list.push_back(product(64, 48, 96, 0, F32, F32, F32));
  list.back().tf32 = true;
  // A bias for every row.
  for (int variant = 0; variant < 4; ++variant)
    for (auto [operands, result] :
         {std::pair(F32, F32), {BF16, BF16}, {F16, F16}, {BF16, F32}}) {
      list.push_back(
          product(40, 24, 64, variant, operands, operands, result, 1, 8));
      list.back().bias = true;
    }
  list.push_back(product(5, 7, 0, 0, F32, F32, F32, 2, 1));
  list.push_back(product(5, 7, 0, 4, F32, F32, F32, 1, 1));
  return list;
}

class ProductTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
  void check(uint32_t number);

  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  std::unique_ptr<Executable> executable;
  Arena shared;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<program::GemmT> list = products();
  uint64_t base = 0;
  std::mt19937 random{7};
};

void store(std::byte *data, ElementType type, uint64_t index, float value) {
  if (type == ElementType::F32)
    std::memcpy(data + 4 * index, &value, 4);
  else
    storeFloat(data, type, index, value);
}

float load(const std::byte *data, ElementType type, uint64_t index) {
  float value;
  if (type == ElementType::F32)
    std::memcpy(&value, data + 4 * index, 4);
  else
    value = type == ElementType::BF16 ? widenBF16(load16(data, index))
                                      : widenF16(load16(data, index));
  return value;
}

} // namespace

void ProductTest::SetUp() {
  ToyOptions toy;
  toy.devices = 1;
  toy.gpu = std::string(GetParam()).rfind("cuda", 0) == 0;
  program::ProgramT table = toyProgram(toy);
  base = table.device_bytes;
  table.device_bytes += 4 * kRegion;
  auto buffer = std::make_unique<program::BufferT>();
  buffer->name = "products";
  buffer->device = 0;
  buffer->offset = base;
  buffer->bytes = 4 * kRegion;
  table.buffers.push_back(std::move(buffer));
  for (const program::GemmT &gemm : list) {
    auto entry = std::make_unique<program::EntryT>();
    entry->arguments = 4;
    entry->calls.push_back(std::make_unique<program::CallT>());
    entry->calls[0]->kind = program::CallKind::Gemm;
    entry->calls[0]->addresses = {
        program::Address(0, 0), program::Address(1, 0), program::Address(3, 0)};
    if (gemm.bias)
      entry->calls[0]->addresses.push_back(program::Address(2, 0));
    entry->calls[0]->gemm = std::make_unique<program::GemmT>(gemm);
    entry->calls[0]->node = "node_product";
    auto op = std::make_unique<program::OpT>();
    op->kind = program::OpKind::Launch;
    op->device = 0;
    op->entry = (int32_t)table.entries.size();
    for (uint32_t i = 0; i < 4; ++i) {
      op->operands.push_back(std::make_unique<program::OperandT>());
      op->operands[i]->buffers = {(uint32_t)table.buffers.size() - 1};
      op->operands[i]->offset = i * kRegion;
      op->operands[i]->bytes = kRegion;
      op->operands[i]->access = i == 3 ? 3 : 1;
    }
    table.entries.push_back(std::move(entry));
    table.ops.push_back(std::move(op));
  }
  writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
  Status status = Program::load(folder / "toy.rondo", program);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(Executable::create(*program, executable).ok());
  ASSERT_TRUE(shared.allocate(5 * kRegion, "shared memory").ok());
  DeviceOptions options;
  status = openDevices(GetParam(), *program, *executable, options, devices);
  ASSERT_TRUE(status.ok()) << status.message();
  status = devices[0]->share(shared.buffer(), HostUse::Events, "shared memory");
  ASSERT_TRUE(status.ok()) << status.message();
}

void ProductTest::check(uint32_t number) {
  const program::GemmT &gemm = list[number];
  ElementType types[4] = {gemm.type_a, gemm.type_b, gemm.type_c, gemm.type_c};
  std::byte *host = shared.buffer().data,
            *arena = devices[0]->arena().data + base;
  std::uniform_real_distribution<float> values(-1, 1);
  for (int i = 0; i < 4; ++i)
    for (uint64_t e = 0; e < kRegion / elementBytes(types[i]); ++e)
      store(host + i * kRegion, types[i], e, values(random));
  std::vector<std::byte> before(host + 3 * kRegion, host + 4 * kRegion);
  auto *events = new (host + 4 * kRegion) Event[3];
  Task up, launch, down;
  up.kind = down.kind = TaskKind::Copy;
  up.bytes = 4 * kRegion;
  down.bytes = kRegion;
  launch.kind = TaskKind::Launch;
  launch.entry = 4 + number;
  up.done = &events[0];
  launch.done = &events[1];
  down.done = &events[2];
  launch.waits.push_back({&events[0], 0, 0});
  down.waits.push_back({&events[1], 0, 0});
  std::byte *upload[2] = {host, arena},
            *run[4] = {arena, arena + kRegion, arena + 2 * kRegion,
                       arena + 3 * kRegion},
            *download[2] = {arena + 3 * kRegion, host + 3 * kRegion};
  devices[0]
      ->lane(program::Lane::ActivationUp)
      .submit({&up, 0, upload, nullptr});
  devices[0]->lane(program::Lane::Compute).submit({&launch, 0, run, nullptr});
  devices[0]
      ->lane(program::Lane::ActivationDown)
      .submit({&down, 0, download, nullptr});
  // Lanes know their tasks until these are signalled.
  for (int i = 0; i < 3; ++i)
    events[i].wait(1);
  std::vector<bool> inside(kRegion / elementBytes(gemm.type_c));
  double worst = 0;
  bool coarse = false;
  for (int64_t batch = 0; batch < gemm.batch; ++batch)
    for (int64_t i = 0; i < gemm.m; ++i)
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0, size = 0;
        for (int64_t l = 0; l < gemm.k; ++l) {
          int64_t a = batch * gemm.stride_a +
                      (gemm.transpose_a ? l * gemm.lda + i : i * gemm.lda + l);
          int64_t b = batch * gemm.stride_b +
                      (gemm.transpose_b ? j * gemm.ldb + l : l * gemm.ldb + j);
          double term = (double)load(host, gemm.type_a, (uint64_t)a) *
                        load(host + kRegion, gemm.type_b, (uint64_t)b);
          sum += gemm.alpha * term;
          size += std::fabs(term);
        }
        auto c = (uint64_t)(batch * gemm.stride_c + i * gemm.ldc + j);
        // Where C has 16 bits, some of cuBLASLt's algorithms round the product
        // before they add it.
        double rounded = std::fabs(sum);
        if (gemm.accumulate)
          sum += load(before.data(), gemm.type_c, c);
        if (gemm.bias)
          sum += load(host + 2 * kRegion, gemm.type_c, (uint64_t)j);
        inside[c] = true;
        // f32 sums, and one rounding of the result: no TF32, whose products are
        // off by 5e-4, unless it is asked for.
        double rounding = gemm.type_c == ElementType::BF16  ? 1.0 / 256
                          : gemm.type_c == ElementType::F16 ? 1.0 / 2048
                                                            : 1e-6;
        double error =
            std::fabs(load(host + 3 * kRegion, gemm.type_c, c) - sum);
        worst = std::max(worst,
                         error / (rounding * (std::fabs(sum) +
                                              (gemm.accumulate ? rounded : 0)) +
                                  (gemm.tf32 ? 1e-3 : 1e-6) * size + 1e-7));
        coarse |= error > 1e-5 * size;
      }
  EXPECT_LE(worst, 1.0) << "product " << number;
  if (gemm.tf32) {
    EXPECT_EQ(coarse, std::string_view(GetParam()).starts_with("cuda"))
        << "product " << number;
  }
  // What lies between rows and after the last one stays.
  for (uint64_t e = 0; e < inside.size(); ++e)
    if (!inside[e] && load(before.data(), gemm.type_c, e) !=
                          load(host + 3 * kRegion, gemm.type_c, e)) {
      ADD_FAILURE() << "product " << number << " wrote element " << e;
      break;
    }
}

TEST_P(ProductTest, OfAllTypesAndLayouts) {
  for (uint32_t number = 0; number < list.size(); ++number)
    check(number);
  devices.clear();
}

INSTANTIATE_TEST_SUITE_P(
    Devices, ProductTest,
    ::testing::ValuesIn(testGpus()
                            ? std::vector<const char *>{"host:1", "cuda:1"}
                            : std::vector<const char *>{"host:1"}),
    [](const auto &info) {
      return std::string(info.param).replace(4, 1, "_");
    });
