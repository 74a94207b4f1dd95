//===- Parameters.cpp - Parameters and optimizer state by name ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters.h"
#include "Convert.h"
#include "rondo/Runtime/WeightFile.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

using namespace rondo;
using namespace rondo::runtime;
using program::ElementType;

static std::string nameOf(const program::Parameter &parameter) {
  return std::string(text(parameter.name()));
}

/// For people: both names, if they differ.
static std::string fullName(const program::Parameter &parameter) {
  std::string name = "'" + nameOf(parameter) + "'";
  if (!text(parameter.source()).empty() &&
      text(parameter.source()) != text(parameter.name()))
    name += " (" + std::string(text(parameter.source())) + ")";
  return name;
}

static bool hasValue(const program::Parameter &parameter) {
  return parameter.value() && parameter.value()->length() != 0;
}

/// Elements that a worker takes at once.
constexpr uint64_t kChunk = 64 * 1024;

Parameters::Parameters(const Program &program, Buffer pinned, Buffer host,
                       WorkerPool &workers)
    : program(program), table(program.table()), pinned(pinned), host(host),
      workers(workers), states(stateOperands(table)) {}

std::byte *Parameters::address(uint32_t index) const {
  const program::Buffer &buffer = *table.buffers()->Get(index);
  return (buffer.space() == program::Space::Pinned ? pinned.data : host.data) +
         buffer.offset();
}

std::byte *Parameters::operandAddress(const program::Operand &operand,
                                      bool isPiece, uint64_t iteration) const {
  uint64_t instance = (iteration + operand.phase()) % operand.buffers()->size();
  return address(operand.buffers()->Get((uint32_t)instance)) +
         (isPiece ? 0 : operand.offset());
}

int64_t Parameters::find(const std::string &name) const {
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i)
    if (text(table.parameters()->Get(i)->name()) == name)
      return i;
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    if (text(parameter.source()) == name)
      return i;
    for (uint32_t c = 0; c < sizeOf(parameter.copies()); ++c)
      if (text(parameter.copies()->Get(c)) == name)
        return i;
  }
  return -1;
}

uint64_t Parameters::elements(uint32_t index) const {
  uint64_t count = 0;
  countElements(table.parameters()->Get(index)->shape(), count);
  return count;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// A parameter's elements: stored ones, in its own or the transposed layout, or
/// drawn ones.
struct Parameters::Source {
  const std::byte *data = nullptr;
  ElementType type{};
  bool transposed = false;
  uint64_t rows = 1, columns = 1; ///< Of the parameter, if transposed.
  enum { Stored, Constant, Normal } kind = Stored;
  float constant = 0;
  uint64_t key = 0;

  float draw(uint64_t index) const;
  /// Elements [begin, end).
  void fill(uint64_t begin, uint64_t end, float *values) const;
};

/// Elements [begin, end) of a rows x columns matrix whose transpose is stored.
static void loadTransposed(const std::byte *data, ElementType type,
                           uint64_t rows, uint64_t columns, uint64_t begin,
                           uint64_t end, float *values) {
  uint64_t row = begin / columns, column = begin % columns;
  for (uint64_t i = begin; i < end; ++i) {
    values[i - begin] = loadFloat(data, type, column * rows + row);
    if (++column == columns) {
      column = 0;
      ++row;
    }
  }
}

static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

/// Counter-based, so that an element does not depend on the order of drawing;
/// Box and Muller's transform.
float Parameters::Source::draw(uint64_t index) const {
  uint64_t bits = mix(key + 2 * index), more = mix(key + 2 * index + 1);
  double u = ((double)(bits >> 11) + 1) * 0x1p-53,
         v = (double)(more >> 11) * 0x1p-53;
  return (float)(0.02 * std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * v));
}

void Parameters::Source::fill(uint64_t begin, uint64_t end,
                              float *values) const {
  if (kind == Constant)
    std::fill(values, values + (end - begin), constant);
  else if (kind == Normal)
    for (uint64_t i = begin; i < end; ++i)
      values[i - begin] = draw(i);
  else if (transposed)
    loadTransposed(data, type, rows, columns, begin, end, values);
  else
    loadFloats(data, type, begin, end - begin, values);
}

