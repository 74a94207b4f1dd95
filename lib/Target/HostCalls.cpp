//===- HostCalls.cpp - Launch lists --------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Target/HostObject.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;
using namespace rondo::target;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void print(Attribute attr, raw_ostream &os) {
  // Accesses lie close together; their generic form is slow to print.
  if (auto access = dyn_cast<AccessAttr>(attr)) {
    os << '<' << access.getOffset();
    for (int64_t stride : access.getStrides())
      os << ',' << stride;
    for (int64_t guard : access.getGuards())
      os << '?' << guard;
    os << '>';
    return;
  }
  attr.print(os);
}

/// Where an access begins is part of the address, so that kernels that differ
/// in that alone are one. A negative offset, of a part of a concatenation,
/// stays.
static int64_t getAddressOffset(Attribute access) {
  return std::max<int64_t>(cast<AccessAttr>(access).getOffset(), 0);
}

/// Everything about the op that its code depends on: not where its operands
/// lie, nor which calls are made, nor locations.
static void describe(Operation *op, raw_ostream &os) {
  os << op->getName().getStringRef();
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType()))
      os << ' ' << type.getElementType();
  auto fused = dyn_cast<FusedOp>(op);
  if (!fused) {
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      os << constant.getValue();
      return;
    }
    for (NamedAttribute attr : op->getAttrs())
      os << ' ' << attr.getName().getValue() << '=' << attr.getValue();
    return;
  }
  os << ' ' << stringifyFusedKind(fused.getKind()) << ' '
     << fused.getInputs().size();
  llvm::interleaveComma(fused.getDomain(), os << '[');
  auto printMoved = [&](Attribute attr) {
    auto access = cast<AccessAttr>(attr);
    print(AccessAttr::get(op->getContext(),
                          access.getOffset() - getAddressOffset(access),
                          access.getStrides(), access.getGuards()),
          os);
  };
  for (Attribute access : fused.getInputAccess())
    printMoved(access);
  for (auto [access, accumulates] :
       llvm::zip_equal(fused.getOutputAccess(), fused.getAccumulate())) {
    os << '>';
    printMoved(access);
    os << accumulates;
  }
  DenseMap<Value, int64_t> numbers;
  for (BlockArgument argument : fused.getBlock().getArguments())
    numbers[argument] = numbers.size();
  for (Operation &inner : fused.getBlock()) {
    os << '\n' << inner.getName().getStringRef();
    for (Value operand : inner.getOperands())
      os << ' ' << numbers.lookup(operand);
    for (NamedAttribute attr : inner.getAttrs()) {
      os << ' ' << attr.getName().getValue() << '=';
      print(attr.getValue(), os);
    }
    for (Value result : inner.getResults()) {
      os << ':' << result.getType();
      int64_t number = numbers.size();
      numbers[result] = number;
    }
  }
}

