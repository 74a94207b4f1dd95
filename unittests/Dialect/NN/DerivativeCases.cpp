//===- DerivativeCases.cpp - Random instances of nn ops -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeCases.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace mlir;
using namespace rondo;
using namespace rondo::nn;
using namespace rondo::nn::test;

using Shape = SmallVector<int64_t>;

uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15;
  uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

double Random::uniform(double low, double high) {
  double unit = double(next() >> 11) * 0x1p-53;
  return low + unit * (high - low);
}

std::unique_ptr<MLIRContext> test::makeContext() {
  auto context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  context->loadDialect<func::FuncDialect, NNDialect>();
  return context;
}

void test::fillUniform(HostTensor &tensor, Random &random, double low,
                       double high) {
  for (double &value : tensor.floats())
    value = random.uniform(low, high);
}

std::string test::print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream);
  return text;
}

namespace {
/// Collects arguments with their values, then the op.
class Maker {
public:
  Maker(MLIRContext &context, Random &random, Type element)
      : random(random), element(element), builder(&context),
        loc(builder.getUnknownLoc()) {
    result.module = ModuleOp::create(loc);
    builder.setInsertionPointToEnd(result.module->getBody());
    result.function = func::FuncOp::create(builder, loc, "op",
                                           builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(result.function.addEntryBlock());
  }

  RankedTensorType type(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, element);
  }

  Value argument(HostTensor tensor) {
    Value value = result.function.front().addArgument(tensor.getType(), loc);
    result.inputs.push_back(std::move(tensor));
    return value;
  }
  Value floats(ArrayRef<int64_t> shape, double low = -2, double high = 2) {
    HostTensor tensor(type(shape));
    fillUniform(tensor, random, low, high);
    return argument(std::move(tensor));
  }
  /// Values at least 0.05 from 0 and from each other: no kink is near.
  Value separated(ArrayRef<int64_t> shape) {
    HostTensor tensor(type(shape));
    std::vector<double> &values = tensor.floats();
    for (auto [index, value] : llvm::enumerate(values))
      value = 0.1 * (double(index / 2) + random.uniform(0.5, 1.0)) *
              (index % 2 ? -1 : 1);
    for (size_t index = values.size(); index > 1; --index)
      std::swap(values[index - 1], values[random.below(index)]);
    return argument(std::move(tensor));
  }
  Value integers(ArrayRef<int64_t> shape, int64_t low, int64_t high) {
    Type integer = random.flip() ? builder.getI64Type() : builder.getI32Type();
    HostTensor tensor(RankedTensorType::get(shape, integer));
    for (int64_t &value : tensor.integers())
      value = random.between(low, high);
    return argument(std::move(tensor));
  }
  Value booleans(ArrayRef<int64_t> shape) {
    HostTensor tensor(RankedTensorType::get(shape, builder.getI1Type()));
    for (int64_t &value : tensor.integers())
      value = random.flip();
    return argument(std::move(tensor));
  }

  /// Small enough for differences in every element.
  Shape shape(int64_t minRank = 0, int64_t maxRank = 4) {
    Shape extents;
    for (int64_t axis = random.between(minRank, maxRank); axis > 0; --axis)
      extents.push_back(random.between(1, 4));
    return extents;
  }

  OpCase finish(Operation *op, ArrayRef<unsigned> differentiable) {
    func::ReturnOp::create(builder, loc, op->getResults());
    result.function.setFunctionType(builder.getFunctionType(
        result.function.front().getArgumentTypes(), op->getResultTypes()));
    result.op = op;
    result.differentiable.assign(differentiable.begin(), differentiable.end());
    return std::move(result);
  }

  Random &random;
  Type element;
  OpBuilder builder;
  Location loc;
  OpCase result;
};
} // namespace

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// A unary op on values from [Low, High) tenths.
template <typename OpTy, int Low = -20, int High = 20>
static OpCase makeUnary(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Value x = m.floats(m.shape(), Low / 10.0, High / 10.0);
  return m.finish(OpTy::create(m.builder, m.loc, x.getType(), x), {0});
}

