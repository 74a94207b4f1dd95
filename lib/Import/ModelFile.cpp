//===- ModelFile.cpp - An ONNX file and its weights' places ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelFile.h"

#include "TensorData.h"
#include "WireReader.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace rondo {

/// Field numbers of schema/onnx.proto that are read by hand.
enum : uint32_t {
  modelGraphField = 7,
  graphInitializerField = 5,
  tensorFloatDataField = 4,
  tensorRawDataField = 9,
  tensorDoubleDataField = 10,
};

/// The format's own limit: no protobuf message is larger.
static constexpr uint64_t maxModelBytes = (uint64_t(1) << 31) - 1;
static constexpr int64_t minOpset = 13, maxOpset = 24, maxIrVersion = 13;

std::unique_ptr<ModelFile> ModelFile::open(StringRef path, MLIRContext *context,
                                           std::vector<std::string> *external) {
  StringRef name = path == "-" ? "<stdin>" : path;
  Location loc = FileLineColLoc::get(context, name, 0, 0);
  std::unique_ptr<ModelFile> file(new ModelFile(path, loc));
  bool good = succeeded(file->read()) && succeeded(file->checkVersions()) &&
              succeeded(file->collectInitializers());
  if (external)
    for (auto &entry : file->externalFiles)
      external->push_back(entry.first);
  return good ? std::move(file) : nullptr;
}

StringRef ModelFile::getFileName() const {
  return path == "-" ? StringRef("-") : llvm::sys::path::filename(path);
}

LogicalResult ModelFile::read() {
  // A folder can be opened for reading, but fails later with a message that
  // does not name it.
  if (path != "-" && llvm::sys::fs::is_directory(path))
    return emitError(loc) << "cannot be read: it is a directory";
  auto bufferOrError = llvm::MemoryBuffer::getFileOrSTDIN(
      path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bufferOrError)
    return emitError(loc) << "cannot be read: "
                          << bufferOrError.getError().message();
  buffer = std::move(*bufferOrError);
  if (buffer->getBufferSize() > maxModelBytes)
    return emitError(loc) << "has " << buffer->getBufferSize()
                          << " bytes; an ONNX file has at most "
                          << maxModelBytes
                          << ": save the weights as external data";
  if (buffer->getBufferSize() == 0)
    return emitError(loc) << "is empty";
  return parse(buffer->getBuffer());
}

/// Adds `field` to `message`. (Protobuf defines a message as the merge of its
/// fields, so merging them one by one is the same as parsing.)
static bool mergeField(google::protobuf::Message &message, StringRef field) {
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(field.data()), field.size());
  return message.MergeFromCodedStream(&stream) &&
         stream.ConsumedEntireMessage();
}

/// Parses one initializer without copying its elements. `embedded`: where raw
/// little-endian elements lie in the file.
static bool parseInitializer(StringRef bytes, onnx::TensorProto &tensor,
                             std::optional<StringRef> &embedded) {
  std::optional<StringRef> rawData, floatData, doubleData;
  WireReader reader(bytes);
  WireReader::Field field;
  while (reader.next(field)) {
    // Packed floats are raw little-endian bytes too, unless they come in
    // several pieces.
    if (field.wireType == 2 && field.number == tensorRawDataField)
      rawData = field.payload;
    else if (field.wireType == 2 && field.number == tensorFloatDataField &&
             !floatData && tensor.float_data_size() == 0)
      floatData = field.payload;
    else if (field.wireType == 2 && field.number == tensorDoubleDataField &&
             !doubleData && tensor.double_data_size() == 0)
      doubleData = field.payload;
    else if (!mergeField(tensor, field.whole))
      return false;
  }
  if (reader.hasFailed())
    return false;
  if (rawData)
    embedded = rawData;
  else if (floatData && tensor.data_type() == onnx::TensorProto::FLOAT &&
           tensor.float_data_size() == 0)
    embedded = floatData;
  else if (doubleData && tensor.data_type() == onnx::TensorProto::DOUBLE &&
           tensor.double_data_size() == 0)
    embedded = doubleData;
  return true;
}

LogicalResult ModelFile::parse(StringRef bytes) {
  auto malformed = [&]() {
    return emitError(loc) << "is not an ONNX model, or is damaged or cut off";
  };
  WireReader modelReader(bytes);
  WireReader::Field field;
  while (modelReader.next(field)) {
    if (field.number != modelGraphField || field.wireType != 2) {
      if (!mergeField(model, field.whole))
        return malformed();
      continue;
    }
    WireReader graphReader(field.payload);
    WireReader::Field graphField;
    while (graphReader.next(graphField)) {
      onnx::GraphProto &graph = *model.mutable_graph();
      if (graphField.number == graphInitializerField &&
          graphField.wireType == 2) {
        embedded.emplace_back();
        if (!parseInitializer(graphField.payload, *graph.add_initializer(),
                              embedded.back()))
          return malformed();
      } else if (!mergeField(graph, graphField.whole)) {
        return malformed();
      }
    }
    if (graphReader.hasFailed())
      return malformed();
  }
  if (modelReader.hasFailed())
    return malformed();
  if (!model.has_graph())
    return emitError(loc) << "is not an ONNX model: it has no graph";
  return success();
}

static StringRef normalizeDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

std::optional<int64_t> ModelFile::getOpset(StringRef domain) const {
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (normalizeDomain(set.domain()) == normalizeDomain(domain))
      return set.version();
  return std::nullopt;
}

