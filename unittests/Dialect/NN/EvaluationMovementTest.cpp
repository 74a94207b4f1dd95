//===- EvaluationMovementTest.cpp - Values of movement and indexing ops ---===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EvaluationHelpers.h"

#include "llvm/ADT/StringExtras.h"
#include <random>

using namespace mlir;
using namespace rondo::nn;
using namespace rondo::nn::test;

namespace {

class EvaluationMovement : public EvaluationTest {
protected:
  /// x = [[0, 1, 2], [3, 4, 5]] in i64 and in f32.
  void expectMove(const std::string &op, const std::string &resultType,
                  const std::string &expected) {
    for (std::string element : {"i64", "f32"}) {
      std::string from = "tensor<2x3x" + element + ">",
                  to = "tensor<" + resultType + element + ">";
      std::string body =
          "%i = nn.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi64>\n"
          "%x = nn.cast %i : tensor<2x3xi64> to " +
          from + "\n%y = nn." + op + " : " + from + " -> " + to +
          "\n%r = nn.cast %y : " + to + " to tensor<" + resultType + "i64>";
      expectValue(body,
                  "dense<" + expected + "> : tensor<" + resultType + "i64>");
    }
  }
};

TEST_F(EvaluationMovement, Moves) {
  expectMove("reshape %x", "3x2x", "[[0, 1], [2, 3], [4, 5]]");
  expectMove("broadcast %x", "2x2x3x",
             "[[[0, 1, 2], [3, 4, 5]], [[0, 1, 2], [3, 4, 5]]]");
  expectMove("transpose %x [1, 0]", "3x2x", "[[0, 3], [1, 4], [2, 5]]");
  expectMove("slice %x [1, 2] [-1, -2]", "2x2x", "[[5, 3], [2, 0]]");
  expectMove("slice %x [0, 1] [1, 1]", "2x0x", "");
}

TEST_F(EvaluationMovement, BroadcastRepeatsExtentOne) {
  expectValue("%x = nn.constant dense<[[1], [2]]> : tensor<2x1xi64>\n"
              "%r = nn.broadcast %x : tensor<2x1xi64> -> tensor<2x3xi64>",
              "dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi64>");
  expectValue("%x = nn.constant dense<7> : tensor<i64>\n%r = nn.broadcast %x : "
              "tensor<i64> -> tensor<2x2xi64>",
              "dense<7> : tensor<2x2xi64>");
}

TEST_F(EvaluationMovement, Pad) {
  expectValue("%x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>\n"
              "%r = nn.pad %x [1, 0] [0, 2] -1 : i64 : tensor<2x2xi64> -> "
              "tensor<3x4xi64>",
              "dense<[[-1, -1, -1, -1], [1, 2, -1, -1], [3, 4, -1, -1]]> : "
              "tensor<3x4xi64>");
  expectValue(
      "%x = nn.constant dense<[1.0, 2.0]> : tensor<2xbf16>\n"
      "%r = nn.pad %x [1] [1] 0.5 : bf16 : tensor<2xbf16> -> tensor<4xbf16>",
      "dense<[0.5, 1.0, 2.0, 0.5]> : tensor<4xbf16>");
  expectValue("%x = nn.constant dense<[false]> : tensor<1xi1>\n"
              "%r = nn.pad %x [0] [1] true : tensor<1xi1> -> tensor<2xi1>",
              "dense<[false, true]> : tensor<2xi1>");
}

TEST_F(EvaluationMovement, Concat) {
  expectValue("%x = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>\n"
              "%y = nn.constant dense<[[5], [6]]> : tensor<2x1xi64>\n"
              "%z = nn.constant dense<> : tensor<2x0xi64>\n"
              "%r = nn.concat 1, %x, %z, %y : tensor<2x2xi64>, "
              "tensor<2x0xi64>, tensor<2x1xi64>",
              "dense<[[1, 2, 5], [3, 4, 6]]> : tensor<2x3xi64>");
}

TEST_F(EvaluationMovement, Iota) {
  expectValue(
      "%r = nn.iota 0 {start = 5 : i64, step = -2 : i64} : tensor<3x2xi64>",
      "dense<[[5, 5], [3, 3], [1, 1]]> : tensor<3x2xi64>");
  expectValue("%r = nn.iota 1 : tensor<2x3xf16>",
              "dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf16>");
  expectValue("%r = nn.iota 1 : tensor<0x3xi64>", "dense<> : tensor<0x3xi64>");
}

TEST_F(EvaluationMovement, Gather) {
  std::string x = "%x = nn.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, "
                  "6.0]]> : tensor<3x2xf32>\n";
  expectValue(
      x + "%i = nn.constant dense<[[2, -3], [0, 1]]> : tensor<2x2xi64>\n"
          "%r = nn.gather %x, %i axis 0 : tensor<3x2xf32>, tensor<2x2xi64>",
      "dense<[[[5.0, 6.0], [1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]]]> : "
      "tensor<2x2x2xf32>");
  expectValue(x + "%i = nn.constant dense<1> : tensor<i64>\n"
                  "%r = nn.gather %x, %i axis 1 : tensor<3x2xf32>, tensor<i64>",
              "dense<[2.0, 4.0, 6.0]> : tensor<3xf32>");
  expectFailure(
      x + "%i = nn.constant dense<[0, 3]> : tensor<2xi64>\n"
          "%r = nn.gather %x, %i axis 0 : tensor<3x2xf32>, tensor<2xi64>",
      "tensor<2x2xf32>",
      "index 3 at element 1 of the indices is out of range: axis 0 has extent "
      "3");
  expectFailure(
      x + "%i = nn.constant dense<[-3]> : tensor<1xi32>\n"
          "%r = nn.gather %x, %i axis 1 : tensor<3x2xf32>, tensor<1xi32>",
      "tensor<3x1xf32>",
      "index -3 at element 0 of the indices is out of range: axis 1 has extent "
      "2");
}

TEST_F(EvaluationMovement, ScatterAdd) {
  // Row 1 twice, row -1 (the last) once, row 0 never.
  expectValue(
      "%u = nn.constant dense<[[1.0, 2.0], [10.0, 20.0], [0.5, 0.25]]> : "
      "tensor<3x2xf32>\n"
      "%i = nn.constant dense<[1, -1, 1]> : tensor<3xi64>\n"
      "%r = nn.scatter_add %u, %i axis 0 : tensor<3x2xf32>, tensor<3xi64> -> "
      "tensor<3x2xf32>",
      "dense<[[0.0, 0.0], [1.5, 2.25], [10.0, 20.0]]> : tensor<3x2xf32>");
  expectValue(
      "%u = nn.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>\n"
      "%i = nn.constant dense<[2, 2]> : tensor<2xi64>\n"
      "%r = nn.scatter_add %u, %i axis 1 : tensor<2x2xf32>, tensor<2xi64> -> "
      "tensor<2x3xf32>",
      "dense<[[0.0, 0.0, 3.0], [0.0, 0.0, 7.0]]> : tensor<2x3xf32>");
  expectFailure("%u = nn.constant dense<1.0> : tensor<1x2xf32>\n%i = "
                "nn.constant dense<4> : tensor<1xi64>\n"
                "%r = nn.scatter_add %u, %i axis 0 : tensor<1x2xf32>, "
                "tensor<1xi64> -> tensor<3x2xf32>",
                "tensor<3x2xf32>",
                "index 4 at element 0 of the indices is out of range: axis 0 "
                "has extent 3");
}

TEST_F(EvaluationMovement, GatherND) {
  std::string x =
      "%x = nn.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>\n";
  // The examples of ONNX's GatherND.
  expectValue(
      x + "%i = nn.constant dense<[[0, 0], [1, -1]]> : tensor<2x2xi64>\n"
          "%r = nn.gather_nd %x, %i : tensor<2x2xi64>, tensor<2x2xi64>",
      "dense<[0, 3]> : tensor<2xi64>");
  expectValue(x + "%i = nn.constant dense<[[1], [0]]> : tensor<2x1xi64>\n"
                  "%r = nn.gather_nd %x, %i : tensor<2x2xi64>, tensor<2x1xi64>",
              "dense<[[2, 3], [0, 1]]> : tensor<2x2xi64>");
  expectValue("%x = nn.constant dense<[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]> : "
              "tensor<2x2x2xi64>\n"
              "%i = nn.constant dense<[[1], [0]]> : tensor<2x1xi64>\n"
              "%r = nn.gather_nd %x, %i batch_dims 1 : tensor<2x2x2xi64>, "
              "tensor<2x1xi64>",
              "dense<[[2, 3], [4, 5]]> : tensor<2x2xi64>");
  expectFailure(
      x + "%i = nn.constant dense<[[0, 0], [0, 2]]> : tensor<2x2xi64>\n"
          "%r = nn.gather_nd %x, %i : tensor<2x2xi64>, tensor<2x2xi64>",
      "tensor<2xi64>",
      "index 2 in tuple 1 is out of range: axis 1 has extent 2");
}

//===----------------------------------------------------------------------===//
// Random shapes against index arithmetic one element at a time
//===----------------------------------------------------------------------===//

/// The index of element `flat` of a row-major tensor.
SmallVector<int64_t> unflatten(ArrayRef<int64_t> shape, int64_t flat) {
  SmallVector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; flat /= shape[axis])
    index[axis] = flat % shape[axis];
  return index;
}