template <typename OpTy>
static OpCase makeKinkedUnary(MLIRContext &context, Random &random,
                              Type element) {
  Maker m(context, random, element);
  Value x = m.separated(m.shape());
  return m.finish(OpTy::create(m.builder, m.loc, x.getType(), x), {0});
}

static OpCase makeGelu(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Value x = m.floats(m.shape(), -4, 4);
  return m.finish(
      GeluOp::create(m.builder, m.loc, x.getType(), x, random.flip()), {0});
}

/// The second operand from [Low, High) tenths.
template <typename OpTy, int Low = -20, int High = 20>
static OpCase makeBinary(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  Value x = m.floats(shape);
  Value y = m.floats(shape, Low / 10.0, High / 10.0);
  return m.finish(OpTy::create(m.builder, m.loc, x.getType(), x, y), {0, 1});
}

template <typename OpTy>
static OpCase makeExtremum(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  Value x = m.floats(shape);
  HostTensor other = m.result.inputs.front();
  for (double &value : other.floats()) {
    double distance = random.uniform(0.05, 1);
    value += random.flip() ? distance : -distance;
  }
  Value y = m.argument(std::move(other));
  return m.finish(OpTy::create(m.builder, m.loc, x.getType(), x, y), {0, 1});
}

/// Exponents that are operands, and the constant ones that the derivative
/// treats by themselves, at bases of both signs.
static OpCase makePow(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  if (random.flip()) {
    Value x = m.floats(shape, 0.4, 2);
    Value y = m.floats(shape, -2, 3);
    return m.finish(PowOp::create(m.builder, m.loc, x.getType(), x, y), {0, 1});
  }
  Value x = m.floats(shape);
  RankedTensorType scalar = m.type({});
  double exponent = random.between(0, 4);
  Value constant = ConstantOp::create(
      m.builder, m.loc, scalar,
      DenseElementsAttr::get(
          scalar, Attribute(m.builder.getFloatAttr(element, exponent))));
  Value y = BroadcastOp::create(m.builder, m.loc, x.getType(), constant);
  return m.finish(PowOp::create(m.builder, m.loc, x.getType(), x, y), {0});
}

static OpCase makeSelect(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  Value condition = m.booleans(shape);
  Value x = m.floats(shape);
  Value y = m.floats(shape);
  return m.finish(
      SelectOp::create(m.builder, m.loc, x.getType(), condition, x, y), {1, 2});
}

static OpCase makeCast(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Value x = m.floats(m.shape());
  Type to = m.builder.getF32Type();
  if (element.isF32())
    to = random.flip() ? Type(m.builder.getF64Type())
                       : Type(m.builder.getBF16Type());
  auto type = cast<RankedTensorType>(x.getType());
  return m.finish(CastOp::create(m.builder, m.loc, type.clone(to), x), {0});
}

//===----------------------------------------------------------------------===//
// Data movement and indexing
//===----------------------------------------------------------------------===//

static OpCase makeReshape(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  // Merge random neighbours, then put ones in random places.
  Shape to;
  for (int64_t extent : shape) {
    if (!to.empty() && random.flip())
      to.back() *= extent;
    else
      to.push_back(extent);
    if (random.below(3) == 0)
      to.push_back(1);
  }
  bool reversed = random.flip();
  Value x = m.floats(reversed ? to : shape);
  return m.finish(
      ReshapeOp::create(m.builder, m.loc, m.type(reversed ? shape : to), x),
      {0});
}

static OpCase makeBroadcast(MLIRContext &context, Random &random,
                            Type element) {
  Maker m(context, random, element);
  Shape to = m.shape();
  Shape from(ArrayRef<int64_t>(to).drop_front(random.below(to.size() + 1)));
  for (int64_t &extent : from)
    if (random.flip())
      extent = 1;
  Value x = m.floats(from);
  return m.finish(BroadcastOp::create(m.builder, m.loc, m.type(to), x), {0});
}

