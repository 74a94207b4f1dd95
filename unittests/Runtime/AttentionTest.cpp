//===- AttentionTest.cpp - Attention on every kind of device --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both calls against plain loops in doubles: element types, layouts, grouped
// heads, causal, windows, odd lengths, and blocks of the gradient; and twice
// the same bits.
//
//===----------------------------------------------------------------------===//

#include "Host/Attention.h"
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
using Matrix = AttentionShape::Matrix;

namespace {

constexpr uint32_t kMatrices = 8, kAddresses = 10;
constexpr uint64_t kRegion = 1 << 20; ///< Bytes for each but the workspace.
constexpr uint64_t kWorkspace = 64 << 20;
constexpr uint64_t kBytes = 9 * kRegion + kWorkspace;
/// Between rows of matrices that are not packed.
constexpr int64_t kPad = 8;

struct Case {
  AttentionSizes sizes;
  ElementType type = ElementType::BF16;
  bool causal = true;
  int64_t window = 0;
  bool rowsOutside = false; ///< [batch, row, head, column], with some padding.
  AttentionBlock block{};   ///< All of it where that is 0.
};

bool isOfKeys(uint32_t matrix) {
  return matrix == Matrix::Key || matrix == Matrix::Value ||
         matrix == Matrix::KeyGradient || matrix == Matrix::ValueGradient;
}
int64_t columnsOf(const AttentionSizes &sizes, uint32_t matrix) {
  return matrix == Matrix::Query || matrix == Matrix::Key ||
                 matrix == Matrix::QueryGradient ||
                 matrix == Matrix::KeyGradient
             ? sizes.depth
             : sizes.valueDepth;
}

program::AttentionT describe(const Case &test, bool isGradient) {
  const AttentionSizes &sizes = test.sizes;
  program::AttentionT table;
  table.batch = sizes.batch;
  table.heads = sizes.heads;
  table.key_heads = sizes.keyHeads;
  table.rows = sizes.rows;
  table.keys = sizes.keys;
  table.depth = sizes.depth;
  table.value_depth = sizes.valueDepth;
  table.scale = 1 / std::sqrt((float)sizes.depth);
  table.causal = test.causal;
  table.window = test.window;
  table.type = test.type;
  for (uint32_t i = 0; i < (isGradient ? kMatrices : 4); ++i) {
    int64_t heads = isOfKeys(i) ? sizes.keyHeads : sizes.heads,
            rows = isOfKeys(i) ? sizes.keys : sizes.rows,
            columns = columnsOf(sizes, i);
    if (test.rowsOutside)
      table.strides.insert(
          table.strides.end(),
          {rows * (heads * columns + kPad), columns, heads * columns + kPad});
    else
      table.strides.insert(table.strides.end(),
                           {heads * rows * columns, rows * columns, columns});
  }
  AttentionBlock block = test.block;
  if (block.rows == 0)
    block = {sizes.batch, sizes.heads, sizes.rows, sizes.keys};
  table.workspace_bytes = attentionBytes(sizes);
  if (isGradient) {
    table.block_batch = block.batch;
    table.block_heads = block.heads;
    table.block_rows = block.rows;
    table.block_keys = block.keys;
    table.library_bytes = attentionGradBytes(sizes, block);
    table.workspace_bytes =
        layOutAttention(sizes, block, table.library_bytes).bytes;
  }
  return table;
}

std::vector<Case> cases() {
  using enum ElementType;
  return {
      {{1, 4, 2, 256, 256, 64, 64}, BF16},
      {{1, 4, 2, 256, 256, 64, 64}, F16},
      {{2, 2, 2, 128, 384, 128, 128}, BF16, true, 0, true},
      {{1, 4, 1, 200, 333, 64, 64}, F16, true, 0, true},
      {{1, 2, 2, 77, 77, 40, 40}, BF16},
      {{1, 2, 1, 100, 101, 16, 32}, BF16, false},
      {{1, 4, 2, 256, 256, 64, 64}, BF16, true, 100},
      {{1, 2, 1, 128, 384, 64, 64}, F16, true, 64, true},
      // Blocks: of rows; of rows with a window; of heads; squares, on and off
      // the diagonal; of keys alone; without a mask.
      {{1, 4, 2, 384, 384, 64, 64}, BF16, true, 0, false, {1, 2, 128, 384}},
      {{2, 4, 2, 300, 300, 32, 32}, F16, true, 0, true, {1, 4, 128, 300}},
      {{1, 2, 1, 300, 400, 64, 64}, BF16, true, 90, false, {1, 2, 128, 400}},
      {{2, 4, 4, 256, 256, 32, 32}, BF16, true, 0, false, {1, 1, 256, 256}},
      {{2, 4, 2, 256, 256, 32, 32}, F16, true, 0, true, {2, 2, 256, 256}},
      {{1, 4, 2, 384, 384, 64, 64}, BF16, true, 0, false, {1, 2, 128, 128}},
      {{2, 4, 2, 300, 400, 32, 32}, F16, true, 0, true, {1, 2, 128, 128}},
      {{1, 2, 1, 100, 500, 64, 64}, BF16, true, 0, false, {1, 2, 100, 128}},
      {{2, 4, 2, 256, 320, 32, 64}, BF16, false, 0, true, {2, 2, 128, 128}},
  };
}

class AttentionTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override;
  void launch(uint32_t entry);
  void check(uint32_t number);
  double get(const AttentionShape &shape, const std::vector<std::byte> &memory,
             uint32_t matrix, int64_t batch, int64_t head, int64_t row,
             int64_t column) const {
    const AttentionShape::Strides &strides = shape.strides[matrix];
    return loadFloat(memory.data() + attentionAddress(matrix) * kRegion,
                     shape.type,
                     (uint64_t)(batch * strides.batch + head * strides.head +
                                row * strides.row + column));
  }

  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  std::unique_ptr<Executable> executable;
  Arena shared;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Case> list = cases();
  uint64_t base = 0;
  uint32_t firstEntry = 0;
  std::mt19937 random{7};
};

} // namespace

