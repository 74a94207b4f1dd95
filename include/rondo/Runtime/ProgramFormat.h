//===- ProgramFormat.h - The frame of a .rondo file -------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes around the table and the blobs; schema/program.fbs describes them.
// Shared by the emitter and the runtime, so it needs xxHash and nothing else.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_PROGRAMFORMAT_H
#define RONDO_RUNTIME_PROGRAMFORMAT_H

#include "xxhash.h"
#include <cstdint>
#include <cstring>
#include <string>

namespace rondo::runtime {

constexpr char kProgramMagic[8] = {'R', 'O', 'N', 'D', 'O', '\0', '\r', '\n'};
/// Raised whenever an older reader would misread a newer file.
constexpr uint32_t kProgramVersion = 3;
constexpr uint64_t kBlobAlignment = 4096;
/// Where what the length and the hash cover begins: the table's length, the
/// table, the blobs.
constexpr uint64_t kProgramHeaderBytes = 40;
constexpr uint64_t kProgramTableOffset = 48;

struct ProgramHeader {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t length;  ///< Bytes after the header.
  uint64_t hashLow; ///< XXH3-128 of those bytes.
  uint64_t hashHigh;
};
static_assert(sizeof(ProgramHeader) == kProgramHeaderBytes);

inline uint64_t alignToBlob(uint64_t offset) {
  return (offset + kBlobAlignment - 1) / kBlobAlignment * kBlobAlignment;
}

/// Fills in the header and the table's length. `file` holds kProgramTableOffset
/// bytes of room, the finished table of `tableBytes` bytes, padding and the
/// blobs.
inline void sealProgram(std::string &file, uint64_t tableBytes) {
  std::memcpy(file.data() + kProgramHeaderBytes, &tableBytes,
              sizeof tableBytes);
  ProgramHeader header{};
  std::memcpy(header.magic, kProgramMagic, sizeof kProgramMagic);
  header.version = kProgramVersion;
  header.length = file.size() - kProgramHeaderBytes;
  XXH128_hash_t hash =
      XXH3_128bits(file.data() + kProgramHeaderBytes, header.length);
  header.hashLow = hash.low64;
  header.hashHigh = hash.high64;
  std::memcpy(file.data(), &header, sizeof header);
}

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_PROGRAMFORMAT_H
