//===- ContractionOps.cpp - Import of products and attention --------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"

#include "rondo/Dialect/NN/Utils.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace rondo {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Value createMatmul(NodeImport &n, Value lhs, Value rhs,
                          bool transposeLhs = false,
                          bool transposeRhs = false) {
  auto shape = nn::getMatmulShape(Emitter::shapeOf(lhs), Emitter::shapeOf(rhs),
                                  transposeLhs, transposeRhs);
  if (!shape)
    return nullptr;
  return n.e.create<nn::MatmulOp>(
      RankedTensorType::get(*shape, Emitter::elementOf(lhs)), lhs, rhs,
      transposeLhs, transposeRhs);
}

static LogicalResult checkProduct(NodeImport &n) {
  if (failed(n.checkSameElements()))
    return failure();
  if (!n.isFloat(0))
    return n.unsupported("integer product");
  return success();
}

static LogicalResult importMatMul(NodeImport &n) {
  if (failed(checkProduct(n)))
    return failure();
  Value lhs = n.operand(0), rhs = n.operand(1);
  if (n.rank(0) == 0 || n.rank(1) == 0)
    return n.error() << "operands must not be scalars";
  // Vectors are a row on the left, a column on the right.
  bool isRow = n.rank(0) == 1, isColumn = n.rank(1) == 1;
  if (isRow)
    lhs = n.e.reshape(lhs, {1, n.shape(0)[0]});
  if (isColumn)
    rhs = n.e.reshape(rhs, {n.shape(1)[0], 1});
  ArrayRef<int64_t> left = Emitter::shapeOf(lhs), right = Emitter::shapeOf(rhs);
  auto mismatch = [&]() {
    return n.error() << "shapes " << nn::shapeToString(n.shape(0)) << " and "
                     << nn::shapeToString(n.shape(1))
                     << " cannot be multiplied";
  };
  if (left.back() != right[right.size() - 2])
    return mismatch();
  // One matrix for all batches: weights. Also where its batch axes are 1.
  bool oneRhs = llvm::all_of(right.drop_back(2),
                             [](int64_t extent) { return extent == 1; });
  if (oneRhs && right.size() > 2 && right.size() <= left.size()) {
    rhs = n.e.reshape(rhs, right.take_back(2));
    right = Emitter::shapeOf(rhs);
  }
  if (right.size() > 2) {
    auto batch = nn::getBroadcastShape(left.drop_back(2), right.drop_back(2));
    if (!batch)
      return mismatch();
    SmallVector<int64_t> leftShape(*batch), rightShape(*batch);
    llvm::append_range(leftShape, left.take_back(2));
    llvm::append_range(rightShape, right.take_back(2));
    if (failed(n.checkShape(leftShape)) || failed(n.checkShape(rightShape)))
      return failure();
    lhs = n.e.broadcast(lhs, leftShape);
    rhs = n.e.broadcast(rhs, rightShape);
  }
  SmallVector<int64_t> shape(Emitter::shapeOf(lhs).drop_back());
  shape.push_back(Emitter::shapeOf(rhs).back());
  if (failed(n.checkShape(shape)))
    return failure();
  Value result = createMatmul(n, lhs, rhs);
  if (!result)
    return mismatch();
  if (isColumn)
    shape.pop_back();
  if (isRow)
    shape.erase(shape.end() - (isColumn ? 1 : 2));
  return n.setResult(n.e.reshape(result, shape));
}

static LogicalResult importGemm(NodeImport &n) {
  if (failed(checkProduct(n)))
    return failure();
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.error() << "operands have shapes " << nn::shapeToString(n.shape(0))
                     << " and " << nn::shapeToString(n.shape(1))
                     << "; both must be matrices";
  Value result =
      createMatmul(n, n.operand(0), n.operand(1), n.getInt("transA", 0) != 0,
                   n.getInt("transB", 0) != 0);
  if (!result)
    return n.error() << "shapes " << nn::shapeToString(n.shape(0)) << " and "
                     << nn::shapeToString(n.shape(1))
                     << " cannot be multiplied";
  if (failed(n.checkShape(Emitter::shapeOf(result))))
    return failure();
  double alpha = n.getFloat("alpha", 1), beta = n.getFloat("beta", 1);
  if (alpha != 1)
    result = n.e.create<nn::MulOp>(result, n.e.splatLike(result, alpha));
  if (n.operand(2) && beta != 0) {
    Value bias = n.operand(2);
    if (beta != 1)
      bias = n.e.create<nn::MulOp>(bias, n.e.splatLike(bias, beta));
    auto stretched = n.broadcastTo(bias, Emitter::shapeOf(result));
    if (failed(stretched))
      return failure();
    result = n.e.create<nn::AddOp>(result, *stretched);
  }
  return n.setResult(result);
}

//===----------------------------------------------------------------------===//
// Attention-23
//===----------------------------------------------------------------------===//

/// [b, s, heads * d] to [b, heads, s, d]; null if it does not divide.
static Value splitHeads(NodeImport &n, Value value, int64_t heads) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(value);
  if (heads <= 0 || shape[2] % heads != 0)
    return nullptr;
  Value split =
      n.e.reshape(value, {shape[0], shape[1], heads, shape[2] / heads});
  return n.e.transpose(split, {0, 2, 1, 3});
}

