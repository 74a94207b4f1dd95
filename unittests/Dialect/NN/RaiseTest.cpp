//===- RaiseTest.cpp - Raising keeps values -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the FileCheck tests of the raise phase raise or keep, and the golden
// models, computes the same before and after.
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Import/Import.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

/// Normal floats; integers below `integers`; booleans, most of them true but
/// all false in the first row.
HostTensor makeRandom(RankedTensorType type, unsigned seed, int64_t integers) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  HostTensor tensor(type);
  for (double &value : tensor.floats())
    value = normal(generator);
  for (int64_t &value : tensor.integers())
    value = type.getElementType().isInteger(1) ? generator() % 4 != 0
                                               : generator() % integers;
  if (type.getElementType().isInteger(1) && type.getRank() > 0)
    std::fill_n(tensor.integers().begin(), type.getShape().back(), 0);
  tensor.round();
  return tensor;
}

unsigned hash(StringRef name) {
  unsigned value = 2166136261u;
  for (char c : name)
    value = (value ^ static_cast<unsigned char>(c)) * 16777619u;
  return value;
}

/// Parameters get random values by their names; folded tables keep theirs.
FailureOr<SmallVector<HostTensor>> evaluateRandomly(func::FuncOp function,
                                                    int64_t integers) {
  SmallVector<HostTensor> inputs;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    inputs.push_back(
        makeRandom(cast<RankedTensorType>(type), index + 1, integers));
  EvaluationContext exact;
  exact.exact = true;
  auto module = function->getParentOfType<ModuleOp>();
  return evaluateFunction(
      function, inputs, exact,
      [&](StringRef name, RankedTensorType type) -> std::optional<HostTensor> {
        auto parameter = module.lookupSymbol<ParameterOp>(name);
        if (!parameter || parameter.getValue())
          return std::nullopt;
        HostTensor value = makeRandom(type, hash(name), integers);
        for (double &element : value.floats())
          element *= 0.3;
        return value;
      });
}

int64_t countElements(func::FuncOp function) {
  int64_t count = 0;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      count += cast<RankedTensorType>(type).getNumElements();
  });
  return count;
}

void expectSame(const HostTensor &before, const HostTensor &after,
                double tolerance, StringRef what) {
  ASSERT_EQ(before.getType(), after.getType()) << what.str();
  ASSERT_EQ(before.integers(), after.integers()) << what.str();
  for (auto [x, y] : llvm::zip_equal(before.floats(), after.floats())) {
    // A row that sees nothing, without guard, is NaN and stays it.
    ASSERT_EQ(std::isnan(x), std::isnan(y)) << what.str();
    if (std::isnan(x) || x == y) // infinities have no difference
      continue;
    ASSERT_NEAR(x, y, tolerance * std::max(1.0, std::abs(x))) << what.str();
  }
}

class Raise : public EvaluationTest {
protected:
  /// Runs `pipeline` on every case of a test file; returns how many functions
  /// were compared.
  int compareFile(StringRef file, StringRef pipeline);
  void compareModel(StringRef name);
};

int Raise::compareFile(StringRef file, StringRef pipeline) {
  std::string path = (RONDO_SOURCE_DIR "/test/Dialect/NN/" + file).str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(buffer) << path;
  if (!buffer)
    return 0;
  SmallVector<StringRef> cases;
  (*buffer)->getBuffer().split(cases, "// -----");
  int compared = 0;
  for (StringRef text : cases) {
    OwningOpRef<ModuleOp> before = parseModule(text);
    EXPECT_TRUE(before) << diagnostics;
    if (!before)
      return compared;
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager)));
    EXPECT_TRUE(succeeded(manager.run(*after))) << text.str() << diagnostics;
    for (auto function : before->getOps<func::FuncOp>()) {
      // Those that show how large a mask may be are not to be evaluated.
      if (countElements(function) > 1 << 23)
        continue;
      auto raised = after->lookupSymbol<func::FuncOp>(function.getSymName());
      // By convention of the tests; else this would compare equal text.
      if (!function.getSymName().starts_with("keeps_")) {
        EXPECT_NE(debugString(function), debugString(raised)) << pipeline.str();
      }
      auto expected = evaluateRandomly(function, 16),
           actual = evaluateRandomly(raised, 16);
      // A division by zero may stay one.
      if (failed(expected))
        continue;
      EXPECT_TRUE(succeeded(actual)) << diagnostics;
      if (failed(actual))
        continue;
      ++compared;
      // What an exporter rounded to bf16 is a constant of more digits here.
      bool isNarrow = text.contains("bf16");
      for (auto [x, y] : llvm::zip_equal(*expected, *actual))
        expectSame(x, y, isNarrow ? 1e-2 : 1e-6, function.getSymName());
    }
  }
  return compared;
}

void Raise::compareModel(StringRef name) {
  ImportOptions options;
  options.path =
      (RONDO_SOURCE_DIR "/test/golden/" + name + "/model.onnx").str();
  OwningOpRef<ModuleOp> before = importModel(options, &context);
  ASSERT_TRUE(before) << diagnostics;
  OwningOpRef<ModuleOp> after = before->clone();
  PassManager manager(&context);
  buildRaisePipeline(manager);
  ASSERT_TRUE(succeeded(manager.run(*after))) << diagnostics;
  auto expected = evaluateRandomly(*before->getOps<func::FuncOp>().begin(), 16);
  auto actual = evaluateRandomly(*after->getOps<func::FuncOp>().begin(), 16);
  ASSERT_TRUE(succeeded(expected) && succeeded(actual)) << diagnostics;
  EXPECT_GT(expected->front().floats()[0], 0);
  expectSame(expected->front(), actual->front(), 1e-9, name);
  // The comparison sees what it is meant to see: another scale is another loss.
  after->walk([](AttentionOp attention) {
    attention.setScaleAttr(
        FloatAttr::get(attention.getScaleAttr().getType(),
                       1.01 * attention.getScale().convertToDouble()));
  });
  auto changed = evaluateRandomly(*after->getOps<func::FuncOp>().begin(), 16);
  ASSERT_TRUE(succeeded(changed));
  EXPECT_GT(
      std::abs(changed->front().floats()[0] - expected->front().floats()[0]),
      1e-7);
}

TEST_F(Raise, TestCasesKeepTheirValues) {
  registerNNPasses();
  registerRaisePipeline();
  struct {
    const char *file, *pass;
    int functions;
  } const files[] = {
      {"raise-rms-norm.mlir", "rondo-nn-raise-rms-norm", 10},
      {"raise-activations.mlir", "rondo-nn-raise-activations", 7},
      {"raise-rope.mlir", "rondo-nn-raise-rope", 6},
      {"raise-attention.mlir",
       "rondo-nn-raise-attention,rondo-nn-raise-grouped-heads", 11},
      {"raise-masks.mlir", "rondo-nn-raise-masks", 24},
      {"raise-decompose-masked-attention.mlir",
       "rondo-nn-decompose-masked-attention", 5},
      {"raise-fold-constants.mlir", "rondo-nn-fold-constants{tables=true}", 5},
  };
  for (auto &[file, pass, functions] : files) {
    int own = compareFile(file, std::string("func.func(") + pass + ")");
    EXPECT_GE(own, functions) << file;
    int all = compareFile(file, "rondo-nn-raise");
    EXPECT_GE(all, functions) << file;
  }
  EXPECT_GE(compareFile("raise-pipeline.mlir", "rondo-nn-raise"), 3);
}

TEST_F(Raise, GoldenModelsKeepTheirLoss) {
  for (const char *name : {"llama", "llama_opset23", "qwen3"})
    compareModel(name);
}

} // namespace
