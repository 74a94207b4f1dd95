//===- ParametersTest.cpp - Where weights come from and go to -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Convert.h"
#include "ProgramBuilder.h"
#include "Safetensors.h"
#include "rondo/Runtime/Session.h"
#include "rondo/Runtime/WeightFile.h"
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using program::ElementType;

namespace {

class ParametersTest : public ::testing::Test {
protected:
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  std::unique_ptr<Session> session;
  uint32_t threads = 1;

  Status
  open(const std::string &weights = "", const std::string &prefix = "",
       const std::function<void(program::ProgramT &)> &change = nullptr) {
    session.reset();
    writeToy(folder, {});
    if (change) {
      program::ProgramT table = toyProgram({});
      change(table);
      writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    }
    if (Status status = Program::load(folder / "toy.rondo", program);
        !status.ok())
      return status;
    SessionOptions options;
    options.weights = weights;
    options.weightsPrefix = prefix;
    options.hostThreads = threads;
    return Session::open(*program, options, session);
  }
  std::vector<float> read(const std::string &name, uint64_t count) {
    std::vector<float> values(count);
    Status status = session->readParameter(name, 0, values);
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }
  static TensorToWrite tensor(const std::string &name,
                              std::vector<int64_t> shape, float offset,
                              ElementType type = ElementType::F32) {
    TensorToWrite result;
    result.name = name;
    result.type = type;
    result.shape = std::move(shape);
    result.fill = [offset](uint64_t begin, uint64_t end, float *values) {
      for (uint64_t i = begin; i < end; ++i)
        values[i - begin] = offset + (float)(i % 4099);
    };
    return result;
  }
  void expect(const Status &status, const std::string &part,
              Code code = Code::User) {
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  }
  static constexpr int64_t n = TOY_COLUMNS;
};

} // namespace

TEST_F(ParametersTest, ComeFromTheFileThatTheProgramNames) {
  ASSERT_TRUE(open().ok());
  EXPECT_EQ(read("val_1", kToyWeight), toyWeights(kToyWeight, 1));
  EXPECT_EQ(read("layer0.weight", kToyWeight),
            toyWeights(kToyWeight, 1)); // by source name
  EXPECT_EQ(read("layer0.bias", n), toyWeights(n, 2));
  EXPECT_EQ(read("val_9", kToyWeight),
            toyWeights(kToyWeight, 3)); // by a copy's name
  EXPECT_EQ(read("shift", n), toyWeights(n, 7));
  std::vector<float> few(3);
  expect(session->readParameter("shift", 0, few), "has 264 elements, not 3",
         Code::Flags);
  expect(session->readParameter("nothing", 0, few), "no parameter 'nothing'");
  std::vector<float> shift(n);
  expect(session->readParameter("shift", 2, shift), "no such quantity");
}

TEST_F(ParametersTest, AllMissingOnesAreNamed) {
  writeToy(folder, {});
  std::filesystem::remove(folder / "weights.bin");
  ASSERT_TRUE(Program::load(folder / "toy.rondo", program).ok());
  Status status = Session::open(*program, {}, session);
  expect(status, "3 parameters have no usable value");
  for (const char *part : {"'val_1' (layer0.weight)", "'layer0.bias'",
                           "'layer1.weight'", "weights.bin: No such file"})
    expect(status, part);
}

TEST_F(ParametersTest, RangesAreChecked) {
  auto set = [](const std::string &location, uint64_t offset, uint64_t length) {
    return [=](program::ProgramT &table) {
      table.parameters[1]->location = location;
      table.parameters[1]->offset = offset;
      table.parameters[1]->length = length;
    };
  };
  uint64_t size = 4 * kToyWeight;
  expect(open("", "", set("/etc/passwd", 0, size)),
         "named by an absolute path, which is refused");
  expect(open("", "", set("..", 0, size)), "not a regular file");
  expect(open("", "", set("weights.bin", 0, size - 4)),
         "bytes are stored, its shape [264, 264] of float32 needs");
  expect(open("", "", set("weights.bin", kToyWeightsBytes - 4, size)),
         "are not in");
  expect(open("", "", set("weights.bin", ~0ull - 3, size)), "are not in");
  expect(open("", "", set("", 0, 0)),
         "the model came without its value; give --weights=");
  EXPECT_TRUE(open("", "", set("weights.bin", 0, size)).ok());
  // A program in another folder than its model.
  std::string up =
      "../" + folder.path.substr(folder.path.rfind('/') + 1) + "/weights.bin";
  EXPECT_TRUE(open("", "", set(up, 0, size)).ok());
}