static OpCase makeTranspose(MLIRContext &context, Random &random,
                            Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape();
  Shape permutation(llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
  for (size_t index = permutation.size(); index > 1; --index)
    std::swap(permutation[index - 1], permutation[random.below(index)]);
  Shape to;
  for (int64_t axis : permutation)
    to.push_back(shape[axis]);
  Value x = m.floats(shape);
  return m.finish(
      TransposeOp::create(m.builder, m.loc, m.type(to), x, permutation), {0});
}

static OpCase makeSlice(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape, starts, steps, to;
  for (int64_t axis = random.between(0, 3); axis > 0; --axis) {
    int64_t extent = random.between(1, 7);
    int64_t step = random.between(1, 3);
    int64_t span = random.between(1, (extent + step - 1) / step);
    int64_t start = random.between(0, extent - 1 - (span - 1) * step);
    bool backwards = random.flip();
    shape.push_back(extent);
    to.push_back(span);
    starts.push_back(backwards ? start + (span - 1) * step : start);
    steps.push_back(backwards ? -step : step);
  }
  Value x = m.floats(shape);
  return m.finish(
      SliceOp::create(m.builder, m.loc, m.type(to), x, starts, steps), {0});
}

static OpCase makePad(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(0, 3), low, high, to;
  for (int64_t extent : shape) {
    low.push_back(random.between(0, 2));
    high.push_back(random.between(0, 2));
    to.push_back(extent + low.back() + high.back());
  }
  Value x = m.floats(shape);
  TypedAttr value = m.builder.getFloatAttr(element, 0.5);
  return m.finish(
      PadOp::create(m.builder, m.loc, m.type(to), x, low, high, value), {0});
}

static OpCase makeConcat(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(1, 3);
  int64_t axis = random.below(shape.size());
  SmallVector<Value> parts;
  SmallVector<unsigned> all;
  Shape to = shape;
  to[axis] = 0;
  for (int64_t count = random.between(1, 3); count > 0; --count) {
    shape[axis] = random.between(1, 3);
    to[axis] += shape[axis];
    all.push_back(parts.size());
    parts.push_back(m.floats(shape));
  }
  return m.finish(ConcatOp::create(m.builder, m.loc, m.type(to), axis, parts),
                  all);
}

static OpCase makeGather(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(1, 3);
  int64_t axis = random.below(shape.size());
  Shape picked = m.shape(0, 2);
  Value x = m.floats(shape);
  // Negative ones count from the end, and rows repeat.
  Value indices = m.integers(picked, -shape[axis], shape[axis] - 1);
  return m.finish(GatherOp::create(m.builder, m.loc, x, indices, axis), {0});
}

//===----------------------------------------------------------------------===//
// Reductions and products
//===----------------------------------------------------------------------===//

template <ReduceKind Kind>
static OpCase makeReduce(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(1, 4), axes;
  for (int64_t axis = 0; axis < int64_t(shape.size()); ++axis)
    if (random.flip())
      axes.push_back(axis);
  if (axes.empty())
    axes.push_back(random.below(shape.size()));
  Value x = Kind == ReduceKind::Max ? m.separated(shape) : m.floats(shape);
  return m.finish(
      ReduceOp::create(m.builder, m.loc, Kind, x, axes, random.flip()), {0});
}

static OpCase makeSoftmax(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Value x = m.floats(m.shape(1, 3), -3, 3);
  return m.finish(SoftmaxOp::create(m.builder, m.loc, x.getType(), x), {0});
}

static OpCase makeMatmul(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape batch = m.shape(0, 2);
  bool sharedRhs = random.flip();
  bool transposeLhs = random.flip() && (!sharedRhs || batch.empty());
  bool transposeRhs = random.flip();
  int64_t rows = random.between(1, 4), depth = random.between(1, 4),
          columns = random.between(1, 4);
  auto matrix = [](Shape shape, int64_t first, int64_t second, bool swap) {
    if (swap)
      std::swap(first, second);
    shape.append({first, second});
    return shape;
  };
  Value lhs = m.floats(matrix(batch, rows, depth, transposeLhs));
  Value rhs = m.floats(
      matrix(sharedRhs ? Shape() : batch, depth, columns, transposeRhs));
  RankedTensorType type = m.type(matrix(batch, rows, columns, false));
  // Drawn whatever the element type, so that a seed has one shape.
  bool isWide = random.flip(), wantsBias = random.flip();
  if (element.getIntOrFloatBitWidth() == 16 && isWide)
    type = RankedTensorType::get(type.getShape(), m.builder.getF32Type());
  bool hasBias = wantsBias && (sharedRhs || batch.empty());
  Value bias = hasBias ? m.floats({columns}) : Value();
  auto op = MatmulOp::create(m.builder, m.loc, type, lhs, rhs, bias,
                             transposeLhs, transposeRhs);
  return hasBias ? m.finish(op, {0, 1, 2}) : m.finish(op, {0, 1});
}

static OpCase makeAttention(MLIRContext &context, Random &random,
                            Type element) {
  Maker m(context, random, element);
  int64_t batch = random.between(1, 2), keyHeads = random.between(1, 2),
          heads = keyHeads * random.between(1, 2),
          queries = random.between(1, 4), keys = random.between(1, 4),
          size = random.between(1, 3), valueSize = random.between(1, 3);
  Value query = m.floats({batch, heads, queries, size});
  Value key = m.floats({batch, keyHeads, keys, size});
  Value value = m.floats({batch, keyHeads, keys, valueSize});
  Type statistics = element.isF64() ? element : Type(m.builder.getF32Type());
  FloatAttr scale = m.builder.getF64FloatAttr(random.uniform(0.3, 1.2));
  UnitAttr causal = random.flip() ? m.builder.getUnitAttr() : UnitAttr();
  IntegerAttr window;
  if (random.below(3) == 0)
    window = m.builder.getI64IntegerAttr(random.between(1, 3));
  UnitAttr rowsFirst = random.flip() ? m.builder.getUnitAttr() : UnitAttr();
  auto op = AttentionOp::create(
      m.builder, m.loc,
      m.type(rowsFirst ? Shape{batch, queries, heads, valueSize}
                       : Shape{batch, heads, queries, valueSize}),
      RankedTensorType::get({batch, heads, queries}, statistics), query, key,
      value, Value(), scale, causal, window, rowsFirst, /*fill=*/FloatAttr(),
      /*unguarded=*/UnitAttr());
  return m.finish(op, {0, 1, 2});
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

static OpCase makeRmsNorm(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(1, 3);
  Value x = m.floats(shape);
  // A row of nearly zeros curves too sharply for differences.
  for (double &value : m.result.inputs.back().floats())
    value += value < 0 ? -0.3 : 0.3;
  Value weight = m.floats({shape.back()}, 0.5, 1.5);
  FloatAttr epsilon = m.builder.getF64FloatAttr(random.flip() ? 1e-5 : 0.125);
  return m.finish(
      RmsNormOp::create(m.builder, m.loc, x.getType(), x, weight, epsilon),
      {0, 1});
}

static OpCase makeRope(MLIRContext &context, Random &random, Type element) {
  Maker m(context, random, element);
  Shape shape = m.shape(1, 4);
  shape.back() = 2 * random.between(1, 3);
  // Tables whose halves differ, stretched along some axes.
  Shape table(ArrayRef<int64_t>(shape).drop_front(random.below(shape.size())));
  for (int64_t &extent : table)
    if (random.below(3) == 0)
      extent = 1;
  Value x = m.floats(shape);
  Value cosine = m.floats(table);
  Value sine = m.floats(table);
  return m.finish(
      RopeOp::create(m.builder, m.loc, x.getType(), x, cosine, sine), {0});
}

static OpCase makeCrossEntropy(MLIRContext &context, Random &random,
                               Type element) {
  Maker m(context, random, element);
  int64_t rows = random.between(1, 5), classes = random.between(1, 6);
  Value logits = m.floats({rows, classes}, -3, 3);
  Value labels = m.integers({rows}, 0, classes - 1);
  IntegerAttr ignored;
  if (random.flip()) {
    // Also a class that exists; the first row always counts.
    std::vector<int64_t> &values = m.result.inputs.back().integers();
    bool isClass = classes > 1 && random.flip();
    int64_t label = isClass ? (values[0] + 1) % classes : -100;
    ignored = m.builder.getI64IntegerAttr(label);
    for (int64_t &value : MutableArrayRef<int64_t>(values).drop_front())
      if (random.flip())
        value = label;
  }
  Type result = element.isF64() ? element : Type(m.builder.getF32Type());
  return m.finish(CrossEntropyOp::create(m.builder, m.loc,
                                         RankedTensorType::get({}, result),
                                         logits, labels, ignored),
                  {0});
}

static OpCase makeLinearCrossEntropy(MLIRContext &context, Random &random,
                                     Type element) {
  Maker m(context, random, element);
  int64_t rows = random.between(1, 5), classes = random.between(1, 5),
          extent = random.between(1, 4);
  UnitAttr transposed = random.flip() ? m.builder.getUnitAttr() : UnitAttr();
  Value hidden = m.floats({rows, extent}, -1, 1);
  Value weight =
      transposed ? m.floats({classes, extent}) : m.floats({extent, classes});
  Value labels = m.integers({rows}, 0, classes - 1);
  IntegerAttr ignored;
  if (random.flip()) {
    // The first row always counts.
    ignored = m.builder.getI64IntegerAttr(-100);
    std::vector<int64_t> &values = m.result.inputs.back().integers();
    for (int64_t &value : MutableArrayRef<int64_t>(values).drop_front())
      if (random.flip())
        value = -100;
  }
  Value bias = random.flip() ? m.floats({classes}) : Value();
  bool isWide = element.getIntOrFloatBitWidth() == 16 && random.flip();
  Type f32 = m.builder.getF32Type();
  auto op = LinearCrossEntropyOp::create(
      m.builder, m.loc,
      RankedTensorType::get({}, element.isF64() ? element : f32), hidden,
      weight, labels, bias, transposed, ignored,
      m.builder.getI64IntegerAttr(random.between(1, 3)),
      TypeAttr::get(isWide ? f32 : element));
  return bias ? m.finish(op, {0, 1, 3}) : m.finish(op, {0, 1});
}

ArrayRef<CaseKind> test::getCaseKinds() {
  static const CaseKind kinds[] = {
      {"neg", makeUnary<NegOp>},
      {"abs", makeKinkedUnary<AbsOp>},
      {"exp", makeUnary<ExpOp>},
      {"log", makeUnary<LogOp, 5, 30>},
      {"sqrt", makeUnary<SqrtOp, 5, 30>},
      {"rsqrt", makeUnary<RsqrtOp, 5, 30>},
      {"reciprocal", makeUnary<ReciprocalOp, -30, -5>},
      {"tanh", makeUnary<TanhOp>},
      {"sigmoid", makeUnary<SigmoidOp, -40, 40>},
      {"erf", makeUnary<ErfOp>},
      {"sin", makeUnary<SinOp, -40, 40>},
      {"cos", makeUnary<CosOp, -40, 40>},
      {"relu", makeKinkedUnary<ReluOp>},
      {"silu", makeUnary<SiluOp, -40, 40>},
      {"gelu", makeGelu},
      {"add", makeBinary<AddOp>},
      {"sub", makeBinary<SubOp>},
      {"mul", makeBinary<MulOp>},
      {"div", makeBinary<DivOp, 5, 20>},
      {"pow", makePow},
      {"maximum", makeExtremum<MaximumOp>},
      {"minimum", makeExtremum<MinimumOp>},
      {"select", makeSelect},
      {"cast", makeCast},
      {"reshape", makeReshape},
      {"broadcast", makeBroadcast},
      {"transpose", makeTranspose},
      {"slice", makeSlice},
      {"pad", makePad},
      {"concat", makeConcat},
      {"gather", makeGather},
      {"reduce_sum", makeReduce<ReduceKind::Sum>},
      {"reduce_mean", makeReduce<ReduceKind::Mean>},
      {"reduce_max", makeReduce<ReduceKind::Max>},
      {"softmax", makeSoftmax},
      {"matmul", makeMatmul},
      {"attention", makeAttention},
      {"rms_norm", makeRmsNorm},
      {"rope", makeRope},
      {"cross_entropy", makeCrossEntropy},
      {"linear_cross_entropy", makeLinearCrossEntropy},
  };
  return kinds;
}