void AttentionTest::SetUp() {
  ToyOptions toy;
  toy.devices = 1;
  toy.gpu = std::string(GetParam()).rfind("cuda", 0) == 0;
  program::ProgramT table = toyProgram(toy);
  base = table.device_bytes;
  table.device_bytes += kBytes;
  auto buffer = std::make_unique<program::BufferT>();
  buffer->name = "attention";
  buffer->device = 0;
  buffer->offset = base;
  buffer->bytes = kBytes;
  table.buffers.push_back(std::move(buffer));
  firstEntry = (uint32_t)table.entries.size();
  for (const Case &test : list)
    for (bool isGradient : {false, true}) {
      auto entry = std::make_unique<program::EntryT>();
      entry->arguments = kAddresses;
      entry->calls.push_back(std::make_unique<program::CallT>());
      program::CallT &call = *entry->calls[0];
      call.kind = isGradient ? program::CallKind::AttentionGrad
                             : program::CallKind::Attention;
      for (uint32_t i :
           isGradient ? std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
                      : std::vector<uint32_t>{0, 1, 2, 3, 4, 9})
        call.addresses.push_back(program::Address(i, 0));
      call.attention =
          std::make_unique<program::AttentionT>(describe(test, isGradient));
      call.node = "node_attention";
      auto op = std::make_unique<program::OpT>();
      op->kind = program::OpKind::Launch;
      op->device = 0;
      op->entry = (int32_t)table.entries.size();
      for (uint32_t i = 0; i < kAddresses; ++i) {
        op->operands.push_back(std::make_unique<program::OperandT>());
        op->operands[i]->buffers = {(uint32_t)table.buffers.size() - 1};
        op->operands[i]->offset = i * kRegion;
        op->operands[i]->bytes = i == kAddresses - 1 ? kWorkspace : kRegion;
        op->operands[i]->access = 3;
      }
      table.entries.push_back(std::move(entry));
      table.ops.push_back(std::move(op));
    }
  writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
  Status status = Program::load(folder / "toy.rondo", program);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(Executable::create(*program, executable).ok());
  ASSERT_TRUE(shared.allocate(10 * kRegion, "shared memory").ok());
  DeviceOptions options;
  status = openDevices(GetParam(), *program, *executable, options, devices);
  ASSERT_TRUE(status.ok()) << status.message();
  status = devices[0]->share(shared.buffer(), HostUse::Events, "shared memory");
  ASSERT_TRUE(status.ok()) << status.message();
}