TEST_F(ParametersTest, AFileMustBeWhatItWasWhenCompiled) {
  writeToy(folder, {});
  std::string path = folder / "weights.bin", good = readBytes(path);
  FileIdentity identity;
  ASSERT_TRUE(identifyFile(path, identity).ok());
  auto describe = [&](program::ProgramT &table) {
    auto file = std::make_unique<program::WeightFileT>();
    file->location = "weights.bin";
    file->size = identity.size;
    file->hash_low = identity.hashLow;
    file->hash_high = identity.hashHigh;
    table.weight_files.push_back(std::move(file));
  };
  ASSERT_TRUE(open("", "", describe).ok());
  ASSERT_TRUE(session->save(folder / "in.safetensors", 0, false).ok());
  auto reopen = [&](const std::string &bytes, const std::string &weights) {
    session.reset();
    writeBytes(path, bytes);
    SessionOptions options;
    options.weights = weights;
    return Session::open(*program, options, session);
  };
  std::string flipped = good;
  flipped[1000] = (char)(flipped[1000] ^ 1);
  for (const std::string &bad :
       {"abcd" + good, good + "x", flipped, good.substr(0, 100)}) {
    Status status = reopen(bad, "");
    expect(status, (path + " is not what " + folder.path +
                    "/toy.rondo was compiled with: it has " +
                    std::to_string(bad.size()) + " bytes, hash ")
                       .c_str());
    expect(status, "it had 558624 bytes, hash ");
    expect(status, "; compile the model again, put the old file back, or give "
                   "--weights=FILE.safetensors");
    // Nothing of it is read then.
    EXPECT_TRUE(reopen(bad, folder / "in.safetensors").ok());
    EXPECT_TRUE(reopen(bad, "random:1").ok());
  }
  EXPECT_TRUE(reopen(good, "").ok());
}

// Of large files only some pieces are read, the ends among them.
TEST_F(ParametersTest, FilesAreIdentifiedByPieces) {
  std::string path = folder / "file";
  std::string bytes(5 * kIdentityPiece + 7, 'x');
  auto identify = [&](uint64_t whole) {
    writeBytes(path, bytes);
    FileIdentity identity;
    EXPECT_TRUE(identifyFile(path, identity, whole).ok());
    EXPECT_EQ(identity.size, bytes.size());
    return identity;
  };
  uint64_t all = 8 * kIdentityPiece, two = 2 * kIdentityPiece;
  FileIdentity whole = identify(all), pieces = identify(two);
  EXPECT_EQ(identify(all), whole);
  for (auto [at, isRead] : {std::pair<size_t, bool>{0, true},
                            {kIdentityPiece - 1, true},
                            {kIdentityPiece, false},
                            {bytes.size() - kIdentityPiece - 1, false},
                            {bytes.size() - kIdentityPiece, true},
                            {bytes.size() - 1, true}}) {
    bytes[at] = 'y';
    EXPECT_NE(identify(all), whole) << at;
    EXPECT_EQ(identify(two) == pieces, !isRead) << at;
    bytes[at] = 'x';
  }
  bytes = "";
  EXPECT_EQ(identify(all).size, 0u);
  FileIdentity identity;
  expect(identifyFile(folder / "absent", identity), "No such file");
  expect(identifyFile(folder.path, identity), "not a regular file");
}

TEST_F(ParametersTest, ComeFromSafetensorsByEitherName) {
  std::string path = folder / "in.safetensors";
  // layer0.weight is stored in the source's layout, the transpose of val_1's;
  // the frozen shift stays the program's.
  std::vector<TensorToWrite> tensors{
      tensor("m.layer0.weight", {n, n}, 1),
      tensor("m.layer0.bias", {n}, 2, ElementType::BF16),
      tensor("m.layer1.weight", {n, n}, 3)};
  ASSERT_TRUE(writeSafetensors(path, tensors).ok());
  ASSERT_TRUE(open(path, "m.").ok());
  std::vector<float> w0 = read("val_1", kToyWeight);
  for (int64_t i = 0; i < n; i += 7)
    for (int64_t j = 0; j < n; j += 5)
      ASSERT_EQ(w0[(size_t)(i * n + j)], 1 + (float)((j * n + i) % 4099));
  EXPECT_EQ(read("layer0.bias", n)[200], 202);
  EXPECT_EQ(read("shift", n), toyWeights(n, 7));
  tensors[0].name = "m.val_1"; // in the initializer's layout
  tensors[2].name = "m.val_9"; // a copy, which holds the transpose
  ASSERT_TRUE(writeSafetensors(path, tensors).ok());
  ASSERT_TRUE(open(path, "m.").ok());
  EXPECT_EQ(read("val_1", kToyWeight)[5 * n + 7],
            1 + (float)((5 * n + 7) % 4099));
  EXPECT_EQ(read("layer1.weight", kToyWeight)[5 * n + 7],
            3 + (float)((7 * n + 5) % 4099));

  Status status = open(path, "wrong.");
  expect(status, "3 parameters have no usable value");
  expect(status, "'layer0.bias': not in the files");
  tensors[1].shape = {n + 1};
  tensors[2].shape = {1, n * n};
  ASSERT_TRUE(writeSafetensors(path, tensors).ok());
  status = open(path, "m.");
  expect(
      status,
      "'layer0.bias': has shape [265] in the files, the program wants [264]");
  expect(status, "'layer1.weight': has shape [1, 69696] in the files, the "
                 "program wants [264, 264]");
}

