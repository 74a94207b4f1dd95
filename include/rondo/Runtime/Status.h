//===- Status.h - Errors as values ------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The runtime throws nothing: what can fail returns a Status, and results are
// out-parameters.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_STATUS_H
#define RONDO_RUNTIME_STATUS_H

#include <cstdint>
#include <string>
#include <utility>

namespace rondo::runtime {

/// The values are rondo-run's exit codes.
enum class Code : uint8_t {
  Ok = 0,
  User = 1, ///< What the user gave (a file, an input, a weight) cannot be used.
  Flags = 2,    ///< An option is wrong.
  Device = 4,   ///< A device is missing, too small or failed.
  Internal = 70 ///< A defect of Rondo's own.
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message)
      : code_(code), message_(std::move(message)) {}
  static Status success() { return {}; }
  bool ok() const { return code_ == Code::Ok; }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }

private:
  Code code_ = Code::Ok;
  std::string message_;
};

/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

inline Status userError(std::string message) {
  return {Code::User, std::move(message)};
}
inline Status flagsError(std::string message) {
  return {Code::Flags, std::move(message)};
}
inline Status deviceError(std::string message) {
  return {Code::Device, std::move(message)};
}
inline Status internalError(std::string message) {
  return {Code::Internal, std::move(message)};
}

/// "12.3 MiB"; exact below 10 KiB.
std::string formatBytes(uint64_t bytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_STATUS_H