std::string target::getKernelSymbol(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  describe(op, os);
  auto bytes =
      ArrayRef(reinterpret_cast<const uint8_t *>(text.data()), text.size());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
  return llvm::formatv("kernel_{0:x-16}{1:x-16}", hash.high64, hash.low64)
      .str();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static Type getElementType(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

static Call::Address getAddress(FuncOp function, Value memref,
                                int64_t element = 0) {
  Type type = cast<MemRefType>(memref.getType()).getElementType();
  uint64_t offset = element * getElementBytes(type);
  if (auto argument = dyn_cast<BlockArgument>(memref))
    return {argument.getArgNumber(), offset};
  auto scratch = cast<ScratchOp>(memref.getDefiningOp());
  return {function.getNumArguments(), *scratch.getOffset() + offset};
}

static void fillGemm(FuncOp function, GemmOp op, Call &call) {
  call.kind = Call::Kind::Gemm;
  call.addresses = {getAddress(function, op.getA(), op.getOffsetA()),
                    getAddress(function, op.getB(), op.getOffsetB()),
                    getAddress(function, op.getC(), op.getOffsetC())};
  if (op.getBias())
    call.addresses.push_back(getAddress(function, op.getBias()));
  call.bias = bool(op.getBias());
  call.m = op.getM(), call.n = op.getN(), call.k = op.getK(),
  call.batch = op.getBatch();
  call.transposeA = op.getTransposeA(), call.transposeB = op.getTransposeB();
  call.lda = op.getLda(), call.ldb = op.getLdb(), call.ldc = op.getLdc();
  call.strideA = op.getStrideA(), call.strideB = op.getStrideB(),
  call.strideC = op.getStrideC();
  call.alpha = op.getAlpha().convertToFloat();
  call.accumulate = op.getAccumulate();
  call.typeA = cast<MemRefType>(op.getA().getType()).getElementType();
  call.typeB = cast<MemRefType>(op.getB().getType()).getElementType();
  call.typeC = cast<MemRefType>(op.getC().getType()).getElementType();
}

/// `matrices`: those of op.getAccess(), in its order.
template <typename OpTy>
static void fillAttention(FuncOp function, OpTy op, ArrayRef<Value> matrices,
                          Call &call) {
  for (auto [matrix, attr] : llvm::zip_equal(matrices, op.getAccess())) {
    auto access = cast<AccessAttr>(attr);
    call.addresses.push_back(getAddress(function, matrix, access.getOffset()));
    llvm::append_range(call.strides, access.getStrides().drop_back());
  }
  // After query, key, value and result.
  call.addresses.insert(call.addresses.begin() + 4,
                        getAddress(function, op.getStatistics()));
  call.addresses.push_back(getAddress(function, op.getWorkspace()));
  call.sizes = getSizes(op);
  call.scale = op.getScale().convertToFloat();
  call.causal = op.getCausal();
  call.window = op.getWindow().value_or(0);
  call.element = cast<MemRefType>(op.getQuery().getType()).getElementType();
  call.workspaceBytes = getBytes(op.getWorkspace());
}

static void fillAttention(FuncOp function, AttentionOp op, Call &call) {
  call.kind = Call::Kind::Attention;
  fillAttention(function, op,
                {op.getQuery(), op.getKey(), op.getValue(), op.getResult()},
                call);
}

static void fillAttention(FuncOp function, AttentionGradOp op, Call &call) {
  call.kind = Call::Kind::AttentionGrad;
  fillAttention(function, op,
                {op.getQuery(), op.getKey(), op.getValue(), op.getResult(),
                 op.getCotangent(), op.getDQuery(), op.getDKey(),
                 op.getDValue()},
                call);
  call.attentionBlock = getAttentionBlock(op);
  call.libraryBytes = op.getLibraryBytes();
}

/// Of `access` from its address on, where the first axis of the domain ends
/// with the calls that are made. Beyond that it grows by no more than a stride.
static Call::Reach getReach(FusedOp op, Value memref, AccessAttr access) {
  int64_t extent = op.getCalls()[1],
          bytes = getElementBytes(getElementType(memref));
  SmallVector<int64_t> domain(op.getDomain());
  domain[0] = extent;
  ElementRange range = getRange(access, domain);
  if (range.begin == range.end)
    range = getRange(access, op.getDomain());
  int64_t stride = access.getStrides()[0], offset = getAddressOffset(access);
  Call::Reach reach;
  reach.beginStep = std::min<int64_t>(stride, 0) * bytes;
  reach.endStep = std::max<int64_t>(stride, 0) * bytes;
  // Nothing where guards never hold.
  if (range.begin == range.end)
    range = {offset, offset};
  reach.begin = (range.begin - offset) * bytes - reach.beginStep * extent;
  reach.end = (range.end - offset) * bytes - reach.endStep * extent;
  return reach;
}

/// `fixed` bytes, and `step` for each of the first axis.
static Call::Reach getReach(int64_t fixed, int64_t step) {
  return {0, fixed, 0, step};
}

/// Calls are made over outer * count; a call more would begin another slice.
static std::vector<Call::Reach> getReach(GatherOp op) {
  int64_t row = op.getInner() * getElementBytes(getElementType(op.getSource())),
          slice = row, tuple = getElementBytes(getElementType(op.getIndices()));
  for (int64_t extent : op.getExtents())
    slice *= extent;
  tuple *= op.getExtents().size();
  int64_t outer = op.getOuter(), count = op.getCount();
  return {getReach(outer * slice - slice * (outer * count), slice),
          op.getBatched() ? getReach(0, tuple) : getReach(count * tuple, 0),
          getReach(0, row)};
}

/// Calls are made over the inner axis, of all rows.
static std::vector<Call::Reach> getReach(ScatterAddOp op) {
  int64_t bytes = getElementBytes(getElementType(op.getUpdates()));
  auto getRows = [&](int64_t rows) {
    return getReach((rows - 1) * (int64_t)op.getInner() * bytes, bytes);
  };
  int64_t count = op.getCount();
  return {getRows(op.getOuter() * count),
          getReach(count * getElementBytes(getElementType(op.getIndices())), 0),
          getRows(op.getOuter() * op.getExtent())};
}

static void fillKernel(FuncOp function, Operation &op, Call &call) {
  call.symbol = getKernelSymbol(&op);
  if (auto fused = dyn_cast<FusedOp>(op)) {
    auto add = [&](ValueRange memrefs, ArrayAttr list) {
      for (auto [memref, attr] : llvm::zip_equal(memrefs, list)) {
        auto access = cast<AccessAttr>(attr);
        call.addresses.push_back(
            getAddress(function, memref, getAddressOffset(access)));
        call.reach.push_back(getReach(fused, memref, access));
      }
    };
    add(fused.getInputs(), fused.getInputAccess());
    add(fused.getOutputs(), fused.getOutputAccess());
  } else {
    for (Value operand : op.getOperands())
      call.addresses.push_back(getAddress(function, operand));
  }
  TypeSwitch<Operation *>(&op)
      .Case<FusedOp>([&](FusedOp fused) {
        call.begin = fused.getCalls()[0];
        call.extent = fused.getCalls()[1];
      })
      .Case<GatherOp>([&](GatherOp gather) {
        call.extent = gather.getOuter() * gather.getCount();
        call.indexExtents.assign(gather.getExtents().begin(),
                                 gather.getExtents().end());
        call.indexRows = gather.getBatched() ? call.extent : gather.getCount();
        call.indexType = getElementType(gather.getIndices());
        call.reach = getReach(gather);
      })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) {
        call.extent = scatter.getInner();
        call.indexExtents = {(int64_t)scatter.getExtent()};
        call.indexRows = scatter.getCount();
        call.indexType = getElementType(scatter.getIndices());
        call.reach = getReach(scatter);
      })
      .Case<ConstantOp>([&](ConstantOp constant) {
        call.extent = 1;
        call.reach = {getReach(0, getBytes(constant.getTarget()))};
      });
}

std::vector<Call> target::translateEntry(FuncOp function) {
  std::vector<Call> calls;
  for (Operation &op : function.getBody().front()) {
    if (isa<ScratchOp, ReturnOp>(op))
      continue;
    Call call;
    call.node = nn::getOnnxNode(op.getLoc());
    if (auto gemm = dyn_cast<GemmOp>(op)) {
      fillGemm(function, gemm, call);
    } else if (auto attention = dyn_cast<AttentionOp>(op)) {
      fillAttention(function, attention, call);
    } else if (auto grad = dyn_cast<AttentionGradOp>(op)) {
      fillAttention(function, grad, call);
    } else if (auto zero = dyn_cast<ZeroOp>(op)) {
      call.kind = Call::Kind::Zero;
      call.addresses = {getAddress(function, zero.getTarget())};
      call.bytes = getBytes(zero.getTarget());
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      call.kind = Call::Kind::Copy;
      call.addresses = {getAddress(function, copy.getSource()),
                        getAddress(function, copy.getTarget())};
      call.bytes = getBytes(copy.getSource());
    } else {
      fillKernel(function, op, call);
      call.bytes = (uint64_t)getCost(&op, KernTarget()).bytes;
    }
    calls.push_back(std::move(call));
  }
  return calls;
}