/// Query i sees keys up to i: upper left aligned, unlike nn.attention.
static Value makeUpperLeftCausalMask(NodeImport &n, int64_t queries,
                                     int64_t keys) {
  Type i64 = n.e.getBuilder().getI64Type();
  Value row = n.e.iota(RankedTensorType::get({queries, 1}, i64), 0);
  Value column = n.e.iota(RankedTensorType::get({1, keys}, i64), 1);
  return n.e.create<nn::CompareOp>(nn::ComparePredicate::LE,
                                   n.e.broadcast(column, {queries, keys}),
                                   n.e.broadcast(row, {queries, keys}));
}

/// `mask` and the causal one: booleans are joined, additive ones get -inf.
static FailureOr<Value> joinMasks(NodeImport &n, Value mask, Value causal) {
  if (!mask)
    return causal;
  auto both = n.broadcastTogether({causal, mask});
  if (failed(both))
    return failure();
  if (Emitter::elementOf(mask).isInteger(1))
    return Value(n.e.create<nn::AndOp>((*both)[0], (*both)[1]));
  Value never =
      n.e.splatLike((*both)[1], -std::numeric_limits<double>::infinity());
  return Value(n.e.create<nn::SelectOp>((*both)[0], (*both)[1], never));
}

static LogicalResult checkAttentionForm(NodeImport &n) {
  if (n.operand(4) || n.operand(5))
    return n.unsupported("past key and value (a cache)");
  if (n.operand(6))
    return n.unsupported("nonpad_kv_seqlen");
  if (n.hasOutput(3))
    return n.unsupported("output of the scores");
  if (n.getFloat("softcap", 0) != 0)
    return n.unsupported("softcap");
  for (int i = 0; i < 3; ++i)
    if (!n.isFloat(i) || n.element(i) != n.element(0))
      return n.error() << "query, key and value must have one float type; "
                       << "operand " << i << " has " << n.operand(i).getType();
  return success();
}

static LogicalResult importAttention(NodeImport &n) {
  if (failed(checkAttentionForm(n)))
    return failure();
  Value query = n.operand(0), key = n.operand(1), value = n.operand(2);
  bool isFlat = n.rank(0) == 3;
  for (int i = 0; i < 3; ++i)
    if (n.rank(i) != (isFlat ? 3 : 4))
      return n.error() << "query, key and value have ranks " << n.rank(0)
                       << ", " << n.rank(1) << ", " << n.rank(2)
                       << "; all must be 3 or all 4";
  if (isFlat) {
    int64_t heads = n.getInt("q_num_heads", 0);
    int64_t keyHeads = n.getInt("kv_num_heads", 0);
    query = splitHeads(n, query, heads);
    key = splitHeads(n, key, keyHeads);
    value = splitHeads(n, value, keyHeads);
    if (!query || !key || !value)
      return n.error() << "q_num_heads " << heads << " and kv_num_heads "
                       << keyHeads << " do not divide the last axes";
  }
  SmallVector<int64_t> q(Emitter::shapeOf(query)), k(Emitter::shapeOf(key)),
      v(Emitter::shapeOf(value));
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] ||
      k[3] != q[3] || k[1] == 0 || q[1] % k[1] != 0)
    return n.error() << "query " << nn::shapeToString(q) << ", key "
                     << nn::shapeToString(k) << " and value "
                     << nn::shapeToString(v) << " do not fit";
  Value mask = n.operand(3);
  bool causal = n.getInt("is_causal", 0) != 0;
  SmallVector<int64_t> scores{q[0], q[1], q[2], k[2]};
  if (mask) {
    if (!n.element(3).isInteger(1) && !n.isFloat(3))
      return n.error() << "mask has type " << mask.getType();
    if (n.rank(3) == 0 || n.shape(3).back() != k[2] ||
        !nn::isBroadcastableTo(n.shape(3), scores))
      return n.unsupported("a mask of shape " + nn::shapeToString(n.shape(3)) +
                           " for scores of " + nn::shapeToString(scores));
    // One that hides nothing.
    if (n.e.getSplat(mask) == (n.isFloat(3) ? 0.0 : 1.0))
      mask = nullptr;
  }
  if (causal && q[2] != k[2]) {
    auto joined = joinMasks(n, mask, makeUpperLeftCausalMask(n, q[2], k[2]));
    if (failed(joined))
      return failure();
    mask = *joined;
    causal = false;
  }
  double scale = n.getFloat("scale", 0);
  if (!n.findAttribute("scale"))
    scale = 1 / std::sqrt(double(q[3]));
  SmallVector<int64_t> resultShape{q[0], q[1], q[2], v[3]};
  Builder &builder = n.e.getBuilder();
  auto attention = n.e.create<nn::AttentionOp>(
      RankedTensorType::get(resultShape, Emitter::elementOf(query)),
      RankedTensorType::get({q[0], q[1], q[2]}, n.element(0).isF64()
                                                    ? builder.getF64Type()
                                                    : builder.getF32Type()),
      query, key, value, mask, builder.getF64FloatAttr(scale),
      causal ? builder.getUnitAttr() : UnitAttr(), /*window=*/IntegerAttr(),
      /*rows_first=*/UnitAttr(), /*fill=*/FloatAttr(),
      /*unguarded=*/UnitAttr());
  Value result = attention.getResult();
  if (isFlat) {
    result = n.e.transpose(result, {0, 2, 1, 3});
    result = n.e.reshape(result, {q[0], q[2], q[1] * v[3]});
  }
  // Without a cache the "present" ones are the keys and values themselves.
  (void)n.setResult(1, key);
  (void)n.setResult(2, value);
  return n.setResult(result);
}

void registerContractionOps(OpTable &table) {
  table["MatMul"] = {1, 2, 2, importMatMul};
  table["Gemm"] = {7, 2, 3, importGemm};
  table["Attention"] = {23, 3, 7, importAttention};
}

} // namespace rondo