/// Copies the nine matrices there, runs an entry, and copies them back.
void AttentionTest::launch(uint32_t entry) {
  std::byte *host = shared.buffer().data,
            *arena = devices[0]->arena().data + base;
  auto *events = new (host + 9 * kRegion) Event[3];
  Task up, run, down;
  up.kind = down.kind = TaskKind::Copy;
  up.bytes = down.bytes = 9 * kRegion;
  run.kind = TaskKind::Launch;
  run.entry = entry;
  up.done = &events[0];
  run.done = &events[1];
  down.done = &events[2];
  run.waits.push_back({&events[0], 0, 0});
  down.waits.push_back({&events[1], 0, 0});
  std::byte *upload[2] = {host, arena}, *download[2] = {arena, host},
            *arguments[kAddresses];
  for (uint32_t i = 0; i < kAddresses; ++i)
    arguments[i] = arena + i * kRegion;
  devices[0]
      ->lane(program::Lane::ActivationUp)
      .submit({&up, 0, upload, nullptr});
  devices[0]
      ->lane(program::Lane::Compute)
      .submit({&run, 0, arguments, nullptr});
  devices[0]
      ->lane(program::Lane::ActivationDown)
      .submit({&down, 0, download, nullptr});
  events[2].wait(1);
}

namespace {
/// What is computed, and what it should be.
class Comparison {
public:
  explicit Comparison(const char *name) : name(name) {}
  void add(double found, double expected) {
    error += (found - expected) * (found - expected);
    size += expected * expected;
    if (!std::isfinite(found))
      error = HUGE_VAL;
  }
  void check(double tolerance) const {
    EXPECT_LE(std::sqrt(error / (size + 1e-30)), tolerance) << name;
  }

private:
  const char *name;
  double error = 0, size = 0;
};
} // namespace

