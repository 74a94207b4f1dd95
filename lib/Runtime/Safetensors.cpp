//===- Safetensors.cpp - Tensors in files ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Safetensors.h"
#include "Convert.h"
#include "rondo/Runtime/OutputFile.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

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

Status TensorFiles::openIndex(const std::string &path) {
  std::unique_ptr<MappedFile> file;
  if (Status status = MappedFile::open(path, file); !status.ok())
    return status;
  const char *text = reinterpret_cast<const char *>(file->bytes().data());
  json index = json::parse(text, text + file->bytes().size(), nullptr,
                           /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") ||
      !index["weight_map"].is_object())
    return userError(
        path + ": not an index of safetensors files: it has no weight_map");
  std::set<std::string> names;
  for (const auto &[tensor, name] : index["weight_map"].items()) {
    if (!name.is_string() ||
        name.get<std::string>().find('/') != std::string::npos)
      return userError(path + ": the file of '" + tensor +
                       "' is not a name in the same folder");
    names.insert(name.get<std::string>());
  }
  std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string &name : names)
    if (Status status = openFile(folder + name); !status.ok())
      return status;
  return Status::success();
}

Status TensorFiles::openDirectory(const std::string &path) {
  std::error_code error;
  std::string index = path + "/model.safetensors.index.json";
  if (std::filesystem::exists(index, error))
    return openIndex(index);
  std::set<std::string> names;
  for (std::filesystem::directory_iterator at(path, error), end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".safetensors")
      names.insert(at->path().string());
  if (names.empty())
    return userError(path + ": holds no .safetensors files");
  for (const std::string &name : names)
    if (Status status = openFile(name); !status.ok())
      return status;
  return Status::success();
}

Status TensorFiles::open(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return openDirectory(path);
  return path.ends_with(".json") ? openIndex(path) : openFile(path);
}

const StoredTensor *TensorFiles::find(const std::string &name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Status
rondo::runtime::writeSafetensors(const std::string &path,
                                 std::span<const TensorToWrite> tensors) {
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
  return writeFile(path, [&](std::FILE *file) {
    uint64_t length = text.size();
    std::fwrite(&length, 1, sizeof length, file);
    std::fwrite(text.data(), 1, text.size(), file);
    constexpr uint64_t chunk = 1 << 16;
    std::vector<float> values(chunk);
    std::vector<std::byte> bytes(chunk * 8);
    for (const TensorToWrite &tensor : tensors) {
      uint64_t count = 1;
      for (int64_t extent : tensor.shape)
        count *= (uint64_t)extent;
      for (uint64_t begin = 0; begin < count; begin += chunk) {
        uint64_t end = std::min(count, begin + chunk);
        tensor.fill(begin, end, values.data());
        for (uint64_t i = begin; i < end; ++i)
          storeFloat(bytes.data(), tensor.type, i - begin, values[i - begin]);
        std::fwrite(bytes.data(), elementBytes(tensor.type), end - begin, file);
      }
    }
  });
}
