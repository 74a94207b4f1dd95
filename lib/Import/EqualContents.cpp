//===- EqualContents.cpp - Finds initializers of equal contents -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"

#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace mlir;

namespace rondo {

/// One element's bytes.
static StringRef getElement(StringRef bytes, int64_t index, int64_t size) {
  return bytes.substr(index * size, size);
}

/// Type, shape and a few elements, as the tensor is or as its transpose would
/// have them. The elements lie at relative positions, so that a tensor and
/// its transpose agree about them without either being read as a whole.
static std::string getFingerprint(RankedTensorType type, StringRef bytes,
                                  bool transposed) {
  constexpr int64_t samples = 64;
  int64_t size = nn::getElementBytes(type.getElementType());
  int64_t rows = type.getDimSize(0);
  int64_t columns = type.getNumElements() / rows;
  SmallVector<int64_t> shape(type.getShape());
  if (transposed)
    std::swap(shape[0], shape[1]);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type.getElementType() << nn::shapeToString(shape);
  int64_t high = transposed ? columns : rows;
  int64_t wide = transposed ? rows : columns;
  uint64_t state = 1;
  for (int64_t i = 0; i < samples; ++i) {
    // Any fixed sequence will do; this one is Knuth's linear congruence.
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t row = (state >> 40) % high,
            column = (state >> 16 & 0xffffff) % wide;
    int64_t at = transposed ? column * columns + row : row * columns + column;
    stream << getElement(bytes, at, size);
  }
  return text;
}

static bool isOneRepeatedValue(StringRef bytes, int64_t size) {
  // Equal to itself shifted by one element.
  return std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) ==
         0;
}

bool EqualContents::areEqual(int left, int right, bool transposed) {
  const Initializer &a = file.getInitializers()[left];
  const Initializer &b = file.getInitializers()[right];
  StringRef aBytes = file.getBytes(a), bBytes = file.getBytes(b);
  if (!transposed)
    return aBytes == bBytes;
  int64_t rows = a.type.getDimSize(0), columns = a.type.getDimSize(1);
  int64_t size = nn::getElementBytes(a.type.getElementType());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      if (getElement(aBytes, row * columns + column, size) !=
          getElement(bBytes, column * rows + row, size))
        return false;
  return true;
}

std::optional<EqualContents::Match> EqualContents::add(int initializer) {
  const Initializer &candidate = file.getInitializers()[initializer];
  StringRef bytes = file.getBytes(candidate);
  RankedTensorType type = candidate.type;
  if (!type || type.getRank() < 2 || bytes.empty())
    return std::nullopt;
  int64_t size = nn::getElementBytes(type.getElementType());
  if (isOneRepeatedValue(bytes, size))
    return std::nullopt;
  std::string direct = getFingerprint(type, bytes, false);
  for (int earlier : byFingerprint[direct])
    if (areEqual(earlier, initializer, false))
      return Match{earlier, false};
  if (type.getRank() == 2)
    for (int earlier : byFingerprint[getFingerprint(type, bytes, true)])
      if (areEqual(earlier, initializer, true))
        return Match{earlier, true};
  byFingerprint[direct].push_back(initializer);
  return std::nullopt;
}

} // namespace rondo
