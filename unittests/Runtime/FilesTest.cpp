//===- FilesTest.cpp - Reading and writing arrays -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Host/WorkerPool.h"
#include "Npy.h"
#include "ProgramBuilder.h"
#include "Safetensors.h"
#include "rondo/Runtime/OutputFile.h"
#include <csignal>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using program::ElementType;

namespace {

class FilesTest : public ::testing::Test {
protected:
  TemporaryFolder folder;

  Status openNpy(const std::string &bytes) {
    writeBytes(folder / "a.npy", bytes);
    npy = NpyFile();
    return NpyFile::open(folder / "a.npy", npy);
  }
  Status openTensors(const std::string &bytes) {
    writeBytes(folder / "a.safetensors", bytes);
    return TensorFiles().open(folder / "a.safetensors");
  }
  static std::string tensors(const std::string &header, size_t data) {
    uint64_t length = header.size();
    return std::string(reinterpret_cast<const char *>(&length), 8) + header +
           std::string(data, '\1');
  }
  void expect(const Status &status, const char *part) {
    EXPECT_EQ(status.code(), Code::User);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  }
  NpyFile npy;
};

} // namespace

TEST_F(FilesTest, NpyReadsWhatNumpyWrites) {
  int64_t values[6] = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(openNpy(npyBytes("<i8", {2, 3}, values, sizeof values)).ok());
  EXPECT_EQ(npy.type, ElementType::I64);
  EXPECT_EQ(npy.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(npy.data.data(), values, sizeof values), 0);
  ASSERT_TRUE(openNpy(npyBytes("<f4", {}, values, 4)).ok()); // a scalar
  EXPECT_TRUE(npy.shape.empty());
  // Version 2 has a longer length field.
  std::string file = npyBytes("|b1", {3}, values, 3);
  file[6] = 2;
  file.insert(10, 2, '\0');
  ASSERT_TRUE(openNpy(file).ok());
  EXPECT_EQ(npy.type, ElementType::Bool);
  EXPECT_EQ(npy.data.size(), 3u);
  ASSERT_TRUE(openNpy(npyBytes("<c8", {2}, values, 16)).ok());
  EXPECT_FALSE(npy.known);
}

TEST_F(FilesTest, NpyRefusesWhatIsDamaged) {
  int64_t values[6] = {};
  std::string file = npyBytes("<i8", {2, 3}, values, sizeof values);
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(openNpy(file.substr(0, length)).ok()) << length;
  expect(openNpy("hello, world"), "NumPy's magic");
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string other = file;
    return other.replace(other.find(from), from.size(), to);
  };
  expect(openNpy(replaced("False", "True ")), "Fortran order");
  expect(openNpy(replaced("(2, 3, )", "(-2, 3,)")), "shape does not parse");
  expect(openNpy(replaced("'<i8'", "[<i8]")), "not a simple one");
  file[6] = 9;
  expect(openNpy(file), "version 9");
  expect(openNpy(npyBytes("<i8", {1ll << 40, 1ll << 40}, values, 8)),
         "overflows");
  expect(openNpy(npyBytes("<i8", {3, 3}, values, 48)),
         "truncated: 48 bytes of data instead of 72");
  // No header crashes the parser, whatever its bytes.
  uint32_t state = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string other = npyBytes("<i8", {2, 3}, values, sizeof values);
    for (int i = 0; i < 4; ++i) {
      state = state * 1664525u + 1013904223u;
      other[6 + (state >> 8) % (other.size() - 6)] = (char)(state >> 24);
    }
    (void)openNpy(other);
  }
}

