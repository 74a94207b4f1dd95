//===- Safetensors.cpp - Tensors in files ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Safetensors.h"
#include "Convert.h"
#include "Host/WorkerPool.h"
#include "rondo/Runtime/JsonDepth.h"
#include "rondo/Runtime/OutputFile.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;
using nlohmann::json;
using program::ElementType;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static const struct {
  const char *dtype;
  ElementType type;
} kTypes[] = {{"F32", ElementType::F32},  {"BF16", ElementType::BF16},
              {"F16", ElementType::F16},  {"F64", ElementType::F64},
              {"I64", ElementType::I64},  {"I32", ElementType::I32},
              {"BOOL", ElementType::Bool}};

/// One entry of the header. The parser is used without exceptions, so every
/// access is checked first.
static bool parseTensor(const json &entry, std::span<const std::byte> body,
                        StoredTensor &tensor) {
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry.contains("shape") || !entry.contains("data_offsets"))
    return false;
  const json &dtype = entry["dtype"], &shape = entry["shape"],
             &offsets = entry["data_offsets"];
  if (!dtype.is_string() || !shape.is_array() || !offsets.is_array() ||
      offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    return false;
  auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > body.size())
    return false;
  uint64_t elements = 1;
  for (const json &extent : shape) {
    if (!extent.is_number_unsigned() ||
        extent.get<uint64_t>() > (uint64_t(1) << 58) ||
        __builtin_mul_overflow(elements, extent.get<uint64_t>(), &elements))
      return false;
    tensor.shape.push_back(extent.get<int64_t>());
  }
  tensor.dtype = dtype.get<std::string>();
  tensor.data = body.subspan(begin, end - begin);
  for (const auto &known : kTypes)
    if (tensor.dtype == known.dtype) {
      tensor.known = true;
      tensor.type = known.type;
    }
  uint64_t bytes = 0;
  return !tensor.known || (!__builtin_mul_overflow(
                               elements, elementBytes(tensor.type), &bytes) &&
                           bytes == end - begin);
}

Status TensorFiles::openFile(const std::string &path) {
  std::unique_ptr<MappedFile> file;
  if (Status status = MappedFile::open(path, file); !status.ok())
    return status;
  std::span<const std::byte> bytes = file->bytes();
  uint64_t length = 0;
  if (bytes.size() >= 8)
    std::memcpy(&length, bytes.data(), 8);
  if (bytes.size() < 8 || length > bytes.size() - 8)
    return userError(path +
                     ": not a safetensors file: its header is truncated");
  const char *text = reinterpret_cast<const char *>(bytes.data()) + 8;
  if (std::string deep = findDeepJson({text, length}); !deep.empty())
    return userError(path + ": not a safetensors file: " + deep +
                     " of its header");
  json header =
      json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return userError(path +
                     ": not a safetensors file: its header is no JSON object");
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    StoredTensor tensor;
    if (!parseTensor(entry, bytes.subspan(8 + length), tensor))
      return userError(path + ": damaged: tensor '" + name +
                       "' does not lie within the file as its shape says");
    if (!tensors.emplace(name, std::move(tensor)).second)
      return userError(path + ": tensor '" + name +
                       "' is in another file, too");
  }
  files.push_back(std::move(file));
  return Status::success();
}

/// The files that an index names, in order.
static Status readIndex(const std::string &path, std::set<std::string> &files) {
  std::unique_ptr<MappedFile> file;
  if (Status status = MappedFile::open(path, file); !status.ok())
    return status;
  const char *text = reinterpret_cast<const char *>(file->bytes().data());
  if (std::string deep = findDeepJson({text, file->bytes().size()});
      !deep.empty())
    return userError(path + ": not an index of safetensors files: " + deep);
  json index = json::parse(text, text + file->bytes().size(), nullptr,
                           /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    return userError(
        path + ": not an index of safetensors files: it has no weight_map");
  std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const auto &[tensor, name] : index["weight_map"].items()) {
    if (!name.is_string() ||
        name.get<std::string>().find('/') != std::string::npos)
      return userError(path + ": the file of '" + tensor +
                       "' is not a name in the same folder");
    files.insert(folder + name.get<std::string>());
  }
  return Status::success();
}