Status Parameters::openLocation(const program::Parameter &parameter,
                                Source &source) {
  std::string location(text(parameter.location())), name = fullName(parameter);
  // Relative, so that a program moves together with its files. It may lead
  // upwards, to a model in another folder: what external data of the model may
  // name was checked when it was imported.
  if (location.front() == '/')
    return userError(name + ": its file '" + location +
                     "' is named by an absolute path, which is refused");
  std::unique_ptr<MappedFile> &file = files[location];
  if (!file)
    if (Status status =
            MappedFile::open(program.weightFile(parameter.location()), file);
        !status.ok())
      return Status(status.code(), name + ": " + status.message());
  uint64_t count = 0;
  countElements(parameter.shape(), count);
  uint64_t bytes = count * elementBytes(parameter.type());
  if (parameter.length() != bytes)
    return userError(
        format("%s: %llu bytes are stored, its shape %s of %s needs %llu",
               name.c_str(), (unsigned long long)parameter.length(),
               shapeText(shapeOf(parameter.shape())).c_str(),
               elementName(parameter.type()), (unsigned long long)bytes));
  if (parameter.offset() > file->bytes().size() ||
      bytes > file->bytes().size() - parameter.offset())
    return userError(format(
        "%s: bytes [%llu, +%llu) are not in %s, which has %zu", name.c_str(),
        (unsigned long long)parameter.offset(), (unsigned long long)bytes,
        file->path().c_str(), file->bytes().size()));
  source.data = file->bytes().data() + parameter.offset();
  source.type = parameter.type();
  return Status::success();
}

Status Parameters::fromProgram(uint32_t index, Source &source, bool &found) {
  const program::Parameter &parameter = *table.parameters()->Get(index);
  found = true;
  if (hasValue(parameter)) {
    source.data = program.blob(parameter.value()).data();
    source.type = parameter.type();
    return Status::success();
  }
  if (parameter.length() != 0 && !text(parameter.location()).empty())
    return openLocation(parameter, source);
  found = elements(index) == 0;
  return Status::success();
}

/// Looks under the initializer's name, in its layout, then under the source
/// name, in the source's, then under the copies'.
Status Parameters::fromFiles(uint32_t index, const TensorFiles &tensors,
                             const std::string &prefix, Source &source) const {
  const program::Parameter &parameter = *table.parameters()->Get(index);
  const StoredTensor *tensor = tensors.find(prefix + nameOf(parameter));
  bool transposed = false;
  if (!tensor &&
      (tensor = tensors.find(prefix + std::string(text(parameter.source())))))
    transposed = parameter.transposed();
  for (uint32_t c = 0; !tensor && c < sizeOf(parameter.copies()); ++c) {
    tensor =
        tensors.find(prefix + std::string(text(parameter.copies()->Get(c))));
    transposed = tensor && parameter.copies_transposed() &&
                 parameter.copies_transposed()->Get(c);
  }
  if (!tensor)
    return userError(
        fullName(parameter) + ": not in the files" +
        (prefix.empty() ? "" : " with the prefix '" + prefix + "'"));
  std::span<const int64_t> own = shapeOf(parameter.shape());
  std::vector<int64_t> shape(own.begin(), own.end());
  if (transposed)
    std::swap(shape[0], shape[1]);
  if (tensor->shape != shape)
    return userError(fullName(parameter) + ": has shape " +
                     shapeText(tensor->shape) +
                     " in the files, the program wants " + shapeText(shape));
  bool floats = parameter.type() <= ElementType::F64;
  if (!tensor->known || (floats ? tensor->type > ElementType::F64
                                : tensor->type != parameter.type()))
    return userError(fullName(parameter) + ": is of type " + tensor->dtype +
                     " in the files, the program wants " +
                     elementName(parameter.type()));
  source.data = tensor->data.data();
  source.type = tensor->type;
  source.transposed = transposed;
  if (transposed) {
    source.rows = (uint64_t)own[0];
    source.columns = (uint64_t)own[1];
  }
  return Status::success();
}

/// By role: scales 1, biases 0, everything else normal with deviation 0.02.
static void drawByRole(const program::Parameter &parameter, uint64_t seed,
                       float &constant, uint64_t &key, bool &normal) {
  std::string_view role = text(parameter.role());
  normal = role != "scale" && role != "bias";
  constant = role == "scale" ? 1.0f : 0.0f;
  key = mix(seed);
  for (char c : nameOf(parameter))
    key = mix(key ^ (uint8_t)c);
}

Parameters::Origin Parameters::originOf(const program::Parameter &parameter,
                                        const WeightsSource &weights) const {
  if (weights.isRandom() && parameter.type() <= ElementType::F64 &&
      (parameter.trainable() ||
       (!hasValue(parameter) && parameter.length() == 0)))
    return Origin::Drawn;
  // What the compiler computed from the graph (a frozen value in the program)
  // is in no file of weights.
  return weights.isFiles() && (!hasValue(parameter) || parameter.trainable())
             ? Origin::Files
             : Origin::Program;
}

