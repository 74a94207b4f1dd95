//===- WireReader.cpp - Walks protobuf's wire format ----------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireReader.h"

namespace rondo {

bool WireReader::readVarint(uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position == message.size())
      return false;
    uint8_t byte = message[position++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return false;
}

bool WireReader::skip(uint64_t bytes) {
  if (bytes > message.size() - position)
    return false;
  position += bytes;
  return true;
}

bool WireReader::next(Field &field) {
  if (failed || position == message.size())
    return false;
  size_t start = position;
  uint64_t tag = 0, length = 0;
  bool good = readVarint(tag) && tag >> 32 == 0 && tag >> 3 != 0;
  field.number = tag >> 3;
  field.wireType = tag & 7;
  field.payload = {};
  if (good) {
    switch (field.wireType) {
    case 0:
      good = readVarint(length);
      break;
    case 1:
      good = skip(8);
      break;
    case 2:
      good = readVarint(length) && skip(length);
      if (good)
        field.payload = message.substr(position - length, length);
      break;
    case 5:
      good = skip(4);
      break;
    default: // groups: the format has none
      good = false;
    }
  }
  if (!good) {
    failed = true;
    return false;
  }
  field.whole = message.substr(start, position - start);
  return true;
}

} // namespace rondo