/// The files of tensors that `path` leads to, and the index, if there is one.
static Status findFiles(const std::string &path, std::set<std::string> &files,
                        std::string &index) {
  std::error_code error;
  bool isFolder = std::filesystem::is_directory(path, error);
  if (isFolder)
    index = path + "/model.safetensors.index.json";
  else if (path.ends_with(".json"))
    index = path;
  if (!isFolder && index.empty()) {
    files.insert(path);
    return Status::success();
  }
  if (!isFolder || std::filesystem::exists(index, error))
    return readIndex(index, files);
  index.clear();
  for (std::filesystem::directory_iterator at(path, error), end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".safetensors")
      files.insert(at->path().string());
  if (files.empty())
    return userError(path + ": holds no .safetensors files");
  return Status::success();
}

Status TensorFiles::open(const std::string &path) {
  std::set<std::string> names;
  std::string index;
  if (Status status = findFiles(path, names, index); !status.ok())
    return status;
  for (const std::string &name : names)
    if (Status status = openFile(name); !status.ok())
      return status;
  return Status::success();
}

std::vector<std::string> TensorFiles::listFiles(const std::string &path) {
  std::set<std::string> names;
  std::string index;
  // What is wrong with them is told when they are opened.
  (void)findFiles(path, names, index).ok();
  std::vector<std::string> files(names.begin(), names.end());
  if (!index.empty())
    files.push_back(index);
  return files;
}

const StoredTensor *TensorFiles::find(const std::string &name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// A tensor's data in the file, in chunks that any thread writes.
struct TensorWriter {
  static constexpr uint64_t kChunk = 256 * 1024;
  const TensorToWrite &tensor;
  int file;
  uint64_t offset = 0, elements = 1;
  std::atomic<int> error{0}; ///< The first one's errno.

  uint64_t chunks() const { return (elements + kChunk - 1) / kChunk; }

  void write(uint64_t chunk) {
    uint64_t begin = chunk * kChunk, end = std::min(elements, begin + kChunk),
             width = elementBytes(tensor.type);
    std::vector<float> values(end - begin);
    tensor.fill(begin, end, values.data());
    auto *data = reinterpret_cast<std::byte *>(values.data());
    std::vector<std::byte> converted;
    if (tensor.type != ElementType::F32) {
      converted.resize(width * (end - begin));
      data = converted.data();
      storeFloats(data, tensor.type, 0, end - begin, values.data());
    }
    uint64_t size = width * (end - begin), at = offset + width * begin;
    for (uint64_t written = 0; written < size;) {
      ssize_t step =
          ::pwrite(file, data + written, size - written, (off_t)(at + written));
      if (step < 0 && errno == EINTR)
        continue;
      if (step <= 0) {
        int none = 0;
        error.compare_exchange_strong(none, step < 0 ? errno : EIO);
        return;
      }
      written += (uint64_t)step;
    }
  }
};

Status rondo::runtime::writeSafetensors(const std::string &path,
                                        std::span<const TensorToWrite> tensors,
                                        WorkerPool *workers) {
  json header = json::object();
  header["__metadata__"] = {{"format", "pt"}};
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    uint64_t bytes = elementBytes(tensor.type);
    for (int64_t extent : tensor.shape)
      bytes *= (uint64_t)extent;
    const char *dtype = "F32";
    for (const auto &known : kTypes)
      if (known.type == tensor.type)
        dtype = known.dtype;
    if (header.contains(tensor.name))
      return userError(path + ": two tensors are named '" + tensor.name +
                       "'; save with --names=onnx");
    header[tensor.name] = {{"dtype", dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  // A name from the graph need not be UTF-8.
  std::string text =
      header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return replaceFile(path, [&](std::FILE *file) {
    uint64_t length = text.size(), offset = sizeof length + length;
    std::fwrite(&length, 1, sizeof length, file);
    std::fwrite(text.data(), 1, text.size(), file);
    if (std::fflush(file) != 0)
      return errno;
    for (const TensorToWrite &tensor : tensors) {
      TensorWriter writer{tensor, ::fileno(file), offset};
      for (int64_t extent : tensor.shape)
        writer.elements *= (uint64_t)extent;
      offset += writer.elements * elementBytes(tensor.type);
      auto write = [&](uint64_t chunk) { writer.write(chunk); };
      if (workers)
        workers->forEach(writer.chunks(), write);
      else
        for (uint64_t chunk = 0; chunk < writer.chunks(); ++chunk)
          write(chunk);
      if (writer.error)
        return writer.error.load();
    }
    return 0;
  });
}