void AttentionTest::check(uint32_t number) {
  const Case &test = list[number];
  const AttentionSizes &sizes = test.sizes;
  SCOPED_TRACE("case " + std::to_string(number));
  uint32_t entry = firstEntry + 2 * number;
  AttentionShape shape = attentionShape(
      *program->table().entries()->Get(entry + 1)->calls()->Get(0)->attention(),
      true);
  std::byte *host = shared.buffer().data;
  std::uniform_real_distribution<float> values(-2, 2);
  for (uint64_t e = 0; e < 9 * kRegion / 2; ++e)
    storeFloat(host, test.type, e, values(random));
  auto snapshot = [&] {
    return std::vector<std::byte>(host, host + 9 * kRegion);
  };
  std::vector<std::byte> before = snapshot();
  launch(entry);
  launch(entry + 1);
  std::vector<std::byte> after = snapshot();

  double rounding = test.type == ElementType::BF16 ? 1.0 / 256 : 1.0 / 2048;
  Comparison result("result"), statistics("statistics"), dQuery("d_query"),
      dKey("d_key"), dValue("d_value");
  std::vector<double> keySums((size_t)(sizes.keys * sizes.depth)),
      valueSums((size_t)(sizes.keys * sizes.valueDepth));
  int64_t group = sizes.heads / sizes.keyHeads;
  for (int64_t b = 0; b < sizes.batch; ++b)
    for (int64_t h = 0; h < sizes.heads; ++h) {
      int64_t g = h / group;
      if (h % group == 0) {
        std::fill(keySums.begin(), keySums.end(), 0.0);
        std::fill(valueSums.begin(), valueSums.end(), 0.0);
      }
      for (int64_t i = 0; i < sizes.rows; ++i) {
        int64_t begin = shape.keyBegin(i), end = shape.keyEnd(i);
        std::vector<double> weights, sums((size_t)sizes.depth);
        double most = -HUGE_VAL, sum = 0, mean = 0;
        for (int64_t j = begin; j < end; ++j) {
          double score = 0;
          for (int64_t c = 0; c < sizes.depth; ++c)
            score += get(shape, before, Matrix::Query, b, h, i, c) *
                     get(shape, before, Matrix::Key, b, g, j, c);
          weights.push_back(score * shape.scale);
          most = std::max(most, weights.back());
        }
        for (double weight : weights)
          sum += std::exp(weight - most);
        for (double &weight : weights)
          weight = std::exp(weight - most) / sum;
        float statistic;
        std::memcpy(&statistic,
                    after.data() + kAttentionStatistics * kRegion +
                        4 * ((b * sizes.heads + h) * sizes.rows + i),
                    4);
        statistics.add(statistic, most + std::log(sum));
        for (int64_t c = 0; c < sizes.valueDepth; ++c) {
          double value = 0;
          for (int64_t j = begin; j < end; ++j)
            value += weights[(size_t)(j - begin)] *
                     get(shape, before, Matrix::Value, b, g, j, c);
          result.add(get(shape, after, Matrix::Result, b, h, i, c), value);
          mean += value * get(shape, before, Matrix::Cotangent, b, h, i, c);
        }
        for (int64_t j = begin; j < end; ++j) {
          double weight = weights[(size_t)(j - begin)], change = -mean;
          for (int64_t c = 0; c < sizes.valueDepth; ++c) {
            double down = get(shape, before, Matrix::Cotangent, b, h, i, c);
            change += down * get(shape, before, Matrix::Value, b, g, j, c);
            valueSums[(size_t)(j * sizes.valueDepth + c)] += weight * down;
          }
          change *= weight * shape.scale;
          for (int64_t c = 0; c < sizes.depth; ++c) {
            sums[(size_t)c] +=
                change * get(shape, before, Matrix::Key, b, g, j, c);
            keySums[(size_t)(j * sizes.depth + c)] +=
                change * get(shape, before, Matrix::Query, b, h, i, c);
          }
        }
        for (int64_t c = 0; c < sizes.depth; ++c)
          dQuery.add(get(shape, after, Matrix::QueryGradient, b, h, i, c),
                     sums[(size_t)c]);
      }
      if (h % group != group - 1)
        continue;
      for (int64_t j = 0; j < sizes.keys; ++j) {
        for (int64_t c = 0; c < sizes.depth; ++c)
          dKey.add(get(shape, after, Matrix::KeyGradient, b, g, j, c),
                   keySums[(size_t)(j * sizes.depth + c)]);
        for (int64_t c = 0; c < sizes.valueDepth; ++c)
          dValue.add(get(shape, after, Matrix::ValueGradient, b, g, j, c),
                     valueSums[(size_t)(j * sizes.valueDepth + c)]);
      }
    }
  // Libraries round the weights too, and use the rounded result.
  result.check(1.5 * rounding);
  statistics.check(1e-5);
  for (const Comparison *gradient : {&dQuery, &dKey, &dValue})
    gradient->check(3 * rounding);

  // Again: the same bits, from other bytes in the results and the workspace.
  std::copy(before.begin(), before.begin() + 3 * kRegion, host);
  std::fill(host + 3 * kRegion, host + 5 * kRegion, std::byte(0x3c));
  std::fill(host + 6 * kRegion, host + 9 * kRegion, std::byte(0x3c));
  launch(entry);
  launch(entry + 1);
  std::vector<std::byte> again = snapshot();
  for (uint32_t matrix : {Matrix::Result, Matrix::QueryGradient,
                          Matrix::KeyGradient, Matrix::ValueGradient}) {
    bool equal = true, untouched = true;
    std::vector<bool> inside(kRegion / 2);
    const AttentionShape::Strides &strides = shape.strides[matrix];
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t h = 0; h < (isOfKeys(matrix) ? sizes.keyHeads : sizes.heads);
           ++h)
        for (int64_t i = 0; i < (isOfKeys(matrix) ? sizes.keys : sizes.rows);
             ++i)
          for (int64_t c = 0; c < columnsOf(sizes, matrix); ++c)
            inside[(size_t)(b * strides.batch + h * strides.head +
                            i * strides.row + c)] = true;
    const std::byte *first = after.data() + attentionAddress(matrix) * kRegion,
                    *second = again.data() + attentionAddress(matrix) * kRegion;
    for (uint64_t e = 0; e < inside.size(); ++e)
      if (inside[e])
        equal &= load16(first, e) == load16(second, e);
      else // Between rows and behind the last one.
        untouched &= load16(second, e) == 0x3c3c;
    EXPECT_TRUE(equal) << "matrix " << matrix << " has other bits";
    EXPECT_TRUE(untouched) << "matrix " << matrix << " was left";
  }
}

TEST_P(AttentionTest, OfAllShapes) {
  for (uint32_t number = 0; number < list.size(); ++number)
    check(number);
  devices.clear();
}

INSTANTIATE_TEST_SUITE_P(
    Devices, AttentionTest,
    ::testing::ValuesIn(testGpus()
                            ? std::vector<const char *>{"host:1", "cuda:1"}
                            : std::vector<const char *>{"host:1"}),
    [](const auto &info) {
      return std::string(info.param).replace(4, 1, "_");
    });
