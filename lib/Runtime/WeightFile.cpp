//===- WeightFile.cpp - Whether a file is still the same ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/WeightFile.h"
#include "xxhash.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace rondo::runtime;

std::string FileIdentity::text() const {
  return format("%llu bytes, hash %016llx%016llx", (unsigned long long)size,
                (unsigned long long)hashHigh, (unsigned long long)hashLow);
}

/// All of [offset, offset + size). False: an error, or the file ends before.
static bool readPiece(int file, std::vector<char> &piece, uint64_t offset,
                      uint64_t size) {
  for (uint64_t done = 0; done < size;) {
    ssize_t step =
        ::pread(file, piece.data() + done, size - done, (off_t)(offset + done));
    if (step < 0 && errno == EINTR)
      continue;
    if (step == 0)
      errno = EIO;
    if (step <= 0)
      return false;
    done += (uint64_t)step;
  }
  return true;
}

Status rondo::runtime::identifyFile(const std::string &path,
                                    FileIdentity &identity, uint64_t whole) {
  struct Handle {
    int file;
    ~Handle() {
      if (file >= 0)
        ::close(file);
    }
  } handle{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat information;
  if (handle.file < 0 || ::fstat(handle.file, &information) != 0)
    return userError(path + ": " + std::strerror(errno));
  if (!S_ISREG(information.st_mode))
    return userError(path + ": not a regular file");
  FileIdentity result;
  result.size = (uint64_t)information.st_size;
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state(
      XXH3_createState(), XXH3_freeState);
  if (!state)
    return deviceError("out of memory");
  XXH3_128bits_reset(state.get());
  std::vector<char> buffer(kIdentityPiece);
  // A number of pieces; the offset of the first and the last are 0 and
  // size - kIdentityPiece where only some are read.
  bool all = result.size <= whole;
  uint64_t pieces = ((all ? result.size : whole) + kIdentityPiece - 1) /
                    kIdentityPiece,
           rest = all ? 0 : result.size - kIdentityPiece;
  for (uint64_t i = 0; i < pieces; ++i) {
    uint64_t offset = all ? i * kIdentityPiece
                          : rest / (pieces - 1) * i +
                                rest % (pieces - 1) * i / (pieces - 1),
             size = std::min(kIdentityPiece, result.size - offset);
    if (!readPiece(handle.file, buffer, offset, size))
      return userError(path + ": cannot be read: " + std::strerror(errno));
    XXH3_128bits_update(state.get(), buffer.data(), size);
  }
  XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  result.hashLow = hash.low64;
  result.hashHigh = hash.high64;
  identity = result;
  return Status::success();
}
