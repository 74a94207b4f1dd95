//===- KernOps.cpp - kern operations -------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

int64_t kern::getElementBytes(Type type) {
  return type.isInteger(1) ? 1
                           : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

int64_t kern::getBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

Effects kern::getEffects(Operation *op) {
  Effects effects;
  TypeSwitch<Operation *>(op)
      .Case<ZeroOp>([&](ZeroOp zero) {
        effects.writes.push_back(&zero.getTargetMutable());
      })
      .Case<ConstantOp>([&](ConstantOp constant) {
        effects.writes.push_back(&constant.getTargetMutable());
      })
      .Case<CopyOp>([&](CopyOp copy) {
        effects.reads.push_back(&copy.getSourceMutable());
        effects.writes.push_back(&copy.getTargetMutable());
      })
      .Case<GemmOp>([&](GemmOp gemm) {
        effects.reads.append({&gemm.getAMutable(), &gemm.getBMutable()});
        for (OpOperand &bias : gemm.getBiasMutable())
          effects.reads.push_back(&bias);
        if (gemm.getAccumulate())
          effects.reads.push_back(&gemm.getCMutable());
        effects.writes.push_back(&gemm.getCMutable());
      })
      .Case<AttentionOp>([&](AttentionOp attention) {
        effects.reads.append({&attention.getQueryMutable(),
                              &attention.getKeyMutable(),
                              &attention.getValueMutable()});
        effects.writes.append({&attention.getResultMutable(),
                               &attention.getStatisticsMutable(),
                               &attention.getWorkspaceMutable()});
      })
      .Case<AttentionGradOp>([&](AttentionGradOp grad) {
        effects.reads.append({&grad.getQueryMutable(), &grad.getKeyMutable(),
                              &grad.getValueMutable(), &grad.getResultMutable(),
                              &grad.getStatisticsMutable(),
                              &grad.getCotangentMutable()});
        effects.writes.append({&grad.getDQueryMutable(), &grad.getDKeyMutable(),
                               &grad.getDValueMutable(),
                               &grad.getWorkspaceMutable()});
      })
      .Case<GatherOp>([&](GatherOp gather) {
        effects.reads.append(
            {&gather.getSourceMutable(), &gather.getIndicesMutable()});
        effects.writes.push_back(&gather.getTargetMutable());
      })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) {
        effects.reads.append({&scatter.getUpdatesMutable(),
                              &scatter.getIndicesMutable(),
                              &scatter.getTargetMutable()});
        effects.writes.push_back(&scatter.getTargetMutable());
      })
      .Case<FusedOp>([&](FusedOp fused) {
        for (OpOperand &input : fused.getInputsMutable())
          effects.reads.push_back(&input);
        for (auto [index, output] :
             llvm::enumerate(fused.getOutputsMutable())) {
          if (fused.getAccumulate()[index])
            effects.reads.push_back(&output);
          effects.writes.push_back(&output);
        }
      });
  return effects;
}

