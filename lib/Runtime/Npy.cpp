//===- Npy.cpp - NumPy's .npy files ---------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Npy.h"
#include <charconv>
#include <cstring>

using namespace rondo;
using namespace rondo::runtime;
using program::ElementType;

/// The header is a Python dictionary literal of three known keys; this finds a
/// key's value, or nothing.
static std::string_view valueOf(std::string_view header, std::string_view key) {
  size_t place = header.find("'" + std::string(key) + "'");
  if (place == std::string_view::npos)
    return {};
  place = header.find(':', place);
  if (place == std::string_view::npos)
    return {};
  std::string_view rest = header.substr(place + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size()));
  return rest;
}

static bool parseShape(std::string_view value, std::vector<int64_t> &shape) {
  if (value.empty() || value[0] != '(')
    return false;
  const char *at = value.data() + 1, *end = value.data() + value.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == ','))
      ++at;
    if (at < end && *at == ')')
      return shape.size() <= 32;
    int64_t extent = 0;
    auto [stop, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0)
      return false;
    shape.push_back(extent);
    at = stop;
    if (at < end && *at == 'L') // Python 2 wrote long integers so
      ++at;
  }
}

static bool typeOf(std::string_view descriptor, ElementType &type) {
  static const struct {
    const char *descriptor;
    ElementType type;
  } types[] = {{"<f4", ElementType::F32},
               {"<f2", ElementType::F16},
               {"<f8", ElementType::F64},
               {"<i8", ElementType::I64},
               {"<i4", ElementType::I32},
               {"|b1", ElementType::Bool},
               // What NumPy writes for the bfloat16 of ml_dtypes.
               {"<V2", ElementType::BF16},
               {"|V2", ElementType::BF16},
               {"bfloat16", ElementType::BF16}};
  for (const auto &candidate : types)
    if (descriptor == candidate.descriptor) {
      type = candidate.type;
      return true;
    }
  return false;
}

Status NpyFile::open(const std::string &path, NpyFile &npy) {
  NpyFile result;
  if (Status status = MappedFile::open(path, result.file); !status.ok())
    return status;
  std::span<const std::byte> bytes = result.file->bytes();
  auto damaged = [&](const std::string &what) {
    return userError(path + ": not a usable .npy file: " + what);
  };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    return damaged(
        "it does not begin with NumPy's magic bytes; write it with numpy.save");
  auto version = (uint8_t)bytes[6];
  size_t prefix = version == 1 ? 10 : 12;
  uint32_t length = 0;
  if (version < 1 || version > 3 || bytes.size() < prefix)
    return damaged(format("version %u", version));
  std::memcpy(&length, bytes.data() + 8, prefix - 8);
  if (length > bytes.size() - prefix)
    return damaged("its header is truncated");
  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + prefix,
                          length);
  std::string_view descriptor = valueOf(header, "descr"),
                   order = valueOf(header, "fortran_order");
  if (descriptor.empty() || (descriptor[0] != '\'' && descriptor[0] != '"'))
    return damaged("its element type is not a simple one");
  size_t quote = descriptor.find(descriptor[0], 1);
  if (quote == std::string_view::npos)
    return damaged("its header does not parse");
  result.descriptor = descriptor.substr(1, quote - 1);
  if (!parseShape(valueOf(header, "shape"), result.shape))
    return damaged("its shape does not parse");
  if (order.rfind("False", 0) != 0 && result.shape.size() > 1)
    return damaged(
        "it is in Fortran order; write numpy.ascontiguousarray(array)");
  result.known = typeOf(result.descriptor, result.type);
  if (result.known) {
    uint64_t size = elementBytes(result.type);
    for (int64_t extent : result.shape)
      if (__builtin_mul_overflow(size, (uint64_t)extent, &size))
        return damaged("its shape overflows");
    if (size > bytes.size() - prefix - length)
      return damaged(
          format("it is truncated: %llu bytes of data instead of %llu",
                 (unsigned long long)(bytes.size() - prefix - length),
                 (unsigned long long)size));
    result.data = bytes.subspan(prefix + length, size);
  }
  npy = std::move(result);
  return Status::success();
}
