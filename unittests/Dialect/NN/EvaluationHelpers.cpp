//===- EvaluationHelpers.cpp - Evaluation of ops written as text ----------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

using namespace mlir;

namespace rondo::nn::test {

EvaluationTest::EvaluationTest() {
  context.loadDialect<func::FuncDialect, NNDialect>();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    diagnostics += diagnostic.str() + "\n";
    return success();
  });
}

HostTensor EvaluationTest::parseTensor(StringRef text) {
  auto attribute =
      dyn_cast_or_null<ElementsAttr>(parseAttribute(text, &context));
  EXPECT_TRUE(attribute) << text.str() << ": " << diagnostics;
  return attribute ? HostTensor::fromAttribute(attribute) : HostTensor();
}

OwningOpRef<ModuleOp> EvaluationTest::parseModule(StringRef text) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text.str() << "\n" << diagnostics;
  return module;
}

FailureOr<SmallVector<HostTensor>>
EvaluationTest::evaluate(ModuleOp module, ArrayRef<HostTensor> inputs,
                         const EvaluationContext &how, ParameterLookup lookup) {
  auto function = module.lookupSymbol<func::FuncOp>("f");
  EXPECT_TRUE(function);
  if (!function)
    return failure();
  return evaluateFunction(function, inputs, how, lookup);
}

FailureOr<HostTensor>
EvaluationTest::evaluateBody(StringRef body, StringRef type,
                             const EvaluationContext &how) {
  OwningOpRef<ModuleOp> module =
      parseModule(("func.func @f() -> " + type + " {\n" + body +
                   "\nreturn %r : " + type + "\n}")
                      .str());
  if (!module)
    return failure();
  FailureOr<SmallVector<HostTensor>> results = evaluate(*module, {}, how);
  if (failed(results))
    return failure();
  return results->front();
}

void EvaluationTest::expectValue(StringRef body, StringRef expected,
                                 double tolerance,
                                 const EvaluationContext &how) {
  SCOPED_TRACE(body.str());
  HostTensor wanted = parseTensor(expected);
  std::string type = debugString(wanted.getType());
  FailureOr<HostTensor> value = evaluateBody(body, type, how);
  ASSERT_TRUE(succeeded(value)) << diagnostics;
  expectClose(*value, wanted, tolerance);
}

void EvaluationTest::expectFailure(StringRef body, StringRef type,
                                   StringRef message) {
  SCOPED_TRACE(body.str());
  diagnostics.clear();
  EXPECT_TRUE(failed(evaluateBody(body, type)));
  EXPECT_NE(diagnostics.find(message.str()), std::string::npos) << diagnostics;

  // Folding asks quietly.
  diagnostics.clear();
  EvaluationContext quiet;
  quiet.quiet = true;
  EXPECT_TRUE(failed(evaluateBody(body, type, quiet)));
  EXPECT_EQ(diagnostics, "");
}

void expectClose(const HostTensor &actual, const HostTensor &expected,
                 double tolerance) {
  ASSERT_EQ(actual.getType(), expected.getType());
  EXPECT_EQ(actual.integers(), expected.integers());
  ASSERT_EQ(actual.floats().size(), expected.floats().size());
  for (size_t i = 0; i < actual.floats().size(); ++i) {
    double got = actual.floats()[i], wanted = expected.floats()[i];
    bool same =
        got == wanted || (std::isnan(got) && std::isnan(wanted)) ||
        std::fabs(got - wanted) <= tolerance * std::max(1.0, std::fabs(wanted));
    EXPECT_TRUE(same) << "element " << i << ": got " << got << ", expected "
                      << wanted;
  }
}

} // namespace rondo::nn::test
