//===- Program.cpp - Loading a .rondo file --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/Program.h"
#include "Safetensors.h"
#include "rondo/Runtime/Device.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Runtime/ProgramFormat.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rondo::runtime;

//===----------------------------------------------------------------------===//
// MappedFile
//===----------------------------------------------------------------------===//

Status MappedFile::open(const std::string &path,
                        std::unique_ptr<MappedFile> &file) {
  int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0)
    return userError((path.empty() ? "''" : path) + ": " +
                     std::strerror(errno));
  struct stat information;
  if (::fstat(handle, &information) != 0 || !S_ISREG(information.st_mode)) {
    ::close(handle);
    return userError(path + ": not a regular file");
  }
  std::unique_ptr<MappedFile> result(new MappedFile);
  result->name = path;
  result->size = (size_t)information.st_size;
  if (result->size != 0) {
    void *address =
        ::mmap(nullptr, result->size, PROT_READ, MAP_PRIVATE, handle, 0);
    if (address == MAP_FAILED) {
      int error = errno;
      ::close(handle);
      return userError(path + ": cannot be mapped: " + std::strerror(error));
    }
    result->data = static_cast<const std::byte *>(address);
  }
  ::close(handle);
  file = std::move(result);
  return Status::success();
}

MappedFile::~MappedFile() {
  if (data)
    ::munmap(const_cast<std::byte *>(data), size);
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

Status Program::load(const std::string &path,
                     std::unique_ptr<Program> &program) {
  std::unique_ptr<MappedFile> file;
  if (Status status = MappedFile::open(path, file); !status.ok())
    return status;
  std::unique_ptr<Program> result;
  if (Status status = fromBytes(file->bytes(), path, result); !status.ok())
    return status;
  result->file = std::move(file);
  program = std::move(result);
  return Status::success();
}

/// The frame: magic, version, length, hash, and where the table is.
static Status checkFrame(std::span<const std::byte> bytes,
                         const std::string &path, uint64_t &tableBytes) {
  if (bytes.size() < sizeof kProgramMagic ||
      std::memcmp(bytes.data(), kProgramMagic, sizeof kProgramMagic) != 0)
    return userError(
        path +
        ": not a Rondo program (rondo-compile makes them from an ONNX file)");
  ProgramHeader header;
  if (bytes.size() < kProgramTableOffset)
    return userError(format("%s: truncated: %zu bytes are less than a header",
                            path.c_str(), bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kProgramVersion)
    return userError(format("%s: format version %u, but this runtime reads "
                            "version %u: compile the model again with the "
                            "rondo-compile of this installation",
                            path.c_str(), header.version, kProgramVersion));
  uint64_t length = bytes.size() - kProgramHeaderBytes;
  if (header.length != length)
    return userError(
        format("%s: damaged: %llu bytes follow the header, %llu were written",
               path.c_str(), (unsigned long long)length,
               (unsigned long long)header.length));
  if (header.reserved != 0)
    return userError(path + ": damaged: the header's reserved field is not 0");
  XXH128_hash_t hash = XXH3_128bits(bytes.data() + kProgramHeaderBytes, length);
  if (hash.low64 != header.hashLow || hash.high64 != header.hashHigh)
    return userError(
        path +
        ": damaged: the checksum does not match; copy or compile it again");
  std::memcpy(&tableBytes, bytes.data() + kProgramHeaderBytes,
              sizeof tableBytes);
  if (tableBytes > bytes.size() - kProgramTableOffset || tableBytes < 8 ||
      tableBytes >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return userError(
        format("%s: damaged: a table of %llu bytes in a file of %zu",
               path.c_str(), (unsigned long long)tableBytes, bytes.size()));
  return Status::success();
}

Status Program::fromBytes(std::span<const std::byte> bytes, std::string path,
                          std::unique_ptr<Program> &program) {
  uint64_t tableBytes = 0;
  if (Status status = checkFrame(bytes, path, tableBytes); !status.ok())
    return status;
  const auto *table =
      reinterpret_cast<const uint8_t *>(bytes.data() + kProgramTableOffset);
  // As many tables as could lie in the file without overlap: the default of a
  // million is less than a large program has.
  flatbuffers::Verifier verifier(
      table, (size_t)tableBytes, /*max_depth=*/16,
      /*max_tables=*/(flatbuffers::uoffset_t)(tableBytes / 4 + 1));
  if (!program::VerifyProgramBuffer(verifier))
    return userError(path +
                     ": damaged: the table is not a well-formed FlatBuffer");
  std::unique_ptr<Program> result(new Program);
  result->name = std::move(path);
  result->content = bytes;
  result->root = program::GetProgram(table);
  if (Status status = verifyProgram(*result->root, bytes.size()); !status.ok())
    return Status(status.code(), result->name + ": " + status.message());
  program = std::move(result);
  return Status::success();
}

std::string Program::directory() const {
  size_t slash = name.rfind('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash + 1);
}

std::string Program::weightFile(const flatbuffers::String *location) const {
  std::string name(text(location));
  return name.empty() || name.front() == '/' ? "" : directory() + name;
}

static Status isRead(const std::string &path, const std::string &what) {
  return flagsError(path + ": is " + what +
                    ", which would be lost; name another file");
}

Status Program::checkNotRead(const std::string &path,
                             const std::string &weights, bool isSave) const {
  if (sameFile(path, name))
    return isRead(path, "the program itself");
  // Many parameters lie in few files.
  std::set<std::string> files;
  for (uint32_t i = 0; i < sizeOf(root->parameters()); ++i)
    if (const program::Parameter &parameter = *root->parameters()->Get(i);
        parameter.length() != 0)
      files.insert(weightFile(parameter.location()));
  for (const std::string &file : files)
    if (!file.empty() && sameFile(path, file))
      return isRead(path, "a file of weights that " + name + " reads");
  if (weights.empty() || weights.rfind("random:", 0) == 0 ||
      (isSave && !weights.ends_with(".json") && sameFile(path, weights)))
    return Status::success();
  for (const std::string &file : TensorFiles::listFiles(weights))
    if (sameFile(path, file))
      return isRead(path, "a file of --weights=" + weights);
  return Status::success();
}

std::span<const std::byte> Program::blob(const program::Blob *blob) const {
  if (!blob)
    return {};
  return content.subspan(blob->offset(), blob->length());
}

//===----------------------------------------------------------------------===//
// What the table means
//===----------------------------------------------------------------------===//

uint32_t rondo::runtime::stepMicroBatch(const program::Program &table,
                                        const program::Op &op) {
  uint32_t inRound = table.micro_batches();
  auto index = (uint32_t)std::max(op.micro_batch(), 0);
  return index >= inRound ? index
                          : (uint32_t)std::max(op.round(), 0) * inRound + index;
}

OptimizerOperands
rondo::runtime::optimizerOperands(const program::Program &table,
                                  const program::Op &op) {
  OptimizerOperands operands;
  int next = 1;
  if (table.optimizer() && (table.optimizer()->clip_norm() > 0 ||
                            table.optimizer()->loss_scale() > 0))
    operands.coefficient = next++;
  operands.masterIn = next++;
  operands.masterOut = next++;
  operands.moments = next;
  next += operands.momentCount;
  if ((int)sizeOf(op.operands()) > next)
    operands.upload = next;
  return operands;
}

uint32_t rondo::runtime::usedDeviceLanes(const program::Program &table) {
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i)
    if (table.ops()->Get(i)->lane() == program::Lane::StateUp)
      return kDeviceLanes;
  return kAlwaysLanes;
}

std::vector<StateOperands>
rondo::runtime::stateOperands(const program::Program &table) {
  std::vector<StateOperands> result(sizeOf(table.blocks()));
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    if (op.kind() == program::OpKind::Optimizer) {
      OptimizerOperands own = optimizerOperands(table, op);
      auto get = [&](int operand) {
        return op.operands()->Get((uint32_t)operand);
      };
      result[(uint32_t)op.block()] = {get(own.masterIn),
                                      get(own.masterOut),
                                      {get(own.moments), get(own.moments + 1)}};
    }
    if (op.kind() != program::OpKind::DeviceUpdate ||
        result[(uint32_t)op.block()].masterIn)
      continue;
    auto there = [&](uint32_t at, uint32_t operand) {
      return table.ops()->Get(at)->operands()->Get(operand);
    };
    result[(uint32_t)op.block()] = {there(i - kStateUploads + 1, 0),
                                    there(i + 1, 1),
                                    {there(i + 2, 1), there(i + 3, 1)},
                                    true};
  }
  return result;
}

uint64_t rondo::runtime::masterOffset(const program::Program &table,
                                      const program::Parameter &parameter) {
  const program::Block &block = *table.blocks()->Get(parameter.block());
  for (uint32_t master : *block.master())
    for (uint32_t upload : *block.upload())
      if (master == upload)
        return parameter.member_offset();
  return (uint64_t)parameter.state_offset();
}

int64_t rondo::runtime::blockOfGradient(const program::Program &table,
                                        const program::Op &op,
                                        uint32_t operand) {
  if (sizeOf(op.operands()) == 2 && op.block() >= 0)
    return op.block();
  uint32_t buffer = op.operands()->Get(operand)->buffers()->Get(0);
  for (uint32_t block = 0; block < sizeOf(table.blocks()); ++block)
    if (const auto *gradients = table.blocks()->Get(block)->gradients())
      for (uint32_t gradient : *gradients)
        if (gradient == buffer)
          return block;
  return -1;
}

uint64_t rondo::runtime::elementBytes(program::ElementType type) {
  switch (type) {
  case program::ElementType::F32:
  case program::ElementType::I32:
    return 4;
  case program::ElementType::BF16:
  case program::ElementType::F16:
    return 2;
  case program::ElementType::F64:
  case program::ElementType::I64:
    return 8;
  case program::ElementType::Bool:
    return 1;
  }
  return 0;
}

const char *rondo::runtime::elementName(program::ElementType type) {
  switch (type) {
  case program::ElementType::F32:
    return "float32";
  case program::ElementType::BF16:
    return "bfloat16";
  case program::ElementType::F16:
    return "float16";
  case program::ElementType::F64:
    return "float64";
  case program::ElementType::I64:
    return "int64";
  case program::ElementType::I32:
    return "int32";
  case program::ElementType::Bool:
    return "bool";
  }
  return "unknown";
}

bool rondo::runtime::countElements(const flatbuffers::Vector<int64_t> *shape,
                                   uint64_t &count) {
  count = 1;
  if (!shape)
    return true;
  for (int64_t extent : *shape) {
    if (extent < 0 || __builtin_mul_overflow(count, (uint64_t)extent, &count) ||
        count > (uint64_t(1) << 58))
      return false;
  }
  return true;
}

std::string rondo::runtime::hashText(std::string_view text) {
  XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return format("%016llx%016llx", (unsigned long long)hash.high64,
                (unsigned long long)hash.low64);
}

std::string rondo::runtime::shapeText(std::span<const int64_t> shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + std::to_string(shape[i]);
  return result + "]";
}

std::string rondo::runtime::opText(const program::Program &table,
                                   uint32_t index) {
  const program::Op &op = *table.ops()->Get(index);
  std::string name(text(op.name()));
  if (name.empty())
    name = program::EnumNameOpKind(op.kind());
  std::string result = format("'%s' (op %u", name.c_str(), index);
  if (!text(op.node()).empty())
    result += ", node '" + std::string(text(op.node())) + "'";
  return result + ")";
}
