//===- TuneFile.h - Which algorithms were fastest ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file of `rondo-run --tune`: readable JSON that says, for one kind of GPU
// and one version of cuBLASLt, which algorithm a product of matrices uses.
// Algorithms decide bits, so a file that was once used is never changed except
// for what it does not hold yet, or when that is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_TUNEFILE_H
#define RONDO_LIB_RUNTIME_TUNEFILE_H

#include "rondo/Runtime/Status.h"
#include <array>
#include <map>

namespace rondo::runtime {

class TuneFile {
public:
  /// As cublasLtMatmulAlgo_t, in memory order.
  using Algorithm = std::array<uint8_t, 64>;
  struct Machine {
    std::string gpu;        ///< "NVIDIA H200"
    uint64_t library = 0;   ///< cublasLtGetVersion
    uint64_t workspace = 0; ///< Bytes that algorithms may use.
    bool operator==(const Machine &) const = default;
  };
  struct Choice {
    Algorithm algorithm{};
    double microseconds = 0;      ///< Of one product.
    double firstMicroseconds = 0; ///< With the library's first choice.
    uint32_t candidates = 0;      ///< That were timed.
  };

  /// Reads `path`; what is not there yet is an empty file. Errors (Code::User):
  /// it is no such file, or of another machine. With `again` the choices of a
  /// file, of whatever machine, are forgotten.
  static Status open(const std::string &path, const Machine &machine,
                     bool again, TuneFile &file);
  /// `product`: the shape in words, as CudaGemms writes it. Null: not there.
  const Choice *find(const std::string &product) const;
  void add(const std::string &product, const Choice &choice);
  /// Writes the file if something was added.
  Status save();
  const std::string &path() const { return path_; }
  /// Products timed in this run.
  size_t added() const { return added_; }

private:
  std::string path_;
  Machine machine;
  std::map<std::string, Choice> choices;
  size_t added_ = 0;
  bool changed = false;
};

/// Two digits a byte, lower case.
std::string hexText(const TuneFile::Algorithm &algorithm);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_TUNEFILE_H
