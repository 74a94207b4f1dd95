//===- Program.h - A loaded .rondo file -------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_PROGRAM_H
#define RONDO_RUNTIME_PROGRAM_H

#include "rondo/Runtime/Status.h"
#include "schema/program_generated.h"
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::runtime {

/// A file mapped read-only.
class MappedFile {
public:
  static Status open(const std::string &path,
                     std::unique_ptr<MappedFile> &file);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  std::span<const std::byte> bytes() const { return {data, size}; }
  const std::string &path() const { return name; }

private:
  MappedFile() = default;
  std::string name;
  const std::byte *data = nullptr;
  size_t size = 0;
};

/// A verified program: every index, offset and range in `table()` is in bounds,
/// every vector and string that the runtime reads may be read through the
/// accessors below. Immutable; shared by sessions.
class Program {
public:
  /// Errors (Code::User): not a program, another version, damaged, or not
  /// consistent; each says what and where.
  static Status load(const std::string &path,
                     std::unique_ptr<Program> &program);
  /// As load, from memory that stays alive (tests). `directory`: what weight
  /// files are relative to.
  static Status fromBytes(std::span<const std::byte> bytes, std::string path,
                          std::unique_ptr<Program> &program);

  const program::Program &table() const { return *root; }
  const std::string &path() const { return name; }
  /// The folder of the file, ending in '/' if not empty.
  std::string directory() const;
  std::span<const std::byte> blob(const program::Blob *blob) const;
  /// The path of a file that parameters name, relative to the program; empty if
  /// there is none, or an absolute one, which is refused.
  std::string weightFile(const flatbuffers::String *location) const;
  /// Whether the program, or a session of it with these weights, reads the file
  /// that writing `path` replaces, whatever its name: Code::Flags, with what it
  /// is. `weights`: as in SessionOptions. `isSave`: values are saved, which may
  /// replace the one .safetensors file that they came from.
  Status checkNotRead(const std::string &path, const std::string &weights,
                      bool isSave) const;

  uint32_t microBatches() const {
    return root->rounds() * root->micro_batches();
  } ///< Of a step.

private:
  std::string name;
  std::unique_ptr<MappedFile> file;
  std::span<const std::byte> content;
  const program::Program *root = nullptr;
};

/// Index of the op's micro-batch among all of a step's, rounds first.
/// `micro_batch` counts within the round or the step: both spellings name the
/// same one.
uint32_t stepMicroBatch(const program::Program &table, const program::Op &op);

/// What the Optimizer op's operands are: indices into its operands; -1: absent.
struct OptimizerOperands {
  int gradient = 0, coefficient = -1, masterIn = 0, masterOut = 0, moments = 0,
      momentCount = 2, upload = -1;
};
OptimizerOperands optimizerOperands(const program::Program &table,
                                    const program::Op &op);
/// Offset of a trainable parameter in the buffer that holds its master: where
/// masters are what is uploaded, they lie as uploads do.
uint64_t masterOffset(const program::Program &table,
                      const program::Parameter &parameter);
/// Where a block's state lies in host memory: from its Optimizer operation, or
/// the copies around its first DeviceUpdate. All null where nothing trains.
struct StateOperands {
  const program::Operand *masterIn = nullptr, *masterOut = nullptr,
                         *moments[2] = {nullptr, nullptr};
  bool isPiece = false; ///< Operands hold but a part of their buffers.
};
std::vector<StateOperands> stateOperands(const program::Program &table);
/// How many lanes of a device, in their order, the program uses.
uint32_t usedDeviceLanes(const program::Program &table);
/// Of a DeviceUpdate: uploads of gradient, master, moments and scalars right
/// before it, downloads of master, moments and perhaps the upload copy after.
constexpr uint32_t kStateUploads = 5, kStateDownloads = 3;

/// The block whose gradient an operand of a Norm op is; -1: none.
int64_t blockOfGradient(const program::Program &table, const program::Op &op,
                        uint32_t operand);

/// Bytes of one element; 0 for a value that is none.
uint64_t elementBytes(program::ElementType type);
const char *elementName(program::ElementType type);
/// Product of the extents. False: negative or above 2^62.
bool countElements(const flatbuffers::Vector<int64_t> *shape, uint64_t &count);
std::string shapeText(std::span<const int64_t> shape);
inline std::span<const int64_t>
shapeOf(const flatbuffers::Vector<int64_t> *shape) {
  return shape ? std::span<const int64_t>(shape->data(), shape->size())
               : std::span<const int64_t>();
}
inline std::string_view text(const flatbuffers::String *string) {
  return string ? std::string_view(string->data(), string->size())
                : std::string_view();
}
template <typename T>
uint32_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}
/// XXH3-128 in hexadecimal digits: of texts that say what decides bits.
std::string hashText(std::string_view text);
/// "upload model.layers.3 (op 17)", with its ONNX node if it has one.
std::string opText(const program::Program &table, uint32_t op);

/// Checks what the FlatBuffers verifier cannot know: every index, enumerator,
/// offset and range. `fileBytes`: for blobs. Reports the first twenty problems
/// at once.
Status verifyProgram(const program::Program &table, uint64_t fileBytes);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_PROGRAM_H
