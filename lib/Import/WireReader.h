//===- WireReader.h - Walks protobuf's wire format --------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_WIREREADER_H
#define RONDO_LIB_IMPORT_WIREREADER_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace rondo {

/// Walks the fields of one protobuf message without copying it, so that the
/// place of every field in the file is known. Malformed input ends the walk
/// and sets `failed`.
class WireReader {
public:
  explicit WireReader(llvm::StringRef message) : message(message) {}

  struct Field {
    uint32_t number = 0;
    uint32_t wireType = 0;
    /// The whole field, tag included.
    llvm::StringRef whole;
    /// The bytes of a length-delimited field (wire type 2), else empty.
    llvm::StringRef payload;
  };

  /// Reads the next field; false at the end or on malformed input.
  bool next(Field &field);
  bool hasFailed() const { return failed; }

private:
  bool readVarint(uint64_t &value);
  bool skip(uint64_t bytes);

  llvm::StringRef message;
  size_t position = 0;
  bool failed = false;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_WIREREADER_H