//===----------------------------------------------------------------------===//
// Functions and memory
//===----------------------------------------------------------------------===//

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                   FunctionType type, int64_t inputs) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.sym_name = builder.getStringAttr(name);
  properties.function_type = TypeAttr::get(type);
  properties.inputs = builder.getI64IntegerAttr(inputs);
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(arguments, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult FuncOp::verify() {
  if (getFunctionType().getNumResults())
    return emitOpError("has results; an entry writes to its arguments");
  for (auto [index, type] : llvm::enumerate(getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || !memref.hasStaticShape() || !memref.getLayout().isIdentity())
      return emitOpError("argument ")
             << index << " is not contiguous memory of static shape: " << type;
  }
  int64_t inputs = getInputs(), scratch = getScratch();
  if (inputs < 0 || inputs > int64_t(getArgumentTypes().size()))
    return emitOpError("says that ")
           << inputs << " of " << getArgumentTypes().size()
           << " arguments are inputs";
  if (scratch < 0 || scratch % kAlignment)
    return emitOpError("scratch of ")
           << scratch << " bytes is not a multiple of " << kAlignment;
  if (getBody().front().empty() || !isa<ReturnOp>(getBody().front().back()))
    return emitOpError("does not end in kern.return");
  for (Operation &op : getBody().front())
    if (!isa<KernDialect>(op.getDialect()))
      return op.emitOpError("is no operation of a launch list");
  return success();
}

LogicalResult ScratchOp::verify() {
  std::optional<int64_t> offset = getOffset();
  if (!offset)
    return success();
  if (*offset < 0 || *offset % kAlignment)
    return emitOpError("offset ")
           << *offset << " is not a multiple of " << kAlignment;
  auto function = (*this)->getParentOfType<FuncOp>();
  if (*offset + getBytes(getResult()) > int64_t(function.getScratch()))
    return emitOpError("ends at byte ")
           << *offset + getBytes(getResult()) << " of " << function.getScratch()
           << " bytes of scratch";
  return success();
}

LogicalResult CopyOp::verify() {
  if (getBytes(getSource()) != getBytes(getTarget()))
    return emitOpError("copies ")
           << getBytes(getSource()) << " bytes to " << getBytes(getTarget());
  return success();
}

LogicalResult ConstantOp::verify() {
  auto target = cast<MemRefType>(getTarget().getType());
  ShapedType type = getValue().getShapedType();
  if (type.getElementType() != target.getElementType() ||
      type.getNumElements() != target.getNumElements())
    return emitOpError("writes ") << type << " to " << target;
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult verifyMatrix(GemmOp op, StringRef name, Value memref,
                                  int64_t rows, int64_t columns, int64_t ld,
                                  int64_t stride, int64_t offset) {
  auto type = cast<MemRefType>(memref.getType());
  Type element = type.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return op.emitOpError() << name << " has element type " << element
                            << ", not f32, bf16 or f16";
  if (ld < std::max<int64_t>(columns, 1))
    return op.emitOpError() << name << " has rows of " << columns
                            << " elements but leading dimension " << ld;
  if (stride < 0 || offset < 0)
    return op.emitOpError() << name << " has a negative stride or offset";
  int64_t batches = 0, lines = 0, end = 0;
  if (llvm::MulOverflow(int64_t(op.getBatch()) - 1, stride, batches) ||
      llvm::MulOverflow(rows - 1, ld, lines) ||
      llvm::AddOverflow(batches, lines, end) ||
      llvm::AddOverflow(end, offset, end) ||
      llvm::AddOverflow(end, columns, end))
    return op.emitOpError() << name << " reaches beyond 2^63 elements";
  if (end > type.getNumElements())
    return op.emitOpError() << name << " reaches element " << end - 1 << " of "
                            << type.getNumElements();
  return success();
}

LogicalResult GemmOp::verify() {
  int64_t m = getM(), n = getN(), k = getK(), batch = getBatch();
  if (m < 1 || n < 1 || k < 1 || batch < 1)
    return emitOpError("extents ")
           << m << " x " << n << " x " << k << ", batch " << batch
           << " are not all positive";
  if (failed(getTransposeA() ? verifyMatrix(*this, "A", getA(), k, m, getLda(),
                                            getStrideA(), getOffsetA())
                             : verifyMatrix(*this, "A", getA(), m, k, getLda(),
                                            getStrideA(), getOffsetA())) ||
      failed(getTransposeB() ? verifyMatrix(*this, "B", getB(), n, k, getLdb(),
                                            getStrideB(), getOffsetB())
                             : verifyMatrix(*this, "B", getB(), k, n, getLdb(),
                                            getStrideB(), getOffsetB())) ||
      failed(verifyMatrix(*this, "C", getC(), m, n, getLdc(), getStrideC(),
                          getOffsetC())))
    return failure();
  if (getBias()) {
    auto bias = cast<MemRefType>(getBias().getType());
    Type element = cast<MemRefType>(getC().getType()).getElementType();
    if (bias.getNumElements() != n || bias.getElementType() != element)
      return emitOpError("bias of type ")
             << bias << " is not " << n << " elements of " << element
             << ", C's element type";
    if (batch != 1 || getAccumulate())
      return emitOpError("adds a bias in a batch, or to what is there; it is "
                         "one or the other");
  }
  if (batch == 1)
    return success();
  // Matrices of C must not share elements: apart, or interleaved in rows.
  int64_t stride = getStrideC(), ld = getLdc();
  bool apart = stride >= (m - 1) * ld + n;
  bool interleaved = stride >= n && stride * (batch - 1) + n <= ld;
  if (!apart && !interleaved)
    return emitOpError("matrices of C overlap: stride ")
           << stride << ", leading dimension " << ld;
  return success();
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Whether the memory has the elements of `extents`, all positive.
static LogicalResult verifyElements(Operation *op, StringRef name, Value memref,
                                    ArrayRef<int64_t> extents) {
  int64_t actual = cast<MemRefType>(memref.getType()).getNumElements(),
          expected = 1;
  for (int64_t extent : extents) {
    if (extent < 1)
      return op->emitOpError() << "has an extent or count of " << extent;
    if (llvm::MulOverflow(expected, extent, expected))
      return op->emitOpError() << name << " has more than 2^63 elements";
  }
  if (actual != expected)
    return op->emitOpError()
           << name << " has " << actual << " elements, not " << expected;
  return success();
}

LogicalResult GatherOp::verify() {
  if (getExtents().empty())
    return emitOpError("picks along no axis");
  int64_t outer = getOuter(), count = getCount(), inner = getInner();
  SmallVector<int64_t> source{outer, inner};
  llvm::append_range(source, getExtents());
  if (failed(verifyElements(*this, "source", getSource(), source)) ||
      failed(verifyElements(
          *this, "indices", getIndices(),
          {getBatched() ? outer : 1, count, int64_t(getExtents().size())})) ||
      failed(
          verifyElements(*this, "target", getTarget(), {outer, count, inner})))
    return failure();
  if (getElementTypeOrSelf(getSource().getType()) !=
      getElementTypeOrSelf(getTarget().getType()))
    return emitOpError("source and target differ in element type");
  return success();
}

LogicalResult ScatterAddOp::verify() {
  int64_t outer = getOuter(), extent = getExtent(), count = getCount(),
          inner = getInner();
  if (failed(verifyElements(*this, "updates", getUpdates(),
                            {outer, count, inner})) ||
      failed(verifyElements(*this, "indices", getIndices(), {count})) ||
      failed(
          verifyElements(*this, "target", getTarget(), {outer, extent, inner})))
    return failure();
  Type element = getElementTypeOrSelf(getTarget().getType());
  if (!element.isF32() && !element.isF64())
    return emitOpError("target has element type ")
           << element << ", but sums are f32 or f64";
  if (!isa<FloatType>(getElementTypeOrSelf(getUpdates().getType())))
    return emitOpError("updates are not floating point");
  return success();
}