/// The program's ranges mean nothing in another file than it was compiled with.
Status Parameters::checkWeightFiles(const WeightsSource &weights) const {
  std::string problems;
  for (uint32_t f = 0; f < sizeOf(table.weight_files()); ++f) {
    const program::WeightFile &file = *table.weight_files()->Get(f);
    bool isRead = false;
    for (uint32_t i = 0; i < sizeOf(table.parameters()) && !isRead; ++i) {
      const program::Parameter &parameter = *table.parameters()->Get(i);
      isRead = text(parameter.location()) == text(file.location()) &&
               parameter.length() != 0 && !hasValue(parameter) &&
               originOf(parameter, weights) == Origin::Program;
    }
    std::string path = program.weightFile(file.location());
    std::error_code error;
    // Absent ones are told with the parameters that they lack.
    if (!isRead || path.empty() || !std::filesystem::exists(path, error))
      continue;
    FileIdentity now, then{file.size(), file.hash_low(), file.hash_high()};
    if (Status status = identifyFile(path, now); !status.ok())
      return status;
    if (now != then)
      problems += (problems.empty() ? "" : "\n  ") + path + " is not what " +
                  program.path() + " was compiled with: it has " + now.text() +
                  "; it had " + then.text();
  }
  return problems.empty()
             ? Status::success()
             : userError(problems +
                         "; compile the model again, put the old file back, or "
                         "give --weights=FILE.safetensors");
}

Status Parameters::load(const WeightsSource &weights) {
  TensorFiles tensors;
  uint64_t seed = 0;
  if (weights.isRandom()) {
    const char *begin = weights.source.data() + 7,
               *end = weights.source.data() + weights.source.size();
    auto [stop, error] = std::from_chars(begin, end, seed);
    if (error != std::errc() || stop != end)
      return flagsError("--weights=" + weights.source +
                        ": the seed is not a number");
  }
  if (weights.isFiles())
    if (Status status = tensors.open(weights.source); !status.ok())
      return status;
  if (Status status = checkWeightFiles(weights); !status.ok())
    return status;

  std::string problems;
  uint32_t count = 0;
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    Source source;
    Status status;
    bool found = true, normal = false;
    switch (originOf(parameter, weights)) {
    case Origin::Drawn:
      drawByRole(parameter, seed, source.constant, source.key, normal);
      source.kind = normal ? Source::Normal : Source::Constant;
      break;
    case Origin::Files:
      status = fromFiles(i, tensors, weights.prefix, source);
      break;
    case Origin::Program:
      status = fromProgram(i, source, found);
      break;
    }
    if (status.ok() && !found)
      status = userError(fullName(parameter) +
                         ": the model came without its value; give "
                         "--weights=FILE.safetensors or random:SEED");
    if (status.ok()) {
      store(i, source);
      continue;
    }
    if (++count <= 50)
      problems += "\n  " + status.message();
  }
  if (count > 50)
    problems += format("\n  and %u more", count - 50);
  if (count != 0)
    return userError(
        (count == 1 ? "1 parameter has no usable value:"
                    : format("%u parameters have no usable value:", count)) +
        problems);
  return Status::success();
}

