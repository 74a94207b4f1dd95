//===- HostIndexing.cpp - Code of gathers, scatters and tables -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::host;
using namespace rondo::kern;

static Type getElement(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementType();
}

/// The index at `pointer`, counted from the front, and whether it is in range.
std::pair<Value, Value> host::loadIndex(CodeBuilder &b, Type element,
                                        Value pointer, int64_t extent) {
  Value index = b.loadScalar(element, pointer);
  if (!element.isInteger(64))
    index = arith::ExtSIOp::create(b, b.getI64Type(), index);
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, b.i64(0));
  Value fromEnd = arith::AddIOp::create(b, index, b.i64(extent));
  index = arith::SelectOp::create(b, isNegative, fromEnd, index);
  // A negative one is a large unsigned one.
  Value isValid =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, b.i64(extent));
  return {index, isValid};
}

/// The status of a loop that goes on: 1 once any index was invalid.
static Value addStatus(CodeBuilder &b, Value status, Value isValid) {
  Value one = b.integer(b.getI32Type(), 1);
  return arith::SelectOp::create(b, isValid, status, one);
}

/// Over rows of the target.
void host::emitGather(GatherOp op, StringRef name, ModuleOp module) {
  CodeBuilder b(op.getLoc(), op.getContext());
  func::FuncOp function = beginKernel(b, module, name);
  Value source = getPointer(b, function, 0),
        indices = getPointer(b, function, 1),
        target = getPointer(b, function, 2);
  Type element = getElement(op.getSource()),
       indexElement = getElement(op.getIndices());
  int64_t tuple = op.getExtents().size(), inner = op.getInner(), table = 1;
  for (int64_t extent : op.getExtents())
    table *= extent;

  Value zero = b.integer(b.getI32Type(), 0);
  auto rows =
      scf::ForOp::create(b, function.getArgument(1), function.getArgument(2),
                         b.i64(1), ValueRange{zero});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value row = rows.getInductionVar();
    Value count = b.i64(op.getCount());
    Value outer = arith::DivUIOp::create(b, row, count);
    Value number =
        op.getBatched() ? row : Value(arith::RemUIOp::create(b, row, count));
    Value first = arith::MulIOp::create(b, number, b.i64(tuple));
    Value at = b.i64(0), isValid = b.integer(b.getI1Type(), 1);
    for (auto [part, extent] : llvm::enumerate(op.getExtents())) {
      Value position = arith::AddIOp::create(b, first, b.i64(part));
      auto [index, isInRange] = loadIndex(
          b, indexElement, b.offset(indices, indexElement, position), extent);
      isValid = arith::AndIOp::create(b, isValid, isInRange);
      at = arith::MulIOp::create(b, at, b.i64(extent));
      at = arith::AddIOp::create(b, at, index);
    }
    auto branch = scf::IfOp::create(b, isValid, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value base = arith::MulIOp::create(b, outer, b.i64(table));
      Value from = arith::MulIOp::create(b, arith::AddIOp::create(b, base, at),
                                         b.i64(inner));
      Value to = arith::MulIOp::create(b, row, b.i64(inner));
      Value bytes = b.i64(inner * getElementBytes(element));
      LLVM::MemcpyOp::create(b, b.offset(target, element, to),
                             b.offset(source, element, from), bytes,
                             /*isVolatile=*/false);
    }
    scf::YieldOp::create(
        b, ValueRange{addStatus(b, rows.getRegionIterArg(0), isValid)});
  }
  func::ReturnOp::create(b, ValueRange{rows.getResult(0)});
}