LogicalResult ModelFile::checkVersions() {
  if (model.ir_version() < 1 || model.ir_version() > maxIrVersion)
    return emitError(loc) << "has IR version " << model.ir_version()
                          << "; supported are versions 1 to " << maxIrVersion;
  std::optional<int64_t> version = getOpset("");
  if (!version)
    return emitError(loc) << "names no version of the standard operator set "
                             "(opset_import)";
  opset = *version;
  if (opset < minOpset || opset > maxOpset)
    return emitError(loc) << "uses opset " << opset << "; supported are "
                          << minOpset << " to " << maxOpset
                          << ": export with opset_version=20 or convert it "
                             "with onnx.version_converter";
  if (model.graph().sparse_initializer_size() != 0)
    return emitError(loc) << "has " << model.graph().sparse_initializer_size()
                          << " sparse initializers, which are not supported";
  if (model.training_info_size() != 0)
    emitRemark(loc) << "has training_info, which is ignored: Rondo derives "
                       "the training step from the loss";
  return success();
}

LogicalResult ModelFile::collectInitializers() {
  const onnx::GraphProto &graph = model.graph();
  bool good = true;
  for (int i = 0; i < graph.initializer_size(); ++i) {
    const onnx::TensorProto &proto = graph.initializer(i);
    Initializer initializer;
    initializer.name = proto.name();
    initializer.proto = &proto;
    Location at = NameLoc::get(StringAttr::get(
        loc.getContext(), proto.name().empty() ? "?" : proto.name()));
    if (proto.name().empty()) {
      good = false;
      emitError(loc) << "initializer " << i << " has no name";
    } else if (!initializerIndex.try_emplace(proto.name(), i).second) {
      good = false;
      emitError(at) << "two initializers are called '" << proto.name() << "'";
    }
    // Element types that nn does not have matter only if the tensor is used.
    if (getElementType(loc.getContext(), proto.data_type())) {
      FailureOr<RankedTensorType> type = getTensorType(proto, at);
      good &= succeeded(type);
      if (succeeded(type))
        initializer.type = *type;
    }
    if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
      good &= succeeded(locateExternal(initializer));
    } else if (embedded[i]) {
      initializer.location = "";
      initializer.offset = embedded[i]->data() - buffer->getBufferStart();
      initializer.length = embedded[i]->size();
    }
    if (initializer.type && initializer.location) {
      int64_t expected = getRawBytes(initializer.type);
      if (initializer.length != expected) {
        good = false;
        emitError(at) << "has " << initializer.length
                      << " bytes of data; its type and shape ask for "
                      << expected;
      }
    }
    initializers.push_back(std::move(initializer));
  }
  if (path == "-" && llvm::any_of(initializers, [](const Initializer &tensor) {
        return tensor.location == "";
      }))
    emitWarning(loc) << "holds weights, which cannot be read again at run "
                        "time: name the file instead of standard input";
  for (auto &[location, file] : externalFiles)
    if (!file)
      emitRemark(loc) << "weights file '" << location
                      << "' is absent; compiling goes on, running needs it";
  return success(good);
}

/// Why `location` must not be opened, or "".
static StringRef refuseLocation(StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.contains('\0'))
    return "contains a null character";
  if (llvm::sys::path::is_absolute(location))
    return "is absolute";
  for (StringRef part : llvm::make_range(llvm::sys::path::begin(location),
                                         llvm::sys::path::end(location)))
    if (part == "..")
      return "contains '..'";
  return "";
}

LogicalResult ModelFile::locateExternal(Initializer &initializer) {
  Location at =
      NameLoc::get(StringAttr::get(loc.getContext(), initializer.name));
  std::string location;
  std::optional<int64_t> length;
  for (const auto &entry : initializer.proto->external_data()) {
    int64_t *number = nullptr;
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      number = &initializer.offset;
    else if (entry.key() == "length")
      number = &length.emplace(0);
    if (number &&
        (StringRef(entry.value()).getAsInteger(10, *number) || *number < 0))
      return emitError(at) << "has external data with " << entry.key() << " '"
                           << entry.value()
                           << "', which is not a non-negative decimal number";
  }
  if (StringRef reason = refuseLocation(location); !reason.empty())
    return emitError(at) << "has external data in '" << location << "', which "
                         << reason
                         << ": weight files are named relative to the model";
  initializer.location = location;
  if (length)
    initializer.length = *length;
  else if (initializer.type)
    initializer.length = getRawBytes(initializer.type);
  llvm::MemoryBuffer *file = getExternalFile(location);
  initializer.present = file != nullptr;
  if (!file)
    return success();
  uint64_t size = file->getBufferSize();
  if (uint64_t(initializer.offset) > size ||
      uint64_t(initializer.length) > size - initializer.offset)
    return emitError(at) << "ends at byte "
                         << uint64_t(initializer.offset) +
                                uint64_t(initializer.length)
                         << " of '" << location << "', which has only " << size
                         << " bytes";
  return success();
}

llvm::MemoryBuffer *ModelFile::getExternalFile(StringRef location) {
  auto [entry, isNew] = externalFiles.try_emplace(location.str());
  if (isNew) {
    SmallString<256> full;
    if (path != "-")
      full = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(full, location);
    auto file = llvm::MemoryBuffer::getFile(full, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (file)
      entry->second = std::move(*file);
  }
  return entry->second.get();
}

int ModelFile::findInitializer(StringRef name) const {
  auto found = initializerIndex.find(name);
  return found == initializerIndex.end() ? -1 : found->second;
}

StringRef ModelFile::getBytes(const Initializer &initializer) {
  if (!initializer.location || !initializer.present)
    return {};
  StringRef file = buffer->getBuffer();
  if (!initializer.location->empty())
    file = getExternalFile(*initializer.location)->getBuffer();
  return file.substr(initializer.offset, initializer.length);
}

} // namespace rondo
