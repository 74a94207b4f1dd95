//===- WireReaderTest.cpp - Walking protobuf's wire format ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WireReader.h"
#include "gtest/gtest.h"

using namespace rondo;

namespace {

template <size_t n>
llvm::StringRef bytes(const char (&text)[n]) {
  return {text, n - 1};
}

TEST(WireReader, FindsFieldsInPlace) {
  // 1: varint 300; 2: "abc"; 3: 4 bytes; 4: 8 bytes.
  llvm::StringRef message =
      bytes("\x08\xac\x02\x12\x03"
            "abc\x1d\x01\x02\x03\x04\x21\x01\x02\x03\x04\x05\x06\x07\x08");
  WireReader reader(message);
  WireReader::Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.whole.size(), 3u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 2u);
  EXPECT_EQ(field.payload, "abc");
  EXPECT_EQ(field.payload.data(), message.data() + 5);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 3u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 4u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.hasFailed());
}

TEST(WireReader, RefusesMalformedInput) {
  llvm::StringRef cases[] = {
      bytes("\x08"),   // no value
      bytes("\x12\x04" // longer than the message
            "abc"),
      bytes("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), // 2^64 - 1 bytes
      bytes("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), // endless
      bytes("\x0b"),                                             // a group
      bytes("\x02"),                                             // field 0
      bytes("\x1d\x01"), // 4 bytes of which one is there
  };
  for (llvm::StringRef message : cases) {
    WireReader reader(message);
    WireReader::Field field;
    while (reader.next(field)) {
    }
    EXPECT_TRUE(reader.hasFailed()) << message.str();
  }
}

TEST(WireReader, ReadsNothingFromNothing) {
  WireReader reader(bytes(""));
  WireReader::Field field;
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.hasFailed());
}

} // namespace
