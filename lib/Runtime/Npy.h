//===- Npy.h - NumPy's .npy files -------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_NPY_H
#define RONDO_LIB_RUNTIME_NPY_H

#include "rondo/Runtime/Program.h"
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

/// A memory-mapped array in C order, versions 1 to 3 of the format
/// (numpy.lib.format).
struct NpyFile {
  std::unique_ptr<MappedFile> file;
  std::string descriptor; ///< NumPy's, such as "<i8".
  bool known = false;     ///< `type` is the descriptor's element type.
  program::ElementType type{};
  std::vector<int64_t> shape;
  std::span<const std::byte>
      data; ///< Exactly what shape and type need, if `known`.

  static Status open(const std::string &path, NpyFile &npy);
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_NPY_H
