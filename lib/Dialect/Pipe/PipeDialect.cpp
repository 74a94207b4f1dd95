//===- PipeDialect.cpp - The pipe dialect ---------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Pipe/Entries.h"
#include "rondo/Dialect/Pipe/Pipe.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo::pipe;

#include "rondo/Dialect/Pipe/PipeDialect.cpp.inc"
#include "rondo/Dialect/Pipe/PipeEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Pipe/PipeAttrs.cpp.inc"

void PipeDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "rondo/Dialect/Pipe/PipeAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "rondo/Dialect/Pipe/PipeOps.cpp.inc"
      >();
}

LogicalResult PipeDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  auto expect = [&](bool holds, StringRef what) -> LogicalResult {
    if (holds)
      return success();
    return op->emitOpError() << "has " << attribute.getName() << " = " << value
                             << ", expected " << what;
  };
  if (attribute.getName() == kEntry)
    return expect(isa<EntryKindAttr>(value), "a #pipe.entry<...>");
  if (attribute.getName() == kSaveSet)
    return expect(isa<SaveSetAttr>(value), "a #pipe.save_set<...>");
  if (attribute.getName() == kNoDx)
    return expect(isa<UnitAttr>(value), "a unit attribute");
  return success();
}

LogicalResult PipeDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned region,
                                                    unsigned argument,
                                                    NamedAttribute attribute) {
  Attribute value = attribute.getValue();
  if (attribute.getName() == kRole && !isa<RoleAttr>(value))
    return op->emitOpError()
           << "argument " << argument << " has " << kRole << " = " << value
           << ", expected a #pipe.role<...>";
  if (attribute.getName() == kIndex) {
    auto index = dyn_cast<IntegerAttr>(value);
    if (!index || !index.getType().isInteger(64) || index.getInt() < 0)
      return op->emitOpError()
             << "argument " << argument << " has " << kIndex << " = " << value
             << ", expected an i64 that is not negative";
  }
  return success();
}
