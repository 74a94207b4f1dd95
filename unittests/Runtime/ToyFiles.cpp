//===- ToyFiles.cpp - Files of the tests' programs, and a reference -------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "rondo/Runtime/ProgramFormat.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

constexpr uint64_t kRows = TOY_ROWS, kColumns = TOY_COLUMNS;

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "rondo-test-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    std::abort();
  path = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path, error);
}

void testing::writeBytes(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string testing::readBytes(const std::string &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string testing::sealedProgram(program::ProgramT table) {
  std::string kernels = readBytes(RONDO_TEST_KERNELS);
  std::string shift;
  for (float value : toyWeights(kColumns, 7))
    shift.append(reinterpret_cast<const char *>(&value), 4);
  std::string file, packed;
  // The table's length depends on no number in it but for those that are 0: two
  // passes settle the offsets.
  table.kernels = std::make_unique<program::BlobT>();
  table.kernels->length = kernels.size();
  table.kernels->offset = kBlobAlignment;
  program::BlobT *value = nullptr, *code = nullptr;
  std::string ptx = table.device_code.empty() ? "" : readBytes(RONDO_TEST_PTX);
  if (!table.device_code.empty()) {
    ptx += '\0';
    table.device_code[0]->ptx = std::make_unique<program::BlobT>();
    code = table.device_code[0]->ptx.get();
    code->length = ptx.size();
    code->offset = kBlobAlignment;
    for (auto &cubin : table.device_code[0]->cubins)
      if (!cubin->code)
        cubin->code = std::make_unique<program::BlobT>(*code);
  }
  for (auto &parameter : table.parameters)
    if (parameter->name == "shift") {
      parameter->value = std::make_unique<program::BlobT>();
      value = parameter->value.get();
      value->length = shift.size();
      value->offset = kBlobAlignment;
    }
  for (int pass = 0; pass < 2; ++pass) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(program::Program::Pack(builder, &table));
    packed.assign(reinterpret_cast<const char *>(builder.GetBufferPointer()),
                  builder.GetSize());
    table.kernels->offset = alignToBlob(kProgramTableOffset + packed.size());
    if (value)
      value->offset = alignToBlob(table.kernels->offset + kernels.size());
    if (code) {
      code->offset =
          alignToBlob(value ? value->offset + value->length
                            : table.kernels->offset + kernels.size());
      // The PTX, which drivers take there, too; the host's code, which they do
      // not take, where the table says so by a blob of its own.
      for (auto &cubin : table.device_code[0]->cubins)
        *cubin->code =
            cubin->code->length == code->length ? *code : *table.kernels;
    }
  }
  file.assign(kProgramTableOffset, '\0');
  file += packed;
  file.resize(table.kernels->offset, '\0');
  file += kernels;
  if (value) {
    file.resize(value->offset, '\0');
    file += shift;
  }
  if (code) {
    file.resize(code->offset, '\0');
    file += ptx;
  }
  sealProgram(file, packed.size());
  return file;
}

uint32_t testing::testGpus() {
  const char *value = std::getenv("RONDO_TEST_CUDA");
  return value ? (uint32_t)std::atoi(value) : 0;
}

std::vector<float> testing::toyWeights(uint64_t count, uint32_t seed) {
  std::vector<float> values(count);
  uint32_t state = seed;
  for (float &value : values) {
    state = state * 1664525u + 1013904223u;
    value = (float)(int32_t)state * 0x1p-31f * 0.1f;
  }
  return values;
}

std::string testing::writeToy(const std::string &folder,
                              const ToyOptions &options) {
  std::string weights;
  auto append = [&](uint64_t count, uint32_t seed) {
    std::vector<float> values = toyWeights(count, seed);
    weights.append(reinterpret_cast<const char *>(values.data()), 4 * count);
  };
  append(kToyWeight, 1);
  append(kColumns, 2);
  append(kToyWeight, 3);
  writeBytes(folder + "/weights.bin", weights);
  writeBytes(folder + "/toy.rondo", sealedProgram(toyProgram(options)));
  return folder + "/toy.rondo";
}

std::string testing::npyBytes(const std::string &descriptor,
                              const std::vector<int64_t> &shape,
                              const void *data, size_t bytes) {
  std::string header =
      "{'descr': '" + descriptor + "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : shape)
    header += std::to_string(extent) + ", ";
  header += "), }";
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  auto length = (uint16_t)header.size();
  file.append(reinterpret_cast<const char *>(&length), 2);
  return file + header + std::string(static_cast<const char *>(data), bytes);
}

ToyData testing::toyData(const ToyOptions &options, uint64_t steps) {
  ToyData data;
  data.samples = steps * options.rounds * options.microBatches * kRows;
  data.x = toyWeights(data.samples * kColumns, 11);
  for (float &value : data.x)
    value *= 10;
  for (uint64_t i = 0; i < data.samples; ++i)
    // The first row of a micro-batch is always labelled; others are in one case
    // of four not.
    data.labels.push_back(
        i % kRows == 0 ? 1 : (int64_t)((i * 2654435761u >> 7) % 4) - 1);
  return data;
}

//===----------------------------------------------------------------------===//
// Reference
//===----------------------------------------------------------------------===//

namespace {

using Values = std::vector<double>;

Values widened(const std::vector<float> &values) {
  return {values.begin(), values.end()};
}

double rounded(double value, bool bf16) {
  if (!bf16)
    return value;
  auto single = (float)value;
  uint32_t bits;
  std::memcpy(&bits, &single, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  std::memcpy(&single, &bits, 4);
  return single;
}

struct Adam {
  Values m, v;
  void step(Values &p, const Values &g, double rate, double decay,
            double coefficient, uint64_t t) {
    m.resize(p.size());
    v.resize(p.size());
    for (size_t i = 0; i < p.size(); ++i) {
      double gradient = g[i] * coefficient;
      p[i] *= 1 - rate * decay;
      m[i] = 0.9 * m[i] + 0.1 * gradient;
      v[i] = 0.95 * v[i] + 0.05 * gradient * gradient;
      p[i] -=
          rate / (1 - std::pow(0.9, (double)t)) * m[i] /
          (std::sqrt(v[i]) / std::sqrt(1 - std::pow(0.95, (double)t)) + 1e-6);
    }
  }
};

} // namespace

ToyReference testing::trainReference(const ToyOptions &options,
                                     const ToyData &data, uint64_t steps,
                                     double learningRate) {
  constexpr uint64_t n = kColumns;
  ToyReference result;
  result.w0 = widened(toyWeights(kToyWeight, 1));
  result.b0 = widened(toyWeights(n, 2));
  result.w1 = widened(toyWeights(kToyWeight, 3));
  Values shift = widened(toyWeights(n, 7));
  struct Copy {
    Values w0, b0, w1;
  };
  std::vector<Copy> history{{result.w0, result.b0, result.w1}};
  Adam adam0, adamB, adam1;
  uint64_t count = options.rounds * options.microBatches;
  for (uint64_t t = 0; t < steps; ++t) {
    // Step t computes with what the update of step t - 1 - staleness left.
    Copy copy = history[t >= options.staleness ? t - options.staleness : 0];
    for (Values *values : {&copy.w0, &copy.b0, &copy.w1})
      for (double &value : *values)
        value = rounded(value, options.bf16);
    Values valid(count, 0);
    double total = 0, loss = 0;
    for (uint64_t m = 0; m < count; ++m)
      for (uint64_t r = 0; r < kRows; ++r)
        valid[m] += data.labels[(t * count + m) * kRows + r] >= 0;
    for (double one : valid)
      total += one;
    result.g0.assign(n * n, 0);
    result.gb.assign(n, 0);
    result.g1.assign(n * n, 0);
    for (uint64_t m = 0; m < count; ++m) {
      double seed =
                 options.weighByLabels ? valid[m] / total : 1.0 / (double)count,
             own = 0;
      for (uint64_t r = 0; r < kRows; ++r) {
        uint64_t sample = (t * count + m) * kRows + r;
        if (data.labels[sample] < 0)
          continue;
        Values h(n), dy(n), dh(n);
        for (uint64_t j = 0; j < n; ++j)
          h[j] = copy.b0[j] + rounded(shift[j], options.bf16);
        for (uint64_t i = 0; i < n; ++i)
          for (uint64_t j = 0; j < n; ++j)
            h[j] += (double)data.x[sample * n + i] * copy.w0[i * n + j];
        for (uint64_t i = 0; i < n; ++i)
          for (uint64_t j = 0; j < n; ++j)
            dy[j] += h[i] * copy.w1[i * n + j];
        for (double &y : dy) {
          double difference = y - (double)data.labels[sample];
          own += difference * difference / valid[m];
          y = seed * 2 * difference / valid[m];
        }
        for (uint64_t i = 0; i < n; ++i)
          for (uint64_t j = 0; j < n; ++j) {
            dh[i] += dy[j] * copy.w1[i * n + j];
            result.g1[i * n + j] += h[i] * dy[j];
          }
        for (uint64_t j = 0; j < n; ++j)
          result.gb[j] += dh[j];
        for (uint64_t i = 0; i < n; ++i)
          for (uint64_t j = 0; j < n; ++j)
            result.g0[i * n + j] += (double)data.x[sample * n + i] * dh[j];
      }
      loss += seed * own;
    }
    double squares = 0;
    for (const Values *values : {&result.g0, &result.gb, &result.g1})
      for (double value : *values)
        squares += value * value;
    double coefficient =
        options.clipNorm > 0
            ? std::min(1.0, options.clipNorm / (std::sqrt(squares) + 1e-6))
            : 1;
    adam0.step(result.w0, result.g0, learningRate, 0.1, coefficient, t + 1);
    adamB.step(result.b0, result.gb, learningRate, 0, coefficient, t + 1);
    adam1.step(result.w1, result.g1, learningRate, 0.1, coefficient, t + 1);
    history.push_back({result.w0, result.b0, result.w1});
    result.losses.push_back(loss);
    result.norms.push_back(std::sqrt(squares));
  }
  return result;
}