TEST_F(FilesTest, SafetensorsSurviveARoundTrip) {
  std::vector<TensorToWrite> written(3);
  ElementType types[] = {ElementType::F32, ElementType::BF16, ElementType::F16};
  for (size_t i = 0; i < 3; ++i) {
    written[i].name = "tensor \"" + std::to_string(i) + "\"\n";
    written[i].type = types[i];
    written[i].shape = {300, 1001}; // more than one chunk
    written[i].fill = [](uint64_t begin, uint64_t end, float *values) {
      for (uint64_t at = begin; at < end; ++at)
        values[at - begin] = (float)(at % 128);
    };
  }
  std::string path = folder / "b.safetensors";
  ASSERT_TRUE(writeSafetensors(path, written).ok());
  TensorFiles files;
  ASSERT_TRUE(files.open(path).ok());
  EXPECT_EQ(files.size(), 3u);
  const StoredTensor *tensor = files.find("tensor \"1\"\n");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->type, ElementType::BF16);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{300, 1001}));
  uint16_t last;
  std::memcpy(&last, tensor->data.data() + tensor->data.size() - 2, 2);
  EXPECT_EQ(last, 0x4130); // 300299 % 128 = 11
  // Threads change nothing.
  WorkerPool workers(3);
  std::string twin = folder / "c.safetensors";
  ASSERT_TRUE(writeSafetensors(twin, written, &workers).ok());
  EXPECT_EQ(readBytes(path), readBytes(twin));
  ASSERT_EQ(std::remove(twin.c_str()), 0);
  // Nothing but the file is left in the folder.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
  written[1].name = written[0].name;
  expect(writeSafetensors(path, written), "two tensors are named");
  expect(writeSafetensors("/no/such/folder/a", {}),
         "cannot be written: No such file");
}

TEST_F(FilesTest, AFileThatDoesNotFitLeavesTheOldOne) {
  TensorToWrite tensor;
  tensor.name = "large";
  tensor.shape = {1000, 1000};
  tensor.fill = [](uint64_t begin, uint64_t end, float *values) {
    std::fill(values, values + (end - begin), 1.0f);
  };
  std::string path = folder / "full.safetensors";
  writeBytes(path, "old");
  // Whoever writes beyond it gets an error once the signal is ignored.
  rlimit before, small;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 2'000'000;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  WorkerPool workers(2);
  for (WorkerPool *shared : {(WorkerPool *)nullptr, &workers})
    expect(writeSafetensors(path, {&tensor, 1}, shared),
           "cannot be written: File too large");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(readBytes(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
}

TEST_F(FilesTest, SafetensorsRefuseWhatIsDamaged) {
  expect(openTensors("abc"), "its header is truncated");
  expect(openTensors(std::string(8, '\xff')), "its header is truncated");
  expect(openTensors(tensors("not json", 4)), "no JSON object");
  expect(openTensors(tensors("[1]", 4)), "no JSON object");
  expect(
      openTensors(tensors(std::string(100000, '['), 4)),
      "its JSON is nested more than 64 levels deep, at byte 64 of its header");
  expect(openTensors(tensors(R"({"\\":)" + std::string(100000, '['), 4)),
         "nested more than 64 levels deep, at byte 69 of its header");
  for (
      const char *entry :
      {"1", "{}", R"({"dtype":1,"shape":[1],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})",
       R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})",
       R"({"dtype":"F32","shape":[1],"data_offsets":["0","4"]})",
       R"({"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,4]})"})
    expect(openTensors(tensors("{\"a\":" + std::string(entry) + "}", 4)),
           "tensor 'a' does not lie within the file");
}

TEST_F(FilesTest, WritingGoesThroughLinksAndSparesWhatIsNoFile) {
  auto write = [](std::FILE *file) { std::fputs("new", file); };
  writeBytes(folder / "target", "old");
  std::filesystem::create_symlink("target", folder / "link");
  EXPECT_TRUE(writeFile(folder / "link", write).ok());
  EXPECT_EQ(readBytes(folder / "target"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  // Also through one to what is not there yet.
  std::filesystem::create_symlink("absent", folder / "dangling");
  EXPECT_TRUE(writeFile(folder / "dangling", write).ok());
  EXPECT_EQ(readBytes(folder / "absent"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "dangling"));
  std::filesystem::create_symlink("circle", folder / "circle");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (auto attempt :
       {+[](const std::string &path) {
          return writeFile(path, [](std::FILE *) {});
        },
        +[](const std::string &path) { return checkOutputFile(path); }}) {
    expect(attempt(folder / "pipe"), "is not a regular file");
    EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
    expect(attempt(folder / ""), "is not a regular file");
    expect(attempt(folder / "circle"), "Too many levels of symbolic links");
    expect(attempt(folder / "no/file"), "No such file or directory");
    expect(attempt(folder / "target/file"), "Not a directory");
    expect(attempt(folder / std::string(300, 'x')), "File name too long");
    expect(attempt(""), "a file without a name cannot be written");
  }
}

TEST_F(FilesTest, CheckingAnOutputChangesNothing) {
  writeBytes(folder / "old", "old");
  auto time = std::filesystem::last_write_time(folder / "old");
  EXPECT_TRUE(checkOutputFile(folder / "old").ok());
  EXPECT_TRUE(checkOutputFile(folder / "new").ok());
  EXPECT_EQ(readBytes(folder / "old"), "old");
  EXPECT_EQ(std::filesystem::last_write_time(folder / "old"), time);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
}

TEST_F(FilesTest, AReplacedFileKeepsItsPermissionsAndAFailedOneItsContent) {
  writeBytes(folder / "file", "old");
  std::filesystem::permissions(folder / "file", std::filesystem::perms(0640));
  EXPECT_TRUE(writeFile(folder / "file", [](std::FILE *file) {
                std::fputs("new", file);
              }).ok());
  EXPECT_EQ(readBytes(folder / "file"), "new");
  EXPECT_EQ(std::filesystem::status(folder / "file").permissions(),
            std::filesystem::perms(0640));
  // A stream that fails, here because it is not open for what is done to it.
  expect(writeFile(folder / "file",
                   [](std::FILE *file) {
                     std::fputs("half", file);
                     EXPECT_EQ(std::fgetc(file), EOF);
                   }),
         "cannot be written: Bad file descriptor");
  EXPECT_EQ(readBytes(folder / "file"), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}),
            1);
}

