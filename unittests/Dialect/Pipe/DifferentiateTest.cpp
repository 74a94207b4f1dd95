//===- DifferentiateTest.cpp - Entries against finite differences ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts and differentiates small models and runs the chain's entries. The
// oracle is the loss function itself, before it was cut: its value, and central
// differences of it in doubles.
//
//===----------------------------------------------------------------------===//

#include "ChainRunner.h"
#include "Models.h"
#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/Pipe/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::pipe;
using namespace rondo::pipe::test;

namespace {
class Differentiate : public testing::TestWithParam<Model> {
protected:
  Differentiate() {
    context.loadDialect<func::FuncDialect, NNDialect, PipeDialect>();
  }
  void SetUp() override;

  HostTensor makeTensor(RankedTensorType type);
  std::optional<double> evaluateLoss(bool exact);

  MLIRContext context;
  std::mt19937 random{7};
  OwningOpRef<ModuleOp> original, cut;
  func::FuncOp loss;
  ChainOp chain;
  std::vector<HostTensor> inputs;
  Tensors parameters;
};
} // namespace

/// Small numbers around 0, or indices of which none is the ignored one.
HostTensor Differentiate::makeTensor(RankedTensorType type) {
  HostTensor tensor(type);
  // Not the library's distributions: those differ between libraries.
  auto draw = [&] { return random() / 4294967296.0; };
  for (double &value : tensor.floats())
    value = 2 * draw() - 1;
  tensor.round();
  for (int64_t &value : tensor.integers())
    value = static_cast<int64_t>(draw() * (GetParam().indices - 1));
  return tensor;
}

void Differentiate::SetUp() {
  original = parseSourceString<ModuleOp>(GetParam().text, &context);
  ASSERT_TRUE(original);
  cut = original->clone();
  PassManager manager(&context);
  manager.addPass(createPipeOutlineLayers());
  manager.addPass(createPipeVerifyPhase());
  manager.addPass(createPipeDifferentiateBodies());
  manager.addPass(createPipeVerifyPhase({"grad"}));
  ASSERT_TRUE(succeeded(manager.run(*cut)));
  loss = *original->getOps<func::FuncOp>().begin();
  chain = *cut->getOps<ChainOp>().begin();
  ASSERT_EQ(llvm::range_size(chain.getBody().getOps<LayerOp>()),
            GetParam().layers);
  ASSERT_EQ(llvm::range_size(cut->getOps<BodyOp>()), GetParam().bodies);
  for (Type type : loss.getArgumentTypes())
    inputs.push_back(makeTensor(cast<RankedTensorType>(type)));
  for (auto parameter : original->getOps<ParameterOp>())
    parameters[parameter.getSymName().str()] =
        makeTensor(cast<RankedTensorType>(parameter.getType()));
}

std::optional<double> Differentiate::evaluateLoss(bool exact) {
  FailureOr<SmallVector<HostTensor>> results = evaluateFunction(
      loss, inputs, {exact},
      [&](StringRef name, RankedTensorType) -> std::optional<HostTensor> {
        return parameters.at(name.str());
      });
  if (failed(results))
    return std::nullopt;
  return (*results)[0].floats()[0];
}

/// The four ways to run a layer.
static const RunMode modes[] = {{SaveSet::All, false},
                                {SaveSet::All, true},
                                {SaveSet::Products, false},
                                {SaveSet::Products, true}};

TEST_P(Differentiate, MatchesFiniteDifferences) {
  Training training = train(chain, inputs, parameters, modes[0]);
  ASSERT_FALSE(HasFailure());
  std::optional<double> expected = evaluateLoss(/*exact=*/true);
  ASSERT_TRUE(expected);
  EXPECT_NEAR(training.loss.floats()[0], *expected, 1e-12);

  size_t trainable = 0;
  const double step = 1e-5;
  for (auto parameter : original->getOps<ParameterOp>()) {
    std::string name = parameter.getSymName().str();
    if (!parameter.getTrainable()) {
      EXPECT_FALSE(training.gradients.count(name)) << name;
      continue;
    }
    ++trainable;
    ASSERT_TRUE(training.gradients.count(name)) << name;
    const HostTensor &gradient = training.gradients.at(name);
    EXPECT_TRUE(gradient.getType().getElementType().isF32());
    std::vector<double> &values = parameters.at(name).floats();
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i];
      values[i] = value + step;
      std::optional<double> above = evaluateLoss(/*exact=*/true);
      values[i] = value - step;
      std::optional<double> below = evaluateLoss(/*exact=*/true);
      values[i] = value;
      ASSERT_TRUE(above && below);
      EXPECT_NEAR(gradient.floats()[i], (*above - *below) / (2 * step), 1e-7)
          << name << "[" << i << "]";
    }
  }
  EXPECT_EQ(training.gradients.size(), trainable);
}

/// With rounding, as on a device: whatever is saved, kept or rebuilt, every bit
/// is the same, and so is the loss of the function that was not cut.
TEST_P(Differentiate, GivesTheSameBitsInEveryMode) {
  std::optional<double> expected = evaluateLoss(/*exact=*/false);
  ASSERT_TRUE(expected);
  std::optional<Training> first;
  for (RunMode mode : modes) {
    mode.exact = false;
    Training training = train(chain, inputs, parameters, mode);
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(training.loss.floats()[0], *expected);
    if (!first) {
      first = std::move(training);
      continue;
    }
    ASSERT_EQ(training.gradients.size(), first->gradients.size());
    for (const auto &[name, gradient] : training.gradients)
      EXPECT_EQ(gradient.floats(), first->gradients.at(name).floats()) << name;
  }
}

/// No entry runs that the model does not list: what nothing trainable needs is
/// not computed.
TEST_P(Differentiate, RunsTheEntriesThatTrainingNeeds) {
  Training training = train(chain, inputs, parameters, modes[3]);
  ASSERT_FALSE(HasFailure());
  std::vector<std::string> backward;
  for (const std::string &entry : training.entries)
    if (StringRef(entry).contains("backward"))
      backward.push_back(entry);
  EXPECT_EQ(backward, GetParam().backwardEntries);
}

INSTANTIATE_TEST_SUITE_P(Models, Differentiate, testing::ValuesIn(getModels()),
                         [](const testing::TestParamInfo<Model> &info) {
                           return info.param.name;
                         });
