//===- WeightFile.h - Whether a file is still the same ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program names ranges of bytes in files of weights, and what those files
// were when it was compiled.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_WEIGHTFILE_H
#define RONDO_RUNTIME_WEIGHTFILE_H

#include "rondo/Runtime/Status.h"
#include <string>

namespace rondo::runtime {

struct FileIdentity {
  uint64_t size = 0;    ///< In bytes.
  uint64_t hashLow = 0; ///< XXH3-128 of the pieces.
  uint64_t hashHigh = 0;
  bool operator==(const FileIdentity &) const = default;
  /// "277147 bytes, hash 0123..." (32 hexadecimal digits)
  std::string text() const;
};

/// Files up to this size are hashed whole; of larger ones as many bytes, in
/// pieces of kIdentityPiece at even distances, the last at the file's end: so
/// it takes a second or two, and new weights of the same model still differ.
constexpr uint64_t kIdentityBytes = uint64_t(4) << 30;
constexpr uint64_t kIdentityPiece = uint64_t(1) << 20;

/// Reads the file in pieces, so that it takes no memory. Error: Code::User.
/// `whole`: up to which size all is hashed, for tests; a multiple of two
/// pieces.
Status identifyFile(const std::string &path, FileIdentity &identity,
                    uint64_t whole = kIdentityBytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_WEIGHTFILE_H