/// Over columns of a row, so that calls over disjoint ranges write apart and
/// each element's sum keeps its order.
void host::emitScatterAdd(ScatterAddOp op, StringRef name, ModuleOp module) {
  CodeBuilder b(op.getLoc(), op.getContext());
  func::FuncOp function = beginKernel(b, module, name);
  Value updates = getPointer(b, function, 0),
        indices = getPointer(b, function, 1),
        target = getPointer(b, function, 2);
  Type element = getElement(op.getUpdates()),
       indexElement = getElement(op.getIndices());
  Type sumType = getElement(op.getTarget());
  Value begin = function.getArgument(1), end = function.getArgument(2);
  Value width = b.i64(kLanes);
  Value vectors =
      arith::DivUIOp::create(b, arith::SubIOp::create(b, end, begin), width);
  Value middle =
      arith::AddIOp::create(b, begin, arith::MulIOp::create(b, vectors, width));
  Value rest = arith::SubIOp::create(b, end, middle);
  Value mask = arith::CmpIOp::create(
      b, arith::CmpIPredicate::slt, b.lanes(b.getI64Type()), b.broadcast(rest));
  Value hasRest =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, b.i64(0));

  auto addBlock = [&](Value from, Value to, Value column, Value lanes) {
    Value update =
        b.loadVector(element, b.offset(from, element, column), 1, lanes);
    Type type = b.vectorOf(sumType);
    if (update.getType() != type)
      update = arith::ExtFOp::create(b, type, update);
    Value pointer = b.offset(to, sumType, column);
    Value sum = arith::AddFOp::create(
        b, b.loadVector(sumType, pointer, 1, lanes), update);
    b.storeVector(sumType, sum, pointer, 1, lanes);
  };

  Value zero = b.integer(b.getI32Type(), 0);
  Value rowCount = b.i64(op.getOuter() * op.getCount());
  auto rows =
      scf::ForOp::create(b, b.i64(0), rowCount, b.i64(1), ValueRange{zero});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rows.getBody());
    Value row = rows.getInductionVar();
    Value count = b.i64(op.getCount());
    Value outer = arith::DivUIOp::create(b, row, count);
    Value number = arith::RemUIOp::create(b, row, count);
    auto [index, isValid] =
        loadIndex(b, indexElement, b.offset(indices, indexElement, number),
                  op.getExtent());
    auto branch = scf::IfOp::create(b, isValid, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard inBranch(b);
      b.setInsertionPointToStart(branch.thenBlock());
      Value from =
          b.offset(updates, element,
                   arith::MulIOp::create(b, row, b.i64(op.getInner())));
      Value base = arith::MulIOp::create(b, outer, b.i64(op.getExtent()));
      Value at = arith::AddIOp::create(b, base, index);
      Value to = b.offset(target, sumType,
                          arith::MulIOp::create(b, at, b.i64(op.getInner())));
      auto columns = scf::ForOp::create(b, begin, middle, width);
      {
        OpBuilder::InsertionGuard inLoop(b);
        b.setInsertionPointToStart(columns.getBody());
        addBlock(from, to, columns.getInductionVar(), {});
      }
      auto last = scf::IfOp::create(b, hasRest, /*withElseRegion=*/false);
      b.setInsertionPointToStart(last.thenBlock());
      addBlock(from, to, middle, mask);
    }
    scf::YieldOp::create(
        b, ValueRange{addStatus(b, rows.getRegionIterArg(0), isValid)});
  }
  func::ReturnOp::create(b, ValueRange{rows.getResult(0)});
}

void host::emitTable(CodeBuilder &b, ConstantOp op, StringRef name,
                     ModuleOp module, unsigned addressSpace) {
  Type element = getElement(op.getTarget());
  auto elements = cast<DenseElementsAttr>(op.getValue());
  // Bytes in memory's form; a splat or an i1 is packed otherwise in the
  // attribute.
  int64_t width = getElementBytes(element);
  std::string bytes;
  auto append = [&](const APInt &value) {
    uint64_t bits = value.getZExtValue();
    for (int64_t byte = 0; byte < width; ++byte)
      bytes.push_back(char(bits >> (8 * byte)));
  };
  if (isa<FloatType>(element))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                         name, b.getStringAttr(bytes),
                         /*alignment=*/kAlignment, addressSpace);
}

void host::emitConstant(ConstantOp op, StringRef name, ModuleOp module) {
  CodeBuilder b(op.getLoc(), op.getContext());
  std::string table = (name + "_table").str();
  emitTable(b, op, table, module);
  func::FuncOp function = beginKernel(b, module, name);
  Value target = getPointer(b, function, 0);
  Value source = LLVM::AddressOfOp::create(b, target.getType(), table);
  LLVM::MemcpyOp::create(b, target, source,
                         b.i64(kern::getBytes(op.getTarget())),
                         /*isVolatile=*/false);
  endKernel(b);
}
