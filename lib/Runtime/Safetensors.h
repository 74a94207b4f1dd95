//===- Safetensors.h - Tensors in files -------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The safetensors format: u64 length of a JSON header, the header (name ->
// dtype, shape, data_offsets), the data.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_SAFETENSORS_H
#define RONDO_LIB_RUNTIME_SAFETENSORS_H

#include "rondo/Runtime/Program.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace rondo::runtime {

struct StoredTensor {
  std::string dtype;  ///< The format's: "F32", "BF16" ...
  bool known = false; ///< `type` is the dtype's.
  program::ElementType type{};
  std::vector<int64_t> shape;
  std::span<const std::byte> data; ///< Its size is checked if `known`.
};

/// The tensors of one file or of several, by name, memory-mapped.
class TensorFiles {
public:
  /// A .safetensors file, an index (.json, "weight_map"), or a directory that
  /// holds either.
  Status open(const std::string &path);
  /// The files that `open` reads, as far as they can be found.
  static std::vector<std::string> listFiles(const std::string &path);
  const StoredTensor *find(const std::string &name) const;
  size_t size() const { return tensors.size(); }

private:
  Status openFile(const std::string &path);

  std::vector<std::unique_ptr<MappedFile>> files;
  std::map<std::string, StoredTensor> tensors;
};

class WorkerPool;

/// A tensor to be written: `fill` produces elements [begin, end) as f32, from
/// any thread.
struct TensorToWrite {
  std::string name;
  program::ElementType type{}; ///< A float type.
  std::vector<int64_t> shape;
  std::function<void(uint64_t begin, uint64_t end, float *values)> fill;
};

/// Writes as replaceFile does. `workers` share the work, if given.
Status writeSafetensors(const std::string &path,
                        std::span<const TensorToWrite> tensors,
                        WorkerPool *workers = nullptr);

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_SAFETENSORS_H
