//===- DerivativeTest.cpp - Derivatives against finite differences --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeHelpers.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

static constexpr uint64_t kSeeds = 200;

namespace {
class Derivative : public ::testing::TestWithParam<CaseKind> {
protected:
  OpCase make(uint64_t seed, StringRef element) {
    Random random(seed);
    return GetParam().make(*context, random, getElementType(*context, element));
  }
  /// For SCOPED_TRACE.
  std::string describe(uint64_t seed, OpCase &instance) {
    return "seed " + std::to_string(seed) + "\n" + print(*instance.module);
  }

  std::unique_ptr<MLIRContext> context = makeContext();
};
} // namespace

/// sum(cotangent * first result).
static double runLoss(OpCase &instance, ArrayRef<HostTensor> inputs,
                      const HostTensor &cotangent) {
  auto results = run(instance.function, inputs, /*exact=*/true);
  if (!results)
    return NAN;
  double sum = 0;
  for (auto [weight, value] :
       llvm::zip_equal(cotangent.floats(), results->front().floats()))
    sum += weight * value;
  return sum;
}

/// Five-point central differences of the loss in every element of an argument:
/// the error is about 1e-12 times the fifth derivative.
static std::vector<double> differentiate(OpCase &instance,
                                         const HostTensor &cotangent,
                                         unsigned argument) {
  const double step = 1e-3;
  std::vector<HostTensor> inputs = instance.inputs;
  std::vector<double> gradient;
  for (size_t index = 0; index < inputs[argument].floats().size(); ++index) {
    double &element = inputs[argument].floats()[index];
    double centre = element;
    double sum = 0;
    for (auto [offset, weight] :
         {std::pair(-2, 1.0), {-1, -8.0}, {1, 8.0}, {2, -1.0}}) {
      element = centre + offset * step;
      sum += weight * runLoss(instance, inputs, cotangent);
    }
    element = centre;
    gradient.push_back(sum / (12 * step));
  }
  return gradient;
}

/// Every derivative equals the differences of the reference evaluation.
TEST_P(Derivative, EqualsFiniteDifferences) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    OpCase instance = make(seed, "f64");
    FailureOr<Pullback> pullback = buildPullback(instance, wantAll(instance));
    SCOPED_TRACE(describe(seed, instance));
    ASSERT_TRUE(succeeded(pullback));
    ASSERT_EQ(pullback->operands, instance.differentiable);

    Random random(seed + 1000);
    HostTensor cotangent = makeCotangent(instance, random);
    std::vector<HostTensor> inputs = instance.inputs;
    inputs.push_back(cotangent);
    auto gradients = run(pullback->function, inputs, /*exact=*/true);
    ASSERT_TRUE(gradients);
    for (auto [operand, gradient] :
         llvm::zip_equal(pullback->operands, *gradients)) {
      auto argument = cast<BlockArgument>(instance.op->getOperand(operand));
      std::vector<double> expected =
          differentiate(instance, cotangent, argument.getArgNumber());
      auto difference = compareNumbers(gradient.floats(), expected, 1e-7);
      ASSERT_FALSE(difference) << "operand " << operand << ": " << *difference;
    }
  }
}

/// In every element type the same formula is built and each cotangent has its
/// operand's type; exact evaluation shows the formula alone (its constants are
/// f32), rounded evaluation that the roundings do no harm.
TEST_P(Derivative, HoldsInEveryElementType) {
  struct {
    StringRef name;
    double tolerance;
  } types[] = {{"f32", 2e-5}, {"bf16", 0.08}, {"f16", 0.01}};
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (auto [name, tolerance] : types) {
      OpCase instance = make(seed, name);
      FailureOr<Pullback> pullback = buildPullback(instance, wantAll(instance));
      SCOPED_TRACE(describe(seed, instance));
      ASSERT_TRUE(succeeded(pullback));
      ASSERT_EQ(pullback->operands, instance.differentiable);
      for (auto [index, operand] : llvm::enumerate(pullback->operands))
        EXPECT_EQ(pullback->function.getResultTypes()[index],
                  instance.op->getOperand(operand).getType());

      // The values of the f64 instance of this seed are the same before
      // rounding, so its derivative is what to expect.
      Random random(seed + 1000);
      std::vector<HostTensor> inputs = instance.inputs;
      inputs.push_back(makeCotangent(instance, random));
      for (HostTensor &input : inputs)
        input.round();
      OpCase wide = make(seed, "f64");
      FailureOr<Pullback> widePullback = buildPullback(wide, wantAll(wide));
      ASSERT_TRUE(succeeded(widePullback));
      std::vector<HostTensor> wideInputs;
      for (auto [type, input] :
           llvm::zip(widePullback->function.getArgumentTypes(), inputs)) {
        HostTensor tensor(cast<RankedTensorType>(type));
        tensor.floats() = input.floats();
        tensor.integers() = input.integers();
        wideInputs.push_back(tensor);
      }
      auto expected = run(widePullback->function, wideInputs, /*exact=*/true);
      auto exact = run(pullback->function, inputs, /*exact=*/true);
      auto rounded = run(pullback->function, inputs, /*exact=*/false);
      ASSERT_TRUE(expected && exact && rounded);
      for (auto [e, x, r] : llvm::zip_equal(*expected, *exact, *rounded)) {
        auto difference = compareNumbers(x.floats(), e.floats(), 2e-6);
        ASSERT_FALSE(difference) << "formula: " << *difference;
        difference = compareNumbers(r.floats(), e.floats(), tolerance);
        ASSERT_FALSE(difference) << "rounded: " << *difference;
      }
    }
  }
}