TEST_F(ParametersTest, AreDrawnByRole) {
  ASSERT_TRUE(open("random:5").ok());
  std::vector<float> w0 = read("val_1", kToyWeight),
                     w1 = read("layer1.weight", kToyWeight);
  EXPECT_EQ(read("layer0.bias", n), std::vector<float>(n, 0));
  EXPECT_EQ(read("shift", n), toyWeights(n, 7)); // frozen, and known
  double sum = 0, squares = 0;
  for (float value : w0) {
    sum += value;
    squares += (double)value * value;
  }
  EXPECT_NEAR(sum / kToyWeight, 0, 0.02 * 4 / std::sqrt((double)kToyWeight));
  EXPECT_NEAR(std::sqrt(squares / kToyWeight), 0.02, 0.0003);
  EXPECT_NE(w0, w1);
  // Threads change nothing.
  threads = 3;
  ASSERT_TRUE(open("random:5").ok());
  EXPECT_EQ(read("val_1", kToyWeight), w0);
  ASSERT_TRUE(open("random:6").ok());
  EXPECT_NE(read("val_1", kToyWeight), w0);
  ASSERT_TRUE(open("random:6", "", [](program::ProgramT &table) {
                table.parameters[2]->role = "scale";
              }).ok());
  EXPECT_EQ(read("layer0.bias", n), std::vector<float>(n, 1));
  Status status = open("random:x");
  EXPECT_EQ(status.code(), Code::Flags);
  EXPECT_EQ(status.message(), "--weights=random:x: the seed is not a number");
}

TEST_F(ParametersTest, AreSavedUnderEitherName) {
  ASSERT_TRUE(open().ok());
  std::string path = folder / "out.safetensors";
  auto value = [&](const TensorFiles &files, const char *name, uint64_t index) {
    const StoredTensor *tensor = files.find(name);
    EXPECT_TRUE(tensor) << name;
    return tensor ? loadFloat(tensor->data.data(), tensor->type, index) : 0;
  };
  std::vector<float> w0 = toyWeights(kToyWeight, 1),
                     w1 = toyWeights(kToyWeight, 3);
  ASSERT_TRUE(session->save(path, 0, false).ok());
  TensorFiles onnx;
  ASSERT_TRUE(onnx.open(path).ok());
  EXPECT_EQ(
      onnx.size(),
      4u); // with the copy; without the frozen value that lies in the program
  EXPECT_EQ(value(onnx, "val_1", 5 * n + 7), w0[5 * n + 7]);
  EXPECT_EQ(value(onnx, "layer1.weight", 5 * n + 7), w1[5 * n + 7]);
  EXPECT_EQ(value(onnx, "val_9", 5 * n + 7), w1[7 * n + 5]); // the transpose
  ASSERT_TRUE(session->save(path, 0, true).ok());
  TensorFiles source;
  ASSERT_TRUE(source.open(path).ok());
  EXPECT_EQ(source.size(), 3u);
  EXPECT_EQ(value(source, "layer0.weight", 5 * n + 7), w0[7 * n + 5]);
  EXPECT_EQ(value(source, "layer1.weight", 5 * n + 7), w1[5 * n + 7]);
  // What was saved can be loaded again.
  ASSERT_TRUE(open(path).ok());
  EXPECT_EQ(read("val_1", kToyWeight), w0);
  expect(session->save(folder / "g.safetensors", 1, false),
         "no gradients were kept");
}

TEST_F(ParametersTest, CanBeWritten) {
  ASSERT_TRUE(open().ok());
  std::vector<float> values(n, 0.5f);
  for (uint32_t quantity : {0u, 2u, 3u}) {
    ASSERT_TRUE(session->writeParameter("layer0.bias", quantity, values).ok());
    std::vector<float> back(n);
    ASSERT_TRUE(session->readParameter("layer0.bias", quantity, back).ok());
    EXPECT_EQ(back, values);
  }
  ASSERT_TRUE(session->writeParameter("shift", 0, values).ok());
  EXPECT_EQ(read("shift", n), values);
  expect(session->writeParameter("shift", 2, values), "no such state to write");
  expect(session->writeParameter("layer0.bias", 1, values),
         "no such state to write");
  expect(session->writeParameter("nothing", 0, values),
         "no parameter 'nothing'");
  expect(session->writeParameter("val_1", 0, values), "elements, not 264",
         Code::Flags);
}