TEST_F(FilesTest, OneFileHasManyNames) {
  namespace fs = std::filesystem;
  std::string file = folder / "file", other = folder / "other";
  writeBytes(file, "1");
  writeBytes(other, "1");
  fs::create_symlink("file", folder / "link");
  fs::create_symlink("link", folder / "chain");
  fs::create_hard_link(file, folder / "hard");
  fs::create_directory_symlink(folder.path, folder / "up");
  fs::create_symlink("new", folder / "dangling");
  fs::create_symlink("loop", folder / "loop");
  for (const char *name :
       {"file", "link", "chain", "hard", "up/file", "./up/link"})
    EXPECT_TRUE(sameFile(file, folder / name)) << name;
  EXPECT_FALSE(sameFile(file, other));
  EXPECT_FALSE(sameFile(file, folder / "new"));
  // Files that are not there yet.
  for (const char *name : {"new", "dangling", "up/new", "up/dangling"})
    EXPECT_TRUE(sameFile(folder / "new", folder / name)) << name;
  EXPECT_FALSE(sameFile(folder / "new", folder / "newer"));
  EXPECT_FALSE(sameFile(folder / "no/new", folder / "no/new")); // nowhere
  EXPECT_FALSE(sameFile(folder / "loop", folder / "loop"));
  EXPECT_FALSE(sameFile("", ""));
}

TEST_F(FilesTest, AnIndexNamesItsFiles) {
  auto file = [&](const char *name, const char *tensor) {
    writeBytes(
        folder / name,
        tensors("{\"" + std::string(tensor) +
                    R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                4));
  };
  file("1.safetensors", "a");
  file("2.safetensors", "b");
  writeBytes(folder / "model.safetensors.index.json",
             R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  for (const std::string &path :
       {folder.path, folder / "model.safetensors.index.json"}) {
    TensorFiles files;
    ASSERT_TRUE(files.open(path).ok());
    EXPECT_TRUE(files.find("a") && files.find("b"));
  }
  writeBytes(folder / "i.json", R"({"weight_map":{"a":"../1.safetensors"}})");
  expect(TensorFiles().open(folder / "i.json"),
         "is not a name in the same folder");
  writeBytes(folder / "i.json", std::string(100000, '{'));
  expect(TensorFiles().open(folder / "i.json"),
         "not an index of safetensors files: its JSON is nested more than 64 "
         "levels deep, at byte 64");
  writeBytes(folder / "i.json", R"({"weights":{}})");
  expect(TensorFiles().open(folder / "i.json"), "it has no weight_map");
  std::filesystem::remove(folder / "model.safetensors.index.json");
  TensorFiles both;
  EXPECT_TRUE(both.open(folder.path).ok());
  file("2.safetensors", "a");
  expect(TensorFiles().open(folder.path), "is in another file, too");
  std::filesystem::create_directory(folder / "empty");
  expect(TensorFiles().open(folder / "empty"), "holds no .safetensors files");
}
