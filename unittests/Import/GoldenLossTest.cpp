//===- GoldenLossTest.cpp - Imported models compute the loss --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What the importer makes of the golden models, run by nn's reference
// evaluation, is the loss that PyTorch computed.

#include "TensorData.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Import/Import.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace rondo;

namespace {

std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// The elements of an .npy file: after its magic, version, and a header of
/// the length that follows.
StringRef getNpyData(StringRef file) {
  if (file.size() < 10)
    return {};
  size_t length = uint8_t(file[8]) | size_t(uint8_t(file[9])) << 8;
  return file.drop_front(10 + length);
}

class GoldenLoss : public testing::TestWithParam<const char *> {};

TEST_P(GoldenLoss, IsPyTorchs) {
  std::string folder = std::string(RONDO_GOLDEN_DIR "/") + GetParam();
  auto json = llvm::json::parse(readFile(folder + "/case.json"));
  ASSERT_TRUE(bool(json));
  const llvm::json::Object &golden = *json->getAsObject();
  double expected = *golden.getArray("loss")->front().getAsNumber();
  int64_t microBatches = *golden.getInteger("micro_batches");

  MLIRContext context;
  ImportOptions options;
  options.path = folder + "/model.onnx";
  OwningOpRef<ModuleOp> module = importModel(options, &context);
  ASSERT_TRUE(module);
  func::FuncOp function = module->lookupSymbol<func::FuncOp>("loss");
  ASSERT_TRUE(function);

  std::string model = readFile(options.path);
  auto lookUp = [&](StringRef name,
                    RankedTensorType type) -> std::optional<nn::HostTensor> {
    auto parameter = module->lookupSymbol<nn::ParameterOp>(name);
    if (!parameter || !parameter.getStored())
      return std::nullopt;
    nn::StoredAttr stored = *parameter.getStored();
    return decodeRaw(
        type, StringRef(model).substr(stored.getOffset(), stored.getLength()));
  };
  std::vector<std::string> files;
  for (const llvm::json::Value &name : *golden.getArray("inputs"))
    files.push_back(
        readFile(folder + "/inputs/" + name.getAsString()->str() + ".npy"));
  ASSERT_EQ(files.size(), function.getNumArguments());

  // The first step's loss is the mean over its micro-batches.
  double sum = 0;
  for (int64_t micro = 0; micro < microBatches; ++micro) {
    std::vector<nn::HostTensor> inputs;
    for (auto [file, type] : llvm::zip(files, function.getArgumentTypes())) {
      auto tensorType = cast<RankedTensorType>(type);
      int64_t bytes = getRawBytes(tensorType);
      StringRef data = getNpyData(file).substr(micro * bytes, bytes);
      ASSERT_EQ(int64_t(data.size()), bytes);
      inputs.push_back(decodeRaw(tensorType, data));
    }
    auto results = nn::evaluateFunction(function, inputs, {}, lookUp);
    ASSERT_TRUE(succeeded(results));
    sum += results->front().floats()[0];
  }
  EXPECT_NEAR(sum / microBatches, expected, 1e-6 * expected);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenLoss,
                         testing::Values("mlp", "llama", "llama_opset23",
                                         "qwen3"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