int64_t flatten(ArrayRef<int64_t> shape, ArrayRef<int64_t> index) {
  int64_t flat = 0;
  for (auto [extent, i] : llvm::zip_equal(shape, index))
    flat = flat * extent + i;
  return flat;
}

std::string list(ArrayRef<int64_t> values) {
  return "[" +
         llvm::join(
             llvm::map_range(
                 values, [](int64_t value) { return std::to_string(value); }),
             ", ") +
         "]";
}

TEST_F(EvaluationMovement, AgreesWithIndexArithmetic) {
  std::mt19937 random(7);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  Type element = IntegerType::get(&context, 64);
  for (int round = 0; round < 300; ++round) {
    // x[i] = i; an op picks, for each index of its result, an index of x.
    SmallVector<int64_t> shape, resultShape, permutation, starts, steps;
    int64_t rank = draw(0, 4);
    for (int64_t axis = 0; axis < rank; ++axis) {
      shape.push_back(draw(1, 4));
      permutation.push_back(axis);
    }
    std::shuffle(permutation.begin(), permutation.end(), random);
    std::string op;
    int kind = draw(0, 2);
    int64_t missing = 0;
    if (kind == 0) {
      op = "nn.transpose %x " + list(permutation);
      for (int64_t axis : permutation)
        resultShape.push_back(shape[axis]);
    } else if (kind == 1) {
      op = "nn.broadcast %x";
      missing = draw(0, 2);
      for (int64_t i = 0; i < missing; ++i)
        resultShape.push_back(draw(1, 3));
      for (int64_t extent : shape)
        resultShape.push_back(extent == 1 ? draw(1, 3) : extent);
    } else {
      for (int64_t extent : shape) {
        int64_t step = draw(1, 2), count = draw(1, (extent + step - 1) / step);
        int64_t reach = (count - 1) * step;
        bool backward = draw(0, 1);
        starts.push_back(backward ? draw(reach, extent - 1)
                                  : draw(0, extent - 1 - reach));
        steps.push_back(backward ? -step : step);
        resultShape.push_back(count);
      }
      op = "nn.slice %x " + list(starts) + " " + list(steps);
    }

    auto type = RankedTensorType::get(shape, element),
         resultType = RankedTensorType::get(resultShape, element);
    std::string fromText = debugString(type), toText = debugString(resultType);
    SCOPED_TRACE(op + " : " + fromText + " -> " + toText);
    OwningOpRef<ModuleOp> module = parseModule(
        "func.func @f(%x: " + fromText + ") -> " + toText + " {\n%r = " + op +
        " : " + fromText + " -> " + toText + "\nreturn %r : " + toText + "\n}");
    ASSERT_TRUE(module);
    HostTensor x(type), expected(resultType);
    for (int64_t i = 0; i < x.getNumElements(); ++i)
      x.integers()[i] = i;
    for (int64_t i = 0; i < expected.getNumElements(); ++i) {
      SmallVector<int64_t> index = unflatten(resultShape, i), from(rank);
      for (int64_t axis = 0; axis < rank; ++axis) {
        if (kind == 0)
          from[permutation[axis]] = index[axis];
        else if (kind == 1)
          from[axis] = shape[axis] == 1 ? 0 : index[missing + axis];
        else
          from[axis] = starts[axis] + index[axis] * steps[axis];
      }
      expected.integers()[i] = flatten(shape, from);
    }
    FailureOr<SmallVector<HostTensor>> results = evaluate(*module, {x});
    ASSERT_TRUE(succeeded(results)) << diagnostics;
    expectClose(results->front(), expected, 0);
  }
}

} // namespace
