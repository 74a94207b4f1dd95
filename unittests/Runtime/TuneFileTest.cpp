//===- TuneFileTest.cpp - Which algorithms were fastest -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TuneFile.h"
#include "Training.h"
#include <filesystem>

using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

const TuneFile::Machine kMachine{"NVIDIA H200", 130100, 32u << 20};

TuneFile::Choice choice(uint8_t digit, double microseconds) {
  TuneFile::Choice result;
  result.algorithm.fill(digit);
  result.algorithm[1] = 0x0f;
  result.microseconds = microseconds;
  result.firstMicroseconds = 2 * microseconds;
  result.candidates = 8;
  return result;
}

class TuneFileTest : public ::testing::Test {
protected:
  void refuses(const std::string &text, const char *part, bool again = false) {
    writeBytes(path, text);
    TuneFile file;
    Status status = TuneFile::open(path, kMachine, again, file);
    EXPECT_EQ(status.code(), Code::User) << text;
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
    EXPECT_EQ(readBytes(path), text);
  }

  TemporaryFolder folder;
  std::string path = folder / "tune.json";
};

} // namespace

TEST_F(TuneFileTest, KeepsWhatWasChosen) {
  TuneFile file;
  EXPECT_OK(TuneFile::open(path, kMachine, false, file));
  EXPECT_EQ(file.find("1 x 2 x 3"), nullptr);
  // Nothing to say, no file.
  EXPECT_OK(file.save());
  EXPECT_FALSE(std::filesystem::exists(path));
  file.add("4 x 5 x 6", choice(0xa7, 12.5));
  file.add("1 x 2 x 3", choice(0x10, 1.25));
  EXPECT_EQ(file.added(), 2u);
  EXPECT_OK(file.save());
  std::string text = readBytes(path);
  EXPECT_NE(text.find("\"gpu\": \"NVIDIA H200\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"algorithm\": \"a70fa7a7"), std::string::npos) << text;
  // What it holds is not written anew; what it lacks is added.
  TuneFile again;
  EXPECT_OK(TuneFile::open(path, kMachine, false, again));
  ASSERT_NE(again.find("4 x 5 x 6"), nullptr);
  EXPECT_EQ(again.find("4 x 5 x 6")->algorithm, choice(0xa7, 0).algorithm);
  EXPECT_EQ(again.find("1 x 2 x 3")->firstMicroseconds, 2.5);
  std::filesystem::remove(path);
  EXPECT_OK(again.save());
  EXPECT_FALSE(std::filesystem::exists(path));
  writeBytes(path, text);
  again.add("7 x 8 x 9", choice(1, 3));
  EXPECT_EQ(again.added(), 1u);
  EXPECT_OK(again.save());
  EXPECT_OK(TuneFile::open(path, kMachine, false, file));
  for (const char *product : {"1 x 2 x 3", "4 x 5 x 6", "7 x 8 x 9"})
    EXPECT_NE(file.find(product), nullptr) << product;
}

TEST_F(TuneFileTest, RefusesAnotherMachine) {
  TuneFile file;
  EXPECT_OK(TuneFile::open(path, kMachine, false, file));
  file.add("1 x 2 x 3", choice(0x10, 1.25));
  EXPECT_OK(file.save());
  std::string text = readBytes(path);
  for (const TuneFile::Machine &other :
       {TuneFile::Machine{"NVIDIA A100", 130100, 32u << 20},
        TuneFile::Machine{"NVIDIA H200", 120803, 32u << 20},
        TuneFile::Machine{"NVIDIA H200", 130100, 1u << 20}}) {
    Status status = TuneFile::open(path, other, false, file);
    EXPECT_EQ(status.code(), Code::User);
    for (const char *part :
         {"tune.json: was made on NVIDIA H200 with cuBLASLt 130100 and 32.0 "
          "MiB of workspace, this is ",
          other.gpu.c_str(), "--retune, which replaces it"})
      EXPECT_NE(status.message().find(part), std::string::npos)
          << status.message();
    // Asked for, it is replaced, and only once there is something to say.
    EXPECT_OK(TuneFile::open(path, other, true, file));
    EXPECT_EQ(file.find("1 x 2 x 3"), nullptr);
    EXPECT_EQ(readBytes(path), text);
    EXPECT_OK(file.save());
    EXPECT_OK(TuneFile::open(path, other, false, file));
    writeBytes(path, text);
  }
}

// Whatever else a file is, it is neither used nor overwritten.
TEST_F(TuneFileTest, RefusesWhatItDidNotWrite) {
  for (bool again : {false, true}) {
    refuses("", "not a file that --tune wrote; name another one", again);
    refuses("{", "not a file that --tune wrote", again);
    refuses("[]", "not a file that --tune wrote", again);
    refuses(R"({"format": )" + std::string(100000, '['),
            "nested more than 64 levels deep, at byte 74; name another one",
            again);
    refuses(R"({"format": "rondo-tune", "version": 1})",
            "not a file that --tune wrote", again);
    refuses(R"({"format": "safetensors", "version": 1, "gpu": "NVIDIA H200",
      "cublaslt": 130100, "workspace": 33554432, "products": []})",
            "not a file that --tune wrote", again);
    refuses(R"({"format": "rondo-tune", "version": 2, "gpu": "NVIDIA H200",
      "cublaslt": 130100, "workspace": 33554432, "products": []})",
            "of format 2, this is Rondo's format 1", again);
  }
  TuneFile file;
  Status status =
      TuneFile::open(std::string(folder / "."), kMachine, false, file);
  EXPECT_EQ(status.code(), Code::User) << status.message();
}

TEST_F(TuneFileTest, RefusesDamagedChoices) {
  std::string good(128, '1');
  auto text = [&](const std::string &entries) {
    return R"({"format": "rondo-tune", "version": 1, "gpu": "NVIDIA H200",)"
           R"("cublaslt": 130100, "workspace": 33554432, "products": [)" +
           entries + "]}";
  };
  auto entry = [](const std::string &algorithm, const char *time = "1.5") {
    return R"({"product": "1 x 1", "microseconds": )" + std::string(time) +
           R"(, "first_microseconds": 2, "candidates": 3, "algorithm": ")" +
           algorithm + "\"}";
  };
  TuneFile file;
  writeBytes(path, text(entry(good)));
  EXPECT_OK(TuneFile::open(path, kMachine, false, file));
  refuses(text("7"), "entry 0 of 'products' is damaged or there twice");
  refuses(text("{}"), "entry 0 of 'products' is damaged");
  refuses(text(entry(good.substr(1))), "entry 0 of 'products' is damaged");
  refuses(text(entry(good.substr(1) + "g")),
          "entry 0 of 'products' is damaged or there twice (1 x 1); correct "
          "it, or time again with --retune");
  refuses(text(entry(good, "\"fast\"")), "entry 0 of 'products' is damaged");
  refuses(text(entry(good) + "," + entry(good)),
          "entry 1 of 'products' is damaged or there twice (1 x 1)");
}