void Parameters::store(uint32_t index, const Source &source) {
  const program::Parameter &parameter = *table.parameters()->Get(index);
  const program::Block &block = *table.blocks()->Get(parameter.block());
  uint64_t count = elements(index);
  if (parameter.type() > ElementType::F64) {
    for (uint32_t upload : *block.upload())
      std::memcpy(address(upload) + parameter.member_offset(), source.data,
                  count * elementBytes(parameter.type()));
    return;
  }
  // Frozen ones of f64 keep all their digits.
  bool wide = source.kind == Source::Stored &&
              source.type == ElementType::F64 &&
              parameter.upload_type() == ElementType::F64 && !source.transposed;
  auto storePart = [&](uint64_t begin, uint64_t end) {
    constexpr uint64_t kPart = 4096;
    float values[kPart];
    for (; begin < end; begin += kPart) {
      uint64_t some = std::min(kPart, end - begin);
      source.fill(begin, begin + some, values);
      if (parameter.trainable())
        for (uint32_t master : *block.master())
          storeFloats(address(master) + masterOffset(table, parameter),
                      ElementType::F32, begin, some, values);
      for (uint32_t upload : *block.upload())
        if (!wide)
          storeFloats(address(upload) + parameter.member_offset(),
                      parameter.upload_type(), begin, some, values);
    }
  };
  workers.forEach((count + kChunk - 1) / kChunk, [&](uint64_t chunk) {
    storePart(chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
  });
  if (wide)
    for (uint32_t upload : *block.upload())
      std::memcpy(address(upload) + parameter.member_offset(), source.data,
                  8 * count);
}

//===----------------------------------------------------------------------===//
// Reading, writing, saving
//===----------------------------------------------------------------------===//

Parameters::Stored Parameters::locate(uint32_t index, Quantity quantity,
                                      uint64_t iterations) const {
  const program::Parameter &parameter = *table.parameters()->Get(index);
  if (quantity == Quantity::Gradient)
    return {reinterpret_cast<const std::byte *>(
                gradients[parameter.block()].data()) +
                parameter.gradient_offset(),
            ElementType::F32};
  if (!parameter.trainable())
    return {address(table.blocks()->Get(parameter.block())->upload()->Get(0)) +
                parameter.member_offset(),
            parameter.upload_type()};
  const StateOperands &state = states[parameter.block()];
  if (quantity == Quantity::Value)
    return {(iterations == 0 ? operandAddress(*state.masterIn, state.isPiece, 0)
                             : operandAddress(*state.masterOut, state.isPiece,
                                              iterations - 1)) +
                masterOffset(table, parameter),
            ElementType::F32};
  return {operandAddress(*state.moments[quantity == Quantity::SecondMoment],
                         state.isPiece, iterations ? iterations - 1 : 0) +
              parameter.state_offset(),
          ElementType::F32};
}

void Parameters::read(uint32_t index, Quantity quantity, uint64_t iterations,
                      float *values) const {
  Stored stored = locate(index, quantity, iterations);
  uint64_t count = elements(index);
  workers.forEach((count + kChunk - 1) / kChunk, [&](uint64_t chunk) {
    uint64_t begin = chunk * kChunk;
    loadFloats(stored.data, stored.type, begin, std::min(kChunk, count - begin),
               values + begin);
  });
}

Status Parameters::write(uint32_t index, Quantity quantity,
                         const float *values) {
  const program::Parameter &parameter = *table.parameters()->Get(index);
  if (parameter.type() > ElementType::F64)
    return userError(fullName(parameter) + " is of " +
                     elementName(parameter.type()) + ", not of floats");
  if (quantity == Quantity::Value) {
    Source source;
    source.data = reinterpret_cast<const std::byte *>(values);
    source.type = ElementType::F32;
    store(index, source);
    return Status::success();
  }
  if (!parameter.trainable() || quantity == Quantity::Gradient)
    return userError(fullName(parameter) + ": has no such state to write");
  const StateOperands &state = states[parameter.block()];
  const program::Operand &operand =
      *state.moments[quantity == Quantity::SecondMoment];
  for (uint64_t instance = 0; instance < operand.buffers()->size(); ++instance)
    std::memcpy(operandAddress(operand, state.isPiece, instance) +
                    parameter.state_offset(),
                values, 4 * elements(index));
  return Status::success();
}

void Parameters::enableGradients() {
  gradients.resize(sizeOf(table.blocks()));
  for (uint32_t block = 0; block < gradients.size(); ++block)
    if (states[block].masterIn)
      gradients[block].resize(table.blocks()->Get(block)->gradient_bytes() / 4);
}

void Parameters::captureGradient(uint32_t block, const std::byte *gradient,
                                 bool narrow, double factor) {
  ElementType type = narrow ? ElementType::BF16 : ElementType::F32;
  for (uint64_t i = 0; i < gradients[block].size(); ++i)
    gradients[block][i] = (float)(loadFloat(gradient, type, i) * factor);
  captured = true;
}

Status Parameters::save(const std::string &path, Quantity quantity, Names names,
                        uint64_t iterations) const {
  std::vector<TensorToWrite> tensors;
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    // What the compiler folded is no parameter of the model.
    bool folded = !parameter.trainable() && hasValue(parameter);
    if (parameter.type() > ElementType::F64 || folded ||
        (quantity != Quantity::Value && !parameter.trainable()))
      continue;
    std::span<const int64_t> own = shapeOf(parameter.shape());
    auto add = [&](std::string name, bool transposed) {
      TensorToWrite tensor;
      tensor.name = std::move(name);
      tensor.type =
          parameter.trainable() ? ElementType::F32 : parameter.upload_type();
      tensor.shape.assign(own.begin(), own.end());
      Stored stored = locate(i, quantity, iterations);
      tensor.fill = [stored](uint64_t begin, uint64_t end, float *values) {
        loadFloats(stored.data, stored.type, begin, end - begin, values);
      };
      if (transposed) {
        std::swap(tensor.shape[0], tensor.shape[1]);
        tensor.fill = [stored, rows = (uint64_t)own[0],
                       columns = (uint64_t)own[1]](uint64_t begin, uint64_t end,
                                                   float *values) {
          loadTransposed(stored.data, stored.type, columns, rows, begin, end,
                         values);
        };
      }
      tensors.push_back(std::move(tensor));
    };
    if (names == Names::Source) {
      std::string_view source = text(parameter.source());
      add(source.empty() ? nameOf(parameter) : std::string(source),
          parameter.transposed());
      continue;
    }
    add(nameOf(parameter), false);
    for (uint32_t c = 0; c < sizeOf(parameter.copies()); ++c)
      add(std::string(text(parameter.copies()->Get(c))),
          parameter.copies_transposed() &&
              parameter.copies_transposed()->Get(c));
  }
  return writeSafetensors(path, tensors, &workers);
}