/// Only what is wanted is built, and it does not depend on what else is.
TEST_P(Derivative, BuildsWhatIsWanted) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    OpCase instance = make(seed, "f64");
    SCOPED_TRACE(describe(seed, instance));
    unsigned count = instance.op->getNumOperands();
    Random random(seed + 1000);
    std::vector<HostTensor> inputs = instance.inputs;
    inputs.push_back(makeCotangent(instance, random));
    FailureOr<Pullback> all = buildPullback(instance, wantAll(instance));
    ASSERT_TRUE(succeeded(all));
    auto allGradients = run(all->function, inputs, /*exact=*/true);
    ASSERT_TRUE(allGradients);

    for (auto [position, operand] : llvm::enumerate(instance.differentiable)) {
      SmallVector<bool> wanted(count, false);
      wanted[operand] = true;
      FailureOr<Pullback> one = buildPullback(instance, wanted);
      ASSERT_TRUE(succeeded(one));
      ASSERT_EQ(one->cotangents.size(), count);
      ASSERT_EQ(one->operands, SmallVector<unsigned>{operand});
      auto gradient = run(one->function, inputs, /*exact=*/true);
      ASSERT_TRUE(gradient);
      EXPECT_EQ(gradient->front().floats(), (*allGradients)[position].floats());
    }

    SmallVector<bool> none(count, false);
    auto numOps = [](Pullback &pullback) {
      return pullback.function.front().getOperations().size();
    };
    size_t bare = instance.function.front().getOperations().size();
    FailureOr<Pullback> unwanted = buildPullback(instance, none);
    ASSERT_TRUE(succeeded(unwanted));
    EXPECT_EQ(unwanted->cotangents, SmallVector<Value>(count));
    EXPECT_EQ(numOps(*unwanted), bare);
    FailureOr<Pullback> cut =
        buildPullback(instance, wantAll(instance), /*withCotangent=*/false);
    ASSERT_TRUE(succeeded(cut));
    EXPECT_EQ(cut->cotangents, SmallVector<Value>(count));
    EXPECT_EQ(numOps(*cut), bare);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Derivative,
                         ::testing::ValuesIn(getCaseKinds().begin(),
                                             getCaseKinds().end()),
                         [](const auto &info) {
                           return info.param.name.str();
                         });

/// A new differentiable op without a case fails here.
TEST(DerivativeCases, CoverEveryDifferentiableOp) {
  std::unique_ptr<MLIRContext> context = makeContext();
  llvm::StringSet<> covered;
  for (const CaseKind &kind : getCaseKinds()) {
    Random random(0);
    OpCase instance =
        kind.make(*context, random, getElementType(*context, "f64"));
    covered.insert(instance.op->getName().getStringRef());
  }
  unsigned numDifferentiable = 0;
  for (RegisteredOperationName name :
       context->getRegisteredOperationsByDialect("nn")) {
    if (!name.hasInterface<DifferentiableOp>())
      continue;
    ++numDifferentiable;
    EXPECT_TRUE(covered.contains(name.getStringRef()))
        << name.getStringRef().str() << " has no case";
  }
  EXPECT_EQ(numDifferentiable, covered.size());
}

/// The comparison that the properties rest on can fail.
TEST(DerivativeCases, ComparisonNoticesSmallErrors) {
  EXPECT_FALSE(compareNumbers({1, 2}, {1, 2}, 1e-7));
  EXPECT_TRUE(compareNumbers({1, 2.000001}, {1, 2}, 1e-7));
  EXPECT_TRUE(compareNumbers({1, NAN}, {1, 2}, 1e-7));
  EXPECT_TRUE(compareNumbers({1}, {1, 2}, 1e-7));
}
