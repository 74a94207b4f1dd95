//===- DerivativeCompositesTest.cpp - Composites as primitives ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeHelpers.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {
class Composite : public ::testing::TestWithParam<CaseKind> {
protected:
  std::unique_ptr<MLIRContext> context = makeContext();
};
} // namespace

static std::vector<CaseKind> getCompositeKinds() {
  std::unique_ptr<MLIRContext> context = makeContext();
  std::vector<CaseKind> kinds;
  for (const CaseKind &kind : getCaseKinds()) {
    Random random(0);
    OpCase instance =
        kind.make(*context, random, getElementType(*context, "f64"));
    if (isa<CompositeOp>(instance.op))
      kinds.push_back(kind);
  }
  return kinds;
}

/// A composite's value is its primitives'. The reference evaluation keeps
/// doubles inside a composite and rounds between primitives, which can tip the
/// last rounding: seldom, and by one unit (rms_norm rounds twice: by two).
TEST_P(Composite, EqualsItsDecomposition) {
  struct {
    StringRef name;
    double roundedTolerance;
  } types[] = {
      {"f64", 1e-14}, {"f32", 5e-7}, {"bf16", 0x1p-7}, {"f16", 0x1p-10}};
  // Rotary embedding rounds at each step, so its two values agree to the bit.
  bool sameBits = GetParam().name == "rope";
  double numRoundings = GetParam().name == "rms_norm" ? 2 : 1;
  int64_t numShort = 0, numEqual = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (auto [name, tolerance] : types) {
      Random random(seed);
      OpCase instance =
          GetParam().make(*context, random, getElementType(*context, name));
      SCOPED_TRACE("seed " + std::to_string(seed));
      FailureOr<func::FuncOp> decomposed = buildDecomposed(instance);
      SCOPED_TRACE(print(*instance.module));
      ASSERT_TRUE(succeeded(decomposed));
      ASSERT_EQ(decomposed->getFunctionType(),
                instance.function.getFunctionType());
      decomposed->walk(
          [](Operation *op) { EXPECT_FALSE(isa<CompositeOp>(op)); });

      auto expected = run(instance.function, instance.inputs, /*exact=*/true);
      auto actual = run(*decomposed, instance.inputs, /*exact=*/true);
      ASSERT_TRUE(expected && actual);
      auto difference =
          compareNumbers(actual->front().floats(), expected->front().floats(),
                         name == "f64" ? 1e-13 : 1e-7);
      ASSERT_FALSE(difference) << "exact: " << *difference;

      for (HostTensor &input : instance.inputs)
        input.round();
      expected = run(instance.function, instance.inputs, /*exact=*/false);
      actual = run(*decomposed, instance.inputs, /*exact=*/false);
      ASSERT_TRUE(expected && actual);
      if (sameBits) {
        ASSERT_EQ(actual->front().floats(), expected->front().floats());
        continue;
      }
      // Each element by itself: a large one must not excuse a small one. Near
      // 0, gelu loses digits to cancellation.
      for (auto [a, e] : llvm::zip_equal(actual->front().floats(),
                                         expected->front().floats())) {
        ASSERT_LE(std::abs(a - e),
                  numRoundings * tolerance * std::max(std::abs(e), 0.25))
            << name.str() << ": " << a << " and " << e;
        if (expected->front().getType().getElementTypeBitWidth() != 16)
          continue;
        ++numShort;
        numEqual += a == e;
      }
    }
  }
  EXPECT_GE(numEqual, 0.97 * numShort) << numShort << " elements of 16 bits";
}

INSTANTIATE_TEST_SUITE_P(Ops, Composite,
                         ::testing::ValuesIn(getCompositeKinds()),
                         [](const auto &info) {
                           return info.param.name.str();
                         });

TEST(CompositeCases, AreAllComposites) {
  std::unique_ptr<MLIRContext> context = makeContext();
  unsigned numComposites = 0;
  for (RegisteredOperationName name :
       context->getRegisteredOperationsByDialect("nn"))
    numComposites += name.hasInterface<CompositeOp>();
  EXPECT_EQ(numComposites, getCompositeKinds().size());
}
