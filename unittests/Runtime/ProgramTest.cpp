//===- ProgramTest.cpp - Damaged files are errors -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "rondo/Runtime/ProgramFormat.h"
#include <gtest/gtest.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

/// Loads from aligned memory, as a mapping would be.
Status load(const std::string &file) {
  std::vector<uint64_t> aligned(file.size() / 8 + 1);
  std::memcpy(aligned.data(), file.data(), file.size());
  std::unique_ptr<Program> program;
  return Program::fromBytes(
      {reinterpret_cast<const std::byte *>(aligned.data()), file.size()},
      "toy.rondo", program);
}

/// The same bytes with a header that fits them: what a hostile writer would do.
std::string resealed(std::string file, uint64_t tableBytes) {
  if (file.size() >= kProgramTableOffset)
    sealProgram(file, tableBytes);
  return file;
}

uint64_t tableBytes(const std::string &file) {
  uint64_t bytes;
  std::memcpy(&bytes, file.data() + kProgramHeaderBytes, 8);
  return bytes;
}

class ProgramTest : public ::testing::Test {
protected:
  std::string file = sealedProgram(toyProgram({}));
};

} // namespace

TEST_F(ProgramTest, LoadsWhatIsWhole) {
  Status status = load(file);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(ProgramTest, EveryTruncationIsAnError) {
  for (size_t length = 0; length < file.size(); length += length < 128 ? 1 : 97)
    EXPECT_EQ(load(file.substr(0, length)).code(), Code::User) << length;
}

// With a header that says so, the file is cut within the table or its blobs.
TEST_F(ProgramTest, EveryResealedTruncationIsAnErrorOrWhole) {
  uint64_t table = tableBytes(file);
  for (size_t length = kProgramTableOffset; length < file.size();
       length += 61) {
    uint64_t left = std::min<uint64_t>(table, length - kProgramTableOffset);
    EXPECT_FALSE(load(resealed(file.substr(0, length), left)).ok()) << length;
  }
}

TEST_F(ProgramTest, AFlippedBitIsFoundByTheChecksum) {
  for (size_t at = 0; at < file.size(); at += at < 64 ? 1 : 331) {
    std::string damaged = file;
    damaged[at] = (char)(damaged[at] ^ 0x10);
    EXPECT_FALSE(load(damaged).ok()) << at;
  }
}

// Damage that the checksum does not show must be found, or be harmless; never
// crash.
TEST_F(ProgramTest, ResealedDamageNeverCrashes) {
  uint64_t table = tableBytes(file);
  uint32_t state = 1, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = file.substr(0, kProgramTableOffset + table);
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 1664525u + 1013904223u;
      size_t at = kProgramTableOffset + (state >> 4) % table;
      state = state * 1664525u + 1013904223u;
      damaged[at] = (char)(state >> 24);
    }
    damaged += file.substr(damaged.size());
    refused += !load(resealed(std::move(damaged), table)).ok();
  }
  EXPECT_GT(refused, 100u);
}

TEST_F(ProgramTest, ANonsensicalTableLengthIsAnError) {
  for (uint64_t length : {uint64_t(0), uint64_t(1), uint64_t(7), uint64_t(100),
                          file.size(), UINT64_MAX})
    EXPECT_EQ(load(resealed(file, length)).code(), Code::User) << length;
}

TEST_F(ProgramTest, SaysWhatIsWrongWithAFile) {
  Status status = load("ONNX is no program");
  EXPECT_NE(status.message().find("not a Rondo program"), std::string::npos)
      << status.message();
  std::string other = file;
  other[8] = 9;
  status = load(other);
  EXPECT_NE(status.message().find(
                "format version 9, but this runtime reads version 3"),
            std::string::npos)
      << status.message();
  auto expect = [&](const std::string &bytes, const std::string &message) {
    EXPECT_EQ(load(bytes).message(), "toy.rondo: " + message);
  };
  std::string size = std::to_string(file.size()),
              length = std::to_string(file.size() - kProgramHeaderBytes);
  expect(file.substr(0, 20), "truncated: 20 bytes are less than a header");
  expect(file + "x",
         "damaged: " + std::to_string(file.size() + 1 - kProgramHeaderBytes) +
             " bytes follow the header, " + length + " were written");
  other = file;
  other[offsetof(ProgramHeader, reserved)] ^= 1;
  expect(other, "damaged: the header's reserved field is not 0");
  other = file;
  other.back() = (char)(other.back() ^ 1);
  expect(other,
         "damaged: the checksum does not match; copy or compile it again");
  expect(resealed(file, file.size()),
         "damaged: a table of " + size + " bytes in a file of " + size);
  other = file;
  std::memset(other.data() + kProgramTableOffset, 0xff, 8);
  expect(resealed(other, tableBytes(file)),
         "damaged: the table is not a well-formed FlatBuffer");
  std::unique_ptr<Program> program;
  status = Program::load("/no/such/file.rondo", program);
  EXPECT_NE(status.message().find("/no/such/file.rondo: No such file"),
            std::string::npos)
      << status.message();
  status = Program::load("/", program);
  EXPECT_NE(status.message().find("not a regular file"), std::string::npos)
      << status.message();
}
